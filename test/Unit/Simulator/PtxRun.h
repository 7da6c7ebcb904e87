//===- PtxRun.h - runs PTX text in unit tests -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_SIMULATOR_PTXRUN_H
#define FA4_TEST_UNIT_SIMULATOR_PTXRUN_H

#include "fa4/Simulator/Simulator.h"

#include <cstring>
#include <string>
#include <vector>

namespace fa4::sim::test {

struct PtxRun {
  unsigned grid = 1, block = 128;
  uint32_t sharedBytes = 0;
  Options options;

  /// Runs entry `test(input, output)`. Returns the ids of all faults, or the
  /// loader's message; empty = clean. `output` must have its size.
  std::string operator()(const std::string &ptx, const std::vector<uint32_t> &input,
                         std::vector<uint32_t> &output) const {
    llvm::Expected<std::unique_ptr<Program>> program = Program::load(ptx);
    if (!program) {
      return llvm::toString(program.takeError());
    }
    llvm::Expected<const Kernel *> kernel = (*program)->kernel("test");
    if (!kernel) {
      return llvm::toString(kernel.takeError());
    }
    GlobalMemory memory(options.seed);
    uint64_t addresses[2] = {memory.allocate("input", input.size() * 4),
                             memory.allocate("output", output.size() * 4)};
    memory.write(addresses[0], bytesOf(input));
    Launch launch;
    launch.grid.x = grid;
    launch.block.x = block;
    launch.dynamicSharedBytes = sharedBytes;
    launch.params.resize(sizeof(addresses));
    std::memcpy(launch.params.data(), addresses, sizeof(addresses));
    FaultLog log;
    Options run = options;
    run.threads = 1;
    runGrid(**kernel, launch, memory, run, log);
    memory.read(addresses[1], {reinterpret_cast<uint8_t *>(output.data()), output.size() * 4});
    std::string ids;
    for (const Fault &fault : log.take()) {
      ids += (ids.empty() ? "" : " ") + faultName(fault.id).str();
    }
    return ids;
  }

private:
  static llvm::ArrayRef<uint8_t> bytesOf(const std::vector<uint32_t> &words) {
    return {reinterpret_cast<const uint8_t *>(words.data()), words.size() * 4};
  }
};

/// "{%x0, %x1, …}".
inline std::string registerList(const std::string &prefix, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) {
    text += (i ? ", " : "") + prefix + std::to_string(i);
  }
  return text + "}";
}

} // namespace fa4::sim::test

#endif // FA4_TEST_UNIT_SIMULATOR_PTXRUN_H
