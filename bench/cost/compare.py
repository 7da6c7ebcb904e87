# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles, assembles, runs and counts both kernels; called by run.sh."""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import venv
from collections import Counter
from pathlib import Path

import loops
import machine
import schedules

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
# One assembler for both; the first release that takes the PTX 9.x of CuTe DSL.
TOOLS = ["nvidia-cuda-nvcc==13.5.37", "nvidia-cuda-nvdisasm==13.5.37"]
SEQUENCE = 1024  # FlashAttention-4 is compiled for shapes; its code does not depend on them
BLOCK, ROWS = 128, 256  # keys of a block, rows of a CTA
TILES = (8, 64)  # KV blocks of the tiles that are run whole
# Head dim, causal, CTAs of a cluster. FlashAttention-4 multiplies on pairs of CTAs at head
# dim 128 without a mask only; elsewhere our pairs stand beside its one CTA.
CASES = [(d, causal, ctas) for d in (64, 128) for causal in (1, 0) for ctas in (1, 2)]
# Warps of FlashAttention-4's roles (flash_fwd_sm100.py).
PEER_ROLES = {"softmax": range(8), "correction": range(8, 12), "mma": range(12, 13)}
MODULE = """module attributes {{fa4.target = #fa4.target<"sm_100a">}} {{
  func.func @forward(%q: {t}, %k: {t}, %v: {t}, %o: {t}, %lse: memref<?x?x?xf32>) {{
    attn.forward ins(%q, %k, %v : {t}, {t}, {t}) outs(%o, %lse : {t}, memref<?x?x?xf32>) layout(bshd){rest}
    return
  }}
}}
"""


def tool(folder, name):
    """A program of the pinned packages, installed on first use."""
    if not list(folder.rglob(f"bin/{name}")):
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin/python", "-m", "pip", "install", "-q", *TOOLS], check=True)
    return next(folder.rglob(f"bin/{name}"))


def run(command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **options)


class Kernel:
    """One kernel of one compiler: `ptx`, and what `bundle` and `roles` say of it."""

    def __init__(self, options, head_dim, causal, ctas):
        self.options, self.head_dim, self.causal, self.ctas = options, head_dim, causal, ctas

    def measure(self):
        """{role: counts of its loop}, {(blocks, role): counts of a whole tile}, facts."""
        numbered, cubin = self.ptx.with_suffix(".lines.ptx"), self.ptx.with_suffix(".cubin")
        numbered.write_text(machine.number(self.ptx.read_text()))
        log = run([self.options.ptxas, "-v", "-lineinfo", "-arch=sm_100a", numbered, "-o", cubin])
        listing = run([self.options.nvdisasm, "-c", "-g", cubin]).stdout
        text = log.stdout + log.stderr
        facts = {
            "registers": int(re.search(r"Used (\d+) registers", text)[1]),
            "spill_bytes": sum(map(int, re.findall(r"(\d+) bytes spill", text))),
            "code_instructions": len(loops.parse(listing)[0]),
        }
        tiles = {(blocks, role): counts for blocks in TILES for role, counts in self.tile(listing, blocks).items()}
        return loops.count(listing), tiles, facts

    def tile(self, listing, blocks):
        """{role: counts} of one tile, from the start of the kernel to its end."""
        keys = BLOCK * blocks
        shapes = {"q": ROWS * self.ctas, "k": keys, "v": keys}
        file = self.ptx.with_name(f"{self.ptx.stem}-{blocks}.counts.csv")
        command = [self.options.sim, self.bundle(keys), "--jobs=1", f"--counts={file}",
                   *(f"--arg={name}=random:1x{rows}x1x{self.head_dim}" for name, rows in shapes.items()),
                   f"--arg=o=empty:1x{shapes['q']}x1x{self.head_dim}", f"--arg=lse=empty:1x1x{shapes['q']}",
                   f"--out=o={self.ptx.with_name(f'{self.ptx.stem}-{blocks}.o.npy')}"]
        run(command)
        lines, opcodes = machine.read(file)
        roles = {}
        for role, warps in self.roles().items():
            total = Counter()
            for warp in warps:
                pipes, agree = machine.count(listing, lines[0, warp], opcodes[0, warp])
                wrong = {kind: pair for kind, pair in agree.items() if pair[0] != pair[1]}
                assert not wrong, f"{self.ptx.name}, {role}, warp {warp}: PTX and machine code disagree: {wrong}"
                total.update(pipes)
            roles[role] = Counter({pipe: n / len(warps) for pipe, n in total.items()})
        return roles


