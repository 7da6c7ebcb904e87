//===- Mask.cpp - visible columns as bits ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All masks of one op keep one interval of columns per row. Of 32 columns it is
// a word, tested bit by bit in ascending order, each test beside its selection:
// ptxas makes seven predicates at once of that form and of no other. A thread that
// has some of the columns counts them from its first, so that bits are constants.
//
// The interval's ends do not depend on the block of columns and are clamped to
// [-1, columns], in 64 bits; LLVM takes that out of the loop over blocks.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "ThreadLayout.h"

#include "fa4/Dialect/Attn/IR/AttnAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;

namespace fa4::tile::gpu {

namespace {
/// The columns [first, end) that a row of the thread keeps, counted from the
/// thread's first; i32. `first` is null if no mask bounds from below.
struct Interval {
  Value first;
  Value end;
};

class MaskEmitter : public PieceEmitter {
public:
  MaskEmitter(ImplicitLocOpBuilder &b, MaskOp op, ValueRange operands, const Lowering &lowering)
      : b(b), op(op), operands(operands), in(this->operands, op), role(lowering.role(op)),
        layout(ThreadLayout::of(op.getScores())) {}

  void prepare() override;
  SmallVector<Value> emit(int64_t begin, int64_t width, Value piece) override;
  /// A bit, for a moment: seven of them are ptxas's own unit.
  PieceCost costPerLane() override { return {1, 0, 0}; }

private:
  Value wide(Value value) { return arith::ExtSIOp::create(b, b.getI64Type(), value); }
  Value wide(int64_t value) { return intConstant(b, b.getI64Type(), value); }
  Value narrow(int64_t value) { return intConstant(b, b.getI32Type(), value); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value clampTo(Value value, Value low, Value high) {
    return arith::MinSIOp::create(b, arith::MaxSIOp::create(b, value, low), high);
  }
  Interval emitInterval(int64_t threadRow);
  /// A word of `count` low bits, all 32 from there on; none if negative.
  Value lowBits(Value count);
  Value wordOf(const Interval &kept, int64_t begin);

  ImplicitLocOpBuilder &b;
  MaskOp op;
  SmallVector<Value> operands;
  MaskOp::Adaptor in;
  const RoleContext &role;
  ThreadLayout layout;
  /// What each row of the thread keeps.
  SmallVector<Interval> kept;
};
} // namespace

Interval MaskEmitter::emitInterval(int64_t threadRow) {
  FragType type = tileOf(op.getScores());
  Value rows = wide(in.getRows());
  Value columns = wide(in.getColumns());
  Value row = add(arith::MulIOp::create(b, wide(in.getRowBlock()), wide(type.getRows())),
                  wide(layout.rowNumber(b, role, threadRow)));
  Value first;
  Value end = columns;
  for (Attribute attribute : op.getMasks()) {
    attn::MaskBounds bounds = cast<attn::AttnMaskInterface>(attribute).getBounds();
    Value aligned = in.getOffset() ? add(row, wide(in.getOffset())) : row;
    if (bounds.alignment == attn::MaskAlignment::BottomRight) {
      aligned = add(aligned, sub(columns, rows));
    }
    if (bounds.lower) {
      Value low = add(aligned, wide(*bounds.lower));
      first = first ? arith::MaxSIOp::create(b, first, low).getResult() : low;
    }
    if (bounds.upper) {
      end = arith::MinSIOp::create(b, end, add(aligned, wide(*bounds.upper + 1)));
    }
  }
  Value isRow = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, rows);
  end = arith::SelectOp::create(b, isRow, end, wide(0));

  Value firstColumn = arith::MulIOp::create(b, in.getColumnBlock(), narrow(type.getColumns()));
  auto relative = [&](Value bound) -> Value {
    Value inside = clampTo(bound, wide(0), arith::MaxSIOp::create(b, columns, wide(0)));
    return sub(arith::TruncIOp::create(b, b.getI32Type(), inside), firstColumn);
  };
  Interval kept{first ? relative(first) : Value(), relative(end)};
  // A block before column 0 has no column at all: cheaper than a lower bound.
  Value isBefore =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, in.getColumnBlock(), narrow(0));
  kept.end = arith::SelectOp::create(b, isBefore, narrow(0), kept.end);
  if (Value ofThread = layout.firstColumn(b, role)) {
    kept.end = sub(kept.end, ofThread);
    kept.first = kept.first ? sub(kept.first, ofThread) : Value();
  }
  return kept;
}

Value MaskEmitter::lowBits(Value count) {
  Value bits = arith::MaxSIOp::create(b, count, narrow(0));
  return emitPtx(b, b.getI32Type(), bits, "bmsk.clamp.b32 $0, 0, $1;", "=r,r");
}

Value MaskEmitter::wordOf(const Interval &kept, int64_t begin) {
  Value word = lowBits(sub(kept.end, narrow(begin)));
  if (!kept.first) {
    return word;
  }
  Value hidden = lowBits(sub(kept.first, narrow(begin)));
  return arith::AndIOp::create(b, word, arith::XOrIOp::create(b, hidden, narrow(-1)));
}

void MaskEmitter::prepare() {
  for (int64_t row = 0; row < layout.rows(); ++row) {
    kept.push_back(emitInterval(row));
  }
}

SmallVector<Value> MaskEmitter::emit(int64_t begin, int64_t width, Value piece) {
  Value removed = floatConstant(b, b.getF32Type(), -std::numeric_limits<double>::infinity());
  SmallVector<Value> lanes;
  SmallVector<Value> words(layout.rows());
  int64_t wordBegin = -1;
  for (int64_t lane = begin; lane < begin + width; ++lane) {
    int64_t column = layout.columnOf(lane), row = layout.rowOf(lane);
    if (int64_t first = column / kPieceColumns * kPieceColumns; first != wordBegin) {
      wordBegin = first;
      for (auto [word, interval] : llvm::zip_equal(words, kept)) {
        word = wordOf(interval, first);
      }
    }
    Value test = arith::AndIOp::create(b, words[row], narrow(int64_t(1) << (column - wordBegin)));
    Value isKept = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, test, narrow(0));
    Value score = piece ? takeLane(b, piece, lane - begin) : takeLane(b, in.getScores(), lane);
    lanes.push_back(arith::SelectOp::create(b, isKept, score, removed));
  }
  return {fromLanes(b, b.getF32Type(), lanes)};
}

std::unique_ptr<PieceEmitter> makeMaskEmitter(ImplicitLocOpBuilder &b, MaskOp op,
                                              ValueRange operands, const Lowering &lowering) {
  return std::make_unique<MaskEmitter>(b, op, operands, lowering);
}

} // namespace fa4::tile::gpu
