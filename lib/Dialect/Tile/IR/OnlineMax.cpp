//===- OnlineMax.cpp - the online-softmax statistic -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every lowering emits the statistic from here. Order of operations matters: the
// offset and the factor derive from the same two rounded products.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/OnlineMax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <limits>

using namespace mlir;

static Value constant(OpBuilder &builder, Location loc, Type type, double value) {
  Attribute scalar = builder.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(shaped, scalar));
  }
  return arith::ConstantOp::create(builder, loc, cast<TypedAttr>(scalar));
}

fa4::tile::OnlineMaxValues fa4::tile::emitOnlineMax(OpBuilder &builder, Location loc, Value top,
                                                    Value reference, Value scale, double lag,
                                                    llvm::function_ref<Value(Value)> exp2) {
  Type type = top.getType();
  Value infinity = constant(builder, loc, type, std::numeric_limits<double>::infinity());
  Value zero = constant(builder, loc, type, 0.0);
  Value one = constant(builder, loc, type, 1.0);
  Value limit = constant(builder, loc, type, -lag);

  Value scaled = arith::MulFOp::create(builder, loc, top, scale);
  Value candidate = arith::NegFOp::create(builder, loc, scaled);
  Value distance = arith::SubFOp::create(builder, loc, candidate, reference);
  // Unordered: inf - inf, a row without a key before and now, keeps plus infinity.
  Value keep = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UGE, distance, limit);
  Value next = arith::SelectOp::create(builder, loc, keep, reference, candidate);
  Value empty = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, next, infinity);
  Value offset = arith::SelectOp::create(builder, loc, empty, zero, next);
  Value factor = arith::SelectOp::create(builder, loc, keep, one, exp2(distance));
  return {next, offset, factor};
}
