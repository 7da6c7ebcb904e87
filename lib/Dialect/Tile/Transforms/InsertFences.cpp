//===- InsertFences.cpp - tile-insert-fences ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each actor's program is followed with what it still owes: accesses that no fence
// has paid for, and order that came in over a hop and was neither taken up nor
// passed on. A hand-over or an access that may need it is where it is paid, so
// order that travels over several hops is carried by each of them.
//
//===----------------------------------------------------------------------===//

#include "FenceNeeds.h"

#include "fa4/Dialect/Tile/Analysis/OptionalAccess.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILEINSERTFENCES
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

namespace {

/// What an actor owes at one point of its program. Sets of accesses and actors
/// grow where paths join.
struct Debt {
  Debt(unsigned accesses, unsigned actors)
      : loads(accesses), stores(accesses), done(accesses), generic(accesses), known(actors),
        arrived(actors, nullptr) {}

  /// Tensor memory accesses that were not waited for; those that were, but no
  /// fence stands behind them; accesses to shared memory no proxy fence stands behind.
  llvm::BitVector loads, stores, done, generic;
  /// Senders whose order was taken up but not passed on.
  llvm::BitVector known;
  /// Per sender, the op that brought order which was not taken up; or null.
  SmallVector<Operation *> arrived;
  /// Whether registers were touched since the last fence for products on them.
  bool registers = true;

  /// Returns whether something was added.
  bool join(const Debt &other);
};

/// The fences next to an op; firm ones serve accesses of the actor itself, the others
/// only pass on what it was told.
struct OpFences {
  FenceKind before = FenceKind(0);
  FenceKind behind = FenceKind(0);
  FenceKind firmBefore = FenceKind(0);
  FenceKind firmBehind = FenceKind(0);
};
using Fences = llvm::DenseMap<Operation *, OpFences>;

class Flow {
public:
  Flow(const FenceNeeds &needs, unsigned actor, Fences &fences)
      : needs(needs), handOvers(needs.getHandOvers()), actor(actor), fences(fences),
        committed(handOvers.size()) {}
  void run();

private:
  void walk(Block &block, Debt &debt);
  void walkLoop(Operation *loop, Debt &debt);
  void visit(Operation *op, Debt &debt);
  void pass(const llvm::BitVector &receivers, bool withinRole, Operation *op, Debt &debt);
  void receive(Operation *op, Debt &debt);
  void access(Operation *op, Debt &debt);
  void takeUp(const llvm::BitVector &senders, Operation *op, bool firm, Debt &debt);
  void pay(FenceKind kinds, Debt &debt);
  void fence(Operation *op, bool behind, FenceKind kinds, bool firm = true);
  llvm::BitVector pendingAgainst(unsigned access, const llvm::BitVector &pending) const;

  const FenceNeeds &needs;
  const HandOvers &handOvers;
  unsigned actor;
  Fences &fences;
  /// Who waits for commits of this actor.
  llvm::BitVector committed;
  llvm::MapVector<Operation *, Debt> loops;
  bool changed = false;
  bool final = false;
};

} // namespace

bool Debt::join(const Debt &other) {
  auto merge = [](llvm::BitVector &into, const llvm::BitVector &from) {
    if (!from.test(into)) {
      return false;
    }
    into |= from;
    return true;
  };
  bool grew = merge(loads, other.loads);
  grew |= merge(stores, other.stores);
  grew |= merge(done, other.done);
  grew |= merge(generic, other.generic);
  grew |= merge(known, other.known);
  for (auto [op, from] : llvm::zip_equal(arrived, other.arrived)) {
    if (!op && from) {
      op = from;
      grew = true;
    }
  }
  if (other.registers && !registers) {
    registers = true;
    grew = true;
  }
  return grew;
}

//===----------------------------------------------------------------------===//
// Payment
//===----------------------------------------------------------------------===//

void Flow::pay(FenceKind kinds, Debt &debt) {
  if (bitEnumContainsAny(kinds, FenceKind::After)) {
    for (auto [sender, op] : llvm::enumerate(debt.arrived)) {
      if (op) {
        debt.known.set(sender);
        op = nullptr;
      }
    }
  }
  if (bitEnumContainsAny(kinds, FenceKind::TmemLoads)) {
    debt.done |= debt.loads;
    debt.loads.reset();
  }
  if (bitEnumContainsAny(kinds, FenceKind::TmemStores)) {
    debt.done |= debt.stores;
    debt.stores.reset();
  }
  if (bitEnumContainsAny(kinds, FenceKind::Before)) {
    debt.done.reset();
    debt.known.reset();
  }
  if (bitEnumContainsAny(kinds, FenceKind::Proxy)) {
    debt.generic.reset();
  }
  if (bitEnumContainsAny(kinds, FenceKind::Wgmma)) {
    debt.registers = false;
  }
}

