//===- OpsTcgen05.cpp - matrix instructions on tensor memory ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An mma goes to the pipe of its CTA or pair and is performed later, operands
// read at that time; a commit travels behind it and arrives at its mbarriers.
// The arithmetic is Hopper's measured model with the precision that is believed
// of Blackwell.
//
//===----------------------------------------------------------------------===//

#include "MbarrierOps.h"
#include "Races.h"
#include "Tcgen05.h"
#include "TensorOperands.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

namespace {

constexpr unsigned kMaskWords = 8; ///< disable-output-lane of a pair

struct MmaExtra : Extra {
  MmaKind kind = MmaKind::F16;
  unsigned ctas = 1;
  bool aInTensorMemory = false;
  AddressRef a; ///< when in tensor memory
  Reg aDescriptor = 0, bDescriptor = 0, instruction = 0;
  int64_t aOffset = 0, bOffset = 0; ///< what is written behind the descriptors
  SmallVector<Reg, kMaskWords> disable;
  bool enableNegated = false;
  unsigned scaleShift = 0;
};

class MmaOp : public TensorPipeOp {
public:
  MmaOp(Cta &cta, const MmaExtra &x) : TensorPipeOp(cta, x.ctas), x(x) {}

  bool perform(Cluster &cluster) override;
  const char *describe() const override { return "tcgen05.mma"; }
  bool readsShared() const override { return true; }
  bool usesTensorMemory() const override { return true; }

  uint32_t d = 0, a = 0, instruction = 0;
  uint64_t aDescriptor = 0, bDescriptor = 0;
  bool accumulate = false;
  uint32_t disable[kMaskWords] = {};

private:
  bool readLeft(TensorPanel &panel);
  bool readPanel(TensorPanel &panel, uint64_t bits, bool mnMajor, const char *name);
  bool checkAccumulator();
  bool readAccumulator(MutableArrayRef<uint32_t> c);
  void writeAccumulator(ArrayRef<uint32_t> result);
  void judge(Races &races);
  /// Places of all rows in `column`; within each half of the columns the next column
  /// of the accumulator is the next one of the memory.
  void findRows(unsigned column, SmallVectorImpl<AccumulatorPlace> &rows) const {
    rows.clear();
    for (unsigned row = 0; row < shape.m; ++row) {
      AccumulatorPlace at = accumulatorPlace(ctas, shape.m, shape.n, row, column);
      rows.push_back({at.cta, at.lane + tmemLane(d), at.column + tmemColumn(d)});
    }
  }
  /// Calls `visit` with the index, the place and its CTA's memory for each element.
  template <typename Visit>
  bool forEachPlace(Visit visit);
  TensorMemory &memory(unsigned number) { return *members[number]->tmem; }

  const MmaExtra &x;
  InstructionDescriptor shape{};
  SmallVector<Cta *, 2> members;
};

} // namespace

//===----------------------------------------------------------------------===//
// Performing
//===----------------------------------------------------------------------===//

bool MmaOp::readPanel(TensorPanel &panel, uint64_t bits, bool mnMajor, const char *name) {
  Expected<MatrixDescriptor> descriptor = decodeTcgen05Descriptor(bits);
  if (!descriptor) {
    return fault(FaultId::MmaDesc, toString(descriptor.takeError()));
  }
  if (descriptor->swizzle == Swizzle::B128Atom32 && !(mnMajor && x.kind == MmaKind::TF32)) {
    return fault(FaultId::MmaDesc, Twine("expected the swizzle of operand ") + name +
                                       " to move 32-byte pieces only for transposed tf32, but got "
                                       "another operand");
  }
  // One instruction reads 32 bytes along K, which must stay inside a line.
  unsigned span = swizzleSpan(descriptor->swizzle);
  if (!mnMajor && descriptor->swizzle != Swizzle::None && descriptor->start % span + 32 > span) {
    return fault(FaultId::MmaDesc, Twine("expected operand ") + name +
                                       " to start so that 32 bytes stay inside the swizzled line "
                                       "of " +
                                       Twine(span) + " bytes, but got offset " +
                                       Twine(descriptor->start % span));
  }
  unsigned each = panel.rows() / ctas;
  for (unsigned number = 0; number < ctas; ++number) {
    auto report = [&](FaultId id, const Twine &message) { return fault(id, message); };
    if (!fillPanel(*this, panel, number * each, each, *descriptor, mnMajor, *members[number], name,
                   report)) {
      return false;
    }
  }
  return true;
}

