//===- Events.cpp - events of a kernel's protocol, in few words -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An event happens when its actor gets to it and, if it is a wait, when all arrivals
// it waits for have happened: the order of events does not depend on a schedule.
//
//===----------------------------------------------------------------------===//

#include "fa4/Explain/Events.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fa4::tile;

std::vector<unsigned> fa4::explain::eventLevels(const ProtocolGraph &graph) {
  std::vector<unsigned> levels(graph.events.size(), kNeverHappens);
  auto isReady = [&](EventId id) {
    const ProtocolEvent &event = graph.events[id];
    if (event.kind != EventKind::Wait || event.phase < 0) {
      return true;
    }
    const ProtocolObject &object = graph.objects[event.object];
    return graph.isComplete(object, event.phase) &&
           llvm::all_of(object.phases[event.phase].arrivals,
                        [&](EventId arrival) { return levels[arrival] != kNeverHappens; });
  };
  std::vector<EventId> next(graph.actorBegin.begin(), std::prev(graph.actorBegin.end()));
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t actor = 0; actor < next.size(); ++actor) {
      for (; next[actor] < graph.actorBegin[actor + 1] && isReady(next[actor]); ++next[actor]) {
        unsigned level = 0;
        for (EventId before : graph.edges(next[actor])) {
          if (before != kNoEvent && levels[before] != kNeverHappens) {
            level = std::max(level, levels[before] + 1);
          }
        }
        levels[next[actor]] = level;
        progress = true;
      }
    }
  }
  return levels;
}

/// "reads @A[0], @B[1], writes @S" of all accesses of an event.
static std::string describeAccesses(const ProtocolGraph &graph, const ProtocolEvent &event) {
  SmallVector<std::string> reads, writes;
  for (const MemoryAccess &access : graph.accessesOf(event)) {
    std::string text = graph.describe(access);
    if (access.reads && !llvm::is_contained(reads, text)) {
      reads.push_back(text);
    }
    if (access.writes && !llvm::is_contained(writes, text)) {
      writes.push_back(text);
    }
  }
  std::string text;
  if (!reads.empty()) {
    text = "reads " + llvm::join(reads, ", ");
  }
  if (!writes.empty()) {
    text += (text.empty() ? "writes " : ", writes ") + llvm::join(writes, ", ");
  }
  return text;
}

std::string fa4::explain::describeEvent(const ProtocolGraph &graph, EventId id) {
  const ProtocolEvent &event = graph.events[id];
  std::string object = event.object < 0 ? "" : graph.describe(graph.objects[event.object]);
  switch (event.kind) {
  case EventKind::Wait:
    return "wait " + object;
  case EventKind::Arrive:
    return (isa<BarrierExpectOp>(event.op) ? "expect " : "arrive ") + object;
  case EventKind::Access:
    return describeAccesses(graph, event);
  case EventKind::Fence: {
    std::string text;
    llvm::raw_string_ostream(text)
        << "fence [" << stringifyFenceKind(FenceKind(event.fences)) << "]";
    return text;
  }
  case EventKind::Issue: {
    bool product = isa<IssueMmaOp, AsyncMmaOp>(event.op);
    return (product ? "product " : "copy ") + describeAccesses(graph, event);
  }
  case EventKind::Done:
    return object.empty() ? "engine done" : "copy arrives at " + object;
  case EventKind::Commit:
    return "commit " + object;
  case EventKind::GroupWait:
    return "wait for groups";
  case EventKind::Free:
    return "free tensor memory";
  }
  return "";
}

std::string fa4::explain::lineOf(Operation *op, StringRef before, StringRef after) {
  auto place = op->getLoc()->findInstanceOf<FileLineColLoc>();
  return place ? (before + llvm::utostr(place.getLine()) + after).str() : "";
}

std::string fa4::explain::describePlace(const ProtocolGraph &graph, EventId id) {
  const ProtocolEvent &event = graph.events[id];
  SmallVector<std::string> parts;
  bool meets =
      event.object >= 0 && (event.kind == EventKind::Wait || event.kind == EventKind::Arrive ||
                            event.kind == EventKind::Commit || event.kind == EventKind::Done);
  if (meets && event.phase >= 0) {
    parts.push_back("phase " + llvm::itostr(event.phase));
  }
  if (event.tile >= 0) {
    parts.push_back("tile " + llvm::itostr(event.tile));
    if (event.perTrip) {
      parts.push_back("trip " + llvm::itostr(event.trip));
    }
  }
  if (std::string line = lineOf(event.op, "line ", ""); !line.empty()) {
    parts.push_back(line);
  }
  return llvm::join(parts, ", ");
}

bool fa4::explain::arrivesAt(RoleOp role, StringRef barrier) {
  auto found = role.walk([&](Operation *op) {
    if (isa<BarrierWaitOp>(op)) {
      return WalkResult::advance();
    }
    bool uses = llvm::any_of(op->getAttrs(), [&](NamedAttribute attribute) {
      auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute.getValue());
      return symbol && symbol.getValue() == barrier;
    });
    return uses ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}
