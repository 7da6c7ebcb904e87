//===- OnlineMax.h - the online-softmax statistic, as arith ops -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of `tile.online_max`, written once: every lowering emits this
// and so agrees bit for bit on which rows lag.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_ONLINEMAX_H
#define FA4_DIALECT_TILE_IR_ONLINEMAX_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fa4::tile {

/// What `tile.online_max` gives for one row, or one vector of rows.
struct OnlineMaxValues {
  mlir::Value reference;
  mlir::Value offset;
  mlir::Value factor;
};

/// Emits the statistic on f32 scalars or vectors of f32 (all of one type).
/// `lag` is the log2 distance a row may stay behind, `exp2` emits the
/// exponential the target wants for the factor.
OnlineMaxValues emitOnlineMax(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value top,
                              mlir::Value reference, mlir::Value scale, double lag,
                              llvm::function_ref<mlir::Value(mlir::Value)> exp2);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_IR_ONLINEMAX_H
