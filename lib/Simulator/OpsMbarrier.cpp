//===- OpsMbarrier.cpp - mbarrier instructions ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A phase completes when no arrival is missing and no byte is outstanding; then,
// in one step, the counter moves, the arrivals are missing again and the bytes
// are zero.
//
//===----------------------------------------------------------------------===//

#include "FunctionDecoder.h"
#include "Lanes.h"
#include "MbarrierOps.h"
#include "Races.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

static bool report(const Actor &a, FaultId id, const Twine &message) {
  return a.warp->fault(id, *a.inst, a.lane, message) != Step::Stop;
}

static void record(const Actor &a, Mbarrier &m, MbarrierEvent::Kind kind, int64_t amount) {
  m.record({kind, uint8_t(a.warp->cta->rank), uint8_t(a.warp->index), a.inst->source->line, amount,
            m.phase});
}

Mbarrier *fa4::sim::findMbarrier(const Actor &a, uint64_t address, bool ownOnly, Cta **owner) {
  Warp &w = *a.warp;
  uint64_t offset = 0;
  Cta *cta = w.cluster->sharedOwner(*w.cta, address, offset);
  if (!cta) {
    report(a, FaultId::CtaRange,
           formatv("expected an mbarrier in the cluster's shared memory, but got {0:x}", address)
               .str());
    return nullptr;
  }
  if (address & 7) {
    report(a, FaultId::Align,
           formatv("expected the mbarrier to be aligned to 8 bytes, but got {0:x}", address).str());
    return nullptr;
  }
  if (ownOnly && cta != w.cta) {
    report(a, FaultId::MbRemoteWait,
           formatv("expected an mbarrier of the executing CTA, but got {0:x} of rank {1}", address,
                   cta->rank)
               .str());
    return nullptr;
  }
  if (cta->exited) {
    report(a, FaultId::ClusterExit,
           "expected the CTA of the mbarrier to be running, but rank " + Twine(cta->rank) +
               " has exited");
    return nullptr;
  }
  Mbarrier *m = cta->mbarriers.find(offset);
  if (!m) {
    report(a, FaultId::MbUninit,
           formatv("expected an initialised mbarrier, but got {0:x}", address).str());
    return nullptr;
  }
  if (Races *races = w.cluster->races.get(); races && !races->sees(w, *m)) {
    report(a, FaultId::MbVisible,
           "expected the initialisation of the mbarrier to be ordered before its use, but got no "
           "barrier behind it (for another CTA: fence.mbarrier_init and a cluster barrier)");
    return nullptr;
  }
  if (owner) {
    *owner = cta;
  }
  return m;
}

static void testPhase(Cluster &cluster, Mbarrier &m) {
  if (m.pending != 0 || m.tx != 0) {
    return;
  }
  ++m.phase;
  m.pending = m.expected;
  m.expectedBytes = m.receivedBytes = 0;
  m.observed = false;
  if (Races *races = cluster.races.get()) {
    races->phaseDone(m);
  }
  cluster.event();
}

static bool addTx(const Actor &a, Mbarrier &m, int64_t delta) {
  m.tx += delta;
  if (m.tx > int64_t(mbarrierMaxCount) || m.tx < -int64_t(mbarrierMaxCount)) {
    return report(a, FaultId::MbTxRange,
                  "expected the outstanding bytes to stay within 2^20-1, but got " + Twine(m.tx));
  }
  return true;
}

bool fa4::sim::mbarrierArrive(const Actor &a, uint64_t address, uint32_t count, bool ownOnly,
                              uint64_t *stateBefore, bool noComplete) {
  Mbarrier *m = findMbarrier(a, address, ownOnly);
  if (!m) {
    return false;
  }
  if (!m->observed && m->phase > 0) {
    m->observed = true; // once per phase is enough
    if (!report(a, FaultId::MbUnobserved,
                "expected a wait to see phase " + Twine(m->phase - 1) +
                    " before an arrival of the next phase, but got none")) {
      return false;
    }
  }
  if (count == 0 || count > m->pending) {
    return report(a, FaultId::MbCount,
                  formatv("expected an arrival of at most the {0} that phase {1} still misses, but "
                          "got {2}",
                          m->pending, m->phase, count)
                      .str());
  }
  record(a, *m, MbarrierEvent::Arrive, count);
  if (stateBefore) {
    *stateBefore = uint64_t(m->phase) << kPendingBits | m->pending;
  }
  m->pending -= count;
  if (noComplete && m->pending == 0 && m->tx == 0) {
    return report(a, FaultId::MbCount,
                  "expected arrive.noComplete not to complete the phase, but got the last arrival");
  }
  ++a.warp->cluster->changes;
  testPhase(*a.warp->cluster, *m);
  return true;
}

