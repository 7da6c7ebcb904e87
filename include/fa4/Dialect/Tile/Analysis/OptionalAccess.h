//===- OptionalAccess.h - accesses that mostly do not happen ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op that does nothing to most rows makes its accesses in a branch, with the fences
// that they need: after what it was told, before what it tells. Whoever places fences
// puts none around it, and whoever proves order relies neither on the access nor on
// those fences.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_OPTIONALACCESS_H
#define FA4_DIALECT_TILE_ANALYSIS_OPTIONALACCESS_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

namespace fa4::tile {

inline bool isOptionalAccess(mlir::Operation *op) {
  auto rescale = llvm::dyn_cast<RescaleOp>(op);
  return rescale && rescale.getLikelyOne();
}

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_OPTIONALACCESS_H
