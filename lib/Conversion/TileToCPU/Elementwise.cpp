//===- Elementwise.cpp - ops on each element on the host ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strip by strip, each element once. What only changes the type or the extent
// of a tile (widening casts, slices) is another view of the same buffer.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "fa4/Dialect/Attn/IR/AttnAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace fa4::tile::cpu {

LogicalResult lowerCast(Lowering &lowering, CastOp op) {
  auto from = cast<FloatType>(cast<FragType>(op.getOperand().getType()).getElementType());
  auto to = cast<FloatType>(cast<FragType>(op.getResult().getType()).getElementType());
  // Buffers hold f32: a wider type only gives the same number another name.
  if (from == to || (to.isF32() && getStorageType(from).isF32())) {
    lowering.alias(op.getOperand(), op.getResult());
    return success();
  }
  ImplicitLocOpBuilder b = lowering.at(op.getLoc());
  Value source = lowering.lookup(op.getOperand());
  Value target = lowering.createTile(b, op.getResult());
  auto type = cast<FragType>(op.getResult().getType());
  forEachStrip(b, type.getShape(), [&](ImplicitLocOpBuilder &inner, const Strip &strip) {
    Value value = loadStrip(inner, source, strip);
    auto narrow = VectorType::get({strip.width}, to);
    Value rounded = getStorageType(to) == getStorageType(from) || to.getWidth() < from.getWidth()
                        ? arith::TruncFOp::create(inner, narrow, value).getResult()
                        : arith::ExtFOp::create(inner, narrow, value).getResult();
    storeStrip(inner, toStorage(inner, rounded), target, strip);
  });
  return success();
}

LogicalResult lowerSplat(Lowering &lowering, SplatOp op) {
  ImplicitLocOpBuilder b = lowering.at(op.getLoc());
  Value value = toStorage(b, lowering.lookup(op.getValue()));
  Value target = lowering.createTile(b, op.getResult());
  auto type = cast<FragType>(op.getResult().getType());
  forEachStrip(b, type.getShape(), [&](ImplicitLocOpBuilder &inner, const Strip &strip) {
    storeStrip(inner, broadcast(inner, value, strip.width), target, strip);
  });
  return success();
}

