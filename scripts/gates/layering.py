# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each library includes only what stands below it.

The oracle knows nothing of the lowering, the simulator nothing of the
compiler, and no header drags in what triples everyone's compile time.
"""

import re

import common

INCLUDE = re.compile(r'^\s*#include\s+["<](?P<header>[^">]+)[">]')

# Folder of lib/ and include/fa4/: the headers it may not include.
FORBIDDEN = {
    "Numerics": r"mlir/|fa4/(?!Numerics/)",
    "Support": r"mlir/|fa4/(?!Support/|Numerics/)",
    "Reference": r"mlir/|fa4/(?!Reference/|Numerics/|Support/)",
    "Runtime": r"mlir/|fa4/(?!Runtime/|Support/)",
    "Simulator": r"mlir/|fa4/(?!Simulator/|Runtime/|Support/)",
    "Dialect/FA4": r"fa4/(?!Dialect/FA4/|Target/|Support/)",
    "Dialect/Attn": r"fa4/(Dialect/Tile|Conversion|Pipelines|Driver|Reference|Simulator)/",
    "Dialect/Tile": r"fa4/(Conversion|Pipelines|Driver|Reference|Simulator)/",
    "Conversion": r"fa4/(Pipelines|Driver|Reference|Simulator)/",
}
# 30 s and 1.7 GB per translation unit: include the one conversion's header.
EVERY_CONVERSION = "mlir/Conversion/Passes.h"
# 22 s per translation unit: only where NVVM ops are made.
NVVM = "mlir/Dialect/LLVMIR/NVVMDialect.h"
NVVM_USERS = ("lib/Conversion/TileToNVVM/", "lib/Target/")


def forbidden_for(name):
    for folder, pattern in FORBIDDEN.items():
        if name.startswith((f"lib/{folder}/", f"include/fa4/{folder}/")):
            return re.compile(pattern)
    return None


def findings(root):
    for name in common.tracked(root, (".cpp", ".h"), ("lib", "include", "tools")):
        forbidden = forbidden_for(name)
        for number, line in common.lines(root, name):
            match = INCLUDE.match(line)
            if not match:
                continue
            header = match["header"]
            bad = header == EVERY_CONVERSION
            bad |= header == NVVM and not name.startswith(NVVM_USERS)
            bad |= forbidden is not None and forbidden.match(header) is not None
            if bad:
                yield f"{name}:{number}: not for this layer: {header}"
