//===- BarrierDrains.cpp - arrivals that must be seen before exit ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A waiter with credit is as many generations behind as its barrier has slots: at
// the end that many are left, and its cursor stands before the first of them. A
// waiter without credit has seen all. This runs when no more waits are dropped, so
// that a half that goes altogether needs none.
//
//===----------------------------------------------------------------------===//

#include "BarrierDrains.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSet.h"

#include <set>

using namespace mlir;
using namespace fa4::tile;

/// The result of a role's tile loop that `cursor`, a value inside it, is carried to;
/// null if it is not carried, or started without credit.
static Value findFinalCursor(Value cursor) {
  Value last;
  while (cursor) {
    if (auto argument = dyn_cast<BlockArgument>(cursor)) {
      Operation *parent = argument.getOwner()->getParentOp();
      if (auto loop = dyn_cast<scf::ForOp>(parent)) {
        cursor = loop.getTiedLoopInit(argument)->get();
      } else if (auto tiles = dyn_cast<ForEachTileOp>(parent)) {
        unsigned number = argument.getArgNumber() - tiles.getNumTileArgs();
        last = tiles.getResults()[number];
        cursor = tiles.getInits()[number];
      } else {
        return {};
      }
      continue;
    }
    Operation *op = cursor.getDefiningOp();
    unsigned number = cast<OpResult>(cursor).getResultNumber();
    if (auto start = dyn_cast<CursorOp>(op)) {
      return start.getCredit() ? last : Value();
    }
    if (auto advance = dyn_cast<AdvanceOp>(op)) {
      cursor = advance.getCursor();
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      cursor = loop.getInits()[number];
    } else {
      return {};
    }
  }
  return {};
}

unsigned fa4::tile::insertExitDrains(KernelOp kernel) {
  llvm::StringSet<> committed;
  kernel.walk([&](BarrierCommitOp commit) { committed.insert(commit.getBarrier()); });
  unsigned number = 0;
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    using Element = std::tuple<StringRef, const void *, const void *>;
    std::set<Element> drained;
    auto elementOf = [](BarrierWaitOp wait) -> Element {
      return {wait.getBarrier(), wait.getElement().getAsOpaquePointer(),
              wait.getStaticElementAttr().getAsOpaquePointer()};
    };
    SmallVector<BarrierWaitOp> waits;
    role.walk([&](BarrierWaitOp wait) {
      if (wait->getParentOp() == role) {
        drained.insert(elementOf(wait));
      } else if (committed.contains(wait.getBarrier())) {
        waits.push_back(wait);
      }
    });
    Operation *behind = nullptr;
    for (BarrierWaitOp wait : waits) {
      Value cursor = findFinalCursor(wait.getCursor());
      if (!cursor || cursor.getParentRegion() != &role.getBody() ||
          !drained.insert(elementOf(wait)).second) {
        continue;
      }
      OpBuilder builder(kernel.getContext());
      if (!behind || behind->isBeforeInBlock(cursor.getDefiningOp())) {
        behind = cursor.getDefiningOp();
      }
      builder.setInsertionPointAfter(behind);
      int64_t depth = cast<CursorType>(cursor.getType()).getDepth();
      for (int64_t slot = 0; slot < depth; ++slot) {
        if (slot > 0) {
          cursor = AdvanceOp::create(builder, wait.getLoc(), cursor);
        }
        behind = BarrierWaitOp::create(builder, wait.getLoc(), TypeRange(), cursor,
                                       wait.getBarrierAttr(), wait.getElement(),
                                       wait.getStaticElementAttr());
        ++number;
      }
    }
  }
  return number;
}
