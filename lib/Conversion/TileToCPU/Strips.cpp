//===- Strips.cpp - loops over tiles and strips of them -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Extents are static, so a loop never needs a mask: full strips in a loop, then
// one narrower strip.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fa4::tile::cpu {

Value indexConstant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value addIndex(ImplicitLocOpBuilder &b, Value base, int64_t offset) {
  return offset == 0 ? base : arith::AddIOp::create(b, base, indexConstant(b, offset)).getResult();
}

Value floatConstant(ImplicitLocOpBuilder &b, Type type, double value) {
  FloatAttr scalar = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type)) {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, scalar));
  }
  return arith::ConstantOp::create(b, scalar);
}

Value broadcast(ImplicitLocOpBuilder &b, Value value, int64_t width) {
  if (isa<VectorType>(value.getType())) {
    return value;
  }
  return vector::BroadcastOp::create(b, VectorType::get({width}, value.getType()), value);
}

Value consecutive(ImplicitLocOpBuilder &b, Value first, int64_t width) {
  SmallVector<int32_t> lanes(width);
  for (int64_t lane = 0; lane < width; ++lane) {
    lanes[lane] = static_cast<int32_t>(lane);
  }
  Value steps = arith::ConstantOp::create(b, b.getI32VectorAttr(lanes));
  return arith::AddIOp::create(b, broadcast(b, first, width), steps);
}

void forEach(ImplicitLocOpBuilder &b, int64_t begin, int64_t end, int64_t step,
             llvm::function_ref<void(ImplicitLocOpBuilder &, Value)> body) {
  if (begin >= end) {
    return;
  }
  Value first = indexConstant(b, begin);
  if (begin + step >= end) {
    body(b, first);
    return;
  }
  auto loop = scf::ForOp::create(b, first, indexConstant(b, end), indexConstant(b, step));
  ImplicitLocOpBuilder inner(b.getLoc(), b.getContext());
  inner.setInsertionPointToStart(loop.getBody());
  body(inner, loop.getInductionVar());
}

static void forEachColumnStrip(ImplicitLocOpBuilder &b, Value row, int64_t begin, int64_t end,
                               StripBody body) {
  int64_t full = begin + (end - begin) / kStrip * kStrip;
  forEach(b, begin, full, kStrip, [&](ImplicitLocOpBuilder &inner, Value column) {
    body(inner, Strip{row, column, kStrip});
  });
  if (full != end) {
    body(b, Strip{row, indexConstant(b, full), end - full});
  }
}

void forEachStrip(ImplicitLocOpBuilder &b, ArrayRef<int64_t> shape, int64_t columnBegin,
                  int64_t columnEnd, StripBody body) {
  forEach(b, 0, shape[0], 1, [&](ImplicitLocOpBuilder &inner, Value row) {
    forEachColumnStrip(inner, row, columnBegin, columnEnd, body);
  });
}

void forEachStrip(ImplicitLocOpBuilder &b, ArrayRef<int64_t> shape, StripBody body) {
  if (shape.size() == 1) {
    forEachColumnStrip(b, Value(), 0, shape[0], body);
  } else {
    forEachStrip(b, shape, 0, shape[1], body);
  }
}

Type getStorageType(Type element) {
  Builder b(element.getContext());
  if (isa<Float16Type, BFloat16Type, Float32Type>(element)) {
    return b.getF32Type();
  }
  // A vector of i1 is packed in memory, a memref of i1 is not.
  if (element.isInteger(1)) {
    return b.getI8Type();
  }
  if (isa<Float64Type>(element) || element.isInteger(8) || element.isInteger(16) ||
      element.isInteger(32) || element.isInteger(64)) {
    return element;
  }
  return Type();
}

static Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type)) {
    return vector.clone(element);
  }
  return element;
}

Value toStorage(ImplicitLocOpBuilder &b, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  Type storage = getStorageType(element);
  if (storage == element) {
    return value;
  }
  Type type = withElement(value.getType(), storage);
  if (element.isInteger(1)) {
    return arith::ExtUIOp::create(b, type, value);
  }
  return arith::ExtFOp::create(b, type, value);
}

Value fromStorage(ImplicitLocOpBuilder &b, Value stored, Type element) {
  if (getElementTypeOrSelf(stored.getType()) == element) {
    return stored;
  }
  Type type = withElement(stored.getType(), element);
  if (element.isInteger(1)) {
    return arith::TruncIOp::create(b, type, stored);
  }
  return arith::TruncFOp::create(b, type, stored);
}

static SmallVector<Value, 2> indicesOf(const Strip &strip) {
  if (strip.row) {
    return {strip.row, strip.column};
  }
  return {strip.column};
}

Value loadStrip(ImplicitLocOpBuilder &b, Value buffer, const Strip &strip) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  return vector::LoadOp::create(b, VectorType::get({strip.width}, element), buffer,
                                indicesOf(strip));
}

void storeStrip(ImplicitLocOpBuilder &b, Value vector, Value buffer, const Strip &strip) {
  vector::StoreOp::create(b, vector, buffer, indicesOf(strip));
}

void copyTile(ImplicitLocOpBuilder &b, Value from, Value to) {
  if (from == to) {
    return;
  }
  forEachStrip(b, cast<MemRefType>(to.getType()).getShape(),
               [&](ImplicitLocOpBuilder &inner, const Strip &strip) {
                 storeStrip(inner, loadStrip(inner, from, strip), to, strip);
               });
}

} // namespace fa4::tile::cpu