bool MmaOp::readLeft(TensorPanel &panel) {
  if (!x.aInTensorMemory) {
    return readPanel(panel, aDescriptor, shape.aMnMajor, "A");
  }
  if (shape.aMnMajor) {
    return fault(FaultId::MmaIdesc, "expected A in tensor memory to be K-major, but got the bit of "
                                    "an MN-major one");
  }
  unsigned bits = containerBits(shape.a), perCell = 32 / bits, first = tmemColumn(a);
  uint64_t mask = (uint64_t(1) << bits) - 1;
  for (Cta *member : members) {
    if (!member->tmem->covering(first, shape.k / perCell)) {
      return fault(FaultId::TmRange,
                   formatv("expected A in columns {0} to {1} to lie in one live allocation, but "
                           "got {2}",
                           first, first + shape.k / perCell - 1,
                           member->tmem->describeAllocations())
                       .str());
    }
  }
  for (unsigned row = 0; row < shape.m; ++row) {
    AccumulatorPlace at = accumulatorPlace(ctas, shape.m, shape.n, row, 0);
    unsigned lane = at.lane + tmemLane(a);
    for (unsigned k = 0; k < shape.k; ++k) {
      unsigned column = first + k / perCell;
      if (lane >= kTmemLanes || !memory(at.cta).valid[column][lane]) {
        return fault(FaultId::UninitTmem,
                     formatv("expected A to hold written cells, but got lane {0} column {1} (row "
                             "{2}, k {3})",
                             lane, column, row, k)
                         .str());
      }
      panel.set(row, k, memory(at.cta).cells[column][lane] >> (k % perCell * bits) & mask);
    }
  }
  return true;
}

bool MmaOp::checkAccumulator() {
  bool half = ctas == 1 && shape.m == 64;
  if (tmemLane(d) != 0 && !(half && tmemLane(d) == 16)) {
    return fault(FaultId::TmLane, Twine("expected the accumulator to start at lane 0") +
                                      (half ? " or 16" : "") + ", but got lane " +
                                      Twine(tmemLane(d)));
  }
  unsigned width = ctas == 2 && shape.m == 128 ? shape.n / 2 : shape.n;
  for (Cta *member : members) {
    if (!member->tmem || !member->tmem->covering(tmemColumn(d), width)) {
      return fault(FaultId::TmRange,
                   formatv("expected the accumulator in columns {0} to {1} to lie in one live "
                           "allocation, but got {2}",
                           tmemColumn(d), tmemColumn(d) + width - 1,
                           member->tmem ? member->tmem->describeAllocations() : "none")
                       .str());
    }
  }
  return true;
}

template <typename Visit>
bool MmaOp::forEachPlace(Visit visit) {
  SmallVector<AccumulatorPlace, kTmemLanes> rows;
  for (unsigned column = 0; column < shape.n; ++column) {
    unsigned first = column < shape.n / 2 ? 0 : shape.n / 2;
    if (column == first) {
      findRows(first, rows);
    }
    for (unsigned row = 0; row < shape.m; ++row) {
      AccumulatorPlace at = rows[row];
      at.column += column - first;
      if (!visit(row * shape.n + column, at, memory(at.cta))) {
        return false;
      }
    }
  }
  return true;
}

bool MmaOp::readAccumulator(MutableArrayRef<uint32_t> c) {
  uint32_t mask = shape.d == ElementType::F16 ? 0xFFFF : 0xFFFFFFFF;
  return forEachPlace([&](unsigned index, AccumulatorPlace at, TensorMemory &from) {
    if (LLVM_UNLIKELY(!from.valid[at.column][at.lane])) {
      return fault(FaultId::UninitTmem,
                   formatv("expected the accumulator to hold written cells, but got lane {0} "
                           "column {1}",
                           at.lane, at.column)
                       .str());
    }
    c[index] = from.cells[at.column][at.lane] & mask;
    return true;
  });
}

void MmaOp::writeAccumulator(ArrayRef<uint32_t> result) {
  forEachPlace([&](unsigned index, AccumulatorPlace at, TensorMemory &to) {
    unsigned bit = at.cta * kTmemLanes + at.lane;
    if (!(disable[bit / 32] >> (bit % 32) & 1)) {
      to.cells[at.column][at.lane] = result[index];
      to.valid[at.column][at.lane] = 1;
    }
    return true;
  });
}

