#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Switches off one technique of the sm_100a forward kernel at a time, by an edit of its schedule.

ablate.py --fa4c FA4C --work FOLDER --csv FILE [--dims 64 128]: each edited schedule is compiled with
both proofs, run in the simulator on lengths that are multiples of nothing and checked against the
reference, assembled and counted, and given to the cost model. The sweep of the polynomial's share is
the model's alone."""

import argparse
import csv
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/cost"))
import compare  # noqa: E402
import loops  # noqa: E402
from schedules import chosen, clause, drop  # noqa: E402

QUERIES, KEYS, HEADS = 390, 520, 2
MODULE = """module attributes {{fa4.target = #fa4.target<"{chip}">}} {{
  func.func @forward(%q: tensor<1x{queries}x{heads}x{d}xbf16>, %k: tensor<1x{keys}x{heads}x{d}xbf16>,
                     %v: tensor<1x{keys}x{heads}x{d}xbf16>, %oi: tensor<1x{queries}x{heads}x{d}xbf16>,
                     %li: tensor<1x{heads}x{queries}xf32>)
      -> (tensor<1x{queries}x{heads}x{d}xbf16>, tensor<1x{heads}x{queries}xf32>) {{
    %o, %lse = attn.forward
        ins(%q, %k, %v : tensor<1x{queries}x{heads}x{d}xbf16>, tensor<1x{keys}x{heads}x{d}xbf16>,
                         tensor<1x{keys}x{heads}x{d}xbf16>)
        outs(%oi, %li : tensor<1x{queries}x{heads}x{d}xbf16>, tensor<1x{heads}x{queries}xf32>)
        layout(bshd) mask [#attn.causal]{schedule}
    return %o, %lse : tensor<1x{queries}x{heads}x{d}xbf16>, tensor<1x{heads}x{queries}xf32>
  }}
}}
"""


def merged(text):
    """Softmax warps also rescale and store o's rows."""
    roles = re.search(r"roles = \[(.*?\d)\](?=, |$)", text)[1]
    roles = re.sub(r"softmax = \{softmax\} (.*?) regs \d+", r"softmax = {softmax, rescale, finish} \1 regs 208", roles)
    roles = re.sub(r"correction = .*?regs \d+, ", "", roles)
    roles = re.sub(r"warps 1 at (\d+)", lambda m: f"warps 1 at {int(m[1]) - 4}", roles)
    text = re.sub(r", softmax\.2 = smem @stat_mem as alpha", "", text)
    return clause(drop(text, "via", "early_acquire", "stagger"), "roles", f"[{roles}]")


TECHNIQUES = {
    "all": lambda s: s,
    "two Q stages": lambda s: drop(s, "order", "homes", "roles", "stagger").replace("stages = 2", "stages = 1"),
    "P in parts": lambda s: clause(clause(drop(s, "homes"), "split_p", "[]"), "grain", "[]"),
    "correction role": merged,
    "lazy rescale": lambda s: drop(s, "rescale_log2_threshold"),
    "polynomial exp2": lambda s: drop(s, "exp2"),
    "one CTA per tile": lambda s: s.replace("one_per_cluster", "static_persistent"),
    "longest tiles first": lambda s: s.replace("longest_first", "in_order"),
    "third slot of K/V": lambda s: re.sub(r"@kv_mem x \d+", "@kv_mem x 2", s),
    "statistics by named barrier": lambda s: drop(s, "via"),
    "early acquire of statistics": lambda s: drop(s, "early_acquire"),
    "stagger of stages": lambda s: drop(s, "stagger"),
    "one arrival per warp": lambda s: drop(s, "grain"),
}