bool fa4::sim::mbarrierExpectTx(const Actor &a, uint64_t address, uint64_t bytes) {
  Mbarrier *m = findMbarrier(a, address, false);
  if (!m) {
    return false;
  }
  record(a, *m, MbarrierEvent::ExpectTx, bytes);
  m->expectedBytes += bytes;
  return addTx(a, *m, bytes);
}

bool fa4::sim::mbarrierCompleteTx(const Actor &a, uint64_t address, uint64_t bytes) {
  Mbarrier *m = findMbarrier(a, address, false);
  if (!m) {
    return false;
  }
  record(a, *m, MbarrierEvent::CompleteTx, bytes);
  m->receivedBytes += bytes;
  if (!addTx(a, *m, -int64_t(bytes))) {
    return false;
  }
  ++a.warp->cluster->changes;
  testPhase(*a.warp->cluster, *m);
  return true;
}

//===----------------------------------------------------------------------===//
// Executors
//===----------------------------------------------------------------------===//

/// Calls `f(actor, address, lane)` for active lanes until it fails.
template <typename F>
static Step eachLane(Warp &w, const Inst &i, LaneMask m, F f) {
  uint64_t address[warpLanes];
  if (!w.addresses(i, m, address)) {
    return Step::Stop;
  }
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    if (!f(Actor{&w, &i, LaneMask(1) << l}, address[l], l) && w.grid->stop) {
      return Step::Stop;
    }
  }
  return Step::Next;
}

static Step execInit(Warp &w, const Inst &i, LaneMask m) {
  if (!w.checkUsed(i, i.b, false, m, "the count")) {
    return Step::Stop;
  }
  SmallDenseMap<uint64_t, uint32_t> done; // by this instruction: address to count
  return eachLane(w, i, m, [&](const Actor &a, uint64_t address, unsigned l) {
    // A generic address must lead into the own CTA's window.
    address -= Space(i.aux) == Space::Generic ? sharedWindow : 0;
    // Lanes that say the same make one barrier: FlashAttention-4's backward lets a
    // whole warp initialise some of its own.
    auto [same, first] = done.try_emplace(address, w.in<uint32_t>(i.b)[l]);
    if (!first && same->second == w.in<uint32_t>(i.b)[l]) {
      return true;
    }
    uint8_t *shadow;
    uint8_t *p = w.access(i, Space::Shared, address, 8, Access::Write, l, shadow);
    if (!p) {
      return false;
    }
    uint64_t offset = p - w.cta->shared.data();
    if (is_contained(ArrayRef<uint8_t>(shadow, 8), uint8_t(shadowBarrier))) {
      return report(
          a, FaultId::MbReinit,
          formatv("expected bytes without a live mbarrier, but got {0:x}", address).str());
    }
    uint32_t count = w.in<uint32_t>(i.b)[l];
    if (count == 0 || count > mbarrierMaxCount) {
      return report(a, FaultId::MbCount,
                    "expected a count from 1 to 2^20-1, but got " + Twine(count));
    }
    std::memset(shadow, shadowBarrier, 8);
    Mbarrier &b = w.cta->mbarriers.create(offset);
    b = Mbarrier();
    b.expected = b.pending = count;
    if (Races *races = w.cluster->races.get()) {
      races->initBarrier(w, b);
    }
    record(a, b, MbarrierEvent::Init, count);
    w.cluster->event();
    return true;
  });
}

static Step execInval(Warp &w, const Inst &i, LaneMask m) {
  return eachLane(w, i, m, [&](const Actor &a, uint64_t address, unsigned l) {
    if (!findMbarrier(a, address, true)) {
      return false;
    }
    uint8_t *shadow;
    uint8_t *p = w.access(i, Space::Generic, sharedWindow + address % windowSize, 8, Access::Write,
                          l, shadow);
    if (!p) {
      return false;
    }
    std::memset(shadow, shadowPoison, 8);
    w.cta->mbarriers.erase(p - w.cta->shared.data());
    return true;
  });
}

namespace {
enum ArriveFlags : uint32_t {
  HasCount = 1,
  ExpectTx = 2,
  NoComplete = 4,
  Drop = 8,
  OwnOnly = 16,
  Relaxed = 32,
  ClusterScope = 64
};
} // namespace

