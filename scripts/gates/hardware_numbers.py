# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts of a chip stand in the target table and nowhere else.

Comments and ODS descriptions may name them. The simulator is exempt: it
judges the compiler from outside and so must not read the compiler's table.
"""

import re
from pathlib import Path

import common

EXEMPT = ("lib/Target/", "include/fa4/Target/", "lib/Simulator/", "include/fa4/Simulator/")

# Chip names; shared memory per SM and per CTA in bytes and KiB; the register
# file; comparisons of a compute capability.
FACT = re.compile(r"\bsm_\d+[a-z]?\b|\b(?:232448|233472|227|228|65536)\b|computeCapability")

DESCRIPTION = re.compile(r"(description\s*=\s*)\[\{.*?\}\]", re.S)


def blank(match):
    return match[1] + re.sub(r"[^\n]", " ", match[0][len(match[1]):])


def findings(root):
    for name in common.tracked(root, common.SOURCE_SUFFIXES, ("lib", "include", "tools")):
        if name.startswith(EXEMPT):
            continue
        text = (Path(root) / name).read_text(encoding="utf-8")
        if name.endswith(".td"):
            text = DESCRIPTION.sub(blank, text)
        for number, line in enumerate(common.strip_comments(text).splitlines(), start=1):
            match = FACT.search(line)
            if match:
                yield f"{name}:{number}: hardware fact outside lib/Target: {match[0]}"
