//===- ChannelRegions.cpp - memory that changes hands outside of channels -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a view is written over another one that a different role used last, the
// writer settles the other view's channel if it fills it, else the user tells the
// writer through a channel that carries nothing. Which follows which is read off a
// walk over two tiles.
//
//===----------------------------------------------------------------------===//

#include "ChannelPlan.h"
#include "TripWalk.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {

/// A view of an element of its channel, used or written by `role`.
struct Access {
  Operation *op;
  StringRef view;
  FlatSymbolRefAttr channel;
  IntegerAttr element;
  const Role *role;
  int64_t tile;
  /// Its place in the walk.
  int64_t time;
};

/// `writer` writes over what `user` used last.
struct Change {
  SmallVector<Operation *> users, writers;
  Access user, writer;
  bool isInTile = false, isAcrossTiles = false;
};

class AccessWalk : public TripWalk {
public:
  explicit AccessWalk(const ViewOverlap &overlap) : overlap(overlap) {}

  std::vector<Change> changes;

private:
  void enter(InlinedStepOp step) override { current = step; }
  LogicalResult visit(Operation *op) override;
  void write(const Access &access);
  void note(const Access &user, const Access &writer);

  const ViewOverlap &overlap;
  InlinedStepOp current;
  int64_t time = 0;
  /// The last access of each view and element.
  llvm::MapVector<std::pair<StringRef, Attribute>, Access> last;
};

} // namespace

/// The op that began a token, and what it names.
static std::pair<FlatSymbolRefAttr, IntegerAttr> getSlotOf(Value token) {
  if (auto acquire = token.getDefiningOp<AcquireOp>()) {
    return {acquire.getChannelAttr(), acquire.getStaticElementAttr()};
  }
  auto wait = token.getDefiningOp<WaitOp>();
  return {wait.getChannelAttr(), wait.getStaticElementAttr()};
}

void AccessWalk::note(const Access &user, const Access &writer) {
  auto found = llvm::find_if(changes, [&](const Change &change) {
    return change.user.view == user.view && change.writer.view == writer.view &&
           change.user.element == user.element && change.user.role == user.role &&
           change.writer.role == writer.role;
  });
  if (found == changes.end()) {
    Change change;
    change.user = user;
    change.writer = writer;
    changes.push_back(std::move(change));
    found = std::prev(changes.end());
  }
  (user.tile == writer.tile ? found->isInTile : found->isAcrossTiles) = true;
  if (!llvm::is_contained(found->users, user.op)) {
    found->users.push_back(user.op);
  }
  if (!llvm::is_contained(found->writers, writer.op)) {
    found->writers.push_back(writer.op);
  }
}

void AccessWalk::write(const Access &access) {
  for (auto &[place, user] : last) {
    if (user.channel == access.channel || user.element != access.element ||
        user.role == access.role || !overlap.shared(user.view, access.view)) {
      continue;
    }
    // What was used before the writer's view was last has been asked about then.
    auto *own = last.find({access.view, access.element});
    if (own == last.end() || own->second.time < user.time) {
      note(user, access);
    }
  }
}

