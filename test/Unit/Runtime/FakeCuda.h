//===- FakeCuda.h - a driver without a GPU ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Answers the launcher's calls from plain host state, and refuses what the real
// driver refuses: a call that needs a context without one, an unknown entry, more
// shared memory than was asked for. Every call is logged.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_RUNTIME_FAKECUDA_H
#define FA4_TEST_UNIT_RUNTIME_FAKECUDA_H

#include "fa4/Runtime/CudaDriver.h"

#include <map>
#include <string>
#include <vector>

namespace fa4::runtime::cuda {

struct ContextHandle {
  int device;
};
struct FunctionHandle {
  std::string name;
  std::vector<size_t> parameterBytes;
  int dynamicSharedBytes = 48 * 1024;
  int device = -1; ///< of the module it came from
};
struct ModuleHandle {
  int device;
  std::map<std::string, FunctionHandle> functions;
};

/// State of the one fake driver; a test makes a fresh one.
class FakeCuda {
public:
  struct Launched {
    std::string entry;
    int device;
    LaunchConfig config;
    std::vector<LaunchAttribute> attributes;
    std::vector<std::vector<uint8_t>> parameters;
  };
  struct EncodedMap {
    int type;
    std::vector<uint64_t> extents, strides;
    std::vector<uint32_t> box;
    int swizzle, promotion, fill;
    void *address;
  };

  FakeCuda() { current = this; }
  ~FakeCuda() { current = nullptr; }

  Driver table();

  /// What the machine has.
  int devices = 2;
  int major = 9, minor = 0, processors = 132, sharedBytes = 200 * 1024;
  std::string deviceName = "Fake GPU";
  std::map<std::string, std::vector<size_t>> entries; ///< parameters' bytes
  std::map<Address, int> memory;                      ///< address to device; -1 pinned on the host

  /// What happened.
  std::vector<std::string> calls;
  std::vector<Launched> launches;
  std::vector<EncodedMap> maps;
  std::string image;
  int retained = 0, modules = 0;

  static FakeCuda &get() { return *current; }
  int currentDevice() const { return stack.empty() ? -1 : stack.back()->device; }

private:
  static FakeCuda *current;
  std::vector<Context> stack;
  ContextHandle contexts[8] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
  friend struct FakeCalls;
};

} // namespace fa4::runtime::cuda

#endif // FA4_TEST_UNIT_RUNTIME_FAKECUDA_H
