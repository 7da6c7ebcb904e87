//===- VerifyPhase.h - checks common to the phase verifiers -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every phase verifier asks of an op, so that the three differ only in what
// their phase adds.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_VERIFYPHASE_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_VERIFYPHASE_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

namespace fa4::tile {

/// Whether `op` is of a dialect whose scalar ops may stand in a kernel.
bool isScalarDialectOp(mlir::Operation *op);

/// Checks that no result or region argument of `op` is a tile with a layout
/// (`wanted` false), or that each is (`wanted` true).
mlir::LogicalResult verifyLayouts(mlir::Operation *op, bool wanted, llvm::StringRef phase);

/// Checks that `type`, a tile value or a grid, has the tile of `view`: unit
/// extents do not count, and an operand that is stored with its rows innermost
/// may be written from its transpose.
mlir::LogicalResult verifyTileOfView(mlir::Operation *op, ViewOp view, mlir::Type type);

/// Checks that a product of tile `a` and view `b` onto `acc` has agreeing extents;
/// `role` says whether it is a pair's.
mlir::LogicalResult verifyProductExtents(mlir::Operation *op, RoleOp role, FragType a, ViewOp b,
                                         FragType acc);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_VERIFYPHASE_H
