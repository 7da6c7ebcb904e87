#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a launch from Python costs the host, beside torch's, and whether it can be captured.

launch.py FOLDER, which prepare.py filled. Host time of launches that nobody waits for, in
microseconds: the best of five times 200, on tensors so small that the GPU keeps up. The
result of a replayed CUDA graph has to be that of a launch, bit by bit.
"""

import argparse
import json
import math
import time
from pathlib import Path

import torch
import torch.nn.functional as functional
from implementations import TYPES

import fa4

LAUNCHES, TIMES = 200, 5


def microseconds(call):
    call(0)
    best = math.inf
    for _ in range(TIMES):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for number in range(LAUNCHES):
            call(number)
        best = min(best, time.perf_counter() - begin)
    torch.cuda.synchronize()
    return best / LAUNCHES * 1e6


def make_tensors(entry):
    shape = (1, 1, 64, entry["head_dim"])
    q, k, v = (torch.randn(shape, device="cuda", dtype=TYPES[entry["dtype"]]) for _ in range(3))
    return dict(q=q, k=k, v=v, o=torch.empty_like(q), lse=torch.empty(shape[:3], device="cuda"))


def captured(kernel, tensors):
    """A graph of one prepared launch."""
    prepared = kernel.prepare(**tensors)
    prepared.launch(torch.cuda.current_stream().cuda_stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        prepared.launch(torch.cuda.current_stream().cuda_stream)
    return graph, prepared


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    entry = next(e for e in json.loads((options.folder / "index.json").read_text()) if e["causal"])
    kernel = fa4.Kernel({p.name: p.read_bytes() for p in (options.folder / entry["folder"]).iterdir()}, "attention")
    tensors = make_tensors(entry)
    others = [make_tensors(entry) for _ in range(LAUNCHES * 2)]  # more than a kernel remembers
    stream = torch.cuda.current_stream().cuda_stream
    prepared = kernel.prepare(**tensors)
    graph, _owner = captured(kernel, tensors)
    q, k, v = (tensors[name] for name in "qkv")
    rows = {
        "fa4, prepared launch": lambda _: prepared.launch(stream),
        "fa4, kernel.launch, stream given": lambda _: kernel.launch(stream=stream, **tensors),
        "fa4, kernel.launch": lambda _: kernel.launch(**tensors),
        "fa4, kernel.launch, new addresses": lambda number: kernel.launch(**others[number % len(others)]),
        "fa4, graph of one launch": lambda _: graph.replay(),
        "torch, copy_": lambda _: tensors["o"].copy_(q),
        "torch, scaled_dot_product_attention": lambda _: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
    }
    with torch.no_grad():
        for name, call in rows.items():
            print(f"{name:38} {microseconds(call):7.1f} us")
    prepared.launch(stream)
    torch.cuda.synchronize()
    expected = tensors["o"].clone(), tensors["lse"].clone()
    tensors["o"].fill_(math.nan)
    tensors["lse"].fill_(math.nan)
    graph.replay()
    torch.cuda.synchronize()
    equal = all(torch.equal(a, b) for a, b in zip(expected, (tensors["o"], tensors["lse"])))
    print(f"graph: {'equal bits' if equal else 'OTHER BITS'}")
    return 0 if equal else 1


if __name__ == "__main__":
    raise SystemExit(main())
