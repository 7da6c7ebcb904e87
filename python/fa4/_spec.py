# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The common cases of attention in Python words; everything else is MLIR text."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from fa4._errors import ArgumentError

_DTYPES = ("bf16", "f16")
_LAYOUTS = {"bshd": 4, "bhsd": 4}


def is_integer(value: Any) -> bool:
    """Python's integers and numpy's, but no truth value, which prints as a word."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except (TypeError, OverflowError):
        return False


@dataclass(frozen=True)
class Attention:
    """Forward attention, softmax(scale * q kT + mask) v, and its log-sum-exp.

    Extents and strides stay open: one kernel serves every batch, length and number of
    heads (a multiple of the number of key heads), with the innermost stride 1.

    head_dim, value_dim  elements per head of q and k, and of v and o (default: equal)
    dtype                "bf16" or "f16", of q, k, v and o; lse is f32
    layout               "bshd": [batch, length, heads, dim], "bhsd": [batch, heads, length, dim];
                         lse is always [batch, heads, length]
    causal               key j is kept for query i if j <= i + (keys - queries)
    window               (left, right): j from i - left to i + right, None is unbounded
    scale                factor on the scores (default: 1/sqrt(head_dim))
    lse                  whether the kernel writes lse
    schedule             text of a #fa4.schedule attribute (default: the compiler's choice)
    """

    head_dim: int
    value_dim: int | None = None
    dtype: str = "bf16"
    layout: str = "bshd"
    causal: bool = False
    window: tuple[int | None, int | None] | None = None
    scale: float | None = None
    lse: bool = True
    schedule: str | None = None

    def __post_init__(self) -> None:
        if self.dtype not in _DTYPES:
            raise ArgumentError(f"expected dtype to be one of {', '.join(_DTYPES)}, but got {self.dtype!r}")
        if self.layout not in _LAYOUTS:
            raise ArgumentError(f"expected layout to be one of {', '.join(_LAYOUTS)}, but got {self.layout!r}")
        for name, value in (("head_dim", self.head_dim), ("value_dim", self.value_dim)):
            if value is None and name == "value_dim":
                continue  # that of head_dim
            if not is_integer(value) or value < 1:
                raise ArgumentError(f"expected {name} to be a number from 1, but got {value!r}")
        if self.window is not None and not (
                isinstance(self.window, (tuple, list)) and len(self.window) == 2
                and all(bound is None or is_integer(bound) for bound in self.window)):
            raise ArgumentError("expected window to be two integers, or None for no bound, "
                                f"but got {self.window!r}")
        if self.scale is not None and not _is_finite(self.scale):
            raise ArgumentError(f"expected scale to be a finite number, but got {self.scale!r}")
        if self.schedule is not None and not re.match(r"#fa4\.schedule<", self.schedule):
            raise ArgumentError(f"expected schedule to be a #fa4.schedule attribute, but got {self.schedule!r}")

    def check_shapes(self, shapes: dict[str, tuple[int, ...]]) -> None:
        """The extents that have to agree do; kernels take them for granted."""
        order = "bshd" if self.layout == "bshd" else "bhsd"
        query, key = (dict(zip(order, shapes[name])) for name in ("q", "k"))
        if key["h"] == 0 or query["h"] % key["h"]:
            raise ArgumentError(f"expected the heads of 'q' to be a multiple of the {key['h']} of 'k', but got {query['h']}")
        if key["b"] != query["b"]:
            raise ArgumentError(f"expected the batch of 'k' to be {query['b']} as that of 'q', but got {key['b']}")
        value_dim = self.value_dim or self.head_dim
        wanted = {
            "v": tuple({**key, "d": value_dim}[dim] for dim in order),
            "o": tuple({**query, "d": value_dim}[dim] for dim in order),
            "lse": (query["b"], query["h"], query["s"]),
        }
        for name, shape in wanted.items():
            if name in shapes and tuple(shapes[name]) != shape:
                raise ArgumentError(f"expected the shape of '{name}' to be {shape}, but got {tuple(shapes[name])}")

    def module(self) -> str:
        """The module's text; its entry is @attention(q, k, v, o[, lse])."""
        value_dim = self.value_dim or self.head_dim

        def tensor(dim: int) -> str:
            return f"memref<?x?x?x{dim}x{self.dtype}, strided<[?, ?, ?, 1]>>"

        query, value = tensor(self.head_dim), tensor(value_dim)
        outs, types = ["%o"], [value]
        if self.lse:
            outs.append("%lse")
            types.append("memref<?x?x?xf32, strided<[?, ?, 1]>>")
        arguments = [f"%q: {query}", f"%k: {query}", f"%v: {value}",
                     *(f"{name}: {type_}" for name, type_ in zip(outs, types))]
        clauses = [f"layout({self.layout})"]
        if self.scale is not None:
            clauses.append(f"scale({float(self.scale):.9e})")
        masks = ["#attn.causal"] if self.causal else []
        if self.window is not None:
            left, right = ("none" if bound is None else str(int(bound)) for bound in self.window)
            masks.append(f"#attn.window<left = {left}, right = {right}>")
        if masks:
            clauses.append(f"mask [{', '.join(masks)}]")
        if self.schedule:
            clauses.append(f"schedule({self.schedule})")
        return (f"func.func @attention({', '.join(arguments)}) {{\n"
                f"  attn.forward ins(%q, %k, %v : {query}, {query}, {value})\n"
                f"      outs({', '.join(outs)} : {', '.join(types)})\n"
                f"      {' '.join(clauses)}\n"
                "  return\n}\n")
