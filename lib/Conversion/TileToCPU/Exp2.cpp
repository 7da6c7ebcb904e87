//===- Exp2.cpp - 2^x as host code ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The IR emitter for the description in Numerics/Exp2.h: the code computes bit
// for bit what the host model computes. Works on f32 and on vectors of f32.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "fa4/Numerics/Exp2.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace fa4::tile::cpu {

namespace {
struct HostCodeEmitter {
  using F32 = Value;
  struct I32 {
    Value value;
  };

  ImplicitLocOpBuilder &b;
  Type type;

  Type integerType() {
    if (auto vector = dyn_cast<VectorType>(type)) {
      return vector.clone(b.getI32Type());
    }
    return b.getI32Type();
  }
  Value integerConstant(int32_t value) {
    Type integer = integerType();
    IntegerAttr scalar = b.getI32IntegerAttr(value);
    if (auto vector = dyn_cast<VectorType>(integer)) {
      return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, Attribute(scalar)));
    }
    return arith::ConstantOp::create(b, scalar);
  }

  F32 constant(float value) { return floatConstant(b, type, value); }
  F32 maxNum(F32 x, F32 y) { return arith::MaxNumFOp::create(b, x, y); }
  // Why floor and a plain addition are the directed addition: HostExp2Emitter.
  F32 addRoundDown(F32 x, F32 m) {
    return arith::AddFOp::create(b, math::FloorOp::create(b, x), m);
  }
  F32 add(F32 x, F32 y) { return arith::AddFOp::create(b, x, y); }
  F32 sub(F32 x, F32 y) { return arith::SubFOp::create(b, x, y); }
  F32 fma(F32 x, F32 y, F32 z) { return math::FmaOp::create(b, x, y, z); }
  F32 selectLess(F32 x, F32 y, F32 yes, F32 no) {
    Value less = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y);
    return arith::SelectOp::create(b, less, yes, no);
  }
  I32 toBits(F32 x) { return {arith::BitcastOp::create(b, integerType(), x)}; }
  F32 fromBits(I32 x) { return arith::BitcastOp::create(b, type, x.value); }
  I32 shiftLeft(I32 x, unsigned bits) {
    return {arith::ShLIOp::create(b, x.value, integerConstant(static_cast<int32_t>(bits)))};
  }
  I32 add(I32 x, I32 y) { return {arith::AddIOp::create(b, x.value, y.value)}; }
};
} // namespace

Value emitExp2(ImplicitLocOpBuilder &b, Value x) {
  HostCodeEmitter emitter{b, x.getType()};
  return numerics::exp2Accurate(emitter, x);
}

Value emitExp2Polynomial(ImplicitLocOpBuilder &b, Value x, int64_t degree) {
  HostCodeEmitter emitter{b, x.getType()};
  return numerics::exp2Polynomial(emitter, x, static_cast<unsigned>(degree));
}

} // namespace fa4::tile::cpu