void Flow::fence(Operation *op, bool behind, FenceKind kinds, bool firm) {
  if (!final) {
    return;
  }
  OpFences &present = fences[op];
  FenceKind &all = behind ? present.behind : present.before;
  all = all | kinds;
  if (firm) {
    FenceKind &kept = behind ? present.firmBehind : present.firmBefore;
    kept = kept | kinds;
  }
}

/// Takes up what `senders` brought: right behind the last wait that brought some
/// of it, so that waits for other things may follow before the fence's effect is needed.
void Flow::takeUp(const llvm::BitVector &senders, Operation *op, bool firm, Debt &debt) {
  Block *block = op->getBlock();
  Operation *last = nullptr;
  for (unsigned sender : senders.set_bits()) {
    Operation *wait = block->findAncestorOpInBlock(*debt.arrived[sender]);
    if (wait && wait->isBeforeInBlock(op) && (!last || last->isBeforeInBlock(wait))) {
      last = wait;
    }
  }
  fence(last ? last : op, last != nullptr, FenceKind::After, firm);
  for (auto [sender, wait] : llvm::enumerate(debt.arrived)) {
    if (!wait) {
      continue;
    }
    Operation *ancestor = block->findAncestorOpInBlock(*wait);
    bool later =
        last && ancestor && ancestor->isBeforeInBlock(op) && last->isBeforeInBlock(ancestor);
    if (!later) {
      debt.known.set(sender);
      wait = nullptr;
    }
  }
}

//===----------------------------------------------------------------------===//
// Hand-overs
//===----------------------------------------------------------------------===//

/// `op` tells `receivers`, or all warps of the role, what happened before it.
void Flow::pass(const llvm::BitVector &receivers, bool withinRole, Operation *op, Debt &debt) {
  auto isOwed = [&](unsigned access) {
    return llvm::any_of(receivers.set_bits(), [&](unsigned receiver) {
      return receiver != actor && needs.isOwed(access, receiver);
    });
  };
  auto crossesWarps = [&](unsigned access) {
    for (unsigned other = 0; withinRole && other < needs.size(); ++other) {
      if (needs.mayCrossWarps(access, other)) {
        return true;
      }
    }
    return false;
  };
  auto anyOwed = [&](const llvm::BitVector &accesses) {
    return llvm::any_of(accesses.set_bits(),
                        [&](unsigned access) { return isOwed(access) || crossesWarps(access); });
  };
  llvm::BitVector late(handOvers.size());
  bool early = false;
  for (unsigned receiver : receivers.set_bits()) {
    for (unsigned sender = 0; sender < handOvers.size(); ++sender) {
      if ((debt.arrived[sender] || debt.known.test(sender)) &&
          needs.isPassedOn(actor, sender, receiver)) {
        early = true;
        if (debt.arrived[sender]) {
          late.set(sender);
        }
      }
    }
  }
  if (late.any()) {
    takeUp(late, op, /*firm=*/false, debt);
  }
  FenceKind kinds = FenceKind(0);
  if (anyOwed(debt.loads)) {
    kinds = kinds | FenceKind::TmemLoads;
  }
  if (anyOwed(debt.stores)) {
    kinds = kinds | FenceKind::TmemStores;
  }
  if (kinds != FenceKind(0) || anyOwed(debt.done)) {
    kinds = kinds | FenceKind::Before;
  }
  auto reachesEngine = [&](unsigned access) {
    return isOwed(access) ||
           (withinRole && llvm::any_of(llvm::seq(0U, needs.size()), [&](unsigned other) {
              return needs.get(other).actor == actor && needs.needsProxy(access, other);
            }));
  };
  if (llvm::any_of(debt.generic.set_bits(), reachesEngine)) {
    kinds = kinds | FenceKind::Proxy;
  }
  if (kinds != FenceKind(0)) {
    fence(op, /*behind=*/false, kinds);
  }
  if (early) {
    fence(op, /*behind=*/false, FenceKind::Before, /*firm=*/false);
    kinds = kinds | FenceKind::Before;
  }
  pay(kinds, debt);
}

