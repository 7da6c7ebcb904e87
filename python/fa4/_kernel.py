# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling, and launching what was compiled."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fa4 import _driver, _tools
from fa4._arrays import Tensor, device_tensor, torch_key
from fa4._bundle import Bundle, Launch, Values
from fa4._cache import Cache, Files, default_cache
from fa4._errors import ArgumentError, CompileError, ToolError, parse_diagnostics
from fa4._spec import Attention

_PORTABLE_CLUSTER = 8  # CUDA programming guide, thread block clusters
_REMEMBERED = 64  # prepared launches per kernel


def compile(  # noqa: A001  (the package's verb: fa4.compile)
    module: str | Path | Attention,
    *,
    target: str,
    entry: str | None = None,
    ptxas: str | Path | None = None,
    cache: Cache | None = None,
    use_cache: bool = True,
) -> Kernel:
    """Compiles a module for a chip such as "sm_90a".

    module   MLIR text, a Path of a file with it, or an `fa4.Attention`
    entry    the function to launch (default: the only public one)
    ptxas    NVIDIA's assembler (default: looked for; without one the driver compiles
             the PTX when it is loaded)
    cache    where compiled kernels are kept (default: `fa4.default_cache()`)

    Raises `CompileError` with located diagnostics if the module does not compile,
    `ArgumentError` for options that fa4c does not take, `ToolError` if fa4c is not there
    or crashes. Equal text, options and tools give the same kernel, from the cache.
    """
    if isinstance(module, Attention):
        text, name = module.module(), "attention"
    elif isinstance(module, Path):
        text, name = module.read_text(encoding="utf-8"), module.stem
    elif isinstance(module, str):
        text, name = module, "kernel"
    else:
        raise ArgumentError("expected module to be MLIR text, a Path or an fa4.Attention, "
                            f"but got {type(module).__name__}")
    if target == "cpu":
        raise ArgumentError("expected target to be a chip, but got 'cpu', for which fa4c runs modules itself "
                            "(fa4c --target=cpu --run); fa4.simulate runs a chip's kernel on this machine")
    fa4c = _tools.find_tool("fa4c")
    assembler = _tools.find_ptxas() if ptxas is None else Path(ptxas)
    if assembler and not os.access(assembler, os.X_OK):
        raise ToolError(f"expected ptxas to be a program, but got '{assembler}'")
    options = [f"--target={target}"]
    if entry is not None:
        options.append(f"--entry={entry}")
    key = Cache.key({
        "text": text, "name": name, "options": options, "fa4c": _tools.fingerprint(fa4c),
        "ptxas": _tools.version_of(assembler) if assembler else "none",
    })
    if assembler:
        options.append(f"--ptxas={assembler}")

    def make() -> Files:
        return _run_compiler(fa4c, text, name, options)

    files = (cache or default_cache()).get_or_make(key, make) if use_cache else make()
    return Kernel(files, name, module if isinstance(module, Attention) else None)


