//===- OpsBulkCopy.cpp - cp.async.bulk and cp.reduce.async.bulk -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each active lane issues its own operation. Addresses are taken at issue, data
// when the engine performs the operation.
//
//===----------------------------------------------------------------------===//

#include "AsyncOps.h"
#include "FunctionDecoder.h"
#include "Lanes.h"
#include "Races.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

namespace {
enum class Route : uint8_t { GlobalToShared, SharedToShared, SharedToGlobal };

struct BulkExtra : Extra {
  Route route = Route::GlobalToShared;
  AddressRef to, from, mbarrier;
  Reg size = 0, mask = 0;
  bool ownOnly = false, multicast = false, byteMask = false;
  ReduceOp reduce = ReduceOp::Invalid;
  Type type = Type::None;
};

class BulkCopy final : public CopyOp {
public:
  const BulkExtra *x = nullptr;
  uint64_t to = 0, from = 0;
  uint32_t bytes = 0;
  uint16_t mask = 0;

  const char *describe() const override {
    return x->reduce == ReduceOp::Invalid ? "bulk copy" : "bulk reduction";
  }
  bool perform(Cluster &cluster) override;

private:
  bool combine(const Target &dst, const Target &src);
  bool store(const Target &dst, const Target &src);
  bool readSource(Cluster &cluster);
  bool toGlobal(Cluster &cluster);
  bool toShared(Cluster &cluster, uint32_t rank);

  std::vector<uint8_t> data, shadow; ///< what was read
  uint32_t ranks = 0;                ///< to be signalled
  enum class Stage : uint8_t { Read, Write, Signal } stage = Stage::Read;
};
} // namespace

bool BulkCopy::combine(const Target &dst, const Target &src) {
  unsigned element = bitWidth(x->type) / 8;
  for (uint32_t at = 0; at < bytes; at += element) {
    for (unsigned b = 0; b < element; ++b) {
      if (src.shadow[at + b] != shadowValid || dst.shadow[at + b] != shadowValid) {
        return fault(src.shadow[at + b] != shadowValid ? FaultId::UninitSmem
                     : dst.owner                       ? FaultId::UninitSmem
                                                       : FaultId::UninitGlobal,
                     "expected both sides of a reduction to be written, but got byte " +
                         Twine(at + b) + " never written");
      }
    }
    reduceElement(x->reduce, x->type, dst.data + at, src.data + at, /*flush=*/false);
  }
  return true;
}

bool BulkCopy::readSource(Cluster &cluster) {
  Target src;
  if (!resolve(cluster, x->route == Route::GlobalToShared ? Space::Global : Space::Shared, from,
               bytes, src)) {
    return false;
  }
  if (x->route == Route::SharedToGlobal) {
    touch(cluster, src, bytes, /*write=*/false);
  }
  data.assign(src.data, src.data + bytes);
  shadow.assign(src.shadow, src.shadow + bytes);
  return true;
}

/// The destination's values after the copy, checked.
bool BulkCopy::store(const Target &dst, const Target &src) {
  if (x->reduce != ReduceOp::Invalid) {
    return combine(dst, src);
  }
  if (!x->byteMask) {
    return move(dst, src, bytes, dst.owner == nullptr);
  }
  // Bit k of the mask says whether byte k of each 16 is copied.
  for (uint32_t k = 0; k < bytes; ++k) {
    Target d = dst, s = src;
    d.data += k;
    d.shadow += k;
    s.data += k;
    s.shadow += k;
    if ((mask >> (k % 16) & 1) && !move(d, s, 1, true)) {
      return false;
    }
  }
  return true;
}

bool BulkCopy::toGlobal(Cluster &cluster) {
  Target src, dst;
  src.data = data.data();
  src.shadow = shadow.data();
  if (!resolve(cluster, Space::Global, to, bytes, dst)) {
    return false;
  }
  touch(cluster, dst, bytes, /*write=*/true, x->reduce != ReduceOp::Invalid);
  bool ok = store(dst, src);
  finishWrites();
  ++cluster.changes;
  return ok;
}

