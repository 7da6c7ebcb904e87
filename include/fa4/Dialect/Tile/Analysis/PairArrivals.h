//===- PairArrivals.h - what a pair's threads tell the other CTA -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads that arrive at the leader's barrier hand over tensor memory, whose order its
// own fences carry (PTX ISA, tcgen05 memory consistency), and maybe shared memory that
// they wrote. Without the latter the arrival need not release, nor the wait acquire,
// at the scope of the cluster. The lowering and the proof ask here.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_PAIRARRIVALS_H
#define FA4_DIALECT_TILE_ANALYSIS_PAIRARRIVALS_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "llvm/ADT/DenseSet.h"

namespace fa4::tile {

class PairArrivals {
public:
  /// Of a kernel without any.
  PairArrivals() = default;
  explicit PairArrivals(KernelOp kernel);

  /// Whether threads of both CTAs of a pair arrive at the leader's barrier `name`.
  bool isPairWide(mlir::StringAttr name) const { return barriers.contains(name); }
  /// Whether arrivals and waits at that barrier order tensor memory alone, and time.
  bool isRelaxed(mlir::StringAttr name) const { return relaxed && isPairWide(name); }

private:
  llvm::DenseSet<mlir::StringAttr> barriers;
  /// No product reads shared memory that threads wrote.
  bool relaxed = true;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_PAIRARRIVALS_H
