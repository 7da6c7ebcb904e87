//===- Counterexample.cpp - what the proof found, as a picture ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows stand in an order that the run can have: an event below all that it waits for,
// then what is stuck, then what would have to come.
//
//===----------------------------------------------------------------------===//

#include "fa4/Explain/Counterexample.h"

#include "fa4/Dialect/Tile/Transforms/ProveProtocol.h"
#include "fa4/Explain/Events.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa4::explain;
using namespace fa4::tile;

using Kind = ProtocolFinding::Kind;

namespace {
class Picture {
public:
  Picture(const ProtocolGraph &graph, const ProtocolFinding &finding)
      : graph(graph), finding(finding), levels(eventLevels(graph)) {}
  Sequence draw();

private:
  bool happened(EventId id) const { return levels[id] != kNeverHappens; }
  bool isNamed(EventId id) const;
  void selectBefore(EventId id, unsigned count);
  bool selectPath(EventId first, EventId second);
  void selectSameBarrier(EventId wait);
  void selectPartners(EventId access);
  void select();
  void addRows();
  void addFlow();
  void addMissing();
  void addMissingArrivals(EventId wait);
  unsigned laneOf(unsigned actor);

  const ProtocolGraph &graph;
  const ProtocolFinding &finding;
  std::vector<unsigned> levels;
  llvm::SetVector<EventId> chosen;
  llvm::MapVector<unsigned, unsigned> lanes;
  llvm::DenseMap<EventId, unsigned> rowOf;
  Sequence sequence;
};
} // namespace

/// Whether the finding speaks of the event.
bool Picture::isNamed(EventId id) const {
  return id == finding.event ||
         llvm::any_of(finding.notes, [&](const ProtocolNote &note) { return note.event == id; });
}

/// Chooses the last few events of the same actor before it that others can notice.
void Picture::selectBefore(EventId id, unsigned count) {
  EventId begin = graph.actorBegin[graph.events[id].actor];
  while (count != 0 && id != begin) {
    const ProtocolEvent &event = graph.events[--id];
    bool silent = event.kind == EventKind::Fence || event.kind == EventKind::Done ||
                  event.kind == EventKind::GroupWait ||
                  (event.kind == EventKind::Wait && event.phase < 0);
    if (!silent) {
      chosen.insert(id);
      --count;
    }
  }
}

/// Chooses the hand-overs on a path from the end of the first event to the second one.
bool Picture::selectPath(EventId first, EventId second) {
  // What an asynchronous op does is over with the event behind its issue.
  first += graph.events[first].kind == EventKind::Issue;
  llvm::DenseMap<EventId, EventId> next;
  std::vector<EventId> worklist = {second};
  for (size_t at = 0; at < worklist.size() && !next.contains(first); ++at) {
    for (EventId before : graph.edges(worklist[at])) {
      if (before != kNoEvent && before != second && next.insert({before, worklist[at]}).second) {
        worklist.push_back(before);
      }
    }
  }
  if (!next.contains(first)) {
    return false;
  }
  for (EventId id = first; id != second; id = next[id]) {
    EventId after = next[id];
    if (graph.events[id].actor != graph.events[after].actor) {
      chosen.insert(id);
      chosen.insert(after);
    } else if (graph.events[after].kind == EventKind::Fence) {
      chosen.insert(after);
    }
  }
  return true;
}

/// Chooses what the same actors did before at the barrier that is waited for.
void Picture::selectSameBarrier(EventId wait) {
  constexpr unsigned kShown = 3;
  llvm::MapVector<unsigned, SmallVector<EventId>> before;
  for (EventId id = 0; id < graph.events.size(); ++id) {
    const ProtocolEvent &event = graph.events[id];
    if (event.object == graph.events[wait].object && event.phase >= 0 && happened(id)) {
      before[event.actor].push_back(id);
    }
  }
  for (auto &[actor, ids] : before) {
    ArrayRef<EventId> last = ids;
    for (EventId id : last.take_back(kShown)) {
      chosen.insert(id);
    }
  }
}

/// Chooses what the waits that were chosen wait for, and when those who arrive there
/// touch the memory of `access` last.
void Picture::selectPartners(EventId access) {
  llvm::SetVector<unsigned> partners;
  for (EventId id : llvm::to_vector(chosen)) {
    bool waits = graph.events[id].kind == EventKind::Wait && happened(id);
    for (EventId before : graph.edges(id).drop_front(waits ? 1 : graph.edges(id).size())) {
      const ProtocolEvent &event = graph.events[before];
      // Of equal warps one is enough.
      if (event.actor != graph.events[id].actor && graph.model->actors[event.actor].warp == 0) {
        chosen.insert(before);
        partners.insert(event.actor);
      }
    }
  }
  unsigned region = graph.accessesOf(graph.events[access]).back().region;
  for (unsigned actor : partners) {
    for (EventId id = graph.actorBegin[actor + 1]; id-- > graph.actorBegin[actor];) {
      if (llvm::any_of(graph.accessesOf(graph.events[id]),
                       [&](const MemoryAccess &other) { return other.region == region; })) {
        chosen.insert(id);
        break;
      }
    }
  }
}

void Picture::select() {
  SmallVector<EventId> named;
  for (const ProtocolNote &note : finding.notes) {
    if (note.event != kNoEvent) {
      named.push_back(note.event);
    }
  }
  if (finding.event != kNoEvent && !llvm::is_contained(named, finding.event)) {
    named.push_back(finding.event);
  }
  chosen.insert(named.begin(), named.end());
  switch (finding.kind) {
  case Kind::Unordered:
    if (named.size() >= 2 && !selectPath(named[0], named[1])) {
      selectBefore(named[1], 2);
      selectPartners(named[0]);
      selectBefore(named[0], 1);
    }
    break;
  case Kind::Count:
    if (!named.empty() && graph.events[named[0]].kind == EventKind::Wait) {
      selectBefore(named[0], 1);
      selectSameBarrier(named[0]);
    }
    break;
  case Kind::Cycle:
    for (size_t index = 0; index < named.size(); index += 2) {
      selectBefore(named[index], 2);
    }
    break;
  case Kind::Other:
    for (EventId id : named) {
      selectBefore(id, 1);
    }
    break;
  }
}

