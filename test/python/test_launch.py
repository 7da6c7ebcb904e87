# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches through a fake driver: what reaches it, what is refused, what is reused."""

import struct
import sys
import types
from typing import NamedTuple

import numpy as np
import pytest
from conftest import CapsuleTensor, bundle_kernel, RUNTIME, tensor

import fa4
from fa4 import _driver
from fa4._arrays import device_tensor


def arguments(**changes):
    return {"q": tensor("bf16", (2, 300, 64)), "o": tensor("f32", (300, 64), 0x20000), "n": 3, "scale": 0.5, **changes}


def test_what_reaches_the_driver(good, cuda):
    good.launch(**arguments(), stream=0x77)
    launched, = cuda.launched
    assert (launched.grid, launched.block, launched.stream) == ((3, 3, 1), (384, 1, 1), 0x77)
    assert [a.id for a in launched.attributes] == [4]
    assert cuda.maps == [dict(kind=9, rank=2, address=0x10000 + 300 * 128, extents=[64, 300], strides=[128],
                              box=[64, 128], swizzle=3, fill=0)]
    tensor_map, sums, scale, last, record = launched.parameters
    assert tensor_map == bytes([1]) * 128
    assert struct.unpack("<Q", sums)[0] == cuda.next_address
    assert struct.unpack("<f", scale)[0] == 1.25
    assert struct.unpack("<i", last)[0] == 2
    assert struct.unpack("<QQB", record[:17]) == (0x20040, 0, 7)
    assert cuda.image == b"\0"  # PTX ends in a NUL


def test_second_launch_only_launches(good, cuda):
    good.launch(**arguments())
    cuda.calls.clear()
    good.launch(**arguments())
    assert cuda.calls == ["push", "memset", "launch", "pop"]
    # Other addresses: new maps, the same formulas; other shapes: all of it.
    good.launch(**arguments(q=tensor("bf16", (2, 300, 64), 0x90000)))
    assert [m["address"] for m in cuda.maps] == [0x10000 + 300 * 128, 0x90000 + 300 * 128]


def test_prepared_neither_allocates_nor_checks(good, cuda):
    prepared = good.prepare(**arguments())
    cuda.calls.clear()
    prepared.launch(5)
    prepared.launch(6)
    assert cuda.calls == ["push", "memset", "launch", "pop"] * 2
    assert [launched.stream for launched in cuda.launched] == [5, 6]
    del prepared
    assert len(cuda.freed) == 1  # its workspace


def test_memory_of_remembered_launches_is_bounded(good, cuda):
    for number in range(200):
        good.launch(**arguments(q=tensor("bf16", (2, 300, 64), 0x100000 * (number + 1))))
    assert 200 - len(cuda.freed) == 64


def test_each_device_has_its_own_module(good, cuda):
    second = arguments(q=tensor("bf16", (2, 300, 64), device=1), o=tensor("f32", (300, 64), 0x20000, device=1))
    good.launch(**second)
    good.launch(**arguments())
    good.launch(**second)
    assert [launched.device for launched in cuda.launched] == [1, 0, 1]
    assert cuda.calls.count("load") == 2
    assert cuda.stack == []


@pytest.mark.parametrize("change, message", [
    (dict(q=tensor("f16", (2, 300, 64))), "expected the elements of 'q' to be bf16, but got f16"),
    (dict(q=tensor("bf16", (300, 64))), "expected the rank of 'q' to be 3, but got 2"),
    (dict(q=tensor("bf16", (2, 300, 72))), "expected extent 2 of 'q' to be 64, but got 72"),
    (dict(q=tensor("bf16", (2, 300, 64), strides=(40000, 136, 2))),
     "expected the strides of 'q' to be multiples of 16 bytes, but got 136"),
    (dict(q=tensor("bf16", (2, 300, 64), 0x10008)),
     "expected the address of 'q' to be a multiple of 16 bytes, but got a remainder of 8"),
    (dict(o=tensor("f32", (300, 64), device=1)),
     "expected 'o' to be in memory of device 0 as 'q' is, but got memory of device 1"),
    (dict(o=tensor("f32", (300, 64), writable=False)), "expected 'o' to be writable, but got a read-only tensor"),
    (dict(n=2.5), "expected 'n' to be an i32, but got 2.5"),
    (dict(n=1 << 40), "expected 'n' to be from -2147483648 to 2147483647"),
    (dict(q=np.zeros((2, 300, 64), np.uint16)), "expected 'q' to be in memory of a GPU, but got memory of the host"),
    (dict(q=[1, 2]), "expected 'q' to be a tensor"),
    (dict(stream="main"), "expected stream to be a handle or a stream object, but got str"),
    (dict(q=tensor("bf16", (2, 300, 64), device=7), o=tensor("f32", (300, 64), device=7)),
     "expected the device to be from 0 to 1, but got 7"),
])
def test_refused_by_name(good, cuda, change, message):
    with pytest.raises(fa4.ArgumentError) as caught:
        good.launch(**arguments(**change))
    assert message in str(caught.value)
    assert cuda.launched == []


