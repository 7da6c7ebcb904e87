# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What FlashAttention-4's host code hands to its causal forward kernels.

Read off the host function of CuTe DSL's IR (CUTE_DSL_KEEP=ir) of version
4.0.0b36: the launch, and the order in which values that are not static reach the
kernel. The structures of CuTe stand as they are laid out in the PTX."""

import math

from bundles import address, box_map, extent, f32, i32, i64, stride, struct

HEAD_DIM = 128
# flash_attn/cute/tile_scheduler.py: the cache that heads are swizzled for.
CACHE_BYTES = 50 * 1024 * 1024


def ceil_div(a, b):
    return -(-a // b)


def fast_division(d):
    """Divisor, multiplier and two shifts of an unsigned division by multiplication
    (Granlund and Montgomery, figure 4.1)."""
    log = (d - 1).bit_length()
    multiplier = (2**32 * (2**log - d)) // d + 1
    return struct(12, (0, i32(d)), (4, i32(multiplier)), (8, {"kind": "i8", "value": min(log, 1)}),
                  (9, {"kind": "i8", "value": max(log - 1, 0)}))


def heads_per_cache(keys):
    one_head = keys * (HEAD_DIM + HEAD_DIM) * 2
    return 1 if one_head > CACHE_BYTES else 2 ** int(math.log2(CACHE_BYTES // one_head))


def shape_of(name):
    # Dimensions of the view that the kernel sees: row, depth, head, batch.
    return struct(16, *((4 * at, i32(extent(name, d))) for at, d in enumerate((1, 3, 2, 0))))


def tile_map(name):
    return box_map(name, "bf16", (3, 1, 2, 0), (64, 128, 1, 1))


def parameters(arch, queries, keys, heads, batch, scale):
    """The parameters and the number of CTAs."""
    rows = 256 if arch == "sm_100a" else 128
    blocks = ceil_div(queries, rows)
    swizzle = heads_per_cache(keys)
    groups, rest = divmod(heads * batch, swizzle)
    total = blocks * heads * batch
    lse = struct(40, (0, address("lse")), (8, i32(extent("lse", 2))), (12, i32(extent("lse", 1))),
                 (16, i32(extent("lse", 0))), (24, i64(["floordiv", stride("lse", 1), 4])),
                 (32, i64(["floordiv", stride("lse", 0), 4])))
    divisions = []
    for divisor in (heads, swizzle, swizzle * blocks, max(rest, 1)):
        divisions += [fast_division(divisor), i32(divisor)]
    mma_flags = 32 if arch == "sm_100a" else 1
    result = [*map(shape_of, "qkvo"), lse, *map(tile_map, "qkvo"), f32(scale * math.log2(math.e)),
              struct(mma_flags), struct(mma_flags), i32(total)]
    if arch == "sm_100a":
        # V is seen transposed: depth before row.
        result[2] = struct(16, *((4 * at, i32(extent("v", d))) for at, d in enumerate((3, 1, 2, 0))))
        result.append(i32(1))
    result += [i32(blocks), i32(heads), i32(batch), i32(swizzle), *divisions, i32(groups), fast_division(1), i32(1)]
    if arch == "sm_100a":
        result.append(i32(1))
    return result, total
