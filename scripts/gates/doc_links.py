# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Relative links of the documentation lead somewhere."""

import re
from pathlib import Path

import common

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def findings(root):
    for name in common.tracked(root, (".md",)):
        fenced = False
        for number, line in common.lines(root, name):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            if fenced:
                continue
            for target in LINK.findall(line):
                if "://" in target or target.startswith("mailto:"):
                    continue
                if not (Path(root) / name).parent.joinpath(target).exists():
                    yield f"{name}:{number}: link to nothing: {target}"
