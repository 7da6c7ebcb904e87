//===- RingWalk.cpp - the one thread with its rings comes to an end -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program before roles are parted is a linear extension of every order that the
// roles will keep: if it runs with its rings, no role can wait for ever. On the way
// every use is compared with the generation that its token stands for.
//
//===----------------------------------------------------------------------===//

#include "ChannelPlan.h"
#include "TripWalk.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace fa4::tile;

namespace {

/// One element of a channel.
struct Ring {
  ChannelOp channel;
  int64_t depth = 0, element = 0, starts = 0;
  int64_t acquired = 0, committed = 0;
  /// By each replica that takes every slot; by one otherwise.
  SmallVector<int64_t> waited, released;
  /// Slots that all have given back.
  int64_t getReleased() const { return *llvm::min_element(released); }
  /// Most slots that were taken at a time, and where that was first too many.
  int64_t needed = 0;
  Operation *blocked = nullptr;
};

class RingWalk : public TripWalk {
public:
  explicit RingWalk(KernelOp kernel) : kernel(kernel) {}

  LogicalResult finish();

private:
  /// What a token or a kept value stands for.
  struct Generation {
    Ring *ring;
    int64_t number;
    int64_t replica;
  };

  void enter(InlinedStepOp step) override {}
  LogicalResult visit(Operation *op) override;
  LogicalResult visitAcquire(AcquireOp acquire);
  LogicalResult visitWait(WaitOp wait);
  LogicalResult visitUse(UseOp use);
  LogicalResult visitSettle(SettleOp settle);
  Ring &getRing(FlatSymbolRefAttr name, IntegerAttr element);
  void label(Value value, Ring &ring, int64_t number, int64_t replica = 0) {
    setLabel(value, static_cast<int64_t>(generations.size()));
    generations.push_back({&ring, number, replica});
  }

  KernelOp kernel;
  llvm::MapVector<std::pair<Attribute, int64_t>, std::unique_ptr<Ring>> rings;
  std::vector<Generation> generations;
};

} // namespace

Ring &RingWalk::getRing(FlatSymbolRefAttr name, IntegerAttr element) {
  int64_t number = element ? element.getInt() : 0;
  std::unique_ptr<Ring> &ring = rings[{name, number}];
  if (!ring) {
    ring = std::make_unique<Ring>();
    ring->channel = cast<ChannelOp>(SymbolTable::lookupSymbolIn(kernel, name.getAttr()));
    ring->depth = static_cast<int64_t>(ring->channel.getDepth());
    ring->element = number;
    if (std::optional<ArrayRef<int64_t>> starts = ring->channel.getStarts()) {
      ring->starts = (*starts)[number];
      ring->acquired = ring->committed = ring->starts;
    }
    int64_t takers = 1;
    for (auto end : ring->channel.getTo().getAsRange<EndAttr>()) {
      for (const fa4::Role &role : kernel.getSchedule().getPlan().roles) {
        if (role.name == end.getRole().getValue() && end.getTie() == Tie::All) {
          takers = std::max(takers, role.replicas);
        }
      }
    }
    ring->waited.assign(static_cast<size_t>(takers), 0);
    ring->released.assign(static_cast<size_t>(takers), 0);
  }
  return *ring;
}

LogicalResult RingWalk::visitAcquire(AcquireOp acquire) {
  Ring &ring = getRing(acquire.getChannelAttr(), acquire.getStaticElementAttr());
  label(acquire.getToken(), ring, ring.acquired++);
  ring.needed = std::max(ring.needed, ring.acquired - ring.getReleased());
  if (ring.needed > ring.depth && !ring.blocked) {
    ring.blocked = acquire;
  }
  return success();
}

LogicalResult RingWalk::visitWait(WaitOp wait) {
  Ring &ring = getRing(wait.getChannelAttr(), wait.getStaticElementAttr());
  InlinedStepOp step = getStepOf(wait);
  int64_t replica = ring.waited.size() > 1 && step ? getReplicaOf(step) : 0;
  int64_t &waited = ring.waited[static_cast<size_t>(replica)];
  if (waited >= ring.committed) {
    return wait.emitError() << "expected hand-over " << waited << " of " << wait.getChannelAttr()
                            << " to come before a step waits for it, but got " << ring.committed
                            << "; a step that may find none stands under 'unless'";
  }
  label(wait.getToken(), ring, waited++, replica);
  return success();
}

