# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stand-in for the module cuda.bindings.driver: host state, every call logged.

Names and signatures are those of cuda-bindings 13; what the real driver refuses here,
it refuses: a function used outside its context, more shared memory than was asked for.
"""

import ctypes
import enum
import types


class Result(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_NOT_FOUND = 500


OK = Result.CUDA_SUCCESS


class EncodedMap:
    def __init__(self, number):
        self.buffer = (ctypes.c_char * 128)(*([bytes([number])] * 128))

    def getPtr(self):
        return ctypes.addressof(self.buffer)


class Function:
    def __init__(self, name, device, parameter_bytes):
        self.name, self.device, self.parameter_bytes, self.shared = name, device, parameter_bytes, 48 << 10


class FakeCuda(types.ModuleType):
    """`entries`: name to the bytes of each parameter."""

    def __init__(self, entries, devices=2, capability=(9, 0), processors=132, shared_bytes=200 << 10):
        super().__init__("fake_cuda")
        self.entries, self.devices, self.shared_bytes = entries, devices, shared_bytes
        self.numbers = {1: capability[0], 2: capability[1], 3: processors, 4: shared_bytes}
        self.calls, self.launched, self.maps, self.stack, self.freed = [], [], [], [], []
        self.next_address = 0x70000000
        names = ("COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR", "MULTIPROCESSOR_COUNT",
                 "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        self.CUdevice_attribute = types.SimpleNamespace(
            **{f"CU_DEVICE_ATTRIBUTE_{name}": number for number, name in enumerate(names, start=1)})
        self.CUfunction_attribute = types.SimpleNamespace(
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED=14)
        self.CUlaunchAttributeID = types.SimpleNamespace(
            CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION=4, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION=6)
        self.CUtensorMapDataType = types.SimpleNamespace(
            CU_TENSOR_MAP_DATA_TYPE_BFLOAT16=9, CU_TENSOR_MAP_DATA_TYPE_FLOAT16=6)
        self.CUtensorMapInterleave = types.SimpleNamespace(CU_TENSOR_MAP_INTERLEAVE_NONE=0)
        self.CUtensorMapSwizzle = self.CUtensorMapL2promotion = self.CUtensorMapFloatOOBfill = int
        self.cuuint64_t = self.cuuint32_t = int

    def CUlaunchConfig(self):
        return types.SimpleNamespace()

    def CUlaunchAttribute(self):
        return types.SimpleNamespace(value=types.SimpleNamespace(clusterDim=types.SimpleNamespace()))

    def cuInit(self, flags):
        return (OK,)

    def cuDeviceGetCount(self):
        return OK, self.devices

    def cuDeviceGet(self, number):
        return OK, number

    def cuDeviceGetAttribute(self, attribute, device):
        return OK, self.numbers[attribute]

    def cuDevicePrimaryCtxRetain(self, device):
        return OK, ("context", device)

    def cuCtxPushCurrent(self, context):
        self.calls.append("push")
        self.stack.append(context[1])
        return (OK,)

    def cuCtxPopCurrent(self):
        self.calls.append("pop")
        return OK, ("context", self.stack.pop())

    def cuModuleLoadData(self, image):
        self.calls.append("load")
        self.image = image
        return OK, ("module", self.stack[-1])

    def cuModuleGetFunction(self, module, name):
        name = name.decode()
        if name not in self.entries:
            return Result.CUDA_ERROR_NOT_FOUND, None
        return OK, Function(name, module[1], self.entries[name])

    def cuFuncSetAttribute(self, function, attribute, value):
        self.calls.append("set_attribute")
        if attribute == 8:
            function.shared = value
        return (OK,)

    def cuMemAlloc(self, size):
        self.calls.append("alloc")
        self.next_address += 1 << 20
        return OK, self.next_address

    def cuMemFree(self, address):
        self.freed.append(address)
        return (OK,)

    def cuMemsetD8Async(self, address, value, size, stream):
        self.calls.append("memset")
        return (OK if self.stack else Result.CUDA_ERROR_INVALID_CONTEXT,)

    def cuTensorMapEncodeTiled(self, kind, rank, address, extents, strides, box, element_strides, interleave,
                               swizzle, promotion, fill):
        self.calls.append("encode")
        self.maps.append(dict(kind=kind, rank=rank, address=address, extents=extents, strides=strides, box=box,
                              swizzle=swizzle, fill=fill))
        return OK, EncodedMap(len(self.maps))

    def cuLaunchKernelEx(self, config, function, pointers, extra):
        self.calls.append("launch")
        if not self.stack or self.stack[-1] != function.device:
            return (Result.CUDA_ERROR_INVALID_CONTEXT,)
        if config.sharedMemBytes > function.shared:
            return (Result.CUDA_ERROR_INVALID_VALUE,)
        table = (ctypes.c_void_p * len(function.parameter_bytes)).from_address(pointers)
        self.launched.append(types.SimpleNamespace(
            entry=function.name, device=function.device, stream=config.hStream,
            grid=(config.gridDimX, config.gridDimY, config.gridDimZ),
            block=(config.blockDimX, config.blockDimY, config.blockDimZ), attributes=list(config.attrs),
            parameters=[ctypes.string_at(address, size) for address, size in zip(table, function.parameter_bytes)]))
        return (OK,)
