//===- ProtocolGraph.cpp - happens-before of one run of a kernel -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Edges follow from phases and streams, once every actor is unrolled: a wait comes
// after all arrivals of its phase, a commit after the operations it reports.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ProtocolGraph.h"

#include "ProtocolUnroller.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>

using namespace mlir;
using namespace fa4::tile;

FailureOr<ProtocolGraph> ProtocolGraph::build(ProtocolModel &model, const ProtocolRun &run,
                                              bool ordered) {
  ProtocolGraph graph;
  graph.model = &model;
  graph.run = run;
  bool failed = false;
  std::unique_ptr<ProtocolUnroller> unroller = model.placed
                                                   ? createPlacedUnroller(model, graph, failed)
                                                   : createChannelUnroller(model, graph, failed);
  unroller->run();
  if (failed) {
    return failure();
  }
  std::vector<int32_t> sizes(run.size(), 1);
  for (const ProtocolEvent &event : graph.events) {
    if (event.tile >= 0) {
      sizes[event.tile] = std::max(sizes[event.tile], event.trip + 1);
    }
  }
  graph.tileBegin.push_back(0);
  for (int32_t size : sizes) {
    graph.tileBegin.push_back(graph.tileBegin.back() + size);
  }
  graph.addEdges();
  if (ordered) {
    graph.sort();
  }
  return graph;
}

//===----------------------------------------------------------------------===//
// Edges
//===----------------------------------------------------------------------===//

bool ProtocolGraph::isComplete(const ProtocolObject &object, int64_t phase) const {
  if (phase < 0) {
    return true;
  }
  if (phase >= static_cast<int64_t>(object.phases.size())) {
    return false;
  }
  const ProtocolPhase &entry = object.phases[phase];
  return entry.weight == object.count && entry.announced == entry.brought;
}

void ProtocolGraph::addEdges() {
  // How many operations of each stream an earlier event already stands for, and
  // which event: edges to the rest are enough.
  std::map<std::pair<int32_t, uint16_t>, std::pair<uint32_t, EventId>> covered;
  llvm::DenseMap<EventId, SmallVector<EventId, 2>> extra;
  for (auto [from, to] : extraEdges) {
    extra[to].push_back(from);
  }
  bool issueOrder = model->target().mmaIssueOrder;
  for (EventId id = 0; id < events.size(); ++id) {
    const ProtocolEvent &event = events[id];
    edgeBegin.push_back(edgePool.size());
    edgePool.push_back(previous[id]);
    if (event.kind == EventKind::Wait && event.phase >= 0) {
      const ProtocolPhase &phase = objects[event.object].phases[event.phase];
      edgePool.insert(edgePool.end(), phase.arrivals.begin(), phase.arrivals.end());
    }
    if (auto found = extra.find(id); found != extra.end()) {
      edgePool.insert(edgePool.end(), found->second.begin(), found->second.end());
    }
    if (event.stream >= 0) {
      const ProtocolStream &stream = streams[event.stream];
      bool inOrder = stream.kind == ProtocolStream::Kind::Mma && issueOrder;
      if (event.kind == EventKind::Done && inOrder && event.order > 0) {
        edgePool.push_back(stream.done[event.order - 1]);
      } else if (event.kind == EventKind::Commit || event.kind == EventKind::GroupWait) {
        auto &[count, by] =
            covered.insert({{event.stream, event.actor}, {0, kNoEvent}}).first->second;
        if (event.order < count) { // reports less than an earlier one
          for (uint32_t number = inOrder && event.order > 0 ? event.order - 1 : 0;
               number < event.order; ++number) {
            edgePool.push_back(stream.done[number]);
          }
          continue;
        }
        if (by != kNoEvent) {
          edgePool.push_back(by);
        }
        for (; count < event.order; ++count) {
          edgePool.push_back(stream.done[count]);
        }
        by = id;
      }
    }
  }
  edgeBegin.push_back(edgePool.size());
}