def _run_compiler(fa4c: Path, text: str, name: str, options: list[str]) -> Files:
    folder = Path(tempfile.mkdtemp(prefix="fa4-"))
    try:
        source = folder / f"{name}.mlir"
        source.write_text(text, encoding="utf-8")
        # Diagnostics name the file as the command line does: relative to the folder.
        command = [str(fa4c), *options, "-o", "out", "--", source.name]
        result = _tools.run_tool(command, cwd=folder)
        log = result.stderr
        if result.returncode == 1:
            raise CompileError(parse_diagnostics(log), log)
        if result.returncode == 2:
            raise ArgumentError(log.strip().removeprefix("error: "))
        if result.returncode != 0:
            raise ToolError(f"expected fa4c to end with 0, 1 or 2, but got {result.returncode}:\n{log[-2000:]}")
        return {file.name: file.read_bytes() for file in sorted((folder / "out").iterdir())}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Kernel:
    """A compiled module: a bundle, its PTX and, if ptxas was there, its machine code.

    One object serves every device and thread; each device gets a module of its own.
    """

    def __init__(self, files: Files, name: str, spec: Attention | None = None):
        self._files = files
        self.name = name
        self.spec = spec
        self.bundle = Bundle(json.loads(files[f"{name}.json"]))
        self.ptx = files[f"{name}.ptx"].decode()
        self.cubin = files.get(f"{name}.cubin")
        self.report = files.get(f"{name}.report.txt", b"").decode()
        self._loaded: dict[int, _Program] = {}
        self._recent: OrderedDict[Any, PreparedLaunch] = OrderedDict()
        self._lock = threading.Lock()

    def check_shapes(self, shapes: dict[str, tuple[int, ...]]) -> None:
        """Raises `ArgumentError` if tensors of these ranks have extents that do not go together."""
        if self.spec is not None:
            self.spec.check_shapes(shapes)

    @property
    def target(self) -> str:
        return self.bundle.target

    @property
    def arguments(self) -> list[str]:
        """Names of the arguments, in the entry's order."""
        return [argument["name"] for argument in self.bundle.arguments]

    def save(self, folder: str | Path) -> Path:
        """Writes the files into a folder, for fa4-sim and fa4-run; returns the bundle's path."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        for name, data in self._files.items():
            (target / name).write_bytes(data)
        return target / f"{self.name}.json"

    def launch(self, *, stream: Any = None, **arguments: Any) -> None:
        """Queues the kernel and returns at once.

        Tensors are those of torch, CuPy or JAX, or of anybody who speaks DLPack or the
        CUDA Array Interface; results are written into the tensors given for them (JAX's
        are read-only, so they can be inputs alone). Scalars are numbers. `stream` is a
        handle, or a stream object of torch, CuPy or cuda-core; default: the current
        stream of the framework that the tensors are of, else the default stream.

        Raises `ArgumentError`, by name, for a wrong type, rank, extent, stride, alignment
        or device; `DriverError` for what the driver refuses. What was prepared for the
        same shapes and addresses is reused.
        """
        key = _recent_key(arguments)
        if key is not None:
            prepared = self._recent.get(key)
            if prepared is not None:
                prepared.launch(_stream_handle(stream, arguments.values()))
                return
        handle, tensors, scalars = self._read(stream, arguments)
        program = self._program(_common_device(tensors))
        prepared = program.prepare(tensors, scalars, remember=True)
        prepared.launch(handle)
        if key is not None:
            with self._lock:
                _remember(self._recent, key, prepared)

    def prepare(self, *, stream: Any = None, **arguments: Any) -> PreparedLaunch:
        """Everything of `launch` but the launch: its result launches the same tensors
        again and again, without checks, and may be captured in a CUDA graph."""
        _, tensors, scalars = self._read(stream, arguments)
        prepared = self._program(_common_device(tensors)).prepare(tensors, scalars, remember=False)
        prepared.owners = [tensor.owner for tensor in tensors.values()]
        return prepared

    def _read(self, stream: Any, arguments: dict[str, Any]) -> tuple[int, dict[str, Tensor], dict[str, Any]]:
        self.bundle.check_names(arguments)
        handle = _stream_handle(stream, arguments.values())
        tensors = {a["name"]: device_tensor(a["name"], arguments[a["name"]], handle) for a in self.bundle.tensors()}
        scalars = {name: value for name, value in arguments.items() if name not in tensors}
        if not tensors:
            raise ArgumentError("expected a kernel with a tensor argument, but got one without")
        return handle, tensors, scalars

    def _program(self, device: int) -> _Program:
        with self._lock:
            if device not in self._loaded:
                self._loaded[device] = _Program(self, _driver.device(device))
            return self._loaded[device]


def _recent_key(arguments: dict[str, Any]) -> tuple[Any, ...] | None:
    """A key of everything that a prepared launch depends on, where all tensors are
    torch's: the shortest way to a launch that was made before."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    key: list[Any] = []
    for name, value in arguments.items():
        key.append(name)
        if isinstance(value, torch.Tensor):
            key += torch_key(value)
        elif isinstance(value, (int, float)):
            key.append(value)
        else:
            return None
    return tuple(key)


def _common_device(tensors: dict[str, Tensor]) -> int:
    first, *others = tensors.items()
    for name, tensor in others:
        if tensor.device != first[1].device:
            raise ArgumentError(f"expected '{name}' to be in memory of device {first[1].device} as '{first[0]}' is, "
                                f"but got memory of device {tensor.device}")
    return first[1].device


