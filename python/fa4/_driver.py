# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's driver through the package cuda-bindings, imported when it is first needed."""

from __future__ import annotations

import ctypes
import functools
import importlib
import threading
from typing import Any

from fa4._bundle import TENSOR_MAP_BYTES, TensorMap
from fa4._errors import ArgumentError, DriverError

_MAP_TYPES = {"u8": "UINT8", "e4m3": "UINT8", "e5m2": "UINT8", "u16": "UINT16", "u32": "UINT32",
              "i32": "INT32", "u64": "UINT64", "i64": "INT64", "f16": "FLOAT16", "bf16": "BFLOAT16",
              "f32": "FLOAT32", "f64": "FLOAT64", "tf32": "TFLOAT32"}


@functools.lru_cache(maxsize=1)
def bindings() -> Any:
    """The module cuda.bindings.driver."""
    try:
        return importlib.import_module("cuda.bindings.driver")
    except ImportError as error:
        raise DriverError("expected the package cuda-bindings, to launch on a GPU, but got: "
                          f"{error}; pip install cuda-bindings") from error


class Device:
    """A CUDA device with its primary context, which every framework uses too."""

    def __init__(self, number: int):
        self.cu = bindings()
        self.number = number
        try:
            self.call("to find a CUDA device", self.cu.cuInit, 0)
        except RuntimeError as error:  # cuda-bindings found no driver
            raise DriverError(f"expected NVIDIA's driver to be on this machine, but got: {error}") from error
        count = self.call("to count devices", self.cu.cuDeviceGetCount)
        if not 0 <= number < count:
            raise ArgumentError(f"expected the device to be from 0 to {count - 1}, but got {number}")
        self.device = self.call(f"device {number}", self.cu.cuDeviceGet, number)
        attribute = self.cu.CUdevice_attribute
        names = {"major": attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                 "minor": attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                 "processors": attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                 "shared_bytes": attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN}
        numbers = {name: int(self.call("a device's attribute", self.cu.cuDeviceGetAttribute, key, self.device))
                   for name, key in names.items()}
        self.major, self.minor = numbers["major"], numbers["minor"]
        self.processors, self.shared_bytes = numbers["processors"], numbers["shared_bytes"]
        self.context = self.call(f"a context on device {number}", self.cu.cuDevicePrimaryCtxRetain, self.device)

    def call(self, what: str, function: Any, *arguments: Any) -> Any:
        """The result of a driver call, or a DriverError."""
        error, *results = function(*arguments)
        if int(error) != 0:
            name = getattr(error, "name", str(error))
            raise DriverError(f"expected {what} on device {self.number}, but got {name}")
        return results[0] if len(results) == 1 else results

    def __enter__(self) -> Device:
        self.call("its context to become current", self.cu.cuCtxPushCurrent, self.context)
        return self

    def __exit__(self, *_: object) -> None:
        self.cu.cuCtxPopCurrent()

    def check_chip(self, chip: str) -> None:
        """`a` at the end of a chip's name means that chip alone, `f` its family, nothing
        that one and later ones of its major version."""
        digits = "".join(c for c in chip if c.isdigit())
        suffix = chip[-1] if chip[-1:] in ("a", "f") else ""
        major, minor = divmod(int(digits or 0), 10)
        fits = self.major == major and (self.minor == minor if suffix == "a" else self.minor >= minor)
        if not fits:
            raise ArgumentError(f"expected device {self.number} to have compute capability {major}.{minor} for code of "
                                f"'{chip}', but got {self.major}.{self.minor}")

    def encode(self, tensor_map: TensorMap, address: int) -> bytes:
        """The driver's form of a tensor map."""
        address += tensor_map.offset
        if address % 16:
            raise ArgumentError(f"expected the address of '{tensor_map.tensor}' to be a multiple of 16 bytes, but got a "
                                f"remainder of {address % 16}")
        for stride in tensor_map.strides:
            if stride % 16:
                raise ArgumentError(f"expected the strides of '{tensor_map.tensor}' to be multiples of 16 bytes, but got "
                                    f"{stride}")
        cu = self.cu
        kind = getattr(cu.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{_MAP_TYPES[tensor_map.type]}")
        encoded = self.call(
            f"a tensor map of '{tensor_map.tensor}' to be encoded", cu.cuTensorMapEncodeTiled, kind,
            len(tensor_map.extents), address, [cu.cuuint64_t(e) for e in tensor_map.extents],
            [cu.cuuint64_t(s) for s in tensor_map.strides], [cu.cuuint32_t(b) for b in tensor_map.box],
            [cu.cuuint32_t(s) for s in tensor_map.element_strides],
            cu.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE, cu.CUtensorMapSwizzle(tensor_map.swizzle),
            cu.CUtensorMapL2promotion(tensor_map.promotion), cu.CUtensorMapFloatOOBfill(tensor_map.fill))
        return ctypes.string_at(encoded.getPtr(), TENSOR_MAP_BYTES)


_devices: dict[int, Device] = {}
_devices_lock = threading.Lock()


def device(number: int) -> Device:
    with _devices_lock:
        if number not in _devices:
            _devices[number] = Device(number)
        return _devices[number]
