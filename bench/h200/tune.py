#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the fastest schedules on a GPU and writes them where the planner looks first.

tune.py prepare FOLDER            on a machine with the compiler: compiles what is to be tried
tune.py measure FOLDER --csv FILE on the GPU's: all of it in one run, by turns, checked
tune.py write FILE                puts the winners into lib/Target/MeasuredTiles.inc

What is tried are wishes: a tile and its stages (warpgroups), the rest is the planner's. A
tile wins a head dimension and mask if its throughput, the geometric mean over the
lengths, is the largest; the planner's present tile, which is measured twice, stays unless it
is beaten by more than runs differ (--margin). Every winner goes into the table, so that the
next run starts from it.
"""

import argparse
import csv
import json
import math
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "python"))

TABLE = ROOT / "lib" / "Target" / "MeasuredTiles.inc"
LENGTHS = (2048, 16384)
# Head dimension: (rows of a warpgroup, keys of a block, warpgroups). One of them is the
# planner's own, measured twice: that shows what a difference means.
CANDIDATES = {
    64: ((64, 64, 4), (64, 80, 4), (64, 96, 3), (64, 112, 3), (64, 128, 3), (64, 144, 3), (64, 128, 2)),
    96: ((64, 64, 3), (64, 80, 3), (64, 96, 3), (64, 128, 2), (64, 144, 2)),
    128: ((64, 64, 3), (64, 80, 3), (64, 96, 2), (64, 112, 2), (64, 128, 2), (64, 144, 2)),
    192: ((64, 48, 2), (64, 64, 2), (64, 80, 2), (64, 96, 2), (64, 112, 2)),
    256: ((64, 48, 2), (64, 64, 2), (64, 80, 2), (64, 96, 2)),
}


def prepare(options):
    """prepare.py's folder of everything that the chip has room for and ptxas does not spill."""
    from concurrent.futures import ThreadPoolExecutor

    import fa4
    from blocks import BOX_ROWS, tile
    from prepare import compile_one
    options.target, options.dtype = "sm_90a", "bf16"
    options.folder.mkdir(parents=True, exist_ok=True)
    wanted = [(name, dim, causal, text) for dim in options.dims for causal in (False, True)
              for name, text in [("default", None)] + [
                  (f"{r}x{c}x{s}", f"#fa4.schedule<forward, tile = {r} x {c}, stages = {s}>")
                  for r, c, s in CANDIDATES[dim]]]

    def work(item):
        try:
            entry, reasons = compile_one(options, *item)
            folder = options.folder / entry["folder"]
            rows, keys = tile(fa4.Kernel({p.name: p.read_bytes() for p in folder.iterdir()}, "attention"))
            return item, dict(entry, tile=f"{BOX_ROWS}x{keys}x{rows // BOX_ROWS}"), reasons
        except fa4.FA4Error as error:
            return item, None, str(error).splitlines()[:1]

    index = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for (name, dim, causal, _), entry, reasons in pool.map(work, wanted):
            print(f"d{dim} {'causal' if causal else 'full'} {name}: {'; '.join(reasons)[:200] or 'compiled'}", flush=True)
            if entry and not reasons:
                index.append(entry)
    (options.folder / "index.json").write_text(json.dumps(index, indent=1))


def measure(options):
    import torch
    from implementations import Case, Ours, Tensors
    from measure import Judge
    from turns import Probe, median, spread, take_turns
    torch.manual_seed(int(time.time()))
    probe, begun = Probe(), time.time()
    entries = json.loads((options.folder / "index.json").read_text())
    tiles = {(e["head_dim"], e["causal"], e["schedule"]): e["tile"] for e in entries}
    rows = []
    cases = [Case(dim, length, causal, hidden=2048 if 2048 % dim == 0 else 1920) for length in LENGTHS
             for dim in sorted({e["head_dim"] for e in entries} & set(options.dims)) for causal in (False, True)]
    for case in cases:
        if time.time() - begun > options.limit:
            print(f"{case}: not begun, {options.limit:.0f} s are over")
            continue
        tensors = Tensors(case)
        judge = Judge(case, tensors)
        tried = []
        for kernel in Ours.create_all(options.folder, case, tensors, failures := []):
            tensors.poison()
            kernel.launch()
            errors, passed = judge.check(tensors.o, tensors.lse)
            if passed:
                tried.append(kernel)
            else:
                failures.append(f"{case} {kernel.name}: WRONG {errors}")
        # Two tiles may differ by less than the one before does to the clock.
        taken = take_turns(tried, options.rounds, options.seconds, probe)
        for kernel, turns in zip(tried, taken):
            schedule = kernel.name.removeprefix("fa4-").replace("fa4", "default")
            rows.append(dict(head_dim=case.head_dim, causal=int(case.causal), seqlen=case.seqlen, schedule=schedule,
                             tile=tiles[case.head_dim, case.causal, schedule],
                             tflops=f"{case.flop / median(turns).seconds * 1e-12:.1f}",
                             spread=f"{spread(turns):.4f}"))
        print(case, *(f"{r['schedule']} {r['tflops']}" for r in rows[len(rows) - len(tried):]), *failures, flush=True)
        del tensors, judge, tried
        with options.csv.open("w", newline="") as stream:
            stream.write(f"# {time.strftime('%Y-%m-%d')}, {torch.cuda.get_device_name()}, driver {driver()}, "
                         f"{options.commit}\n")
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