LogicalResult lowerSlice(Lowering &lowering, SliceOp op) {
  ImplicitLocOpBuilder b = lowering.at(op.getLoc());
  Value source = lowering.lookup(op.getOperand());
  auto type = cast<FragType>(op.getResult().getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes;
  for (int64_t extent : type.getShape()) {
    sizes.push_back(b.getIndexAttr(extent));
  }
  offsets[op.getAxis() == Axis::Rows ? 0 : 1] = b.getIndexAttr(op.getBegin());
  lowering.bind(op.getResult(),
                memref::SubViewOp::create(b, source, offsets, sizes, strides).getResult());
  return success();
}

LogicalResult lowerScaleRows(Lowering &lowering, ScaleRowsOp op) {
  ImplicitLocOpBuilder b = lowering.at(op.getLoc());
  Value source = lowering.lookup(op.getOperand());
  Value by = lowering.lookup(op.getBy());
  Value target = lowering.createTile(b, op.getResult());
  auto type = cast<FragType>(op.getResult().getType());
  forEachStrip(b, type.getShape(), [&](ImplicitLocOpBuilder &inner, const Strip &strip) {
    Value factor = memref::LoadOp::create(inner, by, strip.row);
    Value scaled = arith::MulFOp::create(inner, loadStrip(inner, source, strip),
                                         broadcast(inner, factor, strip.width));
    storeStrip(inner, scaled, target, strip);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// exp2
//===----------------------------------------------------------------------===//

/// Which of the kStrip columns from `column` take the polynomial.
static SmallVector<bool> polynomialLanes(Exp2Op op, int64_t column) {
  int64_t columns = cast<FragType>(op.getResult().getType()).getShape().back();
  SmallVector<bool> lanes;
  for (int64_t lane = column; lane < std::min(column + kStrip, columns); ++lane) {
    lanes.push_back(op.getShare() &&
                    op.getShare()->isPolynomial(static_cast<int64_t>(op.getColumnsFrom()) + lane));
  }
  return lanes;
}

static Value emitMixedExp2(ImplicitLocOpBuilder &b, Exp2Op op, Value x, ArrayRef<bool> lanes) {
  if (llvm::none_of(lanes, [](bool lane) { return lane; })) {
    return emitExp2(b, x);
  }
  Value polynomial = emitExp2Polynomial(b, x, op.getShare()->getDegree());
  if (llvm::all_of(lanes, [](bool lane) { return lane; })) {
    return polynomial;
  }
  Value choice = arith::ConstantOp::create(b, b.getBoolVectorAttr(lanes));
  return arith::SelectOp::create(b, choice, polynomial, emitExp2(b, x));
}

LogicalResult lowerExp2(Lowering &lowering, Exp2Op op) {
  ImplicitLocOpBuilder b = lowering.at(op.getLoc());
  Value source = lowering.lookup(op.getOperand());
  Value target = lowering.createTile(b, op.getResult());
  auto type = cast<FragType>(op.getResult().getType());
  auto emitStrip = [&](ImplicitLocOpBuilder &inner, const Strip &strip, ArrayRef<bool> lanes) {
    storeStrip(inner, emitMixedExp2(inner, op, loadStrip(inner, source, strip), lanes), target,
               strip);
  };
  if (type.isRow()) {
    // Rows, not columns: position says nothing, as for one column.
    SmallVector<bool> column(1, polynomialLanes(op, 0).front());
    forEachStrip(b, type.getShape(), [&](ImplicitLocOpBuilder &inner, const Strip &strip) {
      emitStrip(inner, strip, SmallVector<bool>(strip.width, column.front()));
    });
    return success();
  }
  // Neighbouring strips of one pattern share a loop.
  int64_t columns = type.getColumns();
  forEach(b, 0, type.getRows(), 1, [&](ImplicitLocOpBuilder &outer, Value row) {
    for (int64_t begin = 0; begin < columns;) {
      SmallVector<bool> lanes = polynomialLanes(op, begin);
      int64_t end = begin + static_cast<int64_t>(lanes.size());
      while (end < columns && polynomialLanes(op, end) == lanes) {
        end += static_cast<int64_t>(lanes.size());
      }
      auto width = static_cast<int64_t>(lanes.size());
      forEach(outer, begin, end, width, [&](ImplicitLocOpBuilder &inner, Value column) {
        emitStrip(inner, Strip{row, column, width}, lanes);
      });
      begin = end;
    }
  });
  return success();
}

//===----------------------------------------------------------------------===//
// mask
//===----------------------------------------------------------------------===//

namespace {
/// The first and last column that row `row` keeps, as i64.
struct Interval {
  Value first;
  Value last;
};
} // namespace

static Value i64Constant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
}

/// All arithmetic in 64 bits: i32 positions and i32 bounds cannot overflow it.
static Interval emitInterval(ImplicitLocOpBuilder &b, MaskOp op, Value row, Value rows,
                             Value columns, Value offset) {
  Value zero = i64Constant(b, 0);
  Value one = i64Constant(b, 1);
  Interval kept{zero, arith::SubIOp::create(b, columns, one)};
  for (Attribute attribute : op.getMasks()) {
    attn::MaskBounds bounds = cast<attn::AttnMaskInterface>(attribute).getBounds();
    Value aligned = offset ? arith::AddIOp::create(b, row, offset).getResult() : row;
    if (bounds.alignment == attn::MaskAlignment::BottomRight) {
      aligned = arith::AddIOp::create(b, aligned, arith::SubIOp::create(b, columns, rows));
    }
    if (bounds.lower) {
      Value low = arith::AddIOp::create(b, aligned, i64Constant(b, *bounds.lower));
      kept.first = arith::MaxSIOp::create(b, kept.first, low);
    }
    if (bounds.upper) {
      Value high = arith::AddIOp::create(b, aligned, i64Constant(b, *bounds.upper));
      kept.last = arith::MinSIOp::create(b, kept.last, high);
    }
  }
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, rows);
  kept.last = arith::SelectOp::create(b, inside, kept.last, i64Constant(b, -1));
  return kept;
}

LogicalResult lowerMask(Lowering &lowering, MaskOp op) {
  ImplicitLocOpBuilder b = lowering.at(op.getLoc());
  auto widen = [&](Value value) -> Value {
    return arith::ExtSIOp::create(b, b.getI64Type(), lowering.lookup(value));
  };
  Value source = lowering.lookup(op.getScores());
  Value target = lowering.createTile(b, op.getResult());
  auto type = cast<FragType>(op.getResult().getType());
  Value rows = widen(op.getRows());
  Value columns = widen(op.getColumns());
  Value offset = op.getOffset() ? widen(op.getOffset()) : Value();
  Value firstRow =
      arith::MulIOp::create(b, widen(op.getRowBlock()), i64Constant(b, type.getRows()));
  Value firstColumn =
      arith::MulIOp::create(b, widen(op.getColumnBlock()), i64Constant(b, type.getColumns()));

  forEach(b, 0, type.getRows(), 1, [&](ImplicitLocOpBuilder &outer, Value row) {
    Value position = arith::AddIOp::create(
        outer, firstRow, arith::IndexCastOp::create(outer, outer.getI64Type(), row));
    Interval kept = emitInterval(outer, op, position, rows, columns, offset);
    // Relative to the tile and clamped to it, so that 32-bit lanes suffice.
    auto relative = [&](Value bound) -> Value {
      Value shifted = arith::SubIOp::create(outer, bound, firstColumn);
      shifted = arith::MaxSIOp::create(outer, shifted, i64Constant(outer, -1));
      shifted = arith::MinSIOp::create(outer, shifted, i64Constant(outer, type.getColumns()));
      return arith::TruncIOp::create(outer, outer.getI32Type(), shifted);
    };
    Value first = relative(kept.first);
    Value last = relative(kept.last);
    forEachStrip(outer, {type.getColumns()}, [&](ImplicitLocOpBuilder &inner, const Strip &lanes) {
      Strip strip{row, lanes.column, lanes.width};
      Value start = arith::IndexCastOp::create(inner, inner.getI32Type(), strip.column);
      Value column = consecutive(inner, start, strip.width);
      Value keep =
          arith::AndIOp::create(inner,
                                arith::CmpIOp::create(inner, arith::CmpIPredicate::sge, column,
                                                      broadcast(inner, first, strip.width)),
                                arith::CmpIOp::create(inner, arith::CmpIPredicate::sle, column,
                                                      broadcast(inner, last, strip.width)));
      Value score = loadStrip(inner, source, strip);
      Value removed =
          floatConstant(inner, score.getType(), -std::numeric_limits<double>::infinity());
      storeStrip(inner, arith::SelectOp::create(inner, keep, score, removed), target, strip);
    });
  });
  return success();
}

} // namespace fa4::tile::cpu
