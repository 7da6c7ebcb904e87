# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs, bf16 in NumPy, float64 references and the yardstick for attention."""

import numpy as np


def to_bf16(x):
    """Rounds to nearest even; bits as uint16, as fa4-sim reads and writes them."""
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def stored(x, kind):
    """The array as a file holds it."""
    return to_bf16(x) if kind == "bf16" else np.ascontiguousarray(x, dtype={"f16": np.float16, "f32": np.float32}[kind])


def loaded(x, kind):
    return (from_bf16(x) if kind == "bf16" else x).astype(np.float64)


def rounded(x, kind):
    return loaded(stored(x, kind), kind)


def product(a, b):
    """a * b^T in float64 and the bound for sums in f32 (facts page, scores)."""
    return a @ b.T, 2.0**-19 * (np.abs(a) @ np.abs(b).T)


def scores(q, k, scale, masked):
    """The causal mask is aligned to the last query and the last key."""
    s = np.einsum("hid,hjd->hij", q, k) * scale
    keep = np.tril(np.ones(s.shape[1:], bool), s.shape[2] - s.shape[1])
    return np.where(keep, s, s.dtype.type(-np.inf)) if masked else s


def attention(q, k, v, scale, masked):
    """Attention of [head, row, depth] in float64: output and natural lse."""
    s = scores(q, k, scale, masked)
    top = s.max(-1, keepdims=True)
    p = np.exp(s - top)
    total = p.sum(-1, keepdims=True)
    return np.einsum("hij,hjd->hid", p / total, v), (top + np.log(total))[..., 0]


def yardstick(q, k, v, scale, kind, masked):
    """The same in plain f32 with the weights rounded to the inputs' type: what a
    kernel is allowed to be twice as wrong as (semantics.md, R7)."""
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    s = scores(q, k, np.float32(scale), masked)
    p = np.exp(s - s.max(-1, keepdims=True))
    total = p.sum(-1, keepdims=True)
    weights = rounded(p, kind).astype(np.float32)
    return rounded(np.einsum("hij,hjd->hid", weights, v) / total, kind)


def gradients(q, k, v, do, scale, number, kind):
    """dq, dk, dv of causal attention; in f32 with what multiplies rounded to `kind`."""
    q, k, v, do = (x.astype(number) for x in (q, k, v, do))
    s = scores(q, k, number(scale), True)
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    o = np.einsum("hij,hjd->hid", p, v)
    ds = p * (np.einsum("hid,hjd->hij", do, v) - (o * do).sum(-1, keepdims=True))
    if number is np.float32:
        p, ds = (rounded(x, kind).astype(number) for x in (p, ds))
    return (number(scale) * np.einsum("hij,hjd->hid", ds, k), number(scale) * np.einsum("hij,hid->hjd", ds, q),
            np.einsum("hij,hid->hjd", p, do))
