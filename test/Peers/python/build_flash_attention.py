# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles FlashAttention-4, without a GPU, to PTX.

usage: build_flash_attention.py OUT sm_90a|sm_100a causal|clc|pairs|backward SEQUENCE [HEAD_DIM]

On sm_100a `clc` is the causal kernel whose CTAs take work by cluster launch control,
`pairs` the kernel without a mask, which multiplies on pairs of CTAs, and `backward` the
three kernels of the causal backward, in one module.

FlashAttention-4 compiles from fake tensors when the architecture is given in the
environment; CuTe DSL then leaves its PTX in a folder. The shared memory that its
host code asks for is what it computes when it traces the kernel."""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

HEADS = 2
# Selects tile sizes only: the SM counts of an H200 and a B200.
SM_COUNT = {"sm_90a": "132", "sm_100a": "148"}


def one_module(texts):
    """Puts modules together: one header, and each with its own shared memory."""
    header = ".address_size 64"
    parts = [text.replace("__dynamic_shmem__0", f"dynamic_shared_{at}") for at, text in enumerate(texts)]
    return parts[0] + "".join(part[part.index(header) + len(header):] for part in parts[1:])


def main():
    out, arch, variant, sequence = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    head_dim = int(sys.argv[5]) if len(sys.argv) > 5 else 128
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
        shared.append(storage if isinstance(storage, int) else storage.size_in_bytes())
        return allocate(self, storage, *args, **kwargs)

    cutlass.utils.SmemAllocator.allocate = recording
    # Asked for the grid of kernels that loop over tiles; there is no driver to ask.
    cutlass.utils.HardwareInfo.__init__ = lambda self, *args: None
    cutlass.utils.HardwareInfo.get_device_multiprocessor_count = lambda self: int(SM_COUNT[arch])
    with FakeTensorMode(allow_non_fake_inputs=True):
        q, k, v, o, do = (torch.empty(1, sequence, HEADS, head_dim, dtype=torch.bfloat16, device="cuda") for _ in range(5))
        if variant == "backward":
            lse = torch.empty(1, HEADS, sequence, dtype=torch.float32, device="cuda")
            interface._flash_attn_bwd(q, k, v, o, do, lse, causal=True)
        else:
            interface._flash_attn_fwd(q, k, v, causal=variant != "pairs", return_lse=True)

    # In the order of compilation, which is that of the launches.
    texts = [path.read_text(encoding="utf-8").rstrip("\0")
             for path in sorted(Path(dump).glob("*.ptx"), key=lambda path: path.stat().st_mtime_ns)]
    entries = [re.search(r"\.entry (\w+)", text)[1] for text in texts]
    threads = [int(re.search(r"\.reqntid (\d+)", text)[1]) for text in texts]
    name = f"flash_attention_{arch}_{variant}_s{sequence}" + (f"_d{head_dim}" if head_dim != 128 else "")
    (out / f"{name}.ptx").write_text(one_module(texts), encoding="utf-8")
    # A kernel that allocates nothing does not ask.
    sizes = [0] * (len(texts) - len(shared)) + shared
    kernels = [dict(zip(("entry", "threads", "shared"), facts)) for facts in zip(entries, threads, sizes)]
    (out / f"{name}.meta.json").write_text(json.dumps(kernels, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
