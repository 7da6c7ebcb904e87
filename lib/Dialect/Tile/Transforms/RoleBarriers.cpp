//===- RoleBarriers.cpp - where the warps of a role meet --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accesses of a role are followed in the order of the text, and a barrier is put
// as late as it may be: one serves all pairs around it. From one trip of a loop to
// the next only what a single lane still reads is followed: what all warps did is
// ordered there by the channels that the trip waits for, and the proof judges it.
//
//===----------------------------------------------------------------------===//

#include "RoleBarriers.h"

#include "fa4/Dialect/Tile/Analysis/ViewOverlap.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

using namespace mlir;
using namespace fa4::tile;

namespace {

/// One access of a role to shared or tensor memory.
struct RoleAccess {
  StringRef view;
  Value element;
  IntegerAttr fixed;
  bool isWrite;
  /// By one lane for all, as copies are.
  bool isLane;
  Attribute spread;
  /// Of a lane: its copy has not been waited for, and a meeting orders nothing yet.
  bool isInFlight = false;

  bool operator==(const RoleAccess &other) const {
    return view == other.view && element == other.element && fixed == other.fixed &&
           isWrite == other.isWrite && isLane == other.isLane && spread == other.spread &&
           isInFlight == other.isInFlight;
  }
};

class BarrierInserter {
public:
  BarrierInserter(KernelOp kernel, RoleOp role, const ViewOverlap &overlap)
      : role(role), overlap(overlap), lanes(kernel.getTarget().getInfo().tmemLanes),
        threads(static_cast<int64_t>(role.getWarps()) *
                kernel.getTarget().getInfo().threadsPerWarp) {}

  unsigned run() {
    follow(role.getBody().front());
    return number;
  }

private:
  void follow(Block &block);
  void followLoop(Block &body);
  void meet(Operation *op, const RoleAccess &access);
  bool conflict(const RoleAccess &first, const RoleAccess &second) const;
  bool ownsAlike(const RoleAccess &first, const RoleAccess &second) const;
  void add(const RoleAccess &access) {
    llvm::erase(open, access); // the latest stands last
    open.push_back(access);
  }
  void land(int64_t pending);
  /// What is left open behind a meeting of the warps.
  void keepInFlight() {
    llvm::erase_if(open, [](const RoleAccess &access) { return !access.isInFlight; });
  }

  RoleOp role;
  const ViewOverlap &overlap;
  int64_t lanes, threads;
  /// Accesses that no barrier stands behind.
  SmallVector<RoleAccess> open;
  unsigned number = 0;
};

} // namespace

/// Null: no warp owns a part of it.
static Attribute spreadOf(Type type) {
  auto frag = dyn_cast<FragType>(type);
  return frag ? frag.getLayout() : Attribute();
}

static SmallVector<RoleAccess, 2> accessesOf(Operation *op) {
  if (auto read = dyn_cast<ReadOp>(op)) {
    return {{read.getView(), read.getElement(), read.getStaticElementAttr(), false, false,
             spreadOf(read.getResult().getType())}};
  }
  if (auto write = dyn_cast<WriteOp>(op)) {
    return {{write.getView(), write.getElement(), write.getStaticElementAttr(), true, false,
             spreadOf(write.getValue().getType())}};
  }
  if (auto rescale = dyn_cast<RescaleOp>(op)) {
    return {{rescale.getView(), rescale.getElement(), rescale.getStaticElementAttr(), true, false,
             spreadOf(rescale.getBy().getType())}};
  }
  if (auto store = dyn_cast<IssueStoreOp>(op)) {
    return {{store.getView(), store.getViewElement(), store.getStaticViewElementAttr(), false, true,
             Attribute(), true}};
  }
  if (auto send = dyn_cast<IssueSendOp>(op)) {
    return {{send.getView(), Value(), IntegerAttr(), false, true, Attribute()}};
  }
  return {};
}

/// Whether each warp touches in `second` only what it touched in `first`.
bool BarrierInserter::ownsAlike(const RoleAccess &first, const RoleAccess &second) const {
  if (first.isLane || second.isLane) {
    return first.isLane && second.isLane;
  }
  if (first.view == second.view && first.spread == second.spread) {
    return true;
  }
  auto isRowOnLane = [&](const RoleAccess &access) {
    auto spread = dyn_cast_or_null<SpreadAttr>(access.spread);
    return spread && spread.getValue() == Spread::Rows &&
           overlap.lookup(access.view)->space == Space::Tmem && threads == lanes;
  };
  return isRowOnLane(first) && isRowOnLane(second);
}

bool BarrierInserter::conflict(const RoleAccess &first, const RoleAccess &second) const {
  if (!first.isWrite && !second.isWrite) {
    return false;
  }
  bool isElsewhere = first.fixed && second.fixed && first.fixed != second.fixed;
  return !isElsewhere && overlap.shared(first.view, second.view) && !ownsAlike(first, second);
}

void BarrierInserter::meet(Operation *op, const RoleAccess &access) {
  bool mustMeet =
      llvm::any_of(open, [&](const RoleAccess &earlier) { return conflict(earlier, access); });
  if (!mustMeet) {
    return;
  }
  OpBuilder builder(op);
  RoleSyncOp::create(builder, op->getLoc());
  ++number;
  keepInFlight();
}

/// All copies but the last `pending` have been read.
void BarrierInserter::land(int64_t pending) {
  for (RoleAccess &access : llvm::reverse(open)) {
    if (access.isInFlight && pending-- <= 0) {
      access.isInFlight = false;
    }
  }
}

void BarrierInserter::followLoop(Block &body) {
  SmallVector<RoleAccess> before = open;
  follow(body);
  // The next trip, behind this one.
  llvm::erase_if(open, [](const RoleAccess &access) { return !access.isLane; });
  follow(body);
  for (const RoleAccess &access : before) {
    add(access); // there may be no trip
  }
}

void BarrierInserter::follow(Block &block) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      followLoop(*loop.getBody());
    } else if (auto tiles = dyn_cast<ForEachTileOp>(op)) {
      followLoop(tiles->getRegion(0).front());
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      SmallVector<RoleAccess> before = open, after;
      for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
        open = before;
        if (!region->empty()) {
          follow(region->front());
        }
        after.append(open);
      }
      open.clear();
      for (const RoleAccess &access : after) {
        add(access);
      }
    } else if (isa<RoleSyncOp>(op)) {
      keepInFlight();
    } else if (auto wait = dyn_cast<GroupWaitOp>(op)) {
      if (wait.getKind() == Group::Bulk) {
        land(static_cast<int64_t>(wait.getPending()));
      }
    } else if (auto arrive = dyn_cast<BarrierArriveOp>(op)) {
      if (arrive.getBy() == Arrival::Lane) {
        // The slot is given back: who gets it next waits for this lane.
        llvm::erase_if(open, [](const RoleAccess &access) { return access.isLane; });
      }
    } else {
      for (const RoleAccess &access : accessesOf(&op)) {
        meet(&op, access);
        add(access);
      }
    }
  }
}

unsigned fa4::tile::insertRoleBarriers(KernelOp kernel) {
  ViewOverlap overlap(kernel);
  unsigned number = 0;
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    if (role.getWarps() > 1) {
      number += BarrierInserter(kernel, role, overlap).run();
    }
  }
  return number;
}
