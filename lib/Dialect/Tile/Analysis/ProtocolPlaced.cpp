//===- ProtocolPlaced.cpp - events of a placed kernel -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A wait names its phase by its cursor; an arrival's phase is its number among the
// arrivals of its actor at that barrier. That this is the phase it counts for is
// what the checks of the proof establish: none may arrive before the phase is over.
//
//===----------------------------------------------------------------------===//

#include "ProtocolUnroller.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

namespace {

class PlacedUnroller : public ProtocolUnroller {
public:
  using ProtocolUnroller::ProtocolUnroller;

private:
  void visit(Operation *op) override;
  void finishActor() override;

  struct Place {
    FlatSymbolRefAttr view;
    Value cursor;
    Value element;
    IntegerAttr fixed;
  };
  struct Use {
    FlatSymbolRefAttr barrier;
    Value cursor;
    Value element;
    IntegerAttr fixed;
  };
  template <typename OpTy>
  Use useOf(OpTy op) {
    return {op.getBarrierAttr(), op.getCursor(), op.getElement(), op.getStaticElementAttr()};
  }

  int64_t elementOf(Operation *op, Value element, IntegerAttr fixed);
  std::optional<unsigned> barrierAt(Operation *op, const Use &use, int64_t cta);
  std::optional<unsigned> namedAt(Operation *op, FlatSymbolRefAttr name, Value element,
                                  IntegerAttr fixed);
  bool isSkipped(Operation *op, Value when);
  /// The access of a warp to its rows of a place, or of an engine to all of it.
  void access(EventId event, const Place &place, int64_t cta, bool reads, bool writes, bool engine,
              FragType spread, std::optional<int64_t> rank = std::nullopt);

  void visitWait(BarrierWaitOp wait);
  void visitArrive(BarrierArriveOp arrival);
  void visitExpect(BarrierExpectOp expect);
  void visitCommit(BarrierCommitOp commit);
  void meet(Operation *op, unsigned object, int64_t weight, bool waits);
  void visitFree(TmemFreeOp free);
  void visitNamed(Operation *op, FlatSymbolRefAttr name, Value element, IntegerAttr fixed,
                  Value when, bool waits);
  /// Done of a copy, which brings the bytes of `view` to the barrier.
  void finishCopy(Operation *op, EventId issue, const Use &use, int64_t cta,
                  FlatSymbolRefAttr view);
  void visitMma(IssueMmaOp mma);
  void visitGroup(Operation *op);
  void visitPtx(RunPtxOp ptx);

  /// Where the warps of a warpgroup issue their common products.
  unsigned warpgroupMeeting();
  /// How many actors of the same role, replica and CTA come before this one.
  unsigned warpNumber() const {
    unsigned number = 0;
    while (model.actors[current - number].warp != 0) {
      ++number;
    }
    return number;
  }
  int64_t warpsOf(RoleOp role) { return role.getWarps(); }
  int64_t nextPhase(unsigned object) { return arrivals[{current, object}]++; }
  /// Threads of a role arrive through its first acting warp; the others add edges.
  int64_t weightOf(int64_t total) const { return isFirstWarp() ? total : 0; }

  llvm::DenseMap<std::pair<unsigned, unsigned>, int64_t> arrivals;
  llvm::DenseMap<std::pair<unsigned, unsigned>, int64_t> armed;
  /// Operations of the stream of (actor, kind) before each group.commit.
  llvm::DenseMap<std::pair<unsigned, int>, SmallVector<uint32_t>> groups;
};

} // namespace

int64_t PlacedUnroller::elementOf(Operation *op, Value element, IntegerAttr fixed) {
  if (fixed) {
    return fixed.getInt();
  }
  return element ? require(op, element, "an element of a barrier or view") : 0;
}

std::optional<unsigned> PlacedUnroller::barrierAt(Operation *op, const Use &use, int64_t cta) {
  auto barrier = model.lookup<BarrierOp>(use.barrier);
  if (!barrier) {
    op->emitOpError() << "expected a barrier of the kernel, but got '" << use.barrier << "'";
    failed = true;
    return std::nullopt;
  }
  int64_t element = elementOf(op, use.element, use.fixed);
  int64_t slot = 0;
  if (use.cursor) {
    slot = require(op, use.cursor, "a cursor") % static_cast<int64_t>(barrier.getDepth());
  }
  if (failed || element < 0 || element >= static_cast<int64_t>(barrier.getFamily())) {
    if (!failed) {
      op->emitOpError() << "expected element of '" << use.barrier << "' to be from 0 to "
                        << barrier.getFamily() - 1 << ", but got " << element;
    }
    failed = true;
    return std::nullopt;
  }
  return object(ProtocolObject::Kind::Mbarrier, barrier, element, slot, cta,
                static_cast<int64_t>(barrier.getCount()));
}

