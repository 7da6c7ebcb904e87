# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine instructions that warps issued, from what fa4-sim counted in PTX.

usage: machine.py LISTING COUNTS     (`nvdisasm -c -g` of numbered PTX, fa4-sim --counts)

Every PTX instruction gets its line number as debug information, which ptxas keeps through
its optimizations without changing the code. A basic block of machine code then ran as often
as the PTX lines say that its instructions come from; where they disagree, because ptxas moved
some of them, those decide that cannot move: accesses, barriers, products. Waits that fail are
retried out of line; as in loops.py they are left out, every wait succeeds at once."""

import csv
import re
import sys
from collections import Counter, defaultdict
from statistics import median_high

import loops

LINE = re.compile(r'^\s*//## File "[^"]*", line (\d+)')
# What ptxas leaves in its place, and one for one.
FIXED = ("SYNCS", "BAR", "LDTM", "STTM", "UTCHMMA", "UTCBAR", "UTMALDG", "UTMASTG", "STS", "LDS", "STG", "LDG", "ATOMS",
         "UTMACMDFLUSH", "ELECT", "VOTE", "VOTEU", "NANOSLEEP", "EXIT")
# What a loop that only waits may hold.
AGAIN = {"SYNCS", "BRA", "CCTL", "MOV", "UMOV", "IMAD", "R2UR"}
ENDS = ("BRA", "EXIT", "RET", "BRX", "CALL")


def number(text):
    """`text` of PTX with a line number on each instruction, counted in `text`, instead of what
    debug information it has."""
    result, depth, in_section = [], 0, False
    for at, line in enumerate(text.splitlines(), 1):
        body = line.strip()
        if body.startswith(".address_size"):
            result += [line, '.file 1 "kernel.ptx"']
            continue
        in_section = in_section or body.startswith(".section")
        if in_section or body.startswith((".loc", ".file")):
            in_section = in_section and not body.endswith("}")
            continue
        if depth and body and body[0] not in ".{}/$)[" and not body.endswith(":"):
            result.append(f".loc 1 {at} 0")
        depth += body.count("{") - body.count("}")
        result.append(line)
    return "\n".join(result) + "\n"


def parse(listing):
    """[(opcode with modifiers, text, PTX line)], {label: index} of what `nvdisasm -c -g` prints."""
    code, labels, ptx_line = [], {}, 0
    for line in listing.splitlines():
        if found := LINE.match(line):
            ptx_line = int(found[1])
        elif line.startswith("$"):
            ptx_line = 0  # a function of ptxas's own, which no line calls by name
        elif found := loops.LABEL.match(line.strip()):
            labels[found[1]] = len(code)
        elif found := loops.INSTRUCTION.match(line):
            body = loops.PREDICATE.sub("", found[1])
            code.append((body.split()[0], body, ptx_line, body != found[1]))
    return code, labels


def blocks(code, labels):
    """[(first, end, successors)], successors as numbers of blocks."""
    starts = {0, len(code)} | set(labels.values())
    for at, (op, *_) in enumerate(code):
        if op.split(".")[0] in ENDS:
            starts.add(at + 1)
    starts = sorted(starts)
    of = {start: k for k, start in enumerate(starts)}
    result = []
    for first, end in zip(starts, starts[1:]):
        op, body, _, predicated = code[end - 1]
        name = op.split(".")[0]
        follows = set()
        if name == "BRA" and (target := loops.TARGET.search(body)) and target[1] in labels:
            follows.add(of[labels[target[1]]])
        # `BRA.U UP0` names its predicate among the operands.
        conditional = predicated or "UP" in body.split("`")[0] or " P" in body.split("`")[0]
        if (name not in ENDS or (name == "BRA" and conditional) or (name == "EXIT" and predicated)) and end < len(code):
            follows.add(of[end])
        result.append((first, end, follows))
    return result


def retries(code, graph):
    """Blocks that run only when a wait fails: they sleep or do nothing but look again, or lead
    only to or from such."""
    before = predecessors(graph)
    waits = Counter((line, k) for k, (first, end, _) in enumerate(graph) for op, _, line, _ in code[first:end] if op.startswith("SYNCS"))
    places = Counter(line for line, _ in waits)
    found = set()
    for k, (first, end, follows) in enumerate(graph):
        names = {op.split(".")[0] for op, *_ in code[first:end]}
        # Looks again; the first look stands elsewhere.
        again = k in follows and "SYNCS" in names and names <= AGAIN and all(
            places[line] > 1 for op, _, line, _ in code[first:end] if op.startswith("SYNCS"))
        if "NANOSLEEP" in names or again:
            found.add(k)
    while True:
        more = {k for k, (_, _, follows) in enumerate(graph)
                if k not in found and ((follows and follows <= found) or (before[k] and before[k] <= found))}
        if not more:
            return found
        found |= more


def predecessors(graph):
    before = defaultdict(set)
    for k, (_, _, follows) in enumerate(graph):
        for successor in follows:
            before[successor].add(k)
    return before


def frequencies(code, graph, executed):
    """How often each block ran, given how often each PTX line did. A block none of whose
    instructions stays in its place, say what was moved out of a loop, runs no more often than the
    blocks before it together, nor than those behind it."""
    skipped, before = retries(code, graph), predecessors(graph)
    times, free = [], set()
    for k, (first, end, _) in enumerate(graph):
        fixed = [executed.get(line, 0) for op, _, line, _ in code[first:end] if op.split(".")[0] in FIXED]
        times.append(0 if k in skipped else median_high(fixed or [executed.get(line, 0) for _, _, line, _ in code[first:end]]))
        if not fixed:
            free.add(k)
    changed = True
    while changed:
        changed = False
        for k in free:
            for others in (before[k] - skipped, graph[k][2] - skipped):
                most = sum(times[other] for other in others)
                if others and times[k] > most:
                    times[k], changed = most, True
    return times


def read(file):
    """{(rank, warp): {line: executed}} and {(rank, warp): Counter of PTX opcodes}."""
    lines, opcodes = defaultdict(Counter), defaultdict(Counter)
    with open(file, newline="") as stream:
        for row in csv.DictReader(stream):
            warp = int(row["rank"]), int(row["warp"])
            lines[warp][int(row["line"])] += int(row["executed"])
            opcodes[warp][row["opcode"]] += int(row["executed"])
    return lines, opcodes


# PTX instructions that become one machine instruction of a kind each, to check by.
SAME = {"exponentials": (r"ex2\.approx", "MUFU.EX2"), "tensor loads": (r"tcgen05\.ld", "LDTM"),
        "tensor stores": (r"tcgen05\.st", "STTM"), "products": (r"tcgen05\.mma", "UTCHMMA"),
        "commits": (r"tcgen05\.commit", "UTCBAR"), "copies in": (r"cp\.async\.bulk\.tensor.*\.shared::\w+\.global", "UTMALDG"),
        "copies out": (r"cp\.async\.bulk\.tensor.*\.global\.shared::cta", "UTMASTG")}


def count(listing, lines, opcodes):
    """Instructions by pipe, with `all`, that one warp issued, and {kind: (PTX, machine)} of what must agree."""
    code, labels = parse(listing)
    graph = blocks(code, labels)
    pipes, machine = Counter(), Counter()
    for (first, end, _), times in zip(graph, frequencies(code, graph, lines)):
        for op, *_ in code[first:end]:
            pipes[loops.pipe(op.split(".")[0])] += times
            pipes["all"] += times
            machine[op] += times
    agree = {}
    for kind, (ptx, op) in SAME.items():
        agree[kind] = (sum(n for name, n in opcodes.items() if re.match(ptx, name)),
                       sum(n for name, n in machine.items() if name.startswith(op)))
    return pipes, agree


def main():
    listing, counts = sys.argv[1:]
    lines, opcodes = read(counts)
    with open(listing) as stream:
        text = stream.read()
    for (rank, warp), executed in sorted(lines.items()):
        pipes, agree = count(text, executed, opcodes[rank, warp])
        print(f"rank {rank} warp {warp}:", ", ".join(f"{pipe} {n}" for pipe, n in sorted(pipes.items()) if n))
        for kind, (ptx, machine) in agree.items():
            if ptx != machine:
                print(f"rank {rank} warp {warp}: {ptx} {kind} in PTX, but {machine} in machine code")


if __name__ == "__main__":
    main()
