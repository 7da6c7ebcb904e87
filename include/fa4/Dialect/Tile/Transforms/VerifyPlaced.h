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

/// T2.A: accesses name views of the kernel, elements and slots that those have, and tiles
/// of their shape. Errors stand at the access.
mlir::LogicalResult verifyAccesses(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_TRANSFORMS_VERIFYPLACED_H
