//===- ProtocolFindings.cpp - counterexamples, in words -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An error names the rule; its notes are the events, by role, that show it broken.
//
//===----------------------------------------------------------------------===//

#include "ProtocolChecker.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fa4::tile;

using Kind = ProtocolFinding::Kind;

ProtocolFinding &ProtocolChecker::report(Operation *op, std::string text, Kind kind) {
  result.finding = ProtocolFinding{op, std::move(text), {}, kind};
  return *result.finding;
}

void ProtocolChecker::note(ProtocolFinding &finding, EventId id, const Twine &text) {
  finding.notes.push_back({graph.events[id].op, graph.describe(id) + " " + text.str(), id});
}

std::string ProtocolChecker::accessText(const CellAccess &access) const {
  std::string text = access.access.writes && access.access.reads ? "reads and writes "
                     : access.access.writes                      ? "writes "
                                                                 : "reads ";
  return text + graph.describe(access.access) + " here";
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

void ProtocolChecker::reportRace(const CellAccess &before, const CellAccess &after, bool samePipe) {
  const ProtocolEvent &event = graph.events[after.event];
  const ProtocolEvent &first = graph.events[before.event];
  std::string what = after.access.writes ? "overwritten" : "read";
  std::string rule = before.access.writes ? "after its last write" : "after its last read";
  ProtocolFinding &finding = report( // P.2
      event.op,
      "expected memory to be " + what + " " + rule + ", but found no order" +
          (samePipe ? " on a target without mma_issue_order" : ""),
      Kind::Unordered);
  note(finding, before.event, accessText(before));
  note(finding, after.event, accessText(after));
  if (samePipe) {
    finding.notes.push_back(
        {event.op, "a wait between them for what the first one's commit reports would order them"});
    return;
  }
  // The last event of the first one's program that the second one knows.
  uint32_t seen = actors[event.actor].known[Known::Time][layout.program(first.actor)];
  EventId common = kNoEvent;
  for (EventId id = graph.actorBegin[first.actor]; id < graph.actorBegin[first.actor + 1]; ++id) {
    if (times[id] != 0 && times[id] <= seen && graph.events[id].kind == EventKind::Arrive) {
      common = id;
    }
  }
  if (common == kNoEvent || first.actor == event.actor) {
    finding.notes.push_back({event.op, "nothing between them is waited for"});
  } else {
    note(finding, common,
         "arrives here at " + graph.describe(graph.objects[graph.events[common].object]) +
             ", the last arrival that the second access knows of");
  }
}

void ProtocolChecker::reportFence(const CellAccess &before, const CellAccess &after, Known needed) {
  const ProtocolEvent &event = graph.events[after.event];
  uint32_t component = before.end.component, number = before.end.number;
  const Actor &own = actors[event.actor];
  unsigned other = graph.events[before.event].actor;
  std::string missing;
  if (needed == Known::Tmem) {
    if (own.known[Known::Imported][component] >= number) {
      missing = "'after' fence before the second one";
    } else if (component == layout.loads(other) &&
               actors[other].known[Known::Tmem][component] < number) {
      missing = "'tmem_loads' wait after the first one";
    } else if (component == layout.stores(other) &&
               actors[other].known[Known::Tmem][component] < number) {
      missing = "'tmem_stores' wait after the first one";
    } else {
      missing = "'before' fence at every hand-over between them";
    }
  } else if (needed == Known::Async && own.known[Known::Generic][component] >= number) {
    missing = "'proxy' fence between them";
  } else {
    missing = "arrival of a thread between them: an engine's reports its operations only";
  }
  ProtocolFinding &finding = report( // P.7
      event.op, "expected the order of two accesses to be carried by fences, but got no " + missing,
      Kind::Unordered);
  note(finding, before.event, accessText(before));
  note(finding, after.event, accessText(after));
}

void ProtocolChecker::reportUnwritten(const CellAccess &access) {
  if (result.finding) {
    return;
  }
  ProtocolFinding &finding = report( // P.2
      graph.events[access.event].op,
      "expected memory to be written before it is read, but got none");
  note(finding, access.event, accessText(access));
}

void ProtocolChecker::reportForeign(const CellAccess &before, const CellAccess &after) {
  if (result.finding) {
    return;
  }
  ProtocolFinding &finding = report( // P.2
      graph.events[after.event].op,
      "expected what a tile reads to be written by that tile, but got an older value",
      Kind::Unordered);
  note(finding, before.event, accessText(before));
  note(finding, after.event, accessText(after));
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

void ProtocolChecker::checkCounts() {
  for (const ProtocolObject &object : graph.objects) {
    for (auto [number, phase] : llvm::enumerate(object.phases)) {
      bool last = number + 1 == object.phases.size();
      bool asked = !phase.waits.empty() || !last;
      bool wrong = phase.weight > object.count || (asked && phase.weight != object.count) ||
                   (asked && phase.announced != phase.brought);
      if (!wrong || result.finding || object.kind == ProtocolObject::Kind::Full ||
          object.kind == ProtocolObject::Kind::Empty) {
        continue;
      }
      EventId shown = !phase.waits.empty()      ? phase.waits.front()
                      : !phase.arrivals.empty() ? phase.arrivals.front()
                                                : kNoEvent;
      Operation *op = shown == kNoEvent ? object.symbol : graph.events[shown].op;
      bool bytes = phase.weight == object.count;
      ProtocolFinding &finding = report( // P.1
          op,
          "expected phase " + std::to_string(number) + " of " + graph.describe(object) +
              " to get " + std::to_string(bytes ? phase.announced : object.count) +
              (bytes ? " bytes" : " arrivals") + ", but got " +
              std::to_string(bytes ? phase.brought : phase.weight),
          Kind::Count);
      for (EventId wait : ArrayRef<EventId>(phase.waits).take_front(1)) {
        note(finding, wait, "waits here");
      }
      for (EventId arrival : phase.arrivals) {
        note(finding, arrival, "arrives here");
      }
    }
  }
}

void ProtocolChecker::checkSeen(EventId id, ClockRef time) {
  const ProtocolEvent &event = graph.events[id];
  const ProtocolObject &object = graph.objects[event.object];
  bool counted =
      object.kind == ProtocolObject::Kind::Mbarrier || object.kind == ProtocolObject::Kind::Named;
  if (!counted || event.phase == 0 || result.finding) {
    return;
  }
  const SmallVector<EventId, 2> &waits = waitsOf(event.object, event.phase - 1);
  bool seen = false;
  for (EventId wait : waits) {
    if (times[wait] != 0 && time[layout.program(graph.events[wait].actor)] >= times[wait]) {
      seen = true;
      addPair(wait, id);
    }
  }
  if (seen) {
    return;
  }
  ProtocolFinding &finding = report( // P.4
      event.op,
      "expected phase " + std::to_string(event.phase - 1) + " of " + graph.describe(object) +
          " to be seen by a wait before the next arrival, but found no order",
      Kind::Unordered);
  for (EventId wait : ArrayRef<EventId>(waits).take_front(1)) {
    note(finding, wait, "waits here");
  }
  note(finding, id, "arrives here in the phase after");
}

void ProtocolChecker::checkParity(const ProtocolEvent &event) {
  const ProtocolObject &object = graph.objects[event.object];
  const PhaseState &state = phases[event.object][event.phase];
  if (object.kind != ProtocolObject::Kind::Mbarrier || result.finding ||
      state.arrived != object.phases[event.phase].arrivals.size() ||
      !graph.isComplete(object, event.phase)) {
    return;
  }
  for (EventId wait : waitsOf(event.object, event.phase - 1)) {
    uint32_t known = (*state.message)[Known::Time][layout.program(graph.events[wait].actor)];
    if (times[wait] != 0 && known >= times[wait]) {
      continue;
    }
    ProtocolFinding &finding = report( // P.3
        graph.events[wait].op,
        "expected phase " + std::to_string(event.phase) + " of " + graph.describe(object) +
            " not to end before this wait has seen the one before, but "
            "found no order",
        Kind::Unordered);
    note(finding, wait, "waits here");
    for (EventId arrival : object.phases[event.phase].arrivals) {
      note(finding, arrival, "arrives here");
    }
    return;
  }
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

void ProtocolChecker::checkDeadlock() {
  auto blocked = llvm::find_if(actors, [](const Actor &actor) { return actor.next < actor.end; });
  if (blocked == actors.end()) {
    return;
  }
  // From wait to the actor that should arrive, until one comes again.
  std::vector<std::pair<unsigned, EventId>> chain; // actor, arrival that is missing
  unsigned current = blocked - actors.begin();
  auto visited = [&] {
    return llvm::find_if(chain, [&](const auto &link) { return link.first == current; });
  };
  bool nobody = false;
  while (visited() == chain.end()) {
    const ProtocolEvent &wait = graph.events[actors[current].next];
    EventId missing = kNoEvent;
    for (EventId arrival : graph.objects[wait.object].phases[wait.phase].arrivals) {
      if (arrival >= actors[graph.events[arrival].actor].next) {
        missing = arrival;
      }
    }
    chain.emplace_back(current, missing);
    if (missing == kNoEvent) {
      nobody = true;
      break;
    }
    current = graph.events[missing].actor;
  }
  auto first = nobody ? std::prev(chain.end()) : visited();
  EventId start = actors[first->first].next;
  ProtocolFinding &finding = report( // P.1
      graph.events[start].op,
      nobody ? "expected what is waited for to arrive, but got too few arrivals"
             : "expected every wait to end, but got a cycle of waits",
      nobody ? Kind::Count : Kind::Cycle);
  for (auto link = first; link != chain.end(); ++link) {
    EventId wait = actors[link->first].next;
    const ProtocolEvent &event = graph.events[wait];
    note(finding, wait,
         "waits here for phase " + Twine(event.phase) + " of " +
             graph.describe(graph.objects[event.object]));
    if (link->second != kNoEvent) {
      note(finding, link->second, "would arrive here");
    }
  }
}

void ProtocolChecker::checkExit() {
  bool together = false;
  for (auto teardown : KernelOp(model.kernel).getBody().getOps<TeardownOp>()) {
    together |= !teardown.getBody().getOps<ClusterSyncOp>().empty();
  }
  for (int64_t cta = 0; cta < model.ctas && !result.finding; ++cta) {
    Clock end(layout.size(), 0);
    for (auto [index, actor] : llvm::enumerate(actors)) {
      if (together || model.actors[index].cta == cta) {
        join(end, actor.known[Known::Time]);
      }
    }
    auto isHere = [&](unsigned actor) {
      bool leads = RoleOp(model.actors[actor].role).getCtas() == Ctas::Leader;
      return model.actors[actor].cta == cta || leads;
    };
    for (auto [index, stream] : llvm::enumerate(graph.streams)) {
      bool asked = stream.kind != ProtocolStream::Kind::Copy && isHere(stream.actor);
      if (!asked || result.finding || end[layout.stream(index)] >= stream.done.size()) {
        continue;
      }
      EventId left = stream.done[end[layout.stream(index)]];
      ProtocolFinding &finding = report( // P.5
          graph.events[left].op,
          "expected asynchronous ops to be done before the CTA ends, but got one that nobody waits "
          "for");
      note(finding, left, "issues it here");
    }
    for (auto [index, object] : llvm::enumerate(graph.objects)) {
      if (object.cta != cta || object.kind != ProtocolObject::Kind::Mbarrier) {
        continue;
      }
      for (const ProtocolPhase &phase : object.phases) {
        for (EventId arrival : phase.arrivals) {
          bool local = graph.events[arrival].kind == EventKind::Arrive &&
                       model.actors[graph.events[arrival].actor].cta == cta;
          if (local || result.finding || arrivalKnown(arrival, end)) {
            continue;
          }
          ProtocolFinding &finding = report( // P.6
              graph.events[arrival].op,
              "expected arrivals at " + graph.describe(object) +
                  " to be seen before the barrier's CTA ends, but got one that nobody waits for");
          note(finding, arrival, "arrives here");
        }
      }
    }
  }
}

void ProtocolChecker::checkSetup() {
  if (!model.placed) {
    return;
  }
  bool barriers = !KernelOp(model.kernel).getBody().getOps<BarrierOp>().empty();
  bool fenced = false, published = false;
  Operation *setupOp = model.kernel;
  for (auto setup : KernelOp(model.kernel).getBody().getOps<SetupOp>()) {
    setupOp = setup;
    for (Operation &op : setup.getBody().front()) {
      auto fence = dyn_cast<FenceOp>(op);
      fenced |= fence && bitEnumContainsAny(fence.getKinds(), FenceKind::Init);
      published |=
          fenced && (model.ctas > 1 ? isa<ClusterSyncOp>(op) : isa<RoleSyncOp, ClusterSyncOp>(op));
    }
  }
  if (barriers && !published) { // P.8
    report(setupOp, "expected barriers to be published before their use, but got no " +
                        std::string(!fenced          ? "'init' fence"
                                    : model.ctas > 1 ? "cluster_sync after the 'init' fence"
                                                     : "role_sync after the 'init' fence") +
                        " in set-up");
  }
}

/// Whether a wgmma fence stands before the product, with nothing between them that
/// makes fragments but products.
static bool isFenced(IssueMmaOp mma) {
  for (Operation *op = mma->getPrevNode(); op; op = op->getPrevNode()) {
    auto fence = dyn_cast<FenceOp>(op);
    if (fence && bitEnumContainsAny(fence.getKinds(), FenceKind::Wgmma)) {
      return true;
    }
    if (!isa<IssueMmaOp>(op) && llvm::any_of(op->getResultTypes(), llvm::IsaPred<FragType>)) {
      return false;
    }
  }
  return false;
}

void ProtocolChecker::checkRegisters() {
  if (!model.placed || result.finding) {
    return;
  }
  KernelOp(model.kernel).walk([&](IssueMmaOp mma) {
    if (!mma.getAccView() && !result.finding && !isFenced(mma)) { // P.7
      report(mma, "expected registers that a product takes to be fenced before it, but got no "
                  "'wgmma' fence since they were made");
    }
  });
}