std::optional<unsigned> PlacedUnroller::namedAt(Operation *op, FlatSymbolRefAttr name,
                                                Value element, IntegerAttr fixed) {
  auto barrier = model.lookup<NamedBarrierOp>(name);
  if (!barrier) {
    op->emitOpError() << "expected a named barrier of the kernel, but got '" << name << "'";
    failed = true;
    return std::nullopt;
  }
  int64_t slot = barrier.getPerWarp() ? actor().warp : 0;
  return object(ProtocolObject::Kind::Named, barrier, elementOf(op, element, fixed), slot,
                actor().cta, static_cast<int64_t>(barrier.getThreads()));
}

bool PlacedUnroller::isSkipped(Operation *op, Value when) {
  return when && require(op, when, "the condition of an arrival") == 0;
}

void PlacedUnroller::access(EventId event, const Place &place, int64_t cta, bool reads, bool writes,
                            bool engine, FragType spread, std::optional<int64_t> rank) {
  Operation *op = graph.events[event].op;
  int64_t element = elementOf(op, place.element, place.fixed);
  int64_t slot = 0, depth = 1;
  if (place.cursor) {
    depth = cast<CursorType>(place.cursor.getType()).getDepth();
    slot = require(op, place.cursor, "a cursor") % depth;
  }
  auto layout = spread ? dyn_cast_or_null<SpreadAttr>(spread.getLayout()) : SpreadAttr();
  // Numbers of columns are held, read and written by all threads alike.
  bool byRows =
      layout && layout.getValue() != Spread::Columns && layout.getValue() != Spread::Columns2;
  bool whole = engine || !byRows || warpsOf(actor().role) == 1;
  int64_t group = whole || warpsOf(actor().role) <= 4 ? -1 : actor().warp / 4;
  unsigned footprint = model.footprint(place.view.getValue(), rank.value_or(cta), group, spread);
  const ProtocolAlloc &alloc = model.allocs[model.getFootprint(footprint).alloc];
  int64_t index = element * depth + slot;
  if (failed || index >= alloc.family) {
    return;
  }
  AccessKind kind = alloc.space == Space::Tmem ? AccessKind::Tmem
                    : engine                   ? AccessKind::Async
                                               : AccessKind::Generic;
  addAccess(event,
            {static_cast<unsigned>(alloc.firstRegion + cta * alloc.family + index), footprint, kind,
             reads, writes, static_cast<int8_t>(whole ? -1 : actor().warp)});
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void PlacedUnroller::visitWait(BarrierWaitOp wait) {
  std::optional<unsigned> barrier = barrierAt(wait, useOf(wait), actor().cta);
  std::optional<ProtocolValue> cursor = wait.getCursor() ? get(wait.getCursor()) : std::nullopt;
  if (!barrier || !cursor) {
    return;
  }
  int64_t depth = cast<CursorType>(wait.getCursor().getType()).getDepth();
  waitFor(addEvent(wait, EventKind::Wait), *barrier,
          cursor->number / depth - (cursor->credit ? 1 : 0));
}

void PlacedUnroller::visitArrive(BarrierArriveOp arrival) {
  if (isSkipped(arrival, arrival.getWhen()) ||
      (arrival.getBy() == Arrival::Lane && !isFirstWarp())) {
    return;
  }
  int64_t cta = arrival.getOnLeader() ? 0 : actor().cta;
  std::optional<unsigned> barrier = barrierAt(arrival, useOf(arrival), cta);
  if (!barrier) {
    return;
  }
  int64_t total = arrival.getBy() == Arrival::Lane ? 1 : warpsOf(actor().role);
  total *= arrival.getBy() == Arrival::Thread ? model.target().threadsPerWarp : 1;
  arrive(addEvent(arrival, EventKind::Arrive), *barrier, nextPhase(*barrier), weightOf(total));
}

void PlacedUnroller::visitExpect(BarrierExpectOp expect) {
  if (!isFirstWarp()) {
    return;
  }
  int64_t cta = expect.getOnLeader() ? 0 : expect.getOnPeer() ? 1 - actor().cta : actor().cta;
  std::optional<unsigned> barrier = barrierAt(expect, useOf(expect), cta);
  if (!barrier) {
    return;
  }
  ++armed[{current, *barrier}];
  if (expect.getOnLeader() && actor().cta != 0) {
    return; // the leader's role announces for both
  }
  int64_t phase = nextPhase(*barrier);
  arrive(addEvent(expect, EventKind::Arrive), *barrier, phase, 1);
  phaseOf(*barrier, phase).announced += static_cast<int64_t>(expect.getBytes());
}

void PlacedUnroller::visitCommit(BarrierCommitOp commit) {
  unsigned products = stream(ProtocolStream::Kind::Mma);
  SmallVector<int64_t, 2> homes{actor().cta};
  if (commit.getOnBoth() && model.ctas > 1) {
    homes.push_back(1 - actor().cta);
  }
  for (int64_t cta : homes) {
    std::optional<unsigned> barrier = barrierAt(commit, useOf(commit), cta);
    if (!barrier) {
      return;
    }
    EventId event = addEngineEvent(commit, EventKind::Commit, last);
    graph.events[event].stream = static_cast<int32_t>(products);
    graph.events[event].order = graph.streams[products].done.size();
    arrive(event, *barrier, nextPhase(*barrier), 1);
  }
}

void PlacedUnroller::meet(Operation *op, unsigned object, int64_t weight, bool waits) {
  int64_t phase = nextPhase(object);
  arrive(addEvent(op, EventKind::Arrive), object, phase, weight);
  if (waits) {
    waitFor(addEvent(op, EventKind::Wait), object, phase);
  }
}

void PlacedUnroller::visitNamed(Operation *op, FlatSymbolRefAttr name, Value element,
                                IntegerAttr fixed, Value when, bool waits) {
  if (isSkipped(op, when)) {
    return;
  }
  std::optional<unsigned> barrier = namedAt(op, name, element, fixed);
  if (!barrier) {
    return;
  }
  bool perWarp = model.lookup<NamedBarrierOp>(name).getPerWarp();
  int64_t threads = model.target().threadsPerWarp;
  meet(op, *barrier, perWarp ? threads : weightOf(threads * warpsOf(actor().role)), waits);
}

//===----------------------------------------------------------------------===//
// Engines
//===----------------------------------------------------------------------===//

void PlacedUnroller::finishCopy(Operation *op, EventId issue, const Use &use, int64_t cta,
                                FlatSymbolRefAttr view) {
  std::optional<unsigned> barrier = barrierAt(op, use, cta);
  if (!barrier) {
    return;
  }
  int64_t phase = armed[{current, *barrier}] - 1;
  if (phase < 0) {
    op->emitOpError() << "expected the bytes of a copy to be announced at '" << use.barrier
                      << "' before it, but got no barrier.expect";
    failed = true;
    return;
  }
  EventId done = addEngineEvent(op, EventKind::Done, issue);
  graph.events[done].order = graph.events[issue].order = 0;
  arrive(done, *barrier, phase, 0);
  phaseOf(*barrier, phase).brought += model.lookup<ViewOp>(view).getBytes();
}

void PlacedUnroller::visitMma(IssueMmaOp mma) {
  bool inMemory = mma.getAccView().has_value();
  if (inMemory && !isFirstWarp()) {
    return;
  }
  // The four warps of a warpgroup issue one product together (PTX ISA, wgmma).
  if (!inMemory && !isFirstWarp()) {
    meet(mma, warpgroupMeeting(), 0, false);
    return;
  }
  unsigned pipe = stream(inMemory ? ProtocolStream::Kind::Mma : ProtocolStream::Kind::Wgmma);
  EventId issue = addEvent(mma, EventKind::Issue);
  bool overwrites = startsFromZero(mma.getOverwrite(), mma.getUnless());
  for (int64_t cta : homesOfProducts()) {
    if (mma.getAView()) {
      access(issue,
             {mma.getAViewAttr(), mma.getA(), mma.getAElement(), mma.getStaticAElementAttr()}, cta,
             true, false, true, FragType());
    }
    access(issue, {mma.getBViewAttr(), mma.getB(), mma.getBElement(), mma.getStaticBElementAttr()},
           cta, true, false, true, FragType());
    if (inMemory) {
      access(
          issue,
          {mma.getAccViewAttr(), mma.getAcc(), mma.getAccElement(), mma.getStaticAccElementAttr()},
          cta, !overwrites, true, true, FragType());
    }
  }
  addDone(mma, issue, pipe);
  if (!inMemory) {
    meet(mma, warpgroupMeeting(), warpsOf(actor().role), false);
  }
}

unsigned PlacedUnroller::warpgroupMeeting() {
  return object(ProtocolObject::Kind::Meeting, actor().role, actor().replica, 1, actor().cta,
                warpsOf(actor().role));
}

void PlacedUnroller::visitGroup(Operation *op) {
  auto commit = dyn_cast<GroupCommitOp>(op);
  auto wait = dyn_cast<GroupWaitOp>(op);
  Group group = commit ? commit.getKind() : wait.getKind();
  if (group == Group::Bulk && !isFirstWarp()) {
    return; // one lane stores, commits and waits
  }
  SmallVector<uint32_t> &closed = groups[{current, static_cast<int>(group)}];
  unsigned leader = current - warpNumber();
  unsigned index = group == Group::Bulk ? stream(ProtocolStream::Kind::Bulk)
                                        : stream(ProtocolStream::Kind::Wgmma, leader);
  // Every warp counts the products that it took part in.
  auto issued = static_cast<int64_t>(graph.streams[index].done.size());
  if (group == Group::Wgmma) {
    issued = arrivals.lookup({current, warpgroupMeeting()});
  }
  if (commit) {
    closed.push_back(static_cast<uint32_t>(issued));
    return;
  }
  auto pending = static_cast<size_t>(wait.getPending());
  uint32_t order = closed.size() > pending ? closed[closed.size() - 1 - pending] : 0;
  if (group == Group::Wgmma && order > 0) {
    waitFor(addEvent(op, EventKind::Wait), warpgroupMeeting(), order - 1);
  }
  EventId event = addEvent(op, EventKind::GroupWait);
  graph.events[event].stream = static_cast<int32_t>(index);
  graph.events[event].order = order;
}

void PlacedUnroller::visitPtx(RunPtxOp ptx) {
  EventId event = addEvent(ptx, EventKind::Access);
  auto touch = [&](ArrayAttr names, bool reads, bool writes) {
    for (auto name : names.getAsRange<FlatSymbolRefAttr>()) {
      unsigned footprint = model.footprint(name.getValue(), actor().cta, -1, FragType());
      const ProtocolAlloc &alloc = model.allocs[model.getFootprint(footprint).alloc];
      for (int64_t index = 0; index < alloc.family; ++index) {
        addAccess(event,
                  {static_cast<unsigned>(alloc.firstRegion + actor().cta * alloc.family + index),
                   footprint, alloc.space == Space::Tmem ? AccessKind::Tmem : AccessKind::Generic,
                   reads, writes, static_cast<int8_t>(-1)});
      }
    }
  };
  touch(ptx.getReads(), true, false);
  touch(ptx.getWrites(), false, true);
}

void PlacedUnroller::visit(Operation *op) {
  if (auto wait = dyn_cast<BarrierWaitOp>(op)) {
    visitWait(wait);
  } else if (auto arrival = dyn_cast<BarrierArriveOp>(op)) {
    visitArrive(arrival);
  } else if (auto expect = dyn_cast<BarrierExpectOp>(op)) {
    visitExpect(expect);
  } else if (auto commit = dyn_cast<BarrierCommitOp>(op)) {
    visitCommit(commit);
  } else if (auto arrive = dyn_cast<NamedArriveOp>(op)) {
    visitNamed(op, arrive.getBarrierAttr(), arrive.getElement(), arrive.getStaticElementAttr(),
               arrive.getWhen(), false);
  } else if (auto sync = dyn_cast<NamedSyncOp>(op)) {
    visitNamed(op, sync.getBarrierAttr(), sync.getElement(), sync.getStaticElementAttr(),
               sync.getWhen(), true);
  } else if (isa<RoleSyncOp>(op)) {
    int64_t warps = warpsOf(actor().role);
    meet(
        op,
        object(ProtocolObject::Kind::Meeting, actor().role, actor().replica, 0, actor().cta, warps),
        weightOf(warps), true);
  } else if (auto fence = dyn_cast<FenceOp>(op)) {
    graph.events[addEvent(op, EventKind::Fence)].fences = static_cast<uint8_t>(fence.getKinds());
  } else if (auto read = dyn_cast<ReadOp>(op)) {
    access(addEvent(op, EventKind::Access),
           {read.getViewAttr(), read.getHandle(), read.getElement(), read.getStaticElementAttr()},
           actor().cta, true, false, false, read.getFragType());
  } else if (auto write = dyn_cast<WriteOp>(op)) {
    access(
        addEvent(op, EventKind::Access),
        {write.getViewAttr(), write.getHandle(), write.getElement(), write.getStaticElementAttr()},
        actor().cta, false, true, false, cast<FragType>(write.getValue().getType()));
  } else if (auto rescale = dyn_cast<RescaleOp>(op)) {
    access(addEvent(op, EventKind::Access),
           {rescale.getViewAttr(), rescale.getHandle(), rescale.getElement(),
            rescale.getStaticElementAttr()},
           actor().cta, true, true, false, cast<FragType>(rescale.getBy().getType()));
  } else if (auto load = dyn_cast<IssueLoadOp>(op)) {
    if (isFirstWarp()) {
      EventId issue = addEvent(op, EventKind::Issue);
      access(issue,
             {load.getViewAttr(), load.getSlot(), load.getViewElement(),
              load.getStaticViewElementAttr()},
             actor().cta, false, true, true, FragType());
      finishCopy(op, issue, useOf(load), load.getOnLeader() ? 0 : actor().cta, load.getViewAttr());
    }
  } else if (auto next = dyn_cast<IssueNextOp>(op)) {
    if (isFirstWarp()) {
      EventId issue = addEvent(op, EventKind::Issue);
      access(issue,
             {next.getViewAttr(), next.getSlot(), next.getViewElement(),
              next.getStaticViewElementAttr()},
             actor().cta, false, true, true, FragType());
      finishCopy(op, issue, useOf(next), actor().cta, next.getViewAttr());
    }
  } else if (auto send = dyn_cast<IssueSendOp>(op)) {
    if (isFirstWarp()) {
      EventId issue = addEvent(op, EventKind::Issue);
      int64_t peer = 1 - actor().cta;
      access(issue, {send.getViewAttr(), Value(), Value(), IntegerAttr()}, actor().cta, true, false,
             true, FragType());
      // At the peer, in the half that belongs to the sender's rank.
      access(issue, {send.getPeerViewAttr(), Value(), Value(), IntegerAttr()}, peer, false, true,
             true, FragType(), actor().cta);
      finishCopy(op, issue, useOf(send), peer, send.getPeerViewAttr());
    }
  } else if (auto store = dyn_cast<IssueStoreOp>(op)) {
    if (isFirstWarp()) {
      EventId issue = addEvent(op, EventKind::Issue);
      access(issue,
             {store.getViewAttr(), store.getSlot(), store.getViewElement(),
              store.getStaticViewElementAttr()},
             actor().cta, true, false, true, FragType());
      addDone(op, issue, stream(ProtocolStream::Kind::Bulk));
    }
  } else if (auto mma = dyn_cast<IssueMmaOp>(op)) {
    visitMma(mma);
  } else if (isa<GroupCommitOp, GroupWaitOp>(op)) {
    visitGroup(op);
  } else if (auto ptx = dyn_cast<RunPtxOp>(op)) {
    visitPtx(ptx);
  } else if (isa<ClusterSyncOp>(op)) {
    meet(op, object(ProtocolObject::Kind::Meeting, model.kernel, 0, 0, 0, model.actors.size()), 1,
         true);
  }
}

void PlacedUnroller::visitFree(TmemFreeOp free) {
  if (free.getRole() != RoleOp(actor().role).getSymName() || !isFirstWarp() ||
      actor().replica != 0) {
    return;
  }
  visitNamed(free, free.getAfterAttr(), Value(), IntegerAttr(), Value(), true);
  EventId event = addEvent(free, EventKind::Free);
  for (const ProtocolAlloc &alloc : model.allocs) {
    if (alloc.space != Space::Tmem) {
      continue;
    }
    for (int64_t index = 0; index < alloc.family; ++index) {
      // Footprint -1: every cell.
      addAccess(event,
                {static_cast<unsigned>(alloc.firstRegion + actor().cta * alloc.family + index), ~0U,
                 AccessKind::Tmem, false, true, static_cast<int8_t>(-1)});
    }
  }
}

void PlacedUnroller::finishActor() {
  tile = -1;
  for (auto teardown : model.kernel.getBody().getOps<TeardownOp>()) {
    for (Operation &op : teardown.getBody().front()) {
      if (auto free = dyn_cast<TmemFreeOp>(op)) {
        visitFree(free);
      } else if (isa<ClusterSyncOp>(op)) {
        visit(&op);
      }
    }
  }
}

std::unique_ptr<ProtocolUnroller>
fa4::tile::createPlacedUnroller(ProtocolModel &model, ProtocolGraph &graph, bool &failed) {
  return std::make_unique<PlacedUnroller>(model, graph, failed);
}
