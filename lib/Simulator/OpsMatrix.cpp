//===- OpsMatrix.cpp - matrices of one warp ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ldmatrix, stmatrix, movmatrix and mma.sync: all lanes of a warp act together
// and synchronously. Loads and stores carry poison along byte for byte; mma.sync
// uses its operands and reports poison.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "MemoryOps.h"
#include "TensorOperands.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

namespace {

constexpr unsigned kMatrixRows = 8;
constexpr unsigned kRowBytes = 16;

struct MatrixExtra : Extra {
  SmallVector<Reg, 4> regs;
  Space space = Space::Generic;
  bool transposed = false;
};

/// One 8x8 matrix of 16-bit numbers with a poison flag per number.
struct Matrix {
  uint16_t value[kMatrixRows][kMatrixRows];
  bool poisoned[kMatrixRows][kMatrixRows];
};

} // namespace

//===----------------------------------------------------------------------===//
// Moving matrices
//===----------------------------------------------------------------------===//

static void toRegister(Warp &w, const Matrix &matrix, bool transposed, Reg reg) {
  uint32_t *to = w.out<uint32_t>(reg);
  LaneMask poison = 0;
  for (unsigned lane = 0; lane < warpLanes; ++lane) {
    to[lane] = 0;
    for (unsigned part = 0; part < 2; ++part) {
      FragmentElement at = matrixElement(transposed, lane, part);
      to[lane] |= uint32_t(matrix.value[at.row][at.column]) << (16 * part);
      poison |= LaneMask(matrix.poisoned[at.row][at.column]) << lane;
    }
  }
  w.setPoison(reg, allLanes, poison);
}

static Matrix fromRegister(const Warp &w, bool transposed, Reg reg) {
  Matrix matrix;
  const uint32_t *from = w.in<uint32_t>(reg);
  LaneMask poison = w.poisonIn(reg);
  for (unsigned lane = 0; lane < warpLanes; ++lane) {
    for (unsigned part = 0; part < 2; ++part) {
      FragmentElement at = matrixElement(transposed, lane, part);
      matrix.value[at.row][at.column] = uint16_t(from[lane] >> (16 * part));
      matrix.poisoned[at.row][at.column] = poison >> lane & 1;
    }
  }
  return matrix;
}

/// The 16 bytes of row `row` of matrix `number`, whose address lane
/// 8 * number + row gives; null after a fault.
static uint8_t *matrixRow(Warp &w, const Inst &i, const uint64_t (&addresses)[warpLanes],
                          unsigned number, unsigned row, Access kind, uint8_t *&shadow) {
  const auto &x = *static_cast<const MatrixExtra *>(i.extra);
  unsigned lane = kMatrixRows * number + row;
  uint8_t *data = w.access(i, x.space, addresses[lane], kRowBytes, kind, lane, shadow);
  if (data && is_contained(ArrayRef<uint8_t>(shadow, kRowBytes), shadowBarrier)) {
    w.fault(
        FaultId::MbOverwrite, i, LaneMask(1) << lane,
        formatv("expected bytes that hold no live mbarrier, but got {0:x}", addresses[lane]).str());
    return nullptr;
  }
  return data;
}

/// Gathers the warp and the rows' addresses; false with `step` set otherwise.
static bool gatherRows(Warp &w, const Inst &i, LaneMask m, uint64_t (&addresses)[warpLanes],
                       Step &step) {
  if (!w.gatherAll(i, m, step)) {
    return false;
  }
  // Lanes beyond 8 per matrix give addresses that nobody reads.
  size_t matrices = static_cast<const MatrixExtra *>(i.extra)->regs.size();
  LaneMask used = matrices == 4 ? allLanes : (LaneMask(1) << 8 * matrices) - 1;
  step = Step::Stop;
  return w.addresses(i, used, addresses);
}

