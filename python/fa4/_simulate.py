# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running a kernel's PTX on this machine's processors."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from fa4 import _tools
from fa4._arrays import Empty, host_array
from fa4._bundle import Values
from fa4._errors import ArgumentError, SimulationFault, ToolError
from fa4._kernel import Kernel
from fa4._spec import is_integer


_CHOICES = {"schedule": ("block", "random"), "mma": ("exact", "f32", "f64"),
            "approx": ("nearest", "low", "jitter", "edge")}


def _check_options(**numbers: tuple[Any, int]) -> None:
    """fa4-sim ends alike for options that it cannot read and for faults of a kernel."""
    for name, (value, least) in numbers.items():
        if not is_integer(value) or value < least:
            raise ArgumentError(f"expected {name} to be a number from {least}, but got {value!r}")


def simulate(
    kernel: Kernel,
    *,
    seed: int = 1,
    processors: int = 4,
    schedule: str = "block",
    mma: str = "exact",
    approx: str = "nearest",
    jobs: int | None = None,
    **arguments: Any,
) -> dict[str, np.ndarray]:
    """Runs the kernel in fa4-sim and returns the tensors that it writes, by name.

    Tensors are numpy arrays of the declared type and rank, in any memory order; bf16 is
    uint16 bits, in and out (`fa4.to_bf16`, `fa4.from_bf16`). A tensor that is only
    written may be an `fa4.Empty(shape)`: what the kernel leaves out then holds arbitrary
    bytes, and reading it is a fault. The arrays given are not changed.

    seed        of every choice that the machine is free in
    processors  multiprocessors of the simulated device
    schedule    how warps interleave: "block" or "random"
    mma         tensor-core sums: "exact" (as the hardware), "f32", "f64"
    approx      approximate functions: "nearest", "low", "jitter", "edge"
    jobs        threads (default: one per core)

    Raises `SimulationFault` with the report if a thread does what no thread may or the
    kernel never ends, `ArgumentError` for arguments that do not fit.
    """
    kernel.bundle.check_names(arguments)
    _check_options(seed=(seed, 0), processors=(processors, 1), jobs=(1 if jobs is None else jobs, 1))
    for option, value in (("schedule", schedule), ("mma", mma), ("approx", approx)):
        if value not in _CHOICES[option]:
            raise ArgumentError(f"expected {option} to be one of {', '.join(_CHOICES[option])}, but got {value!r}")
    folder = Path(tempfile.mkdtemp(prefix="fa4-sim-"))
    try:
        bundle = kernel.save(folder / "bundle")
        command = [str(_tools.find_tool("fa4-sim")), str(bundle), f"--seed={seed}", f"--processors={processors}",
                   f"--schedule={schedule}", f"--mma={mma}", f"--approx={approx}"]
        if jobs is not None:
            command.append(f"--jobs={jobs}")
        written: list[str] = []
        shapes: dict[str, tuple[int, ...]] = {}
        for argument in kernel.bundle.arguments:
            name, value = argument["name"], arguments[argument["name"]]
            if argument["kind"] == "scalar":
                kernel.bundle.bind_scalar(argument, value, Values())
                command.append(f"--arg={name}={value}")
                continue
            if isinstance(value, Empty):
                kernel.bundle.check_tensor(argument, argument["type"], len(value.shape))
                shapes[name] = tuple(value.shape)
                command.append(f"--arg={name}=empty:{'x'.join(map(str, value.shape))}")
            else:
                array = host_array(name, argument["type"], value)
                kernel.bundle.check_tensor(argument, argument["type"], array.ndim)
                shapes[name] = array.shape
                np.save(folder / f"{name}.npy", array)
                command.append(f"--arg={name}={folder / name}.npy")
            if argument["access"] != "read":
                written.append(name)
                command.append(f"--out={name}={folder / name}.out.npy")
        kernel.check_shapes(shapes)
        result = _tools.run_tool(command)
        if result.returncode in (1, 3):
            raise SimulationFault(result.stdout + result.stderr)
        if result.returncode == 2:
            raise ArgumentError(result.stderr.strip().removeprefix("fa4-sim: error: "))
        if result.returncode != 0:
            raise ToolError(f"expected fa4-sim to end with 0 to 3, but got {result.returncode}:\n{result.stderr[-2000:]}")
        return {name: np.load(folder / f"{name}.out.npy") for name in written}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
