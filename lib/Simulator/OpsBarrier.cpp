//===- OpsBarrier.cpp - named barriers, cluster barrier, pool ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp arrives once, for all of its lanes, when they all reached the
// instruction; it counts as 32 threads. setmaxnreg is here because it waits for
// other warps as well.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "Races.h"

using namespace llvm;
using namespace fa4::sim;

namespace {
enum class BarKind : uint32_t { Sync, Arrive, Red };
enum class BarRed : uint32_t { Popc, And, Or };
} // namespace

/// A uniform 32-bit operand, or false after a fault.
static bool uniformValue(Warp &w, const Inst &i, Reg r, LaneMask m, const char *what,
                         uint32_t &value) {
  if (!w.checkUsed(i, r, false, m, what)) {
    return false;
  }
  const uint32_t *v = w.in<uint32_t>(r);
  value = v[__builtin_ctz(m)];
  for (LaneMask left = m; left != 0; left &= left - 1) {
    if (v[__builtin_ctz(left)] != value) {
      w.fault(FaultId::BarAligned, i, m,
              Twine("expected ") + what + " to agree among the lanes, but got different values");
      return false;
    }
  }
  return true;
}

static void completeBarrier(Warp &w, unsigned id) {
  NamedBarrier &b = w.cta->barriers[id];
  if (Races *races = w.cluster->races.get()) {
    races->namedDone(*w.cta, id);
  }
  ++b.generation;
  b.resultPop = b.popCount;
  b.resultAnd = b.andAll;
  b.resultOr = b.orAny;
  b.expected = b.arrived = 0;
  b.warps = b.waiting = 0;
  b.popCount = 0;
  b.andAll = true;
  b.orAny = false;
  w.cluster->event();
}

static void writeReduction(Warp &w, const Inst &i, const NamedBarrier &b) {
  if (BarRed(i.aux >> 8) == BarRed::Popc) {
    uint32_t v = b.resultPop;
    forLanes(w.out<uint32_t>(i.d), w.live, [=](unsigned) { return v; });
    w.setPoison(i.d, w.live, 0);
  } else {
    bool v = BarRed(i.aux >> 8) == BarRed::And ? b.resultAnd : b.resultOr;
    w.setPred(i.q, w.live, v ? allLanes : 0);
  }
}

static Step execBar(Warp &w, const Inst &i, LaneMask m) {
  BarKind kind = BarKind(i.aux & 3);
  Fragment &f = w.fragment();
  if (f.stage == 1) { // arrived; the ticket is the generation we wait out
    NamedBarrier &b = w.cta->barriers[f.wait.object];
    if (b.generation == f.ticket) {
      return w.block(WaitKind::NamedBarrier, f.wait.object);
    }
    if (kind == BarKind::Red) {
      writeReduction(w, i, b);
    }
    return Step::Next;
  }
  Step waiting;
  if (!w.gatherAll(i, m, waiting)) {
    return waiting;
  }
  m = w.live;
  uint32_t id, count = 0;
  if (!uniformValue(w, i, i.a, m, "the barrier", id)) {
    return Step::Stop;
  }
  if (id >= namedBarrierCount) {
    return w.fault(FaultId::BarId, i, m, "expected a barrier from 0 to 15, but got " + Twine(id));
  }
  uint32_t threads = w.grid->launch.block.count(), all = (threads + 31) / 32 * 32;
  if (i.b == 0) {
    count = all;
  } else if (!uniformValue(w, i, i.b, m, "the thread count", count)) {
    return Step::Stop;
  }
  if (count == 0 || count % warpLanes != 0 || count > all) {
    return w.fault(FaultId::BarCount, i, m,
                   "expected a thread count that is a multiple of 32 from 32 to " + Twine(all) +
                       ", but got " + Twine(count));
  }
  NamedBarrier &b = w.cta->barriers[id];
  if (b.expected != 0 && b.expected != count) {
    return w.fault(FaultId::BarCount, i, m,
                   "expected all users of barrier " + Twine(id) + " to name " + Twine(b.expected) +
                       " threads, but got " + Twine(count));
  }
  if (b.expected != 0 && b.reduces != (kind == BarKind::Red)) {
    return w.fault(
        FaultId::BarMix, i, m,
        "expected only bar.red among the users of a reducing barrier, but got a mixture");
  }
  // The hardware counts threads, so a warp may arrive for others and then wait
  // with them (FlashAttention-4's ping-pong on Hopper starts that way). Two
  // arrivals that wait for nothing are a barrier that lost its rhythm.
  if (kind == BarKind::Arrive && (b.warps >> w.index & 1)) {
    return w.fault(FaultId::BarDouble, i, m,
                   "expected barrier " + Twine(id) +
                       " to complete before the warp arrives again, but got a second arrival");
  }
  b.expected = count;
  b.reduces = kind == BarKind::Red;
  b.arrived += warpLanes;
  b.warps |= uint64_t(1) << w.index;
  if (kind == BarKind::Red) {
    if (w.predPoison[i.p] & m) {
      return w.fault(FaultId::UninitReg, i, m,
                     "expected the predicate to hold a value, but got an uninitialised one");
    }
    LaneMask v = ((i.aux & 4) ? ~w.preds[i.p] : w.preds[i.p]) & m;
    b.popCount += __builtin_popcount(v);
    b.andAll &= v == m;
    b.orAny |= v != 0;
  }
  if (Races *races = w.cluster->races.get()) {
    races->namedArrive(w, id, kind != BarKind::Arrive);
  }
  uint64_t generation = b.generation;
  if (b.arrived == b.expected) {
    completeBarrier(w, id);
    if (kind == BarKind::Red) {
      writeReduction(w, i, b);
    }
    return Step::Next;
  }
  ++w.cluster->changes;
  if (kind == BarKind::Arrive) {
    return Step::Next;
  }
  Fragment &mine = w.fragment();
  mine.stage = 1;
  mine.ticket = generation;
  return w.block(WaitKind::NamedBarrier, id);
}

