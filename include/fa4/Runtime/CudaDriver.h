//===- CudaDriver.h - NVIDIA's driver, found at run time --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table of the driver's functions, filled from the driver's library or by a
// test. No header or library of CUDA is needed to build: the few types and numbers
// below are those of the CUDA driver API reference (CUDA 13.0, modules "Data types
// used by CUDA driver" and "Tensor Map Object Management"), which do not change
// within the API's major version.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_RUNTIME_CUDADRIVER_H
#define FA4_RUNTIME_CUDADRIVER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace fa4::runtime::cuda {

using Result = int; ///< CUresult
constexpr Result kSuccess = 0;
constexpr Result kInvalidValue = 1;

using Device = int;
using Address = unsigned long long; ///< CUdeviceptr
using Context = struct ContextHandle *;
using Module = struct ModuleHandle *;
using Function = struct FunctionHandle *;
using Stream = struct StreamHandle *;
using Event = struct EventHandle *;
using Graph = struct GraphHandle *;
using GraphExec = struct GraphExecHandle *;

/// CUtensorMap. CUDA 13 aligns it to 128 bytes, CUDA 12 to 64.
struct alignas(128) TensorMap {
  std::array<uint64_t, 16> words;
};

/// CUlaunchAttribute; the value is a union of 64 bytes.
struct LaunchAttribute {
  int id = 0;
  alignas(8) std::array<uint32_t, 16> value{};
};
static_assert(sizeof(LaunchAttribute) == 72, "layout of CUlaunchAttribute");

/// CUlaunchConfig.
struct LaunchConfig {
  std::array<uint32_t, 3> grid{}, block{};
  uint32_t sharedBytes = 0;
  Stream stream = nullptr;
  LaunchAttribute *attributes = nullptr;
  uint32_t numAttributes = 0;
};
static_assert(sizeof(LaunchConfig) == 56, "layout of CUlaunchConfig");

/// CU_LAUNCH_ATTRIBUTE_*.
enum LaunchAttributeId : int { kClusterDimension = 4, kProgrammaticStreamSerialization = 6 };
/// CU_DEVICE_ATTRIBUTE_*.
enum DeviceAttribute : int {
  kMultiprocessorCount = 16,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerBlockOptin = 97
};
/// CU_FUNC_ATTRIBUTE_*.
enum FunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kMaxDynamicSharedBytes = 8,
  kNonPortableClusterSizeAllowed = 14
};
/// CU_POINTER_ATTRIBUTE_* and CU_MEMORYTYPE_*.
enum PointerAttribute : int { kMemoryType = 2, kDeviceOrdinal = 9 };
enum MemoryType : unsigned { kHostMemory = 1 };
/// CU_JIT_*.
enum JitOption : int { kErrorLogBuffer = 5, kErrorLogBufferBytes = 6 };
/// CU_STREAM_NON_BLOCKING, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL.
constexpr unsigned kStreamNonBlocking = 1;
constexpr int kCaptureThreadLocal = 1;

struct Driver {
#define FA4_CUDA_FUNCTION(FIELD, SYMBOL, ...) Result (*FIELD)(__VA_ARGS__) = nullptr;
#include "fa4/Runtime/CudaFunctions.def"
};

/// Opens the library and finds every function in it. The library stays loaded.
llvm::Expected<Driver> loadDriver(llvm::StringRef library = "libcuda.so.1");

/// Success, or `what`: the name and text that the driver has for the error.
llvm::Error check(const Driver &driver, Result result, const llvm::Twine &what);

} // namespace fa4::runtime::cuda

#endif // FA4_RUNTIME_CUDADRIVER_H
