//===- LowerAsync.cpp - tile-lower-async ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Groups complete in order, so waiting for one is waiting until no more are open
// than were committed behind it. Counting takes the path with the fewest: a wait
// for a younger group than needed is a wait for the older one too.
//
//===----------------------------------------------------------------------===//

#include "RoleBarriers.h"

#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILELOWERASYNC
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

//===----------------------------------------------------------------------===//
// Counting
//===----------------------------------------------------------------------===//

static int64_t countAtLeast(Block &block, Group kind);

/// Groups of `kind` that `op` commits on every path through it.
static int64_t countAtLeast(Operation *op, Group kind) {
  if (auto commit = dyn_cast<GroupCommitOp>(op)) {
    return commit.getKind() == kind ? 1 : 0;
  }
  auto branch = dyn_cast<scf::IfOp>(op);
  if (!branch || branch.getElseRegion().empty()) {
    return 0; // a loop may have no trip
  }
  return std::min(countAtLeast(branch.getThenRegion().front(), kind),
                  countAtLeast(branch.getElseRegion().front(), kind));
}

static int64_t countAtLeast(Block &block, Group kind) {
  int64_t count = 0;
  for (Operation &op : block) {
    count += countAtLeast(&op, kind);
  }
  return count;
}

/// Groups that are committed on every path from `from` to `to`, both left out.
static int64_t countBetween(Operation *from, Operation *to, Group kind) {
  int64_t count = 0;
  while (to) {
    bool isHere = from->getBlock() == to->getBlock();
    for (Operation *op = to->getPrevNode(); op && op != from; op = op->getPrevNode()) {
      count += countAtLeast(op, kind);
    }
    if (isHere) {
      return count;
    }
    to = to->getParentOp();
  }
  return 0; // on another path: wait for all
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

namespace {
class StoreLowering {
public:
  explicit StoreLowering(IRRewriter &rewriter) : rewriter(rewriter) {}

  unsigned run(RoleOp role);

private:
  void issue(AsyncStoreOp store);
  void drain(AsyncStoreOp store);

  IRRewriter &rewriter;
  llvm::DenseMap<Value, Operation *> commits;
};
} // namespace

void StoreLowering::issue(AsyncStoreOp store) {
  rewriter.setInsertionPointAfter(store);
  Location loc = store.getLoc();
  IssueStoreOp::create(rewriter, loc, TypeRange(), store.getAddAttr(), store.getHandle(),
                       store.getViewAttr(), store.getElement(), store.getStaticElementAttr(),
                       store.getGlobal(), store.getCoordinates());
  commits[store.getResult()] = GroupCommitOp::create(rewriter, loc, Group::Bulk);
}

/// Waits at the end of the loop around `store`, or of the role, for a store that
/// nothing else waits for: what it reads is written again in the next trip, and
/// must outlive the copy.
void StoreLowering::drain(AsyncStoreOp store) {
  Operation *parent = store->getParentOp();
  while (!isa<scf::ForOp, ForEachTileOp, RoleOp>(parent)) {
    parent = parent->getParentOp();
  }
  Block &block = parent->getRegion(0).front();
  rewriter.setInsertionPointToEnd(&block);
  if (!isa<RoleOp>(parent)) {
    rewriter.setInsertionPoint(block.getTerminator());
  }
  Operation *last = rewriter.getInsertionPoint() == block.begin()
                        ? nullptr
                        : &*std::prev(rewriter.getInsertionPoint());
  auto wait = dyn_cast_or_null<GroupWaitOp>(last);
  if (wait && wait.getKind() == Group::Bulk && wait.getPending() == 0) {
    return;
  }
  GroupWaitOp::create(rewriter, store.getLoc(), TypeRange(), Group::Bulk, /*pending=*/0,
                      /*read=*/true, ValueRange());
}

unsigned StoreLowering::run(RoleOp role) {
  SmallVector<AsyncStoreOp> stores;
  SmallVector<AwaitOp> awaits;
  role.walk([&](Operation *op) {
    if (auto store = dyn_cast<AsyncStoreOp>(op)) {
      stores.push_back(store);
    } else if (auto await = dyn_cast<AwaitOp>(op)) {
      awaits.push_back(await);
    }
  });
  for (AsyncStoreOp store : stores) {
    issue(store);
  }
  for (AwaitOp await : awaits) {
    Operation *commit = commits.lookup(await.getAsync());
    int64_t pending = commit ? countBetween(commit, await, Group::Bulk) : 0;
    rewriter.setInsertionPoint(await);
    GroupWaitOp::create(rewriter, await.getLoc(), TypeRange(), Group::Bulk, pending,
                        /*read=*/true, ValueRange());
  }
  for (AsyncStoreOp store : stores) {
    if (store->use_empty()) {
      drain(store);
    }
  }
  for (AwaitOp await : awaits) {
    rewriter.eraseOp(await);
  }
  for (AsyncStoreOp store : stores) {
    rewriter.eraseOp(store);
  }
  return stores.size();
}

//===----------------------------------------------------------------------===//
// Products on registers
//===----------------------------------------------------------------------===//

/// The group that holds the product `issue`: its commit is the next one.
static Operation *findCommit(Operation *issue) {
  for (Operation *op = issue->getNextNode(); op; op = op->getNextNode()) {
    auto commit = dyn_cast<GroupCommitOp>(op);
    if (commit && commit.getKind() == Group::Wgmma) {
      return commit;
    }
  }
  return nullptr;
}

static void countProducts(RoleOp role) {
  role.walk([](GroupWaitOp wait) {
    if (wait.getKind() != Group::Wgmma || wait.getValues().empty()) {
      return;
    }
    std::optional<int64_t> pending;
    for (Value value : wait.getValues()) {
      Operation *issue = value.getDefiningOp<IssueMmaOp>();
      Operation *commit = issue ? findCommit(issue) : nullptr;
      int64_t later = commit ? countBetween(commit, wait, Group::Wgmma) : 0;
      pending = std::min(pending.value_or(later), later);
    }
    wait.setPending(*pending);
  });
}

static LogicalResult verifyStore(AsyncStoreOp store) {
  if (store.getHandle() && isa<TokenType>(store.getHandle().getType())) {
    return store.emitOpError() << "expected channels to be lowered first; run tile-lower-channels";
  }
  for (Operation *user : store->getUsers()) {
    if (!isa<AwaitOp>(user)) {
      InFlightDiagnostic diag = store.emitOpError()
                                << "expected the completion of a store to be awaited only, but "
                                   "got another use";
      diag.attachNote(user->getLoc()) << "the use is here";
      return diag;
    }
  }
  return success();
}

static LogicalResult verifyAwait(AwaitOp await) {
  if (await.getAsync().getDefiningOp<AsyncStoreOp>()) {
    return success();
  }
  return await.emitOpError() << "expected to await a store or a product with a value, but got "
                                "another op; what signals a channel is waited for there";
}

namespace {
struct LowerAsync : public fa4::tile::impl::TileLowerAsyncBase<LowerAsync> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    WalkResult verified = kernel.walk([](Operation *op) {
      if (auto store = dyn_cast<AsyncStoreOp>(op)) {
        return WalkResult(verifyStore(store));
      }
      auto await = dyn_cast<AwaitOp>(op);
      return await ? WalkResult(verifyAwait(await)) : WalkResult::advance();
    });
    if (verified.wasInterrupted()) {
      return signalPassFailure();
    }
    IRRewriter rewriter(kernel.getContext());
    for (auto role : kernel.getBody().getOps<RoleOp>()) {
      numStores += StoreLowering(rewriter).run(role);
      countProducts(role);
    }
    numRoleBarriers += insertRoleBarriers(kernel);
  }
};
} // namespace
