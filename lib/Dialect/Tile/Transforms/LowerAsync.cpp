//===- LowerAsync.cpp - tile-lower-async ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a role waits for itself is counted in groups: one group per store, and a
// wait lets as many groups stay open as were closed after the awaited one.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILELOWERASYNC
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

namespace {
class LowerAsync : public fa4::tile::impl::TileLowerAsyncBase<LowerAsync> {
  void runOnOperation() override;
};
} // namespace

/// Whether something between `from` and `to`, which stand in one block, issues
/// stores where they cannot be counted.
static bool storesInRegions(Operation *from, Operation *to) {
  for (Operation *op = from->getNextNode(); op != to; op = op->getNextNode()) {
    if (op->getNumRegions() != 0 &&
        op->walk([](AsyncStoreOp) { return WalkResult::interrupt(); }).wasInterrupted()) {
      return true;
    }
  }
  return false;
}

static LogicalResult lowerAwait(AwaitOp await) {
  auto store = await.getAsync().getDefiningOp<AsyncStoreOp>();
  if (!store) {
    return await.emitOpError() << "expected to await a store, but got another op; waits for "
                                  "products of fragments have no lowering yet";
  }
  if (store->getBlock() != await->getBlock() || storesInRegions(store, await)) {
    InFlightDiagnostic diag = await.emitOpError()
                              << "expected a store to be awaited in its block, with no store in a "
                                 "loop or branch between";
    diag.attachNote(store.getLoc()) << "the store is here";
    return diag;
  }
  int64_t later = 0;
  for (Operation *op = store->getNextNode(); op != await; op = op->getNextNode()) {
    later += isa<AsyncStoreOp>(op) ? 1 : 0;
  }
  OpBuilder builder(await);
  GroupWaitOp::create(builder, await.getLoc(), TypeRange(), Group::Bulk,
                      static_cast<uint64_t>(later), /*read=*/true, ValueRange());
  // R7: the lane that waited tells the warps that write the memory next.
  if (await->getParentOfType<RoleOp>().getWarps() > 1) {
    RoleSyncOp::create(builder, await.getLoc());
  }
  await.erase();
  return success();
}

static void lowerStore(AsyncStoreOp store) {
  OpBuilder builder(store);
  // R7: an engine reads what all warps wrote.
  if (store->getParentOfType<RoleOp>().getWarps() > 1) {
    RoleSyncOp::create(builder, store.getLoc());
  }
  IssueStoreOp::create(builder, store.getLoc(), store.getAddAttr(), store.getHandle(),
                       store.getViewAttr(), store.getElement(), store.getStaticElementAttr(),
                       store.getGlobal(), store.getCoordinates());
  GroupCommitOp::create(builder, store.getLoc(), Group::Bulk);
  store.erase();
}

void LowerAsync::runOnOperation() {
  SmallVector<AwaitOp> awaits;
  SmallVector<AsyncStoreOp> stores;
  getOperation().walk([&](Operation *op) {
    if (auto await = dyn_cast<AwaitOp>(op)) {
      awaits.push_back(await);
    } else if (auto store = dyn_cast<AsyncStoreOp>(op)) {
      stores.push_back(store);
    }
  });
  for (AwaitOp await : awaits) {
    if (failed(lowerAwait(await))) {
      return signalPassFailure();
    }
  }
  for (AsyncStoreOp store : stores) {
    if (store.getHandle() && isa<TokenType>(store.getHandle().getType())) {
      store.emitOpError() << "expected channels to be lowered first; run tile-lower-channels";
      return signalPassFailure();
    }
    if (!store.getResult().use_empty()) {
      store.emitOpError() << "expected the completion of a store to be awaited only";
      return signalPassFailure();
    }
    lowerStore(store);
  }
}
