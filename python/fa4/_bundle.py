# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A bundle's formulas as numbers: the same as lib/Runtime gives, which the tests compare.

docs/bundle.schema.json describes the file, which fa4c wrote: it is not checked again.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fa4._arrays import ELEMENT_BYTES
from fa4._errors import ArgumentError

TENSOR_MAP_BYTES = 128
_SWIZZLES = {"none": 0, "32": 1, "64": 2, "128": 3}
_PROMOTIONS = {"none": 0, "64": 1, "128": 2, "256": 3}
_MAX_MAP_STRIDE = ((1 << 40) - 1) // 16 * 16


@dataclass
class Values:
    """What formulas speak of; strides are in bytes."""

    extents: dict[str, tuple[int, ...]] = field(default_factory=dict)
    strides: dict[str, tuple[int, ...]] = field(default_factory=dict)
    integers: dict[str, int] = field(default_factory=dict)
    floats: dict[str, float] = field(default_factory=dict)
    processors: int = 1


Formula = Callable[[Values], int]


def _bounded(value: int) -> int:
    if not -(1 << 63) <= value < (1 << 63):
        raise ArgumentError("expected a formula to stay within 64 bits, but got more")
    return value


def _divide(a: int, b: int) -> int:
    if b == 0:
        raise ArgumentError("expected a divisor other than 0, but got 0")
    return a // b


def _modulo(a: int, b: int) -> int:
    if b == 0:
        raise ArgumentError("expected a divisor other than 0, but got 0")
    return a % b


_BINARY: dict[str, Callable[[int, int], int]] = {
    "-": lambda a, b: _bounded(a - b),
    "floordiv": lambda a, b: _bounded(_divide(a, b)),
    "ceildiv": lambda a, b: _bounded(-_divide(-a, b)),
    "mod": _modulo,
    "align": lambda a, b: _bounded(-_divide(-a, b) * b),
    "<": lambda a, b: int(a < b),
    "==": lambda a, b: int(a == b),
}
_MANY: dict[str, Callable[[list[int]], int]] = {
    "+": lambda xs: _bounded(sum(xs)),
    "min": min,
    "max": max,
}


def formula(tree: Any) -> Formula:
    """A prefix expression as a function."""
    if isinstance(tree, int):
        return lambda _: tree
    op, *rest = tree
    if op == "extent":
        name, dim = rest
        return lambda v: v.extents[name][dim]
    if op == "stride":
        name, dim = rest
        return lambda v: v.strides[name][dim]
    if op == "scalar":
        return lambda v: v.integers[rest[0]]
    if op == "device":
        return lambda v: v.processors
    operands = [formula(part) for part in rest]
    if op == "select":
        condition, yes, no = operands
        return lambda v: yes(v) if condition(v) else no(v)
    if op == "*":
        def product(v: Values) -> int:
            result = 1
            for operand in operands:
                result = _bounded(result * operand(v))
            return result
        return product
    if op in _MANY:
        many = _MANY[op]
        return lambda v: many([operand(v) for operand in operands])
    binary = _BINARY[op]
    first, second = operands
    return lambda v: binary(first(v), second(v))


@dataclass
class TensorMap:
    """A tensor map before its encoding; `address` is `tensor`'s plus `offset`."""

    tensor: str
    offset: int
    type: str
    extents: list[int]
    strides: list[int]
    box: list[int]
    element_strides: list[int]
    swizzle: int
    promotion: int
    fill: int


@dataclass
class Parameter:
    """Bytes of a parameter; at each place in `addresses` stands the address of a tensor
    plus an offset, at each in `maps` an encoded map."""

    data: bytearray
    addresses: list[tuple[int, str, int]] = field(default_factory=list)
    maps: list[tuple[int, TensorMap]] = field(default_factory=list)


@dataclass
class Launch:
    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int] | None
    shared_bytes: int
    dependent: bool
    parameters: list[Parameter]


def _in_range(value: int, what: str, low: int, high: int) -> int:
    if not low <= value <= high:
        raise ArgumentError(f"expected {what} to be from {low} to {high}, but got {value}")
    return value


