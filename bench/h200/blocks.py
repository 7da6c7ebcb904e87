#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is a masked kernel's time that of the key blocks it visits?

blocks.py prepare FOLDER    on a machine with the compiler: for each window a kernel with one
                            CTA to a tile and one with resident CTAs
blocks.py measure FOLDER    on the GPU's: time per visited block beside that of the
                            widest mask of the same head dimension; --csv FILE for rows

A tile of queries visits each block of keys in which its mask keeps a pair. Kernels of
one head dimension take turns; numbers are medians of the rounds.
"""

import argparse
import csv
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))

import fa4  # noqa: E402

# Left bounds of windows whose right bound is 0; None is causal without a window.
LEFTS = (None, 8191, 4095, 2047, 1023, 511)
DIMS = (64, 128)
# Of each the planner takes one, by how many blocks a tile has.
WORKS = {"one": "work = one_per_cluster<longest_first>", "resident": "work = static_persistent"}
BOX_ROWS = 64  # of a warpgroup
LENGTH, TOKENS, HIDDEN = 16384, 32768, 2048


def prepare(folder):
    folder.mkdir(parents=True, exist_ok=True)
    index = []
    for dim in DIMS:
        for left in LEFTS:
            window = dict(causal=True) if left is None else dict(window=(left, 0))
            rows, keys = tile(fa4.compile(fa4.Attention(head_dim=dim, layout="bhsd", **window), target="sm_90a"))
            for work, clause in WORKS.items():
                schedule = (f"#fa4.schedule<forward, tile = {BOX_ROWS} x {keys}, stages = {rows // BOX_ROWS}, "
                            f"{clause}>")
                spec = fa4.Attention(head_dim=dim, layout="bhsd", schedule=schedule, **window)
                name = f"d{dim}-{'causal' if left is None else f'window{left}'}-{work}"
                fa4.compile(spec, target="sm_90a").save(folder / name)
                index.append(dict(folder=name, head_dim=dim, left=left, work=work, rows=rows, keys=keys))
                print(f"{name}: tiles of {rows} queries, blocks of {keys} keys", flush=True)
    (folder / "index.json").write_text(json.dumps(index, indent=1))


def tile(kernel):
    """(queries of a tile, keys of a block), as the tensor maps' boxes and the roles say."""
    launch, = kernel.bundle.data["launches"]
    maps = {p["of"]: p["box"] for p in launch["parameters"] if p["kind"] == "tensor_map"}
    consumers = re.search(r"role\s+consumer\s+warps 4 x (\d+)", kernel.report)
    return maps["q"][1] * int(consumers[1]), maps["k"][1]


def visited(entry):
    """Blocks that all tiles of one head visit."""
    rows, keys, left = entry["rows"], entry["keys"], entry["left"]
    blocks = 0
    for first in range(0, LENGTH, rows):
        last = min(first + rows, LENGTH) - 1
        begin = 0 if left is None else max(0, first - left)
        blocks += last // keys - begin // keys + 1
    return blocks


def measure(folder, options):
    import torch
    from implementations import Case, Ours, Tensors
    from turns import Probe, median, take_turns

    probe = Probe()
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    results = []
    for dim in DIMS:
        case = Case(dim, LENGTH, True, tokens=TOKENS, hidden=HIDDEN)
        tensors = Tensors(case)
        entries = [e for e in json.loads((folder / "index.json").read_text()) if e["head_dim"] == dim]
        kernels = [Ours(e["folder"], folder, e, case, tensors) for e in entries]
        outputs = {}
        for entry, kernel in zip(entries, kernels):
            tensors.poison()
            kernel.launch()
            first = outputs.setdefault(entry["left"], tensors.o.clone())
            assert torch.equal(first, tensors.o), f"{entry['folder']}: expected the bits of the kernel before it"
        del outputs
        taken = take_turns(kernels, options.rounds, options.seconds, probe)
        widest = None
        for entry, turns in zip(entries, taken):
            middle = median(turns)
            blocks = visited(entry) * case.batch * case.heads
            nanoseconds = middle.seconds * 1e9 * processors / blocks
            # Narrow masks draw less power, so the chip clocks higher: cycles compare work.
            cycles = nanoseconds * middle.ghz
            widest = widest or (nanoseconds, cycles)
            row = dict(head_dim=dim, left="causal" if entry["left"] is None else entry["left"], work=entry["work"],
                       blocks=blocks, milliseconds=f"{middle.seconds * 1e3:.3f}", ghz=f"{middle.ghz:.3f}",
                       cycles_per_block=f"{cycles:.0f}",
                       time_ratio=f"{nanoseconds / widest[0]:.3f}", cycle_ratio=f"{cycles / widest[1]:.3f}")
            results.append(row)
            print(*(f"{key} {value}" for key, value in row.items()), flush=True)
    if options.csv:
        with options.csv.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(results[0]))
            writer.writeheader()
            writer.writerows(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("prepare", "measure"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.15, help="of a block of runs")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    if options.mode == "prepare":
        prepare(options.folder)
    else:
        measure(options.folder, options)


if __name__ == "__main__":
    main()