def _stream_handle(stream: Any, values: Iterable[Any]) -> int:
    if stream is None:
        for value in values:
            package = type(value).__module__.partition(".")[0]
            if package == "torch":
                return _torch_stream(sys.modules["torch"], value.device)
            if package == "cupy":
                return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
        return 0
    if type(stream) is int:
        return stream
    for attribute in ("cuda_stream", "ptr", "handle"):  # torch, CuPy, Numba and cuda-core
        if hasattr(stream, attribute):
            return int(getattr(stream, attribute))
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    raise ArgumentError(f"expected stream to be a handle or a stream object, but got {type(stream).__name__}")


def _torch_stream(torch: Any, device: Any) -> int:
    if device.type != "cuda":
        return 0  # who reads the tensor refuses it by name
    # Triton's way too: the public one makes a stream object, ten times as slow.
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    if raw is not None and device.index is not None:
        return int(raw(device.index))
    return int(torch.cuda.current_stream(device).cuda_stream)


class _Program:
    """A kernel's code in one device."""

    def __init__(self, kernel: Kernel, device: _driver.Device):
        device.check_chip(kernel.target)
        self.kernel, self.bundle, self.device = kernel, kernel.bundle, device
        image = kernel.cubin or kernel.ptx.encode() + b"\0"
        with device:
            self.module = device.call(f"code for '{kernel.target}' to load", device.cu.cuModuleLoadData, image)
            self.functions = {
                name: device.call(f"the code to have an entry '{name}'", device.cu.cuModuleGetFunction,
                                  self.module, name.encode())
                for name in self.bundle.entries
            }
        self._shared = dict.fromkeys(self.functions, 0)
        self._shapes: OrderedDict[Any, tuple[list[Launch], list[int]]] = OrderedDict()
        self._prepared: OrderedDict[Any, PreparedLaunch] = OrderedDict()
        self._lock = threading.RLock()

    def prepare(self, tensors: dict[str, Tensor], scalars: dict[str, Any], remember: bool) -> PreparedLaunch:
        shapes = (tuple((t.dtype, t.shape, t.strides, t.writable) for t in tensors.values()), tuple(scalars.items()))
        addresses = tuple(t.address for t in tensors.values())
        key = (shapes, addresses)
        with self._lock:
            if remember and key in self._prepared:
                self._prepared.move_to_end(key)
                return self._prepared[key]
            if shapes not in self._shapes:
                _remember(self._shapes, shapes, self._resolve(tensors, scalars))
            launches, sizes = self._shapes[shapes]
            prepared = PreparedLaunch(self, launches, {name: t.address for name, t in tensors.items()}, sizes)
            if remember:
                _remember(self._prepared, key, prepared)
            return prepared

    def _resolve(self, tensors: dict[str, Tensor], scalars: dict[str, Any]) -> tuple[list[Launch], list[int]]:
        values = Values(processors=self.device.processors)
        for argument in self.bundle.arguments:
            name = argument["name"]
            if argument["kind"] == "scalar":
                self.bundle.bind_scalar(argument, scalars[name], values)
                continue
            tensor = tensors[name]
            self.bundle.check_tensor(argument, tensor.dtype, len(tensor.shape))
            if argument["access"] != "read" and not tensor.writable:
                raise ArgumentError(f"expected '{name}' to be writable, but got a read-only tensor")
            values.extents[name], values.strides[name] = tensor.shape, tensor.strides
        self.kernel.check_shapes(values.extents)
        self.bundle.check_conditions(values)
        sizes = self.bundle.workspace_bytes(values)
        launches = self.bundle.launches(values)
        for launch in launches:
            self._reserve(launch)
        return launches, sizes

    def _reserve(self, launch: Launch) -> None:
        device, cu = self.device, self.device.cu
        if launch.shared_bytes > device.shared_bytes:
            raise ArgumentError(f"expected the dynamic shared memory of '{launch.entry}' to be at most the "
                                f"{device.shared_bytes} bytes of device {device.number}, but got {launch.shared_bytes}")
        x, y, z = launch.cluster or (1, 1, 1)
        attribute, function = cu.CUfunction_attribute, self.functions[launch.entry]
        with device:
            if x * y * z > _PORTABLE_CLUSTER:
                device.call(f"'{launch.entry}' to take its cluster", cu.cuFuncSetAttribute, function,
                            attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
            # Never lowered: an earlier prepared launch may need what it has.
            if launch.shared_bytes > self._shared[launch.entry]:
                self._shared[launch.entry] = launch.shared_bytes
                device.call(f"shared memory for '{launch.entry}'", cu.cuFuncSetAttribute, function,
                            attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.shared_bytes)


def _remember(memory: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    memory[key] = value
    while len(memory) > _REMEMBERED:
        memory.popitem(last=False)


class PreparedLaunch:
    """Launches for given tensors with every number settled. Runs share its workspaces,
    so those on different streams must not overlap."""

    def __init__(self, program: _Program, launches: list[Launch], addresses: dict[str, int], sizes: list[int]):
        device, cu = program.device, program.device.cu
        self._program = program
        self._device = device
        self.owners: list[Any] = []
        self._allocated: list[Any] = []
        self._clears: list[tuple[Any, int]] = []
        self._lock = threading.Lock()
        with device:
            for workspace, size in zip(program.bundle.workspaces, sizes):
                memory = device.call(f"{size} bytes of memory", cu.cuMemAlloc, size)
                self._allocated.append(memory)
                addresses = {**addresses, workspace["name"]: int(memory)}
                if workspace["zero"]:
                    self._clears.append((memory, size))
            self._steps = [self._step(launch, addresses) for launch in launches]

    def __del__(self) -> None:
        if getattr(self, "_allocated", None):
            with self._device:
                for memory in self._allocated:
                    self._device.cu.cuMemFree(memory)

    def _step(self, launch: Launch, addresses: dict[str, int]) -> tuple[Any, Any, int, Any]:
        device, cu = self._device, self._device.cu
        buffers = []
        for parameter in launch.parameters:
            data = bytearray(parameter.data)
            for at, name, offset in parameter.addresses:
                data[at:at + 8] = ((addresses[name] + offset) & ((1 << 64) - 1)).to_bytes(8, "little")
            for at, tensor_map in parameter.maps:
                encoded = device.encode(tensor_map, addresses[tensor_map.tensor])
                data[at:at + len(encoded)] = encoded
            buffers.append((ctypes.c_char * len(data)).from_buffer(data))
        pointers = (ctypes.c_void_p * max(len(buffers), 1))(*(ctypes.addressof(b) for b in buffers))
        config = cu.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = launch.grid
        config.blockDimX, config.blockDimY, config.blockDimZ = launch.block
        config.sharedMemBytes = launch.shared_bytes
        attributes = []
        if launch.cluster:
            attribute = cu.CUlaunchAttribute()
            attribute.id = cu.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            cluster = attribute.value.clusterDim
            cluster.x, cluster.y, cluster.z = launch.cluster
            attributes.append(attribute)
        if launch.dependent:
            attribute = cu.CUlaunchAttribute()
            attribute.id = cu.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
            attribute.value.programmaticStreamSerializationAllowed = 1
            attributes.append(attribute)
        config.attrs, config.numAttrs = attributes, len(attributes)
        return config, self._program.functions[launch.entry], ctypes.addressof(pointers), (pointers, buffers)

    def launch(self, stream: Any = None) -> None:
        """Queues the launches on `stream` (a handle or a stream object; default: the
        default stream). Neither allocates on the device nor waits for it."""
        handle = stream if type(stream) is int else _stream_handle(stream, ())
        device, cu = self._device, self._device.cu
        with self._lock, device:
            for memory, size in self._clears:
                device.call("a workspace to be cleared", cu.cuMemsetD8Async, memory, 0, size, handle)
            for config, function, pointers, _ in self._steps:
                config.hStream = handle
                error, = cu.cuLaunchKernelEx(config, function, pointers, 0)
                if int(error) != 0:
                    raise _driver.DriverError(f"expected the kernel to start on device {device.number}, but got "
                                              f"{getattr(error, 'name', error)}")