static Step execLoadMatrix(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const MatrixExtra *>(i.extra);
  Step step;
  uint64_t addresses[warpLanes];
  if (!gatherRows(w, i, m, addresses, step)) {
    return step;
  }
  for (unsigned number = 0; number < x.regs.size(); ++number) {
    Matrix matrix;
    for (unsigned row = 0; row < kMatrixRows; ++row) {
      uint8_t *shadow;
      const uint8_t *data = matrixRow(w, i, addresses, number, row, Access::Read, shadow);
      if (!data) {
        return Step::Stop;
      }
      std::memcpy(matrix.value[row], data, kRowBytes);
      for (unsigned column = 0; column < kMatrixRows; ++column) {
        matrix.poisoned[row][column] =
            shadow[2 * column] != shadowValid || shadow[2 * column + 1] != shadowValid;
      }
    }
    toRegister(w, matrix, x.transposed, x.regs[number]);
  }
  return Step::Next;
}

static Step execStoreMatrix(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const MatrixExtra *>(i.extra);
  Step step;
  uint64_t addresses[warpLanes];
  if (!gatherRows(w, i, m, addresses, step)) {
    return step;
  }
  for (unsigned number = 0; number < x.regs.size(); ++number) {
    Matrix matrix = fromRegister(w, x.transposed, x.regs[number]);
    for (unsigned row = 0; row < kMatrixRows; ++row) {
      uint8_t *shadow;
      uint8_t *data = matrixRow(w, i, addresses, number, row, Access::Write, shadow);
      if (!data) {
        return Step::Stop;
      }
      std::memcpy(data, matrix.value[row], kRowBytes);
      for (unsigned column = 0; column < kMatrixRows; ++column) {
        uint8_t state = matrix.poisoned[row][column] ? shadowPoison : shadowValid;
        shadow[2 * column] = shadow[2 * column + 1] = state;
      }
    }
  }
  ++w.cluster->changes;
  return Step::Next;
}

static Step execMoveMatrix(Warp &w, const Inst &i, LaneMask m) {
  Step step;
  if (!w.gatherAll(i, m, step)) {
    return step;
  }
  toRegister(w, fromRegister(w, false, i.a), true, i.d);
  return Step::Next;
}

