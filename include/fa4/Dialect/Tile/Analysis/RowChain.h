//===- RowChain.h - rows on their way from memory to memory -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_ROWCHAIN_H
#define FA4_DIALECT_TILE_ANALYSIS_ROWCHAIN_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

namespace fa4::tile {

/// A tile that is read, changed column by column and written, for nothing else:
/// no column needs another one, so the thread of a row need not hold all of it.
struct RowChain {
  WriteOp write;
  ReadOp read;
  /// The ops between, from the write to the read.
  llvm::SmallVector<mlir::Operation *> ops;
};

/// The operand of `op` whose columns are those of its result, if every other one is per
/// row and the result depends on nothing of the other columns.
mlir::Value getColumnOperand(mlir::Operation *op);

/// The chain that ends in `write`, all in one block, if its value is one.
std::optional<RowChain> findRowChain(WriteOp write);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_ROWCHAIN_H
