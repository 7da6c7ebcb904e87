//===- Cursors.h - rings' cursors through control flow ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cursor counts the generations of a half that its role has waited for: loops
// carry it. When waits go or halves become one, it is counted anew.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_CURSORS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_CURSORS_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

namespace fa4::tile {

/// Whether the cursor that `cursor` was advanced from starts with credit.
bool startsWithCredit(mlir::Value cursor);

/// Gives `waits`, all in one role, a cursor of their own that advances behind each.
void threadCursor(RoleOp role, llvm::ArrayRef<BarrierWaitOp> waits, bool credit);

/// Drops cursors that nothing is addressed by, and makes one of those that
/// always stand at the same slot and parity.
void cleanCursors(RoleOp role);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_CURSORS_H