def run(command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


class Kernel:
    def __init__(self, options, chip, head_dim):
        self.options, self.chip, self.head_dim = options, chip, head_dim
        self.schedule = chosen(options.fa4c, chip, self.write("default", None))

    def write(self, name, schedule):
        file = self.options.work / f"{self.chip}-d{self.head_dim}-{name.replace(' ', '-').replace('/', '-')}.mlir"
        clause = f" schedule(#fa4.schedule<{schedule}>)" if schedule else ""
        file.write_text(MODULE.format(chip=self.chip, d=self.head_dim, queries=QUERIES, keys=KEYS, heads=HEADS, schedule=clause))
        return file

    def report(self, file):
        """{unit: clocks} and what sets the period; the compiler proves on the way."""
        done = run([self.options.fa4c, f"--target={self.chip}", "--report", file])
        if done.returncode:
            raise RuntimeError(re.search(r"error: (.*)", done.stderr)[1][:150])
        clocks = dict(re.findall(r"cost +(.+?) +(\d+) (?:clocks|bytes)", done.stdout))
        clocks["launch"] = re.search(r"cost +left +([\d.]+) %", done.stdout)[1]
        clocks["bound by"] = re.search(r"set by the (.*?):", done.stdout)[1]
        return clocks

    def check(self, file):
        done = run([self.options.fa4c, f"--target={self.chip}", "--run", "--check", file])
        return "right" if done.returncode == 0 else "WRONG"

    def counts(self, file):
        """Instructions of each role's loop."""
        ptx, cubin = file.with_suffix(".ptx"), file.with_suffix(".cubin")
        run([self.options.fa4c, f"--target={self.chip}", "--emit=ptx", file, "-o", ptx], check=True)
        tools = self.options.work.parent / "bench-cost/tools"
        ptxas, nvdisasm = (compare.tool(tools, name) for name in ("ptxas", "nvdisasm"))
        run([ptxas, f"-arch={self.chip}", ptx, "-o", cubin], check=True)
        return {role: counts["all"] for role, counts in loops.count(run([nvdisasm, "-c", cubin], check=True).stdout).items()}


def ablate(options, head_dim):
    kernel = Kernel(options, "sm_100a", head_dim)
    base = None
    for name, edit in TECHNIQUES.items():
        file = kernel.write(name, edit(kernel.schedule))
        try:
            clocks = kernel.report(file)
        except RuntimeError as error:
            yield [head_dim, name, f"refused: {error}", "", "", "", "", "", "", ""]
            continue
        # One stage has half the rows in a block.
        period = int(clocks["period"]) * (2 if name == "two Q stages" else 1)
        base = base or period
        counts = kernel.counts(file)
        yield [head_dim, name, kernel.check(file), period, f"{period / base:.3f}", clocks["bound by"], clocks["launch"],
               *(counts.get(role, "") for role in ("softmax", "correction", "mma"))]


SHARES = [0, 2, 4, 6, 8]  # of 16 columns, on all chunks of 32


def sweep(options, chip, head_dim):
    kernel = Kernel(options, chip, head_dim)
    without = re.sub(r", exp2 = <.*?>", "", kernel.schedule)
    chunks = 0
    for last in SHARES:
        text = without
        if last:
            columns = int(re.search(r"tile = \d+ x (\d+)", text)[1])
            chunks = -(-columns // 32)
            text += f", exp2 = <degree 3, of 16 columns the last {last}, chunks 0 to {chunks - 1}>"
            # Clauses have an order: before what follows it.
            text = re.sub(r"(, (?:grain|via|early_acquire|stagger|turn) = .*?)(, exp2 = <.*>)$", r"\2\1", text)
        try:
            clocks = kernel.report(kernel.write(f"exp2-{last}", text))
        except RuntimeError as error:
            print(f"{chip} D {head_dim} share {last}/16: {error}", file=sys.stderr)
            continue
        yield [chip, head_dim, f"{last / 16:.4f}", clocks["exp2"], clocks["fma"], clocks["issue"],
               clocks["chain of dependences"], clocks["period"], clocks["bound by"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("fa4c", "work", "csv", "sweep"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--dims", type=int, nargs="*", default=[64, 128])
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    tables = ((options.csv, ["head_dim", "without", "result", "period", "ratio", "bound_by", "launch_percent", "softmax", "correction", "mma"],
               (row for dim in options.dims for row in ablate(options, dim))),
              (options.sweep, ["chip", "head_dim", "share", "exp2", "fma", "issue", "chain", "period", "bound_by"],
               (row for chip in ("sm_100a", "sm_103a", "sm_90a") for dim in options.dims for row in sweep(options, chip, dim))))
    for file, header, rows in tables:
        with file.open("w", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(header)
            for row in rows:
                writer.writerow(row)
                print(*row, sep="\t", flush=True)


if __name__ == "__main__":
    sys.exit(main())
