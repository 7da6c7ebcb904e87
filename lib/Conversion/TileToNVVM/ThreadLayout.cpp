//===- ThreadLayout.cpp - what a thread holds of a tile -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// D's fragment and A's of 16 bits are one layout: a product's result becomes an
// operand by converting its lanes where they are.
//
//===----------------------------------------------------------------------===//

#include "ThreadLayout.h"

#include "Values.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fa4::tile::gpu {

std::optional<ThreadLayout> ThreadLayout::find(FragType type) {
  auto spread = dyn_cast_or_null<SpreadAttr>(type.getLayout());
  if (!spread) {
    return std::nullopt;
  }
  switch (spread.getValue()) {
  case Spread::Rows:
    return ThreadLayout(type, /*fragment=*/false);
  case Spread::Columns:
    if (type.isRow() || type.getRows() != 1) {
      return std::nullopt;
    }
    return ThreadLayout(type, /*fragment=*/false);
  case Spread::Quad:
    if (!type.isRow()) {
      return std::nullopt;
    }
    return ThreadLayout(type, /*fragment=*/true);
  case Spread::Acc:
  case Spread::A16:
    if (type.isRow() || type.getColumns() % kGroup != 0) {
      return std::nullopt;
    }
    return ThreadLayout(type, /*fragment=*/true);
  case Spread::Rows2:
  case Spread::Columns2:
    return std::nullopt;
  }
  llvm_unreachable("all spreads are listed");
}

Type ThreadLayout::registerType() const {
  if (type.isRow() && rows() == 1) {
    return type.getElementType();
  }
  return VectorType::get({lanes()}, type.getElementType());
}

std::optional<int64_t> ThreadLayout::rowsOfRole(int64_t warps, int64_t threadsPerWarp) const {
  if (!fragment) {
    return warps * threadsPerWarp;
  }
  constexpr int64_t warpsPerWarpgroup = 4; // PTX ISA: who executes a wgmma
  return warps == warpsPerWarpgroup ? std::optional(warps * kRowsPerWarp) : std::nullopt;
}

Value ThreadLayout::rowNumber(ImplicitLocOpBuilder &b, const RoleContext &role, int64_t row) const {
  if (!fragment) {
    return role.thread;
  }
  constexpr int64_t lanesPerRowLog2 = 2;
  Type i32 = b.getI32Type();
  Value ofWarp = arith::MulIOp::create(b, role.warp, intConstant(b, i32, kRowsPerWarp));
  Value inWarp = arith::ShRUIOp::create(b, role.lane, intConstant(b, i32, lanesPerRowLog2));
  Value first = arith::AddIOp::create(b, ofWarp, inWarp);
  return row == 0 ? first
                  : arith::AddIOp::create(b, first, intConstant(b, i32, kRowDistance)).getResult();
}

Value ThreadLayout::firstColumn(ImplicitLocOpBuilder &b, const RoleContext &role) const {
  if (!fragment) {
    return Value();
  }
  Type i32 = b.getI32Type();
  Value inQuad = arith::AndIOp::create(b, role.lane, intConstant(b, i32, threadsPerRow() - 1));
  return arith::MulIOp::create(b, inQuad, intConstant(b, i32, kRun));
}

Value ThreadLayout::isFirstOfRow(ImplicitLocOpBuilder &b, const RoleContext &role) const {
  if (!fragment) {
    return Value();
  }
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, firstColumn(b, role),
                               intConstant(b, b.getI32Type(), 0));
}

Value ThreadLayout::reduceRow(ImplicitLocOpBuilder &b, Value value,
                              llvm::function_ref<Value(Value, Value)> combine) const {
  constexpr int64_t lastLane = 31;
  for (int64_t distance = threadsPerRow() / 2; distance > 0; distance /= 2) {
    Type i32 = b.getI32Type();
    Value other = NVVM::ShflOp::create(b, value.getType(), intConstant(b, i32, kAllLanes), value,
                                       intConstant(b, i32, distance), intConstant(b, i32, lastLane),
                                       NVVM::ShflKind::bfly, UnitAttr());
    value = combine(value, other);
  }
  return value;
}

Value ThreadLayout::numberOf(ImplicitLocOpBuilder &b, Value numbers, int64_t row) const {
  return rows() == 1 ? numbers : takeLane(b, numbers, row);
}

Value ThreadLayout::joinNumbers(ImplicitLocOpBuilder &b, ArrayRef<Value> numbers) const {
  return rows() == 1 ? numbers.front() : fromLanes(b, numbers.front().getType(), numbers);
}

Value ThreadLayout::spreadNumbers(ImplicitLocOpBuilder &b, Value numbers) const {
  if (rows() == 1) {
    return broadcast(b, numbers, lanes());
  }
  SmallVector<int32_t> from;
  for (int64_t lane = 0; lane < lanes(); ++lane) {
    from.push_back(static_cast<int32_t>(rowOf(lane)));
  }
  return pickLanes(b, numbers, from);
}

} // namespace fa4::tile::gpu
