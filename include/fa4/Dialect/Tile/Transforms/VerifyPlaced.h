//===- VerifyPlaced.h - what consumers of a placed kernel rely on -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of tile-verify-t2 without which a consumer would follow a name that leads
// nowhere: whoever may meet a kernel that was not verified asks again.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_TRANSFORMS_VERIFYPLACED_H
#define FA4_DIALECT_TILE_TRANSFORMS_VERIFYPLACED_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

namespace fa4::tile {

/// T2.A: ops name views, barriers and roles that the kernel has, and accesses elements,
/// slots and tiles that their views have. Errors stand at the op.
mlir::LogicalResult verifyAccesses(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_TRANSFORMS_VERIFYPLACED_H