static void decodeBar(Decoder &d, BarKind kind) {
  BarRed red = d.has("and") ? BarRed::And : d.has("or") ? BarRed::Or : BarRed::Popc;
  unsigned at = kind == BarKind::Red ? 1 : 0, last = d.operandCount();
  bool negated = false;
  if (kind == BarKind::Red) {
    --last;
    d.inst.p = d.predSrc(last, &negated);
    if (red == BarRed::Popc) {
      d.inst.d = d.dst(0, 32);
    } else {
      d.inst.q = d.predDst(0);
    }
  }
  d.inst.a = d.src(at, 32);
  d.inst.b = at + 1 < last ? d.src(at + 1, 32) : 0;
  if (kind == BarKind::Arrive && d.inst.b == 0) {
    d.error("expected a thread count with '.arrive', but got none");
    return;
  }
  d.inst.aux = unsigned(kind) | (negated ? 4 : 0) | unsigned(red) << 8;
  d.inst.exec = execBar;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

static void decodeBarSync(Decoder &d) { decodeBar(d, BarKind::Sync); }
static void decodeBarArrive(Decoder &d) { decodeBar(d, BarKind::Arrive); }
static void decodeBarRed(Decoder &d) { decodeBar(d, BarKind::Red); }

//===----------------------------------------------------------------------===//
// Cluster barrier
//===----------------------------------------------------------------------===//

/// Threads of the cluster that have not exited.
static uint64_t liveThreads(Cluster &c) {
  uint64_t n = 0;
  for (auto &cta : c.ctas) {
    for (Warp &w : cta->warps) {
      n += __builtin_popcount(w.live);
    }
  }
  return n;
}

static void completeClusterBarrier(Cluster &c) {
  ++c.barrier.generation;
  c.barrier.arrived = 0;
  if (c.races) {
    c.races->clusterDone();
  }
}

namespace {
enum ClusterFlags : uint32_t { Aligned = 1, RelaxedArrive = 2 };
} // namespace

static Step execClusterArrive(Warp &w, const Inst &i, LaneMask m) {
  Step waiting;
  if ((i.aux & Aligned) && !w.gatherAll(i, m, waiting)) {
    return waiting;
  }
  m = i.aux & Aligned ? w.live : m;
  ClusterBarrier &b = w.cluster->barrier;
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    // Also when all others have arrived: the barrier starts anew only behind the waits.
    if (w.clusterArrived[l] != 0) {
      return w.fault(FaultId::ClusterDouble, i, LaneMask(1) << l,
                     "expected a cluster wait between two arrivals, but got none");
    }
    w.clusterArrived[l] = b.generation + 1;
  }
  b.arrived += __builtin_popcount(m);
  if (Races *races = w.cluster->races.get()) {
    races->clusterArrive(w, i.aux & RelaxedArrive);
  }
  w.cluster->event();
  if (b.arrived >= liveThreads(*w.cluster)) {
    completeClusterBarrier(*w.cluster);
  }
  return Step::Next;
}

static Step execClusterWait(Warp &w, const Inst &i, LaneMask m) {
  Step waiting;
  if (i.aux && !w.gatherAll(i, m, waiting)) {
    return waiting;
  }
  m = i.aux ? w.live : m;
  ClusterBarrier &b = w.cluster->barrier;
  // Exited threads do not count, so an exit may complete the barrier.
  if (b.arrived != 0 && b.arrived >= liveThreads(*w.cluster)) {
    completeClusterBarrier(*w.cluster);
    w.cluster->event();
  }
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    // PTX ISA, barrier.cluster: undefined. A wait of its own must follow each arrival.
    if (w.clusterArrived[l] == 0) {
      return w.fault(FaultId::ClusterDouble, i, LaneMask(1) << l,
                     "expected a cluster arrive before the wait, but got none");
    }
    if (w.clusterArrived[l] > b.generation) {
      return w.block(WaitKind::ClusterBarrier);
    }
  }
  for (LaneMask left = m; left != 0; left &= left - 1) {
    w.clusterArrived[__builtin_ctz(left)] = 0;
  }
  if (Races *races = w.cluster->races.get()) {
    races->clusterWait(w);
  }
  return Step::Next;
}

