//===- OpsTmem.cpp - tensor memory: allocation, loads, stores ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads and stores act at once, which is one of the orders that the ISA allows,
// so the waits have nothing to do; matrix instructions are performed late, so a
// missing commit and wait shows as old data. Loads of cells that were never
// written give poisoned registers.
//
//===----------------------------------------------------------------------===//

#include "MemoryOps.h"
#include "Races.h"
#include "Tcgen05.h"
#include "TimelineRecorder.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace fa4::sim;

TensorMemory &fa4::sim::tensorMemoryOf(Cta &cta) {
  if (!cta.tmem) {
    cta.tmem = std::make_unique<TensorMemory>();
  }
  return *cta.tmem;
}

unsigned fa4::sim::decodeCtaGroup(Decoder &d) {
  unsigned group = d.has("cta_group::2") ? 2 : 1;
  if (d.has("cta_group::1") == d.has("cta_group::2")) {
    d.error("expected '.cta_group::1' or '.cta_group::2', but got neither or both");
  } else if (d.kernel->tcgen05Group != 0 && d.kernel->tcgen05Group != group) {
    d.error(FaultId::MmaGroup,
            "expected one cta_group in all tcgen05 instructions of a kernel, but got "
            "both");
  }
  d.kernel->tcgen05Group = group;
  return group;
}

/// A 32-bit operand that must agree among all lanes of the warp.
static bool uniform(Warp &w, const Inst &i, Reg r, const char *what, uint32_t &value) {
  if (!w.checkUsed(i, r, false, w.live, what)) {
    return false;
  }
  const uint32_t *values = w.in<uint32_t>(r);
  value = values[countr_zero(w.live)];
  for (LaneMask left = w.live; left != 0; left &= left - 1) {
    if (values[countr_zero(left)] != value) {
      w.fault(FaultId::TmAllocWarp, i, w.live,
              Twine("expected ") + what + " to agree among the lanes, but got different values");
      return false;
    }
  }
  return true;
}

