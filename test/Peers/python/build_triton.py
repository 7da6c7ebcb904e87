# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the kernels of triton_kernels.py, without a GPU, to PTX.

usage: build_triton.py OUT"""

import json
import re
import sys
from pathlib import Path

import triton
import triton_kernels
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

MATMUL = {"tile_m": 128, "tile_n": 128, "tile_k": 64}
BOXES = {"a": "tensordesc<bf16[128,64]>", "b": "tensordesc<bf16[128,64]>", "c": "tensordesc<bf16[128,128]>"}


def integers(*names):
    return {name: "i32" for name in names}


def compile_kernel(out, name, kernel, types, constants, aligned, target, **options):
    signature = {**types, **{key: "constexpr" for key in constants}}
    names = list(signature)
    attributes = {(names.index(arg),): [["tt.divisibility", 16]] for arg in aligned}
    source = ASTSource(kernel, signature, constants, attributes)
    compiled = triton.compile(source, target=GPUTarget("cuda", target, 32), options=options)
    text, meta = compiled.asm["ptx"], compiled.metadata
    name = f"triton_{name}_sm{target}"
    (out / f"{name}.ptx").write_text(text, encoding="utf-8")
    facts = {
        "entry": re.search(r"\.entry (\w+)", text)[1],
        "threads": int(re.search(r"\.reqntid (\d+)", text)[1]),
        "shared": meta.shared,
        "boxes": [box["block_size"] for box in meta.tensordesc_meta or []],
        "scratch": meta.global_scratch_size,
    }
    (out / f"{name}.meta.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")


def main():
    out = Path(sys.argv[1])
    for target in (90, 100):
        pointers = {"a": "*bf16", "b": "*bf16", "c": "*fp32", **integers("m", "n", "k", "stride_a", "stride_b", "stride_c")}
        # m stays unaligned: its last tile is cut inside.
        aligned = [name for name in pointers if name != "m"]
        compile_kernel(out, "matmul_pointers", triton_kernels.matmul_pointers, pointers, MATMUL, aligned, target,
                       num_warps=4, num_stages=3)
        # Triton 3.9 does not specialise warps for sm_90.
        for specialize in (False, True) if target == 100 else (False,):
            name = "matmul_descriptors" + ("_specialized" if specialize else "")
            compile_kernel(out, name, triton_kernels.matmul_descriptors, {**BOXES, **integers("m", "n", "k")},
                           {**MATMUL, "specialize": specialize}, [], target, num_warps=4, num_stages=3)
        for head_dim, warps in ((64, 4), (128, 8)):
            types = {**{name: "*fp16" for name in "qkvo"}, "lse": "*fp32", "scale_log2": "fp32",
                     **integers("length", "stride_head", "stride_row")}
            compile_kernel(out, f"attention_d{head_dim}", triton_kernels.attention, types,
                           {"tile_m": 128, "tile_n": 64, "head_dim": head_dim},
                           [name for name in types if name not in ("length", "scale_log2")], target,
                           num_warps=warps, num_stages=3)


if __name__ == "__main__":
    main()
