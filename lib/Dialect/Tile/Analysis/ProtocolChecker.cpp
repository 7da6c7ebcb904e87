//===- ProtocolChecker.cpp - one run, with clocks -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How knowledge moves: along programs, from arrivals to waits, from engines to those
// who wait for them; and what fences turn it into.
//
//===----------------------------------------------------------------------===//

#include "ProtocolChecker.h"

#include "fa4/Dialect/Tile/Analysis/OptionalAccess.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

ProtocolChecker::ProtocolChecker(const ProtocolGraph &graph, bool wantsPairs)
    : graph(graph), wantsPairs(wantsPairs), model(*graph.model), layout(graph), memory(graph),
      initialWaits(graph.objects.size()), enginePhases(graph.objects.size(), 0),
      times(graph.events.size(), 0), relaxed(graph.objects.size()) {
  for (unsigned index = 0; index < model.actors.size(); ++index) {
    actors.emplace_back(layout.size());
    actors.back().next = graph.actorBegin[index];
    actors.back().end = graph.actorBegin[index + 1];
  }
  phases.resize(graph.objects.size());
  for (auto [index, object] : llvm::enumerate(graph.objects)) {
    phases[index].resize(object.phases.size());
    auto barrier = dyn_cast_or_null<BarrierOp>(object.symbol);
    relaxed[index] = barrier && model.pairArrivals.isRelaxed(barrier.getSymNameAttr());
  }
  for (EventId id = 0; id < graph.events.size(); ++id) {
    const ProtocolEvent &event = graph.events[id];
    if (event.object < 0) {
      continue;
    }
    if (event.kind == EventKind::Wait && event.phase < 0) {
      initialWaits[event.object].push_back(id);
    }
    if (event.kind == EventKind::Done || event.kind == EventKind::Commit) {
      raise(enginePhases[event.object], event.phase + 1);
    }
    if (event.kind == EventKind::Commit) {
      // At T1 a commit says which copies it stands for.
      for (EventId before : graph.edges(id)) {
        if (before != kNoEvent && graph.events[before].kind == EventKind::Done) {
          copyEnds[before] = {layout.object(event.object), static_cast<uint32_t>(event.phase + 1)};
        }
      }
    }
  }
}

ProtocolReport ProtocolChecker::check() {
  checkSetup();
  checkRegisters();
  checkCounts();
  bool progress = true;
  while (progress && !result.finding) {
    progress = false;
    for (Actor &actor : actors) {
      while (actor.next < actor.end && !result.finding && isReady(graph.events[actor.next])) {
        step(actor.next++);
        progress = true;
      }
    }
  }
  if (!result.finding) {
    checkDeadlock();
  }
  if (!result.finding) {
    checkExit();
  }
  return std::move(result);
}

ProtocolReport fa4::tile::checkRun(const ProtocolGraph &graph, bool wantsPairs) {
  return ProtocolChecker(graph, wantsPairs).check();
}

bool ProtocolChecker::isReady(const ProtocolEvent &event) const {
  if (event.kind != EventKind::Wait || event.phase < 0) {
    return true;
  }
  const ProtocolObject &object = graph.objects[event.object];
  return phases[event.object][event.phase].arrived == object.phases[event.phase].arrivals.size() &&
         graph.isComplete(object, event.phase);
}

ProtocolChecker::PhaseState &ProtocolChecker::phaseState(int32_t object, int32_t phase) {
  PhaseState &state = phases[object][phase];
  if (!state.message && spareMessages.empty()) {
    state.message = std::make_unique<Knowledge>(kNumCarried, layout.size());
  } else if (!state.message) {
    state.message = std::move(spareMessages.back());
    spareMessages.pop_back();
    state.message->clear();
  }
  return state;
}

const SmallVector<EventId, 2> &ProtocolChecker::waitsOf(int32_t object, int32_t phase) const {
  return phase < 0 ? initialWaits[object] : graph.objects[object].phases[phase].waits;
}

