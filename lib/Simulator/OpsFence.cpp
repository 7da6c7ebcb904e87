//===- OpsFence.cpp - fences and grid dependencies --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generic accesses take effect in program order here, so fences change no value;
// they are places where the scheduler may switch, and edges for the race detector.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "MemoryOps.h"
#include "Races.h"

using namespace llvm;
using namespace fa4::sim;

namespace {
enum ProxyFlags : uint32_t { ProxyShared = 1, ProxyGlobal = 2 };
} // namespace

static Step execFence(Warp &w, const Inst &i, LaneMask) {
  if (Races *races = w.cluster->races.get()) {
    races->fence(w, i.flags & OrderAcquire, i.flags & OrderRelease);
  }
  return Step::Next;
}

static Step execProxyFence(Warp &w, const Inst &i, LaneMask) {
  if (Races *races = w.cluster->races.get()) {
    races->fenceProxy(w, i.aux & ProxyShared, i.aux & ProxyGlobal);
  }
  return Step::Next;
}

static Step execInitFence(Warp &w, const Inst &, LaneMask) {
  if (Races *races = w.cluster->races.get()) {
    races->fenceInit(w);
  }
  return Step::Next;
}

/// Orders nothing that is judged.
static Step execNothing(Warp &, const Inst &, LaneMask) { return Step::Next; }

static void emitFence(Decoder &d, ExecFn exec) {
  d.inst.exec = exec;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

static void decodeNothing(Decoder &d) { emitFence(d, execNothing); }
static void decodeInitFence(Decoder &d) { emitFence(d, execInitFence); }

static void decodeFence(Decoder &d) {
  d.inst.flags |= orderOf(d);
  // membar is fence.sc, and so is a fence without a word.
  if (!d.has("acquire") && !d.has("release")) {
    d.inst.flags |= OrderAcquire | OrderRelease;
  }
  emitFence(d, execFence);
}

static void decodeProxyFence(Decoder &d) {
  bool shared = d.has("shared::cta") || d.has("shared::cluster"), global = d.has("global");
  if (d.has("async") || d.has("async::generic")) {
    d.inst.aux = (global ? 0 : ProxyShared) | (shared ? 0 : ProxyGlobal);
  }
  emitFence(d, execProxyFence);
}

static void decodeTensormapFence(Decoder &d) {
  if (d.operandCount() == 2) {
    d.setAddress(0);
    if (d.immediate(1) != 128) {
      d.error("expected a size of 128, but got " + Twine(d.immediate(1)));
      return;
    }
  }
  decodeNothing(d);
}

void fa4::sim::addFenceOpcodes(OpcodeTable &t) {
  t.add({
      {"membar", "cta|gl|sys", 0, 0, decodeFence},
      {"membar.proxy", "alias", 0, 0, decodeNothing},
      {"fence",
       "sc|acq_rel|acquire|release cta|cluster|gpu|sys "
       "sync_restrict::shared::cta|sync_restrict::shared::cluster",
       0, 0, decodeFence},
      {"fence.mbarrier_init", "release cluster", 0, 0, decodeInitFence},
      {"fence.proxy",
       "alias|async global|shared::cta|shared::cluster async::generic acquire|release "
       "sync_restrict::shared::cta|sync_restrict::shared::cluster cluster",
       0, 0, decodeProxyFence},
      {"fence.proxy.tensormap::generic", "acquire|release cta|cluster|gpu|sys", 0, 2,
       decodeTensormapFence},
      // Grids run one after the other, so what a grid depends on is complete.
      {"griddepcontrol.wait", "", 0, 0, decodeNothing},
      {"griddepcontrol.launch_dependents", "", 0, 0, decodeNothing},
  });
}
