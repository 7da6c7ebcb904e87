# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fixtures: bundles of test/Runtime as kernels, a cache of its own, a fake driver."""

import ctypes
import json
import sys
from pathlib import Path

import pytest

import fa4
from fa4 import _arrays, _driver, _tools

sys.path.insert(0, str(Path(__file__).parent))
from fake_cuda import FakeCuda  # noqa: E402


def pytest_terminal_summary(terminalreporter):
    """The closing line that scripts/run_tests.py counts."""
    stats = {kind: len(terminalreporter.stats.get(kind, ())) for kind in ("passed", "failed", "error")}
    terminalreporter.write_line(f"{stats['passed']} passed, {stats['failed'] + stats['error']} failed")


RUNTIME = Path(__file__).resolve().parents[1] / "Runtime"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FA4_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def causal():
    """A compiled kernel, bf16, head dim 64, every extent open."""
    return fa4.compile(fa4.Attention(head_dim=64, causal=True), target="sm_100a", use_cache=False)


def bundle_kernel(path, **changes):
    data = {**json.loads(path.read_text()), **changes}
    ptx = path.with_suffix(".ptx")
    return fa4.Kernel({f"{path.stem}.json": json.dumps(data).encode(),
                       f"{path.stem}.ptx": ptx.read_bytes() if ptx.exists() else b""}, path.stem)


@pytest.fixture
def affine():
    return bundle_kernel(RUNTIME / "Inputs/affine.json")


@pytest.fixture
def good():
    """The bundle that has every kind of parameter; it has no code."""
    kernel = bundle_kernel(RUNTIME / "bundles/good.json", target="sm_90a")
    return kernel


@pytest.fixture
def cuda(monkeypatch):
    fake = FakeCuda({"main": [128, 8, 4, 4, 24], "count": [8], "affine": [24, 8, 4]})
    monkeypatch.setattr(_driver, "bindings", lambda: fake)
    monkeypatch.setattr(_driver, "_devices", {})
    return fake


def tensor(dtype, shape, address=0x10000, device=0, strides=None, writable=True):
    strides = strides or _arrays._dense_strides(shape, _arrays.ELEMENT_BYTES[dtype])
    return _arrays.Tensor(address, dtype, tuple(shape), tuple(strides), device, writable, None)


def resolved_by_run(bundle, arguments, processors=7):
    """What the C++ evaluator makes of a bundle, as fa4-run prints it."""
    command = [str(_tools.find_tool("fa4-run")), str(bundle), "--print", f"--processors={processors}",
               *(f"--arg={a}" for a in arguments)]
    result = _tools.run_tool(command)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


class CapsuleTensor:
    """Speaks DLPack for memory that does not exist."""

    def __init__(self, address, shape, strides, code=4, bits=16, device=(2, 0), versioned=True, flags=0):
        self.device, self.versioned, self.streams = device, versioned, []
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = (ctypes.c_int64 * len(shape))(*strides) if strides else None
        inner = _arrays._DLTensor(address, *device, len(shape), code, bits, 1, self.shape, self.strides, 32)
        self.managed = _arrays._DLManagedTensorVersioned(1, 0, None, None, flags, inner) if versioned else inner

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None, **options):
        if options and not self.versioned:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.streams.append(stream)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        return make(ctypes.addressof(self.managed), name, None)