void ProtocolChecker::step(EventId id) {
  const ProtocolEvent &event = graph.events[id];
  Actor &actor = actors[event.actor];
  if (event.kind == EventKind::Commit) {
    doCommit(id, actor);
    return;
  }
  if (event.kind == EventKind::Done) {
    doCopyDone(id, actor);
    return;
  }
  times[id] = ++actor.time;
  for (Known kind : {Known::Time, Known::Generic}) {
    actor.known[kind][layout.program(event.actor)] = actor.time;
  }
  switch (event.kind) {
  case EventKind::Wait:
    doWait(id, actor);
    break;
  case EventKind::Arrive:
    doArrive(id, actor);
    break;
  case EventKind::GroupWait:
    doGroupWait(id, actor);
    break;
  case EventKind::Fence:
    doFence(event, actor);
    break;
  default:
    isOptionalAccess(event.op) ? doOptionalAccesses(id, actor) : doAccesses(id, actor);
    break;
  }
}

//===----------------------------------------------------------------------===//
// Arrivals and waits
//===----------------------------------------------------------------------===//

bool ProtocolChecker::arrivalKnown(EventId arrival, ClockRef time) const {
  const ProtocolEvent &event = graph.events[arrival];
  if (event.kind == EventKind::Arrive) {
    return times[arrival] != 0 && time[layout.program(event.actor)] >= times[arrival];
  }
  return time[layout.object(event.object)] >= static_cast<uint32_t>(event.phase + 1);
}

unsigned ProtocolChecker::memoryKinds(const ProtocolEvent &event) const {
  return relaxed[event.object] ? 1 : static_cast<unsigned>(Known::Imported);
}

void ProtocolChecker::doWait(EventId id, Actor &actor) {
  const ProtocolEvent &event = graph.events[id];
  if (event.phase < 0) {
    return;
  }
  const ProtocolObject &object = graph.objects[event.object];
  if (object.kind == ProtocolObject::Kind::Mbarrier && event.phase > 0) {
    // P.3: a parity names a phase only to those who know that the one before is over.
    for (EventId arrival : object.phases[event.phase - 1].arrivals) {
      if (!arrivalKnown(arrival, actor.known[Known::Time])) {
        ProtocolFinding &finding = report(
            event.op,
            "expected phase " + std::to_string(event.phase - 1) + " of " + graph.describe(object) +
                " to be over before this wait for the next one, but found no "
                "order",
            ProtocolFinding::Kind::Unordered);
        note(finding, id, "waits here");
        note(finding, arrival, "arrives here in the phase before");
        return;
      }
      addPair(arrival, id);
    }
  }
  PhaseState &state = phaseState(event.object, event.phase);
  actor.known.join(*state.message, memoryKinds(event));
  join(actor.known[Known::Imported], (*state.message)[Known::Imported]);
  // Arrivals come before waits, so the last wait is the last to ask.
  if (++state.waited == object.phases[event.phase].waits.size()) {
    spareMessages.push_back(std::move(state.message));
  }
  if (enginePhases[event.object] != 0) {
    for (unsigned kind = 0; kind < memoryKinds(event); ++kind) {
      raise(actor.known[static_cast<Known>(kind)][layout.object(event.object)], event.phase + 1);
    }
  }
}

void ProtocolChecker::doArrive(EventId id, Actor &actor) {
  const ProtocolEvent &event = graph.events[id];
  checkSeen(id, actor.known[Known::Time]);
  PhaseState &state = phaseState(event.object, event.phase);
  state.message->join(actor.known, memoryKinds(event));
  join((*state.message)[Known::Imported], actor.known[Known::Exported]);
  ++state.arrived;
  checkParity(event);
}

void ProtocolChecker::doCommit(EventId id, Actor &actor) {
  const ProtocolEvent &event = graph.events[id];
  Clock time = actor.known[Known::Time].vec();
  if (event.stream >= 0) {
    raise(time[layout.stream(event.stream)], event.order);
  }
  checkSeen(id, time);
  PhaseState &state = phaseState(event.object, event.phase);
  Knowledge &message = *state.message;
  join(message[Known::Time], time);
  // It reports the products, and what they were ordered after, nothing else.
  join(message[Known::Generic], actor.startAsync);
  join(message[Known::Async], actor.startAsync);
  join(message[Known::Imported], actor.startTmem);
  if (event.stream >= 0) {
    for (Known kind : {Known::Generic, Known::Async, Known::Imported}) {
      raise(message[kind][layout.stream(event.stream)], event.order);
    }
  }
  ++state.arrived;
  checkParity(event);
}

