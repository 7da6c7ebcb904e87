//===- DropImpliedWaits.cpp - rules R1 and R2 on barriers -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A wait goes if, in all runs, everything that its arrivals report precedes it
// without it. The waits go one by one, each against the graph that the ones before
// left, so that two which imply each other do not both go. Then no generation may
// be left that somebody arrives at and nobody waits for (PTX ISA: a phase is
// observed before the next arrival), or the waits of that half come back.
//
//===----------------------------------------------------------------------===//

#include "BarrierRules.h"
#include "Cursors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <array>
#include <map>

using namespace mlir;
using namespace fa4::tile;

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

LogicalResult ProtocolRuns::build(KernelOp kernel) {
  // Pairs of accesses and hand-overs fall into classes by the trips between them: up to
  // a ring's depth, and one tile's end. Longer runs repeat them (docs/Dialects/Tile/
  // Protocol.md), and the proof that follows judges the outcome for all lengths.
  int64_t depth = 3;
  for (auto barrier : kernel.getBody().getOps<BarrierOp>()) {
    depth = std::max(depth, static_cast<int64_t>(barrier.getDepth()));
  }
  int64_t trips = depth + 2;
  graphs.clear();
  model = ProtocolModel::create(kernel);
  if (!model) {
    return failure();
  }
  if (runs.empty()) {
    runs = protocolRuns(*model, trips);
  }
  for (const ProtocolRun &run : runs) {
    FailureOr<ProtocolGraph> graph = ProtocolGraph::build(*model, run);
    if (failed(graph)) {
      return failure();
    }
    if (graph->hasCycle()) {
      return kernel.emitOpError("expected barriers to be free of deadlock before they are "
                                "simplified, but got a cycle of waits");
    }
    graphs.push_back(std::move(*graph));
  }
  return success();
}

bool ProtocolRuns::isImplied(ArrayRef<Operation *> waits) const {
  return llvm::all_of(graphs, [&](const ProtocolGraph &graph) { return graph.isImplied(waits); });
}

//===----------------------------------------------------------------------===//
// R2
//===----------------------------------------------------------------------===//

namespace {

/// Trips of the loop around an arrival at which it may stay.
enum TripClass : unsigned { NotFirst, NotLast, First, Last, NumClasses };

/// What happens to the generations that one op arrives at.
struct Site {
  bool waited = false;
  bool unwaited = false;
  /// Per class, whether exactly the trips in it are waited for.
  std::array<bool, NumClasses> fits = {true, true, true, true};

  bool mixed() const { return waited && unwaited; }
  /// The class that tells the trips apart; NumClasses if none does.
  unsigned getClass() const { return llvm::find(fits, true) - fits.begin(); }
};

/// Which arrivals at one barrier are in vain once some waits are gone.
class Trim {
public:
  Trim(const ProtocolRuns &runs, BarrierOp barrier, const llvm::SetVector<Operation *> &removed);

  bool isNeeded() const;
  bool isPossible() const;
  void apply(BarrierRuleCounts &counts);

private:
  SmallVector<int64_t> getWaited(const ProtocolGraph &graph, const ProtocolObject &object) const;
  void addObject(const ProtocolGraph &graph, const ProtocolObject &object, int64_t last);
  void addWaits(const ProtocolGraph &graph, const ProtocolObject &object,
                const llvm::SmallVector<int64_t> &waited);
  void restrictTo(BarrierArriveOp arrive, unsigned trips);
  void renumber();
  void shrink(BarrierRuleCounts &counts);

  BarrierOp barrier;
  const llvm::SetVector<Operation *> &removed;
  llvm::MapVector<Operation *, Site> sites;
  SmallVector<BarrierWaitOp> waits;
  /// Whether every waiter waits for each generation left, once.
  bool steady = true;
  std::optional<bool> credit;
};

} // namespace

