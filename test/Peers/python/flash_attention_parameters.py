# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What FlashAttention-4's host code hands to its kernels.

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


# Dimensions of a tensor [batch, row, head, depth] in the order of a kernel's view.
VIEW, TRANSPOSED = (1, 3, 2, 0), (3, 1, 2, 0)


def shape_of(name, order=VIEW):
    return struct(16, *((4 * at, i32(extent(name, d))) for at, d in enumerate(order)))


def tile_map(name, depth=64, rows=128):
    return box_map(name, "bf16", (3, 1, 2, 0), (depth, rows, 1, 1))


def tensors(arch, scale, maps, mma_bytes):
    """What all kernels start with: views, log-sum-exp, maps, scale, two MMA atoms."""
    shapes = [shape_of(name) for name in "qkvo"]
    if arch == "sm_100a":
        # V is seen transposed: depth before row.
        shapes[2] = shape_of("v", TRANSPOSED)
    lse = struct(40, (0, address("lse")), (8, i32(extent("lse", 2))), (12, i32(extent("lse", 1))),
                 (16, i32(extent("lse", 0))), (24, i64(["floordiv", stride("lse", 1), 4])),
                 (32, i64(["floordiv", stride("lse", 0), 4])))
    return [*shapes, lse, *maps, f32(scale * math.log2(math.e)), struct(mma_bytes), struct(mma_bytes)]


def causal(arch, variant, queries, keys, heads, batch, scale):
    """Parameters, grid and cluster of the causal kernels."""
    blocks = ceil_div(queries, 256 if arch == "sm_100a" else 128)
    swizzle = heads_per_cache(keys)
    groups, rest = divmod(heads * batch, swizzle)
    total = blocks * heads * batch
    divisions = []
    for divisor in (heads, swizzle, swizzle * blocks, max(rest, 1)):
        divisions += [fast_division(divisor), i32(divisor)]
    # Two values come from the scheduler's split and cluster sizes, here both 1.
    one = [i32(1)] if arch == "sm_100a" else []
    result = tensors(arch, scale, map(tile_map, "qkvo"), 32 if arch == "sm_100a" else 1)
    result += [i32(total), *one, i32(blocks), i32(heads), i32(batch), i32(swizzle), *divisions, i32(groups),
               fast_division(1), i32(1), *one]
    return result, [blocks, heads, batch] if variant == "clc" else [total, 1, 1], None


def pairs(queries, heads, batch, scale, multiprocessors):
    """Parameters, grid and cluster of the kernel on pairs of CTAs, which loops over tiles."""
    blocks = ceil_div(ceil_div(queries, 256), 2)
    total = blocks * heads * batch
    # A pair shares K by rows and V by depth.
    maps = [tile_map("q"), tile_map("k", rows=64), tile_map("v"), tile_map("o")]
    result = tensors("sm_100a", scale, maps, 64)
    result += [fast_division(blocks), i32(blocks), fast_division(heads), i32(heads), i32(total), i32(1)]
    return result, [min(2 * total, multiprocessors // 2 * 2), 1, 1], [2, 1, 1]


def view_of(name, order, strided):
    """A tensor of four dimensions: address, extents, strides of all but the last."""
    return struct(48, (0, address(name)), *((8 + 4 * at, i32(extent(name, d))) for at, d in enumerate(order)),
                  *((24 + 8 * at, i64(["floordiv", stride(name, d), 2])) for at, d in enumerate(strided)))


def rows_of(name, extents, strides):
    """Numbers per row of a head, seen in three dimensions, one of them contiguous."""
    return struct(40, (0, address(name)), *((8 + 4 * at, i32(extent)) for at, extent in enumerate(extents)),
                  *((24 + 8 * at, i64(step)) for at, step in enumerate(strides)))


def backward(sequence, heads, batch, scale):
    """Parameters, grid and cluster of the three launches, and the workspaces' bytes."""
    blocks = ceil_div(sequence, 128)
    padded = blocks * 128
    log2 = f32(scale * math.log2(math.e))
    counts = [i32(blocks), i32(heads), i32(batch), fast_division(1), i32(1)]

    def per_row(name, length):
        return rows_of(name, (length, heads, batch), (length, length * heads))

    lse2, sums, dq = per_row("lse2", padded), per_row("sums", padded), per_row("dq_sums", padded * HEAD_DIM)
    tensors = [view_of(name, VIEW, (1, 2, 0)) for name in ("o", "do")]
    before = [*tensors, sums, per_row("lse", sequence), lse2, dq, log2, *counts]
    # Operands of five products; those of a pair share rows, or depth where transposed.
    views = [shape_of("q"), shape_of("q", TRANSPOSED), shape_of("k"), shape_of("k", TRANSPOSED), shape_of("v"), lse2, sums,
             shape_of("do", TRANSPOSED), shape_of("do"), view_of("dv", VIEW, (1, 2, 0)), view_of("dk", VIEW, (1, 2, 0)), dq,
             shape_of("dv"), shape_of("dk")]
    boxes = (("q", 64), ("q", 128), ("k", 128), ("k", 256), ("v", 128), ("do", 128), ("do", 64), ("dv", 128), ("dk", 128))
    main = [*views, *(tile_map(name, rows=rows) for name, rows in boxes), *[struct(64)] * 5, f32(scale), log2, *counts]
    length = padded * HEAD_DIM
    after = [rows_of("dq_sums", (batch, heads, length), (length * heads, length)), view_of("dq", (0, 1, 2, 3), (0, 1, 2)),
             f32(scale), struct(32), *counts]
    grids = [[blocks, heads, batch], [ceil_div(blocks, 2) * 2, heads, batch], [blocks, heads, batch]]
    rows = 4 * batch * heads * padded
    return (list(zip((before, main, after), grids, (None, [2, 1, 1], None))),
            {"lse2": rows, "sums": rows, "dq_sums": rows * HEAD_DIM})
