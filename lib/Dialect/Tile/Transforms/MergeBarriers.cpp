//===- MergeBarriers.cpp - rules R3 to R5 on barriers -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two halves become one barrier that counts the arrivals of both, if nobody can
// arrive for the next generation before the waiter has seen this one; or one
// barrier that counts them in turn.
//
//===----------------------------------------------------------------------===//

#include "BarrierRules.h"
#include "Cursors.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

namespace {

/// A barrier with its uses.
struct Half {
  explicit Half(BarrierOp barrier);

  bool arrivedAtByThreadsOnly() const {
    return llvm::all_of(arrivals, [](Operation *op) { return isa<BarrierArriveOp>(op); });
  }

  BarrierOp barrier;
  SmallVector<BarrierWaitOp> waits;
  SmallVector<Operation *> arrivals;
  /// The only role that waits; null if there are several.
  RoleOp waiter;
  bool credit = false;
};

/// The graphs of a kernel, made when a pair of halves first asks for them: most are
/// told apart by their ops alone.
class LazyRuns {
public:
  LazyRuns(KernelOp kernel, ProtocolRuns &runs) : kernel(kernel), runs(runs) {}

  /// None after an error; no pair is merged then.
  ArrayRef<ProtocolGraph> getGraphs() {
    if (!made) {
      made = true;
      failed = mlir::failed(runs.build(kernel));
    }
    return failed ? ArrayRef<ProtocolGraph>() : runs.getGraphs();
  }
  bool hasFailed() const { return failed; }

private:
  KernelOp kernel;
  ProtocolRuns &runs;
  bool made = false;
  bool failed = false;
};

/// A pair of halves under R3, R4 and R5.
class Merge {
public:
  Merge(LazyRuns &runs, const BarrierRules &rules, Half &first, Half &second)
      : runs(runs), rules(rules), first(first), second(second) {}

  bool shareArrivers() const;
  bool canCount() const;
  bool canShare() const;
  void count(BarrierRuleCounts &counts);
  void share(BarrierRuleCounts &counts);

private:
  bool sameShape() const;
  bool waitsAdjoin() const;
  bool sameGenerations() const;
  bool noEarlyArrival() const;
  bool takesTurns(const ProtocolGraph &graph, unsigned one, unsigned other) const;
  bool canPreArrive() const;
  static void preArrive(Half &half);
  static void rename(Half &half, BarrierOp into);

  LazyRuns &runs;
  const BarrierRules &rules;
  Half &first;
  Half &second;
};

} // namespace

