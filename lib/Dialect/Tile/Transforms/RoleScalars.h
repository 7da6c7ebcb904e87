//===- RoleScalars.h - scalar code of roles ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roles are isolated, so each has constants of its own, at its head. What a
// transformation leaves unused there goes with it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLESCALARS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLESCALARS_H

#include "fa4/Dialect/Tile/Analysis/LinearForm.h"
#include "mlir/IR/PatternMatch.h"

namespace fa4::tile {

/// A constant that the whole role sees: one at its head, or a new one.
mlir::Value getRoleConstant(mlir::RewriterBase &rewriter, RoleOp role, mlir::Type type,
                            int64_t value);

/// Computes `form` before the rewriter's place in `role`.
mlir::Value materialize(mlir::RewriterBase &rewriter, RoleOp role, mlir::Location loc,
                        mlir::Type type, const LinearForm &form);

/// Erases what nothing uses and that has no effect, at any depth.
void eraseDeadOps(mlir::RewriterBase &rewriter, mlir::Region &region);

/// Whether `op` computes scalars from scalars, and nothing else.
bool isScalarArithmetic(mlir::Operation *op);

/// Moves scalar arithmetic to the first op of its block that needs it, so that its
/// place does not depend on what else was computed before.
void sinkScalars(mlir::RewriterBase &rewriter, mlir::Region &region);

/// Whether an op below `op` speaks of a channel.
bool holdsChannelOps(mlir::Operation *op);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLESCALARS_H
