//===- ProtocolSpan.cpp - how far certificates reach -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A certificate is a path from the end of one access to the program of another's
// actor, which goes on to that one. The fewer trips the path touches before and after
// the first one, the shorter the words that decide it.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ProtocolProof.h"

#include "llvm/ADT/DenseSet.h"

#include <algorithm>

using namespace fa4::tile;

namespace {
/// Paths of one run that stay in a window.
class WindowPaths {
public:
  explicit WindowPaths(const ProtocolGraph &graph)
      : graph(graph), followers(graph.followers()), seenBy(graph.events.size(), 0) {}

  /// Whether a path leads from the end of `pair.first` to an event of the actor of
  /// `pair.second` that is not after it in its program, through trips `low` to `high`.
  bool exists(const ProtocolPair &pair, int32_t low, int32_t high);

private:
  const ProtocolGraph &graph;
  ProtocolGraph::Followers followers;
  /// The last search that met each event.
  std::vector<uint32_t> seenBy;
  uint32_t search = 0;
  std::vector<EventId> worklist;
};
} // namespace

bool WindowPaths::exists(const ProtocolPair &pair, int32_t low, int32_t high) {
  const ProtocolEvent &first = graph.events[pair.first];
  auto isInside = [&](const ProtocolEvent &event) {
    int32_t position = graph.position(event);
    // What happens once per tile is as near in a long tile as in a short one.
    return position < 0 || (position >= low && position <= high) ||
           (!event.perTrip && event.tile >= first.tile && event.tile <= first.tile + 1);
  };
  const ProtocolEvent &second = graph.events[pair.second];
  // In a run whose tile goes on beyond the window, the second event stands in it.
  bool isEarly = second.perTrip && second.tile != first.tile;
  auto isGoal = [&](EventId id, const ProtocolEvent &event) {
    return id == pair.second ||
           (event.actor == second.actor && id < pair.second && event.kind != EventKind::Done &&
            event.kind != EventKind::Commit && (!isEarly || graph.position(event) <= high));
  };
  ++search;
  worklist.clear();
  auto isProgram = [](const ProtocolEvent &event) {
    return event.kind != EventKind::Done && event.kind != EventKind::Commit;
  };
  // A program goes on over any number of trips: outside the window only that counts.
  auto goesOn = [&](EventId from, EventId to, const ProtocolEvent &event) {
    return isProgram(event) && graph.edges(to).front() == from &&
           event.tile <= std::max(first.tile, 0) + 1;
  };
  auto visit = [&](EventId from, EventId id) {
    if (seenBy[id] == search) {
      return false;
    }
    const ProtocolEvent &event = graph.events[id];
    bool inside = isInside(event);
    bool outsideFrom = from != kNoEvent && !isInside(graph.events[from]);
    bool allowed = (inside && !outsideFrom) || (from != kNoEvent && goesOn(from, id, event));
    if (!allowed) {
      return false;
    }
    seenBy[id] = search;
    worklist.push_back(id);
    return inside && isGoal(id, event);
  };
  // An asynchronous access ends with the event after its issue.
  if (visit(kNoEvent, pair.first + (first.kind == EventKind::Issue ? 1 : 0))) {
    return true;
  }
  for (size_t next = 0; next < worklist.size(); ++next) {
    for (EventId follower : followers.of(worklist[next])) {
      if (visit(worklist[next], follower)) {
        return true;
      }
    }
  }
  return false;
}

void CertificateReach::add(const ProtocolGraph &graph, llvm::ArrayRef<ProtocolPair> pairs) {
  WindowPaths paths(graph);
  int32_t trips = graph.tileBegin.back();
  // Accesses to several cells, and waits on several warps, show one order more than once.
  llvm::DenseSet<std::pair<EventId, EventId>> seen;
  for (const ProtocolPair &pair : pairs) {
    if (!seen.insert({pair.first, pair.second}).second) {
      continue;
    }
    const ProtocolEvent &first = graph.events[pair.first];
    const ProtocolEvent &second = graph.events[pair.second];
    Reach &reach = reaches[first.op];
    int32_t at = std::max(graph.position(first), 0);
    if (!first.perTrip && !second.perTrip && first.tile >= 0) {
      tileDistance = std::max<int64_t>(tileDistance, second.tile - first.tile);
    }
    auto holds = [&](int32_t back, int32_t ahead) {
      return paths.exists(pair, at - back, at + ahead);
    };
    // As little more as will do, and rather ahead.
    Reach wider = reach;
    for (int32_t more = 0; more <= trips; ++more) {
      int32_t back = 0;
      while (back <= more && !holds(reach.back + back, reach.ahead + more - back)) {
        ++back;
      }
      if (back <= more) {
        wider = {reach.back + back, reach.ahead + more - back};
        break;
      }
    }
    reach = wider;
  }
}

int64_t CertificateReach::getSpan() const {
  int64_t span = 0;
  for (const auto &[op, reach] : reaches) {
    span = std::max<int64_t>(span, reach.back + reach.ahead);
  }
  return span;
}

unsigned ProtocolLoopGraph::nodeOf(const ProtocolGraph &graph, const ProtocolEvent &event) {
  // A commit on both CTAs is two events of one op.
  int64_t cta = event.object < 0 ? 0 : graph.objects[event.object].cta;
  auto [entry, added] =
      index.insert({{event.op, event.kind, event.actor, cta}, static_cast<unsigned>(ops.size())});
  if (added) {
    ops.push_back(event.op);
  }
  return entry->second;
}

void ProtocolLoopGraph::add(const ProtocolGraph &graph) {
  for (EventId id = 0; id < graph.events.size(); ++id) {
    const ProtocolEvent &event = graph.events[id];
    if (!event.perTrip) {
      continue;
    }
    for (EventId before : graph.edges(id)) {
      if (before == kNoEvent || !graph.events[before].perTrip) {
        continue;
      }
      int64_t weight = graph.position(event) - graph.position(graph.events[before]);
      auto [entry, added] =
          edges.insert({{nodeOf(graph, graph.events[before]), nodeOf(graph, event)}, weight});
      entry->second = std::min(entry->second, weight);
    }
  }
}

llvm::SmallVector<mlir::Operation *> ProtocolLoopGraph::findTokenlessCycle() const {
  // Bellman-Ford, with weights that make a cycle of weight 0 negative.
  auto count = static_cast<int64_t>(ops.size());
  std::vector<int64_t> distance(ops.size(), 0);
  std::vector<unsigned> parent(ops.size(), 0);
  std::optional<unsigned> relaxed;
  for (int64_t round = 0; round <= count; ++round) {
    relaxed.reset();
    for (const auto &[ends, weight] : edges) {
      int64_t length = distance[ends.first] + weight * (count + 1) - 1;
      if (length < distance[ends.second]) {
        distance[ends.second] = length;
        parent[ends.second] = ends.first;
        relaxed = ends.second;
      }
    }
    if (!relaxed) {
      return {};
    }
  }
  // Far enough back from what was still relaxed is the cycle itself.
  unsigned node = *relaxed;
  for (int64_t step = 0; step < count; ++step) {
    node = parent[node];
  }
  llvm::SmallVector<mlir::Operation *> cycle;
  for (unsigned next = node; cycle.empty() || next != node; next = parent[next]) {
    cycle.push_back(ops[next]);
  }
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}
