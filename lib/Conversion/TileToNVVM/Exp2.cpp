//===- Exp2.cpp - 2^x on the machine --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The IR emitter for the description in Numerics/Exp2.h, in the forms that
// become packed instructions: whole vectors, the directed addition pair by pair
// (or one by one) in PTX, the exponent inserted on vectors of i32. Same bits as the host's, but
// for subnormal x, which the machine takes for zero.
//
//===----------------------------------------------------------------------===//

#include "Values.h"

#include "fa4/Numerics/Exp2.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace fa4::tile::gpu {

namespace {
/// Operations on one vector type, an even number of f32.
struct MachineEmitter {
  using F32 = Value;
  struct I32 {
    Value value;
  };

  ImplicitLocOpBuilder &b;
  VectorType type;
  bool packed;

  VectorType integerType() { return VectorType::get(type.getShape(), b.getI32Type()); }

  F32 constant(float value) { return floatConstant(b, type, value); }
  F32 maxNum(F32 x, F32 y) { return arith::MaxNumFOp::create(b, x, y); }
  F32 addRoundDown(F32 x, F32 m) {
    if (!packed) {
      Value addend = takeLane(b, m, 0);
      SmallVector<Value> sums;
      for (int64_t lane = 0; lane < type.getDimSize(0); ++lane) {
        sums.push_back(emitPtx(b, b.getF32Type(), {takeLane(b, x, lane), addend},
                               "add.rm.ftz.f32 $0, $1, $2;", "=f,f,f"));
      }
      return fromLanes(b, b.getF32Type(), sums);
    }
    auto pair = VectorType::get({2}, b.getF32Type());
    Value addend = LLVM::BitcastOp::create(b, b.getI64Type(), takeLanes(b, m, 0, 2));
    SmallVector<Value> sums;
    for (int64_t lane = 0; lane < type.getDimSize(0); lane += 2) {
      Value bits = LLVM::BitcastOp::create(b, b.getI64Type(), takeLanes(b, x, lane, 2));
      Value sum =
          emitPtx(b, b.getI64Type(), {bits, addend}, "add.rm.ftz.f32x2 $0, $1, $2;", "=l,l,l");
      sums.push_back(LLVM::BitcastOp::create(b, pair, sum));
    }
    return joinLanes(b, sums);
  }
  F32 sub(F32 x, F32 y) { return arith::SubFOp::create(b, x, y); }
  F32 fma(F32 x, F32 y, F32 z) { return math::FmaOp::create(b, x, y, z); }
  I32 toBits(F32 x) { return {arith::BitcastOp::create(b, integerType(), x)}; }
  F32 fromBits(I32 x) { return arith::BitcastOp::create(b, type, x.value); }
  I32 shiftLeft(I32 x, unsigned bits) {
    return {arith::ShLIOp::create(b, x.value, intConstant(b, integerType(), bits))};
  }
  I32 add(I32 x, I32 y) { return {arith::AddIOp::create(b, x.value, y.value)}; }
};
} // namespace

Value emitExp2(ImplicitLocOpBuilder &b, Value x) {
  return math::Exp2Op::create(b, x, arith::FastMathFlags::afn);
}

Value emitExp2Polynomial(ImplicitLocOpBuilder &b, Value x, int64_t degree, bool packed) {
  int64_t width = 1;
  if (auto vector = dyn_cast<VectorType>(x.getType())) {
    width = vector.getDimSize(0);
  }
  // The packed addition wants pairs; a lane too many is computed for nothing.
  Value even = broadcast(b, x, 2);
  if (width % 2 == 1 && width > 1) {
    even = joinLanes(b, {even, takeLanes(b, even, 0, 1)});
  }
  MachineEmitter emitter{b, cast<VectorType>(even.getType()), packed};
  Value power = numerics::exp2Polynomial(emitter, even, static_cast<unsigned>(degree));
  return isa<VectorType>(x.getType()) ? takeLanes(b, power, 0, width) : takeLane(b, power, 0);
}

} // namespace fa4::tile::gpu
