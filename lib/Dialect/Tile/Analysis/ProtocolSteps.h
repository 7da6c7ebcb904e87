//===- ProtocolSteps.h - the ops of a role that make its events -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most ops of a role compute on tiles and are no events. What is left: the ops
// that are, what they stand in, and the integers and cursors they follow from.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_ANALYSIS_PROTOCOLSTEPS_H
#define FA4_LIB_DIALECT_TILE_ANALYSIS_PROTOCOLSTEPS_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace fa4::tile {

/// Whether `op` computes integers from integers and nothing else.
bool isInteger(mlir::Operation *op);

/// Its result for these operands; none if there is none (a division by zero).
std::optional<int64_t> evaluateInteger(mlir::Operation *op, llvm::ArrayRef<int64_t> operands);

class ProtocolSteps {
public:
  explicit ProtocolSteps(RoleOp role) : role(role) {}
  mlir::LogicalResult collect();

  llvm::MapVector<mlir::Block *, llvm::SmallVector<mlir::Operation *>> steps;
  llvm::SetVector<unsigned> control;

private:
  void mark(mlir::Operation *op);
  void need(mlir::Value value);
  void needAll(mlir::ValueRange values);
  void needArgument(mlir::BlockArgument argument);
  void needResult(mlir::OpResult result);

  RoleOp role;
  llvm::DenseSet<mlir::Operation *> marked;
  llvm::DenseSet<mlir::Value> seen;
  llvm::SmallVector<mlir::Value> worklist;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_ANALYSIS_PROTOCOLSTEPS_H
