//===- Lowering.cpp - places as addresses ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place where an element and a slot become bytes or columns.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "ThreadLayout.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fa4::tile::gpu {

Lowering::Lowering(KernelOp kernel) : kernel(kernel), pairArrivals(kernel) {
  for (Operation &op : kernel.getBody().getOps()) {
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](PlacedAllocOp alloc) { allocs[alloc.getSymNameAttr()] = alloc; })
        .Case([&](ViewOp view) { views[view.getSymNameAttr()] = view; })
        .Case([&](BarrierOp barrier) { barriers[barrier.getSymNameAttr()] = barrier; })
        .Case([&](NamedBarrierOp named) { namedBarriers[named.getSymNameAttr()] = named; });
  }
}

Place::Place(FlatSymbolRefAttr symbol, Value handle, ValueRange cursor, ValueRange element,
             IntegerAttr staticElement)
    : symbol(symbol), cursor(cursor) {
  if (handle) {
    depth = cast<CursorType>(handle.getType()).getDepth();
  }
  if (staticElement) {
    knownElement = staticElement.getInt();
  } else if (!element.empty()) {
    this->element = element.front();
  }
}

NVVM::CTAGroupKind ctaGroupOf(const Lowering &lowering) {
  return lowering.isPair() ? NVVM::CTAGroupKind::CTA_2 : NVVM::CTAGroupKind::CTA_1;
}

Value i32Constant(OpBuilder &b, Location loc, int64_t value) {
  return LLVM::ConstantOp::create(b, loc, b.getI32Type(),
                                  b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value i64Constant(OpBuilder &b, Location loc, int64_t value) {
  return LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(value));
}

RegionOffset regionOffset(OpBuilder &b, Location loc, const Place &place, int64_t stride) {
  RegionOffset offset{place.knownElement * place.depth * stride, Value()};
  auto add = [&](Value number, int64_t scale) {
    Value scaled = LLVM::MulOp::create(b, loc, number, i32Constant(b, loc, scale));
    offset.rest =
        offset.rest ? LLVM::AddOp::create(b, loc, offset.rest, scaled).getResult() : scaled;
  };
  if (place.element) {
    add(place.element, place.depth * stride);
  }
  if (place.depth > 1) {
    add(place.cursor.front(), stride);
  }
  return offset;
}

int64_t getPanelPitch(ViewOp view) {
  auto layout = cast<SmemLayoutAttr>(view.getLayout());
  int64_t stated = layout.getPanel();
  return stated != 0 ? stated : view.getTileType().getRows() * layout.getSwizzle();
}

const RoleContext &Lowering::role(Operation *op) const {
  LLVM::LLVMFuncOp holder = function;
  return roles.find(holder.getBody().findAncestorBlockInRegion(*op->getBlock()))->second;
}

/// `base` plus `offset` plus `known` bytes. The known part comes last: it becomes
/// part of the access.
static Value bytePointer(OpBuilder &b, Location loc, Value base, RegionOffset offset,
                         int64_t known) {
  if (offset.rest) {
    base = LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{offset.rest});
  }
  return LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset.known + known)});
}

Value Lowering::smemPointer(OpBuilder &b, Location loc, const RoleContext &role, const Place &place,
                            int64_t offset) const {
  ViewOp named = view(place.symbol);
  PlacedAllocOp memory = allocOf(named);
  return bytePointer(b, loc, role.smem,
                     regionOffset(b, loc, place, static_cast<int64_t>(memory.getStride())),
                     static_cast<int64_t>(memory.getStart() + named.getOffset()) + offset);
}

Value Lowering::barrierPointer(OpBuilder &b, Location loc, const RoleContext &role,
                               const Place &place) const {
  return bytePointer(b, loc, role.smem, regionOffset(b, loc, place, BarrierOp::kBytes),
                     static_cast<int64_t>(barrier(place.symbol).getStart()));
}

Value Lowering::leaderBarrierPointer(OpBuilder &b, Location loc, const RoleContext &role,
                                     const Place &place) const {
  auto cluster = LLVM::LLVMPointerType::get(b.getContext(), kClusterSpace);
  return NVVM::MapaOp::create(b, loc, cluster, barrierPointer(b, loc, role, place),
                              i32Constant(b, loc, kLeaderRank));
}

Value Lowering::tmemAddress(OpBuilder &b, Location loc, const RoleContext &role, const Place &place,
                            int64_t column) const {
  ViewOp named = view(place.symbol);
  PlacedAllocOp memory = allocOf(named);
  RegionOffset offset = regionOffset(b, loc, place, static_cast<int64_t>(memory.getStride()));
  Value address = role.tmem;
  if (offset.rest) {
    address = LLVM::AddOp::create(b, loc, address, offset.rest);
  }
  int64_t known =
      offset.known + static_cast<int64_t>(memory.getStart() + named.getOffset()) + column;
  return LLVM::AddOp::create(b, loc, address, i32Constant(b, loc, known));
}

Value Lowering::tmemPointer(OpBuilder &b, Location loc, const RoleContext &role, const Place &place,
                            int64_t column, bool ownLanes) const {
  Value address = tmemAddress(b, loc, role, place, column);
  if (ownLanes) {
    // A warp reaches the 32 lanes of its place in its warpgroup; the lane is in
    // the upper half of an address.
    constexpr int64_t laneOfWarpShift = 21;
    Value lanes = LLVM::ShlOp::create(b, loc, role.warp, i32Constant(b, loc, laneOfWarpShift));
    address = LLVM::AddOp::create(b, loc, address, lanes);
  }
  return LLVM::IntToPtrOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext(), kTensorSpace),
                                  address);
}

void Lowering::emitByOne(OpBuilder &b, Location loc, const RoleContext &role,
                         llvm::function_ref<void(OpBuilder &)> body) const {
  auto guard = scf::IfOp::create(b, loc, role.issues);
  OpBuilder inner = guard.getThenBodyBuilder(b.getListener());
  body(inner);
}

TileToNVVMTypeConverter::TileToNVVMTypeConverter() {
  // The last one added is asked first.
  addConversion([](Type type) -> std::optional<Type> {
    if (isa<TileDialect>(type.getDialect())) {
      return Type();
    }
    return type;
  });
  addConversion([](GlobalType type) -> Type {
    return LLVM::LLVMPointerType::get(type.getContext(), kGlobalSpace);
  });
  addConversion([](CursorType type, SmallVectorImpl<Type> &types) -> LogicalResult {
    // Behind the types of other values, which the list may hold already.
    types.append(type.getDepth() > 1 ? 2 : 1, IntegerType::get(type.getContext(), 32));
    return success();
  });
  addConversion([](FragType type) -> Type {
    std::optional<ThreadLayout> layout = ThreadLayout::find(type);
    return layout ? layout->registerType() : Type();
  });
}

} // namespace fa4::tile::gpu
