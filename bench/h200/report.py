#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A table (Markdown, standard output) and a plot (--svg FILE) of h200.csv."""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

COLOURS = {"fa4": "#c02020", "yardstick": "#808080", "cudnn": "#3060c0", "jax-f16": "#30a060", "flex": "#e09020",
           "flash2": "#9060c0"}
PEERS = ("cudnn", "jax-f16", "flex", "flash2")


def load(path):
    """{(head_dim, causal, seqlen): {column: TFLOP/s}}; of several schedules or yardsticks
    the best."""
    cases = defaultdict(dict)
    with path.open() as stream:
        for row in csv.DictReader(stream):
            key = (int(row["head_dim"]), bool(int(row["causal"])), int(row["seqlen"]))
            column = next((c for c in ("yardstick", "fa4") if row["impl"].startswith(c)), row["impl"])
            cases[key][column] = max(cases[key].get(column, 0.0), float(row["tflops"]))
    return cases


def table(cases):
    columns = [c for c in ("fa4", "yardstick", *PEERS) if any(c in row for row in cases.values())]
    yield "| head dim | mask | length | " + " | ".join(columns) + " | fa4 / best peer | fa4 / yardstick |"
    yield "|---" * (len(columns) + 5) + "|"
    for (dim, causal, length), row in sorted(cases.items()):
        numbers = [f"{row[c]:.0f}" if c in row else "–" for c in columns]
        best = max((row[c] for c in PEERS if c in row), default=None)
        ratios = [f"{row['fa4'] / other:.2f}" if "fa4" in row and other else "–" for other in (best, row.get("yardstick"))]
        yield f"| {dim} | {'causal' if causal else 'full'} | {length} | " + " | ".join(numbers + ratios) + " |"


def svg(cases):
    """One panel per head dimension and mask, a group of bars per length."""
    panels = sorted({(dim, causal) for dim, causal, _ in cases})
    top = 100 * (max(v for row in cases.values() for v in row.values()) // 100 + 1)
    width, height, margin, columns = 420, 220, 50, 2
    rows = -(-len(panels) // columns)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="11" '
           f'width="{columns * (width + margin) + 20}" height="{rows * (height + 2 * margin) + 40}">']
    for number, (dim, causal) in enumerate(panels):
        x0 = margin + number % columns * (width + margin)
        y0 = margin + number // columns * (height + 2 * margin)
        out.append(f'<text x="{x0}" y="{y0 - 8}" font-size="13">head dim {dim}, {"causal" if causal else "full"}, TFLOP/s</text>')
        for line in range(0, int(top) + 1, 100):
            y = y0 + height * (1 - line / top)
            out.append(f'<line x1="{x0}" x2="{x0 + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
                       f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end">{line}</text>')
        lengths = sorted(length for d, c, length in cases if (d, c) == (dim, causal))
        for group, length in enumerate(lengths):
            row = cases[dim, causal, length]
            shown = [c for c in COLOURS if c in row]
            step = width / len(lengths)
            bar = 0.85 * step / max(len(shown), 1)
            for place, column in enumerate(shown):
                x, size = x0 + group * step + place * bar, height * row[column] / top
                out.append(f'<rect x="{x:.1f}" y="{y0 + height - size:.1f}" width="{bar * 0.9:.1f}" height="{size:.1f}" '
                           f'fill="{COLOURS[column]}"><title>{column} {row[column]:.0f}</title></rect>')
            out.append(f'<text x="{x0 + (group + 0.42) * step:.1f}" y="{y0 + height + 14}" text-anchor="middle">{length}</text>')
    for place, (column, colour) in enumerate(COLOURS.items()):
        x, y = margin + place * 110, rows * (height + 2 * margin) + 10
        out.append(f'<rect x="{x}" y="{y}" width="10" height="10" fill="{colour}"/><text x="{x + 14}" y="{y + 9}">{column}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("csv", type=Path)
    parser.add_argument("--svg", type=Path)
    options = parser.parse_args()
    cases = load(options.csv)
    if not cases:
        raise SystemExit(f"expected rows in '{options.csv}', but got none")
    print("\n".join(table(cases)))
    if options.svg:
        options.svg.write_text(svg(cases))


if __name__ == "__main__":
    main()
