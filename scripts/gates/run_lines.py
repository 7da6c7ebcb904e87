# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every lit RUN line ends in something that can fail on the output.

A line that only prepares a file in %t is fine if a later, checked line of the
same test reads it.
"""

import re

import common

CHECKER = re.compile(
    r"\b(FileCheck|diff|cmp|count)\b[^|]*$|--?verify-diagnostics|--?verify-roundtrip"
    r"|(^|\|\s*)not\s|\bfa4-sim\b|\bfa4c\b.*--check\b|\bfa4-capi-test\b"
)
SET_UP = re.compile(r"^(rm|mkdir|cp|touch|split-file)\b")


def run_lines(root, name):
    """(line number, command) with continuation lines joined."""
    pending, start = "", 0
    for number, text in common.lines(root, name):
        match = re.search(r"\bRUN:\s*(.*)$", text)
        if not match:
            continue
        start = start if pending else number
        command = match[1].strip()
        if command.endswith("\\"):
            pending += command[:-1]
            continue
        yield start, pending + command
        pending = ""
    if pending:
        yield start, pending


def findings(root):
    for name in common.tracked(root, (".mlir", ".ptx", ".test", ".c"), ("test",)):
        if "/Inputs/" in name:
            continue
        commands = list(run_lines(root, name))
        if not commands:
            yield f"{name}:1: expected a RUN line"
        for index, (number, command) in enumerate(commands):
            if CHECKER.search(command) or SET_UP.match(command):
                continue
            later = any("%t" in c and CHECKER.search(c) for _, c in commands[index + 1:])
            if "%t" in command and later:
                continue
            yield f"{name}:{number}: RUN line without a checker: {command}"
