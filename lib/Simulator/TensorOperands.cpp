//===- TensorOperands.cpp - reading matrix operands -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorOperands.h"
#include "Races.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

const uint8_t *fa4::sim::sharedPiece(AsyncOp &op, Cta &cta, uint32_t address, const char *name,
                                     unsigned row, unsigned k, ReportFault report) {
  auto where = [&] {
    return formatv("operand {0} row {1} k {2} at {3:x}", name, row, k, address).str();
  };
  uint64_t offset = uint64_t(address) - sharedDataStart;
  if (address < sharedDataStart || offset + kPieceBytes > cta.shared.size()) {
    report(FaultId::OobSmem,
           "expected the operand to lie in the shared memory of the CTA, but got " +
               Twine(where()));
    return nullptr;
  }
  if (Races *races = cta.cluster.races.get()) {
    races->readOperand(op, cta, offset, kPieceBytes);
  }
  const uint8_t *shadow = cta.shared.shadow() + offset;
  constexpr uint64_t allValid = uint64_t(0x0101010101010101) * shadowValid;
  uint64_t halves[2];
  static_assert(sizeof(halves) == kPieceBytes);
  std::memcpy(halves, shadow, sizeof(halves));
  if (LLVM_LIKELY(halves[0] == allValid && halves[1] == allValid)) {
    return cta.shared.data() + offset;
  }
  for (unsigned byte = 0; byte < kPieceBytes; ++byte) {
    if (shadow[byte] != shadowValid) {
      bool barrier = shadow[byte] == shadowBarrier;
      report(barrier ? FaultId::MbOverwrite : FaultId::UninitSmem,
             Twine("expected the operand to hold ") +
                 (barrier ? "no live mbarrier" : "written bytes") + ", but got " + where());
      return nullptr;
    }
  }
  return cta.shared.data() + offset;
}

ElementType fa4::sim::elementOf(Type type) {
  switch (type) {
  case Type::F16:
    return ElementType::F16;
  case Type::BF16:
    return ElementType::BF16;
  case Type::TF32:
    return ElementType::TF32;
  case Type::E4M3:
    return ElementType::E4M3;
  case Type::E5M2:
    return ElementType::E5M2;
  default:
    return ElementType::F32;
  }
}

bool fa4::sim::fillPanel(AsyncOp &op, TensorPanel &panel, unsigned firstRow, unsigned rows,
                         const MatrixDescriptor &descriptor, bool mnMajor, Cta &cta,
                         const char *name, ReportFault report) {
  const unsigned bytes = containerBits(panel.elementType()) / 8;
  const unsigned perPiece = kPieceBytes / bytes;
  const unsigned lines = mnMajor ? panel.depth() : rows;
  const unsigned along = mnMajor ? rows : panel.depth();
  for (unsigned line = 0; line < lines; ++line) {
    for (unsigned first = 0; first < along; first += perPiece) {
      unsigned row = mnMajor ? first : line, k = mnMajor ? line : first;
      uint32_t address = descriptor.elementAddress(mnMajor, bytes, row, k);
      const uint8_t *piece = sharedPiece(op, cta, address, name, row, k, report);
      if (!piece) {
        return false;
      }
      unsigned end = std::min(perPiece, along - first);
      for (unsigned i = 0; i < end; ++i) {
        uint32_t bits = 0;
        std::memcpy(&bits, piece + i * bytes, bytes);
        panel.set(firstRow + (mnMajor ? row + i : row), mnMajor ? k : k + i, bits);
      }
    }
  }
  return true;
}

bool fa4::sim::uniformDescriptor(Warp &warp, const Inst &inst, Reg reg, LaneMask lanes, FaultId id,
                                 uint64_t &value) {
  if (!warp.checkUsed(inst, reg, true, lanes, "the descriptor")) {
    return false;
  }
  const uint64_t *values = warp.in<uint64_t>(reg);
  value = values[countr_zero(lanes)];
  for (LaneMask left = lanes; left != 0; left &= left - 1) {
    if (values[countr_zero(left)] != value) {
      warp.fault(id, inst, lanes,
                 "expected the descriptor to agree among the lanes, but got different values");
      return false;
    }
  }
  return true;
}