/// Tells the race detector what the operation touches in tensor memory; its operands
/// were found to lie there.
void MmaOp::judge(Races &races) {
  // Operations of one accumulator and shape are ordered by any pipe; bit 0 is free.
  auto key = hash_combine(d, shape.m, shape.n, unsigned(shape.d));
  Races::tag(*this, uint32_t(size_t(key)) << 1);
  auto each = [&](uint32_t (&lanes)[2][kRaceQuarters], unsigned column, bool write) {
    for (unsigned number = 0; number < ctas; ++number) {
      for (unsigned quarter = 0; quarter < kRaceQuarters; ++quarter) {
        races.tensorAccess(*this, *members[number], column, quarter, lanes[number][quarter], write);
      }
    }
  };
  if (x.aInTensorMemory) {
    uint32_t lanes[2][kRaceQuarters] = {};
    for (unsigned row = 0; row < shape.m; ++row) {
      AccumulatorPlace at = accumulatorPlace(ctas, shape.m, shape.n, row, 0);
      unsigned lane = at.lane + tmemLane(a);
      lanes[at.cta][lane / kRaceCellLanes] |= 1u << lane % kRaceCellLanes;
    }
    unsigned width = shape.k * containerBits(shape.a) / 32;
    for (unsigned column = 0; column < width; ++column) {
      each(lanes, tmemColumn(a) + column, /*write=*/false);
    }
  }
  SmallVector<AccumulatorPlace, 128> rows;
  for (unsigned first : {0u, shape.n / 2}) {
    uint32_t lanes[2][kRaceQuarters] = {};
    findRows(first, rows);
    for (AccumulatorPlace at : rows) {
      unsigned bit = at.cta * kTmemLanes + at.lane;
      if (!(disable[bit / 32] >> (bit % 32) & 1)) {
        lanes[at.cta][at.lane / kRaceCellLanes] |= 1u << at.lane % kRaceCellLanes;
      }
    }
    for (unsigned column = 0; column < shape.n / 2; ++column) {
      each(lanes, rows.front().column + column, /*write=*/true);
    }
  }
}

bool MmaOp::perform(Cluster &cluster) {
  Expected<InstructionDescriptor> decoded = decodeInstructionDescriptor(x.kind, ctas, instruction);
  if (!decoded) {
    return fault(FaultId::MmaIdesc, toString(decoded.takeError()));
  }
  shape = *decoded;
  for (unsigned number = 0; number < ctas; ++number) {
    members.push_back(cluster.ctas[firstRank() + number].get());
    if (members.back()->exited) {
      return fault(FaultId::ClusterExit, "expected the CTAs of the instruction to be running, but "
                                         "one has exited");
    }
  }
  if (!checkAccumulator()) {
    return false;
  }
  int &issuing = members[0]->tmem->pairIssuer;
  if (ctas == 2 && issuing >= 0 && issuing != int(cta.rank) &&
      !fault(FaultId::MmaBoth,
             "expected one CTA of the pair to issue all matrix instructions, but got both")) {
    return false;
  }
  issuing = int(cta.rank);

  TensorPanel left(TensorPanel::Role::A, shape.a, shape.m, shape.k);
  TensorPanel right(TensorPanel::Role::B, shape.b, shape.n, shape.k);
  if (!readLeft(left) || !readPanel(right, bDescriptor, shape.bMnMajor, "B")) {
    return false;
  }
  if (cluster.races) {
    judge(*cluster.races);
  }
  if (shape.negateA) {
    left.negate();
  }
  if (shape.negateB) {
    right.negate();
  }
  std::vector<uint32_t> result(size_t(shape.m) * shape.n);
  if (accumulate && !readAccumulator(result)) {
    return false;
  }
  multiplyAccumulate(blackwellSumRule(shape.d), cluster.grid.options.mma, left, right,
                     ArrayRef<uint32_t>(result).take_front(accumulate ? result.size() : 0), result,
                     x.scaleShift);
  writeAccumulator(result);
  cluster.grid.flops += uint64_t(2) * shape.m * shape.n * shape.k;
  return true;
}

//===----------------------------------------------------------------------===//
// Commit
//===----------------------------------------------------------------------===//

namespace {

class CommitOp : public TensorPipeOp {
public:
  CommitOp(Cta &cta, unsigned ctas, uint64_t address, uint32_t mask, bool multicast)
      : TensorPipeOp(cta, ctas), address(address), mask(mask), multicast(multicast) {}

