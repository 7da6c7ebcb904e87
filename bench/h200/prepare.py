#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the kernels that measure.py measures, on a machine without a GPU.

prepare.py FOLDER [--schedules FILE]: one kernel per head dimension and mask, with the
compiler's own schedule, and one more for each line `NAME DIM CAUSAL #fa4.schedule<…>` of
the file: what a tuner wants tried. Fails if ptxas was not there or a kernel spills.
"""

import argparse
import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import fa4  # noqa: E402


def wanted(options):
    """(schedule's name, dim, causal, schedule's text)"""
    for dim in options.dims:
        for causal in (False, True):
            yield "default", dim, causal, None
    if options.schedules:
        for line in options.schedules.read_text().splitlines():
            if line.strip() and not line.startswith("//"):
                name, dim, causal, text = line.split(None, 3)
                yield name, int(dim), bool(int(causal)), text


def compile_one(options, name, dim, causal, text):
    spec = fa4.Attention(head_dim=dim, causal=causal, dtype=options.dtype, layout="bhsd", schedule=text)
    folder = f"{options.dtype}-d{dim}-{'causal' if causal else 'full'}-{name}"
    kernel = fa4.compile(spec, target=options.target)
    if kernel.cubin is None:
        raise SystemExit("expected ptxas to be on this machine, but got no cubin")
    kernel.save(options.folder / folder)
    spills = [line for line in kernel.report.splitlines() if re.search(r"spill (?:stores|loads) [1-9]|note: .*C75", line)]
    entry = dict(folder=folder, schedule=name, dtype=options.dtype, head_dim=dim, causal=causal)
    return entry, spills


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--dims", type=int, nargs="*", default=[64, 128, 256])
    parser.add_argument("--schedules", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    index, bad = [], 0

    def work(item):
        try:
            return item, compile_one(options, *item), None
        except fa4.FA4Error as error:
            return item, None, error

    with ThreadPoolExecutor(options.jobs) as pool:
        for (name, dim, causal, _), result, error in pool.map(work, wanted(options)):
            label = f"d{dim} {'causal' if causal else 'full'} {name}"
            if error is not None:
                bad += 1
                print(f"{label}: {str(error)[:500]}", file=sys.stderr)
                continue
            entry, spills = result
            index.append(entry)
            bad += bool(spills)
            print(f"{label}: {'; '.join(spills) if spills else 'compiled'}")
    (options.folder / "index.json").write_text(json.dumps(index, indent=1))
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
