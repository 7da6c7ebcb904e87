//===- OpsWgmma.cpp - warpgroup matrix instructions -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The n-th wgmma of each of the four warps form one operation, performed when
// all four have issued it, in issue order. Until a wait covers it, the warps'
// registers belong to the operation; any other instruction that touches them is
// reported.
//
//===----------------------------------------------------------------------===//

#include "AsyncState.h"
#include "Lanes.h"
#include "Races.h"
#include "TensorOperands.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

namespace {

constexpr unsigned kRows = 64; // PTX ISA 9.7.15: M is always 64
constexpr unsigned kWarps = 4;
constexpr unsigned kAllWarps = (1 << kWarps) - 1;

struct WgmmaExtra : Extra {
  SmallVector<Reg, 128> d;
  SmallVector<Reg, 4> a; ///< empty: A in shared memory
  Reg aDescriptor = 0, bDescriptor = 0;
  ElementType aType, bType, dType;
  unsigned n = 0, k = 0;
  bool aMnMajor = false, bMnMajor = false;
  bool negateA = false, negateB = false;
  bool scaleNegated = false;
};

} // namespace

namespace fa4::sim {

/// One operation of a warpgroup.
class WgmmaOp : public AsyncOp {
public:
  WgmmaOp(Cta &cta, unsigned group, const WgmmaExtra &shape)
      : cta(cta), group(group), shape(shape) {
    order = (uint64_t(1) << 40) + (uint64_t(cta.rank) << 8) + group;
  }

  bool perform(Cluster &cluster) override;
  bool ready(Cluster &) override { return arrived == kAllWarps; }
  const char *describe() const override { return "wgmma"; }
  bool readsShared() const override { return true; }

  unsigned arrived = 0;
  uint64_t aDescriptor = 0, bDescriptor = 0;
  bool accumulate = false;

private:
  bool readLeft(TensorPanel &panel, ReportFault report);
  bool readAccumulators(MutableArrayRef<uint32_t> c, ReportFault report);
  void writeAccumulators(ArrayRef<uint32_t> d);
  Warp &warp(unsigned i) { return cta.warps[group * kWarps + i]; }

  Cta &cta;
  unsigned group;
  const WgmmaExtra &shape;
};

} // namespace fa4::sim

//===----------------------------------------------------------------------===//
// Performing
//===----------------------------------------------------------------------===//

bool WgmmaOp::readLeft(TensorPanel &panel, ReportFault report) {
  if (shape.a.empty()) {
    Expected<MatrixDescriptor> descriptor = decodeWgmmaDescriptor(aDescriptor);
    if (!descriptor) {
      report(FaultId::WgDesc, toString(descriptor.takeError()));
      return false;
    }
    return fillPanel(*this, panel, 0, kRows, *descriptor, shape.aMnMajor, cta, "A", report);
  }
  unsigned bits = containerBits(shape.aType), per = 32 / bits;
  for (unsigned w = 0; w < kWarps; ++w) {
    for (unsigned index = 0; index < shape.a.size(); ++index) {
      if (warp(w).poisonIn(shape.a[index])) {
        return report(FaultId::UninitReg,
                      "expected A to hold values, but got an uninitialised register");
      }
      const uint32_t *values = warp(w).in<uint32_t>(shape.a[index]);
      for (unsigned lane = 0; lane < warpLanes; ++lane) {
        for (unsigned part = 0; part < per; ++part) {
          FragmentElement at = leftElement(per, w, lane, index, part);
          uint64_t mask = (uint64_t(1) << bits) - 1;
          panel.set(at.row, at.column, uint32_t(values[lane] >> (part * bits) & mask));
        }
      }
    }
  }
  return true;
}

