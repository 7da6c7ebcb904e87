# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every source file names itself and its licence."""

import re
from pathlib import Path

import common

SPDX = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
C_FAMILY = (*common.SOURCE_SUFFIXES, ".inc")


def findings(root):
    for name in common.tracked(root, (*C_FAMILY, ".py", ".sh")):
        top = (Path(root) / name).read_text(encoding="utf-8").splitlines()[:8]
        if not any(SPDX in line for line in top):
            yield f"{name}:1: expected '{SPDX}' in the first lines"
        if name.endswith(C_FAMILY):
            title = re.match(r"//===- (\S+) .*===//$", top[0] if top else "")
            if not title or Path(title[1]).name != Path(name).name:
                yield f"{name}:1: expected a title line '//===- {Path(name).name} ... ---===//'"