  bool perform(Cluster &cluster) override;
  const char *describe() const override { return "tcgen05.commit"; }
  bool usesTensorMemory() const override { return false; }
  bool isSignal() const override { return true; }

  uint32_t issued = 0; ///< operations that it tracks, for the race detector

private:
  bool arrive(Cluster &cluster, uint64_t at);

  uint64_t address;
  uint32_t mask;
  bool multicast;
};

} // namespace

bool CommitOp::arrive(Cluster &cluster, uint64_t at) {
  Actor actor{issuer, inst, lane};
  if (Races *detector = cluster.races.get()) {
    const Mbarrier *b = findMbarrier(actor, at, false);
    if (!b) {
      return false;
    }
    detector->commitArrive(*issuer, countr_zero(lane), *b, issued);
  }
  return mbarrierArrive(actor, at, 1);
}

bool CommitOp::perform(Cluster &cluster) {
  if (!multicast) {
    return arrive(cluster, address);
  }
  uint64_t offset = address & ((uint64_t(1) << sharedRankShift) - 1);
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    unsigned rank = countr_zero(left);
    if (rank >= cluster.ctas.size()) {
      return fault(FaultId::CtaRange,
                   "expected the mask to name CTAs of the cluster, but got rank " + Twine(rank));
    }
    if (!arrive(cluster, (uint64_t(rank) << sharedRankShift) + offset)) {
      return false;
    }
  }
  return true;
}

static Step execCommit(Warp &w, const Inst &i, LaneMask m) {
  uint64_t addresses[warpLanes];
  bool multicast = i.aux >> 8;
  if (!w.addresses(i, m, addresses) ||
      (multicast && !w.checkUsed(i, i.b, false, m, "the CTA mask"))) {
    return Step::Stop;
  }
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned lane = countr_zero(left);
    uint32_t mask = multicast ? w.in<uint32_t>(i.b)[lane] & 0xFFFF : 0;
    auto op = std::make_unique<CommitOp>(*w.cta, i.aux & 0xFF, addresses[lane], mask, multicast);
    op->inst = &i;
    op->issuer = &w;
    op->lane = LaneMask(1) << lane;
    if (Races *races = w.cluster->races.get()) {
      op->issued = races->issuedSoFar(w, lane);
    }
    w.cluster->engine.push(std::move(op));
  }
  ++w.cluster->changes;
  return Step::Next;
}

