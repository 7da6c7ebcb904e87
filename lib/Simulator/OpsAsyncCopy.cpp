//===- OpsAsyncCopy.cpp - cp.async and its groups ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One operation per thread and instruction; groups and waits are per thread.
//
//===----------------------------------------------------------------------===//

#include "AsyncOps.h"
#include "Lanes.h"
#include "Races.h"

using namespace llvm;
using namespace fa4::sim;

namespace {
/// The copies of one instruction, all lanes: they become visible lane by lane.
class AsyncCopy final : public CopyOp {
public:
  uint64_t to[warpLanes], from[warpLanes];
  uint32_t bytes = 0, sourceBytes[warpLanes];
  Space toSpace = Space::Shared, fromSpace = Space::Global;
  std::shared_ptr<AsyncGroup> groups[warpLanes];

  const char *describe() const override { return "cp.async"; }
  bool isThreadCopy() const override { return true; }
  bool perform(Cluster &cluster) override {
    for (LaneMask left = lane; left != 0; left &= left - 1) {
      unsigned l = __builtin_ctz(left);
      Target dst, src;
      if (!resolve(cluster, toSpace, to[l], bytes, dst)) {
        return false;
      }
      touch(cluster, dst, bytes, /*write=*/true);
      if (sourceBytes[l] != 0) {
        if (!resolve(cluster, fromSpace, from[l], sourceBytes[l], src)) {
          return false;
        }
        touch(cluster, src, sourceBytes[l], /*write=*/false);
        if (!move(dst, src, sourceBytes[l], false)) {
          return false;
        }
      }
      std::memset(dst.data + sourceBytes[l], 0, bytes - sourceBytes[l]);
      std::memset(dst.shadow + sourceBytes[l], shadowValid, bytes - sourceBytes[l]);
      --groups[l]->pendingReads;
      --groups[l]->pendingWrites;
    }
    return true;
  }
};

/// cp.async.mbarrier.arrive: once the thread's earlier copies are done.
class CopyArrive final : public CopyOp {
public:
  const char *describe() const override { return "cp.async.mbarrier.arrive"; }
  /// Older operations stand before this one in the engine's list.
  bool ready(Cluster &cluster) override {
    for (const auto &op : cluster.engine.ops()) {
      if (op.get() == this) {
        return true;
      }
      if (op->issuer == issuer && (op->lane & lane) && op->isThreadCopy()) {
        return false;
      }
    }
    return true;
  }
  bool perform(Cluster &cluster) override {
    if (Races *detector = cluster.races.get()) {
      const Mbarrier *b = findMbarrier(actor(), mbarrier, true);
      if (!b) {
        return false;
      }
      detector->copiesArrive(*issuer, *b, copies);
    }
    return mbarrierArrive(actor(), mbarrier, 1);
  }

  uint32_t copies = 0; ///< issued before, for the race detector
};
} // namespace

static BulkGroups &groupsOf(Warp &w) {
  if (!w.bulk) {
    w.bulk = std::make_unique<BulkGroups>();
  }
  return *w.bulk;
}

namespace {
struct AsyncCopyExtra : Extra {
  AddressRef to, from;
  Space toSpace = Space::Shared, fromSpace = Space::Global;
  uint32_t bytes = 0;
  Reg sourceSize = 0;
  bool hasSize = false, hasIgnore = false, negate = false;
  Pred ignore = predFalse;
};
} // namespace

static Step execCopy(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const AsyncCopyExtra *>(i.extra);
  auto op = std::make_unique<AsyncCopy>();
  if (!w.addresses(i, x.to.base, x.to.narrow, x.to.offset, m, op->to) ||
      !w.addresses(i, x.from.base, x.from.narrow, x.from.offset, m, op->from)) {
    return Step::Stop;
  }
  if (x.hasSize && !w.checkUsed(i, x.sourceSize, false, m, "the source size")) {
    return Step::Stop;
  }
  op->bytes = x.bytes;
  op->toSpace = x.toSpace;
  op->fromSpace = x.fromSpace;
  op->issuer = &w;
  op->inst = &i;
  op->lane = m;
  LaneMask ignored = x.hasIgnore ? (x.negate ? ~w.preds[x.ignore] : w.preds[x.ignore]) : 0;
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    uint32_t size = x.hasSize ? w.in<uint32_t>(x.sourceSize)[l] : x.bytes;
    if (size > x.bytes) {
      return w.fault(FaultId::Align, i, LaneMask(1) << l,
                     "expected a source size of at most " + Twine(x.bytes) + ", but got " +
                         Twine(size));
    }
    if ((op->to[l] | (size ? op->from[l] : 0)) & (x.bytes - 1)) {
      return w.fault(FaultId::Align, i, LaneMask(1) << l,
                     "expected both addresses to be multiples of " + Twine(x.bytes) +
                         ", but got others");
    }
    op->sourceBytes[l] = (ignored >> l & 1) ? 0 : size;
    op->groups[l] = groupsOf(w).copy[l].current();
    ++op->groups[l]->pendingReads;
    ++op->groups[l]->pendingWrites;
  }
  issueCopy(w, std::move(op), RaceKind::ThreadCopy);
  return Step::Next;
}

