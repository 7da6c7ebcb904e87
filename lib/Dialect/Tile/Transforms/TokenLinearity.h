//===- TokenLinearity.h - tokens end once on every path -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tokens are linear: these two answer where one starts and whether each ends.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_TOKENLINEARITY_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_TOKENLINEARITY_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

namespace fa4::tile {

/// Checks that every token below `root` ends exactly once on every path, and is
/// not used afterwards.
mlir::LogicalResult verifyTokenLinearity(mlir::Operation *root);

/// The acquire or wait that gave `token`, through carried values; null if it
/// cannot be told.
mlir::Operation *findTokenStart(mlir::Value token);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_TOKENLINEARITY_H
