# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares a replay of the conformance set with the results of a GPU.

usage: compare.py LISTING OUTPUT [--results FILE] [--document FILE]
       compare.py --record DIR... --gpu TEXT [--results FILE] [--merge]

LISTING and OUTPUT are what fa4-sim-replay printed and wrote. --record makes the
results file from the zip files of hopper.py, with --merge from what the file
has and the rest (build.py --without). The document is Markdown.
"""

import argparse
import base64
import hashlib
import json
import math
import os
import struct
import sys
import zipfile
import zlib
from array import array

import conformance
import pools
import scalar

HERE = os.path.dirname(os.path.abspath(__file__))
RESULT_BYTES = pools.COUNT * 16  # of one variant
SHOWN = 16  # bytes kept of results that must be equal


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def every_case():
    """(name, family, exact) of all variants and directed kernels."""
    for family, members in scalar.VARIANTS.items():
        for name, _, _, exact in members:
            yield f"{family}: {name}", family, exact
    for case in conformance.directed.CASES:
        first = case["name"].split()[0]
        moves = "matrix" in first
        yield case["name"], "matrix moves" if moves else first, case["exact"]


# ---------------------------------------------------------------------------
# Recording


def record(folders, gpu, path, results):
    raw = {}
    before = dict(results)
    for folder in folders:
        for name in sorted(os.listdir(folder)):
            if name.endswith(".zip"):
                with zipfile.ZipFile(os.path.join(folder, name)) as archive:
                    raw.update({member: archive.read(member) for member in archive.namelist()})
    for name, family, exact in every_case():
        if name in before:
            continue
        if family in scalar.VARIANTS:
            members = [v[0] for v in conformance.not_recorded(family, before)]
            index = members.index(name.split(": ", 1)[1])
            data = raw[family][index * RESULT_BYTES:(index + 1) * RESULT_BYTES]
        else:
            data = raw.get(name.replace("/", "_"))
        if data is None:
            results[name] = "refused"
        elif exact:
            results[name] = digest(data) + data[:SHOWN].hex()
        else:
            low_words = array("I", data)[::4].tobytes()
            results[name] = base64.b85encode(zlib.compress(low_words, 9)).decode()
    with open(path, "w") as file:
        json.dump({"gpu": gpu, "results": results}, file, indent=0)
        file.write("\n")


# ---------------------------------------------------------------------------
# Comparing


def ordered(bits, width):
    """Bits of a float as an integer that grows with the value."""
    top = 1 << (width - 1)
    return -(bits & (top - 1)) if bits & top else bits


def number(bits, kind="f32"):
    if kind == "f16":
        return struct.unpack("<e", struct.pack("<H", bits))[0]
    return struct.unpack("<f", struct.pack("<I", bits << 16 if kind == "bf16" else bits))[0]


def ulp(value, kind):
    least, digits = {"f32": (-126, 23), "f16": (-14, 10), "bf16": (-126, 7)}[kind]
    exponent = math.frexp(value)[1] - 1 if value else least
    return 2.0 ** (max(exponent, least) - digits)


def allowed(name, kind, x, y, value):
    """The error that PTX allows at x (and divisor y), or None without a promise.

    PTX ISA, the descriptions of the instructions.
    """
    opcode = name.split(".")[0]
    if opcode == "ex2":
        return {"f32": 2 * ulp(value, kind), "f16": abs(value) * 2 ** -9.9,
                "bf16": abs(value) * 2 ** -7}[kind]
    if opcode == "tanh":
        return {"f32": abs(value) * 2 ** -11, "f16": 2 ** -10.987, "bf16": 2 ** -8}[kind]
    if opcode == "lg2":
        return 2 ** -22 if 0.5 < x < 2 else abs(value) * 2 ** -22
    if opcode == "rcp":
        return ulp(value, kind)
    if opcode == "rsqrt":
        return abs(value) * 2 ** -22.9
    if opcode == "sqrt":
        return abs(value) * 2 ** -23
    if opcode == "div":
        promised = "full" in name or 2.0 ** -126 <= abs(y) <= 2.0 ** 126
        return 2 * ulp(value, kind) if promised else None
    # sin and cos.
    return 2 ** -20.5 if abs(x) <= 2 * math.pi else 2 ** -14.7 if abs(x) <= 100 * math.pi else None


def floats(name, word):
    """The bits of the numbers in a result word."""
    return [word & 0xFFFF, word >> 16] if "16x2" in name else [word]


class Distance:
    """How far two machines' results of one approximate instruction are apart."""

    def __init__(self, name, pool, ours, theirs):
        self.name = name
        self.differing = self.total = self.ulps = self.outside = 0
        kind = "bf16" if "bf16" in name else "f16" if "f16" in name else "f32"
        width = 32 if kind == "f32" else 16
        inputs = pools.pool_words(pool)
        for thread, (mine, gpus) in enumerate(zip(ours, theirs)):
            xs, ys = inputs[4 * thread] & 0xFFFFFFFF, inputs[4 * thread + 1] & 0xFFFFFFFF
            if width == 16 and "16x2" not in name:
                xs &= 0xFFFF
            for a, b, x in zip(floats(name, mine), floats(name, gpus), floats(name, xs)):
                self.total += 1
                if a != b:
                    self.differing += 1
                    self.judge(kind, width, a, b, number(x, kind), number(ys))

    def judge(self, kind, width, a, b, x, y):
        value, other = number(a, kind), number(b, kind)
        if math.isnan(value) or math.isnan(other) or math.isinf(value) or math.isinf(other):
            # Beyond the largest number both may be right within the bound.
            self.outside += math.isnan(value) or math.isnan(other)
            return
        bound = allowed(self.name, kind, x, y, value)
        if bound is None:
            return
        # Ours is the nearest number, off by up to half an ulp itself; 16-bit
        # results of the GPU are rounded once more, which subnormal ones show.
        slack = ulp(value, kind) * (0.5 if width == 32 else 1)
        self.outside += abs(value - other) > bound + slack
        self.ulps = max(self.ulps, abs(ordered(a, width) - ordered(b, width)))