def test_other_chips_are_refused(cuda):
    kernel = bundle_kernel(RUNTIME / "bundles/good.json")  # sm_100a
    with pytest.raises(fa4.ArgumentError, match="compute capability 10.0 for code of 'sm_100a', but got 9.0"):
        kernel.launch(**arguments())


def test_driver_errors(good, cuda):
    cuda.entries.clear()
    with pytest.raises(fa4.DriverError, match="expected the code to have an entry 'main' on device 0, but got "
                                              "CUDA_ERROR_NOT_FOUND"):
        good.launch(**arguments())


def test_no_bindings(good, monkeypatch):
    monkeypatch.setattr(_driver, "_devices", {})
    _driver.bindings.cache_clear()

    def missing(name):
        raise ImportError(f"No module named '{name}'")
    monkeypatch.setattr(_driver.importlib, "import_module", missing)
    with pytest.raises(fa4.DriverError, match="pip install cuda-bindings"):
        good.launch(**arguments())


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack(versioned):
    given = CapsuleTensor(0x1000, (2, 3), (8, 1), versioned=versioned, device=(2, 1))
    seen = device_tensor("q", given, stream=0)
    assert (seen.address, seen.dtype, seen.shape, seen.strides, seen.device, seen.writable) == (
        0x1020, "bf16", (2, 3), (16, 2), 1, True)
    assert given.streams == [1]  # the legacy default stream
    assert device_tensor("q", CapsuleTensor(0, (2, 3), None, code=2, bits=32)).strides == (12, 4)
    assert not device_tensor("q", CapsuleTensor(0, (2,), (1,), flags=1)).writable
    with pytest.raises(fa4.ArgumentError, match="DLPack code 5, 64 bits"):
        device_tensor("q", CapsuleTensor(0, (2,), (1,), code=5, bits=64))


def test_cuda_array_interface():
    given = types.SimpleNamespace(device=types.SimpleNamespace(id=1), __cuda_array_interface__={
        "typestr": "<f2", "shape": (2, 3), "data": (0x1000, True), "strides": None, "version": 3})
    seen = device_tensor("q", given)
    assert (seen.address, seen.dtype, seen.strides, seen.device, seen.writable) == (0x1000, "f16", (6, 2), 1, False)


def test_stream_objects(good, cuda):
    for stream in (types.SimpleNamespace(cuda_stream=9), types.SimpleNamespace(ptr=9),
                   types.SimpleNamespace(__cuda_stream__=lambda: (0, 9)), 9):
        good.launch(**arguments(), stream=stream)
    assert [launched.stream for launched in cuda.launched] == [9] * 4


class FakeTorchTensor:
    """As much of a torch tensor as a launch looks at."""

    def __init__(self, address, shape, dtype="torch.bfloat16", strides=None, kind="cuda", index=0):
        self.address, self.shape, self.dtype = address, shape, dtype
        self.strides = strides or tuple(int(np.prod(shape[d + 1:])) for d in range(len(shape)))
        self.device = FakeTorchDevice(kind, index)

    def data_ptr(self):
        return self.address

    def stride(self):
        return self.strides


FakeTorchTensor.__module__ = "torch"


class FakeTorchDevice(NamedTuple):
    type: str
    index: int


@pytest.fixture
def torch(monkeypatch):
    module = types.ModuleType("torch")
    module.Tensor = FakeTorchTensor
    module._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda index: 40 + index)
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def test_torch(good, cuda, torch):
    o = FakeTorchTensor(0x20000, (300, 64), "torch.float32")
    q = FakeTorchTensor(0x10000, (2, 300, 64))
    good.launch(q=q, o=o, n=3, scale=0.5)
    cuda.calls.clear()
    good.launch(q=q, o=o, n=3, scale=0.5)
    assert cuda.calls == ["push", "memset", "launch", "pop"]
    assert [launched.stream for launched in cuda.launched] == [40, 40]  # torch's current one
    for change in (dict(q=FakeTorchTensor(0x30000, (2, 300, 64))), dict(q=FakeTorchTensor(0x10000, (2, 200, 64))),
                   dict(q=FakeTorchTensor(0x10000, (2, 300, 64), strides=(38400, 128, 1))), dict(n=4)):
        cuda.calls.clear()
        good.launch(**{**dict(q=q, o=o, n=3, scale=0.5), **change})
        assert "encode" in cuda.calls and "load" not in cuda.calls
    with pytest.raises(fa4.ArgumentError, match="expected 'q' to be in memory of a GPU"):
        good.launch(q=FakeTorchTensor(0x10000, (2, 300, 64), kind="cpu", index=None), o=o, n=3, scale=0.5)
    with pytest.raises(fa4.ArgumentError, match="but got torch.complex64"):
        good.launch(q=FakeTorchTensor(0x10000, (2, 300, 64), "torch.complex64"), o=o, n=3, scale=0.5)


def test_jax_arrays_are_read_only():
    kind = type("ArrayImpl", (CapsuleTensor,), {"__module__": "jaxlib._jax"})
    assert not device_tensor("o", kind(0x1000, (2, 3), (3, 1))).writable
