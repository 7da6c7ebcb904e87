//===- OpsTcgen05Copy.cpp - shared to tensor memory -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tcgen05.cp goes to the pipe of its CTA or pair like an mma and is performed in
// order with it: rows of 16 or 32 bytes, laid out as a K-major operand, become
// columns of tensor memory. Of a pair each CTA is believed to copy from its own
// shared memory.
//
//===----------------------------------------------------------------------===//

#include "Races.h"
#include "Tcgen05.h"
#include "TensorOperands.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

namespace {

constexpr unsigned kWarpLanes = 32; ///< lanes of tensor memory that one warp reaches

/// Which warps of the lanes get a group of 32 rows (PTX ISA 9.7.16.9, tcgen05.cp).
enum class Spread : uint8_t { Each, Warpx2x02x13, Warpx2x01x23, Warpx4 };

struct CopyExtra : Extra {
  unsigned ctas = 1, rows = 0, columns = 0;
  Spread spread = Spread::Each;
  Reg descriptor = 0;
};

class TmemCopyOp : public TensorPipeOp {
public:
  TmemCopyOp(Cta &cta, const CopyExtra &x) : TensorPipeOp(cta, x.ctas), x(x) {}

  bool perform(Cluster &cluster) override;
  const char *describe() const override { return "tcgen05.cp"; }
  bool readsShared() const override { return true; }
  bool usesTensorMemory() const override { return true; }

  uint32_t target = 0;
  uint64_t descriptor = 0;

private:
  bool copy(Cta &member, const MatrixDescriptor &source);

  const CopyExtra &x;
};

} // namespace

/// The warps whose lanes get rows [32 * group, 32 * group + 32).
static SmallVector<unsigned, 4> warpsOf(Spread spread, unsigned group) {
  switch (spread) {
  case Spread::Each:
    return {group};
  case Spread::Warpx2x02x13:
    return {group, group + 2};
  case Spread::Warpx2x01x23:
    return {2 * group, 2 * group + 1};
  case Spread::Warpx4:
    break;
  }
  return {0, 1, 2, 3};
}

bool TmemCopyOp::copy(Cta &member, const MatrixDescriptor &source) {
  unsigned first = tmemColumn(target);
  if (!member.tmem || !member.tmem->covering(first, x.columns)) {
    return fault(FaultId::TmRange,
                 formatv("expected columns {0} to {1} to lie in one live allocation, but got {2}",
                         first, first + x.columns - 1,
                         member.tmem ? member.tmem->describeAllocations() : "none")
                     .str());
  }
  if (Races *detector = member.cluster.races.get()) {
    for (unsigned column = first; column < first + x.columns; ++column) {
      for (unsigned quarter = 0; quarter < kRaceQuarters; ++quarter) {
        detector->tensorAccess(*this, member, column, quarter, allLanes, /*write=*/true);
      }
    }
  }
  constexpr unsigned cellsPerPiece = kPieceBytes / 4;
  auto report = [&](FaultId id, const Twine &message) { return fault(id, message); };
  for (unsigned row = 0; row < x.rows; ++row) {
    for (unsigned column = 0; column < x.columns; column += cellsPerPiece) {
      uint32_t address = source.elementAddress(/*mnMajor=*/false, /*bytes=*/4, row, column);
      const uint8_t *piece =
          sharedPiece(*this, member, address, "of the copy", row, column, report);
      if (!piece) {
        return false;
      }
      for (unsigned warp : warpsOf(x.spread, row / kWarpLanes)) {
        unsigned lane = warp * kWarpLanes + row % kWarpLanes;
        for (unsigned cell = 0; cell < cellsPerPiece; ++cell) {
          unsigned to = first + column + cell;
          std::memcpy(&member.tmem->cells[to][lane], piece + 4 * cell, 4);
          member.tmem->valid[to][lane] = 1;
        }
      }
    }
  }
  return true;
}

bool TmemCopyOp::perform(Cluster &cluster) {
  Expected<MatrixDescriptor> source = decodeTcgen05Descriptor(descriptor);
  if (!source) {
    return fault(FaultId::MmaDesc, toString(source.takeError()));
  }
  if (tmemLane(target) != 0) {
    return fault(FaultId::TmLane,
                 "expected the copy to start at lane 0, but got lane " + Twine(tmemLane(target)));
  }
  for (unsigned number = 0; number < ctas; ++number) {
    Cta &member = *cluster.ctas[firstRank() + number];
    if (member.exited) {
      return fault(FaultId::ClusterExit, "expected the CTAs of the instruction to be running, but "
                                         "one has exited");
    }
    if (!copy(member, *source)) {
      return false;
    }
  }
  return true;
}

static Step execCopy(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const CopyExtra *>(i.extra);
  if (popcount(m) != 1) {
    return w.fault(FaultId::MmaLanes, i, m,
                   "expected one thread to issue the copy, but got " + Twine(popcount(m)));
  }
  unsigned lane = countr_zero(m);
  uint64_t target[warpLanes];
  if (!w.addresses(i, m, target) || !w.checkUsed(i, x.descriptor, true, m, "the descriptor")) {
    return Step::Stop;
  }
  auto op = std::make_unique<TmemCopyOp>(*w.cta, x);
  op->inst = &i;
  op->issuer = &w;
  op->lane = m;
  op->target = uint32_t(target[lane]);
  op->descriptor = w.in<uint64_t>(x.descriptor)[lane];
  if (Races *races = w.cluster->races.get()) {
    races->issue(*op, RaceKind::Mma);
    races->tag(*op, kCopyTag);
  }
  w.cluster->engine.push(std::move(op));
  ++w.cluster->changes;
  return Step::Next;
}

static void decodeCopy(Decoder &d) {
  struct Shape {
    StringRef name;
    unsigned rows, bits;
    StringRef multicast;
    Spread spread;
  };
  static constexpr Shape kShapes[] = {
      {"128x256b", 128, 256, "", Spread::Each},
      {"128x128b", 128, 128, "", Spread::Each},
      {"64x128b", 64, 128, "warpx2::02_13", Spread::Warpx2x02x13},
      {"64x128b", 64, 128, "warpx2::01_23", Spread::Warpx2x01x23},
      {"32x128b", 32, 128, "warpx4", Spread::Warpx4},
  };
  unsigned multicasts = d.has("warpx2::02_13") + d.has("warpx2::01_23") + d.has("warpx4");
  for (const Shape &shape : kShapes) {
    if (!d.has(shape.name) || multicasts != (shape.multicast.empty() ? 0u : 1u) ||
        (!shape.multicast.empty() && !d.has(shape.multicast))) {
      continue;
    }
    auto *x = d.extra<CopyExtra>();
    x->ctas = decodeCtaGroup(d);
    x->rows = shape.rows;
    x->columns = shape.bits / 32;
    x->spread = shape.spread;
    d.setAddress(0);
    x->descriptor = d.src(1, 64);
    d.inst.exec = execCopy;
    d.inst.flags |= SwitchPoint;
    d.emit();
    return;
  }
  d.error("expected 128x256b or 128x128b alone, 64x128b with one warpx2, or 32x128b with warpx4, "
          "but got another form");
}

void fa4::sim::addTcgen05CopyOpcodes(OpcodeTable &t) {
  t.add({
      {"tcgen05.cp",
       "cta_group::1|cta_group::2 128x256b|128x128b|64x128b|32x128b "
       "warpx2::02_13|warpx2::01_23|warpx4",
       2, 2, decodeCopy, Arch::Sm100a},
  });
}
