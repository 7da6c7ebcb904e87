#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much of the compiler is target-neutral, by file: the table in docs/Overview.md.

A definition (everything between two lines that begin in column 0 at file
level: a function, a class, a TableGen record) belongs to a target if its code,
comments aside, names what only that target has. That counts against
neutrality every function that merely branches on such a thing, so the shares
are lower bounds. Writes the table between its two markers.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts" / "gates"))

import common  # noqa: E402

# What one target alone has, as the sources spell it.
BLACKWELL = re.compile(r"tcgen05|tmem|tensor_?memory|sm_?10[0-9]|cta_?group", re.I)
HOPPER = re.compile(r"wgmma|sm_?90|stmatrix", re.I)

# The compiler proper: device code from attn to NVVM. The host's lowering,
# simulator, runtime and oracle are not counted on either side.
FOLDERS = ("Conversion/AttnToTile", "Conversion/TileToNVVM", "Dialect", "Pipelines", "Planning", "Target")

BEGIN = "<!-- target-share: written by scripts/target-share.py -->"
END = "<!-- /target-share -->"


def definitions(text):
    """Pieces of code that each begin in column 0 and hold what is indented below."""
    piece = []
    for line in common.strip_comments(text).splitlines():
        if not line.strip():
            continue
        if piece and line[0] not in " })]\t" and piece[-1][0] in "})];" + piece[-1][-1] and complete(piece):
            yield piece
            piece = []
        piece.append(line)
    if piece:
        yield piece


def complete(piece):
    """Whether the brackets of a piece are closed."""
    text = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', "", "\n".join(piece))
    opened = text.count("{") - text.count("}")
    # A namespace stays open around its definitions.
    opened -= len(re.findall(r"^namespace[^;]*\{$", text, flags=re.M))
    return opened <= 0


def measure(text):
    """Lines of code: neutral, of Blackwell's, of Hopper's, of both."""
    count = {"neutral": 0, "blackwell": 0, "hopper": 0, "both": 0}
    for piece in definitions(text):
        code = "\n".join(piece)
        blackwell, hopper = BLACKWELL.search(code), HOPPER.search(code)
        kind = "both" if blackwell and hopper else "blackwell" if blackwell else "hopper" if hopper else "neutral"
        count[kind] += len(piece)
    return count


def files():
    for name in common.tracked(ROOT, (".cpp", ".h", ".td"), ("lib", "include")):
        inner = re.sub(r"^(lib|include/fa4)/", "", name)
        if inner.startswith(FOLDERS):
            yield name, inner


def percent(part, whole):
    return round(100 * part / whole) if whole else 100


def table():
    counts = {name: (inner, measure((ROOT / name).read_text())) for name, inner in files()}
    total = {kind: sum(c[kind] for _, c in counts.values()) for kind in ("neutral", "blackwell", "hopper", "both")}
    whole = sum(total.values())
    yield (f"Of {whole} lines of code between `attn.forward` and NVVM {percent(total['neutral'], whole)} % are target-neutral, "
           f"{percent(total['blackwell'], whole)} % are Blackwell's alone, {percent(total['hopper'], whole)} % Hopper's, "
           f"{percent(total['both'], whole)} % name both.")
    yield ""
    yield "| File | Lines | Neutral | Blackwell | Hopper | Both |"
    yield "|---|---|---|---|---|---|"
    clean = {}
    for name, (inner, count) in sorted(counts.items(), key=lambda item: item[1][0]):
        lines = sum(count.values())
        if count["neutral"] == lines:
            folder = clean.setdefault("/".join(inner.split("/")[:-1][:2]), [0, 0])
            folder[0] += 1
            folder[1] += lines
            continue
        shares = " | ".join(f"{percent(count[k], lines)} %" for k in ("neutral", "blackwell", "hopper", "both"))
        yield f"| `{name}` | {lines} | {shares} |"
    for folder, (number, lines) in sorted(clean.items()):
        yield f"| `{folder}`, files not named: {number} | {lines} | 100 % | 0 % | 0 % | 0 % |"


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    page = ROOT / "docs" / "Overview.md"
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(before + BEGIN + "\n" + "\n".join(table()) + "\n" + END + after)


if __name__ == "__main__":
    main()
