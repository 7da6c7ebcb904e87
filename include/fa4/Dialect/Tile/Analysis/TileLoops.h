//===- TileLoops.h - who says which tile comes next -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_TILELOOPS_H
#define FA4_DIALECT_TILE_ANALYSIS_TILELOOPS_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

namespace fa4::tile {

/// Checks that tile loops of roles say which tile comes next exactly if the
/// schedule's work is dynamic.
mlir::LogicalResult verifyTileLoops(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_TILELOOPS_H
