# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FlashAttention-4's forward for one tile, as a bundle that fa4-sim runs; called by compare.py.

flash_attention.py bundle FOLDER STEM HEAD_DIM CAUSAL CTAS KEYS   beside STEM.ptx, which
    test/Peers/python/build_flash_attention.py made; prints the file's name
flash_attention.py time HEAD_DIM CAUSAL CTAS   seconds of processor time from its source to PTX
    and to machine code, imports done"""

import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "test/Peers/python"))

ROWS = 256  # of one CTA


def resident(queries, heads, scale, ctas):
    """Parameters, grid and cluster of the kernels without a mask."""
    from flash_attention_parameters import ceil_div, fast_division, i32, tensors, tile_map

    blocks = ceil_div(queries, ROWS * ctas)
    # A pair shares K by rows and V by depth.
    maps = [tile_map("q"), tile_map("k", rows=128 // ctas), tile_map("v"), tile_map("o")]
    result = tensors("sm_100a", scale, maps, 32 * ctas)
    result += [fast_division(blocks), i32(blocks), fast_division(heads), i32(heads), i32(blocks * heads), i32(1)]
    return result, [ctas * blocks * heads, 1, 1], [2, 1, 1] if ctas == 2 else None


def write_bundle(folder, stem, head_dim, causal, ctas, keys):
    from bundles import bundle, launch, tensor
    from cases import meta_of
    from flash_attention_parameters import causal as causal_parameters

    scale, queries = head_dim**-0.5, ROWS * ctas
    (meta,) = meta_of(folder, stem)
    parameters, grid, cluster = (causal_parameters("sm_100a", "causal", queries, keys, 1, 1, scale) if causal
                                 else resident(queries, 1, scale, ctas))
    arguments = [*(tensor(name, "bf16", 4) for name in "qkv"), tensor("o", "bf16", 4, "write"), tensor("lse", "f32", 3, "write")]
    file = folder / f"{stem}-{keys}.json"
    file.write_text(json.dumps(bundle("sm_100a", f"{stem}.ptx", arguments, [launch(meta, grid, parameters, cluster)])))
    print(file)


def measure(head_dim, causal, ctas):
    dump = tempfile.TemporaryDirectory()
    os.environ.update(FLASH_ATTENTION_ARCH="sm_100a", FLASH_ATTENTION_NUM_SMS="148", CUTE_DSL_ARCH="sm_100a", CUTE_DSL_KEEP="ptx",
                      CUTE_DSL_DUMP_DIR=dump.name, FA_DISABLE_2CTA=str(int(ctas == 1)))
    import cutlass
    import torch
    from flash_attn.cute import interface
    from torch._subclasses.fake_tensor import FakeTensorMode

    # Asked for the grid of kernels that loop over tiles; there is no driver to ask.
    cutlass.utils.HardwareInfo.__init__ = lambda self, *args: None
    cutlass.utils.HardwareInfo.get_device_multiprocessor_count = lambda self: 148
    seen, done = [], threading.Event()

    def watch():
        while not done.wait(0.005):
            if not seen and list(Path(dump.name).glob("*.ptx")):
                seen.append(time.process_time())

    with FakeTensorMode(allow_non_fake_inputs=True):
        q, k, v = (torch.empty(1, 1024, 2, head_dim, dtype=torch.bfloat16, device="cuda") for _ in range(3))
        watcher = threading.Thread(target=watch)
        watcher.start()
        start = time.process_time()
        interface._flash_attn_fwd(q, k, v, causal=bool(causal), return_lse=True)
        end = time.process_time()
    done.set()
    watcher.join()
    print(json.dumps({"ptx": seen[0] - start, "cubin": end - start}))


def main():
    if sys.argv[1] == "bundle":
        write_bundle(Path(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:]))
    else:
        measure(*map(int, sys.argv[2:]))


if __name__ == "__main__":
    main()