void ProtocolChecker::doCopyDone(EventId id, Actor &actor) {
  const ProtocolEvent &event = graph.events[id];
  if (event.object < 0) {
    return; // known by a commit or a group's wait
  }
  checkSeen(id, actor.known[Known::Time]);
  PhaseState &state = phaseState(event.object, event.phase);
  Knowledge &message = *state.message;
  join(message[Known::Time], actor.known[Known::Time]);
  join(message[Known::Generic], actor.known[Known::Async]);
  join(message[Known::Async], actor.known[Known::Async]);
  ++state.arrived;
  checkParity(event);
}

void ProtocolChecker::doGroupWait(EventId id, Actor &actor) {
  const ProtocolEvent &event = graph.events[id];
  auto learn = [&](unsigned stream, uint32_t number) {
    for (Known kind : {Known::Time, Known::Generic, Known::Async}) {
      raise(actor.known[kind][layout.stream(stream)], number);
    }
  };
  if (event.stream >= 0) {
    learn(event.stream, event.order);
    return;
  }
  for (EventId before : graph.edges(id).drop_front()) {
    const ProtocolEvent &done = graph.events[before];
    if (done.kind == EventKind::Done && done.stream >= 0) {
      learn(done.stream, done.order + 1);
    }
  }
}

void ProtocolChecker::doFence(const ProtocolEvent &event, Actor &actor) {
  auto kinds = static_cast<FenceKind>(event.fences);
  Knowledge &known = actor.known;
  if (bitEnumContainsAny(kinds, FenceKind::TmemLoads)) {
    known[Known::Tmem][layout.loads(event.actor)] = actor.loads;
  }
  if (bitEnumContainsAny(kinds, FenceKind::TmemStores)) {
    known[Known::Tmem][layout.stores(event.actor)] = actor.stores;
  }
  if (bitEnumContainsAny(kinds, FenceKind::Before)) {
    join(known[Known::Exported], known[Known::Tmem]);
    join(known[Known::Exported], known[Known::Imported]);
  }
  if (bitEnumContainsAny(kinds, FenceKind::After)) {
    join(known[Known::Tmem], known[Known::Imported]);
  }
  if (bitEnumContainsAny(kinds, FenceKind::Proxy)) {
    join(known[Known::Async], known[Known::Generic]);
  }
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

Stamp ProtocolChecker::endOf(EventId id, const MemoryAccess &access, const Actor &actor) const {
  const ProtocolEvent &event = graph.events[id];
  if (event.kind == EventKind::Issue) {
    // Its Done follows it.
    const ProtocolEvent &done = graph.events[id + 1];
    if (auto found = copyEnds.find(id + 1);
        found != copyEnds.end() && graph.streams[event.stream].kind == ProtocolStream::Kind::Copy) {
      return found->second;
    }
    if (event.stream >= 0) {
      return {layout.stream(event.stream), event.order + 1};
    }
    return {layout.object(done.object), static_cast<uint32_t>(done.phase + 1)};
  }
  if (access.kind == AccessKind::Tmem && model.placed) {
    return access.writes ? Stamp{layout.stores(event.actor), actor.stores}
                         : Stamp{layout.loads(event.actor), actor.loads};
  }
  return {layout.program(event.actor), actor.time};
}

void ProtocolChecker::doOptionalAccesses(EventId id, Actor &actor) {
  MutableClock ordered = actor.known[Known::Tmem], exported = actor.known[Known::Exported];
  uint32_t stores = layout.stores(graph.events[id].actor), earlier = actor.stores;
  // Its own `after` and `before` serve the access alone: what they would pass on besides
  // is not passed on where it does not happen.
  Clock outside = ordered.vec();
  join(ordered, actor.known[Known::Imported]);
  doAccesses(id, actor);
  llvm::copy(outside, ordered.begin());
  for (MutableClock clock : {ordered, exported}) {
    // Earlier stores that nobody waited for are not covered either.
    if (clock[stores] >= earlier) {
      clock[stores] = actor.stores;
    }
  }
}

void ProtocolChecker::doAccesses(EventId id, Actor &actor) {
  const ProtocolEvent &event = graph.events[id];
  for (const MemoryAccess &access : graph.accessesOf(event)) {
    if (event.kind == EventKind::Access && access.kind == AccessKind::Tmem) {
      uint32_t &number = access.writes ? actor.stores : actor.loads;
      ++number;
      actor.known[Known::Time]
                 [access.writes ? layout.stores(event.actor) : layout.loads(event.actor)] = number;
    }
    CellAccess added{id, access, endOf(id, access, actor), isOptionalAccess(event.op)};
    memory.add(
        added,
        [&](const CellAccess &before, bool adjacent) {
          if (event.kind == EventKind::Free) {
            checkFree(before, id, actor);
          } else {
            checkPair(before, added, adjacent, actor);
          }
        },
        [&]() { reportUnwritten(added); },
        [&](const CellAccess &before) { reportForeign(before, added); });
    if (result.finding) {
      return;
    }
  }
  if (event.kind == EventKind::Issue && event.stream >= 0 &&
      graph.streams[event.stream].kind == ProtocolStream::Kind::Mma) {
    llvm::copy(actor.known[Known::Async], actor.startAsync.begin());
    llvm::copy(actor.known[Known::Tmem], actor.startTmem.begin());
  }
}

/// Whether both accumulate into the same cells with the same shape, which the PTX
/// ISA keeps in order (tcgen05 memory consistency, pipelined instructions).
static bool isSameAccumulator(const CellAccess &first, const CellAccess &second) {
  return first.access.writes && second.access.writes &&
         first.access.footprint == second.access.footprint;
}

void ProtocolChecker::checkPair(const CellAccess &before, const CellAccess &after, bool adjacent,
                                const Actor &actor) {
  if (result.finding) {
    return;
  }
  const ProtocolEvent &event = graph.events[after.event];
  const ProtocolEvent &first = graph.events[before.event];
  auto knows = [&](Known kind) {
    return actor.known[kind][before.end.component] >= before.end.number;
  };
  bool samePipe = event.kind == EventKind::Issue && event.stream >= 0 &&
                  before.end.component == layout.stream(event.stream) &&
                  graph.streams[event.stream].kind == ProtocolStream::Kind::Mma;
  if (samePipe && isSameAccumulator(before, after)) {
    return;
  }
  if (samePipe && !knows(Known::Time)) {
    if (!graph.model->target().mmaIssueOrder) {
      reportRace(before, after, /*samePipe=*/true);
    } else if (leanSeen.insert({first.op, event.op}).second) {
      result.leans.push_back({first.op, event.op});
    }
    return;
  }
  if (!knows(Known::Time)) {
    reportRace(before, after, /*samePipe=*/false);
    return;
  }
  if (adjacent) {
    addPair(before.event, after.event);
  }
  if (!model.placed) {
    return;
  }
  Known needed = Known::Generic;
  // An answer, unlike a copy, must not come before the async proxy knows of the reads
  // (CUDA programming guide, cluster launch control).
  bool answers = isa<IssueNextOp>(event.op);
  if (after.access.kind == AccessKind::Tmem) {
    needed = Known::Tmem;
  } else if (after.access.kind == AccessKind::Async &&
             (before.access.writes || answers || before.access.kind == AccessKind::Async)) {
    needed = Known::Async;
  }
  if (!knows(needed)) {
    reportFence(before, after, needed);
  }
}

void ProtocolChecker::checkFree(const CellAccess &before, EventId id, const Actor &actor) {
  if (result.finding) {
    return;
  }
  uint32_t component = before.end.component, number = before.end.number;
  bool over = actor.known[Known::Time][component] >= number;
  bool carried = actor.known[Known::Tmem][component] >= number ||
                 actor.known[Known::Imported][component] >= number;
  if (over && carried) {
    return;
  }
  ProtocolFinding &finding =
      report(graph.events[id].op,
             "expected tensor memory to be freed after its last access, but found no order" +
                 std::string(over ? " that fences carry" : ""),
             ProtocolFinding::Kind::Unordered);
  finding.event = id;
  note(finding, before.event, accessText(before));
}