static Step execArrive(Warp &w, const Inst &i, LaneMask m) {
  uint32_t flags = i.aux;
  if (!w.checkUsed(i, i.b, false, m, "the count")) {
    return Step::Stop;
  }
  const Mbarrier *joined = nullptr;
  uint64_t phase = 0;
  uint64_t addresses[warpLanes];
  if (w.cluster->races && !w.addresses(i, m, addresses)) {
    return Step::Stop;
  }
  auto arrivalsFrom = [&](unsigned first, uint64_t address) {
    uint64_t arrivals = 0;
    for (LaneMask left = m >> first << first; left != 0; left &= left - 1) {
      unsigned l = __builtin_ctz(left);
      if (addresses[l] == address) {
        arrivals += (flags & HasCount) ? w.in<uint32_t>(i.b)[l] : 1;
      }
    }
    return arrivals;
  };
  Step s = eachLane(w, i, m, [&](const Actor &a, uint64_t address, unsigned l) {
    uint32_t operand = w.in<uint32_t>(i.b)[l];
    uint32_t count = (flags & HasCount) ? operand : 1;
    bool own = flags & OwnOnly;
    if (own && !findMbarrier(a, address, true)) {
      return false;
    }
    if ((flags & ExpectTx) && !mbarrierExpectTx(a, address, operand)) {
      return false;
    }
    if (flags & Drop) {
      Mbarrier *b = findMbarrier(a, address, own);
      if (!b) {
        return false;
      }
      if (count >= b->expected && count != b->expected) {
        return report(a, FaultId::MbCount,
                      "expected to drop at most " + Twine(b->expected) + " arrivals, but got " +
                          Twine(count));
      }
      b->expected -= count;
    }
    if (Races *races = w.cluster->races.get()) {
      Cta *owner = nullptr;
      Mbarrier *b = findMbarrier(a, address, own, &owner);
      if (!b) {
        return false;
      }
      // Lanes of one instruction say the same until the phase moves. If it moves before
      // the last of them, what that lane did is not part of it.
      if (b != joined || b->phase != phase) {
        if (arrivalsFrom(l, address) <= b->pending) {
          races->arrive(w, *b, *owner, flags & Relaxed, flags & ClusterScope);
        }
        joined = b;
        phase = b->phase;
      }
    }
    uint64_t state = 0;
    if (!mbarrierArrive(a, address, count, own, &state, flags & NoComplete)) {
      return false;
    }
    w.out<uint64_t>(i.d)[l] = state;
    return true;
  });
  if (i.d != sinkReg) {
    w.setPoisonWide(i.d, m, 0);
  }
  return s;
}