Trim::Trim(const ProtocolRuns &runs, BarrierOp barrier, const llvm::SetVector<Operation *> &removed)
    : barrier(barrier), removed(removed) {
  for (Operation *use : usesOf(barrier)) {
    auto wait = dyn_cast<BarrierWaitOp>(use);
    if (wait && !removed.contains(wait)) {
      waits.push_back(wait);
    } else if (!wait) {
      sites.insert({use, Site()});
    }
  }
  auto depth = static_cast<int64_t>(barrier.getDepth());
  for (const ProtocolGraph &graph : runs.getGraphs()) {
    // The last generation that is waited for, in any slot of the element.
    std::map<std::pair<int64_t, int64_t>, int64_t> last;
    auto lastOf = [&](const ProtocolObject &object) -> int64_t & {
      return last.try_emplace({object.element, object.cta}, -1).first->second;
    };
    for (unsigned index : graph.objectsOf(barrier)) {
      const ProtocolObject &object = graph.objects[index];
      SmallVector<int64_t> waited = getWaited(graph, object);
      if (!waited.empty()) {
        lastOf(object) = std::max(lastOf(object), waited.back() * depth + object.slot);
      }
    }
    for (unsigned index : graph.objectsOf(barrier)) {
      addObject(graph, graph.objects[index], lastOf(graph.objects[index]));
    }
  }
}

/// The phases of `object` that are still waited for.
SmallVector<int64_t> Trim::getWaited(const ProtocolGraph &graph,
                                     const ProtocolObject &object) const {
  SmallVector<int64_t> waited;
  for (auto [phase, state] : llvm::enumerate(object.phases)) {
    if (llvm::any_of(state.waits,
                     [&](EventId wait) { return !removed.contains(graph.events[wait].op); })) {
      waited.push_back(phase);
    }
  }
  return waited;
}

void Trim::addObject(const ProtocolGraph &graph, const ProtocolObject &object, int64_t last) {
  BarrierOp op = barrier;
  auto depth = static_cast<int64_t>(op.getDepth());
  SmallVector<int64_t> waited = getWaited(graph, object);
  addWaits(graph, object, waited);
  for (auto [phase, state] : llvm::enumerate(object.phases)) {
    bool kept = llvm::is_contained(waited, static_cast<int64_t>(phase));
    // What nobody waits for at the end of a run, a longer run may wait for.
    bool vain = !kept && static_cast<int64_t>(phase) * depth + object.slot < last;
    for (EventId arrival : state.arrivals) {
      const ProtocolEvent &event = graph.events[arrival];
      auto *entry = sites.find(event.op);
      if (entry == sites.end() || (!kept && !vain)) {
        continue;
      }
      Site &site = entry->second;
      site.waited |= kept;
      site.unwaited |= vain;
      bool isFirst = true, isLast = true;
      for (EventId other : graph.instances(event.op)) {
        const ProtocolEvent &instance = graph.events[other];
        if (instance.actor == event.actor && instance.tile == event.tile) {
          isFirst &= other >= arrival;
          isLast &= other <= arrival;
        }
      }
      site.fits[NotFirst] &= kept == !isFirst;
      site.fits[NotLast] &= kept == !isLast;
      site.fits[First] &= kept == isFirst;
      site.fits[Last] &= kept == isLast;
    }
  }
}

void Trim::addWaits(const ProtocolGraph &graph, const ProtocolObject &object,
                    const llvm::SmallVector<int64_t> &waited) {
  llvm::MapVector<unsigned, SmallVector<int64_t>> byActor;
  for (BarrierWaitOp wait : waits) {
    for (EventId id : graph.instances(wait)) {
      const ProtocolEvent &event = graph.events[id];
      if (&graph.objects[event.object] == &object) {
        byActor[event.actor].push_back(id);
      }
    }
  }
  for (auto &[actor, ids] : byActor) {
    llvm::sort(ids);
    SmallVector<int64_t> phases;
    for (int64_t id : ids) {
      phases.push_back(graph.events[id].phase);
    }
    bool starts = phases.front() < 0;
    steady &= !credit || *credit == starts;
    credit = starts;
    steady &= ArrayRef<int64_t>(phases).drop_front(starts ? 1 : 0) == ArrayRef<int64_t>(waited);
  }
}

bool Trim::isNeeded() const {
  return llvm::any_of(sites,
                      [](auto &entry) { return entry.second.unwaited || !entry.second.waited; });
}

