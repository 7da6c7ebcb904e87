//===- RowChain.h - rows on their way from memory to memory -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_ROWCHAIN_H
#define FA4_DIALECT_TILE_ANALYSIS_ROWCHAIN_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

namespace fa4::tile {

/// A tile that is read, changed column by column and goes to other memory, for nothing
/// else: no column needs another one, so the thread of a row need not hold all of it.
struct RowChain {
  /// A WriteOp, or a StoreOp.
  mlir::Operation *end;
  ReadOp read;
  /// The ops between, from the end to the read.
  llvm::SmallVector<mlir::Operation *> ops;

  /// The tile that goes to other memory.
  mlir::Value getValue() const;
};

/// The operand of `op` whose columns are those of its result, if every other one is per
/// row and the result depends on nothing of the other columns.
mlir::Value getColumnOperand(mlir::Operation *op);

/// The chain that ends in `end`, all in one block, if that is a write or a store of a
/// tile that is one.
std::optional<RowChain> findRowChain(mlir::Operation *end);

/// Whether `op` leaves alone what on-chip memory a chain reads: it may stand between the
/// chain's read and its end, and moves to either side of all of it.
bool mayStandInChain(mlir::Operation *op);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_ROWCHAIN_H