constexpr uint64_t kInWindow = (uint64_t(1) << sharedRankShift) - 1;

/// One destination; with several they have the same place in their windows.
bool BulkCopy::toShared(Cluster &cluster, uint32_t rank) {
  uint64_t window = uint64_t(rank) << sharedRankShift;
  uint64_t address = x->multicast ? (window | (to & kInWindow)) : to;
  uint64_t barrier = x->multicast ? (window | (mbarrier & kInWindow)) : mbarrier;
  if (stage == Stage::Signal) {
    return mbarrierCompleteTx(actor(), barrier, bytes);
  }
  Target src, dst, place;
  src.data = data.data();
  src.shadow = shadow.data();
  if (!resolve(cluster, Space::SharedCluster, address, bytes, dst) ||
      !completesAt(cluster, barrier) ||
      !resolve(cluster, x->route == Route::GlobalToShared ? Space::Global : Space::Shared, from,
               bytes, place)) {
    return false;
  }
  // Known when the destination is: the source was read before it.
  touch(cluster, place, bytes, /*write=*/false);
  touch(cluster, dst, bytes, /*write=*/true, x->reduce != ReduceOp::Invalid);
  return store(dst, src);
}

bool BulkCopy::perform(Cluster &cluster) {
  if (stage == Stage::Read) {
    if (!readSource(cluster)) {
      return false;
    }
    finishReads();
    stage = Stage::Write;
    uint64_t offset = 0;
    Cta *target = cluster.sharedOwner(*issuer->cta, to, offset);
    ranks = x->multicast ? mask : target ? 1u << target->rank : 0;
    if (pause(cluster)) {
      return true;
    }
  }
  if (x->route == Route::SharedToGlobal) {
    return toGlobal(cluster);
  }
  if (stage == Stage::Write) {
    for (uint32_t left = ranks; left != 0; left &= left - 1) {
      if (!toShared(cluster, countr_zero(left))) {
        return false;
      }
    }
    stage = Stage::Signal;
    if (pause(cluster)) {
      return true;
    }
  }
  // Each destination's CTA is told at a moment of its own.
  while (ranks != 0) {
    uint32_t rank = countr_zero(ranks);
    ranks &= ranks - 1;
    if (!toShared(cluster, rank)) {
      return false;
    }
    if (ranks != 0 && pause(cluster)) {
      return true;
    }
  }
  return true;
}

/// Window address of a shared address that may be generic.
static uint64_t windowed(uint64_t address) {
  return address - sharedWindow < windowSize ? address - sharedWindow : address;
}

