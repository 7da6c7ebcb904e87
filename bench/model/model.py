#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicted against measured speeds on the H200; called by run.sh.

model.py --predict FA4-PREDICT --csv FILE: every second schedule of h200.csv and h200_tiles.csv
fits four numbers: the issue slots that one warp can use beside the products, what a tile takes
beside its blocks, and the clock that power leaves, falling straight with the share of time in
which the matrix unit is busy. The other schedules are then predicted, and all are written down."""

import argparse
import csv
import io
import math
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "bench/results"
MULTIPROCESSORS, TOKENS, HIDDEN = 132, 32768, 2048  # H200; convention of docs/Performance.md


def read(name):
    return list(csv.DictReader((RESULTS / name).open()))


def cases():
    """One dict per measured row, with what fa4-predict wants of it."""
    counts = {(r["head_dim"], r["causal"], r["tile"]): r for r in read("model_counts.csv")}
    for table in ("h200.csv", "h200_tiles.csv"):
        for row in read(table):
            if not row["impl"].startswith("fa4") or row["dtype"] != "bf16":
                continue
            tile = row["impl"].removeprefix("fa4").lstrip("-") or "default"
            if tile == "default" and table == "h200_tiles.csv":
                continue  # of the compiler of that day; h200.csv has today's
            head_dim, length = int(row["head_dim"]), int(row["seqlen"])
            count = counts[row["head_dim"], row["causal"], tile]
            rows, columns, stages = (int(count[name]) for name in ("rows", "columns", "stages"))
            # What a schedule leaves open is a resident grid in order; the default says otherwise.
            work, order = ("one_per_cluster", "") if tile == "default" else ("static_persistent", "in_order")
            yield dict(case=f"{table}:d{head_dim}:{'causal' if row['causal'] == '1' else 'full'}:{tile}:{length}", target="sm_90a",
                       query_key_dim=head_dim, value_dim=head_dim, causal=row["causal"], rows=rows, columns=columns, stages=stages,
                       ctas=1, work=work, order=order, batch=TOKENS // length, heads=HIDDEN // head_dim, queries=length, keys=length,
                       multiprocessors=MULTIPROCESSORS,
                       counts=f"consumer:{count['exp2']}:{count['fma']}:0:{count['alu']}:{count['other']}",
                       schedule=(head_dim, row["causal"], tile), measured=float(row["tflops"]))


def predict(program, inputs, warp_issue, tile):
    text = io.StringIO()
    columns = [c for c in inputs[0] if c not in ("schedule", "measured")]
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(inputs)
    run = subprocess.run([program, f"--warp-issue={warp_issue}", f"--clocks-per-tile={tile}"], input=text.getvalue(),
                         capture_output=True, text=True, check=True)
    return list(csv.DictReader(io.StringIO(run.stdout)))


def speed(answer, clock):
    """TFLOP/s at the clock that goes with how busy the matrix unit is."""
    gigahertz = clock[0] - clock[1] * float(answer["matrix_share"])
    return float(answer["flops"]) / float(answer["clocks"]) * gigahertz / 1e3


def fit_clock(answers, measured):
    """Least squares of the clock that each measurement implies, in GHz, over the matrix unit's share."""
    points = [(float(a["matrix_share"]), m * 1e3 * float(a["clocks"]) / float(a["flops"])) for a, m in zip(answers, measured)]
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x)**2 for x, _ in points)
    return mean_y - slope * mean_x, -slope


def fit(program, inputs):
    measured = [case["measured"] for case in inputs]

    def loss(warp_issue, tile):
        answers = predict(program, inputs, warp_issue, tile)
        clock = fit_clock(answers, measured)
        return sum(abs(math.log(speed(a, clock) / m)) for a, m in zip(answers, measured)), clock

    grid = [(issue / 100, tile) for issue in range(16, 36, 2) for tile in range(0, 8000, 1000)]
    issue, tile = min(grid, key=lambda point: loss(*point)[0])
    fine = [(issue + i / 100, tile + t) for i in (-1, 0, 1) for t in range(-750, 1000, 250)]
    issue, tile = min(fine, key=lambda point: loss(*point)[0])
    return issue, tile, loss(issue, tile)[1]


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0] * len(values)
    for rank, index in enumerate(order):
        result[index] = rank
    return result


def summary(name, predicted, measured):
    errors = sorted(abs(p / m - 1) for p, m in zip(predicted, measured))
    count = len(errors)
    distance = sum((a - b)**2 for a, b in zip(ranks(predicted), ranks(measured)))
    print(f"{name:8} {count:4} points  median error {errors[count // 2]:.1%}  largest {errors[-1]:.1%}  "
          f"rank correlation {1 - 6 * distance / (count * (count**2 - 1)):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--predict", type=Path, required=True)
    parser.add_argument("--csv", type=Path, required=True)
    options = parser.parse_args()
    inputs = list(cases())
    schedules = sorted({case["schedule"] for case in inputs})
    fitted = set(schedules[::2])
    issue, tile, clock = fit(options.predict, [case for case in inputs if case["schedule"] in fitted])
    print(f"one warp's issue {issue:.2f}, clocks per tile {tile}, clock {clock[0]:.3f} - {clock[1]:.3f} * matrix share GHz")
    answers = predict(options.predict, inputs, issue, tile)
    rows = [(case, speed(answer, clock)) for case, answer in zip(inputs, answers)]
    for name, keep in (("fitted", True), ("held out", False)):
        half = [(predicted, case["measured"]) for case, predicted in rows if (case["schedule"] in fitted) == keep]
        summary(name, *zip(*half))
    with options.csv.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["target", "case", "predicted", "measured", "fitted"])
        for case, predicted in rows:
            writer.writerow(["sm_90a", case["case"], f"{predicted:.1f}", case["measured"], int(case["schedule"] in fitted)])


if __name__ == "__main__":
    sys.exit(main())