LogicalResult AccessWalk::visit(Operation *op) {
  auto record = [&](StringRef view, Value token) {
    auto [channel, element] = getSlotOf(token);
    const Role *role = getRoleOf(getStepOf(op) ? getStepOf(op) : current);
    return Access{op, view, channel, element, role, getTile(), time++};
  };
  if (auto use = dyn_cast<UseOp>(op)) {
    Access access = record(use.getView(), use.getHandle());
    last.insert_or_assign({access.view, access.element}, access);
  } else if (auto keep = dyn_cast<KeepOp>(op); keep && keep.getHandle()) {
    Access access = record(keep.getView(), keep.getHandle());
    access.role = getRoleOf(getMakerOf(keep));
    write(access);
    last.insert_or_assign({access.view, access.element}, access);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What is inserted
//===----------------------------------------------------------------------===//

namespace {

class Orderer {
public:
  Orderer(KernelOp kernel, ChannelPlan &plan)
      : kernel(kernel), plan(plan), builder(kernel.getContext()),
        tileBlock(&(*kernel.getBody().getOps<ForEachTileOp>().begin()).getBody().front()) {}

  LogicalResult order(const Change &change);

private:
  LogicalResult refuse(const Change &change, StringRef rule);
  void settle(const Change &change);
  LogicalResult tell(const Change &change);
  ChannelOp getEmptyChannel(const Change &change, bool isFullAtStart);
  const PlannedChannel *find(FlatSymbolRefAttr name) {
    auto found = llvm::find_if(plan.channels, [&](const PlannedChannel &channel) {
      return channel.name == name.getValue();
    });
    return found == plan.channels.end() ? nullptr : &*found;
  }

  KernelOp kernel;
  ChannelPlan &plan;
  OpBuilder builder;
  Block *tileBlock;
  std::map<std::pair<std::string, std::string>, ChannelOp> empties;
};

} // namespace

/// Whether one of `Ops` reads what a user takes.
template <typename... Ops>
static bool isUsedBy(const Change &change) {
  return llvm::any_of(change.users, [](Operation *op) {
    return isa<UseOp>(op) &&
           llvm::any_of(op->getUsers(), [](Operation *user) { return isa<Ops...>(user); });
  });
}

/// Whether the matrix or copy unit may still be at it when the user's op is over.
static bool isUsedByEngine(const Change &change) { return isUsedBy<MmaOp, StoreOp>(change); }

LogicalResult Orderer::refuse(const Change &change, StringRef rule) {
  InFlightDiagnostic error = change.writers[0]->emitError()
                             << "expected @" << change.writer.view << ", which lies over @"
                             << change.user.view << ", to be written " << rule;
  error.attachNote(change.users[0]->getLoc())
      << "role '" << change.user.role->name << "' uses @" << change.user.view << " here";
  error.attachNote(change.writers[0]->getLoc()) << "give the two homes apart";
  return error;
}

void Orderer::settle(const Change &change) {
  for (Operation *writer : change.writers) {
    Value token = cast<KeepOp>(writer).getHandle();
    Operation *start = token.getDefiningOp();
    builder.setInsertionPoint(isa<AcquireOp>(start) ? start : writer);
    SettleOp::create(builder, writer->getLoc(), change.user.channel, Value(), change.user.element);
  }
}

ChannelOp Orderer::getEmptyChannel(const Change &change, bool isFullAtStart) {
  const PlannedChannel *user = find(change.user.channel), *writer = find(change.writer.channel);
  ChannelOp &channel = empties[{user->name, writer->name}];
  if (channel) {
    return channel;
  }
  builder.setInsertionPointAfter(plan.channels.back().op);
  MLIRContext *context = kernel.getContext();
  auto endOf = [&](const Role *role) {
    Tie tie = role->replicas > 1 && user->family > 1 ? Tie::Each : Tie::All;
    return builder.getArrayAttr(
        Attribute(EndAttr::get(context, FlatSymbolRefAttr::get(context, role->name), tie)));
  };
  auto byThreads = [&](bool isByEngine, const Role *role) {
    return isByEngine || role->warps == 1 ? ArrivalAttr()
                                          : ArrivalAttr::get(context, Arrival::Thread);
  };
  DenseI64ArrayAttr starts;
  if (isFullAtStart) {
    starts = builder.getDenseI64ArrayAttr(SmallVector<int64_t>(user->family, 1));
  }
  std::string name = user->name + "_" + writer->name;
  while (SymbolTable::lookupSymbolIn(kernel, name)) {
    name += "_free";
  }
  channel = ChannelOp::create(builder, change.writers[0]->getLoc(), builder.getStringAttr(name),
                              builder.getI64IntegerAttr(user->family), builder.getI64IntegerAttr(1),
                              endOf(change.user.role), endOf(change.writer.role), ArrayAttr(),
                              byThreads(isUsedByEngine(change), change.user.role),
                              byThreads(/*isByEngine=*/false, change.writer.role), starts);
  return channel;
}

/// The user commits after its last use in the tile, the writer waits before its
/// first write, in this tile or in the next.
LogicalResult Orderer::tell(const Change &change) {
  if (change.isInTile && change.isAcrossTiles) {
    return refuse(change, "either always in the tile of the last use or always in the next");
  }
  Operation *after = nullptr, *before = nullptr;
  for (Operation *user : change.users) {
    Operation *op = getAncestorIn(tileBlock, user);
    after = !after || after->isBeforeInBlock(op) ? op : after;
  }
  Operation *firstWriter = nullptr;
  for (Operation *writer : change.writers) {
    Operation *op = getAncestorIn(tileBlock, writer);
    if (!before || op->isBeforeInBlock(before)) {
      before = op;
      firstWriter = writer;
    }
  }
  if (change.isInTile && !after->isBeforeInBlock(before)) {
    return refuse(change, "outside of the loop that uses the other");
  }
  ChannelOp channel = getEmptyChannel(change, change.isAcrossTiles);
  IntegerAttr element = change.user.element;
  if (isUsedBy<StoreOp>(change) && !change.isInTile) {
    // A thread has to wait for a store before it can say that it is complete: not
    // before it has issued the others.
    builder.setInsertionPoint(tileBlock->getTerminator());
  } else {
    builder.setInsertionPointAfter(after);
  }
  auto token = AcquireOp::create(builder, after->getLoc(), channel.getSymName(), Value(), element);
  CommitOp::create(builder, after->getLoc(), token.getToken(), ValueRange(),
                   /*after_all=*/isUsedByEngine(change));
  Value handle = cast<KeepOp>(firstWriter).getHandle();
  auto acquire = handle.getDefiningOp<AcquireOp>();
  InlinedStepOp step = getStepOf(firstWriter);
  bool isInside = step && step->getBlock() == tileBlock && !step.getUnless() && acquire;
  builder.setInsertionPoint(isInside ? acquire.getOperation() : before);
  auto wait = WaitOp::create(builder, before->getLoc(), channel.getSymName(), Value(), element);
  ReleaseOp::create(builder, before->getLoc(), wait.getToken(), ValueRange(),
                    /*after_all=*/false);
  return success();
}

LogicalResult Orderer::order(const Change &change) {
  const PlannedChannel *channel = find(change.user.channel);
  if (channel && channel->from == change.writer.role) {
    settle(change);
    return success();
  }
  return tell(change);
}

LogicalResult fa4::tile::orderRegions(KernelOp kernel, ChannelPlan &plan,
                                      const ViewOverlap &overlap) {
  AccessWalk walk(overlap);
  constexpr int64_t kTrips = 3;
  if (failed(walk.run(kernel, {kTrips, kTrips, 1, 1}))) {
    return failure();
  }
  Orderer orderer(kernel, plan);
  for (const Change &change : walk.changes) {
    if (failed(orderer.order(change))) {
      return failure();
    }
  }
  return success();
}
