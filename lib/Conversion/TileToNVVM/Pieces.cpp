//===- Pieces.cpp - rows that pass through a thread -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row that is read from tensor memory, changed column by column and written or
// stored need not be in registers as a whole. Such a chain becomes one chain per piece
// of columns: later tools do not undo the order in which rows were loaded.
//
//===----------------------------------------------------------------------===//

#include "Values.h"

#include "fa4/Dialect/Tile/Analysis/RowChain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace fa4::tile::gpu {

/// Columns of a piece: the roles that pass rows on have few registers, and ptxas
/// loads one piece while it works on another.
static constexpr int64_t kStreamColumns = 16;

static bool touchesMemory(Operation *first, Operation *last) {
  for (Operation *op = first->getNextNode(); op != last; op = op->getNextNode()) {
    if (!mayStandInChain(op)) {
      return true;
    }
  }
  return false;
}

static std::optional<RowChain> findStream(Operation *end, const Lowering &lowering) {
  std::optional<RowChain> chain = findRowChain(end);
  if (!chain || tileOf(chain->getValue()).getColumns() <= kStreamColumns ||
      lowering.view(chain->read.getViewAttr()).getSpace() != Space::Tmem ||
      touchesMemory(chain->read, end)) {
    return std::nullopt;
  }
  return chain;
}

static void emitPiece(RewriterBase &b, Lowering &lowering, const RowChain &chain, int64_t begin,
                      int64_t width) {
  auto narrow = [&](Value value) {
    FragType type = tileOf(value);
    return type.clone(ArrayRef<int64_t>{type.getRows(), width});
  };
  IRMapping values;
  SmallVector<Operation *> ops(chain.ops);
  ops.push_back(ReadOp(chain.read));
  for (Operation *op : llvm::reverse(ops)) {
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
  Operation *piece = b.clone(*chain.end, values);
  lowering.firstColumns[piece] = begin;
}

void splitRows(Lowering &lowering, RewriterBase &rewriter) {
  SmallVector<RowChain> chains;
  lowering.function.walk([&](Operation *end) {
    if (auto chain = findStream(end, lowering)) {
      chains.push_back(*std::move(chain));
    }
  });
  for (RowChain &chain : chains) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(chain.end);
    int64_t columns = tileOf(chain.getValue()).getColumns();
    for (int64_t begin = 0; begin < columns; begin += kStreamColumns) {
      emitPiece(rewriter, lowering, chain, begin, std::min(kStreamColumns, columns - begin));
    }
    rewriter.eraseOp(chain.end);
    for (Operation *op : chain.ops) {
      rewriter.eraseOp(op);
    }
    rewriter.eraseOp(chain.read);
  }
}

} // namespace fa4::tile::gpu
