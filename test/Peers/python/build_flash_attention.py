# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles FlashAttention-4's forward, without a GPU, to PTX.

usage: build_flash_attention.py OUT sm_90a|sm_100a causal|clc|pairs SEQUENCE

On sm_100a `clc` is the causal kernel whose CTAs take work by cluster launch control,
and `pairs` the kernel without a mask, which multiplies on pairs of CTAs.

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
    out, arch, variant, sequence = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    dump = tempfile.mkdtemp(dir=out)
    os.environ.update(
        FLASH_ATTENTION_ARCH=arch, FLASH_ATTENTION_NUM_SMS=SM_COUNT[arch],
        CUTE_DSL_ARCH=arch, CUTE_DSL_KEEP="ptx", CUTE_DSL_DUMP_DIR=dump,
        FA_CLC=str(int(variant == "clc")),
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
    # Asked for the grid of kernels that loop over tiles; there is no driver to ask.
    cutlass.utils.HardwareInfo.__init__ = lambda self, *args: None
    cutlass.utils.HardwareInfo.get_device_multiprocessor_count = lambda self: int(SM_COUNT[arch])
    with FakeTensorMode(allow_non_fake_inputs=True):
        q, k, v = (torch.empty(1, sequence, HEADS, HEAD_DIM, dtype=torch.bfloat16, device="cuda") for _ in range(3))
        interface._flash_attn_fwd(q, k, v, causal=variant != "pairs", return_lse=True)

    (ptx,) = Path(dump).glob("*.ptx")
    text = ptx.read_text(encoding="utf-8").rstrip("\0")
    name = f"flash_attention_{arch}_{variant}_s{sequence}"
    (out / f"{name}.ptx").write_text(text, encoding="utf-8")
    threads = re.search(r"\.reqntid (\d+)", text)[1]
    (size,) = shared
    meta = {"entry": re.search(r"\.entry (\w+)", text)[1], "threads": int(threads), "shared": size}
    (out / f"{name}.meta.json").write_text(json.dumps(meta, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
