//===- StepSources.h - where a value of a kernel comes from -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps, defs and loops pass values on unchanged. This looks through them.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_STEPSOURCES_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_STEPSOURCES_H

#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "llvm/ADT/SetVector.h"

namespace fa4::tile {

/// Every value of the kernel that `value` can be equal to: itself, what calls
/// of its def pass, what the def of its step yields, what its loop carries.
llvm::SetVector<mlir::Value> getSources(mlir::Value value, KernelOp kernel);

/// The steps of `kernel` that call `def`, in text order.
llvm::SmallVector<StepOp> getCalls(DefOp def, KernelOp kernel);

/// Passes on kernels run side by side, so each may change defs of its own only.
/// Emits an error at a step that calls another.
mlir::LogicalResult requireOwnDefs(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_STEPSOURCES_H