class Bundle:
    """A bundle's text, ready to be evaluated for any tensors."""

    def __init__(self, data: Mapping[str, Any]):
        self.data = data
        self.target: str = data["target"]
        self.arguments: list[dict[str, Any]] = list(data["arguments"])
        self.workspaces: list[dict[str, Any]] = list(data["workspaces"])
        self._conditions = [(formula(c["holds"]), c["expected"], formula(c["value"])) for c in data.get("conditions", ())]
        self._workspace_bytes = [formula(w["bytes"]) for w in self.workspaces]
        self._launches = [self._compile(launch) for launch in data["launches"]]
        self.entries = list(dict.fromkeys(launch["entry"] for launch in data["launches"]))

    def tensors(self) -> list[dict[str, Any]]:
        return [a for a in self.arguments if a["kind"] == "tensor"]

    def check_names(self, given: Mapping[str, Any]) -> None:
        """Every argument and nothing else is given."""
        names = [a["name"] for a in self.arguments]
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise ArgumentError(f"expected arguments among {', '.join(names)}, but got '{unknown[0]}'")
        missing = [name for name in names if name not in given]
        if missing:
            raise ArgumentError(f"expected '{missing[0]}' to be given, but got nothing")

    def check_tensor(self, argument: Mapping[str, Any], dtype: str, rank: int) -> None:
        if dtype != argument["type"]:
            raise ArgumentError(f"expected the elements of '{argument['name']}' to be {argument['type']}, but got {dtype}")
        if rank != argument["rank"]:
            raise ArgumentError(f"expected the rank of '{argument['name']}' to be {argument['rank']}, but got {rank}")

    def bind_scalar(self, argument: Mapping[str, Any], value: Any, values: Values) -> None:
        name, kind = argument["name"], argument["type"]
        if kind == "f32":
            values.floats[name] = float(value)
            return
        if int(value) != value:
            raise ArgumentError(f"expected '{name}' to be an {kind}, but got {value!r}")
        bits = 64 if kind == "i64" else 32
        values.integers[name] = _in_range(int(value), f"'{name}'", -(1 << (bits - 1)), (1 << (bits - 1)) - 1)

    def check_conditions(self, values: Values) -> None:
        for holds, expected, value in self._conditions:
            if not holds(values):
                raise ArgumentError(f"expected {expected}, but got {value(values)}")

    def workspace_bytes(self, values: Values) -> list[int]:
        return [max(_in_range(size(values), f"the bytes of '{w['name']}'", 0, (1 << 63) - 1), 1)
                for w, size in zip(self.workspaces, self._workspace_bytes)]

    def launches(self, values: Values) -> list[Launch]:
        """The launches that are not empty."""
        resolved = (launch(values) for launch in self._launches)
        return [launch for launch in resolved if all(launch.grid)]

    def _compile(self, data: Mapping[str, Any]) -> Callable[[Values], Launch]:
        # CUDA programming guide, technical specifications per compute capability.
        grid = [formula(g) for g in data["grid"]]
        block = [formula(b) for b in data["block"]]
        shared = formula(data["dynamic_shared_bytes"])
        cluster = tuple(data["cluster"]) if "cluster" in data else None
        parameters = [_compile_parameter(p) for p in data["parameters"]]
        entry = data["entry"]

        def resolve(v: Values) -> Launch:
            sizes = tuple(_in_range(g(v), f"grid[{d}] of '{entry}'", 0, limit)
                          for d, (g, limit) in enumerate(zip(grid, ((1 << 31) - 1, 65535, 65535))))
            threads = tuple(_in_range(b(v), f"block[{d}] of '{entry}'", 1, limit)
                            for d, (b, limit) in enumerate(zip(block, (1024, 1024, 64))))
            if threads[0] * threads[1] * threads[2] > 1024:
                raise ArgumentError(f"expected a block of '{entry}' to have at most 1024 threads, but got {threads}")
            for d, per in enumerate(cluster or (1, 1, 1)):
                if sizes[d] % per:
                    raise ArgumentError(f"expected grid[{d}] of '{entry}' to be a multiple of the cluster's {per}, "
                                        f"but got {sizes[d]}")
            return Launch(entry, sizes, threads, cluster, _in_range(shared(v), "dynamic_shared_bytes", 0, (1 << 31) - 1),
                          data["programmatic_dependence"], [p(v) for p in parameters])
        return resolve


def _compile_parameter(data: Mapping[str, Any]) -> Callable[[Values], Parameter]:
    kind = data["kind"]
    if kind == "address":
        offset, name = formula(data.get("offset", 0)), data["of"]
        return lambda v: Parameter(bytearray(8), [(0, name, offset(v))])
    if kind == "f32":
        scalar, value = data.get("scalar"), data["value"]
        return lambda v: Parameter(bytearray(struct.pack("<f", value * (v.floats[scalar] if scalar else 1))))
    if kind == "tensor_map":
        make = _compile_map(data)
        return lambda v: Parameter(bytearray(TENSOR_MAP_BYTES), [], [(0, make(v))])
    if kind == "struct":
        fields = [(f["offset"], _compile_parameter(f["parameter"])) for f in data["fields"]]

        def record(v: Values) -> Parameter:
            result = Parameter(bytearray(data["bytes"]))
            for offset, make_field in fields:
                part = make_field(v)
                result.data[offset:offset + len(part.data)] = part.data
                result.addresses += [(offset + at, name, plus) for at, name, plus in part.addresses]
                result.maps += [(offset + at, tensor_map) for at, tensor_map in part.maps]
            return result
        return record
    count, value = int(kind[1:]) // 8, formula(data["value"])

    def integer(v: Values) -> Parameter:
        # Either reading of the bits is accepted: -1 and 255 are both an i8.
        number = value(v)
        high = (1 << 63) - 1 if count == 8 else (1 << (8 * count)) - 1
        _in_range(number, f"a parameter of {count} bytes", -(1 << (8 * count - 1)), high)
        return Parameter(bytearray((number & ((1 << (8 * count)) - 1)).to_bytes(count, "little")))
    return integer


def _compile_map(data: Mapping[str, Any]) -> Callable[[Values], TensorMap]:
    offset = formula(data.get("offset", 0))
    extents = [formula(e) for e in data["extents"]]
    strides = [formula(s) for s in data["strides"]]
    element = ELEMENT_BYTES[data["type"]]
    box, element_strides = list(data["box"]), list(data["element_strides"])
    swizzle, promotion = _SWIZZLES[data["swizzle"]], _PROMOTIONS[data["l2_promotion"]]
    fill = int(data["fill"] == "nan")

    def make(v: Values) -> TensorMap:
        # An empty tensor still needs a legal map; the stride of an extent of 1 is never used.
        sizes = [max(_in_range(e(v), "an extent of a tensor map", 0, 1 << 32), 1) for e in extents]
        span, steps = element * sizes[0], []
        for size, stride in zip(sizes[1:], strides):
            step = (span + 15) // 16 * 16
            if size > 1:
                step = _in_range(stride(v), "a stride of a tensor map", 0, (1 << 40) - 1)
            step = min(step, _MAX_MAP_STRIDE)
            steps.append(step)
            span = max(span, step)
        return TensorMap(data["of"], offset(v), data["type"], sizes, steps, box, element_strides, swizzle, promotion, fill)
    return make