unsigned Picture::laneOf(unsigned actor) {
  auto [entry, added] = lanes.insert({actor, static_cast<unsigned>(sequence.lanes.size())});
  if (added) {
    sequence.lanes.push_back(graph.model->describe(graph.model->actors[actor]));
  }
  return entry->second;
}

void Picture::addRows() {
  std::vector<EventId> order(chosen.begin(), chosen.end());
  llvm::sort(order, [&](EventId a, EventId b) {
    auto key = [&](EventId id) {
      bool waits = graph.events[id].kind == EventKind::Wait;
      return std::tuple(levels[id], !happened(id) && !waits, graph.events[id].actor, id);
    };
    return key(a) < key(b);
  });
  // Lanes in the order of the program, so that one kernel always looks alike.
  std::vector<unsigned> actors;
  for (EventId id : order) {
    actors.push_back(graph.events[id].actor);
  }
  llvm::sort(actors);
  for (unsigned actor : actors) {
    laneOf(actor);
  }
  for (EventId id : order) {
    Sequence::Row row;
    row.lane = laneOf(graph.events[id].actor);
    row.what = describeEvent(graph, id);
    row.where = describePlace(graph, id);
    for (auto [index, note] : llvm::enumerate(finding.notes)) {
      if (note.event == id && row.note == 0) {
        row.note = index + 1;
      }
    }
    bool waits = graph.events[id].kind == EventKind::Wait;
    bool isBad = finding.kind == Kind::Unordered ? isNamed(id) : isNamed(id) && waits;
    row.tone = isBad           ? Sequence::Tone::Bad
               : !happened(id) ? Sequence::Tone::Ghost
                               : Sequence::Tone::Plain;
    rowOf[id] = sequence.rows.size();
    sequence.rows.push_back(std::move(row));
  }
}

/// Arrivals that come.
void Picture::addFlow() {
  for (EventId id : chosen) {
    const ProtocolEvent &event = graph.events[id];
    if (event.kind != EventKind::Wait || !happened(id)) {
      continue;
    }
    for (EventId before : graph.edges(id).drop_front()) {
      if (rowOf.contains(before) && graph.events[before].actor != event.actor) {
        sequence.arrows.push_back({rowOf[before], rowOf[id], false, ""});
      }
    }
  }
}

/// The roles that arrive at a barrier say how often they did.
void Picture::addMissingArrivals(EventId wait) {
  const ProtocolObject &object = graph.objects[graph.events[wait].object];
  auto symbol = dyn_cast<SymbolOpInterface>(object.symbol);
  if (!symbol) {
    return;
  }
  for (auto [index, actor] : llvm::enumerate(graph.model->actors)) {
    RoleOp role = actor.role;
    if (actor.warp != 0 || actor.onlyFrees || !arrivesAt(role, symbol.getName())) {
      continue;
    }
    unsigned count = 0;
    for (EventId id = graph.actorBegin[index]; id < graph.actorBegin[index + 1]; ++id) {
      const ProtocolEvent &event = graph.events[id];
      bool arrives = event.kind == EventKind::Arrive || event.kind == EventKind::Commit;
      count += arrives && event.object == graph.events[wait].object;
    }
    sequence.arrows.push_back(
        {static_cast<unsigned>(sequence.rows.size()), rowOf[wait], true, "never comes"});
    sequence.rows.push_back({laneOf(index), "no arrival at " + graph.describe(object),
                             "the whole run has " + std::to_string(count) + " of this role",
                             Sequence::Tone::Ghost, 0});
  }
}

void Picture::addMissing() {
  const std::vector<ProtocolNote> &notes = finding.notes;
  auto row = [&](EventId id) { return rowOf.lookup(id); };
  if (finding.kind == Kind::Cycle) {
    for (size_t index = 0; index + 1 < notes.size(); index += 2) {
      sequence.arrows.push_back(
          {row(notes[index + 1].event), row(notes[index].event), true, "never comes"});
    }
  } else if (finding.kind == Kind::Unordered && !notes.empty()) {
    EventId second =
        notes.size() > 1 && notes[1].event != kNoEvent ? notes[1].event : finding.event;
    if (second != kNoEvent) {
      // "…, but got no fence", "…, but found no order"
      StringRef what = StringRef(finding.text).rsplit(", but ").second;
      what.consume_front("got ");
      what.consume_front("found ");
      sequence.arrows.push_back({row(notes[0].event), row(second), true, what.str()});
    }
  } else if (finding.kind == Kind::Count && !notes.empty() &&
             graph.events[notes[0].event].kind == EventKind::Wait) {
    addMissingArrivals(notes[0].event);
  }
}

Sequence Picture::draw() {
  sequence.title = finding.text;
  sequence.subtitle = "kernel @" + KernelOp(graph.model->kernel).getSymName().str() +
                      ", in a run " + describeRun(graph);
  select();
  addRows();
  addFlow();
  addMissing();
  for (const ProtocolNote &note : finding.notes) {
    sequence.notes.push_back(note.text + lineOf(note.op, " (line ", ")"));
  }
  return std::move(sequence);
}

Sequence fa4::explain::drawCounterexample(const ProtocolGraph &graph,
                                          const ProtocolFinding &finding) {
  return Picture(graph, finding).draw();
}
