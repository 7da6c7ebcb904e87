# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the built conformance set on a Hopper GPU through the CUDA driver.

usage: hopper.py DIR OUT. DIR holds what build.py wrote; OUT receives one zip
file per part with the raw output words of every case, and notes.txt.
Every case runs in a child process, so that one fault does not lose the rest.
"""

import ctypes
import json
import os
import subprocess
import sys
import zipfile

TYPES = {"u8": 0, "u16": 1, "u32": 2, "s32": 3, "u64": 4, "s64": 5, "f16": 6, "f32": 7, "f64": 8,
         "bf16": 9, "f32_ftz": 10, "tf32": 11, "tf32_ftz": 12}
SWIZZLES = {"none": 0, "32": 1, "64": 2, "128": 3, "128_32": 4, "128_32_8": 5, "128_64": 6}
FILLS = {"zero": 0, "nan": 1}
DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.device = device
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorName(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {text.value.decode() if text.value else code}")

    def describe(self):
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, 100, self.device)
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        return f"{name.value.decode()}, CUDA driver API {version.value}"

    def allocate(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def encode(self, m, base):
        storage = ctypes.create_string_buffer(192)
        address = (ctypes.addressof(storage) + 63) & ~63
        rank = len(m["sizes"])
        wide = lambda values: (ctypes.c_uint64 * max(1, len(values)))(*values)
        narrow = lambda values: (ctypes.c_uint32 * len(values))(*values)
        self.call("cuTensorMapEncodeTiled", ctypes.c_void_p(address), TYPES[m["type"]],
                  ctypes.c_uint32(rank), ctypes.c_void_p(base), wide(m["sizes"]), wide(m["strides"]),
                  narrow(m["box"]), narrow(m["elementStrides"]), 0, SWIZZLES[m["swizzle"]], 0,
                  FILLS[m["fill"]])
        return storage, address

    def run(self, case, cubin, data):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"conformance")
        if case["shared"] > 48 * 1024:
            self.call("cuFuncSetAttribute", function, DYNAMIC_SHARED, case["shared"])
        size = case["output"] * 4
        source, target = self.allocate(max(16, len(data))), self.allocate(size)
        self.call("cuMemcpyHtoD_v2", source, data, ctypes.c_size_t(len(data)))
        self.call("cuMemsetD8_v2", target, ctypes.c_ubyte(0), ctypes.c_size_t(size))
        parameters = [ctypes.addressof(source), ctypes.addressof(target)]
        keep = []
        for m in case["maps"]:
            base = source.value if m["buffer"] == "input" else target.value
            storage, address = self.encode(m, base)
            keep.append(storage)
            parameters.append(address)
        array = (ctypes.c_void_p * len(parameters))(*parameters)
        self.call("cuLaunchKernel", function, case["grid"], 1, 1, case["block"], 1, 1,
                  ctypes.c_uint(case["shared"]), None, array, None)
        self.call("cuCtxSynchronize")
        result = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", result, target, ctypes.c_size_t(size))
        for pointer in (source, target):
            self.call("cuMemFree_v2", pointer)
        self.call("cuModuleUnload", module)
        return result.raw


def child(folder, out, first):
    """Runs cases from `first` on until one fails; prints the number reached."""
    driver = Driver()
    cases = json.load(open(os.path.join(folder, "cases.json")))
    with open(os.path.join(folder, "inputs.bin"), "rb") as inputs:
        for index in range(first, len(cases)):
            case = cases[index]
            print(f"start {index}", flush=True)
            inputs.seek(case["at"])
            data = inputs.read(case["bytes"])
            cubin = open(os.path.join(folder, f"{index}.cubin"), "rb").read()
            result = driver.run(case, cubin, data)
            with open(os.path.join(out, f"{index}.bin"), "wb") as file:
                file.write(result)
    print("all", flush=True)


def parent(folder, out):
    cases = json.load(open(os.path.join(folder, "cases.json")))
    raw = "/tmp/conformance-raw"
    os.makedirs(raw, exist_ok=True)
    notes = [Driver().describe()]
    first = 0
    while first < len(cases):
        command = [sys.executable, os.path.abspath(__file__), "child", folder, raw, str(first)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=45)
            text, errors = done.stdout, done.stderr.strip().splitlines()[-1:]
        except subprocess.TimeoutExpired as stopped:
            text = (stopped.stdout or b"").decode()
            errors = ["did not end"]
        lines = text.split("\n")
        if "all" in lines:
            break
        reached = [int(line.split()[1]) for line in lines if line.startswith("start")]
        at = reached[-1] if reached else first
        notes.append(f"{cases[at]['name']}: {errors}")
        first = at + 1
    for part in sorted({case["part"] for case in cases}):
        with zipfile.ZipFile(os.path.join(out, part + ".zip"), "w", zipfile.ZIP_DEFLATED) as archive:
            for index, case in enumerate(cases):
                path = os.path.join(raw, f"{index}.bin")
                if case["part"] == part and os.path.exists(path):
                    archive.write(path, case["name"].replace("/", "_"))
    open(os.path.join(out, "notes.txt"), "w").write("\n".join(notes) + "\n")
    print("\n".join(notes))


if __name__ == "__main__":
    if sys.argv[1] == "child":
        child(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        parent(sys.argv[1], sys.argv[2])
