//===- SinkStores.cpp - let a copy start before its thread's stores -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A proxy fence waits for every access that its thread has made, also for stores to
// global memory that nobody here reads. They are done behind the copy that the fence
// is for.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;

namespace fa4::tile::gpu {

/// The argument of the kernel that `value` is in a role, as what the role uses.
static Value findOuter(Value value) {
  while (auto part = value.getDefiningOp<SubrangeOp>()) {
    value = part.getGlobal();
  }
  auto argument = dyn_cast<BlockArgument>(value);
  auto role = argument ? dyn_cast<RoleOp>(argument.getOwner()->getParentOp()) : RoleOp();
  if (!role) {
    return value;
  }
  unsigned leading = role.getBody().getNumArguments() - role.getUses().size();
  return role.getUses()[argument.getArgNumber() - leading];
}

/// The globals that threads of `kernel` store to and that nothing else touches.
static llvm::DenseSet<Value> findWrittenOnly(KernelOp kernel) {
  llvm::DenseSet<Value> written, touched;
  kernel.walk([&](Operation *op) {
    if (isa<RoleOp, WorkOp, SubrangeOp>(op)) {
      return;
    }
    for (Value operand : op->getOperands()) {
      if (isa<GlobalType>(operand.getType())) {
        (isa<StoreOp>(op) ? written : touched).insert(findOuter(operand));
      }
    }
  });
  for (Value global : touched) {
    written.erase(global);
  }
  return written;
}

void sinkStores(KernelOp kernel) {
  llvm::DenseSet<Value> written = findWrittenOnly(kernel);
  SmallVector<StoreOp> stores;
  kernel.walk([&](StoreOp store) {
    if (written.contains(findOuter(store.getGlobal()))) {
      stores.push_back(store);
    }
  });
  for (StoreOp store : stores) {
    Operation *last = nullptr;
    for (Operation *next = store->getNextNode();
         isa_and_nonnull<FenceOp, RoleSyncOp, StoreOp, IssueStoreOp, GroupCommitOp>(next);
         next = next->getNextNode()) {
      last = isa<GroupCommitOp>(next) ? next : last;
    }
    if (last) {
      store->moveAfter(last);
    }
  }
}

} // namespace fa4::tile::gpu
