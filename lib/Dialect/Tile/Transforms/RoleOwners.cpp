//===- RoleOwners.cpp - which role runs which op ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything follows from the schedule's role map and the channels' ends; where
// they leave a choice the kernel is refused.
//
//===----------------------------------------------------------------------===//

#include "RoleOwners.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

/// The values that `token` is a name of: one step back.
static void appendOrigins(Value token, SmallVectorImpl<Value> &origins) {
  Operation *owner = token.getDefiningOp();
  auto argument = dyn_cast<BlockArgument>(token);
  if (argument) {
    owner = argument.getOwner()->getParentOp();
  }
  unsigned number = argument ? argument.getArgNumber() : cast<OpResult>(token).getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(owner)) {
    unsigned carried = argument ? number - loop.getNumInductionVars() : number;
    origins.push_back(loop.getInitArgs()[carried]);
    origins.push_back(loop.getYieldedValues()[carried]);
  } else if (auto tiles = dyn_cast<ForEachTileOp>(owner)) {
    unsigned carried = argument ? number - tiles.getNumTileArgs() : number;
    origins.push_back(tiles.getInits()[carried]);
    origins.push_back(tiles.getYield().getValues()[carried]);
  } else if (auto branch = dyn_cast<scf::IfOp>(owner)) {
    origins.push_back(branch.thenYield().getOperand(number));
    origins.push_back(branch.elseYield().getOperand(number));
  } else if (auto step = dyn_cast<InlinedStepOp>(owner)) {
    origins.push_back(step.getYield().getValues()[number]);
    if (step.getUnless()) {
      origins.push_back(step.getPassed()[number]);
    }
  }
}

llvm::SetVector<Operation *> fa4::tile::findTokenStarts(Value token) {
  llvm::SetVector<Operation *> starts;
  llvm::SmallPtrSet<Value, 8> seen;
  SmallVector<Value> pending{token};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second) {
      continue;
    }
    if (isa_and_present<AcquireOp, WaitOp>(value.getDefiningOp())) {
      starts.insert(value.getDefiningOp());
    } else {
      appendOrigins(value, pending);
    }
  }
  return starts;
}

//===----------------------------------------------------------------------===//
// RoleOwners
//===----------------------------------------------------------------------===//

bool RoleOwners::runs(const RoleCopy &copy, Operation *op) const {
  auto step = dyn_cast<InlinedStepOp>(op);
  if (!step) {
    step = op->getParentOfType<InlinedStepOp>();
  }
  auto it = owners.find(step ? step.getOperation() : op);
  if (it == owners.end()) {
    return false;
  }
  const Owner &owner = it->second;
  return owner.role == copy.role && owner.replica.value_or(copy.replica) == copy.replica;
}

LogicalResult RoleOwners::addStep(InlinedStepOp step) {
  const fa4::Role *role = kernel.getSchedule().getPlan().findRoleOf(step.getStep());
  if (!role) {
    return step.emitError("expected a role of the schedule to list step '")
           << step.getStep() << "', but got none";
  }
  int64_t replica = 0;
  if (role->replicas > 1) {
    std::optional<uint64_t> index = step.getIndex();
    if (!index || static_cast<int64_t>(*index) >= role->replicas) {
      return step.emitError("expected a step of role '")
             << role->name << "' to have the number of one of its " << role->replicas
             << " replicas as index, but got '" << step.getStepName() << "'";
    }
    replica = static_cast<int64_t>(*index);
  }
  roles.insert(role);
  owners[step] = {role, replica};
  return success();
}

/// The replica at the tied end of element `element`.
static std::optional<int64_t> getReplica(EndAttr end, IntegerAttr element, int64_t replicas) {
  if (replicas == 1) {
    return 0;
  }
  if (end.getTie() == Tie::All || !element) {
    return std::nullopt;
  }
  int64_t number = element.getInt();
  return end.getTie() == Tie::Each ? number : (number + replicas - 1) % replicas;
}

LogicalResult RoleOwners::addTokenOp(Operation *op, Operation *start) {
  if (!start) {
    return op->emitError("expected the token to come from an acquire or a wait, but got none");
  }
  FlatSymbolRefAttr name;
  IntegerAttr element;
  if (auto acquire = dyn_cast<AcquireOp>(start)) {
    std::tie(name, element) = std::pair(acquire.getChannelAttr(), acquire.getStaticElementAttr());
  } else if (auto wait = dyn_cast<WaitOp>(start)) {
    std::tie(name, element) = std::pair(wait.getChannelAttr(), wait.getStaticElementAttr());
  } else {
    auto settle = cast<SettleOp>(start);
    std::tie(name, element) = std::pair(settle.getChannelAttr(), settle.getStaticElementAttr());
  }
  auto channel = SymbolTable::lookupNearestSymbolFrom<ChannelOp>(kernel, name);
  if (!channel) {
    return op->emitError("expected a channel of the kernel, but got '") << name << "'";
  }
  ArrayAttr ends = isa<WaitOp>(start) ? channel.getTo() : channel.getFrom();
  if (ends.size() != 1) {
    return op->emitError("expected an op between steps to be at an end with one role, but got ")
           << ends.size() << " roles; put it into the step that it serves";
  }
  auto end = cast<EndAttr>(ends[0]);
  const Schedule &plan = kernel.getSchedule().getPlan();
  auto role = llvm::find_if(
      plan.roles, [&](const fa4::Role &role) { return role.name == end.getRole().getValue(); });
  if (role == plan.roles.end()) {
    return op->emitError("expected the end of a channel to be a role of the schedule, but got '")
           << end.getRole() << "'";
  }
  owners[op] = {&*role, getReplica(end, element, role->replicas)};
  return success();
}

FailureOr<RoleOwners> RoleOwners::create(KernelOp kernel) {
  RoleOwners owners(kernel);
  WalkResult result = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<WorkOp, DefOp>(op)) {
      return WalkResult::skip();
    }
    if (isa<StepOp>(op)) {
      op->emitError("expected steps to be inlined; run tile-assign-memory first");
      return WalkResult::interrupt();
    }
    if (auto step = dyn_cast<InlinedStepOp>(op)) {
      return failed(owners.addStep(step)) ? WalkResult::interrupt() : WalkResult::skip();
    }
    Value token;
    if (isa<AcquireOp, WaitOp, SettleOp>(op)) {
      return WalkResult(owners.addTokenOp(op, op));
    }
    if (isa<CommitOp, ReleaseOp>(op)) {
      token = op->getOperand(0);
    } else if (auto keep = dyn_cast<KeepOp>(op)) {
      token = keep.getHandle();
    } else if (auto use = dyn_cast<UseOp>(op)) {
      token = use.getHandle();
    } else if (isa<LoadOp, StoreOp>(op)) {
      op->emitError("expected loads and stores to stand in steps, but got one between them");
      return WalkResult::interrupt();
    }
    if (!token) {
      return WalkResult::advance();
    }
    llvm::SetVector<Operation *> starts = findTokenStarts(token);
    return WalkResult(owners.addTokenOp(op, starts.empty() ? nullptr : starts.front()));
  });
  if (result.wasInterrupted()) {
    return failure();
  }
  return owners;
}