class Ours(Kernel):
    name = "fa4c"

    def __init__(self, options, head_dim, causal, ctas):
        super().__init__(options, head_dim, causal, ctas)
        self.stem = f"ours_d{head_dim}_{'causal' if causal else 'full'}_ctas{ctas}"
        self.source, self.folder = options.work / f"{self.stem}.mlir", options.work / self.stem
        text = None
        if ctas == 2:
            text = schedules.paired(schedules.chosen(options.fa4c, "sm_100a", self.write(None)))
        run([options.fa4c, "--target=sm_100a", "--emit=bundle", self.write(text), "-o", self.folder])
        self.ptx = self.folder / f"{self.stem}.ptx"

    def write(self, schedule):
        tensor = f"memref<?x?x?x{self.head_dim}xbf16>"
        rest = " mask [#attn.causal]" if self.causal else ""
        rest += f" schedule(#fa4.schedule<{schedule}>)" if schedule else ""
        self.source.write_text(MODULE.format(t=tensor, rest=rest))
        return self.source

    def bundle(self, keys):
        return self.folder / f"{self.stem}.json"

    def roles(self):
        report = (self.folder / f"{self.stem}.report.txt").read_text()
        found = re.findall(r"role +(\w+) +warps (\d+) x (\d+) at (\d+)", report)
        ranges = {role: range(int(at), int(at) + int(warps) * int(replicas)) for role, warps, replicas, at in found}
        return {role: ranges[role] for role in PEER_ROLES}

    def seconds(self):
        """Processor time of the whole compiler from text to PTX and to machine code, proofs included."""
        return {emit: processor_seconds([self.options.fa4c, "--target=sm_100a", f"--emit={emit}", self.source, "-o",
                                         self.options.work / f"timed.{emit}"]) for emit in ("ptx", "cubin")}


class Theirs(Kernel):
    name = "flash-attn-4"

    def __init__(self, options, head_dim, causal, ctas):
        paired = ctas == 2 and head_dim == 128 and not causal
        super().__init__(options, head_dim, causal, 2 if paired else 1)
        variant = "causal" if causal else "pairs"
        self.folder = options.work / f"flash_attention_ctas{self.ctas}"
        self.folder.mkdir(exist_ok=True)
        self.stem = f"flash_attention_sm_100a_{variant}_s{SEQUENCE}" + (f"_d{head_dim}" if head_dim != 128 else "")
        self.ptx = self.folder / f"{self.stem}.ptx"
        if not self.ptx.is_file():
            script = ROOT / "test/Peers/python/build_flash_attention.py"
            run([options.peers / "bin/python", script, self.folder, "sm_100a", variant, SEQUENCE, head_dim],
                env={**os.environ, "FA_DISABLE_2CTA": str(int(not paired))})

    def bundle(self, keys):
        done = run([self.options.peers / "bin/python", HERE / "flash_attention.py", "bundle", self.folder, self.stem, self.head_dim,
                    self.causal, self.ctas, keys])
        return done.stdout.strip()

    def roles(self):
        return PEER_ROLES

    def seconds(self):
        done = run([self.options.peers / "bin/python", "-W", "ignore", HERE / "flash_attention.py", "time", self.head_dim, self.causal,
                    self.ctas])
        return json.loads(done.stdout.splitlines()[-1])


def processor_seconds(command):
    child = subprocess.Popen([str(part) for part in command], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, command
    return usage.ru_utime + usage.ru_stime


def best_seconds(kernel, repeats):
    """The least of several runs for each stage."""
    runs = [kernel.seconds() for _ in range(repeats)]
    return {stage: min(seconds[stage] for seconds in runs) for stage in runs[0]}


def ratio(mine, peer):
    return f"{mine:.0f} / {peer:.0f} = {mine / peer:.2f}"


def print_table(results):
    """Issue slots as Markdown, ours / theirs."""
    print("| Head dim | Mask | CTAs | Role | Loop | Tile of 8 | Tile of 64 | MUFU | FMA, packed twice |")
    print("|---|---|---|---|---|---|---|---|---|")
    for case, ((loop, tiles, _), (peer_loop, peer_tiles, _), peer_ctas) in results.items():
        head_dim, causal, ctas = case
        for role in PEER_ROLES:
            fma = [2 * counts["fma_packed"] + counts["fma"] for counts in (loop[role], peer_loop[role])]
            print(f"| {head_dim} | {'causal' if causal else 'full'} | {ctas}{'' if ctas == peer_ctas else f', theirs {peer_ctas}'} | {role} | "
                  + " | ".join([ratio(loop[role]["all"], peer_loop[role]["all"]),
                                *(ratio(tiles[n, role]["all"], peer_tiles[n, role]["all"]) for n in TILES),
                                f"{loop[role]['mufu']} / {peer_loop[role]['mufu']}", f"{fma[0]} / {fma[1]}"]) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("fa4c", "sim", "peers", "work", "csv"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3, help="compilations timed, of which the fastest counts; 0: none")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    options.ptxas, options.nvdisasm = (tool(options.work / "tools", name) for name in ("ptxas", "nvdisasm"))
    # One core for what is timed, and for all that CuTe DSL starts.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rows, results = [], {}
    for head_dim, causal, ctas in CASES:
        measured = []
        for kernel in (Ours(options, head_dim, causal, ctas), Theirs(options, head_dim, causal, ctas)):
            measured.append(kernel.measure())
            loop, tiles, facts = measured[-1]
            case = [kernel.name, head_dim, causal, kernel.ctas]
            if kernel.ctas != ctas:
                continue  # stands in the rows of its own number of CTAs
            if options.repeats:
                facts.update({f"{stage}_seconds": f"{seconds:.3f}" for stage, seconds in best_seconds(kernel, options.repeats).items()})
            rows += [[*case, "kernel", metric, value] for metric, value in facts.items()]
            rows += [[*case, role, metric, value] for role, counts in loop.items() for metric, value in counts.items()]
            rows += [[*case, f"tile_{n}:{role}", metric, f"{value:g}"] for (n, role), counts in tiles.items()
                     for metric, value in counts.items()]
        results[head_dim, causal, ctas] = (*measured, kernel.ctas)
    print_table(results)
    with options.csv.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["impl", "head_dim", "causal", "ctas", "role", "metric", "value"])
        writer.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
