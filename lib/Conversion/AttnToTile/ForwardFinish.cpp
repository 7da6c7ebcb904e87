//===- ForwardFinish.cpp - @finish of a forward kernel --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Divides by the sum and writes lse. With u = -(reference), the offset that the
// weights were computed with, a row's logits sum to `sum * exp2(-u)` in base 2.
// A row without a key has sum 0: o = 0, lse = -inf, or the sink (R1). A NaN stays
// a NaN. Where a target has approximations of a reciprocal and of a logarithm
// between 1 and 2, they are accurate enough (docs/Numerics.md).
//
//===----------------------------------------------------------------------===//

#include "ForwardDefs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace fa4;

namespace {
/// f32 arithmetic inside the map of one row.
class RowMath {
public:
  RowMath(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value constant(float value) {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) {
    return arith::DivFOp::create(builder, loc, a, b, arith::FastMathFlags::afn);
  }
  Value max(Value a, Value b) { return arith::MaximumFOp::create(builder, loc, a, b); }
  Value exp2(Value a) { return math::Exp2Op::create(builder, loc, a); }
  /// log2(a) - offset, of a >= 0 that is 0, normal or a NaN.
  Value log2Above(Value a, Value offset);
  Value isEqual(Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, b);
  }
  Value isGreater(Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }

private:
  Value integer(uint32_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  }

  OpBuilder &builder;
  Location loc;
};

/// What a row is multiplied by, and its lse.
struct RowResult {
  Value inverse, lse;
};
} // namespace

static constexpr float kInfinity = std::numeric_limits<float>::infinity();
static constexpr float kLn2 = 0.693147181F;
static constexpr float kLog2E = 1.44269504F;

/// The exponent e of a = 2^e m joins the offset first: where they cancel the difference
/// is exact, and what is left of an approximation's error is that of log2(m).
Value RowMath::log2Above(Value a, Value offset) {
  constexpr uint32_t exponentBits = 0x7F800000;
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
  Value bits = arith::BitcastOp::create(builder, loc, i32, a);
  Value biased = arith::AndIOp::create(builder, loc, bits, integer(exponentBits));
  // 2^-e has the biased exponent 254 - (127 + e); of 0 it is finite, of a NaN it does not matter.
  Value inverse = arith::BitcastOp::create(
      builder, loc, f32, arith::SubIOp::create(builder, loc, integer(254U << 23), biased));
  Value rest = math::Log2Op::create(builder, loc, mul(a, inverse), arith::FastMathFlags::afn);
  Value exponent =
      math::FmaOp::create(builder, loc, arith::SIToFPOp::create(builder, loc, f32, biased),
                          constant(0x1p-23F), constant(-127));
  return add(sub(exponent, offset), rest);
}

static RowResult finishRow(RowMath &math, Value reference, Value sum, Value sink) {
  Value zero = math.constant(0), ln2 = math.constant(kLn2);
  Value isEmpty = math.isEqual(sum, zero);
  if (!sink) {
    Value inverse = math.select(isEmpty, zero, math.div(math.constant(1), sum));
    // Of 0 the logarithm is -inf, and the offset of a row that has no reference +inf.
    return {inverse, math.mul(math.log2Above(sum, reference), ln2)};
  }
  Value isUnset = math.isEqual(reference, math.constant(kInfinity));
  Value offset = math.select(isUnset, zero, reference);
  // The sink may be far above every key: both terms are taken relative to the
  // larger of the reference and the sink, so that neither overflows.
  Value extra = math.add(math.mul(sink, math.constant(kLog2E)), offset);
  Value top = math.max(extra, zero);
  Value shrink = math.exp2(math.sub(zero, top));
  Value total = math.add(math.mul(sum, shrink), math.exp2(math.sub(extra, top)));
  Value inverse = math.select(isEmpty, zero, math.div(shrink, total));
  // Likewise for lse: `top - offset` would be the sink with the rounding error of
  // the offset, which is that of the largest score.
  Value fromKeys = math.mul(math.log2Above(total, offset), ln2);
  Value fromSink = math.add(math.mul(math.log2Above(total, zero), ln2), sink);
  Value lse = math.select(math.isGreater(extra, zero), fromSink, fromKeys);
  return {inverse, math.select(isEmpty, sink, lse)};
}

void fa4::emitFinish(OpBuilder &builder, const ForwardPlan &plan, FinishInputs in) {
  Location loc = attn::ForwardOp(plan.op).getLoc();
  tile::FragType row = plan.getRowType();
  Value sink, firstRow, zero;
  if (in.sink) {
    sink = tile::FetchOp::create(builder, loc, builder.getF32Type(), in.sink, in.head);
  }
  if (in.queryLength) {
    Value rows = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(plan.rows));
    firstRow = arith::MulIOp::create(builder, loc, in.queryBlock, rows);
    zero = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  }
  auto map = tile::MapOp::create(
      builder, loc, TypeRange{row, row}, ValueRange{in.reference, in.sum}, firstRow, zero,
      [&](OpBuilder &body, Location, ValueRange arguments) {
        RowMath math(body, loc);
        RowResult result = finishRow(math, arguments[0], arguments[1], sink);
        if (in.queryLength) { // S1: a row past the used length
          Value isRow = arith::CmpIOp::create(body, loc, arith::CmpIPredicate::slt, arguments[2],
                                              in.queryLength);
          result.inverse = math.select(isRow, result.inverse, math.constant(0));
          result.lse = math.select(isRow, result.lse, math.constant(-kInfinity));
        }
        tile::YieldOp::create(body, loc, ValueRange{result.inverse, result.lse});
      });
  Value scaled = tile::ScaleRowsOp::create(builder, loc, in.output.getType(), in.output,
                                           map.getResult(0), /*likely_one=*/false);
  Value rounded = tile::CastOp::create(builder, loc, plan.getResultTile(), scaled);
  if (in.lse) {
    tile::StoreOp::create(builder, loc, /*add=*/false, map.getResult(1), in.lse,
                          plan.getLseCoordinates(in.batch, in.head, in.queryBlock));
  }
  tile::YieldOp::create(builder, loc, rounded);
}