void Flow::receive(Operation *op, Debt &debt) {
  const llvm::BitVector senders = handOvers.sendersOf(op, actor);
  for (unsigned sender : senders.set_bits()) {
    if (sender != actor) {
      debt.arrived[sender] = op;
    }
  }
  if (isa<RoleSyncOp>(op)) {
    // The role's own warps: what one of them did, another may go on with.
    debt.arrived[actor] = op;
  }
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

llvm::BitVector Flow::pendingAgainst(unsigned access, const llvm::BitVector &pending) const {
  llvm::BitVector found(pending.size());
  for (unsigned earlier : pending.set_bits()) {
    if (needs.mayConflict(earlier, access)) {
      found.set(earlier);
    }
  }
  return found;
}

void Flow::access(Operation *op, Debt &debt) {
  SmallVector<unsigned> accesses = needs.accessesOf(op, actor);
  llvm::BitVector awaited(handOvers.size());
  FenceKind kinds = FenceKind(0);
  bool matrix = false;
  for (unsigned access : accesses) {
    const Access &place = needs.get(access);
    if (llvm::any_of(debt.generic.set_bits(),
                     [&](unsigned earlier) { return needs.needsProxy(earlier, access); })) {
      kinds = kinds | FenceKind::Proxy;
    }
    if (!place.isTmem()) {
      continue;
    }
    matrix |= place.kind == Access::TmemMatrix;
    for (unsigned sender = 0; sender < handOvers.size(); ++sender) {
      bool wanted =
          sender == actor
              ? llvm::any_of(llvm::seq(0U, needs.size()),
                             [&](unsigned other) { return needs.mayCrossWarps(access, other); })
              : needs.isAwaited(access, sender);
      if (debt.arrived[sender] && wanted && !isOptionalAccess(op)) {
        awaited.set(sender);
      }
    }
    // Loads and stores of one thread are not in order either.
    if (pendingAgainst(access, debt.loads).any()) {
      kinds = kinds | FenceKind::TmemLoads;
    }
    if (pendingAgainst(access, debt.stores).any()) {
      kinds = kinds | FenceKind::TmemStores;
    }
  }
  // What a product waited for is told by its commit.
  for (unsigned receiver : committed.set_bits()) {
    for (unsigned sender = 0; matrix && sender < handOvers.size(); ++sender) {
      if (debt.arrived[sender] && needs.isPassedOn(actor, sender, receiver)) {
        awaited.set(sender);
      }
    }
  }
  if (awaited.any()) {
    takeUp(awaited, op, /*firm=*/true, debt);
  }
  if (kinds != FenceKind(0)) {
    fence(op, /*behind=*/false, kinds);
    pay(kinds, debt);
  }
  for (unsigned access : accesses) {
    const Access &place = needs.get(access);
    if (place.kind == Access::TmemThread && !isOptionalAccess(op)) {
      // Scaling in place waits for its own loads.
      (place.writes ? debt.stores : debt.loads).set(access);
    } else if (place.kind == Access::SmemThread) {
      debt.generic.set(access);
    }
  }
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

static bool touchesTiles(Operation *op) {
  auto isTile = [](Type type) { return isa<FragType>(type); };
  return llvm::any_of(op->getOperandTypes(), isTile) || llvm::any_of(op->getResultTypes(), isTile);
}

void Flow::visit(Operation *op, Debt &debt) {
  if (auto present = dyn_cast<FenceOp>(op)) {
    pay(present.getKinds(), debt);
    return;
  }
  auto product = dyn_cast<IssueMmaOp>(op);
  if (product && product.getResult()) {
    if (debt.registers) {
      fence(op, /*behind=*/false, FenceKind::Wgmma);
      pay(FenceKind::Wgmma, debt);
    }
  } else if (touchesTiles(op)) {
    debt.registers = true;
  }
  access(op, debt);
  if (isa<RoleSyncOp>(op)) {
    pass(llvm::BitVector(handOvers.size()), /*withinRole=*/true, op, debt);
  } else if (isa<BarrierArriveOp, BarrierExpectOp, NamedArriveOp, NamedSyncOp, ClusterSyncOp>(op)) {
    pass(handOvers.receiversOf(op, actor), /*withinRole=*/false, op, debt);
  }
  receive(op, debt);
}

void Flow::walkLoop(Operation *loop, Debt &debt) {
  // The debt at the head only grows, so that the rounds end.
  auto [head, added] = loops.insert({loop, debt});
  if (added) {
    changed = true;
  } else {
    changed |= head->second.join(debt);
  }
  Debt body = head->second;
  walk(loop->getRegion(0).front(), body);
  changed |= loops.find(loop)->second.join(body);
  debt.join(body);
}

void Flow::walk(Block &block, Debt &debt) {
  for (Operation &op : block) {
    if (isa<scf::ForOp, ForEachTileOp>(op)) {
      walkLoop(&op, debt);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      Debt other = debt;
      walk(branch.getThenRegion().front(), debt);
      if (!branch.getElseRegion().empty()) {
        walk(branch.getElseRegion().front(), other);
      }
      debt.join(other);
    } else {
      visit(&op, debt);
    }
  }
}

void Flow::run() {
  RoleOp role = handOvers.getActors()[actor].role;
  Block &body = role.getBody().front();
  body.walk([&](BarrierCommitOp commit) { committed |= handOvers.receiversOf(commit, actor); });
  auto round = [&] {
    changed = false;
    Debt debt(needs.size(), handOvers.size());
    walk(body, debt);
    return changed;
  };
  while (round()) {
  }
  final = true;
  round();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The fence among the hand-overs just before `op`, or null: nothing that they
/// pay for lies between.
static FenceOp findFenceToJoin(Operation *op) {
  Operation *before = op->getPrevNode();
  while (isa_and_nonnull<BarrierArriveOp, NamedArriveOp>(before)) {
    before = before->getPrevNode();
  }
  auto fence = dyn_cast_or_null<FenceOp>(before);
  constexpr FenceKind joined =
      FenceKind::TmemLoads | FenceKind::TmemStores | FenceKind::Before | FenceKind::Proxy;
  return fence && bitEnumContainsAll(joined, fence.getKinds()) ? fence : FenceOp();
}

namespace {
struct TileInsertFences : public fa4::tile::impl::TileInsertFencesBase<TileInsertFences> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (failed(insertInit(kernel))) {
      return signalPassFailure();
    }
    FenceNeeds needs(kernel);
    Fences fences;
    for (unsigned actor = 0; actor < needs.getHandOvers().size(); ++actor) {
      Flow(needs, actor, fences).run();
    }
    SmallVector<FenceOp> doubtful;
    kernel.walk([&](Operation *op) {
      OpBuilder builder(op);
      OpFences wanted = fences.lookup(op);
      auto create = [&](FenceKind kinds, FenceKind firm) {
        auto fence = FenceOp::create(builder, op->getLoc(), kinds);
        ++numFences;
        if (!bitEnumContainsAny(kinds, firm)) {
          doubtful.push_back(fence);
        }
      };
      FenceKind front = wanted.before;
      if (bitEnumContainsAny(front, FenceKind::After)) {
        create(FenceKind::After, wanted.firmBefore);
      }
      front = bitEnumClear(front, FenceKind::After);
      FenceOp present = findFenceToJoin(op);
      if (front != FenceKind(0) && present && !bitEnumContainsAny(front, FenceKind::Wgmma)) {
        present.setKinds(present.getKinds() | front);
      } else if (front != FenceKind(0)) {
        create(front, wanted.firmBefore);
      }
      if (wanted.behind != FenceKind(0)) {
        builder.setInsertionPointAfter(op);
        create(wanted.behind, wanted.firmBehind);
      }
    });
    numFences -= dropNeedlessFences(kernel, doubtful);
  }

private:
  /// Barriers are visible to all once the CTA, or the pair, has met in set-up.
  LogicalResult insertInit(KernelOp kernel) {
    auto barriers = kernel.getBody().getOps<BarrierOp>();
    if (barriers.empty()) {
      return success();
    }
    auto setups = kernel.getBody().getOps<SetupOp>();
    if (setups.empty()) {
      return kernel.emitOpError("expected a kernel with barriers to have a set-up, but got none");
    }
    Block &body = (*setups.begin()).getBody().front();
    auto isMeeting = [](Operation &op) { return isa<RoleSyncOp, ClusterSyncOp>(op); };
    for (Operation &op : body) {
      auto fence = dyn_cast<FenceOp>(op);
      if (fence && bitEnumContainsAny(fence.getKinds(), FenceKind::Init)) {
        return success();
      }
    }
    OpBuilder builder(&getContext());
    auto meeting = llvm::find_if(body, isMeeting);
    builder.setInsertionPoint(&body, meeting);
    FenceOp::create(builder,
                    meeting == body.end() ? body.getParentOp()->getLoc() : meeting->getLoc(),
                    FenceKind::Init);
    ++numFences;
    return success();
  }
};
} // namespace