class Summary:
    def __init__(self):
        self.cases = self.equal = 0
        self.wrong = []   # (name, why)
        self.missing = []  # (name, why): not modelled, refused at load
        self.approximate = []


def compare(listing, output, results):
    families, seen, rows = {}, {}, []
    data = open(output, "rb").read()
    for line in open(listing):
        fields = line.rstrip("\n").split("\t")
        if fields[0] == "row":
            rows.append(fields[1:])
        else:
            at, size = int(fields[0]), int(fields[1])
            seen[fields[3]] = (fields[2], data[at:at + size])
    for name, family, exact in every_case():
        summary = families.setdefault(family, Summary())
        summary.cases += 1
        state, got = seen.get(name, ("not run", b""))
        want = results[name]
        if want == "refused":
            # The GPU raised an error; so must the simulator.
            if state == "ok":
                summary.wrong.append((name, "the GPU refuses it"))
            else:
                summary.equal += 1
        elif state.startswith("load: "):
            summary.missing.append((name, state))
        elif state != "ok":
            summary.wrong.append((name, state))
        elif exact:
            if family in scalar.VARIANTS:
                got = got[:RESULT_BYTES]
            if digest(got) == want[:16]:
                summary.equal += 1
            else:
                summary.wrong.append((name, f"first words {got[:SHOWN].hex()}, GPU {want[16:]}"))
        else:
            words = array("I", zlib.decompress(base64.b85decode(want)))
            ours = array("I", got[:RESULT_BYTES])[::4]
            short = name.split(": ", 1)[1]
            pool = next(v[1] for v in scalar.VARIANTS[family] if v[0] == short)
            distance = Distance(short, pool, ours, words)
            summary.approximate.append(distance)
            if distance.outside:
                summary.wrong.append((name, f"{distance.outside} results outside of PTX's bound"))
    return families, rows


# ---------------------------------------------------------------------------
# The page