static void decodeMatrixAccess(Decoder &d, bool store) {
  auto *x = d.extra<MatrixExtra>();
  unsigned wanted = d.has("x4") ? 4 : (d.has("x2") ? 2 : 1);
  const ptx::Operand &list = d.operand(store ? 1 : 0);
  ArrayRef<ptx::Operand> elements = list.kind == ptx::Operand::Kind::Vector
                                        ? ArrayRef<ptx::Operand>(list.elements)
                                        : ArrayRef<ptx::Operand>(list);
  if (elements.size() != wanted) {
    d.error("expected " + Twine(wanted) + " registers as the repetition says, but got " +
            Twine(elements.size()));
    return;
  }
  for (const ptx::Operand &element : elements) {
    x->regs.push_back(store ? d.srcOf(element, 32) : d.dstOf(element, 32));
  }
  x->transposed = d.has("trans");
  x->space = spaceOf(d, d.setAddress(store ? 0 : 1));
  d.inst.exec = store ? execStoreMatrix : execLoadMatrix;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

static void decodeLoadMatrix(Decoder &d) { decodeMatrixAccess(d, false); }
static void decodeStoreMatrix(Decoder &d) { decodeMatrixAccess(d, true); }

static void decodeMoveMatrix(Decoder &d) { decode1(d, execMoveMatrix, 32, 32); }

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

namespace {

constexpr unsigned kMmaRows = 16, kMmaColumns = 8;

struct MmaExtra : Extra {
  SmallVector<Reg, 4> d, a, b, c;
  ElementType aType, bType, dType;
  unsigned k = 0;
  bool hopper = false;
};

} // namespace

/// The elements of a register list, low part first.
template <typename Place, typename Visit>
static void eachElement(const Warp &w, ArrayRef<Reg> regs, unsigned bits, Place place,
                        Visit visit) {
  uint64_t mask = (uint64_t(1) << bits) - 1;
  for (unsigned index = 0; index < regs.size(); ++index) {
    const uint32_t *values = w.in<uint32_t>(regs[index]);
    for (unsigned lane = 0; lane < warpLanes; ++lane) {
      for (unsigned part = 0; part < 32 / bits; ++part) {
        visit(place(lane, index, part), uint32_t(values[lane] >> (part * bits) & mask));
      }
    }
  }
}

/// Hopper's tensor cores have no 8-bit form of mma.sync: the code there adds
/// the products of elements 0 and 1 of every register, then those of 2 and 3,
/// and C with an ordinary f32 addition at the end (read from its machine code,
/// and equal on an H200 bit for bit).
static void multiplyBytesOnHopper(const MmaExtra &x, TensorMode mode,
                                  const uint32_t (&a)[kMmaRows][32],
                                  const uint32_t (&b)[kMmaColumns][32], ArrayRef<uint32_t> c,
                                  MutableArrayRef<uint32_t> d) {
  SumRule rule = hopperSumRule(ElementType::F16, ElementType::F32);
  std::fill(d.begin(), d.end(), 0);
  for (unsigned half = 0; half < 2; ++half) {
    TensorPanel left(TensorPanel::Role::A, x.aType, kMmaRows, x.k / 2);
    TensorPanel right(TensorPanel::Role::B, x.bType, kMmaColumns, x.k / 2);
    for (unsigned k = 0; k < x.k / 2; ++k) {
      unsigned from = k / 2 * 4 + k % 2 + 2 * half;
      for (unsigned row = 0; row < kMmaRows; ++row) {
        left.set(row, k, a[row][from]);
      }
      for (unsigned column = 0; column < kMmaColumns; ++column) {
        right.set(column, k, b[column][from]);
      }
    }
    multiplyAccumulate(rule, mode, left, right, d, d);
  }
  for (size_t at = 0; at < d.size(); ++at) {
    float sum = bit_cast<float>(c[at]) + bit_cast<float>(d[at]);
    d[at] = roundToElement(ElementType::F32, sum);
  }
}

static Step execMma(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const MmaExtra *>(i.extra);
  Step step;
  if (!w.gatherAll(i, m, step)) {
    return step;
  }
  for (ArrayRef<Reg> list : {ArrayRef<Reg>(x.a), ArrayRef<Reg>(x.b), ArrayRef<Reg>(x.c)}) {
    for (Reg r : list) {
      if (!w.checkUsed(i, r, false, allLanes, "the matrix operand")) {
        return Step::Stop;
      }
    }
  }
  unsigned bits = containerBits(x.aType), resultBits = containerBits(x.dType);
  uint32_t a[kMmaRows][32] = {}, b[kMmaColumns][32] = {};
  uint32_t c[kMmaRows * kMmaColumns], result[kMmaRows * kMmaColumns];
  eachElement(
      w, x.a, bits,
      [=](unsigned lane, unsigned index, unsigned part) {
        return leftElement(32 / bits, 0, lane, index, part);
      },
      [&](FragmentElement at, uint32_t value) { a[at.row][at.column] = value; });
  eachElement(
      w, x.b, bits,
      [=](unsigned lane, unsigned index, unsigned part) {
        return rightElement(32 / bits, lane, index, part);
      },
      [&](FragmentElement at, uint32_t value) { b[at.row][at.column] = value; });
  auto resultPlace = [&](unsigned lane, unsigned index, unsigned part) {
    return accumulatorElement(x.dType, 0, lane, index, part);
  };
  eachElement(w, x.c, resultBits, resultPlace, [&](FragmentElement at, uint32_t value) {
    c[at.row * kMmaColumns + at.column] = value;
  });

  TensorMode mode = w.grid->options.mma;
  if (bits == 8 && x.hopper) {
    multiplyBytesOnHopper(x, mode, a, b, c, result);
  } else {
    TensorPanel left(TensorPanel::Role::A, x.aType, kMmaRows, x.k);
    TensorPanel right(TensorPanel::Role::B, x.bType, kMmaColumns, x.k);
    for (unsigned k = 0; k < x.k; ++k) {
      for (unsigned row = 0; row < kMmaRows; ++row) {
        left.set(row, k, a[row][k]);
      }
      for (unsigned column = 0; column < kMmaColumns; ++column) {
        right.set(column, k, b[column][k]);
      }
    }
    // 25 fraction bits for every type: measured for f16, bf16 and tf32.
    multiplyAccumulate(blackwellSumRule(x.dType), mode, left, right, c, result);
  }

  for (unsigned index = 0; index < x.d.size(); ++index) {
    uint32_t *to = w.out<uint32_t>(x.d[index]);
    for (unsigned lane = 0; lane < warpLanes; ++lane) {
      to[lane] = 0;
      for (unsigned part = 0; part < 32 / resultBits; ++part) {
        FragmentElement at = resultPlace(lane, index, part);
        to[lane] |= result[at.row * kMmaColumns + at.column] << (part * resultBits);
      }
    }
    w.setPoison(x.d[index], allLanes, 0);
  }
  w.grid->flops += uint64_t(2) * kMmaRows * kMmaColumns * x.k;
  return Step::Next;
}

static void decodeMma(Decoder &d) {
  auto *x = d.extra<MmaExtra>();
  x->dType = elementOf(d.type(0));
  x->aType = elementOf(d.type(1));
  x->bType = elementOf(d.type(2));
  x->k = d.has("m16n8k4") ? 4 : (d.has("m16n8k8") ? 8 : (d.has("m16n8k16") ? 16 : 32));
  for (StringRef target : d.kernel->module->targets) {
    x->hopper |= target.starts_with("sm_90");
  }
  // PTX ISA 9.7.14: the K that each operand type has.
  unsigned bits = containerBits(x->aType);
  bool shapeFits = bits == 8 ? x->k == 32 : (bits == 32 ? x->k <= 8 : x->k == 8 || x->k == 16);
  bool typesAgree = bits == 8 ? containerBits(x->bType) == 8 : x->aType == x->bType;
  bool resultFits = x->dType == ElementType::F32 || x->aType == ElementType::F16;
  if (!shapeFits || !typesAgree || !resultFits || elementOf(d.type(3)) != x->dType) {
    d.error("expected a shape and types of mma.sync that go together, but got others");
    return;
  }
  unsigned perRegister = 32 / bits, results = x->dType == ElementType::F16 ? 2 : 4;
  unsigned counts[] = {results, kMmaRows * x->k / warpLanes / perRegister,
                       kMmaColumns * x->k / warpLanes / perRegister, results};
  SmallVector<Reg, 4> *lists[] = {&x->d, &x->a, &x->b, &x->c};
  for (unsigned operand = 0; operand < 4; ++operand) {
    const ptx::Operand &list = d.operand(operand);
    ArrayRef<ptx::Operand> elements = list.kind == ptx::Operand::Kind::Vector
                                          ? ArrayRef<ptx::Operand>(list.elements)
                                          : ArrayRef<ptx::Operand>(list);
    if (elements.size() != counts[operand]) {
      d.error("expected " + Twine(counts[operand]) + " registers in operand " + Twine(operand) +
              " of mma.sync, but got " + Twine(elements.size()));
      return;
    }
    for (const ptx::Operand &element : elements) {
      lists[operand]->push_back(operand == 0 ? d.dstOf(element, 32) : d.srcOf(element, 32));
    }
  }
  d.inst.exec = execMma;
  d.emit();
}

void fa4::sim::addMatrixOpcodes(OpcodeTable &t) {
  t.add({
      {"ldmatrix.sync.aligned.m8n8", "x1|x2|x4 trans shared|shared::cta :b16", 2, 2,
       decodeLoadMatrix},
      {"stmatrix.sync.aligned.m8n8", "x1|x2|x4 trans shared|shared::cta :b16", 2, 2,
       decodeStoreMatrix},
      {"movmatrix.sync.aligned.m8n8.trans", ":b16", 2, 2, decodeMoveMatrix},
      {"mma.sync.aligned.row.col",
       "m16n8k4|m16n8k8|m16n8k16|m16n8k32 :f32|f16 :f16|bf16|tf32|e4m3|e5m2 "
       ":f16|bf16|tf32|e4m3|e5m2 :f32|f16",
       4, 4, decodeMma},
  });
}
