# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles, assembles and counts both kernels; called by run.sh."""

import argparse
import csv
import re
import subprocess
import sys
import venv
from pathlib import Path

import loops

ROOT = Path(__file__).resolve().parents[2]
# One assembler for both; the first release that takes the PTX 9.x of CuTe DSL.
TOOLS = ["nvidia-cuda-nvcc==13.5.37", "nvidia-cuda-nvdisasm==13.5.37"]
SEQUENCE = 1024  # FlashAttention-4 is compiled for shapes; its loops do not depend on them
MODULE = """module attributes {{fa4.target = #fa4.target<"sm_100a">}} {{
  func.func @forward(%q: {t}, %k: {t}, %v: {t}, %o: {t}, %lse: memref<?x?x?xf32>) {{
    attn.forward ins(%q, %k, %v : {t}, {t}, {t}) outs(%o, %lse : {t}, memref<?x?x?xf32>) layout(bshd){mask}
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


def ours(fa4c, work, head_dim, causal):
    name = f"ours_d{head_dim}_{'causal' if causal else 'full'}"
    source, ptx = work / f"{name}.mlir", work / f"{name}.ptx"
    tensor = f"memref<?x?x?x{head_dim}xbf16>"
    source.write_text(MODULE.format(t=tensor, mask=" mask [#attn.causal]" if causal else ""))
    subprocess.run([fa4c, "--target=sm_100a", "--emit=ptx", source, "-o", ptx], check=True)
    return ptx


def theirs(peers, work, head_dim, causal):
    variant = "causal" if causal else "pairs"
    name = f"flash_attention_sm_100a_{variant}_s{SEQUENCE}" + (f"_d{head_dim}" if head_dim != 128 else "")
    ptx = work / f"{name}.ptx"
    if not ptx.is_file():
        script = ROOT / "test/Peers/python/build_flash_attention.py"
        subprocess.run([peers / "venv/bin/python", script, work, "sm_100a", variant, str(SEQUENCE), str(head_dim)], check=True)
    return ptx


def measure(ptx, ptxas, nvdisasm):
    """({role: counts}, facts of the kernel)."""
    cubin = ptx.with_suffix(".cubin")
    log = subprocess.run([ptxas, "-v", "-arch=sm_100a", ptx, "-o", cubin], check=True, capture_output=True, text=True)
    listing = subprocess.run([nvdisasm, "-c", cubin], check=True, capture_output=True, text=True).stdout
    text = log.stdout + log.stderr
    facts = {
        "registers": int(re.search(r"Used (\d+) registers", text)[1]),
        "spill_bytes": sum(map(int, re.findall(r"(\d+) bytes spill", text))),
        "code_instructions": len(loops.parse(listing)[0]),
    }
    return loops.count(listing), facts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("fa4c", "peers", "work", "csv"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    ptxas, nvdisasm = (tool(options.work / "tools", name) for name in ("ptxas", "nvdisasm"))
    rows = []
    print(f"{'case':18} {'role':16} {'ours':>6} {'FA4':>6} {'ratio':>6}")
    for head_dim in (64, 128):
        for causal in (True, False):
            both = {}
            for impl, ptx in (("fa4c", ours(options.fa4c, options.work, head_dim, causal)),
                              ("flash-attn-4", theirs(options.peers, options.work, head_dim, causal))):
                both[impl], facts = measure(ptx, ptxas, nvdisasm)
                # FlashAttention-4 multiplies on pairs of CTAs where it has no mask.
                ctas = 2 if ".cta_group::2" in ptx.read_text() else 1
                case = [impl, head_dim, int(causal), ctas]
                rows += [[*case, "kernel", metric, value] for metric, value in facts.items()]
                rows += [[*case, role, metric, value] for role, counts in both[impl].items() for metric, value in counts.items()]
            for role in sorted(both["fa4c"].keys() & both["flash-attn-4"].keys()):
                mine, peer = both["fa4c"][role]["all"], both["flash-attn-4"][role]["all"]
                print(f"D {head_dim:3} {'causal' if causal else 'full':10} {role:16} {mine:6} {peer:6} {mine / peer:6.2f}")
    with options.csv.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["impl", "head_dim", "causal", "ctas", "role", "metric", "value"])
        writer.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
