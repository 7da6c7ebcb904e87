//===- VerifyT2.cpp - tile-verify-t2 -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that passes has every byte, column, barrier, count and warp written
// down, consistently. Order and phases are the proof's.
//
//===----------------------------------------------------------------------===//

#include "PlacedKernel.h"
#include "VerifyPhase.h"

#include "fa4/Dialect/Tile/Analysis/TileLoops.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Dialect/Tile/Transforms/VerifyPlaced.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEVERIFYT2
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

PlacedKernel::PlacedKernel(KernelOp kernel) : kernel(kernel) {
  for (Operation &op : kernel.getBody().getOps()) {
    if (auto alloc = dyn_cast<PlacedAllocOp>(op)) {
      allocs[alloc.getSymName()] = alloc;
    } else if (auto view = dyn_cast<ViewOp>(op)) {
      views[view.getSymName()] = view;
    } else if (auto barrier = dyn_cast<BarrierOp>(op)) {
      barriers[barrier.getSymName()] = barrier;
    } else if (auto named = dyn_cast<NamedBarrierOp>(op)) {
      namedBarriers[named.getSymName()] = named;
    }
  }
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

static LogicalResult verifyTopLevel(KernelOp kernel) {
  for (Operation &op : kernel.getBody().getOps()) {
    if (!isa<PlacedAllocOp, ViewOp, BarrierOp, NamedBarrierOp, RoleOp, SetupOp, TeardownOp, WorkOp>(
            op)) { // T2.P
      return op.emitOpError() << "expected a kernel at T2 to hold work, placed memory, barriers, "
                                 "roles, set-up and tear-down directly";
    }
    if (isa<SetupOp, TeardownOp>(op)) {
      WalkResult result = op.walk([&](Operation *inner) {
        if (inner == &op || isScalarDialectOp(inner) ||
            isa<TmemAllocOp, TmemFreeOp, FenceOp, RoleSyncOp, ClusterSyncOp>(inner)) {
          return WalkResult::advance();
        }
        inner->emitOpError() << "expected set-up and tear-down to allocate, free, fence and meet "
                                "only"; // T2.P
        return WalkResult::interrupt();
      });
      if (result.wasInterrupted()) {
        return failure();
      }
    }
    auto role = dyn_cast<RoleOp>(op);
    if (role && (!role.getFirstWarp() || !role.getRegs())) { // T2.P
      return role.emitOpError() << "expected a role to have a first warp and registers at T2, but "
                                   "got none";
    }
  }
  WalkResult result = kernel.walk<WalkOrder::PreOrder>([](Operation *op) {
    if (!isScalarDialectOp(op) && !op->hasTrait<AtT2>()) { // T2.P
      op->emitOpError() << "expected ops of a kernel to be T2, arith, math or scf ops";
      return WalkResult::interrupt();
    }
    return WalkResult(verifyLayouts(op, /*wanted=*/true, "T2")); // T2.L
  });
  return failure(result.wasInterrupted() || failed(verifyTileLoops(kernel)));
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

static LogicalResult verifyPlace(PlacedKernel &placed, Operation *op, Value handle,
                                 FlatSymbolRefAttr name, Value element, IntegerAttr fixed) {
  ViewOp view = placed.view(name);
  if (!view) { // T2.A
    return op->emitOpError() << "expected a view of the kernel, but got '" << name << "'";
  }
  if (handle && !isa<CursorType>(handle.getType())) { // T2.A
    return op->emitOpError() << "expected a cursor as the handle of '" << name << "', but got "
                             << handle.getType();
  }
  auto family = static_cast<int64_t>(placed.allocs.lookup(view.getAlloc()).getFamily());
  int64_t depth = handle ? cast<CursorType>(handle.getType()).getDepth() : 1;
  bool named = element || fixed;
  // Elements and slots together number the regions: element * depth + slot.
  if (family % depth != 0 || named != (family / depth > 1)) { // T2.A
    return op->emitOpError() << "expected element and cursor to address the " << family
                             << " regions of '" << name << "', but got "
                             << (named ? "an element" : "no element") << " and depth " << depth;
  }
  if (fixed && (fixed.getInt() < 0 || fixed.getInt() >= family / depth)) { // T2.A
    return op->emitOpError() << "expected element of '" << name << "' to be from 0 to "
                             << family / depth - 1 << ", but got " << fixed.getInt();
  }
  return success();
}

static LogicalResult verifyMma(PlacedKernel &placed, IssueMmaOp mma) {
  if ((mma.getAView() && failed(verifyPlace(placed, mma, mma.getA(), mma.getAViewAttr(),
                                            mma.getAElement(), mma.getStaticAElementAttr()))) ||
      failed(verifyPlace(placed, mma, mma.getB(), mma.getBViewAttr(), mma.getBElement(),
                         mma.getStaticBElementAttr())) ||
      (mma.getAccView() &&
       failed(verifyPlace(placed, mma, mma.getAcc(), mma.getAccViewAttr(), mma.getAccElement(),
                          mma.getStaticAccElementAttr())))) {
    return failure();
  }
  FragType a = mma.getAView() ? placed.view(mma.getAViewAttr()).getTileType()
                              : cast<FragType>(mma.getA().getType());
  FragType acc = mma.getAccView() ? placed.view(mma.getAccViewAttr()).getTileType()
                                  : cast<FragType>(mma.getResult().getType());
  return verifyProductExtents(mma, mma->getParentOfType<RoleOp>(), a,
                              placed.view(mma.getBViewAttr()), acc);
}

static LogicalResult verifyAccess(PlacedKernel &placed, Operation *op) {
  auto verifyTyped = [&](auto access, Value handle, Value element, IntegerAttr fixed,
                         Type type) -> LogicalResult {
    if (failed(verifyPlace(placed, op, handle, access.getViewAttr(), element, fixed))) {
      return failure();
    }
    return verifyTileOfView(op, placed.view(access.getViewAttr()), type);
  };
  if (auto read = dyn_cast<ReadOp>(op)) {
    return verifyTyped(read, read.getHandle(), read.getElement(), read.getStaticElementAttr(),
                       read.getResult().getType());
  }
  if (auto write = dyn_cast<WriteOp>(op)) {
    return verifyTyped(write, write.getHandle(), write.getElement(), write.getStaticElementAttr(),
                       write.getValue().getType());
  }
  if (auto load = dyn_cast<IssueLoadOp>(op)) {
    return verifyTyped(load, load.getSlot(), load.getViewElement(), load.getStaticViewElementAttr(),
                       load.getGlobal().getType());
  }
  if (auto store = dyn_cast<IssueStoreOp>(op)) {
    return verifyTyped(store, store.getSlot(), store.getViewElement(),
                       store.getStaticViewElementAttr(), store.getGlobal().getType());
  }
  if (auto rescale = dyn_cast<RescaleOp>(op)) {
    return verifyPlace(placed, op, rescale.getHandle(), rescale.getViewAttr(), rescale.getElement(),
                       rescale.getStaticElementAttr());
  }
  if (auto send = dyn_cast<IssueSendOp>(op)) {
    if (failed(verifyPlace(placed, op, Value(), send.getViewAttr(), Value(), IntegerAttr())) ||
        failed(verifyPlace(placed, op, Value(), send.getPeerViewAttr(), Value(), IntegerAttr()))) {
      return failure();
    }
    int64_t from = placed.view(send.getViewAttr()).getBytes();
    int64_t to = placed.view(send.getPeerViewAttr()).getBytes();
    if (from != to) { // T2.A
      return send.emitOpError() << "expected the views of a send to have one size, but got " << from
                                << " and " << to << " bytes";
    }
    return success();
  }
  if (auto next = dyn_cast<IssueNextOp>(op)) {
    return verifyPlace(placed, op, next.getSlot(), next.getViewAttr(), next.getViewElement(),
                       next.getStaticViewElementAttr());
  }
  if (auto mma = dyn_cast<IssueMmaOp>(op)) {
    return verifyMma(placed, mma);
  }
  return success();
}

static LogicalResult verifyAccesses(PlacedKernel &placed) {
  WalkResult result =
      placed.kernel.walk([&](Operation *op) { return WalkResult(verifyAccess(placed, op)); });
  return failure(result.wasInterrupted());
}

/// Every symbol that an op of the kernel names is one of the kernel, of the kind that the
/// attribute holds. Views are verifyAccess's.
static LogicalResult verifyNames(PlacedKernel &placed) {
  auto verify = [&](Operation *op, NamedAttribute attribute) -> LogicalResult {
    auto name = dyn_cast<FlatSymbolRefAttr>(attribute.getValue());
    StringRef kind = attribute.getName();
    if (!name || kind.ends_with("view")) {
      return success();
    }
    bool isNamed = kind == "after" || isa<NamedArriveOp, NamedSyncOp>(op);
    bool isKnown = isNamed             ? placed.namedBarriers.contains(name.getValue())
                   : kind == "barrier" ? placed.barriers.contains(name.getValue())
                                       : placed.kernel.lookupSymbol(name) != nullptr;
    return isKnown ? success()
                   : op->emitOpError() << "expected a " << kind << " of the kernel, but got '"
                                       << name << "'"; // T2.A
  };
  WalkResult result = placed.kernel.walk([&](Operation *op) {
    for (NamedAttribute attribute : op->getAttrDictionary()) {
      if (op != placed.kernel && failed(verify(op, attribute))) {
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult fa4::tile::verifyAccesses(KernelOp kernel) {
  PlacedKernel placed(kernel);
  return failure(failed(verifyNames(placed)) || failed(::verifyAccesses(placed)));
}

static LogicalResult verifyKernel(KernelOp kernel) {
  if (failed(verifyTopLevel(kernel))) {
    return failure();
  }
  PlacedKernel placed(kernel);
  return failure(failed(verifyPlacement(placed)) || failed(::verifyAccesses(placed)) ||
                 failed(verifyBarriers(placed)));
}

namespace {
struct VerifyT2 : public fa4::tile::impl::TileVerifyT2Base<VerifyT2> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk<WalkOrder::PreOrder>([](KernelOp kernel) {
      return failed(verifyKernel(kernel)) ? WalkResult::interrupt() : WalkResult::skip();
    });
    if (result.wasInterrupted()) {
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
