//===- ExecutionCounts.h - how often each instruction ran -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warp instructions by PTX line and warp, summed over the CTAs of equal rank in
// their clusters and over launches of one kernel. An instruction whose guard is
// false for all lanes counts, as it takes an issue slot; a wait counts once however
// long it takes, a poll as often as it looks.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_EXECUTIONCOUNTS_H
#define FA4_SIMULATOR_EXECUTIONCOUNTS_H

#include "fa4/Simulator/Program.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <mutex>
#include <tuple>

namespace fa4::sim {

/// Reads kernels when it writes, so they have to outlive it.
class ExecutionCounts {
public:
  /// Adds what a warp of a CTA of this rank did: entry k belongs to `kernel.code[k]`.
  void add(const Kernel &kernel, unsigned rank, unsigned warp, llvm::ArrayRef<uint64_t> executed);

  /// One row for each instruction that a warp executed: kernel, rank of the CTA, warp,
  /// PTX line, opcode with modifiers, number of times.
  void writeCsv(llvm::raw_ostream &os) const;

private:
  struct Warps {
    const Kernel *kernel = nullptr;
    std::vector<uint64_t> executed;
  };
  /// Workers of several clusters add.
  std::mutex mutex;
  /// By kernel, rank and warp.
  std::map<std::tuple<std::string, unsigned, unsigned>, Warps> warps;
};

} // namespace fa4::sim

#endif // FA4_SIMULATOR_EXECUTIONCOUNTS_H