static void decodeClusterArrive(Decoder &d) {
  d.inst.exec = execClusterArrive;
  d.inst.aux = (d.has("aligned") ? Aligned : 0) | (d.has("relaxed") ? RelaxedArrive : 0);
  d.inst.flags |= SwitchPoint;
  d.emit();
}
static void decodeClusterWait(Decoder &d) {
  d.inst.exec = execClusterWait;
  d.inst.aux = d.has("aligned");
  d.inst.flags |= SwitchPoint;
  d.emit();
}

//===----------------------------------------------------------------------===//
// setmaxnreg
//===----------------------------------------------------------------------===//

static Step execSetMaxReg(Warp &w, const Inst &i, LaneMask m) {
  Step waiting;
  if (!w.gatherAll(i, m, waiting)) {
    return waiting;
  }
  uint32_t wanted = i.imm;
  bool increase = i.aux;
  Cta &cta = *w.cta;
  Fragment &f = w.fragment();
  if (w.grid->launchRegisters == 0) {
    // Without a register count at entry ptxas drops the instruction.
    return w.fault(FaultId::SmrNoEffect, i, m,
                   "expected the entry to fix its registers (.maxnreg, or .reqntid or "
                   ".maxntid with .minnctapersm), but got neither: ptxas ignores setmaxnreg");
  }
  if (f.stage == 0) {
    if (increase ? wanted < w.registerCount : wanted > w.registerCount) {
      return w.fault(FaultId::SmrDir, i, m,
                     "expected a register count " + Twine(increase ? "not below " : "not above ") +
                         Twine(w.registerCount) + ", but got " + Twine(wanted));
    }
    // The ISA wants all warps of the aligned group of four to execute the same
    // instruction. The same operation at another place will do (FlashAttention-4 and
    // Triton on Blackwell), and even other counts work in practice, warp by warp
    // (FlashAttention-4's backward): outside of the ISA, so a warning.
    unsigned group = w.index / 4;
    for (unsigned k = group * 4; k < group * 4 + 4; ++k) {
      const Inst *other = k < cta.warps.size() ? cta.warps[k].lastSetMaxReg : nullptr;
      bool known = k < cta.warps.size() && cta.warps[k].setMaxRegCount > w.setMaxRegCount;
      if (known && (other->imm != i.imm || other->aux != i.aux)) {
        w.fault(FaultId::SmrGroup, i, m,
                "expected all warps of the warpgroup to execute the same setmaxnreg, but warp " +
                    Twine(k) + " executed another");
      }
    }
    w.lastSetMaxReg = &i;
    ++w.setMaxRegCount;
    f.stage = 1;
  }
  if (!increase) {
    cta.registerPool += uint64_t(w.registerCount - wanted) * warpLanes;
    w.registerCount = wanted;
    f.stage = 0;
    w.cluster->event();
    return Step::Next;
  }
  uint64_t needed = uint64_t(wanted - w.registerCount) * warpLanes;
  if (cta.registerPool < needed) {
    return w.block(WaitKind::RegisterPool, 0, needed);
  }
  cta.registerPool -= needed;
  w.registerCount = wanted;
  f.stage = 0;
  return Step::Next;
}

static void decodeSetMaxReg(Decoder &d) {
  d.inst.imm = d.immediate(0);
  d.inst.aux = d.has("inc");
  // PTX ISA 9.7.19.5: a multiple of 8 from 24 to 256.
  if (d.inst.imm < 24 || d.inst.imm > 256 || d.inst.imm % 8 != 0) {
    d.error("expected a register count that is a multiple of 8 from 24 to 256, but got " +
            Twine(d.inst.imm));
    return;
  }
  d.inst.exec = execSetMaxReg;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

void fa4::sim::addBarrierOpcodes(OpcodeTable &t) {
  t.add({
      {"bar.sync", "cta", 1, 2, decodeBarSync},
      {"bar.arrive", "cta", 2, 2, decodeBarArrive},
      {"bar.red", "cta popc|and|or :u32|pred", 3, 4, decodeBarRed},
      {"barrier.sync", "cta aligned", 1, 2, decodeBarSync},
      {"barrier.arrive", "cta aligned", 2, 2, decodeBarArrive},
      {"barrier.red", "cta aligned popc|and|or :u32|pred", 3, 4, decodeBarRed},
      {"barrier.cluster.arrive", "release|relaxed aligned", 0, 0, decodeClusterArrive},
      {"barrier.cluster.wait", "acquire aligned", 0, 0, decodeClusterWait},
      {"setmaxnreg.sync.aligned", "inc|dec :u32", 1, 1, decodeSetMaxReg},
  });
}
