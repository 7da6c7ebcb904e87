# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Deletes each op of a T2 kernel's protocol, one at a time, and asks who finds it.

usage: delete_each.py KERNEL COMMAND...; the command reads the kernel from stdin.
Prints one line per kind of op, one per survivor, and the sum. Also each kind of a
fence that has several is deleted.
"""

import collections
import concurrent.futures
import re
import subprocess
import sys

OPS = re.compile(r"tile\.(fence|role_sync|(?:barrier|named|group)\.\w+)")


def mutants(lines):
    """(line number, kind of op, text with one op less); set-up and roles only."""
    start = next(i for i, line in enumerate(lines) if "tile.setup" in line)
    for number in range(start, len(lines)):
        found = OPS.search(lines[number])
        if not found:
            continue
        yield number, found[1], ""
        kinds = re.search(r"tile\.fence \[(.*)\]", lines[number])
        names = kinds[1].split(", ") if kinds else []
        for name in names if len(names) > 1 else []:
            left = ", ".join(other for other in names if other != name)
            yield number, f"fence {name}", lines[number].replace(kinds[1], left)


def main():
    kernel, *command = sys.argv[1:]
    with open(kernel, encoding="utf-8") as file:
        lines = file.read().split("\n")

    def survives(mutant):
        number, _, text = mutant
        source = "\n".join(lines[:number] + [text] + lines[number + 1:])
        run = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
        # Only an error that is reported counts as found.
        return run.returncode != 1 or "error:" not in run.stderr

    all_mutants = list(mutants(lines))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        alive = list(pool.map(survives, all_mutants))
    table = collections.defaultdict(lambda: [0, 0])
    for (number, kind, _), survivor in zip(all_mutants, alive):
        table[kind][0] += 1
        table[kind][1] += survivor
        if survivor:
            print(f"line {number + 1} survives: {lines[number].strip()}")
    for kind, (count, survivors) in sorted(table.items()):
        print(f"{kind}: {count} deleted, {count - survivors} found")
    print(f"sum: {len(alive)} deleted, {len(alive) - sum(alive)} found")


if __name__ == "__main__":
    main()
