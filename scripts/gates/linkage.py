# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our binaries share one copy of MLIR: libMLIR.so's.

Mixing the static archives with the shared library links without a word and
gives two registries of dialects in one process, so it is looked for here.
"""

import subprocess
from pathlib import Path

LLVM_BIN = Path("/usr/lib/llvm-22/bin")
OWN_COPY = "_ZN4mlir11MLIRContextC2E"


def elf_files(build):
    for folder in ("bin", "lib"):
        for path in sorted((build / folder).glob("*")):
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as stream:
                    if stream.read(4) == b"\x7fELF":
                        yield path


def judge(name, dynamic_section, symbols):
    if any(OWN_COPY in line for line in symbols.splitlines()):
        yield f"{name}: defines mlir::MLIRContext itself"
    if name.startswith("libFA4.") and "libMLIR.so" not in dynamic_section:
        yield f"{name}: expected to need libMLIR.so"


def findings(root):
    files = list(elf_files(Path(root) / "build"))
    if not any(path.name.startswith("libFA4.") for path in files):
        yield "build/lib/libFA4.so: expected to exist, build first"
    for path in files:
        dynamic = subprocess.run(
            [LLVM_BIN / "llvm-readelf", "-d", path], capture_output=True, text=True, check=True).stdout
        symbols = subprocess.run(
            [LLVM_BIN / "llvm-nm", "--defined-only", path], capture_output=True, text=True).stdout
        exported = subprocess.run(
            [LLVM_BIN / "llvm-nm", "-D", "--defined-only", path], capture_output=True, text=True).stdout
        yield from judge(path.name, dynamic, symbols + exported)