static void decodeCommit(Decoder &d) {
  bool multicast = d.has("multicast::cluster");
  if (d.operandCount() != (multicast ? 2u : 1u)) {
    d.error("expected a CTA mask with '.multicast::cluster' and none without, but got " +
            Twine(d.operandCount()) + " operands");
    return;
  }
  d.inst.aux = decodeCtaGroup(d) | (multicast ? 0x100 : 0);
  d.setAddress(0);
  if (multicast) {
    d.inst.b = d.src(1, 16);
  }
  d.inst.exec = execCommit;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

//===----------------------------------------------------------------------===//
// Issue
//===----------------------------------------------------------------------===//

static Step execMma(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const MmaExtra *>(i.extra);
  if (popcount(m) != 1) {
    return w.fault(FaultId::MmaLanes, i, m,
                   "expected one thread to issue the matrix instruction, but got " +
                       Twine(popcount(m)));
  }
  unsigned lane = countr_zero(m);
  uint64_t d[warpLanes], a[warpLanes];
  if (!w.addresses(i, m, d) || !w.checkUsed(i, x.bDescriptor, true, m, "the descriptor of B") ||
      !w.checkUsed(i, x.instruction, false, m, "the instruction descriptor")) {
    return Step::Stop;
  }
  if (x.aInTensorMemory ? !w.addresses(i, x.a.base, x.a.narrow, x.a.offset, m, a)
                        : !w.checkUsed(i, x.aDescriptor, true, m, "the descriptor of A")) {
    return Step::Stop;
  }
  if (w.predPoison[i.p] & m) {
    return w.fault(FaultId::UninitReg, i, m,
                   "expected enable-input-d to hold a value, but got an uninitialised predicate");
  }
  auto op = std::make_unique<MmaOp>(*w.cta, x);
  op->inst = &i;
  op->issuer = &w;
  op->lane = m;
  op->d = uint32_t(d[lane]);
  op->a = x.aInTensorMemory ? uint32_t(a[lane]) : 0;
  op->aDescriptor =
      x.aInTensorMemory ? 0 : w.in<uint64_t>(x.aDescriptor)[lane] + uint64_t(x.aOffset);
  op->bDescriptor = w.in<uint64_t>(x.bDescriptor)[lane] + uint64_t(x.bOffset);
  op->instruction = w.in<uint32_t>(x.instruction)[lane];
  op->accumulate = ((w.preds[i.p] & m) != 0) != x.enableNegated;
  for (unsigned word = 0; word < x.disable.size(); ++word) {
    if (!w.checkUsed(i, x.disable[word], false, m, "the lane mask")) {
      return Step::Stop;
    }
    op->disable[word] = w.in<uint32_t>(x.disable[word])[lane];
  }
  if (Races *races = w.cluster->races.get()) {
    races->issue(*op, RaceKind::Mma);
  }
  w.cluster->engine.push(std::move(op));
  ++w.cluster->changes;
  return Step::Next;
}

static void decodeMma(Decoder &d) {
  auto *x = d.extra<MmaExtra>();
  x->ctas = decodeCtaGroup(d);
  x->kind = d.has("kind::tf32")     ? MmaKind::TF32
            : d.has("kind::f8f6f4") ? MmaKind::F8F6F4
                                    : MmaKind::F16;
  if (!d.has("kind::tf32") && !d.has("kind::f8f6f4") && !d.has("kind::f16")) {
    d.error("expected kind::f16, kind::tf32 or kind::f8f6f4, but got none of them");
    return;
  }
  d.setAddress(0);
  x->aInTensorMemory = d.operand(1).kind == ptx::Operand::Kind::Address;
  if (x->aInTensorMemory) {
    x->a = d.address(1);
  } else {
    x->aDescriptor = d.srcPlus(1, 64, x->aOffset);
  }
  x->bDescriptor = d.srcPlus(2, 64, x->bOffset);
  x->instruction = d.src(3, 32);
  unsigned next = 4;
  if (d.isVector(next)) {
    for (const ptx::Operand &word : d.operand(next).elements) {
      x->disable.push_back(d.srcOf(word, 32));
    }
    if (x->disable.size() != 4 * x->ctas) {
      d.error("expected " + Twine(4 * x->ctas) + " words of disabled lanes, but got " +
              Twine(x->disable.size()));
      return;
    }
    ++next;
  }
  if (next >= d.operandCount() || d.operandCount() > next + 2) {
    d.error("expected enable-input-d and at most a scale behind it, but got " +
            Twine(d.operandCount()) + " operands");
    return;
  }
  d.inst.p = d.predSrc(next, &x->enableNegated);
  if (next + 1 < d.operandCount()) {
    x->scaleShift = unsigned(d.immediate(next + 1));
    // PTX ISA 9.7.16.10.9: 0 to 15, kinds f16 and tf32.
    if (x->scaleShift > 15 || x->kind == MmaKind::F8F6F4) {
      d.error("expected a scale from 0 to 15 of kind::f16 or kind::tf32, but got " +
              Twine(x->scaleShift));
      return;
    }
  }
  d.inst.exec = execMma;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

/// Loads and stores act at once and the pipe keeps its order, so a fence matters
/// to the race detector alone.
static Step execFence(Warp &w, const Inst &i, LaneMask) {
  if (Races *races = w.cluster->races.get()) {
    races->fenceTensor(w, /*before=*/i.aux);
  }
  return Step::Next;
}

static void decodeFence(Decoder &d) {
  d.inst.aux = d.source->hasModifier("fence::before_thread_sync");
  d.inst.exec = execFence;
  d.emit();
}

void fa4::sim::addTcgen05Opcodes(OpcodeTable &t) {
  t.add({
      {"tcgen05.mma",
       "cta_group::1|cta_group::2 kind::f16|kind::tf32|kind::f8f6f4 "
       "collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard",
       5, 7, decodeMma, Arch::Sm100a},
      {"tcgen05.commit",
       "cta_group::1|cta_group::2 mbarrier::arrive::one shared::cluster multicast::cluster :b64", 1,
       2, decodeCommit, Arch::Sm100a},
      {"tcgen05.fence::before_thread_sync", "", 0, 0, decodeFence, Arch::Sm100a},
      {"tcgen05.fence::after_thread_sync", "", 0, 0, decodeFence, Arch::Sm100a},
  });
}
