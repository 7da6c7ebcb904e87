//===- OpsControl.cpp - branches, exit, calls, traps ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Divergence itself is in Warp.cpp; these executors say who goes where.
//
//===----------------------------------------------------------------------===//

#include "FunctionDecoder.h"
#include "Lanes.h"

using namespace llvm;
using namespace fa4::sim;

static Step execBra(Warp &w, const Inst &i, LaneMask m) { return w.branch(i, m); }

static Step execBraUniform(Warp &w, const Inst &i, LaneMask m) {
  if (m != w.active) {
    return w.fault(FaultId::Diverge, i, m,
                   "expected all lanes to agree on a branch marked .uni, but got some taking it");
  }
  w.pc = i.target;
  return Step::Jump;
}

static void decodeBra(Decoder &d) {
  // An unguarded branch cannot diverge whatever it says.
  d.inst.exec = d.has("uni") ? execBraUniform : execBra;
  d.inst.target = d.label(0);
  d.inst.flags |= EndsBlock;
  d.emit();
}

static Step execExit(Warp &w, const Inst &, LaneMask m) { return w.exitLanes(m); }

static void decodeExit(Decoder &d) {
  d.inst.exec = execExit;
  d.inst.flags |= EndsBlock;
  d.emit();
}

static void decodeRet(Decoder &d) {
  uint32_t after = d.function->returnLabel();
  if (after == noTarget) {
    decodeExit(d);
    return;
  }
  d.inst.exec = execBra;
  d.inst.target = after;
  d.inst.flags |= EndsBlock;
  d.emit();
}

static Step execTrap(Warp &w, const Inst &i, LaneMask m) {
  return w.fault(FaultId::Trap, i, m, "expected the kernel to finish, but got a trap");
}

static void decodeTrap(Decoder &d) {
  d.inst.exec = execTrap;
  d.emit();
}

namespace {
struct BranchTable : Extra {
  std::vector<uint32_t> labels;
  MutableArrayRef<uint32_t> targets() override { return labels; }
};
} // namespace

static Step execBrx(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const BranchTable *>(i.extra);
  if (!w.checkUsed(i, i.a, false, m, "the branch index")) {
    return Step::Stop;
  }
  const uint32_t *a = w.in<uint32_t>(i.a);
  SmallVector<std::pair<uint32_t, LaneMask>, 4> ways;
  if (m != w.active) {
    ways.push_back({w.pc + 1, w.active & ~m});
  }
  for (unsigned l = 0; l < warpLanes; ++l) {
    if (!(m >> l & 1)) {
      continue;
    }
    if (a[l] >= x.labels.size()) {
      return w.fault(FaultId::Trap, i, LaneMask(1) << l,
                     "expected a branch index below " + Twine(x.labels.size()) + ", but got " +
                         Twine(a[l]));
    }
    auto *found = find_if(ways, [&](const auto &way) { return way.first == x.labels[a[l]]; });
    if (found == ways.end()) {
      ways.push_back({x.labels[a[l]], LaneMask(1) << l});
    } else {
      found->second |= LaneMask(1) << l;
    }
  }
  if (ways.size() == 1) {
    w.pc = ways.front().first;
    return Step::Jump;
  }
  return w.branchMany(i, ways);
}

static void decodeBrx(Decoder &d) {
  auto *x = d.extra<BranchTable>();
  for (StringRef name : d.branchTargets(d.operand(1).name)) {
    x->labels.push_back(d.labelNamed(name));
  }
  if (x->labels.empty()) {
    d.error("expected at least one branch target, but got none");
    return;
  }
  d.inst.exec = execBrx;
  d.inst.a = d.src(0, 32);
  d.inst.flags |= EndsBlock;
  d.emit();
}

/// The loader inlines calls before it looks at this row.
static void decodeCall(Decoder &d) { d.error("expected an inlined call, but got another one"); }

static Step execNothing(Warp &, const Inst &, LaneMask) { return Step::Next; }

static void decodeNothing(Decoder &d) {
  d.inst.exec = execNothing;
  d.emit();
}

static Step execSleep(Warp &w, const Inst &, LaneMask) { return w.poll(); }

static void decodeSleep(Decoder &d) {
  d.inst.exec = execSleep;
  d.inst.a = d.src(0, 32);
  d.inst.flags |= SwitchPoint;
  d.emit();
}

void fa4::sim::addControlOpcodes(OpcodeTable &t) {
  t.add({
      {"bra", "uni", 1, 1, decodeBra},
      {"brx.idx", "uni", 2, 2, decodeBrx},
      {"call", "uni", 1, 4, decodeCall},
      {"ret", "uni", 0, 0, decodeRet},
      {"exit", "", 0, 0, decodeExit},
      {"trap", "", 0, 0, decodeTrap},
      {"brkpt", "", 0, 0, decodeTrap},
      {"pmevent", "mask", 1, 1, decodeNothing},
      {"nanosleep", ":u32", 1, 1, decodeSleep},
  });
}
