# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Anybody's tensors as (address, type, shape, byte strides, device), and numpy's bf16."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fa4._errors import ArgumentError

# The names that bundles use.
NUMPY_TYPES: dict[str, np.dtype[Any]] = {
    "f16": np.dtype("<f2"), "bf16": np.dtype("<u2"), "f32": np.dtype("<f4"), "f64": np.dtype("<f8"),
    "i32": np.dtype("<i4"), "i64": np.dtype("<i8"), "u8": np.dtype("u1"), "u16": np.dtype("<u2"),
    "u32": np.dtype("<u4"), "u64": np.dtype("<u8"),
}
ELEMENT_BYTES = {"u8": 1, "u16": 2, "u32": 4, "i32": 4, "u64": 8, "i64": 8, "f16": 2, "bf16": 2,
                 "f32": 4, "f64": 8, "tf32": 4, "e4m3": 1, "e5m2": 1}


@dataclass(frozen=True)
class Empty:
    """Memory of a shape that holds nothing yet, for results of `fa4.simulate`."""

    shape: tuple[int, ...]


def to_bf16(array: np.ndarray) -> np.ndarray:
    """The bits (uint16) of the numbers rounded to bf16, to nearest even; NaN stays NaN."""
    bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
    rounded = (bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    return np.where(nan, (bits >> 16) | 0x40, rounded).astype(np.uint16)


def from_bf16(bits: np.ndarray) -> np.ndarray:
    """The float32 numbers of bf16 bits (uint16)."""
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)


def host_array(name: str, dtype: str, value: Any) -> np.ndarray:
    """A numpy array of the elements that an argument of type `dtype` has. bf16 is
    uint16 bits, or ml_dtypes' bfloat16."""
    if dtype not in NUMPY_TYPES:
        raise ArgumentError(f"expected '{name}' to have a type that numpy has, but got {dtype}")
    array = np.asarray(value)
    if dtype == "bf16" and array.dtype.name == "bfloat16":
        array = array.view(np.uint16)
    if array.dtype != NUMPY_TYPES[dtype]:
        wanted = "uint16 bits of bf16 (fa4.to_bf16 rounds)" if dtype == "bf16" else NUMPY_TYPES[dtype].name
        raise ArgumentError(f"expected the elements of '{name}' to be {wanted}, but got "
                            f"{array.dtype.name if array.dtype.isnative else f'{array.dtype.name} in the other byte order'}")
    return array


class Tensor(NamedTuple):
    """`device` is the CUDA device's number; `owner` keeps the memory alive."""

    address: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes
    device: int
    writable: bool
    owner: Any


# DLPack, dlpack.h (version 1.0): layouts and codes.
_DL_CUDA, _DL_CUDA_MANAGED = 2, 13
_DL_TYPES = {(0, 32): "i32", (0, 64): "i64", (1, 8): "u8", (1, 16): "u16", (1, 32): "u32", (1, 64): "u64",
             (2, 16): "f16", (2, 32): "f32", (2, 64): "f64", (4, 16): "bf16"}
