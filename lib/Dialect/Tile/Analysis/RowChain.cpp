//===- RowChain.cpp - rows on their way from memory to memory -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Says what may be done in pieces of columns; that it is done is its users' part.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/RowChain.h"

using namespace mlir;
using namespace fa4::tile;

Value fa4::tile::getColumnOperand(Operation *op) {
  if (isa<CastOp, ScaleRowsOp, Exp2Op>(op)) {
    return op->getOperand(0);
  }
  auto map = dyn_cast<MapOp>(op);
  if (!map || map.getNumResults() != 1) {
    return {};
  }
  Value result;
  for (Value input : map.getInputs()) {
    if (cast<FragType>(input.getType()).isRow()) {
      continue;
    }
    if (result) {
      return {};
    }
    result = input;
  }
  return result;
}

/// What `end` writes or stores; null if it does neither.
static Value findWritten(Operation *end) {
  if (auto write = dyn_cast<WriteOp>(end)) {
    return write.getValue();
  }
  auto store = dyn_cast<StoreOp>(end);
  return store ? store.getValue() : Value();
}

Value RowChain::getValue() const { return findWritten(end); }

bool fa4::tile::mayStandInChain(Operation *op) {
  return isMemoryEffectFree(op) || isa<StoreOp>(op);
}

std::optional<RowChain> fa4::tile::findRowChain(Operation *end) {
  Value written = findWritten(end);
  auto type = written ? cast<FragType>(written.getType()) : FragType();
  if (!type || type.isRow() || type.getRows() == 1) {
    return std::nullopt;
  }
  RowChain chain{end, ReadOp(), {}};
  for (Value value = written; value;) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != end->getBlock() || !value.hasOneUse()) {
      return std::nullopt;
    }
    chain.read = dyn_cast<ReadOp>(op);
    if (chain.read) {
      return chain;
    }
    chain.ops.push_back(op);
    value = getColumnOperand(op);
  }
  return std::nullopt;
}