bool WgmmaOp::readAccumulators(MutableArrayRef<uint32_t> c, ReportFault report) {
  unsigned parts = shape.dType == ElementType::F16 ? 2 : 1;
  for (unsigned w = 0; w < kWarps; ++w) {
    for (unsigned index = 0; index < shape.d.size(); ++index) {
      if (warp(w).poisonIn(shape.d[index])) {
        return report(FaultId::UninitReg, "expected the accumulators to hold values, but got "
                                          "uninitialised registers");
      }
      const uint32_t *values = warp(w).in<uint32_t>(shape.d[index]);
      for (unsigned lane = 0; lane < warpLanes; ++lane) {
        for (unsigned part = 0; part < parts; ++part) {
          FragmentElement at = accumulatorElement(shape.dType, w, lane, index, part);
          c[at.row * shape.n + at.column] =
              parts == 2 ? values[lane] >> (16 * part) & 0xFFFF : values[lane];
        }
      }
    }
  }
  return true;
}

void WgmmaOp::writeAccumulators(ArrayRef<uint32_t> d) {
  unsigned parts = shape.dType == ElementType::F16 ? 2 : 1;
  for (unsigned w = 0; w < kWarps; ++w) {
    for (unsigned index = 0; index < shape.d.size(); ++index) {
      uint32_t *values = warp(w).out<uint32_t>(shape.d[index]);
      for (unsigned lane = 0; lane < warpLanes; ++lane) {
        FragmentElement at = accumulatorElement(shape.dType, w, lane, index, 0);
        const uint32_t *from = &d[at.row * shape.n + at.column];
        values[lane] = parts == 2 ? from[0] | from[1] << 16 : from[0];
      }
      warp(w).setPoison(shape.d[index], allLanes, 0);
    }
  }
}

bool WgmmaOp::perform(Cluster &cluster) {
  auto report = [&](FaultId id, const Twine &message) { return fault(id, message); };
  TensorPanel a(TensorPanel::Role::A, shape.aType, kRows, shape.k);
  TensorPanel b(TensorPanel::Role::B, shape.bType, shape.n, shape.k);
  Expected<MatrixDescriptor> descriptor = decodeWgmmaDescriptor(bDescriptor);
  if (!descriptor) {
    return fault(FaultId::WgDesc, toString(descriptor.takeError()));
  }
  if (!readLeft(a, report) ||
      !fillPanel(*this, b, 0, shape.n, *descriptor, shape.bMnMajor, cta, "B", report)) {
    return false;
  }
  if (shape.negateA) {
    a.negate();
  }
  if (shape.negateB) {
    b.negate();
  }
  std::vector<uint32_t> d(size_t(kRows) * shape.n);
  if (accumulate && !readAccumulators(d, report)) {
    return false;
  }
  multiplyAccumulate(hopperSumRule(shape.aType, shape.dType), cluster.grid.options.mma, a, b,
                     ArrayRef<uint32_t>(d).take_front(accumulate ? d.size() : 0), d);
  writeAccumulators(d);
  cluster.grid.flops += uint64_t(2) * kRows * shape.n * shape.k;
  ++cta.warpgroups[group]->performed;
  return true;
}

//===----------------------------------------------------------------------===//
// Issuing and waiting
//===----------------------------------------------------------------------===//

static WarpgroupState &stateOf(Warp &w) {
  std::unique_ptr<WarpgroupState> &state = w.cta->warpgroups[w.index / kWarps];
  if (!state) {
    state = std::make_unique<WarpgroupState>();
  }
  return *state;
}

/// All lanes of a warp whose warpgroup is complete; otherwise `step` says how
/// to go on.
static bool gatherWarpgroup(Warp &w, const Inst &i, LaneMask m, Step &step) {
  if (!w.gatherAll(i, m, step)) {
    return false;
  }
  unsigned first = w.index / kWarps * kWarps;
  if (w.live != allLanes || first + kWarps > w.cta->warps.size()) {
    step = w.fault(FaultId::WgConv, i, m,
                   "expected four whole warps in the warpgroup, but got fewer threads");
    return false;
  }
  return true;
}

static Step execMultiply(Warp &w, const Inst &i, LaneMask m);

bool fa4::sim::mayTouchInFlight(const Inst &i, const RegUse &) { return i.exec == execMultiply; }

