# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the programs are, and what tells one build of them from another."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from fa4._errors import ToolError


def find_tool(name: str) -> Path:
    """`FA4_TOOLS`/name, else beside a checkout's build, else on PATH."""
    folder = os.environ.get("FA4_TOOLS")
    if folder:
        tool = Path(folder) / name
        if os.access(tool, os.X_OK):
            return tool
        raise ToolError(f"expected {name} in the folder that FA4_TOOLS names, but got none in '{folder}'")
    checkout = Path(__file__).resolve().parents[2] / "build" / "bin" / name
    if os.access(checkout, os.X_OK):
        return checkout
    found = shutil.which(name)
    if found:
        return Path(found)
    raise ToolError(f"expected {name} on PATH or in the folder that FA4_TOOLS names, but got none")


def find_ptxas() -> Path | None:
    """NVIDIA's assembler: on PATH, in CUDA's folder, in the package nvidia-cuda-nvcc."""
    found = shutil.which("ptxas")
    if found:
        return Path(found)
    candidates = [Path("/usr/local/cuda/bin/ptxas"), Path("/opt/cuda/bin/ptxas")]
    for folder in sys.path:
        candidates += sorted(Path(folder or ".").glob("nvidia/cu*/bin/ptxas"))
    return next((c for c in candidates if os.access(c, os.X_OK)), None)


def run_tool(command: list[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs to the end with output as text; a death by signal is a ToolError."""
    try:
        result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, errors="replace",
                                stdin=subprocess.DEVNULL, check=False)
    except OSError as error:
        raise ToolError(f"expected '{command[0]}' to run, but got: {error}") from error
    if result.returncode < 0:
        raise ToolError(f"expected '{Path(command[0]).name}' to end, but got signal {-result.returncode}:\n"
                        f"{result.stderr[-2000:]}")
    return result


@functools.lru_cache(maxsize=64)
def _hash_file(path: str, size: int, mtime_ns: int) -> str:
    del size, mtime_ns  # of the cache's key alone
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def hash_file(path: Path) -> str:
    status = path.stat()
    return _hash_file(str(path), status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=16)
def _version(path: str, mtime_ns: int) -> str:
    del mtime_ns
    return run_tool([path, "--version"]).stdout


def version_of(tool: Path) -> str:
    """What the tool says to --version."""
    return _version(str(tool), tool.stat().st_mtime_ns)


def fingerprint(tool: Path) -> dict[str, str]:
    """Hashes of the tool and of FA4's libraries that it loads, and its own version
    (that of LLVM)."""
    real = tool.resolve()
    parts = {real.name: hash_file(real), "version": version_of(real)}
    for library in sorted((real.parent.parent / "lib").glob("libFA4*.so*")):
        parts[library.name] = hash_file(library.resolve())
    return parts