bool Trim::isPossible() const {
  bool renumbered = false;
  for (auto &[op, site] : sites) {
    if (site.mixed()) {
      auto arrive = dyn_cast<BarrierArriveOp>(op);
      auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
      bool restricted = arrive && !arrive.getWhen() && loop &&
                        isa<ForEachTileOp>(loop->getParentOp()) && site.getClass() != NumClasses;
      if (!restricted) {
        return false;
      }
    } else if (!site.waited && !isa<BarrierArriveOp, BarrierCommitOp>(op)) {
      return false;
    }
    renumbered |= site.unwaited;
  }
  // Slots of a ring are slots of memory too: their generations stay as they are.
  BarrierOp op = barrier;
  return !renumbered || (steady && static_cast<int64_t>(op.getDepth()) == 1);
}

/// Lets `arrive` happen only at the trips of a class.
void Trim::restrictTo(BarrierArriveOp arrive, unsigned trips) {
  auto loop = cast<scf::ForOp>(arrive->getParentOp());
  OpBuilder builder(arrive);
  Location loc = arrive.getLoc();
  Value when;
  if (trips == First || trips == NotFirst) {
    auto predicate = trips == First ? arith::CmpIPredicate::eq : arith::CmpIPredicate::ne;
    when = arith::CmpIOp::create(builder, loc, predicate, loop.getInductionVar(),
                                 loop.getLowerBound());
  } else {
    Value next = arith::AddIOp::create(builder, loc, loop.getInductionVar(), loop.getStep());
    auto predicate = trips == Last ? arith::CmpIPredicate::sge : arith::CmpIPredicate::slt;
    when = arith::CmpIOp::create(builder, loc, predicate, next, loop.getUpperBound());
  }
  arrive.getWhenMutable().assign(when);
}

/// The waits that are left count the generations that are left.
void Trim::renumber() {
  SmallVector<std::pair<RoleOp, BarrierElement>> groups;
  for (BarrierWaitOp wait : waits) {
    std::pair group(wait->getParentOfType<RoleOp>(), getBarrierElement(wait));
    if (!llvm::is_contained(groups, group)) {
      groups.push_back(group);
    }
  }
  for (auto &[role, element] : groups) {
    SmallVector<BarrierWaitOp> members;
    for (BarrierWaitOp wait : waits) {
      if (wait->getParentOfType<RoleOp>() == role && getBarrierElement(wait) == element) {
        members.push_back(wait);
      }
    }
    threadCursor(role, members, credit.value_or(false));
  }
}

/// Elements that nobody uses any more go, as does a barrier without any.
void Trim::shrink(BarrierRuleCounts &counts) {
  SmallVector<Operation *> uses = usesOf(barrier);
  auto family = static_cast<int64_t>(barrier.getFamily());
  if (uses.empty()) {
    counts.barriers += family * static_cast<int64_t>(barrier.getDepth());
    barrier.erase();
    return;
  }
  SmallVector<int64_t> kept;
  for (int64_t element = 0; element < family; ++element) {
    if (llvm::any_of(uses, [&](Operation *use) {
          BarrierElement used = getBarrierElement(use);
          return !used.fixed || used.fixed.getInt() == element;
        })) {
      kept.push_back(element);
    }
  }
  auto left = static_cast<int64_t>(kept.size());
  if (left == family) {
    return;
  }
  counts.barriers += (family - left) * static_cast<int64_t>(barrier.getDepth());
  barrier.setFamily(left);
  for (Operation *use : uses) {
    visitBarrierUse(use, [&](auto op) {
      if (left == 1) {
        op.removeStaticElementAttr();
        op.getElementMutable().clear();
      } else {
        op.setStaticElement(llvm::find(kept, *op.getStaticElement()) - kept.begin());
      }
    });
  }
}

void Trim::apply(BarrierRuleCounts &counts) {
  bool renumbered = false;
  for (auto &[op, site] : sites) {
    renumbered |= site.unwaited;
    if (site.mixed()) {
      restrictTo(cast<BarrierArriveOp>(op), site.getClass());
    } else if (!site.waited) {
      op->erase();
      ++counts.arrivals;
    }
  }
  if (renumbered) {
    renumber();
  }
  shrink(counts);
}

