//===- Reductions.cpp - row statistics on the host ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row is folded into one strip of partial results, the strip by halves. The
// order of sums is the one that `tile.row_sum` states for the CPU.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "fa4/Dialect/Tile/IR/OnlineMax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace fa4::tile::cpu {

using Combine = llvm::function_ref<Value(ImplicitLocOpBuilder &, Value, Value)>;

/// `vector`, made a full strip with `neutral` in the missing lanes.
static Value widen(ImplicitLocOpBuilder &b, Value vector, Value neutral) {
  int64_t width = cast<VectorType>(vector.getType()).getDimSize(0);
  if (width == kStrip) {
    return vector;
  }
  return vector::InsertStridedSliceOp::create(b, vector, neutral, ArrayRef<int64_t>{0},
                                              ArrayRef<int64_t>{1});
}

static Value foldStrip(ImplicitLocOpBuilder &b, Value strip, Combine combine) {
  for (int64_t half = kStrip / 2; half >= 1; half /= 2) {
    Value low = vector::ExtractStridedSliceOp::create(
        b, strip, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{half}, ArrayRef<int64_t>{1});
    Value high = vector::ExtractStridedSliceOp::create(
        b, strip, ArrayRef<int64_t>{half}, ArrayRef<int64_t>{half}, ArrayRef<int64_t>{1});
    strip = combine(b, low, high);
  }
  return vector::ExtractOp::create(b, strip, 0);
}

/// result[row] = combine(fold of the row, init[row]).
static void reduceRows(Lowering &lowering, Operation *op, Value operand, Value init, Value result,
                       double neutralNumber, Combine combine) {
  ImplicitLocOpBuilder b = lowering.at(op->getLoc());
  Value from = lowering.lookup(operand);
  Value start = lowering.lookup(init);
  Value to = lowering.createTile(b, result);
  auto type = cast<FragType>(operand.getType());
  auto stripType = VectorType::get({kStrip}, b.getF32Type());
  int64_t full = type.getColumns() / kStrip * kStrip;
  forEach(b, 0, type.getRows(), 1, [&](ImplicitLocOpBuilder &inner, Value row) {
    Value neutral = floatConstant(inner, stripType, neutralNumber);
    Value partial = neutral;
    for (int64_t column = 0; column < full; column += kStrip) {
      Strip strip{row, indexConstant(inner, column), kStrip};
      partial = combine(inner, partial, loadStrip(inner, from, strip));
    }
    if (full != type.getColumns()) {
      Strip strip{row, indexConstant(inner, full), type.getColumns() - full};
      partial = combine(inner, partial, widen(inner, loadStrip(inner, from, strip), neutral));
    }
    Value folded = foldStrip(inner, partial, combine);
    Value before = memref::LoadOp::create(inner, start, row);
    memref::StoreOp::create(inner, combine(inner, folded, before), to, row);
  });
}

LogicalResult lowerRowMax(Lowering &lowering, RowMaxOp op) {
  // Keeps the first operand unless the second is larger: a NaN is passed over,
  // and the host has this as one instruction.
  auto larger = [](ImplicitLocOpBuilder &b, Value best, Value next) -> Value {
    Value above = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, next, best);
    return arith::SelectOp::create(b, above, next, best);
  };
  reduceRows(lowering, op, op.getOperand(), op.getInit(), op.getResult(),
             -std::numeric_limits<double>::infinity(), larger);
  return success();
}

LogicalResult lowerRowSum(Lowering &lowering, RowSumOp op) {
  auto sum = [](ImplicitLocOpBuilder &b, Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  };
  reduceRows(lowering, op, op.getOperand(), op.getInit(), op.getResult(), 0.0, sum);
  return success();
}

LogicalResult lowerOnlineMax(Lowering &lowering, OnlineMaxOp op) {
  ImplicitLocOpBuilder b = lowering.at(op.getLoc());
  Value top = lowering.lookup(op.getTop());
  Value reference = lowering.lookup(op.getReference());
  Value scale = lowering.lookup(op.getScale());
  Value nextReference = lowering.createTile(b, op.getNextReference());
  Value offset = lowering.createTile(b, op.getOffset());
  Value factor = lowering.createTile(b, op.getFactor());
  double lag = op.getLag() ? op.getLag()->convertToFloat() : 0.0;
  auto type = cast<FragType>(op.getTop().getType());
  forEachStrip(b, type.getShape(), [&](ImplicitLocOpBuilder &inner, const Strip &strip) {
    OnlineMaxValues values =
        emitOnlineMax(inner, op.getLoc(), loadStrip(inner, top, strip),
                      loadStrip(inner, reference, strip), broadcast(inner, scale, strip.width), lag,
                      [&](Value distance) { return emitExp2(inner, distance); });
    storeStrip(inner, values.reference, nextReference, strip);
    storeStrip(inner, values.offset, offset, strip);
    storeStrip(inner, values.factor, factor, strip);
  });
  return success();
}

} // namespace fa4::tile::cpu
