//===- fa4-sim-fuzz.cpp - PTX texts into the simulator ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever the text, the simulator refuses it or runs it within a budget, and
// what the printer prints parses again. Built twice: FA4_FUZZ_RUN executes what
// loads, without it only the front end is exercised (and far more often).
//
//===----------------------------------------------------------------------===//

#include "TokenMutator.h"
#include "fa4/Simulator/Simulator.h"

#include <cstdlib>
#include <cstring>

using namespace fa4;

namespace {

/// Small enough for thousands of runs a second, large enough for every loop of
/// the seeds to turn.
constexpr uint64_t instructionBudget = 20000;
constexpr uint64_t bufferBytes = 1 << 16;

void checkRoundTrip(const sim::Program &program) {
  std::string first, second;
  llvm::raw_string_ostream firstStream(first), secondStream(second);
  sim::ptx::printModule(firstStream, program.module());
  auto again = sim::ptx::parseModule(first);
  if (!again) {
    llvm::errs() << llvm::toString(again.takeError()) << "\n" << first;
    std::abort();
  }
  sim::ptx::printModule(secondStream, **again);
  if (first != second) {
    llvm::errs() << "printed differently the second time\n";
    std::abort();
  }
}

[[maybe_unused]] void execute(const sim::Kernel &kernel) {
  auto limit = [](uint32_t wanted, uint32_t most) { return std::clamp(wanted, 1u, most); };
  sim::Launch launch;
  launch.grid = {2, 1, 1};
  launch.block = {limit(kernel.reqntid[0] ? kernel.reqntid[0] : 64, 128),
                  limit(kernel.reqntid[1], 2), limit(kernel.reqntid[2], 2)};
  launch.dynamicSharedBytes = 8192;
  launch.params.assign(kernel.paramBytes, 0);
  sim::GlobalMemory memory(1);
  for (const sim::Param &p : kernel.params) {
    uint64_t value = 3;
    if (p.size == 8) {
      value = memory.allocate("buffer", bufferBytes);
      memory.write(value, std::vector<uint8_t>(bufferBytes, 1));
    }
    std::memcpy(&launch.params[p.offset], &value, std::min<uint32_t>(p.size, 8));
  }
  sim::Options options;
  options.threads = 1;
  options.resident = 2;
  options.instructionBudget = instructionBudget;
  options.policy = kernel.code.size() % 2 ? sim::Policy::Random : sim::Policy::RunToBlock;
  sim::FaultLog log;
  bool clean = sim::runGrid(kernel, launch, memory, options, log);
  if (clean == log.hasErrors()) {
    llvm::errs() << "the verdict and the log disagree\n";
    std::abort();
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  auto program = sim::Program::load(text);
  if (!program) {
    llvm::consumeError(program.takeError());
    return 0;
  }
  checkRoundTrip(**program);
  for (llvm::StringRef name : (*program)->entries()) {
    auto kernel = (*program)->kernel(name);
    if (!kernel) {
      llvm::consumeError(kernel.takeError());
      continue;
    }
#ifdef FA4_FUZZ_RUN
    execute(**kernel);
#endif
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  std::mt19937 random(seed);
  std::string text =
      fuzz::mutateTokens(std::string_view(reinterpret_cast<const char *>(data), size), random);
  size_t length = std::min(text.size(), maxSize);
  std::memcpy(data, text.data(), length);
  return length;
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t firstSize,
                                            const uint8_t *second, size_t secondSize, uint8_t *out,
                                            size_t maxSize, unsigned seed) {
  std::mt19937 random(seed);
  std::string text = fuzz::spliceTokens(
      std::string_view(reinterpret_cast<const char *>(first), firstSize),
      std::string_view(reinterpret_cast<const char *>(second), secondSize), random);
  size_t length = std::min(text.size(), maxSize);
  std::memcpy(out, text.data(), length);
  return length;
}
