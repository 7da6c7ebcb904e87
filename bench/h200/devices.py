#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Does one kernel object serve every GPU of a machine?

devices.py FOLDER, which prepare.py filled. Each kernel gets the same inputs on every GPU:
results have to be those of the first, bit by bit, and near PyTorch's; again from one
thread for each GPU at the same time, whatever device is current; tensors of two GPUs in
one launch have to be refused by name.
"""

import argparse
import json
import threading
from pathlib import Path

import torch
import torch.nn.functional as functional
from implementations import TYPES

import fa4

THREADED_LAUNCHES = 100


def copies(tensors, device):
    return {name: tensor.to(f"cuda:{device}", copy=True) for name, tensor in tensors.items()}


def check(kernel, entry, count):
    shape = (2, 4, 450, entry["head_dim"])
    q, k, v = (torch.randn(shape, dtype=TYPES[entry["dtype"]]) for _ in range(3))
    host = dict(q=q, k=k, v=v, o=torch.full_like(q, torch.nan), lse=torch.full(shape[:3], torch.nan))
    machines = [copies(host, device) for device in range(count)]
    for tensors in machines:  # device 0 is current for all of them
        kernel.launch(**tensors)
    assert torch.cuda.current_device() == 0, "expected launches to leave the current device as it was"
    for device in range(count):
        torch.cuda.synchronize(device)
    results = [(t["o"].cpu(), t["lse"].cpu()) for t in machines]
    wanted = functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=entry["causal"])
    error = ((results[0][0].float() - wanted).norm() / wanted.norm()).item()
    assert error < 1e-2, f"expected the results of PyTorch, but got an error of {error}"

    def repeat(device, failures):
        try:
            for _ in range(THREADED_LAUNCHES):
                machines[device]["o"].fill_(torch.nan)
                kernel.launch(**machines[device])
                if not torch.equal(machines[device]["o"].cpu(), results[0][0]):
                    failures.append(f"GPU {device} gave other bits beside the others")
                    return
        except Exception as failure:  # told by the thread that asked
            failures.append(f"GPU {device}: {failure}")

    failures = []
    threads = [threading.Thread(target=repeat, args=(device, failures)) for device in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for device, (o, lse) in enumerate(results):
        if not (torch.equal(o, results[0][0]) and torch.equal(lse, results[0][1])):
            failures.append(f"GPU {device} gave other bits than GPU 0")
    if count > 1:
        try:
            kernel.launch(**dict(machines[0], v=machines[1]["v"]))
            failures.append("expected tensors of two GPUs to be refused, but got a launch")
        except fa4.ArgumentError as refusal:
            print(f"refused: {refusal}")
    return error, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    count, bad = torch.cuda.device_count(), 0
    for entry in json.loads((folder / "index.json").read_text()):
        files = {path.name: path.read_bytes() for path in (folder / entry["folder"]).iterdir()}
        error, failures = check(fa4.Kernel(files, "attention"), entry, count)
        bad += bool(failures)
        print(f"{entry['folder']} on {count} GPUs: error {error:.1e} beside PyTorch; "
              f"{'; '.join(failures) or 'equal bits'}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