_DL_READ_ONLY = 1


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = ctypes.c_void_p
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype = ctypes.c_int
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _dense_strides(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    strides, step = [], size
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def _from_dlpack(name: str, value: Any, stream: int | None) -> Tensor:
    if value.__dlpack_device__()[0] not in (_DL_CUDA, _DL_CUDA_MANAGED):
        raise ArgumentError(f"expected '{name}' to be in memory of a GPU, but got memory of the host")
    # The producer makes `stream` wait for what still writes the tensor; -1: it need not,
    # 1: the legacy default stream, whose handle is 0.
    wish = -1 if stream is None else stream or 1
    try:
        capsule = value.__dlpack__(stream=wish, max_version=(1, 0))
    except TypeError:  # a producer of before DLPack 1.0
        capsule = value.__dlpack__(stream=wish)
    # JAX's arrays never change; not every release of it says so.
    writable = type(value).__module__.split(".")[0] not in ("jax", "jaxlib")
    # The capsule is not consumed: it frees what it holds when the last reference goes.
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = _DLManagedTensorVersioned.from_address(_get_pointer(capsule, b"dltensor_versioned"))
        tensor, writable = managed.tensor, writable and not managed.flags & _DL_READ_ONLY
    elif _is_valid(capsule, b"dltensor"):
        tensor = _DLTensor.from_address(_get_pointer(capsule, b"dltensor"))
    else:
        raise ArgumentError(f"expected '{name}' to give a DLPack capsule, but got {capsule!r}")
    dtype = _DL_TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        raise ArgumentError(f"expected the elements of '{name}' to be of a type that kernels have, but got "
                            f"DLPack code {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    size = ELEMENT_BYTES[dtype]
    strides = tuple(tensor.strides[i] * size for i in range(tensor.ndim)) if tensor.strides else _dense_strides(shape, size)
    return Tensor((tensor.data or 0) + tensor.byte_offset, dtype, shape, strides, tensor.device_id, writable, capsule)


_TYPESTRS = {"<f2": "f16", "<f4": "f32", "<f8": "f64", "<i4": "i32", "<i8": "i64", "|u1": "u8",
             "<u2": "u16", "<u4": "u32", "<u8": "u64", "<V2": "bf16", "|V2": "bf16"}


def _from_cuda_array(name: str, value: Any) -> Tensor:
    # CUDA Array Interface, version 3; ml_dtypes' bfloat16 shows as two opaque bytes.
    interface = value.__cuda_array_interface__
    dtype = _TYPESTRS.get(interface["typestr"])
    if dtype is None:
        raise ArgumentError(f"expected the elements of '{name}' to be of a type that kernels have, but got "
                            f"{interface['typestr']}")
    shape = tuple(interface["shape"])
    address, read_only = interface["data"]
    strides = interface.get("strides") or _dense_strides(shape, ELEMENT_BYTES[dtype])
    device = getattr(value, "device", None)
    number = getattr(device, "id", device if isinstance(device, int) else 0)
    return Tensor(address, dtype, shape, tuple(strides), number, not read_only, value)


_TORCH_TYPES = {"torch.bfloat16": "bf16", "torch.float16": "f16", "torch.float32": "f32",
                "torch.float64": "f64", "torch.int32": "i32", "torch.int64": "i64", "torch.uint8": "u8"}


def torch_key(value: Any) -> tuple[Any, ...]:
    """What a torch tensor's `Tensor` depends on, at a fraction of its price."""
    return value.data_ptr(), value.shape, value.stride(), value.dtype, value.device


def _from_torch(name: str, value: Any) -> Tensor:
    dtype = _TORCH_TYPES.get(str(value.dtype))
    if dtype is None:
        raise ArgumentError(f"expected the elements of '{name}' to be of a type that kernels have, but got {value.dtype}")
    if value.device.type != "cuda":
        raise ArgumentError(f"expected '{name}' to be in memory of a GPU, but got memory of the host")
    size = ELEMENT_BYTES[dtype]
    return Tensor(value.data_ptr(), dtype, tuple(value.shape), tuple(s * size for s in value.stride()),
                  value.device.index or 0, True, value)


def device_tensor(name: str, value: Any, stream: int | None = None) -> Tensor:
    """A view of a tensor of torch, CuPy, JAX or whoever speaks DLPack or the CUDA Array
    Interface. `stream` is one that has to wait for pending writes of the tensor."""
    if isinstance(value, Tensor):
        return value
    if type(value).__module__.split(".")[0] == "torch":
        return _from_torch(name, value)  # what DLPack gives, at a tenth of its time
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(name, value, stream)
    if hasattr(value, "__cuda_array_interface__"):
        return _from_cuda_array(name, value)
    raise ArgumentError(f"expected '{name}' to be a tensor (DLPack or the CUDA Array Interface), but got "
                        f"{type(value).__name__}")
