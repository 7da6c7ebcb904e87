//===- RoleBarriers.h - where the warps of a role meet ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Channels order roles; inside one, warps run freely.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLEBARRIERS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLEBARRIERS_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

namespace fa4::tile {

/// Inserts a `role_sync` in front of each access that conflicts with an earlier one
/// by another warp of its role, unless one stands between (rule R7). Returns how
/// many.
unsigned insertRoleBarriers(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLEBARRIERS_H
