# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the peers with their own compilers and runs them in fa4-sim.

usage: run_peers.py --sim FA4-SIM --build FOLDER [--only TEXT] [--require] [--deep] [--table FILE]

Compilers come from PyPI into a virtual environment in the build folder, nvcc from
the CUDA toolkit. What cannot be had (no network, no toolkit) is skipped, unless
--require is given. Results are compared with float64, per schedule."""

import argparse
import json
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
CUDA = HERE.parent / "cuda"
# The versions whose launch conventions the descriptions were read from.
PACKAGES = ["flash-attn-4[cu13]==4.0.0b36", "nvidia-cutlass-dsl==4.8.1", "triton==3.9.0", "numpy"]
SCHEDULES = [["--schedule=block", "--seed=1"], ["--schedule=random", "--seed=2"]]
# More seeds, under everything that the hardware may do but rarely does.
DEEP = [["--schedule=random", f"--seed={seed}", *extra] for seed in range(3, 11)
        for extra in ([], ["--spurious-try-wait"], ["--pipe=isa"], ["--approx=edge"], ["--approx=jitter"])]
FLASH_ATTENTION = [(arch, "causal", sequence) for arch in ("sm_90a", "sm_100a") for sequence in (256, 1000)]
FLASH_ATTENTION += [("sm_100a", "clc", 1000), ("sm_100a", "pairs", 1000), ("sm_100a", "backward", 256),
                    ("sm_100a", "backward", 1000)]


def call(command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


def make_environment(folder):
    """The environment's Python, or None when its packages cannot be had."""
    python, done = folder / "venv/bin/python", folder / "venv/installed.txt"
    if done.exists() and done.read_text(encoding="utf-8") == "\n".join(PACKAGES):
        return python
    venv.create(folder / "venv", with_pip=True)
    if subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES]).returncode:
        return None
    done.write_text("\n".join(PACKAGES), encoding="utf-8")
    return python


def build_cuda(folder):
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not Path(nvcc).exists():
        return False
    for kernel, arches in (("async_softmax", ("90a", "100a")), ("cluster_reduce", ("90a", "100a")),
                           ("wgmma_gemm", ("90a",)), ("tcgen05_gemm", ("100a",))):
        for arch in arches:
            out = folder / f"cuda_{kernel}_sm{arch}.ptx"
            if not out.exists():
                call([nvcc, "-std=c++17", "-O3", "-ptx", f"-arch=compute_{arch}", CUDA / f"{kernel}.cu", "-o", out])
    return True


def build_packages(folder, python):
    if not (folder / "triton_attention_d128_sm100.meta.json").exists():
        call([python, "-W", "ignore", HERE / "build_triton.py", folder])
    for arch, variant, sequence in FLASH_ATTENTION:
        if not (folder / f"flash_attention_{arch}_{variant}_s{sequence}.meta.json").exists():
            call([python, "-W", "ignore", HERE / "build_flash_attention.py", folder, arch, variant, sequence])


def write_inputs(case, sim, folder):
    """The command up to the schedule."""
    import numpy as np
    from arrays import stored

    command = [sim, folder / f"{case.name}.json", "--speed"]
    for name, (array, kind) in case.inputs.items():
        file = folder / f"{case.name}.{name}.npy"
        np.save(file, stored(array, kind))
        command.append(f"--arg={name}={file}")
    for name, shape in case.shapes().items():
        command.append(f"--arg={name}=empty:{'x'.join(map(str, shape))}")
        command.append(f"--out={name}={folder / f'{case.name}.{name}.out.npy'}")
    return [str(part) for part in command]


def compare(case, folder):
    """Per output the largest error, and the largest share of its bound."""
    import numpy as np
    from arrays import loaded

    worst = {}
    for name, result in case.results.items():
        out = np.load(folder / f"{case.name}.{name}.out.npy")
        got = out.astype(np.float64) if result.kind == "i32" else loaded(out, result.kind)
        error = np.abs(got - result.want)
        with np.errstate(divide="ignore", invalid="ignore"):
            worst[name] = float(error.max()), float(np.where(error == 0, 0, error / result.bound).max())
    return worst


