//===- HandOvers.cpp - who hands over to whom in a placed kernel -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An element that is not known stands for all elements, so that no hop is missed.
//
//===----------------------------------------------------------------------===//

#include "HandOvers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4::tile;

HandOvers::HandOvers(KernelOp kernel) : kernel(kernel) {
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    if (role.getCtas() != Ctas::Single) {
      homes = 2;
    }
    int64_t ranks = role.getCtas() == Ctas::Both ? 2 : 1;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      for (int64_t replica = 0; replica < static_cast<int64_t>(role.getReplicas()); ++replica) {
        actors.push_back({role, replica, rank});
      }
    }
  }
  for (unsigned actor = 0; actor < size(); ++actor) {
    actors[actor].role.walk([&](Operation *op) { addEnds(op, actor); });
    for (auto teardown : kernel.getBody().getOps<TeardownOp>()) {
      teardown.walk([&](TmemFreeOp free) {
        if (free.getRole() == actors[actor].role.getSymName()) {
          addEnds(free, actor);
        }
      });
    }
  }
  hops.assign(size(), llvm::BitVector(size()));
  for (auto &[instance, end] : ends) {
    for (unsigned arriver : end.arrivers.set_bits()) {
      hops[arriver] |= end.waiters;
    }
  }
}

Operation *HandOvers::lookup(StringRef name) const {
  Operation *op = kernel;
  return SymbolTable::lookupSymbolIn(op, name);
}

std::optional<int64_t> HandOvers::evaluate(Value value, unsigned actor) const {
  RoleOp role = actors[actor].role;
  if (value == role.getIndex()) {
    return actors[actor].replica;
  }
  if (value == role.getRank()) {
    return actors[actor].rank;
  }
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    return constant.getSExtValue();
  }
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::RemUIOp, arith::RemSIOp>(op)) {
    return std::nullopt;
  }
  std::optional<int64_t> left = evaluate(op->getOperand(0), actor);
  std::optional<int64_t> right = evaluate(op->getOperand(1), actor);
  if (!left || !right) {
    return std::nullopt;
  }
  if (isa<arith::AddIOp>(op)) {
    return *left + *right;
  }
  if (isa<arith::SubIOp>(op)) {
    return *left - *right;
  }
  return *left >= 0 && *right > 0 ? std::optional(*left % *right) : std::nullopt;
}

std::optional<int64_t> HandOvers::elementOf(Value element, IntegerAttr fixed,
                                            unsigned actor) const {
  if (fixed) {
    return fixed.getInt();
  }
  return element ? evaluate(element, actor) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Hops
//===----------------------------------------------------------------------===//

void HandOvers::addElements(SmallVectorImpl<Instance> &instances, StringRef barrier, int64_t home,
                            std::optional<int64_t> element) const {
  Operation *op = lookup(barrier);
  int64_t family = 1;
  if (auto placed = dyn_cast_or_null<BarrierOp>(op)) {
    family = static_cast<int64_t>(placed.getFamily());
  } else if (auto named = dyn_cast_or_null<NamedBarrierOp>(op)) {
    family = static_cast<int64_t>(named.getFamily());
  }
  for (int64_t index = 0; index < family; ++index) {
    if (!element || *element == index) {
      instances.push_back({op, home, index});
    }
  }
}

SmallVector<HandOvers::Instance> HandOvers::arrivalsOf(Operation *op, unsigned actor) const {
  SmallVector<Instance> instances;
  int64_t rank = actors[actor].rank, peer = homes == 2 ? 1 - rank : rank;
  auto add = [&](auto use, int64_t home) {
    addElements(instances, use.getBarrier(), home,
                elementOf(use.getElement(), use.getStaticElementAttr(), actor));
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](BarrierArriveOp arrive) { add(arrive, arrive.getOnLeader() ? 0 : rank); })
      .Case([&](BarrierExpectOp expect) {
        add(expect, expect.getOnLeader() ? 0 : expect.getOnPeer() ? peer : rank);
      })
      .Case([&](BarrierCommitOp commit) {
        add(commit, rank);
        if (commit.getOnBoth() && peer != rank) {
          add(commit, peer);
        }
      })
      .Case([&](IssueLoadOp load) { add(load, load.getOnLeader() ? 0 : rank); })
      .Case([&](IssueSendOp send) { add(send, peer); })
      .Case([&](IssueNextOp next) { add(next, rank); })
      .Case<NamedArriveOp, NamedSyncOp>([&](auto named) { add(named, rank); })
      .Case([&](TmemFreeOp free) { addElements(instances, free.getAfter(), rank, std::nullopt); })
      .Case([&](ClusterSyncOp) { instances.push_back({kernel, 0, 0}); });
  return instances;
}

SmallVector<HandOvers::Instance> HandOvers::waitsOf(Operation *op, unsigned actor) const {
  if (isa<NamedSyncOp, TmemFreeOp, ClusterSyncOp>(op)) {
    return arrivalsOf(op, actor);
  }
  SmallVector<Instance> instances;
  if (auto wait = dyn_cast<BarrierWaitOp>(op)) {
    addElements(instances, wait.getBarrier(), actors[actor].rank,
                elementOf(wait.getElement(), wait.getStaticElementAttr(), actor));
  }
  return instances;
}

void HandOvers::addEnds(Operation *op, unsigned actor) {
  auto endOf = [&](const Instance &instance) -> Ends & {
    return ends.try_emplace(instance, Ends{llvm::BitVector(size()), llvm::BitVector(size())})
        .first->second;
  };
  for (const Instance &instance : arrivalsOf(op, actor)) {
    endOf(instance).arrivers.set(actor);
  }
  for (const Instance &instance : waitsOf(op, actor)) {
    endOf(instance).waiters.set(actor);
  }
}

llvm::BitVector HandOvers::receiversOf(Operation *op, unsigned actor) const {
  llvm::BitVector receivers(size());
  for (const Instance &instance : arrivalsOf(op, actor)) {
    receivers |= ends.at(instance).waiters;
  }
  return receivers;
}

llvm::BitVector HandOvers::sendersOf(Operation *op, unsigned actor) const {
  llvm::BitVector senders(size());
  for (const Instance &instance : waitsOf(op, actor)) {
    senders |= ends.at(instance).arrivers;
  }
  return senders;
}

bool HandOvers::reaches(unsigned from, unsigned to, std::initializer_list<unsigned> avoid) const {
  llvm::BitVector closed(size());
  for (unsigned actor : avoid) {
    closed.set(actor);
  }
  if (closed.test(from) || closed.test(to)) {
    return false;
  }
  SmallVector<unsigned> open = {from};
  closed.set(from);
  while (!open.empty()) {
    unsigned actor = open.pop_back_val();
    if (actor == to) {
      return true;
    }
    for (unsigned next : hops[actor].set_bits()) {
      if (!closed.test(next)) {
        closed.set(next);
        open.push_back(next);
      }
    }
  }
  return false;
}
