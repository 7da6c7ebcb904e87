//===- Pieces.cpp - rows that pass through a thread -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row that is read from tensor memory, changed column by column and written
// need not be in registers as a whole. Such a chain becomes one chain per piece
// of columns: later tools do not undo the order in which rows were loaded.
//
//===----------------------------------------------------------------------===//

#include "Values.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace fa4::tile::gpu {

namespace {
/// A write, and what its value comes from: the read last.
struct Chain {
  WriteOp write;
  SmallVector<Operation *> ops;
};
} // namespace

/// The operand of `op` whose columns are those of its result, if every other one
/// is per row and the result depends on nothing of the other columns.
static Value getColumnOperand(Operation *op) {
  if (isa<CastOp, ScaleRowsOp, Exp2Op>(op)) {
    return op->getOperand(0);
  }
  auto map = dyn_cast<MapOp>(op);
  if (!map || map.getNumResults() != 1) {
    return {};
  }
  Value result;
  for (Value input : map.getInputs()) {
    if (tileOf(input).isRow()) {
      continue;
    }
    if (result) {
      return {};
    }
    result = input;
  }
  return result;
}

static bool touchesMemory(Operation *first, Operation *last) {
  for (Operation *op = first->getNextNode(); op != last; op = op->getNextNode()) {
    if (!isMemoryEffectFree(op)) {
      return true;
    }
  }
  return false;
}

static std::optional<Chain> findChain(WriteOp write, const Lowering &lowering) {
  FragType type = tileOf(write.getValue());
  if (type.isRow() || type.getRows() == 1 || type.getColumns() <= kPieceColumns) {
    return std::nullopt;
  }
  Chain chain{write, {}};
  for (Value value = write.getValue(); value;) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != write->getBlock() || !value.hasOneUse()) {
      return std::nullopt;
    }
    chain.ops.push_back(op);
    if (auto read = dyn_cast<ReadOp>(op)) {
      bool isTensorMemory = lowering.view(read.getViewAttr()).getSpace() == Space::Tmem;
      if (isTensorMemory && !touchesMemory(read, write)) {
        return chain;
      }
      return std::nullopt;
    }
    value = getColumnOperand(op);
  }
  return std::nullopt;
}

static void emitPiece(RewriterBase &b, Lowering &lowering, const Chain &chain, int64_t begin,
                      int64_t width) {
  auto narrow = [&](Value value) {
    FragType type = tileOf(value);
    return type.clone(ArrayRef<int64_t>{type.getRows(), width});
  };
  IRMapping values;
  for (Operation *op : llvm::reverse(chain.ops)) {
    Operation *piece = b.clone(*op, values);
    piece->getResult(0).setType(narrow(op->getResult(0)));
    b.setInsertionPoint(piece);
    if (isa<ReadOp>(piece)) {
      lowering.firstColumns[piece] = begin;
    } else if (auto exp2 = dyn_cast<Exp2Op>(piece)) {
      exp2.setColumnsFrom(exp2.getColumnsFrom() + begin);
    } else if (auto map = dyn_cast<MapOp>(piece); map && map.hasPosition()) {
      Value offset = arith::ConstantOp::create(b, map.getLoc(), b.getI32IntegerAttr(begin));
      map.getColumnBaseMutable().assign(
          arith::AddIOp::create(b, map.getLoc(), map.getColumnBase(), offset));
    }
    b.setInsertionPointAfter(piece);
  }
  WriteOp write = chain.write;
  Operation *piece = b.clone(*write.getOperation(), values);
  lowering.firstColumns[piece] = begin;
}

void splitRows(Lowering &lowering, RewriterBase &rewriter) {
  SmallVector<Chain> chains;
  lowering.function.walk([&](WriteOp write) {
    if (auto chain = findChain(write, lowering)) {
      chains.push_back(*std::move(chain));
    }
  });
  for (Chain &chain : chains) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(chain.write);
    int64_t columns = tileOf(chain.write.getValue()).getColumns();
    for (int64_t begin = 0; begin < columns; begin += kPieceColumns) {
      emitPiece(rewriter, lowering, chain, begin, std::min(kPieceColumns, columns - begin));
    }
    rewriter.eraseOp(chain.write);
    for (Operation *op : chain.ops) {
      rewriter.eraseOp(op);
    }
  }
}

} // namespace fa4::tile::gpu
