//===- MemoryMap.h - what is where, and when --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The allocations of a kernel at T2, and how its roles use them in a run of a few
// trips, as the protocol's graph knows it. Time is the depth of an event in that
// graph: what must come one after the other.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_EXPLAIN_MEMORYMAP_H
#define FA4_EXPLAIN_MEMORYMAP_H

#include "fa4/Driver/KernelReport.h"

#include "fa4/Dialect/Tile/IR/TileOps.h"

namespace fa4::explain {

struct MemoryMap {
  /// One access by one role to part of one element of an allocation.
  struct Use {
    unsigned allocation = 0, element = 0;
    int64_t low = 0, high = 0; ///< from the start of the element
    unsigned start = 0, end = 0;
    unsigned role = 0;
    bool reads = false, writes = false;
    std::string text;
  };
  std::string kernel;
  std::string run;
  std::vector<driver::KernelReport::Allocation> allocations;
  std::vector<std::string> roles;
  std::vector<Use> uses; ///< by start
  unsigned steps = 0;

  /// Fails after an error if the protocol cannot be unrolled.
  static mlir::FailureOr<MemoryMap> of(tile::KernelOp kernel, int64_t trips);

  void printText(llvm::raw_ostream &os) const;
  void printSvg(llvm::raw_ostream &os) const;
};

} // namespace fa4::explain

#endif // FA4_EXPLAIN_MEMORYMAP_H
