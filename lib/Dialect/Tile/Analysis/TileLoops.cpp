//===- TileLoops.cpp - who says which tile comes next -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedule's work and the loops of the roles speak of one way to draw tiles,
// wherever in the pipeline it is asked.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/TileLoops.h"

using namespace mlir;
using namespace fa4::tile;

LogicalResult fa4::tile::verifyTileLoops(KernelOp kernel) {
  bool dynamic = kernel.getSchedule().getPlan().work == fa4::WorkKind::Dynamic;
  WalkResult result = kernel.walk([&](ForEachTileOp loop) {
    auto count = llvm::range_size(loop.getBody().front().getOps<NextTileOp>());
    if (loop->getParentOfType<RoleOp>() && count != (dynamic ? 1 : 0)) { // next_tile C2
      loop.emitOpError() << "expected a role's tile loop to hold "
                         << (dynamic ? "one tile.next_tile, as the work is dynamic"
                                     : "no tile.next_tile, as the work is not dynamic")
                         << ", but got " << count
                         << (dynamic ? "; tile-draw-tiles puts it there" : "");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