/// Registers of unfinished operations may only be the accumulators of a chain
/// of equal shape, or A operands read again.
static bool checkChain(Warp &w, const Inst &i, const WgmmaExtra &x, const WarpgroupState &state) {
  for (const WgmmaInFlight &flight : state.inFlight[w.index % kWarps]) {
    const auto &other = *static_cast<const WgmmaExtra *>(flight.inst->extra);
    bool sameChain = other.d == x.d && other.n == x.n && other.k == x.k;
    auto clash = [&](ArrayRef<Reg> mine, ArrayRef<Reg> theirs) {
      return any_of(mine, [&](Reg r) { return is_contained(theirs, r); });
    };
    if ((!sameChain && clash(x.d, other.d)) || clash(x.a, other.d) || clash(x.d, other.a)) {
      w.fault(FaultId::WgReg, i, allLanes,
              "expected registers of an unfinished wgmma to be used only as accumulators of the "
              "same shape, but got another use");
      return false;
    }
  }
  return true;
}

/// PTX ISA, wgmma.fence: it stands between other uses of a register and a wgmma that
/// uses it.
static bool checkFenced(Warp &w, const Inst &i, const WgmmaExtra &x, const WarpgroupState &state) {
  if (w.unfenced.empty()) {
    return true;
  }
  if (!state.everFenced[w.index % kWarps]) {
    w.fault(FaultId::RaceReg, i, allLanes,
            "expected wgmma.fence before the first wgmma, but got none");
    return false;
  }
  for (ArrayRef<Reg> list : {ArrayRef<Reg>(x.d), ArrayRef<Reg>(x.a)}) {
    for (Reg r : list) {
      if (const Inst *use = w.unfenced[uint32_t(r) / slotBytes]) {
        w.fault(FaultId::RaceReg, i, allLanes,
                "expected wgmma.fence after the last other use of each register, but got none "
                "after PTX line " +
                    Twine(use->source->line));
        return false;
      }
    }
  }
  return true;
}

static void holdRegisters(Warp &w, const WgmmaExtra &x) {
  for (ArrayRef<Reg> list : {ArrayRef<Reg>(x.d), ArrayRef<Reg>(x.a)}) {
    for (Reg r : list) {
      ++w.inFlight[uint32_t(r) / slotBytes];
    }
  }
  w.slow = true;
}

static void releaseRegisters(Warp &w, const WgmmaExtra &x) {
  for (ArrayRef<Reg> list : {ArrayRef<Reg>(x.d), ArrayRef<Reg>(x.a)}) {
    for (Reg r : list) {
      auto held = w.inFlight.find(uint32_t(r) / slotBytes);
      if (--held->second == 0) {
        w.inFlight.erase(held);
      }
    }
  }
  w.resetSlow();
}