static Step execBulk(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const BulkExtra *>(i.extra);
  uint64_t to[warpLanes], from[warpLanes], barrier[warpLanes] = {};
  bool toGroup = x.route == Route::SharedToGlobal;
  if (!w.addresses(i, x.to.base, x.to.narrow, x.to.offset, m, to) ||
      !w.addresses(i, x.from.base, x.from.narrow, x.from.offset, m, from) ||
      (!toGroup &&
       !w.addresses(i, x.mbarrier.base, x.mbarrier.narrow, x.mbarrier.offset, m, barrier)) ||
      !w.checkUsed(i, x.size, false, m, "the size") ||
      (x.mask && !w.checkUsed(i, x.mask, false, m, "the mask"))) {
    return Step::Stop;
  }
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    LaneMask bit = LaneMask(1) << l;
    uint32_t bytes = w.in<uint32_t>(x.size)[l];
    if (bytes % 16 != 0 || to[l] % 16 != 0 || from[l] % 16 != 0) {
      return w.fault(FaultId::Align, i, bit,
                     formatv("expected addresses and size to be multiples of 16, but got {0:x}, "
                             "{1:x} and {2}",
                             to[l], from[l], bytes)
                         .str());
    }
    auto op = std::make_unique<BulkCopy>();
    op->x = &x;
    op->issuer = &w;
    op->inst = &i;
    op->lane = bit;
    op->to = toGroup ? to[l] : windowed(to[l]);
    op->from = x.route == Route::GlobalToShared ? from[l] : windowed(from[l]);
    op->bytes = bytes;
    op->mask = x.mask ? maskOperand(w, x.mask, l) : 0;
    op->sourceShared = x.route != Route::GlobalToShared;
    if (toGroup) {
      op->group = joinBulkGroup(w, l);
    } else {
      uint64_t offset = 0;
      op->mbarrier = windowed(barrier[l]);
      Cta *target = w.cluster->sharedOwner(*w.cta, op->to, offset);
      Cta *signalled = w.cluster->sharedOwner(*w.cta, op->mbarrier, offset);
      if (!target || !signalled) {
        return w.fault(FaultId::CtaRange, i, bit,
                       "expected destination and mbarrier in the cluster, but got another rank");
      }
      if (x.ownOnly && target != w.cta) {
        return w.fault(FaultId::OobSmem, i, bit,
                       "expected a shared::cta destination in the own CTA, but got rank " +
                           Twine(target->rank));
      }
      if (!x.multicast && target != signalled) {
        return w.fault(FaultId::CtaRange, i, bit,
                       "expected the mbarrier in the CTA of the destination, but got ranks " +
                           Twine(signalled->rank) + " and " + Twine(target->rank));
      }
      if (x.multicast && (op->mask >> w.cluster->ctas.size()) != 0) {
        return w.fault(FaultId::CtaRange, i, bit,
                       formatv("expected mask bits of the {0} CTAs of the cluster, but got {1:x4}",
                               w.cluster->ctas.size(), op->mask)
                           .str());
      }
    }
    issueCopy(w, std::move(op), toGroup ? RaceKind::BulkGroup : RaceKind::Bulk);
  }
  return Step::Next;
}

static void decodeBulk(Decoder &d) {
  auto *x = d.extra<BulkExtra>();
  // The first state space is the destination's, the second the source's.
  SmallVector<StringRef, 2> spaces;
  for (StringRef m : d.source->modifiers) {
    if (m == "global" || m == "shared::cta" || m == "shared::cluster") {
      spaces.push_back(m);
    }
  }
  if (spaces.size() != 2) {
    d.error("expected a destination and a source space, but got " + Twine(spaces.size()));
    return;
  }
  bool toShared = spaces[0] != "global", fromShared = spaces[1] != "global";
  if (!toShared && !fromShared) {
    d.error("expected one side of a bulk copy to be shared memory, but got none");
    return;
  }
  x->route = !toShared    ? Route::SharedToGlobal
             : fromShared ? Route::SharedToShared
                          : Route::GlobalToShared;
  x->ownOnly = spaces[0] == "shared::cta";
  x->multicast = d.has("multicast::cluster");
  x->byteMask = d.has("cp_mask");
  bool reduces = d.has("reduce");
  if (reduces) {
    x->reduce = parseReduce(d);
    x->type = d.type();
    if (x->reduce == ReduceOp::Invalid || x->type == Type::None) {
      d.error("expected an operation and a type, but got neither");
      return;
    }
    if (isFloatType(x->type) && toShared) {
      d.error("expected an integer reduction into shared memory, but got a float type");
      return;
    }
  }
  if (toShared != d.has("mbarrier::complete_tx::bytes")) {
    d.error("expected completion by mbarrier exactly into shared memory, but got otherwise");
    return;
  }
  x->to = d.address(0);
  x->from = d.address(1);
  x->size = d.src(2, 32);
  unsigned next = 3;
  auto more = [&](const char *what) {
    if (next >= d.operandCount()) {
      d.error(Twine("expected an operand for ") + what + ", but got none");
      return false;
    }
    return true;
  };
  if (toShared && more("the mbarrier")) {
    x->mbarrier = d.address(next++);
  }
  if (x->multicast && more("the CTA mask")) {
    x->mask = d.src(next++, 16);
  }
  next += d.has("L2::cache_hint");
  if (x->byteMask && more("the byte mask")) {
    x->mask = d.src(next++, 16);
  }
  d.inst.exec = execBulk;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

static Step execPrefetch(Warp &w, const Inst &i, LaneMask m) {
  uint64_t address[warpLanes];
  if (!w.addresses(i, m, address) || !w.checkUsed(i, i.b, false, m, "the size")) {
    return Step::Stop;
  }
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    uint32_t bytes = w.in<uint32_t>(i.b)[l];
    if (bytes % 16 != 0 || address[l] % 16 != 0) {
      return w.fault(FaultId::Align, i, LaneMask(1) << l,
                     "expected address and size to be multiples of 16, but got others");
    }
    Target t = w.cluster->resolve(*w.cta, Space::Global, address[l], bytes, 0);
    if (!t.data) {
      return w.fault(FaultId::OobGlobal, i, LaneMask(1) << l,
                     "expected the prefetch to lie inside a buffer, but got " +
                         w.grid->memory.describe(address[l]));
    }
  }
  return Step::Next;
}

