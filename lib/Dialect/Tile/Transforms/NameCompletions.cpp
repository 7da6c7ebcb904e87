//===- NameCompletions.cpp - what tokens end after --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slot may change hands when everything that an engine does to it is complete.
// Where all of that was issued in the block of the commit or release, its ops are
// named; where some was issued in another, all that was issued before. A token that
// ends after all others' ops names them where they are stores of its block: no
// engine reports those, the role itself waits for them.
//
//===----------------------------------------------------------------------===//

#include "PartitionRoles.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace fa4::tile;

using AsyncOps = llvm::SetVector<Operation *>;

/// Whether a later product onto the same accumulator is complete only after `op`.
static bool isCovered(Operation *op, const AsyncOps &ops) {
  auto product = dyn_cast<AsyncMmaOp>(op);
  return product && product.getAcc() && llvm::any_of(ops, [&](Operation *other) {
           auto later = dyn_cast<AsyncMmaOp>(other);
           return later && op != other && later.getAcc() == product.getAcc() &&
                  op->isBeforeInBlock(other);
         });
}

/// The stores that `end` comes after, if they are all that its role issues and stand
/// in its block.
static AsyncOps findStoresBefore(Operation *end) {
  AsyncOps stores;
  bool onlyStores = true;
  end->getParentOfType<RoleOp>().walk([&](AsyncOpInterface op) {
    onlyStores &= op.getEngine() == Engine::Store && op->getBlock() == end->getBlock();
    if (onlyStores && op->isBeforeInBlock(end)) {
      stores.insert(op);
    }
  });
  return onlyStores ? stores : AsyncOps();
}

template <typename EndOp>
static void nameCompletion(RewriterBase &rewriter, EndOp end,
                           const llvm::DenseMap<Operation *, AsyncOps> &opsOfStart) {
  AsyncOps ops;
  for (Operation *start : findTokenStarts(end.getToken())) {
    if (auto it = opsOfStart.find(start); it != opsOfStart.end()) {
      ops.insert_range(it->second);
    }
  }
  bool isLocal = llvm::all_of(ops, [&](Operation *op) {
    return op->getBlock() == end->getBlock() &&
           llvm::is_contained(op->getOperands(), end.getToken());
  });
  if (end.getAfterAll() && ops.empty()) {
    ops = findStoresBefore(end);
    isLocal = !ops.empty();
    rewriter.modifyOpInPlace(end, [&] { end.setAfterAll(!isLocal); });
  }
  rewriter.modifyOpInPlace(end, [&] {
    if (!isLocal) {
      end.setAfterAll(true);
      return;
    }
    for (Operation *op : ops) {
      if (!isCovered(op, ops)) {
        end.getAfterMutable().append(op->getResult(0));
      }
    }
  });
}

void fa4::tile::nameCompletions(RewriterBase &rewriter, RoleOp role) {
  llvm::DenseMap<Operation *, AsyncOps> opsOfStart;
  role.walk([&](AsyncOpInterface op) {
    auto product = dyn_cast<AsyncMmaOp>(op.getOperation());
    if (product && cast<AsyncType>(product.getResult().getType()).getValue()) {
      return; // awaited by the role itself, before it gives the token back
    }
    for (Value operand : op->getOperands()) {
      if (!isa<TokenType>(operand.getType())) {
        continue;
      }
      for (Operation *start : findTokenStarts(operand)) {
        opsOfStart[start].insert(op);
      }
    }
  });
  role.walk([&](Operation *op) {
    if (auto commit = dyn_cast<CommitOp>(op)) {
      nameCompletion(rewriter, commit, opsOfStart);
    } else if (auto release = dyn_cast<ReleaseOp>(op)) {
      nameCompletion(rewriter, release, opsOfStart);
    }
  });
}