def driver():
    try:
        import pynvml
        pynvml.nvmlInit()
        return pynvml.nvmlSystemGetDriverVersion()
    except Exception:  # no NVML: nobody is told the version
        return "unknown"


def read(path):
    """(where and when of the run, {(dim, causal): (the planner's tile, {tile: {length: TFLOP/s}})})"""
    lines = path.read_text().splitlines()
    numbers = {}
    for row in csv.DictReader(lines[1:]):
        own, tiles = numbers.get(key := (int(row["head_dim"]), bool(int(row["causal"]))), (None, {}))
        tiles.setdefault(row["tile"], {}).setdefault(int(row["seqlen"]), []).append(float(row["tflops"]))
        numbers[key] = (row["tile"] if row["schedule"] == "default" else own, tiles)
    return lines[0].removeprefix("# "), numbers


def rank(own, tiles, margin):
    """The winner first, then the others, each with its throughput by the winner's."""
    def mean(name):
        values = [math.log(sum(v) / len(v)) for v in tiles[name].values()]
        return math.exp(sum(values) / len(values))

    order = sorted((t for t in tiles if tiles[t].keys() == tiles[own].keys()), key=mean, reverse=True)
    if mean(order[0]) <= (1 + margin) * mean(own):
        order.sort(key=lambda t: t != own)
    return [(t, mean(t) / mean(order[0])) for t in order]


def write(options):
    run, numbers = read(options.file)
    lines = ["//===- MeasuredTiles.inc - the fastest tiles of measured chips ---*- C++ -*-===//",
             "//", "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception", "//",
             "//===----------------------------------------------------------------------===//", "//",
             f"// Written by bench/h200/tune.py from {options.file.name}:", f"// {run}.",
             "// Chip, head dim, uneven tiles; rows, columns, stages; what the next best reached.", "//",
             "//===----------------------------------------------------------------------===//", ""]
    for (dim, causal), (own, tiles) in sorted(numbers.items()):
        (best, _), *others = rank(own, tiles, options.margin)
        print(f"d{dim} {'causal' if causal else 'full'}: {best}{'' if best == own else f' instead of {own}'};",
              *(f"{t} {share:.3f}" for t, share in others))
        lines.append(f'{{"sm_90a", {dim}, {str(causal).lower()}, {{{best.replace("x", ", ")}}}}},'
                     f" // {others[0][0]}: {others[0][1]:.3f}")
    TABLE.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest="mode", required=True)
    for name in ("prepare", "measure"):
        mode = modes.add_parser(name)
        mode.add_argument("folder", type=Path)
        mode.add_argument("--dims", type=int, nargs="*", default=list(CANDIDATES), choices=list(CANDIDATES))
    modes.choices["prepare"].add_argument("--jobs", type=int, default=2)
    mode = modes.choices["measure"]
    mode.add_argument("--csv", type=Path, required=True)
    mode.add_argument("--commit", default="commit unknown")
    mode.add_argument("--rounds", type=int, default=4)
    mode.add_argument("--seconds", type=float, default=0.1, help="of a block of runs")
    mode.add_argument("--limit", type=float, default=120, help="seconds after which no case is begun")
    mode = modes.add_parser("write")
    mode.add_argument("file", type=Path)
    mode.add_argument("--margin", type=float, default=0.02)
    options = parser.parse_args()
    {"prepare": prepare, "measure": measure, "write": write}[options.mode](options)


if __name__ == "__main__":
    main()
