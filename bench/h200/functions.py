#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far the GPU's approximate functions are from the simulator's, in ulp of f32.

functions.py --simulator FA4-SIM: numbers of all exponents and signs, drawn with --seed,
through functions.ptx on the GPU and in fa4-sim with --approx=low. Ends with 1 if one of
them is more than --within away.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))

# Rows of the result. PTX's tanh, sin and cos have errors of 2^-11 and 2^-20.5; kernels use them,
# and rsqrt, only where a module's score region does, tanh with `fastmath<afn>`.
FUNCTIONS = ("ex2.approx.ftz", "lg2.approx.ftz", "tanh.approx", "rsqrt.approx.ftz", "sin.approx.ftz", "cos.approx.ftz",
             "div.full.ftz")
JUDGED = ("ex2.approx.ftz", "lg2.approx.ftz", "rsqrt.approx.ftz", "div.full.ftz")


def inputs(number, seed):
    random = np.random.default_rng(seed)
    everywhere = random.integers(0, 1 << 32, number // 2, dtype=np.uint64).astype(np.uint32).view(np.float32)
    # What a softmax asks for: exponents of differences, logarithms of sums.
    usual = np.concatenate([-np.abs(random.normal(0, 20, number // 4)), np.exp(random.uniform(-1, 12, number // 4))])
    x = np.concatenate([everywhere, usual.astype(np.float32)])
    return x[~np.isnan(x)]


def on_gpu(x):
    import torch

    import fa4
    files = {name: (HERE / name).read_bytes() for name in ("functions.json", "functions.ptx")}
    y = torch.empty((len(FUNCTIONS), len(x)), device="cuda")
    fa4.Kernel(files, "functions").launch(x=torch.from_numpy(x).cuda(), y=y)
    return y.cpu().numpy()


def in_simulator(x, simulator):
    with tempfile.TemporaryDirectory() as folder:
        given, results = Path(folder, "x.npy"), Path(folder, "y.npy")
        np.save(given, x)
        subprocess.run([simulator, HERE / "functions.json", "--approx=low", f"--arg=x={given}",
                        f"--arg=y=empty:{len(FUNCTIONS)}x{len(x)}", f"--out=y={results}"], check=True,
                       stdout=subprocess.DEVNULL)
        return np.load(results)


def ulps(a, b, least=0.0):
    """Distances in ulp of the larger number, or of `least`."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.maximum(np.abs(a), np.abs(b)), max(least, 2.0**-126))
        distance = np.abs(a - b) / np.exp2(np.floor(np.log2(size)) - 23)
    return np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.where(np.isnan(distance), np.inf, distance))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulator", type=Path, required=True)
    parser.add_argument("--number", type=int, default=1 << 20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--within", type=int, default=2)
    options = parser.parse_args()
    x = inputs(options.number, options.seed)
    gpu, simulated = on_gpu(x), in_simulator(x, options.simulator)
    failed = False
    for name, a, b in zip(FUNCTIONS, gpu, simulated):
        # Around 1 the PTX ISA bounds a logarithm's error absolutely.
        distance = ulps(a, b, least=1.0 if name.startswith("lg2") else 0.0)
        worst = int(distance.argmax())
        print(f"{name:18} {len(x)} numbers, {int((distance != 0).sum())} differ, by {distance[worst]:.1f} ulp at most, "
              f"at {x[worst]!r}: {a[worst]!r} on the GPU, {b[worst]!r} in the simulator")
        failed |= name in JUDGED and distance[worst] > options.within
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
