# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Simplifies a kernel with one rule less, for each rule, and counts what is left.

usage: leave_out_each.py TEXT RULES COMMAND...; `{rule}` in COMMAND is one of RULES.
Prints per rule how many ops on barriers its result has more than TEXT.
"""

import re
import subprocess
import sys

OPS = re.compile(r"tile\.(named_barrier|barrier|(barrier|named)\.\w+) @")


def count(text):
    return sum(1 for _ in OPS.finditer(text))


def main():
    text, rules, *command = sys.argv[1:]
    with open(text, encoding="utf-8") as file:
        least = count(file.read())
    print(f"least: {least}")
    for rule in rules.split(","):
        run = subprocess.run([part.replace("{rule}", rule) for part in command], capture_output=True, text=True, check=True)
        print(f"without R{rule}: {count(run.stdout) - least} more")


if __name__ == "__main__":
    main()
