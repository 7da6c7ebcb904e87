#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts what a consumer of each measured Hopper kernel issues per KV block.

kernels.py --fa4c FA4C --work FOLDER --csv FILE: compiles every kernel of h200.csv,
disassembles it, and counts its shortest loop with products and exponentials, which is the one
without a mask. Blocks that a forward branch of the loop skips (a new maximum, a rescale) are
rare under the lazy rule and not counted. Counts of other kernels stay in the file: those of
h200_tiles.csv were measured and counted with the compiler of their day, and today's counts
would not explain them."""

import argparse
import csv
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/cost"))
import compare  # noqa: E402
import loops  # noqa: E402
import schedules  # noqa: E402

MODULE = """module attributes {{fa4.target = #fa4.target<"sm_90a">}} {{
  func.func @forward(%q: {t}, %k: {t}, %v: {t}, %o: {t}, %lse: memref<?x?x?xf32>) {{
    attn.forward ins(%q, %k, %v : {t}, {t}, {t}) outs(%o, %lse : {t}, memref<?x?x?xf32>) layout(bhsd){rest}
    return
  }}
}}
"""
RARE = 8  # a branch over fewer is part of a wait


def kernels():
    """(head dim, causal, tile) of every kernel of the present table, tile as `3x64x80` or `default`."""
    found = set()
    for row in csv.DictReader((ROOT / "bench/results/h200.csv").open()):
        if row["impl"].startswith("fa4") and row["dtype"] == "bf16":
            found.add((int(row["head_dim"]), int(row["causal"]), row["impl"].removeprefix("fa4").lstrip("-") or "default"))
    return sorted(found)


def compile_one(options, head_dim, causal, tile):
    stem = options.work / f"d{head_dim}-{'causal' if causal else 'full'}-{tile}"
    tensor = f"memref<?x?x?x{head_dim}xbf16>"
    rest = " mask [#attn.causal]" if causal else ""
    if tile != "default":
        stages, rows, columns = tile.split("x")
        rest += f" schedule(#fa4.schedule<forward, tile = {rows} x {columns}, stages = {stages}>)"
    stem.with_suffix(".mlir").write_text(MODULE.format(t=tensor, rest=rest))
    schedule = schedules.chosen(options.fa4c, "sm_90a", stem.with_suffix(".mlir"))
    subprocess.run([options.fa4c, "--target=sm_90a", "--emit=ptx", stem.with_suffix(".mlir"), "-o", stem.with_suffix(".ptx")], check=True)
    tools = options.work.parent / "bench-cost/tools"
    ptxas, nvdisasm = (compare.tool(tools, name) for name in ("ptxas", "nvdisasm"))
    subprocess.run([ptxas, "-arch=sm_90a", stem.with_suffix(".ptx"), "-o", stem.with_suffix(".cubin")], check=True)
    listing = subprocess.run([nvdisasm, "-c", stem.with_suffix(".cubin")], check=True, capture_output=True, text=True).stdout
    return re.search(r"tile = (\d+) x (\d+), stages = (\d+)", schedule).groups(), listing


def count(listing):
    code, labels = loops.parse(listing)
    candidates = []
    for first, last in loops.loops(code, labels):
        ops = Counter(op.split(".")[0] for op, _ in code[first:last + 1])
        if ops["HGMMA"] and ops["MUFU"] > RARE:
            candidates.append((last - first, first, last))
    _, first, last = min(candidates)
    rare = set()
    for index in range(first, last + 1):
        op, body = code[index]
        if op.startswith("BRA") and (target := loops.TARGET.search(body)):
            if index + RARE < labels.get(target[1], 0) <= last:
                rare.update(range(index + 1, labels[target[1]]))
    pipes = Counter(loops.pipe(code[i][0].split(".")[0]) for i in range(first, last + 1) if i not in rare)
    exp2, fma, alu = pipes["mufu"], pipes["fma"], pipes["alu"] + pipes["convert"]
    return exp2, fma, alu, sum(pipes.values()) - exp2 - fma - alu, len(rare)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("fa4c", "work", "csv"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    rows = {}
    if options.csv.exists():
        _, *kept = csv.reader(options.csv.open())
        rows = {(int(dim), int(causal), tile): rest for dim, causal, tile, *rest in kept}
    for kernel in kernels():
        sizes, listing = compile_one(options, *kernel)
        rows[kernel] = [*sizes, *count(listing)]
    with options.csv.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["head_dim", "causal", "tile", "rows", "columns", "stages", "exp2", "fma", "alu", "other", "rare"])
        writer.writerows([*kernel, *rest] for kernel, rest in sorted(rows.items()))


if __name__ == "__main__":
    sys.exit(main())
