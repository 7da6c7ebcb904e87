//===- ProtocolSpan.cpp - how far certificates reach -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A certificate is a path from the end of one access to the program of another's
// actor, which goes on to that one. The fewer trips the path spans, the shorter the
// runs that show all of its kind.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ProtocolProof.h"

#include <algorithm>

using namespace fa4::tile;

/// Whether a path leads from `first` to an event of the actor of `second` that is
/// not after it in its program, through trips `low` to `high`.
static bool isReachable(const ProtocolGraph &graph, EventId first, EventId second, int32_t low,
                        int32_t high) {
  // What happens once per tile is as near in a long tile as in a short one.
  int32_t tile = graph.events[first].tile;
  auto isInside = [&](EventId id) {
    const ProtocolEvent &event = graph.events[id];
    int32_t position = graph.position(event);
    return position < 0 || (position >= low && position <= high) ||
           (!event.perTrip && event.tile >= tile && event.tile <= tile + 1);
  };
  unsigned actor = graph.events[second].actor;
  llvm::SmallVector<EventId> worklist;
  std::vector<bool> seen(graph.events.size(), false);
  for (EventId id = graph.actorBegin[actor]; id <= second; ++id) {
    EventKind kind = graph.events[id].kind;
    if (kind != EventKind::Done && kind != EventKind::Commit && isInside(id)) {
      worklist.push_back(id);
      seen[id] = true;
    }
  }
  if (seen[first]) {
    return true;
  }
  while (!worklist.empty()) {
    EventId id = worklist.pop_back_val();
    for (EventId before : graph.edges(id)) {
      if (before == first) {
        return true;
      }
      if (before != kNoEvent && !seen[before] && isInside(before)) {
        seen[before] = true;
        worklist.push_back(before);
      }
    }
  }
  return false;
}

int64_t fa4::tile::certificateSpan(const ProtocolGraph &graph, llvm::ArrayRef<ProtocolPair> pairs) {
  int64_t span = 0;
  int32_t trips = graph.tileBegin.back();
  for (const ProtocolPair &pair : pairs) {
    const ProtocolEvent &first = graph.events[pair.first];
    // An asynchronous access ends with the event after its issue.
    EventId end = pair.first + (first.kind == EventKind::Issue ? 1 : 0);
    int32_t at = std::max(graph.position(first), 0);
    auto isSpanned = [&](int32_t width) {
      for (int32_t begin = std::max(0, at - width); begin <= at; ++begin) {
        if (isReachable(graph, end, pair.second, begin, begin + width)) {
          return true;
        }
      }
      return false;
    };
    int32_t width = 0;
    while (width < trips && !isSpanned(width)) {
      ++width;
    }
    span = std::max<int64_t>(span, width);
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
