#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the instructions of each role's innermost loop in machine code.

usage: loops.py LISTING...      (what `nvdisasm -c` prints for one kernel)

A role is recognised by what only it does in its loop over KV blocks: `mma` issues
products, `softmax` takes exponentials of what it reads from tensor memory,
`correction` scales what it reads and writes back, `load` copies tiles in. The loop
with a mask is the one that selects among scores. Waits that fail are retried out of
line and are not counted: these are the issue slots of a wait that succeeds at once."""

import re
import sys
from collections import Counter
from pathlib import Path

LABEL = re.compile(r"^(\.L_x_\d+):")
INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(.*?)\s*;")
PREDICATE = re.compile(r"^@!?U?P\w+\s+")
TARGET = re.compile(r"`\((\.L_x_\d+)\)")

# Pipes of an SM as the cost model names them; what is not listed is "other".
PIPES = {
    "mufu": ("MUFU",),
    "fma": ("FFMA", "FADD", "FMUL", "IMAD"),
    "fma_packed": ("FFMA2", "FADD2", "FMUL2"),
    "alu": ("FMNMX", "FMNMX3", "FSEL", "FSETP", "ISETP", "LOP3", "SEL", "IADD3", "VIADD", "LEA", "SHF", "R2P", "MOV",
            "VIADDMNMX", "BMSK", "PLOP3"),
    "convert": ("F2FP", "I2F", "F2I", "I2FP"),
    "tensor": ("UTCHMMA", "UTCQMMA", "UTCBAR"),
    "tensor_memory": ("LDTM", "STTM"),
    "barrier": ("SYNCS", "BAR", "FENCE"),
    "nop": ("NOP",),
}
PIPE_OF = {op: pipe for pipe, ops in PIPES.items() for op in ops}


def pipe(op):
    return PIPE_OF.get(op) or ("uniform" if op.startswith(("U", "R2UR")) else "other")


def parse(text):
    """([(opcode with modifiers, text)], {label: index})."""
    code, labels = [], {}
    for line in text.splitlines():
        if found := LABEL.match(line.strip()):
            labels[found[1]] = len(code)
        elif found := INSTRUCTION.match(line):
            body = PREDICATE.sub("", found[1])
            code.append((body.split()[0], body))
    return code, labels


def loops(code, labels):
    """(first, last) of each stretch that ends in a branch back to its start."""
    for last, (op, body) in enumerate(code):
        if op.startswith("BRA") and (target := TARGET.search(body)):
            first = labels.get(target[1], last + 1)
            if first <= last:
                yield first, last


def role(code):
    """What a loop does, or None."""
    ops = Counter(op.split(".")[0] for op, _ in code)
    exponentials = sum(op.startswith("MUFU.EX2") for op, _ in code)
    if ops["UTCHMMA"] and not ops["LDTM"]:
        return "mma"
    if ops["LDTM"] and exponentials >= 16:
        # A mask selects every score; without one only the row's factor is.
        return "softmax_masked" if ops["FSEL"] > exponentials // 2 else "softmax"
    if ops["LDTM"] and ops["STTM"] and not exponentials:
        return "correction"
    if ops["UTMALDG"]:
        return "load"
    return None


def count(text):
    """{role: Counter of instructions by pipe, with `all`}, of the shortest loop of each."""
    code, labels = parse(text)
    shortest = {}
    for first, last in loops(code, labels):
        body = code[first:last + 1]
        name = role(body)
        if name and (name not in shortest or len(body) < len(shortest[name])):
            shortest[name] = body
    counts = {}
    for name, body in shortest.items():
        counts[name] = Counter(pipe(op.split(".")[0]) for op, _ in body)
        counts[name]["all"] = len(body)
    return counts


def main():
    for path in sys.argv[1:]:
        for name, pipes in sorted(count(Path(path).read_text()).items()):
            print(f"{Path(path).stem} {name}:", ", ".join(f"{k} {v}" for k, v in sorted(pipes.items())))


if __name__ == "__main__":
    main()
