# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles FlashAttention-4's causal forward, without a GPU, to PTX.

usage: build_flash_attention.py OUT sm_90a|sm_100a SEQUENCE

FlashAttention-4 compiles from fake tensors when the architecture is given in the
environment; CuTe DSL then leaves its PTX in a folder. The shared memory that its
host code asks for is what it computes when it traces the kernel."""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

HEADS, HEAD_DIM = 2, 128
# Selects tile sizes only: the SM counts of an H200 and a B200.
SM_COUNT = {"sm_90a": "132", "sm_100a": "148"}


def main():
    out, arch, sequence = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    dump = tempfile.mkdtemp(dir=out)
    os.environ.update(
        FLASH_ATTENTION_ARCH=arch, FLASH_ATTENTION_NUM_SMS=SM_COUNT[arch],
        CUTE_DSL_ARCH=arch, CUTE_DSL_KEEP="ptx", CUTE_DSL_DUMP_DIR=dump,
    )

    import cutlass
    import torch
    from flash_attn.cute import interface
    from torch._subclasses.fake_tensor import FakeTensorMode

    shared = []
    allocate = cutlass.utils.SmemAllocator.allocate

    def recording(self, storage, *args, **kwargs):
        shared.append(storage.size_in_bytes())
        return allocate(self, storage, *args, **kwargs)

    cutlass.utils.SmemAllocator.allocate = recording
    with FakeTensorMode(allow_non_fake_inputs=True):
        q, k, v = (torch.empty(1, sequence, HEADS, HEAD_DIM, dtype=torch.bfloat16, device="cuda") for _ in range(3))
        interface._flash_attn_fwd(q, k, v, causal=True, return_lse=True)

    (ptx,) = Path(dump).glob("*.ptx")
    text = ptx.read_text(encoding="utf-8").rstrip("\0")
    name = f"flash_attention_{arch}_s{sequence}"
    (out / f"{name}.ptx").write_text(text, encoding="utf-8")
    threads = re.search(r"\.reqntid (\d+)", text)[1]
    (size,) = shared
    meta = {"entry": re.search(r"\.entry (\w+)", text)[1], "threads": int(threads), "shared": size}
    (out / f"{name}.meta.json").write_text(json.dumps(meta, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