static Step execMultiply(Warp &w, const Inst &i, LaneMask m) {
  Step step;
  if (!gatherWarpgroup(w, i, m, step)) {
    return step;
  }
  const auto &x = *static_cast<const WgmmaExtra *>(i.extra);
  WarpgroupState &state = stateOf(w);
  unsigned mine = w.index % kWarps;
  uint64_t a = 0, b = 0;
  if ((x.a.empty() && !uniformDescriptor(w, i, x.aDescriptor, m, FaultId::WgDesc, a)) ||
      !uniformDescriptor(w, i, x.bDescriptor, m, FaultId::WgDesc, b) ||
      !checkChain(w, i, x, state) || !checkFenced(w, i, x, state)) {
    return Step::Stop;
  }
  if (w.predPoison[i.p] & m) {
    return w.fault(FaultId::UninitReg, i, m,
                   "expected scale-d to hold a value, but got an uninitialised predicate");
  }
  LaneMask scale = (x.scaleNegated ? ~w.preds[i.p] : w.preds[i.p]) & m;
  if (scale != 0 && scale != m) {
    return w.fault(FaultId::WgConv, i, m,
                   "expected scale-d to agree among the lanes, but got different values");
  }
  if (!state.fenced[mine] && state.inFlight[mine].empty() &&
      w.fault(FaultId::WgFence, i, m,
              "expected wgmma.fence before the first wgmma and after other uses of its registers, "
              "but got none") == Step::Stop) {
    return Step::Stop;
  }

  uint64_t index = state.issued[mine]++;
  if (index == state.formed) {
    auto op = std::make_unique<WgmmaOp>(*w.cta, w.index / kWarps, x);
    op->inst = &i;
    op->issuer = &w;
    op->lane = m;
    op->aDescriptor = a;
    op->bDescriptor = b;
    op->accumulate = scale != 0;
    state.forming.push_back(op.get());
    ++state.formed;
    if (Races *races = w.cluster->races.get()) {
      races->issue(*op, RaceKind::Wgmma);
    }
    w.cluster->engine.push(std::move(op));
  }
  // `forming` holds the operations from `formed - size` on.
  WgmmaOp &op = *state.forming[index - (state.formed - state.forming.size())];
  if (op.inst != &i || op.aDescriptor != a || op.bDescriptor != b ||
      op.accumulate != (scale != 0)) {
    return w.fault(FaultId::WgConv, i, m,
                   "expected the four warps to issue the same wgmma with the same operands, but "
                   "got another one than warp " +
                       Twine(op.issuer->index) + " issued");
  }
  if (Races *races = w.cluster->races.get()) {
    races->joinIssue(op, w);
  }
  op.arrived |= 1u << mine;
  while (!state.forming.empty() && state.forming.front()->arrived == kAllWarps) {
    state.forming.pop_front();
  }
  state.inFlight[mine].push_back({index, &i});
  holdRegisters(w, x);
  return Step::Next;
}

static Step execFence(Warp &w, const Inst &i, LaneMask m) {
  Step step;
  if (!gatherWarpgroup(w, i, m, step)) {
    return step;
  }
  WarpgroupState &state = stateOf(w);
  state.fenced[w.index % kWarps] = state.everFenced[w.index % kWarps] = true;
  fill(w.unfenced, nullptr);
  return Step::Next;
}

static Step execCommit(Warp &w, const Inst &i, LaneMask m) {
  Step step;
  if (!gatherWarpgroup(w, i, m, step)) {
    return step;
  }
  WarpgroupState &state = stateOf(w);
  state.committed[w.index % kWarps].push_back(state.issued[w.index % kWarps]);
  return Step::Next;
}

