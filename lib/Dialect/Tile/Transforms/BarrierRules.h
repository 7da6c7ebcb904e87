//===- BarrierRules.h - rules R1 to R5 on barriers --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rule asks the happens-before graphs of sample runs, and changes the kernel
// only where all of them agree; the proof that follows judges it for all lengths.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_BARRIERRULES_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_BARRIERRULES_H

#include "BarrierUses.h"

#include "fa4/Dialect/Tile/Analysis/ProtocolGraph.h"

#include "llvm/ADT/SetVector.h"

namespace fa4::tile {

/// The graphs of the sample runs of a kernel as it stands.
class ProtocolRuns {
public:
  /// Fails after an error if the kernel cannot be unrolled.
  mlir::LogicalResult build(KernelOp kernel);

  llvm::ArrayRef<ProtocolGraph> getGraphs() const { return graphs; }
  /// Rule R1: with the edges into `waits` removed, all that they report precedes them.
  bool isImplied(llvm::ArrayRef<mlir::Operation *> waits) const;

private:
  std::unique_ptr<ProtocolModel> model;
  /// The same for every kernel that is built: rules change no loop.
  std::vector<ProtocolRun> runs;
  std::vector<ProtocolGraph> graphs;
};

struct BarrierRuleCounts {
  unsigned waits = 0;
  unsigned arrivals = 0;
  unsigned barriers = 0;
};

struct BarrierRules {
  bool dropWaits = true;    // R1
  bool trimArrivals = true; // R2
  bool merge = true;        // R3
  bool preArrive = true;    // R4
  bool share = true;        // R5
};

/// R1 and R2: drops implied waits, and arrivals that nobody waits for then. A wait
/// stays if the arrivals left over could not be told apart.
mlir::LogicalResult dropImpliedWaits(KernelOp kernel, ProtocolRuns &runs, const BarrierRules &rules,
                                     BarrierRuleCounts &counts);

/// R3 to R5: makes one barrier of two.
mlir::LogicalResult mergeBarriers(KernelOp kernel, ProtocolRuns &runs, const BarrierRules &rules,
                                  BarrierRuleCounts &counts);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_BARRIERRULES_H