void ProtocolGraph::sort() {
  for (EventId id = 0; id < events.size(); ++id) {
    byOp[events[id].op].push_back(id);
  }
  std::vector<uint32_t> open(events.size(), 0);
  for (EventId id = 0; id < events.size(); ++id) {
    open[id] = llvm::count_if(edges(id), [](EventId before) { return before != kNoEvent; });
  }
  Followers after = followers();
  topological.reserve(events.size());
  for (EventId id = 0; id < events.size(); ++id) {
    if (open[id] == 0) {
      topological.push_back(id);
    }
  }
  for (size_t done = 0; done < topological.size(); ++done) {
    for (EventId follower : after.of(topological[done])) {
      if (--open[follower] == 0) {
        topological.push_back(follower);
      }
    }
  }
}

ProtocolGraph::Followers ProtocolGraph::followers() const {
  Followers result;
  result.begin.assign(events.size() + 1, 0);
  for (EventId before : edgePool) {
    if (before != kNoEvent) {
      ++result.begin[before + 1];
    }
  }
  for (size_t id = 0; id < events.size(); ++id) {
    result.begin[id + 1] += result.begin[id];
  }
  result.targets.resize(result.begin.back());
  std::vector<uint32_t> next(result.begin.begin(), result.begin.end() - 1);
  for (EventId id = 0; id < events.size(); ++id) {
    for (EventId before : edges(id)) {
      if (before != kNoEvent) {
        result.targets[next[before]++] = id;
      }
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

ArrayRef<EventId> ProtocolGraph::instances(Operation *op) const {
  auto found = byOp.find(op);
  return found == byOp.end() ? ArrayRef<EventId>() : ArrayRef<EventId>(found->second);
}

SmallVector<EventId> ProtocolGraph::reportedBy(EventId arrival) const {
  const ProtocolEvent &event = events[arrival];
  if (event.kind == EventKind::Commit && event.stream >= 0) {
    ArrayRef<EventId> done = streams[event.stream].done;
    return SmallVector<EventId>(done.take_front(event.order));
  }
  if (event.kind == EventKind::Commit) {
    return SmallVector<EventId>(edges(arrival).drop_front());
  }
  return {arrival};
}

ProtocolClosure::ProtocolClosure(const ProtocolGraph &graph, ArrayRef<Operation *> without)
    : words((graph.events.size() + 63) / 64), bits(new uint64_t[words * graph.events.size()]) {
  if (graph.hasCycle()) {
    std::fill_n(bits.get(), words * graph.events.size(), 0);
  }
  for (EventId id : graph.order()) {
    const ProtocolEvent &event = graph.events[id];
    ArrayRef<EventId> edges = graph.edges(id);
    if (event.kind == EventKind::Wait && llvm::is_contained(without, event.op)) {
      edges = edges.take_front(1);
    }
    uint64_t *own = bits.get() + size_t(id) * words;
    bool isFirst = true;
    for (EventId before : edges) {
      if (before == kNoEvent) {
        continue;
      }
      const uint64_t *other = row(before);
      if (isFirst) {
        std::copy_n(other, words, own);
      } else {
        for (size_t word = 0; word < words; ++word) {
          own[word] |= other[word];
        }
      }
      own[before / 64] |= uint64_t(1) << (before % 64);
      isFirst = false;
    }
    if (isFirst) {
      std::fill_n(own, words, 0);
    }
  }
}

bool ProtocolGraph::isImplied(ArrayRef<Operation *> ops, EventId *firstMissing) const {
  ProtocolClosure closure(*this, ops);
  for (Operation *op : ops) {
    for (EventId id : instances(op)) {
      const ProtocolEvent &event = events[id];
      if (event.kind != EventKind::Wait || event.phase < 0) {
        continue;
      }
      for (EventId arrival : objects[event.object].phases[event.phase].arrivals) {
        // A thread arrival reports what its thread did before, not itself.
        bool isThread = events[arrival].kind == EventKind::Arrive;
        SmallVector<EventId> reported =
            isThread ? SmallVector<EventId>{edges(arrival).front()} : reportedBy(arrival);
        for (EventId before : reported) {
          if (before != kNoEvent && !closure.precedes(before, id)) {
            if (firstMissing) {
              *firstMissing = id;
            }
            return false;
          }
        }
      }
    }
  }
  return true;
}

bool ProtocolGraph::hasNoEarlyArrival(ArrayRef<unsigned> indices) const {
  ProtocolClosure closure(*this);
  llvm::DenseMap<unsigned, SmallVector<EventId>> waits;
  for (EventId id = 0; id < events.size(); ++id) {
    if (events[id].kind == EventKind::Wait &&
        llvm::is_contained(indices, static_cast<unsigned>(events[id].object))) {
      waits[events[id].object].push_back(id);
    }
  }
  for (unsigned first : indices) {
    for (auto [number, wait] : llvm::enumerate(waits[first])) {
      for (unsigned second : indices) {
        if (number >= waits[second].size()) {
          return false;
        }
        size_t next = events[waits[second][number]].phase + 1;
        if (next >= objects[second].phases.size()) {
          continue;
        }
        for (EventId arrival : objects[second].phases[next].arrivals) {
          if (!closure.precedes(wait, arrival)) {
            return false;
          }
        }
      }
    }
  }
  return true;
}

SmallVector<unsigned> ProtocolGraph::objectsOf(Operation *symbol) const {
  SmallVector<unsigned> found;
  for (auto [index, object] : llvm::enumerate(objects)) {
    if (object.symbol == symbol) {
      found.push_back(index);
    }
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

std::string ProtocolGraph::describe(EventId id) const {
  const ProtocolEvent &event = events[id];
  std::string text;
  if (event.tile >= 0) {
    text = "tile " + llvm::itostr(event.tile) + ", trip " + llvm::itostr(event.trip) + ": ";
  }
  return text + model->describe(model->actors[event.actor]);
}

std::string ProtocolGraph::describe(const ProtocolObject &object) const {
  if (object.kind == ProtocolObject::Kind::Meeting) {
    return isa<RoleOp>(object.symbol) ? "a role_sync" : "a cluster_sync";
  }
  auto symbol = cast<SymbolOpInterface>(object.symbol);
  std::string text = ("@" + symbol.getName()).str();
  int64_t family = 1, depth = 1;
  if (auto barrier = dyn_cast<BarrierOp>(object.symbol)) {
    family = barrier.getFamily();
    depth = barrier.getDepth();
  } else if (auto named = dyn_cast<NamedBarrierOp>(object.symbol)) {
    family = named.getFamily();
  } else if (auto channel = dyn_cast<ChannelOp>(object.symbol)) {
    family = channel.getFamily();
  }
  if (family > 1) {
    text += "[" + llvm::itostr(object.element) + "]";
  }
  if (object.kind == ProtocolObject::Kind::Full) {
    text += ".full";
  } else if (object.kind == ProtocolObject::Kind::Empty) {
    text += ".empty";
  }
  if (depth > 1) {
    text += " slot " + llvm::itostr(object.slot);
  }
  return model->ctas > 1 ? text + " of CTA " + llvm::itostr(object.cta) : text;
}

std::string ProtocolGraph::describe(const MemoryAccess &access) const {
  const ProtocolAlloc *owner = nullptr;
  for (const ProtocolAlloc &alloc : model->allocs) {
    owner = access.region >= alloc.firstRegion ? &alloc : owner;
  }
  StringRef name = owner->name;
  if (access.footprint != ~0U) {
    name = ViewOp(model->getFootprint(access.footprint).view).getSymName();
  }
  std::string text = ("@" + name).str();
  if (owner->family > 1) {
    text += "[" + llvm::utostr((access.region - owner->firstRegion) % owner->family) + "]";
  }
  return text;
}