static void decodeArrive(Decoder &d) {
  bool expect = d.has("expect_tx"), cluster = d.has("shared::cluster");
  unsigned count = d.operandCount();
  // The destination may be missing in the cluster form's older spelling.
  unsigned address = d.operand(0).kind == ptx::Operand::Kind::Address ? 0 : 1;
  d.inst.d = address == 1 ? d.dst(0, 64) : sinkReg;
  if (cluster && d.inst.d != sinkReg) {
    d.error("expected '_' as destination of a shared::cluster arrive, but got a register");
    return;
  }
  if (expect && count != address + 2) {
    d.error("expected a byte count, but got " + Twine(count) + " operands");
    return;
  }
  bool hasCount = !expect && count > address + 1;
  d.setAddress(address);
  d.inst.b = count > address + 1 ? d.src(address + 1, 32) : d.function->constant(1, 0, 32);
  d.inst.aux = (hasCount ? HasCount : 0) | (expect ? ExpectTx : 0) |
               (d.has("noComplete") ? NoComplete : 0) | (d.has("relaxed") ? Relaxed : 0) |
               (d.has("cluster") ? ClusterScope : 0) |
               (d.source->hasModifier("arrive_drop") ? Drop : 0) |
               (cluster || !(d.has("shared") || d.has("shared::cta")) ? 0 : OwnOnly);
  d.inst.exec = execArrive;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

static Step execExpect(Warp &w, const Inst &i, LaneMask m) {
  if (!w.checkUsed(i, i.b, false, m, "the byte count")) {
    return Step::Stop;
  }
  return eachLane(w, i, m, [&](const Actor &a, uint64_t address, unsigned l) {
    uint32_t bytes = w.in<uint32_t>(i.b)[l];
    return i.aux ? mbarrierCompleteTx(a, address, bytes) : mbarrierExpectTx(a, address, bytes);
  });
}

static void decodeExpect(Decoder &d) {
  d.setAddress(0);
  d.inst.b = d.src(1, 32);
  d.inst.aux = d.source->hasModifier("complete_tx");
  d.inst.exec = execExpect;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

namespace {
enum WaitFlags : uint32_t { Parity = 1, Blocking = 2, RelaxedWait = 4, ClusterWait = 8 };
} // namespace

static Step execWait(Warp &w, const Inst &i, LaneMask m) {
  bool parity = i.aux & Parity;
  uint64_t address[warpLanes];
  if (!w.addresses(i, m, address) ||
      !w.checkUsed(i, i.b, !parity, m, parity ? "the parity" : "the state")) {
    return Step::Stop;
  }
  LaneMask done = 0;
  SmallVector<Mbarrier *, 2> seen;
  uint64_t wanted = 0, object = 0;
  Mbarrier *last = nullptr;
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    Actor a{&w, &i, LaneMask(1) << l};
    // Lanes nearly always name one barrier.
    Mbarrier *b = last && address[l] == object ? last : findMbarrier(a, address[l], true);
    if (!b) {
      return Step::Stop;
    }
    last = b;
    object = address[l];
    uint64_t state = parity ? w.in<uint32_t>(i.b)[l] : w.in<uint64_t>(i.b)[l];
    // Parity p asks for the end of the phase before, or of the current one.
    bool complete = parity ? (b->phase & 1) != (state & 1) : b->phase > state >> kPendingBits;
    if (complete) {
      done |= LaneMask(1) << l;
      b->observed = true;
      if (!is_contained(seen, b)) {
        seen.push_back(b);
      }
    } else {
      wanted = b->phase;
    }
  }
  Fragment &f = w.fragment();
  if (done == m && f.stage == 0 && (i.aux & Blocking) && w.grid->options.spuriousTryWait &&
      (w.cluster->random() & 3) == 0) {
    w.setPred(i.q, m, 0);
    return w.poll();
  }
  if (done != m && done == 0 && (i.aux & Blocking) && !f.timedOut) {
    f.stage = 1;
    return w.block(WaitKind::Mbarrier, object, wanted);
  }
  if (Races *races = w.cluster->races.get()) {
    for (const Mbarrier *b : seen) {
      races->wait(w, *b, i.aux & RelaxedWait, i.aux & ClusterWait);
    }
  }
  f.stage = 0;
  f.timedOut = false;
  w.setPred(i.q, m, done);
  return done == m ? Step::Next : w.poll();
}

static void decodeWait(Decoder &d) {
  bool parity = d.has("parity"), blocking = d.source->hasModifier("try_wait");
  const ptx::Operand &dst = d.operand(0);
  if (dst.kind == ptx::Operand::Kind::Pair) {
    d.error("expected a single predicate as destination, but got a pair");
    return;
  }
  d.inst.q = d.predDst(0);
  d.setAddress(1);
  d.inst.b = d.src(2, parity ? 32 : 64);
  if (d.operandCount() == 4) {
    d.inst.c = d.src(3, 32);
  }
  d.inst.aux = (parity ? Parity : 0) | (blocking ? Blocking : 0) |
               (d.has("relaxed") ? RelaxedWait : 0) | (d.has("cluster") ? ClusterWait : 0);
  d.inst.exec = execWait;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

static void decodeInit(Decoder &d) {
  d.setAddress(0);
  d.inst.b = d.src(1, 32);
  d.inst.aux = unsigned(d.has("shared") || d.has("shared::cta") ? Space::Shared : Space::Generic);
  d.inst.exec = execInit;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

static void decodeInval(Decoder &d) {
  d.setAddress(0);
  d.inst.exec = execInval;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

static Step execPendingCount(Warp &w, const Inst &i, LaneMask m) {
  const uint64_t *states = w.in<uint64_t>(i.a);
  forLanes(w.out<uint32_t>(i.d), m,
           [=](unsigned l) { return uint32_t(states[l] & ((uint64_t(1) << kPendingBits) - 1)); });
  w.setPoison(i.d, m, w.poisonWide(i.a));
  return Step::Next;
}

static void decodePendingCount(Decoder &d) { decode1(d, execPendingCount, 32, 64); }

void fa4::sim::addMbarrierOpcodes(OpcodeTable &t) {
  const char *space = "shared|shared::cta :b64";
  const char *arrive = "release|relaxed cta|cluster shared|shared::cta|shared::cluster :b64";
  const char *arriveOwn =
      "noComplete release|relaxed cta|cluster shared|shared::cta|shared::cluster :b64";
  const char *tx = "relaxed cta|cluster shared|shared::cta|shared::cluster :b64";
  const char *wait = "acquire|relaxed cta|cluster shared|shared::cta parity :b64";
  t.add({
      {"mbarrier.init", space, 2, 2, decodeInit},
      {"mbarrier.inval", space, 1, 1, decodeInval},
      {"mbarrier.arrive", arriveOwn, 1, 3, decodeArrive},
      {"mbarrier.arrive.expect_tx", arrive, 2, 3, decodeArrive},
      {"mbarrier.arrive_drop", arriveOwn, 1, 3, decodeArrive},
      {"mbarrier.arrive_drop.expect_tx", arrive, 2, 3, decodeArrive},
      {"mbarrier.expect_tx", tx, 2, 2, decodeExpect},
      {"mbarrier.complete_tx", tx, 2, 2, decodeExpect},
      {"mbarrier.try_wait", wait, 3, 4, decodeWait},
      {"mbarrier.test_wait", wait, 3, 3, decodeWait},
      {"mbarrier.pending_count", ":b64", 2, 2, decodePendingCount},
  });
}
