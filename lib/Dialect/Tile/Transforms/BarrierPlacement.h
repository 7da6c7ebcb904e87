//===- BarrierPlacement.h - where barriers lie ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_BARRIERPLACEMENT_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_BARRIERPLACEMENT_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

namespace fa4::tile {

/// Gives every mbarrier of `kernel` its bytes, in the order of the text, behind the
/// last allocation of shared memory; then the word that receives the address of
/// tensor memory; and every named barrier its ids. May be called again after
/// barriers came or went. Fails when the target's shared memory or ids do not suffice.
mlir::LogicalResult placeBarriers(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_BARRIERPLACEMENT_H
