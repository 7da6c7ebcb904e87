//===- FenceNeeds.cpp - which hand-overs must carry which order -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, tcgen05 memory model and async proxy: tensor memory accesses of two
// threads need fences on both sides of each hop between them; generic writes need
// one proxy fence, by the writer, before an engine touches the same bytes, and reads of
// an answer one, by the reader, before the next answer.
//
//===----------------------------------------------------------------------===//

#include "FenceNeeds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <tuple>

using namespace mlir;
using namespace fa4::tile;

bool Access::operator==(const Access &other) const {
  return std::tie(kind, actor, view, region, reads, writes, rank) ==
         std::tie(other.kind, other.actor, other.view, other.region, other.reads, other.writes,
                  other.rank);
}

FenceNeeds::FenceNeeds(KernelOp kernel) : handOvers(kernel), overlap(kernel) {
  for (unsigned actor = 0; actor < handOvers.size(); ++actor) {
    auto add = [&](Operation *op) {
      SmallVector<Access> found;
      collect(op, actor, found);
      for (const Access &access : found) {
        if (!llvm::is_contained(accesses, access)) {
          accesses.push_back(access);
        }
      }
    };
    RoleOp role = handOvers.getActors()[actor].role;
    role.walk(add);
    for (auto teardown : kernel.getBody().getOps<TeardownOp>()) {
      teardown.walk([&](TmemFreeOp free) {
        if (free.getRole() == role.getSymName()) {
          add(free);
        }
      });
    }
  }
  opponents.assign(size(), llvm::BitVector(handOvers.size()));
  tmemOpponents.assign(handOvers.size(), llvm::BitVector(handOvers.size()));
  for (unsigned left = 0; left < size(); ++left) {
    for (unsigned right = 0; right < size(); ++right) {
      const Access &first = accesses[left], &second = accesses[right];
      bool fenced = first.isTmem() ? second.isTmem() : crossesProxies(first, second);
      bool apart = first.actor != second.actor || !first.isTmem();
      if (fenced && apart && conflict(first, second)) {
        opponents[left].set(second.actor);
        if (first.isTmem()) {
          tmemOpponents[first.actor].set(second.actor);
        }
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

void FenceNeeds::collect(Operation *op, unsigned actor, SmallVectorImpl<Access> &found) const {
  Actor self = handOvers.getActors()[actor];
  auto add = [&](StringRef name, Value cursor, std::optional<int64_t> element, bool named,
                 bool reads, bool writes, bool engine) {
    const ViewRegion *region = overlap.lookup(name);
    if (!region) {
      return;
    }
    Access access;
    access.actor = actor;
    access.view = name;
    access.reads = reads;
    access.writes = writes;
    access.kind = region->space == Space::Tmem ? (engine ? Access::TmemMatrix : Access::TmemThread)
                                               : (engine ? Access::SmemEngine : Access::SmemThread);
    // A ring's slot moves; without one the element is the region.
    bool ring = cursor && cast<CursorType>(cursor.getType()).getDepth() > 1;
    access.region = ring ? std::nullopt : named ? element : std::optional<int64_t>(0);
    // A pair's products read and write the memory of both CTAs.
    if (!engine || self.role.getCtas() != Ctas::Leader) {
      access.rank = self.rank;
    }
    if (isa<IssueNextOp>(op)) {
      access.kind = Access::SmemAnswer;
    }
    found.push_back(access);
  };
  auto addPlace = [&](StringRef name, Value handle, Value element, IntegerAttr fixed, bool reads,
                      bool writes, bool engine) {
    Value cursor = handle && isa<CursorType>(handle.getType()) ? handle : Value();
    add(name, cursor, handOvers.elementOf(element, fixed, actor), element || fixed, reads, writes,
        engine);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ReadOp read) {
        addPlace(read.getView(), read.getHandle(), read.getElement(), read.getStaticElementAttr(),
                 true, false, false);
      })
      .Case([&](WriteOp write) {
        addPlace(write.getView(), write.getHandle(), write.getElement(),
                 write.getStaticElementAttr(), false, true, false);
      })
      .Case([&](RescaleOp rescale) {
        addPlace(rescale.getView(), rescale.getHandle(), rescale.getElement(),
                 rescale.getStaticElementAttr(), true, true, false);
      })
      .Case([&](IssueLoadOp load) {
        addPlace(load.getView(), load.getSlot(), load.getViewElement(),
                 load.getStaticViewElementAttr(), false, true, true);
      })
      .Case([&](IssueNextOp next) {
        addPlace(next.getView(), next.getSlot(), next.getViewElement(),
                 next.getStaticViewElementAttr(), false, true, true);
      })
      .Case([&](IssueStoreOp store) {
        addPlace(store.getView(), store.getSlot(), store.getViewElement(),
                 store.getStaticViewElementAttr(), true, false, true);
      })
      .Case([&](IssueSendOp send) {
        addPlace(send.getView(), Value(), Value(), IntegerAttr(), true, false, true);
        addPlace(send.getPeerView(), Value(), Value(), IntegerAttr(), false, true, true);
        found.back().rank.reset();
      })
      .Case([&](IssueMmaOp mma) {
        if (mma.getAView()) {
          addPlace(*mma.getAView(), mma.getA(), mma.getAElement(), mma.getStaticAElementAttr(),
                   true, false, true);
        }
        addPlace(mma.getBView(), mma.getB(), mma.getBElement(), mma.getStaticBElementAttr(), true,
                 false, true);
        if (mma.getAccView()) {
          addPlace(*mma.getAccView(), mma.getAcc(), mma.getAccElement(),
                   mma.getStaticAccElementAttr(), true, true, true);
        }
      })
      .Case([&](RunPtxOp ptx) {
        for (auto name : ptx.getReads().getAsRange<FlatSymbolRefAttr>()) {
          add(name.getValue(), Value(), std::nullopt, true, true, false, false);
        }
        for (auto name : ptx.getWrites().getAsRange<FlatSymbolRefAttr>()) {
          add(name.getValue(), Value(), std::nullopt, true, false, true, false);
        }
      })
      .Case([&](TmemFreeOp free) {
        // Freed memory must not be in use.
        for (auto view : free->getParentOfType<KernelOp>().getBody().getOps<ViewOp>()) {
          if (view.getSpace() == Space::Tmem) {
            add(view.getSymName(), Value(), std::nullopt, true, false, true, false);
          }
        }
      });
}

SmallVector<unsigned> FenceNeeds::accessesOf(Operation *op, unsigned actor) const {
  SmallVector<Access> found;
  collect(op, actor, found);
  return llvm::map_to_vector(found, [&](const Access &access) {
    return static_cast<unsigned>(llvm::find(accesses, access) - accesses.begin());
  });
}

bool FenceNeeds::conflict(const Access &left, const Access &right) const {
  bool together = !left.rank || !right.rank || *left.rank == *right.rank;
  return together && (left.writes || right.writes) &&
         overlap.mayConflict({left.view, left.region}, {right.view, right.region});
}

bool FenceNeeds::crossesProxies(const Access &left, const Access &right) {
  return left.kind == Access::SmemThread &&
         (right.kind == Access::SmemAnswer || (right.kind == Access::SmemEngine && left.writes));
}

bool FenceNeeds::mayConflict(unsigned left, unsigned right) const {
  return conflict(accesses[left], accesses[right]);
}

bool FenceNeeds::needsProxy(unsigned left, unsigned right) const {
  return crossesProxies(accesses[left], accesses[right]) && mayConflict(left, right);
}

bool FenceNeeds::mayCrossWarps(unsigned left, unsigned right) const {
  const Access &first = accesses[left], &second = accesses[right];
  if (first.actor != second.actor || !conflict(first, second)) {
    return false;
  }
  // A product is issued by one thread, an engine's copy likewise.
  if (first.kind != second.kind) {
    return true;
  }
  // Each warp reaches its own lanes, round: only with more warps than lanes do two
  // share a row.
  RoleOp role = handOvers.getActors()[first.actor].role;
  const TargetInfo &target = role->getParentOfType<KernelOp>().getTarget().getInfo();
  auto warps = static_cast<int64_t>(role.getWarps());
  return first.kind == Access::TmemThread && warps * target.threadsPerWarp > target.tmemLanes;
}

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

bool FenceNeeds::isOwed(unsigned access, unsigned receiver) const {
  unsigned self = accesses[access].actor;
  return llvm::any_of(opponents[access].set_bits(), [&](unsigned other) {
    return other == self ? handOvers.reaches(receiver, self, {})
                         : handOvers.reaches(receiver, other, {self});
  });
}

bool FenceNeeds::isAwaited(unsigned access, unsigned sender) const {
  unsigned self = accesses[access].actor;
  return llvm::any_of(opponents[access].set_bits(), [&](unsigned other) {
    return other != self && handOvers.reaches(other, sender, {self});
  });
}

bool FenceNeeds::isPassedOn(unsigned actor, unsigned sender, unsigned receiver) const {
  if (sender == receiver || sender == actor || receiver == actor) {
    return false;
  }
  for (unsigned from = 0; from < handOvers.size(); ++from) {
    if (from == actor || from == receiver) {
      continue;
    }
    for (unsigned to : tmemOpponents[from].set_bits()) {
      if (to != actor && to != sender && to != from &&
          handOvers.reaches(from, sender, {to, actor, receiver}) &&
          handOvers.reaches(receiver, to, {from, actor, sender})) {
        return true;
      }
    }
  }
  return false;
}
