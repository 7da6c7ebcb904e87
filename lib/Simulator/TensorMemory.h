//===- TensorMemory.h - tensor memory of one CTA ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 128 lanes by 512 columns of 32-bit cells, stored column by column because
// loads and stores move one column of 32 lanes per register. Every cell knows
// whether it was written; every access is checked against live allocations.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_TENSORMEMORY_H
#define FA4_LIB_SIMULATOR_TENSORMEMORY_H

#include "fa4/Simulator/Layouts.h"
#include "fa4/Simulator/Program.h"

#include "llvm/ADT/SmallVector.h"

#include <string>

namespace fa4::sim {

class Cta;

/// PTX ISA 9.7.16.7: allocations are powers of two from 32 to 512 columns.
constexpr unsigned tmemMinColumns = 32;

struct TmemAllocation {
  uint32_t column, columns;
  const Inst *inst;
  unsigned warp;
  bool pair; ///< made with cta_group::2
};

/// tcgen05.alloc of a pair: the CTA that comes first waits for the other.
struct TmemPairRequest {
  bool waiting = false;
  uint32_t columns = 0;
  uint32_t column = 0; ///< the answer, once `waiting` is false again
};

struct TensorMemory {
  uint32_t cells[kTmemColumns][kTmemLanes];
  uint8_t valid[kTmemColumns][kTmemLanes];
  llvm::SmallVector<TmemAllocation, 4> allocations;
  uint32_t lastColumns = 0; ///< size of the latest allocation, 0 = none yet
  bool relinquished = false;
  TmemPairRequest pair;
  int pairIssuer = -1; ///< in the even CTA: the rank that issues for the pair

  TensorMemory();

  /// The live allocation that holds columns [first, first + count), or null.
  const TmemAllocation *covering(uint32_t first, uint32_t count) const;
  /// A free run of `columns`, aligned to 32; `pick` chooses among several.
  /// -1 if there is none.
  int findFree(uint32_t columns, uint64_t pick, bool lowest) const;
  std::string describeAllocations() const;
  /// Reports what is still allocated when the CTA exits; false = stop.
  bool checkExit(Cta &cta) const;
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_TENSORMEMORY_H