static void decodeCopy(Decoder &d) {
  auto *x = d.extra<AsyncCopyExtra>();
  x->to = d.address(0);
  x->from = d.address(1);
  x->bytes = d.immediate(2);
  bool sizes = x->bytes == 16 || (d.has("ca") && (x->bytes == 4 || x->bytes == 8));
  if (!sizes) {
    d.error("expected a size of 16, or 4 or 8 with '.ca', but got " + Twine(x->bytes));
    return;
  }
  x->toSpace = Space::Shared;
  unsigned next = 3, end = d.operandCount() - (d.has("L2::cache_hint") ? 1 : 0);
  for (; next < end; ++next) {
    const ptx::Operand &op = d.operand(next);
    bool isInteger = op.kind == ptx::Operand::Kind::Integer;
    if (!isInteger && (op.negated || d.isPredicate(op))) {
      x->hasIgnore = true;
      x->ignore = d.predSrc(next, &x->negate);
    } else {
      x->hasSize = true;
      x->sourceSize = d.src(next, 32);
    }
  }
  d.inst.exec = execCopy;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

static Step execCommit(Warp &w, const Inst &i, LaneMask m) {
  for (LaneMask left = m; left != 0; left &= left - 1) {
    groupsOf(w).copy[__builtin_ctz(left)].commit();
  }
  if (Races *races = w.cluster->races.get()) {
    races->commitCopies(w);
  }
  return Step::Next;
}

/// wait_all (aux) also waits for what is not committed yet.
static Step execWait(Warp &w, const Inst &i, LaneMask m) {
  BulkGroups &g = groupsOf(w);
  for (LaneMask left = m; left != 0; left &= left - 1) {
    GroupQueue &q = g.copy[__builtin_ctz(left)];
    if (i.aux ? !q.idle() : !q.done(i.imm, false)) {
      return w.block(WaitKind::CopyGroup);
    }
  }
  if (Races *races = w.cluster->races.get()) {
    i.aux ? races->waitAllCopies(w) : races->waitCopies(w, i.imm);
  }
  return Step::Next;
}

static Step execArrive(Warp &w, const Inst &i, LaneMask m) {
  uint64_t address[warpLanes];
  if (!w.addresses(i, m, address)) {
    return Step::Stop;
  }
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    auto op = std::make_unique<CopyArrive>();
    op->issuer = &w;
    op->inst = &i;
    op->lane = LaneMask(1) << l;
    op->mbarrier = address[l];
    Actor actor{&w, &i, op->lane};
    Mbarrier *b = findMbarrier(actor, address[l], true);
    if (!b) {
      return Step::Stop;
    }
    // Without .noinc the arrival is added to the phase first.
    b->pending += i.aux ? 0 : 1;
    if (Races *races = w.cluster->races.get()) {
      op->copies = races->copiesSoFar(w);
    }
    w.cluster->engine.push(std::move(op));
  }
  return Step::Next;
}

static void decodeCommit(Decoder &d) {
  d.inst.exec = execCommit;
  d.emit();
}
static void decodeWaitGroup(Decoder &d) {
  d.inst.imm = d.immediate(0);
  d.inst.exec = execWait;
  d.inst.flags |= SwitchPoint;
  d.emit();
}
static void decodeWaitAll(Decoder &d) {
  d.inst.aux = 1;
  d.inst.exec = execWait;
  d.inst.flags |= SwitchPoint;
  d.emit();
}
static void decodeArrive(Decoder &d) {
  d.setAddress(0);
  d.inst.aux = d.has("noinc");
  d.inst.exec = execArrive;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

void fa4::sim::addAsyncCopyOpcodes(OpcodeTable &t) {
  t.add({
      {"cp.async", "ca|cg shared|shared::cta global L2::cache_hint L2::64B|L2::128B|L2::256B", 3, 6,
       decodeCopy},
      {"cp.async.commit_group", "", 0, 0, decodeCommit},
      {"cp.async.wait_group", "", 1, 1, decodeWaitGroup},
      {"cp.async.wait_all", "", 0, 0, decodeWaitAll},
      {"cp.async.mbarrier.arrive", "noinc shared|shared::cta :b64", 1, 1, decodeArrive},
  });
}
