# ===- triton_kernels.py - the kernels that Triton compiles for us -*- Python -*-===//
#
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Sources for Triton: a matrix product through pointers, the same through tensor
descriptors, and causal attention. Triton chooses copies, barriers and tensor
instructions, which is what makes its PTX worth running."""

import triton
import triton.language as tl


@triton.jit
def matmul_pointers(a, b, c, m, n, k, stride_a, stride_b, stride_c,
                    tile_m: tl.constexpr, tile_n: tl.constexpr, tile_k: tl.constexpr):
    """c[m, n] = a[m, k] * b[k, n], any extents."""
    rows = tl.program_id(0) * tile_m + tl.arange(0, tile_m)
    columns = tl.program_id(1) * tile_n + tl.arange(0, tile_n)
    depth = tl.arange(0, tile_k)
    at_a = a + rows[:, None] * stride_a + depth[None, :]
    at_b = b + depth[:, None] * stride_b + columns[None, :]
    total = tl.zeros((tile_m, tile_n), dtype=tl.float32)
    for start in range(0, k, tile_k):
        left = k - start
        x = tl.load(at_a, mask=(rows[:, None] < m) & (depth[None, :] < left), other=0.0)
        y = tl.load(at_b, mask=(depth[:, None] < left) & (columns[None, :] < n), other=0.0)
        total = tl.dot(x, y, total)
        at_a += tile_k
        at_b += tile_k * stride_b
    at_c = c + rows[:, None] * stride_c + columns[None, :]
    tl.store(at_c, total.to(c.dtype.element_ty), mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def matmul_descriptors(a, b, c, m, n, k,
                       tile_m: tl.constexpr, tile_n: tl.constexpr, tile_k: tl.constexpr,
                       specialize: tl.constexpr):
    """c[m, n] = a[m, k] * b[n, k], boxes of a, b and c."""
    row = tl.program_id(0) * tile_m
    column = tl.program_id(1) * tile_n
    total = tl.zeros((tile_m, tile_n), dtype=tl.float32)
    for step in tl.range(0, tl.cdiv(k, tile_k), warp_specialize=specialize):
        x = a.load([row, step * tile_k])
        y = b.load([column, step * tile_k])
        total = tl.dot(x, y.T, total)
    c.store([row, column], total.to(c.dtype))


@triton.jit
def attention(q, k, v, o, lse, scale_log2, length, stride_head, stride_row,
              tile_m: tl.constexpr, tile_n: tl.constexpr, head_dim: tl.constexpr):
    """Causal attention of one head per program_id(1), f16 or bf16."""
    block = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * stride_head
    rows = block * tile_m + tl.arange(0, tile_m)
    depth = tl.arange(0, head_dim)
    columns = tl.arange(0, tile_n)
    x = tl.load(q + base + rows[:, None] * stride_row + depth[None, :], mask=rows[:, None] < length, other=0.0)
    top = tl.full((tile_m,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((tile_m,), dtype=tl.float32)
    out = tl.zeros((tile_m, head_dim), dtype=tl.float32)
    end = tl.minimum((block + 1) * tile_m, length)
    for start in range(0, end, tile_n):
        j = start + columns
        y = tl.load(k + base + j[:, None] * stride_row + depth[None, :], mask=j[:, None] < length, other=0.0)
        s = tl.dot(x, tl.trans(y)) * scale_log2
        s = tl.where((rows[:, None] >= j[None, :]) & (j[None, :] < length), s, float("-inf"))
        new_top = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new_top[:, None])
        factor = tl.exp2(top - new_top)
        total = total * factor + tl.sum(p, 1)
        z = tl.load(v + base + j[:, None] * stride_row + depth[None, :], mask=j[:, None] < length, other=0.0)
        out = tl.dot(p.to(z.dtype), z, out * factor[:, None])
        top = new_top
    out = out / total[:, None]
    tl.store(o + base + rows[:, None] * stride_row + depth[None, :], out.to(o.dtype.element_ty), mask=rows[:, None] < length)
    natural = (top + tl.log2(total)) * 0.6931471805599453
    tl.store(lse + tl.program_id(1).to(tl.int64) * length + rows, natural, mask=rows < length)