Half::Half(BarrierOp barrier) : barrier(barrier) {
  for (Operation *use : usesOf(barrier)) {
    if (auto wait = dyn_cast<BarrierWaitOp>(use)) {
      waits.push_back(wait);
    } else {
      arrivals.push_back(use);
    }
  }
  if (!waits.empty()) {
    auto role = waits.front()->getParentOfType<RoleOp>();
    bool alone = llvm::all_of(
        waits, [&](BarrierWaitOp wait) { return wait->getParentOfType<RoleOp>() == role; });
    waiter = alone ? role : RoleOp();
    credit = startsWithCredit(waits.front().getCursor());
  }
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// Objects of both barriers that stand for the same element, slot and CTA.
static SmallVector<std::pair<unsigned, unsigned>> pairObjects(const ProtocolGraph &graph,
                                                              BarrierOp first, BarrierOp second) {
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  for (unsigned one : graph.objectsOf(first)) {
    for (unsigned other : graph.objectsOf(second)) {
      const ProtocolObject &left = graph.objects[one], &right = graph.objects[other];
      if (left.element == right.element && left.slot == right.slot && left.cta == right.cta) {
        pairs.push_back({one, other});
      }
    }
  }
  return pairs;
}

/// Waits of `object`, by actor, in program order.
static llvm::MapVector<unsigned, SmallVector<EventId>>
waitsOf(const ProtocolGraph &graph, ArrayRef<BarrierWaitOp> waits, unsigned object) {
  llvm::MapVector<unsigned, SmallVector<EventId>> byActor;
  for (BarrierWaitOp wait : waits) {
    for (EventId id : graph.instances(wait)) {
      if (graph.events[id].object == static_cast<int32_t>(object)) {
        byActor[graph.events[id].actor].push_back(id);
      }
    }
  }
  for (auto &[actor, ids] : byActor) {
    llvm::sort(ids);
  }
  return byActor;
}

bool Merge::sameShape() const {
  BarrierOp one = first.barrier, other = second.barrier;
  return one.getFamily() == other.getFamily() && one.getDepth() == other.getDepth() &&
         first.waiter && first.waiter == second.waiter;
}

/// The wait for `barrier`'s same element next to `wait`, with no event in between.
static BarrierWaitOp findNeighbour(BarrierWaitOp wait, BarrierOp barrier) {
  auto isQuiet = [](Operation *op) { return isa<BarrierWaitOp>(op) || isPure(op); };
  auto matches = [&](Operation *op) {
    return isa<BarrierWaitOp>(op) && getBarrierName(op) == barrier.getSymName() &&
           getBarrierElement(op) == getBarrierElement(wait);
  };
  for (Operation *op = wait->getNextNode(); op && isQuiet(op); op = op->getNextNode()) {
    if (matches(op)) {
      return cast<BarrierWaitOp>(op);
    }
  }
  for (Operation *op = wait->getPrevNode(); op && isQuiet(op); op = op->getPrevNode()) {
    if (matches(op)) {
      return cast<BarrierWaitOp>(op);
    }
  }
  return nullptr;
}

/// R3 (i).
bool Merge::waitsAdjoin() const {
  if (first.waits.size() != second.waits.size()) {
    return false;
  }
  llvm::SetVector<Operation *> partners;
  for (BarrierWaitOp wait : first.waits) {
    BarrierWaitOp partner = findNeighbour(wait, second.barrier);
    if (!partner || !partners.insert(partner)) {
      return false;
    }
  }
  return true;
}

/// R3 (ii): the k-th waits of both are for the same generation, but for credit.
bool Merge::sameGenerations() const {
  auto counts = [](const ProtocolGraph &graph, ArrayRef<EventId> ids, bool credit) {
    for (auto [number, id] : llvm::enumerate(ids)) {
      if (graph.events[id].phase != static_cast<int32_t>(number) - (credit ? 1 : 0)) {
        return false;
      }
    }
    return true;
  };
  for (const ProtocolGraph &graph : runs.getGraphs()) {
    for (auto [one, other] : pairObjects(graph, first.barrier, second.barrier)) {
      auto left = waitsOf(graph, first.waits, one), right = waitsOf(graph, second.waits, other);
      if (left.size() != right.size()) {
        return false;
      }
      for (auto [mine, theirs] : llvm::zip_equal(left, right)) {
        if (mine.first != theirs.first || mine.second.size() != theirs.second.size() ||
            !counts(graph, mine.second, first.credit) ||
            !counts(graph, theirs.second, second.credit)) {
          return false;
        }
      }
    }
  }
  return true;
}

/// R3 (iv).
bool Merge::noEarlyArrival() const {
  return llvm::all_of(runs.getGraphs(), [&](const ProtocolGraph &graph) {
    return llvm::all_of(pairObjects(graph, first.barrier, second.barrier), [&](auto pair) {
      return graph.hasNoEarlyArrival({pair.first, pair.second});
    });
  });
}

/// R4: one credit, and elements that the head of a releaser's role can name.
bool Merge::canPreArrive() const {
  Half &half = first.credit ? first : second;
  BarrierOp barrier = half.barrier;
  return static_cast<int64_t>(barrier.getDepth()) == 1 &&
         llvm::all_of(half.arrivals, [](Operation *arrival) {
           Value element = getBarrierElement(arrival).value;
           return !element || isa<BlockArgument>(element);
         });
}

/// Whether one role arrives at both: its threads would arrive twice for one phase.
bool Merge::shareArrivers() const {
  return llvm::any_of(first.arrivals, [&](Operation *one) {
    return llvm::any_of(second.arrivals, [&](Operation *other) {
      return one->getParentOfType<RoleOp>() == other->getParentOfType<RoleOp>();
    });
  });
}

bool Merge::canCount() const {
  return rules.merge && sameShape() && waitsAdjoin() && !shareArrivers() &&
         first.arrivedAtByThreadsOnly() && // R3 (iii)
         second.arrivedAtByThreadsOnly() &&
         (first.credit == second.credit || (rules.preArrive && canPreArrive())) &&
         sameGenerations() && noEarlyArrival();
}

/// R5: waits of two objects follow each other, each before all that arrive for the next.
bool Merge::takesTurns(const ProtocolGraph &graph, unsigned one, unsigned other) const {
  auto left = waitsOf(graph, first.waits, one), right = waitsOf(graph, second.waits, other);
  for (auto &[actor, ids] : right) {
    llvm::append_range(left[actor], ids);
  }
  ProtocolClosure closure(graph);
  for (auto &[actor, ids] : left) {
    llvm::sort(ids);
    std::array<int32_t, 2> next = {0, 0};
    EventId previous = kNoEvent;
    auto precedesArrivals = [&](unsigned object, int32_t phase) {
      const std::vector<ProtocolPhase> &phases = graph.objects[object].phases;
      return previous == kNoEvent || phase >= static_cast<int32_t>(phases.size()) ||
             llvm::all_of(phases[phase].arrivals,
                          [&](EventId arrival) { return closure.precedes(previous, arrival); });
    };
    for (EventId id : ids) {
      const ProtocolEvent &event = graph.events[id];
      int32_t &expected = next[event.object == static_cast<int32_t>(one) ? 0 : 1];
      if (event.phase != expected || !precedesArrivals(event.object, event.phase)) {
        return false;
      }
      ++expected;
      previous = id;
    }
    // Nobody knows whose turn it is after the last wait, unless one of them is over.
    bool firstOver = next[0] >= static_cast<int32_t>(graph.objects[one].phases.size());
    bool secondOver = next[1] >= static_cast<int32_t>(graph.objects[other].phases.size());
    if ((!firstOver && !secondOver) || !precedesArrivals(one, next[0]) ||
        !precedesArrivals(other, next[1])) {
      return false;
    }
  }
  return true;
}

bool Merge::canShare() const {
  BarrierOp one = first.barrier, other = second.barrier;
  if (!rules.share || !sameShape() || one.getCount() != other.getCount() ||
      static_cast<int64_t>(one.getDepth()) != 1 || first.credit || second.credit) {
    return false;
  }
  return llvm::all_of(runs.getGraphs(), [&](const ProtocolGraph &graph) {
    return llvm::all_of(pairObjects(graph, one, other),
                        [&](auto pair) { return takesTurns(graph, pair.first, pair.second); });
  });
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

void Merge::rename(Half &half, BarrierOp into) {
  for (Operation *use : usesOf(half.barrier)) {
    visitBarrierUse(use, [&](auto op) { op.setBarrier(into.getSymName()); });
  }
}

/// R4: what the credit allowed at the start, an arrival of each releaser says.
void Merge::preArrive(Half &half) {
  SmallVector<std::pair<RoleOp, BarrierElement>> done;
  llvm::DenseMap<Operation *, Operation *> lastOf;
  for (Operation *arrival : half.arrivals) {
    auto role = arrival->getParentOfType<RoleOp>();
    std::pair key(role, getBarrierElement(arrival));
    if (llvm::is_contained(done, key)) {
      continue;
    }
    done.push_back(key);
    OpBuilder builder = OpBuilder::atBlockBegin(&role.getBody().front());
    if (Operation *last = lastOf.lookup(role)) {
      builder.setInsertionPointAfter(last);
    }
    auto early = cast<BarrierArriveOp>(builder.clone(*arrival));
    early.getWhenMutable().clear();
    early.getCursorMutable().clear();
    lastOf[role] = early;
  }
}

void Merge::count(BarrierRuleCounts &counts) {
  bool swap = first.credit && !second.credit;
  Half &kept = swap ? second : first, &gone = swap ? first : second;
  if (kept.credit != gone.credit) {
    preArrive(gone);
  }
  for (BarrierWaitOp wait : gone.waits) {
    wait.erase();
    ++counts.waits;
  }
  rename(gone, kept.barrier);
  kept.barrier.setCount(kept.barrier.getCount() + gone.barrier.getCount());
  counts.barriers += gone.barrier.getFamily() * gone.barrier.getDepth();
  gone.barrier.erase();
}

void Merge::share(BarrierRuleCounts &counts) {
  rename(second, first.barrier);
  SmallVector<BarrierWaitOp> waits = first.waits;
  llvm::append_range(waits, second.waits);
  llvm::MapVector<int64_t, SmallVector<BarrierWaitOp>> byElement;
  SmallVector<BarrierElement> elements;
  for (BarrierWaitOp wait : waits) {
    BarrierElement element = getBarrierElement(wait);
    auto *found = llvm::find(elements, element);
    byElement[found - elements.begin()].push_back(wait);
    if (found == elements.end()) {
      elements.push_back(element);
    }
  }
  for (auto &[index, members] : byElement) {
    threadCursor(first.waiter, members, /*credit=*/false);
  }
  counts.barriers += second.barrier.getFamily() * second.barrier.getDepth();
  second.barrier.erase();
}

//===----------------------------------------------------------------------===//
// All pairs
//===----------------------------------------------------------------------===//

/// Changes the first pair that allows it; says whether there was one.
static bool mergeOnce(KernelOp kernel, LazyRuns &runs, const BarrierRules &rules,
                      BarrierRuleCounts &counts) {
  SmallVector<Half> halves;
  for (auto barrier : kernel.getBody().getOps<BarrierOp>()) {
    halves.push_back(Half(barrier));
  }
  for (bool sharing : {false, true}) {
    for (size_t one = 0; one < halves.size(); ++one) {
      for (size_t other = one + 1; other < halves.size(); ++other) {
        Merge merge(runs, rules, halves[one], halves[other]);
        if (!sharing && merge.canCount() && !runs.hasFailed()) {
          merge.count(counts);
          return true;
        }
        if (sharing && merge.canShare() && !runs.hasFailed()) {
          merge.share(counts);
          return true;
        }
      }
    }
  }
  return false;
}

LogicalResult fa4::tile::mergeBarriers(KernelOp kernel, ProtocolRuns &graphs,
                                       const BarrierRules &rules, BarrierRuleCounts &counts) {
  bool merged = rules.merge || rules.share;
  while (merged) {
    LazyRuns runs(kernel, graphs);
    merged = mergeOnce(kernel, runs, rules, counts);
    if (runs.hasFailed()) {
      return failure();
    }
  }
  return success();
}