def page(families, rows, gpu):
    out = ["<!-- Written by test/Simulator/Conformance/compare.py: do not edit. -->",
           "# fa4-sim against a GPU", "",
           "fa4-sim executes PTX on the CPU. This page says how far its results are those of the hardware;",
           "[Simulator-internals.md](Simulator-internals.md) explains it, and kernels of other compilers that it runs are",
           "in [Simulator-peers.md](Simulator-peers.md). Nothing here ran on a Blackwell",
           "GPU: the `tcgen05` family is tested against exact integer products (`test/Unit/Simulator/Tcgen05Test.cpp`) and",
           "shares the arithmetic that was measured for `wgmma`, with the precision that is believed of it.", "",
           f"Recorded on: {gpu}. Every case is a PTX kernel of our own that runs on both machines with "
           "the same inputs:", f"{pools.COUNT} operand tuples for each scalar variant (directed values "
           "crossed, then random ones), random matrices", "for the tensor instructions. "
           "\"Equal\" means that all result bits agree; \"not modelled\" kernels are refused when "
           "they are loaded.", "",
           "| family | kernels | equal | within PTX's bounds | not modelled | mismatching |",
           "|---|---|---|---|---|---|"]
    total = [0] * 5
    for family, s in families.items():
        numbers = [s.cases, s.equal, len(s.approximate), len(s.missing), len(s.wrong)]
        total = [a + b for a, b in zip(total, numbers)]
        out.append(f"| {family} | " + " | ".join(map(str, numbers)) + " |")
    out.append("| **all** | " + " | ".join(map(str, total)) + " |")
    wrong = [item for s in families.values() for item in s.wrong]
    missing = [item for s in families.values() for item in s.missing]
    if wrong:
        out += ["", "## Mismatching", ""] + [f"- `{name}`" for name, _ in wrong]
    if missing:
        out += ["", "## Not modelled", "", ", ".join(f"`{name}`" for name, _ in missing)]
    out += ["", "## Approximate functions", "",
            "The simulator's default is the nearest number; the GPU's results must lie within PTX's bound of it. "
            "\"Largest ulp\"", "is over the inputs for which PTX promises a bound (for sine and cosine an absolute one).",
            "", "| instruction | differing | of | largest ulp | outside the bound |", "|---|---|---|---|---|"]
    for s in families.values():
        for d in s.approximate:
            out.append(f"| `{d.name}` | {d.differing} | {d.total} | {d.ulps} | {d.outside} |")
    hopper = [row for row in rows if row[0] != "sm_100a"]
    covered = [row for row in hopper if row[2] == "1"]
    used, unused, later = (sum(len(row[i].split()) for row in hopper) for i in (3, 4, 5))
    others = [row[1] for row in rows if row[0] == "sm_100a"]
    out += ["", "## Opcodes and modifiers", "",
            f"Of the {len(hopper)} rows of the opcode table that `sm_90a` has, {len(covered)} are covered; of their "
            f"{used + unused} modifiers that `ptxas` takes for `sm_90a`, {used}.",
            "A modifier counts once for each group of its row. `trap` and `brkpt` have no value to compare: their",
            "kernels count as equal because the GPU and the simulator both end them with an error.", "",
            "| opcode | covered | modifiers covered | not covered | from `sm_100` on |", "|---|---|---|---|---|"]
    for _, opcode, is_covered, yes, no, blackwell in hopper:
        if len(yes) > 400:  # the shapes of wgmma
            yes = f"all {len(yes.split())}" if not no else f"{len(yes.split())} of them"
        out.append(f"| `{opcode}` | {'yes' if is_covered == '1' else 'no'} | {yes} | {no} | {blackwell} |")
    out += ["", "## Only on Blackwell: believed, not measured", "",
            f"{len(others)} rows are of `sm_100a` alone: " + ", ".join(f"`{name}`" for name in others) + ".",
            f"So are the {later} modifiers in the last column above. They follow the PTX manual; the",
            "products of `tcgen05` are compared with exact ones, and kernels of other compilers run with many of the",
            "others, but no GPU has confirmed any of them.", "",
            "Not modelled, so refused when a kernel is loaded: `tcgen05.shift`, `tcgen05.mma` with `.ws`, `.sp` or",
            "`.block_scale`, `tcgen05.ld.red`; and, on either chip, the im2col, gather and scatter modes of tensor copies.",
            ""]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("listing", nargs="?")
    parser.add_argument("output", nargs="?")
    parser.add_argument("--results", default=os.path.join(HERE, "results-h200.json"))
    parser.add_argument("--document")
    parser.add_argument("--record", nargs="+", metavar="DIR")
    parser.add_argument("--gpu", default="")
    parser.add_argument("--merge", action="store_true")
    options = parser.parse_args()
    if options.record:
        results = json.load(open(options.results))["results"] if options.merge else {}
        return record(options.record, options.gpu, options.results, results)
    recorded = json.load(open(options.results))
    families, rows = compare(options.listing, options.output, recorded["results"])
    for family, s in families.items():
        print(f"{family}: kernels {s.cases} equal {s.equal} bounded {len(s.approximate)} "
              f"not modelled {len(s.missing)} mismatching {len(s.wrong)}")
        for name, why in s.wrong:
            print(f"  mismatch: {name}: {why[:160]}")
    wrong = sum(len(s.wrong) for s in families.values())
    print(f"mismatching kernels: {wrong}")
    if options.document:
        with open(options.document, "w") as file:
            file.write(page(families, rows, recorded["gpu"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