//===----------------------------------------------------------------------===//
// R1
//===----------------------------------------------------------------------===//

/// Waits in the order in which they are tried: those that wait for a slot to be
/// empty first.
static SmallVector<Operation *> candidatesOf(KernelOp kernel) {
  SmallVector<Operation *> empties, fulls;
  kernel.walk([&](BarrierWaitOp wait) {
    (startsWithCredit(wait.getCursor()) ? empties : fulls).push_back(wait);
  });
  llvm::append_range(empties, fulls);
  return empties;
}

/// An element of `barrier` at which an engine's arrival is seen by nobody, now that
/// `removed` are gone: the barrier's memory must not end before it (rule R9). An
/// element that nobody waits for at all loses its arrivals.
static std::optional<int64_t> findUnseenEngine(const ProtocolRuns &runs, BarrierOp barrier,
                                               const llvm::SetVector<Operation *> &removed) {
  auto isLeft = [&](const ProtocolGraph &graph, EventId wait) {
    return !removed.contains(graph.events[wait].op);
  };
  llvm::BitVector waited(barrier.getFamily());
  auto forEachObject = [&](auto visit) {
    for (const ProtocolGraph &graph : runs.getGraphs()) {
      for (unsigned index : graph.objectsOf(barrier)) {
        visit(graph, graph.objects[index]);
      }
    }
  };
  forEachObject([&](const ProtocolGraph &graph, const ProtocolObject &object) {
    for (const ProtocolPhase &phase : object.phases) {
      if (llvm::any_of(phase.waits, [&](EventId wait) { return isLeft(graph, wait); })) {
        waited.set(object.element);
      }
    }
  });
  std::optional<int64_t> unseen;
  forEachObject([&](const ProtocolGraph &graph, const ProtocolObject &object) {
    // From the end: phases that were waited for, back to one that still is.
    bool seenBefore = false;
    for (const ProtocolPhase &phase : llvm::reverse(object.phases)) {
      if (!waited.test(object.element) ||
          llvm::any_of(phase.waits, [&](EventId wait) { return isLeft(graph, wait); })) {
        return;
      }
      seenBefore |= !phase.waits.empty();
      if (seenBefore && llvm::any_of(phase.arrivals, [&](EventId arrival) {
            return graph.events[arrival].kind != EventKind::Arrive;
          })) {
        unseen = object.element;
      }
    }
  });
  return unseen;
}

LogicalResult fa4::tile::dropImpliedWaits(KernelOp kernel, ProtocolRuns &runs,
                                          const BarrierRules &rules, BarrierRuleCounts &counts) {
  if (!rules.dropWaits && !rules.trimArrivals) {
    return success();
  }
  if (failed(runs.build(kernel))) {
    return failure();
  }
  llvm::SetVector<Operation *> removed;
  for (Operation *wait : candidatesOf(kernel)) {
    if (!rules.dropWaits) {
      break;
    }
    removed.insert(wait);
    if (!runs.isImplied(removed.getArrayRef())) {
      removed.pop_back();
    }
  }
  SmallVector<BarrierOp> barriers(kernel.getBody().getOps<BarrierOp>());
  SmallVector<Trim> trims;
  for (BarrierOp barrier : barriers) {
    while (std::optional<int64_t> element = findUnseenEngine(runs, barrier, removed)) {
      // The last wait comes back: it is the one before the exit.
      auto waits = llvm::reverse(removed);
      removed.remove(*llvm::find_if(waits, [&](Operation *wait) {
        IntegerAttr fixed = getBarrierElement(wait).fixed;
        return getBarrierName(wait) == barrier.getSymName() &&
               (!fixed || fixed.getInt() == *element);
      }));
    }
    Trim trim(runs, barrier, removed);
    if (!trim.isNeeded()) {
      continue;
    }
    if (rules.trimArrivals && trim.isPossible()) {
      trims.push_back(std::move(trim));
      continue;
    }
    removed.remove_if(
        [&](Operation *wait) { return getBarrierName(wait) == barrier.getSymName(); });
  }
  for (Operation *wait : removed) {
    wait->erase();
  }
  counts.waits += removed.size();
  for (Trim &trim : trims) {
    trim.apply(counts);
  }
  return success();
}
