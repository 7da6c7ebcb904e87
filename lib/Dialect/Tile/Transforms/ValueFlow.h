//===- ValueFlow.h - how tile values pass between inlined steps -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops, tests and steps pass values on unchanged. Between T0 and T1 this looks
// through them: where a value goes, where it comes from, who takes it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_VALUEFLOW_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_VALUEFLOW_H

#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "llvm/ADT/SetVector.h"

namespace fa4::tile {

/// The step that `op` is or stands in; null outside of steps.
InlinedStepOp getStepOf(mlir::Operation *op);

/// The op directly in `block` that is or holds `op`.
mlir::Operation *getAncestorIn(mlir::Block *block, mlir::Operation *op);

/// Whether `operand` only hands its value on: to a loop, out of a loop, out of a
/// step, or past one that is left out.
bool isHandOn(mlir::OpOperand &operand);

/// The values that `value` is handed on as, itself among them.
llvm::SetVector<mlir::Value> getCopies(mlir::Value value);

/// The values that `value` may be a copy of, made by an op: copies themselves are
/// not among them.
llvm::SetVector<mlir::Value> getOrigins(mlir::Value value);

/// The uses of `value` itself that do more than hand it on.
llvm::SmallVector<mlir::OpOperand *> getDirectUses(mlir::Value value);

/// A product's operand behind slices and transposes of one value.
struct OperandChain {
  mlir::OpOperand *use;
  /// The slices and transposes, from the value on; may be empty.
  llvm::SmallVector<mlir::Operation *> layout;

  bool isProduct() const { return llvm::isa<MmaOp>(use->getOwner()); }
  /// Whether the value is added onto, not multiplied.
  bool isAccumulator() const;
  mlir::Value getOperand() const { return use->get(); }
};

/// Every use of `value` itself, through the slices and transposes in front of it.
llvm::SmallVector<OperandChain> getUseChains(mlir::Value value);

/// The schedule's role that runs `step`; null if there is none.
const Role *getRoleOf(InlinedStepOp step);

/// Inlines the def of every step of the tile loop; the kernel's own defs go.
void inlineSteps(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_VALUEFLOW_H
