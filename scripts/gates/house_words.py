# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No unfinished marks, no process-wide state, no abort on a user's input."""

import re
from pathlib import Path

import common

# Split so that this file does not offend itself.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
FORBIDDEN_IN_CODE = re.compile(
    r"\b(getenv|report_fatal_error|setenv|abort)\s*\(|\bthrow\b|\bcatch\s*\(|\btry\s*\{"
)
FORBIDDEN_OUTSIDE_TOOLS = re.compile(r"\bcl::opt<|\bstd::exit\s*\(")
MACHINE_PATH = re.compile(r"(?<![\w./$}])/(?:work|home|root)/\w+")


def findings(root):
    everything = (*common.SOURCE_SUFFIXES, ".inc", ".py", ".sh", ".cmake", ".txt", ".mlir", ".md", ".json")
    for name in common.tracked(root, everything):
        text = (Path(root) / name).read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), start=1):
            if UNFINISHED.search(line):
                yield f"{name}:{number}: unfinished mark: {line.strip()}"
            if MACHINE_PATH.search(line):
                yield f"{name}:{number}: path of one machine: {line.strip()}"
        if not name.endswith(common.SOURCE_SUFFIXES) or not name.startswith(("lib/", "include/", "tools/")):
            continue
        code = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', common.strip_comments(text))
        for number, line in enumerate(code.splitlines(), start=1):
            match = FORBIDDEN_IN_CODE.search(line)
            if not match and not name.startswith("tools/"):
                match = FORBIDDEN_OUTSIDE_TOOLS.search(line)
            if match:
                yield f"{name}:{number}: not in this house: {match[0].strip()}"
