//===- Deadlock.cpp - the wait-for graph ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Called when nothing can go on. The most specific cause becomes the fault, and
// every waiting fragment becomes a note: where, on which object, what is missing.
//
//===----------------------------------------------------------------------===//

#include "TimelineRecorder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

static std::string describeMbarrier(Cluster &cluster, Cta &cta, const Wait &w) {
  uint64_t offset = 0;
  Cta *owner = cluster.sharedOwner(cta, w.object, offset);
  Mbarrier *m = owner ? owner->mbarriers.find(offset) : nullptr;
  if (!m) {
    return formatv("mbarrier {0:x}", w.object);
  }
  std::string s = formatv(
      "mbarrier {0:x} for the end of phase {1}: it is in phase {2}, {3} of {4} arrivals missing, "
      "{5} bytes outstanding (expected {6}, received {7})",
      w.object, w.wanted, m->phase, m->pending, m->expected, m->tx, m->expectedBytes,
      m->receivedBytes);
  static const char *const names[] = {"init", "arrive", "expect_tx", "complete_tx", "wait"};
  uint64_t first = m->eventCount > mbarrierHistory ? m->eventCount - mbarrierHistory : 0;
  for (uint64_t k = first; k < m->eventCount; ++k) {
    const MbarrierEvent &e = m->events[k % mbarrierHistory];
    s += formatv("\n        phase {0}: {1} {2} by rank {3} warp {4} line {5}", e.phase,
                 names[e.kind], e.amount, e.rank, e.warp, e.line);
  }
  return s;
}

static std::string describeWait(Cluster &cluster, Warp &w, const Fragment &f) {
  switch (f.wait.kind) {
  case WaitKind::None:
  case WaitKind::Poll:
    return "polling";
  case WaitKind::Mbarrier:
    return describeMbarrier(cluster, *w.cta, f.wait);
  case WaitKind::NamedBarrier: {
    const NamedBarrier &b = w.cta->barriers[f.wait.object % namedBarrierCount];
    return formatv("named barrier {0}: {1} of {2} threads arrived", f.wait.object, b.arrived,
                   b.expected);
  }
  case WaitKind::ClusterBarrier:
    return formatv("the cluster barrier: {0} threads arrived", cluster.barrier.arrived);
  case WaitKind::WarpSync:
    return formatv("lanes {0:x8} of its own warp", uint32_t(f.wait.wanted));
  case WaitKind::BulkGroup:
    return "its bulk copy groups";
  case WaitKind::CopyGroup:
    return "its cp.async groups";
  case WaitKind::Wgmma:
    return "wgmma: the other warps of its group or an unfinished operation";
  case WaitKind::TmemAlloc:
    return formatv("{0} free columns of tensor memory", f.wait.wanted);
  case WaitKind::TmemPair:
    return "the peer CTA to execute the same tcgen05 instruction";
  case WaitKind::RegisterPool:
    return formatv("{0} registers, {1} are in the pool", f.wait.wanted, w.cta->registerPool);
  }
  return "";
}

void Cluster::reportDeadlock() {
  struct Waiter {
    Warp *warp;
    Fragment *fragment;
  };
  std::vector<Waiter> waiters;
  for (auto &cta : ctas) {
    for (Warp &w : cta->warps) {
      for (Fragment &f : w.fragments) {
        waiters.push_back({&w, &f});
      }
    }
  }
  if (waiters.empty()) {
    return;
  }
  auto specific = [&](const Waiter &x) {
    uint64_t offset = 0;
    switch (x.fragment->wait.kind) {
    case WaitKind::Mbarrier: {
      Cta *owner = sharedOwner(*x.warp->cta, x.fragment->wait.object, offset);
      Mbarrier *m = owner ? owner->mbarriers.find(offset) : nullptr;
      return m && m->pending == 0 && m->tx != 0 ? FaultId::MbTxLeft : FaultId::Deadlock;
    }
    case WaitKind::WarpSync: {
      const Inst &i = x.warp->kernel->code[x.fragment->pc];
      bool barrier = i.source->opcode == "bar" || i.source->opcode == "barrier";
      return barrier ? FaultId::BarAligned : FaultId::Diverge;
    }
    case WaitKind::RegisterPool:
      return FaultId::SmrShort;
    default:
      return FaultId::Deadlock;
    }
  };
  Waiter first = waiters.front();
  FaultId id = FaultId::Deadlock;
  for (const Waiter &x : waiters) {
    FaultId cause = specific(x);
    if (cause != FaultId::Deadlock && id == FaultId::Deadlock) {
      id = cause;
      first = x;
    }
  }
  Fault f;
  f.id = id;
  f.site = first.warp->site(first.warp->kernel->code[first.fragment->pc], first.fragment->mask);
  f.message = "expected some warp or engine to be able to go on, but got all waiting";
  if (timeline) {
    timeline->fault(*first.warp, f);
  }
  for (const Waiter &x : waiters) {
    Site s = x.warp->site(x.warp->kernel->code[x.fragment->pc], x.fragment->mask);
    f.notes.push_back(formatv("cta ({0},{1},{2}) warp {3} lanes {4:x8} at line {5} waits for {6}",
                              s.cta[0], s.cta[1], s.cta[2], s.warp, s.lanes, s.line,
                              describeWait(*this, *x.warp, *x.fragment)));
  }
  if (id != FaultId::Deadlock) {
    Fault general = f;
    general.id = FaultId::Deadlock;
    grid.log.report(std::move(f));
    grid.log.report(std::move(general));
  } else {
    grid.log.report(std::move(f));
  }
}