LogicalResult RingWalk::visitUse(UseOp use) {
  int64_t value = getLabel(use.getValue()), token = getLabel(use.getHandle());
  if (value == kNoLabel || token == kNoLabel) {
    return use.emitOpError() << "expected a kept value and a token that was waited for";
  }
  const Generation &kept = generations[value], &held = generations[token];
  if (kept.ring != held.ring || kept.number != held.number) {
    return use.emitOpError() << "expected the value of the hand-over that was waited for, "
                             << held.number << " of @" << held.ring->channel.getSymName()
                             << ", but got " << kept.number << " of @"
                             << kept.ring->channel.getSymName();
  }
  setLabel(use.getResult(), value);
  return success();
}

LogicalResult RingWalk::visitSettle(SettleOp settle) {
  Ring &ring = getRing(settle.getChannelAttr(), settle.getStaticElementAttr());
  // In the tile loop the last hand-over may still be out.
  bool isInTile = settle->getParentOfType<ForEachTileOp>() != nullptr;
  if (ring.getReleased() + (isInTile ? 1 : 0) < ring.committed) {
    return settle.emitOpError() << "expected all hand-overs of " << settle.getChannelAttr()
                                << " to be released, but got " << ring.getReleased() << " of "
                                << ring.committed;
  }
  return success();
}

LogicalResult RingWalk::visit(Operation *op) {
  if (auto acquire = dyn_cast<AcquireOp>(op)) {
    return visitAcquire(acquire);
  }
  if (auto wait = dyn_cast<WaitOp>(op)) {
    return visitWait(wait);
  }
  if (auto use = dyn_cast<UseOp>(op)) {
    return visitUse(use);
  }
  if (auto settle = dyn_cast<SettleOp>(op)) {
    return visitSettle(settle);
  }
  if (auto keep = dyn_cast<KeepOp>(op)) {
    if (keep.getHandle()) {
      setLabel(keep.getResult(), getLabel(keep.getHandle()));
    }
  } else if (auto commit = dyn_cast<CommitOp>(op)) {
    ++generations[getLabel(commit.getToken())].ring->committed;
  } else if (auto release = dyn_cast<ReleaseOp>(op)) {
    if (int64_t token = getLabel(release.getToken()); token != kNoLabel) {
      const Generation &held = generations[token];
      ++held.ring->released[static_cast<size_t>(held.replica)];
    }
  } else if (isa<SliceOp, TransposeOp>(op)) {
    setLabel(op->getResult(0), getLabel(op->getOperand(0)));
  }
  return success();
}

LogicalResult RingWalk::finish() {
  for (auto &[name, ring] : rings) {
    if (ring->blocked) {
      InFlightDiagnostic error = ring->channel.emitError()
                                 << "expected depth of @" << ring->channel.getSymName()
                                 << " to be at least " << ring->needed << ", but got "
                                 << ring->depth;
      InlinedStepOp step = getStepOf(ring->blocked);
      Diagnostic &note = error.attachNote(ring->blocked->getLoc());
      note << (step ? "'" + step.getStepName() + "'" : std::string("this"))
           << " would wait for a slot that is given back only later in the order of steps";
      return error;
    }
  }
  for (auto &entry : rings) {
    Ring *ring = entry.second.get();
    // Slots that were full at the start make up for as many that are at the end.
    auto isTakenOnce = [&](int64_t taken) { return ring->committed == taken + ring->starts; };
    const auto *other = llvm::find_if_not(ring->waited, isTakenOnce);
    if (ring->acquired != ring->committed || ring->waited != ring->released ||
        other != ring->waited.end()) {
      return ring->channel.emitError()
             << "expected each hand-over of @" << ring->channel.getSymName()
             << " to be taken once, but got " << ring->committed - ring->starts << " made and "
             << (other == ring->waited.end() ? ring->waited.front() : *other) << " taken";
    }
  }
  return success();
}

LogicalResult fa4::tile::checkRings(KernelOp kernel) {
  // Occupancy repeats with the trips, and a tile sees only the end of the one before.
  constexpr int64_t kTrips = 4;
  for (int64_t first = 1; first <= kTrips; ++first) {
    for (int64_t second = 1; second <= kTrips; ++second) {
      RingWalk walk(kernel);
      if (failed(walk.run(kernel, {first, second})) || failed(walk.finish())) {
        return failure();
      }
    }
  }
  return success();
}