/// The whole warp, or `step` says how to go on.
static bool wholeWarp(Warp &w, const Inst &i, LaneMask m, Step &step) {
  if (!w.gatherAll(i, m, step)) {
    return false;
  }
  if (w.live != allLanes) {
    step = w.fault(FaultId::TmAllocWarp, i, m,
                   "expected all 32 lanes of the warp to execute the instruction, but got exited "
                   "lanes");
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

/// Checks that hold for every allocation.
static bool checkAllocation(Warp &w, const Inst &i, TensorMemory &memory, uint32_t columns) {
  if (!isPowerOf2_32(columns) || columns < tmemMinColumns || columns > kTmemColumns) {
    w.fault(FaultId::TmAllocCount, i, w.live,
            "expected the number of columns to be a power of two from 32 to 512, but got " +
                Twine(columns));
    return false;
  }
  if (memory.relinquished) {
    w.fault(FaultId::TmAllocPermit, i, w.live,
            "expected no allocation after relinquish_alloc_permit, but got one");
    return false;
  }
  if (memory.lastColumns != 0 && columns > memory.lastColumns) {
    w.fault(FaultId::TmAllocGrow, i, w.live,
            "expected later allocations to be at most as large as the earlier one of " +
                Twine(memory.lastColumns) + " columns, but got " + Twine(columns));
    return false;
  }
  return true;
}

/// Stores the address where the instruction says.
static Step writeAddress(Warp &w, const Inst &i, uint32_t column) {
  uint64_t addresses[warpLanes];
  if (!w.addresses(i, w.live, addresses)) {
    return Step::Stop;
  }
  uint8_t *shadow;
  uint8_t *to = w.access(i, Space(i.aux), addresses[0], sizeof(column), Access::Write, 0, shadow);
  if (!to) {
    return Step::Stop;
  }
  std::memcpy(to, &column, sizeof(column));
  std::fill(shadow, shadow + sizeof(column), uint8_t(shadowValid));
  ++w.cluster->changes;
  return Step::Next;
}

static void record(Warp &w, const Inst &i, TensorMemory &memory, uint32_t column, uint32_t columns,
                   bool pair) {
  memory.allocations.push_back({column, columns, &i, w.index, pair});
  memory.lastColumns = columns;
  if (TimelineRecorder *timeline = w.cluster->timeline.get()) {
    timeline->allocate(w, i, column, columns);
  }
  // What the columns held before belongs to nobody.
  for (uint32_t c = column; c < column + columns; ++c) {
    std::memset(memory.valid[c], 0, sizeof(memory.valid[c]));
  }
  // A pair allocates in both CTAs as one.
  if (Races *races = w.cluster->races.get(); races && !pair) {
    races->allocate(w, i, column, columns);
  }
}

static Step execAllocate(Warp &w, const Inst &i, LaneMask m) {
  Step step;
  if (!wholeWarp(w, i, m, step)) {
    return step;
  }
  uint32_t columns;
  TensorMemory &memory = tensorMemoryOf(*w.cta);
  if (!uniform(w, i, i.b, "the number of columns", columns) ||
      !checkAllocation(w, i, memory, columns)) {
    return Step::Stop;
  }
  int column = memory.findFree(columns, w.cluster->random(), w.grid->options.tmemBaseZero);
  if (column < 0) {
    return w.block(WaitKind::TmemAlloc, 0, columns);
  }
  record(w, i, memory, column, columns, false);
  return writeAddress(w, i, column);
}

/// One warp of each CTA of a pair: the first one waits, the second allocates
/// the same columns in both.
static Step execAllocatePair(Warp &w, const Inst &i, LaneMask m) {
  Step step;
  if (!wholeWarp(w, i, m, step)) {
    return step;
  }
  TensorMemory &memory = tensorMemoryOf(*w.cta);
  TmemPairRequest &mine = memory.pair;
  Fragment &f = w.fragment();
  if (f.stage == 1) {
    if (mine.waiting) {
      return w.block(WaitKind::TmemPair, 0, mine.columns);
    }
    f.stage = 0;
    record(w, i, memory, mine.column, mine.columns, true);
    return writeAddress(w, i, mine.column);
  }
  uint32_t columns;
  if (!uniform(w, i, i.b, "the number of columns", columns) ||
      !checkAllocation(w, i, memory, columns)) {
    return Step::Stop;
  }
  TensorMemory &peer = tensorMemoryOf(*w.cluster->ctas[w.cta->rank ^ 1]);
  if (!peer.pair.waiting) {
    mine.waiting = true;
    mine.columns = columns;
    f.stage = 1;
    return w.block(WaitKind::TmemPair, 0, columns);
  }
  if (peer.pair.columns != columns) {
    return w.fault(FaultId::TmAllocPair, i, m,
                   "expected both CTAs of the pair to allocate " + Twine(peer.pair.columns) +
                       " columns, but got " + Twine(columns));
  }
  // What is free in both: the peer's allocations, seen beside mine.
  TensorMemory joined;
  joined.allocations = memory.allocations;
  joined.allocations.append(peer.allocations.begin(), peer.allocations.end());
  int column = joined.findFree(columns, w.cluster->random(), w.grid->options.tmemBaseZero);
  if (column < 0) {
    return w.block(WaitKind::TmemAlloc, 0, columns);
  }
  peer.pair.column = column;
  peer.pair.waiting = false;
  w.cluster->event();
  record(w, i, memory, column, columns, true);
  return writeAddress(w, i, column);
}

static Step execDeallocate(Warp &w, const Inst &i, LaneMask m) {
  Step step;
  uint32_t address, columns;
  if (!wholeWarp(w, i, m, step)) {
    return step;
  }
  if (!uniform(w, i, i.a, "the address", address) ||
      !uniform(w, i, i.b, "the number of columns", columns)) {
    return Step::Stop;
  }
  TensorMemory &memory = tensorMemoryOf(*w.cta);
  auto *match = find_if(memory.allocations, [&](const TmemAllocation &a) {
    return a.column == address && a.columns == columns && a.pair == (i.aux == 2);
  });
  if (match == memory.allocations.end()) {
    return w.fault(FaultId::TmUaf, i, m,
                   formatv("expected a live allocation of {0} columns at {1:x8}, but got {2}",
                           columns, address, memory.describeAllocations())
                       .str());
  }
  for (const auto &op : w.cluster->engine.ops()) {
    const auto *pipe = dynamic_cast<const TensorPipeOp *>(op.get());
    if (pipe && pipe->usesTensorMemory() && pipe->touches(*w.cta)) {
      return w.fault(FaultId::TmUaf, i, m,
                     Twine("expected tensor memory to be unused when it is deallocated, but got "
                           "an unfinished ") +
                         pipe->describe() + " of line " + Twine(pipe->inst->source->line));
    }
  }
  memory.allocations.erase(match);
  if (TimelineRecorder *timeline = w.cluster->timeline.get()) {
    timeline->deallocate(w, address);
  }
  if (Races *races = w.cluster->races.get()) {
    races->deallocate(w, i, address, columns);
  }
  w.cluster->event();
  return Step::Next;
}

static Step execRelinquish(Warp &w, const Inst &i, LaneMask m) {
  Step step;
  if (!wholeWarp(w, i, m, step)) {
    return step;
  }
  tensorMemoryOf(*w.cta).relinquished = true;
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

namespace {

struct TmemExtra : Extra {
  SmallVector<Reg, 128> regs;
  TmemShape shape = TmemShape::S32x32b;
  unsigned repeat = 1;
  unsigned split = 0;
  bool halves = false; ///< pack::16b, unpack::16b: two cells a register
};

} // namespace

/// The first lane and column of an access, checked; false after a fault.
static bool place(Warp &w, const Inst &i, const TmemExtra &x, uint32_t &lane, uint32_t &column) {
  uint64_t addresses[warpLanes];
  if (!w.addresses(i, w.live, addresses)) {
    return false;
  }
  uint32_t address = uint32_t(addresses[0]);
  for (uint64_t other : addresses) {
    if (uint32_t(other) != address) {
      w.fault(FaultId::TmLane, i, w.live,
              "expected all lanes to give the same address, but got different ones");
      return false;
    }
  }
  lane = tmemLane(address);
  column = tmemColumn(address);
  // PTX ISA, "Tensor memory access restrictions": warp w of a warpgroup reaches
  // lanes 32w to 32w + 31.
  uint32_t first = 32 * (w.index % 4);
  bool upper = x.shape != TmemShape::S32x32b && lane == first + 16;
  if (lane != first && !upper) {
    w.fault(FaultId::TmLane, i, w.live,
            "expected the address to name lane " + Twine(first) +
                ", the first that the warp reaches, but got lane " + Twine(lane));
    return false;
  }
  unsigned width = tmemColumns(x.shape, x.repeat) * (x.halves ? 2 : 1);
  const TensorMemory &memory = tensorMemoryOf(*w.cta);
  bool inside = memory.covering(column, width);
  if (x.shape == TmemShape::S16x32bx2) {
    inside &= memory.covering(column + x.split, width) != nullptr;
  }
  if (!inside) {
    w.fault(memory.allocations.empty() ? FaultId::TmUaf : FaultId::TmRange, i, w.live,
            formatv("expected columns {0} to {1} to lie in one live allocation, but got {2}",
                    column, column + x.split + width - 1, memory.describeAllocations())
                .str());
    return false;
  }
  return true;
}

/// The common shape moves whole columns of 32 lanes.
static void loadColumns(Warp &w, const TmemExtra &x, const TensorMemory &memory, uint32_t lane,
                        uint32_t column) {
  for (unsigned index = 0; index < x.regs.size(); ++index) {
    std::memcpy(w.out<uint32_t>(x.regs[index]), &memory.cells[column + index][lane],
                warpLanes * sizeof(uint32_t));
    LaneMask poison = 0;
    const uint8_t *valid = &memory.valid[column + index][lane];
    for (unsigned l = 0; l < warpLanes; ++l) {
      poison |= LaneMask(valid[l] == 0) << l;
    }
    w.setPoison(x.regs[index], allLanes, poison);
  }
}

/// Tells the race detector, if there is one, which cells an access touches.
static void judge(Warp &w, const Inst &i, const TmemExtra &x, uint32_t lane, uint32_t column,
                  bool write) {
  Races *races = w.cluster->races.get();
  if (!races) {
    return;
  }
  races->beginTensorAccess(w, write);
  unsigned cells = x.halves ? 2 : 1;
  if (x.shape == TmemShape::S32x32b) {
    for (unsigned c = 0; c < x.regs.size() * cells; ++c) {
      races->tensorAccess(w, i, column + c, allLanes, write);
    }
    return;
  }
  SmallDenseMap<uint32_t, uint32_t, 64> lanes; // by column
  for (unsigned index = 0; index < x.regs.size(); ++index) {
    for (unsigned l = 0; l < warpLanes; ++l) {
      TmemCell cell = tmemCell(x.shape, l, index, x.split);
      for (unsigned half = 0; half < cells; ++half) {
        lanes[column + cell.column * cells + half] |= 1u << (lane + cell.row) % kRaceCellLanes;
      }
    }
  }
  for (auto [at, mask] : lanes) {
    races->tensorAccess(w, i, at, mask, write);
  }
}

static Step execLoad(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const TmemExtra *>(i.extra);
  Step step;
  uint32_t lane, column;
  if (!wholeWarp(w, i, m, step)) {
    return step;
  }
  if (!place(w, i, x, lane, column)) {
    return Step::Stop;
  }
  judge(w, i, x, lane, column, /*write=*/false);
  if (w.cluster->races && !w.grid->options.strictTensor) {
    w.cluster->races->waitTensor(w, /*stores=*/false);
  }
  if (!w.loading.empty()) {
    for (Reg r : x.regs) {
      w.loading[uint32_t(r) / slotBytes] = &i;
      w.loadingSlots.push_back(uint32_t(r) / slotBytes);
    }
    w.resetSlow();
  }
  const TensorMemory &memory = *w.cta->tmem;
  if (x.shape == TmemShape::S32x32b && !x.halves) {
    loadColumns(w, x, memory, lane, column);
    return Step::Next;
  }
  unsigned cellsPerRegister = x.halves ? 2 : 1;
  for (unsigned index = 0; index < x.regs.size(); ++index) {
    uint32_t *to = w.out<uint32_t>(x.regs[index]);
    LaneMask poison = 0;
    for (unsigned l = 0; l < warpLanes; ++l) {
      TmemCell cell = tmemCell(x.shape, l, index, x.split);
      uint32_t value = 0;
      for (unsigned half = 0; half < cellsPerRegister; ++half) {
        uint32_t at = column + cell.column * cellsPerRegister + half;
        uint32_t bits = memory.cells[at][lane + cell.row];
        value |= x.halves ? (bits & 0xFFFF) << (16 * half) : bits;
        poison |= LaneMask(memory.valid[at][lane + cell.row] == 0) << l;
      }
      to[l] = value;
    }
    w.setPoison(x.regs[index], allLanes, poison);
  }
  return Step::Next;
}

static Step execStore(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const TmemExtra *>(i.extra);
  Step step;
  uint32_t lane, column;
  if (!wholeWarp(w, i, m, step)) {
    return step;
  }
  if (!place(w, i, x, lane, column)) {
    return Step::Stop;
  }
  judge(w, i, x, lane, column, /*write=*/true);
  TensorMemory &memory = *w.cta->tmem;
  unsigned cellsPerRegister = x.halves ? 2 : 1;
  for (unsigned index = 0; index < x.regs.size(); ++index) {
    const uint32_t *from = w.in<uint32_t>(x.regs[index]);
    LaneMask poison = w.poisonIn(x.regs[index]);
    for (unsigned l = 0; l < warpLanes; ++l) {
      TmemCell cell = tmemCell(x.shape, l, index, x.split);
      for (unsigned half = 0; half < cellsPerRegister; ++half) {
        uint32_t at = column + cell.column * cellsPerRegister + half;
        memory.cells[at][lane + cell.row] = x.halves ? from[l] >> (16 * half) & 0xFFFF : from[l];
        memory.valid[at][lane + cell.row] = !(poison >> l & 1);
      }
    }
  }
  return Step::Next;
}

static Step execWait(Warp &w, const Inst &i, LaneMask m) {
  Step step;
  if (!wholeWarp(w, i, m, step)) {
    return step;
  }
  if (Races *races = w.cluster->races.get()) {
    races->waitTensor(w, /*stores=*/i.aux);
  }
  if (!i.aux && !w.loading.empty()) {
    for (uint32_t slot : w.loadingSlots) {
      w.loading[slot] = nullptr;
    }
    w.loadingSlots.clear();
    w.resetSlow();
  }
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static void decodeAllocate(Decoder &d) {
  unsigned group = decodeCtaGroup(d);
  SymbolSpace symbol = d.setAddress(0);
  d.inst.aux = unsigned(spaceOf(d, symbol));
  d.inst.b = d.src(1, 32);
  d.inst.exec = group == 2 ? execAllocatePair : execAllocate;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

static void decodeDeallocate(Decoder &d) {
  d.inst.aux = decodeCtaGroup(d);
  d.inst.a = d.src(0, 32);
  d.inst.b = d.src(1, 32);
  d.inst.exec = execDeallocate;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

static void decodeRelinquish(Decoder &d) {
  decodeCtaGroup(d);
  d.inst.exec = execRelinquish;
  d.emit();
}

static void decodeAccess(Decoder &d, bool store) {
  auto *x = d.extra<TmemExtra>();
  x->shape = d.has("16x64b")     ? TmemShape::S16x64b
             : d.has("16x128b")  ? TmemShape::S16x128b
             : d.has("16x256b")  ? TmemShape::S16x256b
             : d.has("16x32bx2") ? TmemShape::S16x32bx2
                                 : TmemShape::S32x32b;
  x->halves = d.has("pack::16b") || d.has("unpack::16b");
  for (StringRef modifier : d.source->modifiers) {
    if (modifier.consume_front("x")) {
      modifier.getAsInteger(10, x->repeat);
    }
  }
  bool hasSplit = x->shape == TmemShape::S16x32bx2;
  if (d.operandCount() != (hasSplit ? 3u : 2u)) {
    d.error("expected " + Twine(hasSplit ? 3 : 2) + " operands for the shape, but got " +
            Twine(d.operandCount()));
    return;
  }
  // ld d, [t]{, split}; st [t]{, split}, s.
  unsigned address = store ? 0 : 1, list = store ? d.operandCount() - 1 : 0;
  if (hasSplit) {
    x->split = unsigned(d.immediate(store ? 1 : 2));
  }
  const ptx::Operand &registers = d.operand(list);
  ArrayRef<ptx::Operand> elements = registers.kind == ptx::Operand::Kind::Vector
                                        ? ArrayRef<ptx::Operand>(registers.elements)
                                        : ArrayRef<ptx::Operand>(registers);
  unsigned wanted = x->repeat * tmemRegistersPerRepeat(x->shape);
  if (x->repeat > tmemLargestRepeat(x->shape) || elements.size() != wanted) {
    d.error("expected " + Twine(wanted) + " registers as shape and repetition say, but got " +
            Twine(elements.size()));
    return;
  }
  for (const ptx::Operand &element : elements) {
    x->regs.push_back(store ? d.srcOf(element, 32) : d.dstOf(element, 32));
  }
  d.setAddress(address);
  d.inst.exec = store ? execStore : execLoad;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

static void decodeLoad(Decoder &d) { decodeAccess(d, false); }
static void decodeStore(Decoder &d) { decodeAccess(d, true); }

static void decodeWait(Decoder &d) {
  d.inst.aux = d.source->hasModifier("wait::st");
  d.inst.exec = execWait;
  d.emit();
}

#define FA4_TMEM_SHAPES "32x32b|16x64b|16x128b|16x256b|16x32bx2 x1|x2|x4|x8|x16|x32|x64|x128 "

void fa4::sim::addTmemOpcodes(OpcodeTable &t) {
  t.add({
      {"tcgen05.alloc.sync.aligned", "cta_group::1|cta_group::2 shared::cta|shared :b32", 2, 2,
       decodeAllocate, Arch::Sm100a},
      {"tcgen05.dealloc.sync.aligned", "cta_group::1|cta_group::2 :b32", 2, 2, decodeDeallocate,
       Arch::Sm100a},
      {"tcgen05.relinquish_alloc_permit.sync.aligned", "cta_group::1|cta_group::2", 0, 0,
       decodeRelinquish, Arch::Sm100a},
      {"tcgen05.ld.sync.aligned", FA4_TMEM_SHAPES "pack::16b :b32", 2, 3, decodeLoad, Arch::Sm100a},
      {"tcgen05.st.sync.aligned", FA4_TMEM_SHAPES "unpack::16b :b32", 2, 3, decodeStore,
       Arch::Sm100a},
      {"tcgen05.wait::ld.sync.aligned", "", 0, 0, decodeWait, Arch::Sm100a},
      {"tcgen05.wait::st.sync.aligned", "", 0, 0, decodeWait, Arch::Sm100a},
  });
}