static Step execWait(Warp &w, const Inst &i, LaneMask m) {
  Step step;
  if (!gatherWarpgroup(w, i, m, step)) {
    return step;
  }
  WarpgroupState &state = stateOf(w);
  unsigned mine = w.index % kWarps;
  std::deque<uint64_t> &groups = state.committed[mine];
  if (groups.size() <= i.imm) {
    return Step::Next;
  }
  uint64_t needed = groups[groups.size() - 1 - i.imm];
  if (state.performed < needed) {
    return w.block(WaitKind::Wgmma, needed, state.performed);
  }
  groups.erase(groups.begin(), groups.end() - i.imm);
  std::deque<WgmmaInFlight> &flights = state.inFlight[mine];
  while (!flights.empty() && flights.front().index < needed) {
    releaseRegisters(w, *static_cast<const WgmmaExtra *>(flights.front().inst->extra));
    flights.pop_front();
  }
  state.fenced[mine] = false;
  if (Races *races = w.cluster->races.get()) {
    races->waitWgmma(w, needed);
  }
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// Reads `m64n<N>k<K>`.
static bool readShape(const Decoder &d, WgmmaExtra &x) {
  for (StringRef modifier : d.source->modifiers) {
    unsigned rows;
    if (modifier.consume_front("m") && !modifier.consumeInteger(10, rows) && rows == kRows &&
        modifier.consume_front("n") && !modifier.consumeInteger(10, x.n) &&
        modifier.consume_front("k") && !modifier.getAsInteger(10, x.k)) {
      return true;
    }
  }
  return false;
}

static bool readSign(Decoder &d, unsigned operand) {
  int64_t scale = int64_t(d.immediate(operand));
  if (scale != 1 && scale != -1) {
    d.error("expected the operand scale to be 1 or -1, but got " + Twine(scale));
  }
  return scale == -1;
}

static bool readMajor(Decoder &d, unsigned operand) {
  uint64_t transposed = d.immediate(operand);
  if (transposed > 1) {
    d.error("expected the transposition to be 0 or 1, but got " + Twine(transposed));
  }
  return transposed != 0;
}

static void decodeMultiply(Decoder &d) {
  auto *x = d.extra<WgmmaExtra>();
  x->dType = elementOf(d.type(0));
  x->aType = elementOf(d.type(1));
  x->bType = elementOf(d.type(2));
  unsigned bits = containerBits(x->aType);
  bool narrow = bits == 8;
  bool typesAgree = narrow ? containerBits(x->bType) == 8 : x->aType == x->bType;
  bool resultFits = x->dType == ElementType::F32 || x->aType == ElementType::F16 || narrow;
  if (!readShape(d, *x) || x->k != 256 / bits || !typesAgree || !resultFits) {
    d.error("expected a shape m64n8…256k" + Twine(256 / bits) +
            " with types that go together, but got another one");
    return;
  }
  const ptx::Operand &left = d.operand(1);
  bool inRegisters = left.kind == ptx::Operand::Kind::Vector;
  unsigned wanted = bits != 16 ? 6 : (inRegisters ? 7 : 8);
  unsigned registers = x->dType == ElementType::F16 ? x->n / 4 : x->n / 2;
  if (d.operandCount() != wanted || !d.isVector(0) || d.operand(0).elements.size() != registers ||
      (inRegisters && left.elements.size() != 4)) {
    d.error("expected " + Twine(wanted) + " operands with " + Twine(registers) +
            " accumulators, but got others");
    return;
  }
  for (const ptx::Operand &element : d.operand(0).elements) {
    x->d.push_back(d.dstOf(element, 32));
  }
  for (unsigned index = 0; inRegisters && index < left.elements.size(); ++index) {
    x->a.push_back(d.srcOf(left.elements[index], 32));
  }
  if (!inRegisters) {
    x->aDescriptor = d.src(1, 64);
  }
  x->bDescriptor = d.src(2, 64);
  d.inst.p = d.predSrc(3, &x->scaleNegated);
  x->negateA = readSign(d, 4);
  x->negateB = readSign(d, 5);
  if (bits == 16) {
    x->aMnMajor = !inRegisters && readMajor(d, 6);
    x->bMnMajor = readMajor(d, wanted - 1);
  }
  d.kernel->usesWgmma = true;
  d.inst.exec = execMultiply;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

template <ExecFn Exec>
static void decodePlain(Decoder &d) {
  d.inst.exec = Exec;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

static void decodeWait(Decoder &d) {
  d.inst.imm = d.immediate(0);
  decodePlain<execWait>(d);
}

/// All shapes that differ in N, as alternatives of one modifier.
static std::string shapeAlternatives() {
  std::string text;
  for (unsigned k : {8, 16, 32}) {
    for (unsigned n = 8; n <= 256; n += 8) {
      text += formatv("{0}m64n{1}k{2}", text.empty() ? "" : "|", n, k).str();
    }
  }
  return text + " :f32|f16 :f16|bf16|tf32|e4m3|e5m2 :f16|bf16|tf32|e4m3|e5m2";
}

void fa4::sim::addWgmmaOpcodes(OpcodeTable &t) {
  static const std::string modifiers = shapeAlternatives();
  t.add({
      {"wgmma.mma_async.sync.aligned", modifiers, 6, 8, decodeMultiply, Arch::Sm90a},
      {"wgmma.fence.sync.aligned", "", 0, 0, decodePlain<execFence>, Arch::Sm90a},
      {"wgmma.commit_group.sync.aligned", "", 0, 0, decodePlain<execCommit>, Arch::Sm90a},
      {"wgmma.wait_group.sync.aligned", "", 1, 1, decodeWait, Arch::Sm90a},
  });
}
