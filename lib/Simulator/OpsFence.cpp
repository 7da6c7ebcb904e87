//===- OpsFence.cpp - fences and grid dependencies --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generic accesses take effect in program order here, so fences change no value;
// they are places where the scheduler may switch, and the edges that the race
// detector reads.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

using namespace llvm;
using namespace fa4::sim;

static Step execFence(Warp &, const Inst &, LaneMask) { return Step::Next; }

static void decodeFence(Decoder &d) {
  d.inst.exec = execFence;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

static void decodeTensormapFence(Decoder &d) {
  if (d.operandCount() == 2) {
    d.setAddress(0);
    if (d.immediate(1) != 128) {
      d.error("expected a size of 128, but got " + Twine(d.immediate(1)));
      return;
    }
  }
  decodeFence(d);
}

void fa4::sim::addFenceOpcodes(OpcodeTable &t) {
  t.add({
      {"membar", "cta|gl|sys", 0, 0, decodeFence},
      {"membar.proxy", "alias", 0, 0, decodeFence},
      {"fence",
       "sc|acq_rel|acquire|release cta|cluster|gpu|sys "
       "sync_restrict::shared::cta|sync_restrict::shared::cluster",
       0, 0, decodeFence},
      {"fence.mbarrier_init", "release cluster", 0, 0, decodeFence},
      {"fence.proxy",
       "alias|async global|shared::cta|shared::cluster async::generic acquire|release "
       "sync_restrict::shared::cta|sync_restrict::shared::cluster cluster",
       0, 0, decodeFence},
      {"fence.proxy.tensormap::generic", "acquire|release cta|cluster|gpu|sys", 0, 2,
       decodeTensormapFence},
      // Grids run one after the other, so what a grid depends on is complete.
      {"griddepcontrol.wait", "", 0, 0, decodeFence},
      {"griddepcontrol.launch_dependents", "", 0, 0, decodeFence},
  });
}