static void decodePrefetch(Decoder &d) {
  d.setAddress(0);
  d.inst.b = d.src(1, 32);
  d.inst.exec = execPrefetch;
  d.emit();
}

static Step execCommit(Warp &w, const Inst &, LaneMask m) {
  if (!w.bulk) {
    w.bulk = std::make_unique<BulkGroups>();
  }
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned lane = __builtin_ctz(left);
    w.bulk->bulk[lane].commit();
    if (Races *races = w.cluster->races.get()) {
      races->commitBulk(w, lane);
    }
  }
  return Step::Next;
}

static Step execWait(Warp &w, const Inst &i, LaneMask m) {
  if (!w.bulk) {
    return Step::Next;
  }
  bool mine = false, others = false;
  for (unsigned l = 0; l < warpLanes; ++l) {
    GroupQueue &q = w.bulk->bulk[l];
    bool pending = !q.idle();
    (m >> l & 1 ? mine : others) |= pending || !q.committed.empty();
  }
  if (!mine && others && w.fragment().stage == 0) {
    w.fragment().stage = 1;
    if (w.fault(FaultId::GrpWrongThread, i, m,
                "expected wait_group on the thread that issued bulk operations, but other lanes of "
                "the warp have pending ones") == Step::Stop) {
      return Step::Stop;
    }
  }
  for (LaneMask left = m; left != 0; left &= left - 1) {
    if (!w.bulk->bulk[__builtin_ctz(left)].done(i.imm, i.aux)) {
      return w.block(WaitKind::BulkGroup);
    }
  }
  if (Races *races = w.cluster->races.get()) {
    for (LaneMask left = m; left != 0; left &= left - 1) {
      races->waitBulk(w, __builtin_ctz(left), i.imm, i.aux);
    }
  }
  w.fragment().stage = 0;
  return Step::Next;
}

static void decodeCommit(Decoder &d) {
  d.inst.exec = execCommit;
  d.emit();
}
static void decodeWait(Decoder &d) {
  d.inst.imm = d.immediate(0);
  d.inst.aux = d.has("read");
  d.inst.exec = execWait;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

void fa4::sim::addBulkCopyOpcodes(OpcodeTable &t) {
  t.add({
      {"cp.async.bulk",
       "shared::cta|shared::cluster|global shared::cta|global "
       "mbarrier::complete_tx::bytes|bulk_group multicast::cluster L2::cache_hint ^cp_mask",
       3, 6, decodeBulk},
      {"cp.reduce.async.bulk",
       "shared::cluster|global shared::cta mbarrier::complete_tx::bytes|bulk_group L2::cache_hint "
       "add|min|max|inc|dec|and|or|xor noftz :u32|s32|u64|s64|b32|b64|f16|bf16|f32|f64",
       3, 5, decodeBulk},
      {"cp.async.bulk.prefetch", "L2 global L2::cache_hint", 2, 3, decodePrefetch},
      {"cp.async.bulk.commit_group", "", 0, 0, decodeCommit},
      {"cp.async.bulk.wait_group", "read", 1, 1, decodeWait},
  });
}