def run_case(case, sim, folder, deep):
    """Runs every schedule, then a spoiled launch; yields a row of the table for each."""
    command = write_inputs(case, sim, folder)
    for description, schedules in ((case.bundle, SCHEDULES + (DEEP if deep else [])), (case.spoiled(), SCHEDULES[:1])):
        Path(command[1]).write_text(json.dumps(description, indent=1), encoding="utf-8")
        spoiled = description is not case.bundle
        for schedule in schedules:
            start = time.monotonic()
            ran = subprocess.run(command + schedule, capture_output=True, text=True)
            seconds = time.monotonic() - start
            worst = compare(case, folder) if ran.returncode == 0 else {}
            # Not below, so that NaN is wrong.
            right = bool(worst) and all(ratio <= 1 for _, ratio in worst.values())
            yield {"name": case.name, "producer": case.producer, "seconds": seconds, "worst": worst,
                   "schedule": "spoiled" if spoiled else " ".join(schedule),
                   "ok": right != spoiled, "output": ran.stdout + ran.stderr}
    Path(command[1]).write_text(json.dumps(case.bundle, indent=1), encoding="utf-8")


def write_table(path, rows):
    """Per kernel and output the worst of all schedules."""
    worst, seconds = {}, {}
    for row in rows:
        if row["schedule"] == "spoiled":
            continue
        seconds.setdefault(row["name"], (row["producer"], row["seconds"]))
        for name, (error, ratio) in (row["worst"] or {"all": (float("nan"), float("nan"))}).items():
            key = row["name"], name
            worst[key] = max(worst.get(key, (0.0, 0.0)), (error, ratio))
    lines = ["| Kernel | Compiled by | Output | Largest error | Of its bound | Seconds |", "|---|---|---|---|---|---|"]
    for (kernel, name), (error, ratio) in worst.items():
        producer, time_taken = seconds[kernel]
        lines.append(f"| {kernel} | {producer} | {name} | {error:.2e} | {ratio:.3f} | {time_taken:.1f} |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def inside(options):
    """Runs in the environment, where NumPy is."""
    from cases import all_cases

    folder = options.build / "kernels"
    rows, skipped, failed = [], 0, 0
    for make in all_cases(folder):
        try:
            case = make()
        except FileNotFoundError as missing:
            print(f"skipped: {Path(missing.filename).name} was not built")
            skipped += 1
            continue
        if options.only not in case.name:
            continue
        if not (folder / case.bundle["ptx"]).exists():
            print(f"skipped: {case.bundle['ptx']} was not built")
            skipped += 1
            continue
        for row in run_case(case, options.sim, folder, options.deep):
            rows.append(row)
            failed += not row["ok"]
            worst = ", ".join(f"{name} {error:.2e} ({ratio:.2f} of its bound)" for name, (error, ratio) in row["worst"].items())
            print(f"{'ok' if row['ok'] else 'FAILED'}: {row['name']} {row['schedule']}: {worst} in {row['seconds']:.1f} s", flush=True)
            if not row["ok"]:
                print(row["output"][:2000])
    if options.table:
        write_table(options.table, rows)
    print(f"{len(rows) - failed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or (options.require and skipped) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sim", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--require", action="store_true")
    parser.add_argument("--deep", action="store_true")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        sys.exit(inside(options))
    folder = options.build / "kernels"
    folder.mkdir(parents=True, exist_ok=True)
    python = make_environment(options.build)
    if python is None:
        print("skipped: the packages could not be installed\n0 passed, 0 failed, 1 skipped")
        sys.exit(1 if options.require else 0)
    if not build_cuda(folder):
        print("skipped: expected nvcc of a CUDA toolkit on the path, but got none")
    build_packages(folder, python)
    sys.exit(subprocess.run([python, __file__, *sys.argv[1:], "--inside"]).returncode)


if __name__ == "__main__":
    main()
