# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No file grows past what one reader holds in mind."""

import common

LIMIT = 1000
TABLEGEN_LIMIT = 800
ADVICE = 600


def lengths(root):
    for name in common.tracked(root, (*common.SOURCE_SUFFIXES, ".py", ".sh", ".cmake")):
        yield name, sum(1 for _ in common.lines(root, name))


def findings(root):
    for name, length in lengths(root):
        limit = TABLEGEN_LIMIT if name.endswith(".td") else LIMIT
        if length > limit:
            yield f"{name}:1: expected at most {limit} lines, but got {length}"


def advice(root):
    for name, length in lengths(root):
        if length > ADVICE:
            yield f"{name}:1: {length} lines (aim under {ADVICE}): which second idea lives in it?"
