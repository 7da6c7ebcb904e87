//===- BarrierDrains.h - arrivals that must be seen before exit -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory of a barrier must not die before its last arrival. Threads that
// arrive are there themselves; an engine may come late.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_BARRIERDRAINS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_BARRIERDRAINS_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

namespace fa4::tile {

/// Rule R9: behind the tile loop of a role that waits with credit for commits of
/// the matrix unit, and so has not seen the last ones, inserts waits for them.
/// Returns how many.
unsigned insertExitDrains(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_BARRIERDRAINS_H
