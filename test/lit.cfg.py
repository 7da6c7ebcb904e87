# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lit configuration: tests are shell lines over our tools and LLVM's FileCheck."""

import ctypes
import os
import shutil

import lit.formats

config.name = "FA4"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".ptx", ".test", ".c"]
config.excludes = ["Inputs", "CMakeLists.txt", "Unit", "lib", "python", "Fuzz"]
config.test_source_root = os.path.dirname(__file__)

tools = [os.path.join(config.fa4_obj_root, "bin"), config.llvm_tools_dir]
config.environment["PATH"] = os.pathsep.join(tools + [os.environ.get("PATH", "")])
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%fa4_src_root", config.fa4_src_root))
config.substitutions.append(("%fa4_obj_root", config.fa4_obj_root))
config.substitutions.append(("%fa4_plugin", os.path.join(config.fa4_obj_root, "lib", "FA4Plugin.so")))
config.substitutions.append(("%stock_mlir_opt", os.path.join(config.llvm_tools_dir, "mlir-opt")))
config.substitutions.append(("%python", config.python))
if config.sanitizer:
    config.available_features.add("sanitizer")
if shutil.which("ptxas"):
    config.available_features.add("ptxas")
try:
    ctypes.CDLL("libcuda.so.1")
    config.available_features.add("cuda")
except OSError:
    pass
