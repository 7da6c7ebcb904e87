//===- Layouts.cpp - where matrix elements sit ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Layouts.h"
#include "llvm/Support/ErrorHandling.h"

using namespace fa4::sim;
using llvm::createStringError;

//===----------------------------------------------------------------------===//
// Swizzles
//===----------------------------------------------------------------------===//

uint32_t fa4::sim::swizzleAddress(Swizzle swizzle, uint32_t address) {
  uint32_t line = address >> 7; // lines of 128 bytes choose the permutation
  switch (swizzle) {
  case Swizzle::None:
    return address;
  case Swizzle::B32:
    return address ^ (line & 1) << 4;
  case Swizzle::B64:
    return address ^ (line & 3) << 4;
  case Swizzle::B128:
    return address ^ (line & 7) << 4;
  case Swizzle::B128Atom32:
    return address ^ (line & 3) << 5;
  case Swizzle::B128Atom32Flip8:
    return address ^ (line & 3) << 5 ^ (line & 1) << 3;
  case Swizzle::B128Atom64:
    return address ^ (line & 1) << 6;
  }
  llvm_unreachable("every swizzle is listed");
}

unsigned fa4::sim::swizzleSpan(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::None:
    return 16;
  case Swizzle::B32:
    return 32;
  case Swizzle::B64:
    return 64;
  case Swizzle::B128:
  case Swizzle::B128Atom32:
  case Swizzle::B128Atom32Flip8:
  case Swizzle::B128Atom64:
    return 128;
  }
  llvm_unreachable("every swizzle is listed");
}

unsigned fa4::sim::swizzlePeriod(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::None:
    return 16;
  case Swizzle::B32:
  case Swizzle::B128Atom64:
    return 256;
  case Swizzle::B64:
  case Swizzle::B128Atom32:
  case Swizzle::B128Atom32Flip8:
    return 512;
  case Swizzle::B128:
    return 1024;
  }
  llvm_unreachable("every swizzle is listed");
}

//===----------------------------------------------------------------------===//
// Matrices in shared memory
//===----------------------------------------------------------------------===//

uint32_t MatrixDescriptor::elementAddress(bool mnMajor, unsigned bytes, unsigned row,
                                          unsigned k) const {
  const unsigned width = swizzleSpan(swizzle);
  // Without a swizzle a core matrix is 8 lines of 16 bytes; with one, 8 lines
  // of the swizzle's width, and the other stride is between groups of lines.
  unsigned line = mnMajor ? k : row;
  unsigned along = (mnMajor ? row : k) * bytes;
  uint32_t lineStep = stride, alongStep = leading;
  if (mnMajor && swizzle == Swizzle::None) {
    lineStep = leading;
    alongStep = stride;
  }
  uint32_t linear = start + (line % 8) * width + (line / 8) * lineStep;
  bool oneLine = !mnMajor && swizzle != Swizzle::None;
  linear += oneLine ? along : along % width + (along / width) * alongStep;
  // Measured on an H200 for wgmma: the pattern is that of the lines counted
  // from the base offset on.
  uint32_t moved = linear - 128 * baseOffset;
  return linear ^ moved ^ swizzleAddress(swizzle, moved);
}

namespace {

uint64_t field(uint64_t bits, unsigned low, unsigned count) {
  return bits >> low & ((uint64_t(1) << count) - 1);
}

/// Addresses and strides travel as 14-bit counts of 16 bytes.
uint32_t bytesField(uint64_t bits, unsigned low) { return uint32_t(field(bits, low, 14)) << 4; }

llvm::Error wrong(const char *what, const char *rule, uint64_t value) {
  return createStringError("expected %s to be %s, but got %llu", what, rule,
                           static_cast<unsigned long long>(value));
}

} // namespace

llvm::Expected<MatrixDescriptor> fa4::sim::decodeWgmmaDescriptor(uint64_t bits) {
  constexpr Swizzle kCodes[] = {Swizzle::None, Swizzle::B128, Swizzle::B64, Swizzle::B32};
  uint64_t reserved =
      field(bits, 14, 2) | field(bits, 30, 2) | field(bits, 46, 3) | field(bits, 52, 10);
  if (reserved) {
    return wrong("the reserved bits of a wgmma descriptor", "0", reserved);
  }
  return MatrixDescriptor{bytesField(bits, 0), bytesField(bits, 16), bytesField(bits, 32),
                          kCodes[field(bits, 62, 2)], uint32_t(field(bits, 49, 3))};
}

llvm::Expected<MatrixDescriptor> fa4::sim::decodeTcgen05Descriptor(uint64_t bits) {
  uint64_t reserved = field(bits, 14, 2) | field(bits, 30, 2) | field(bits, 53, 8);
  if (reserved) {
    return wrong("the reserved bits of a tcgen05 descriptor", "0", reserved);
  }
  if (uint64_t version = field(bits, 46, 3); version != 1) {
    return wrong("bits 46 to 48 of a tcgen05 descriptor", "1", version);
  }
  if (field(bits, 52, 1)) {
    return wrong("the leading-dimension mode of a tcgen05 descriptor",
                 "0 (absolute addresses exist on sm_103a only)", 1);
  }
  Swizzle swizzle = Swizzle::None;
  switch (uint64_t code = field(bits, 61, 3)) {
  case 0:
    break;
  case 1:
    swizzle = Swizzle::B128Atom32;
    break;
  case 2:
    swizzle = Swizzle::B128;
    break;
  case 4:
    swizzle = Swizzle::B64;
    break;
  case 6:
    swizzle = Swizzle::B32;
    break;
  default:
    return wrong("the swizzle code of a tcgen05 descriptor", "0, 1, 2, 4 or 6", code);
  }
  return MatrixDescriptor{bytesField(bits, 0), bytesField(bits, 16), bytesField(bits, 32), swizzle,
                          uint32_t(field(bits, 49, 3))};
}

//===----------------------------------------------------------------------===//
// Instruction descriptor of tcgen05.mma
//===----------------------------------------------------------------------===//

static llvm::Expected<ElementType> operandType(MmaKind kind, uint32_t code) {
  switch (kind) {
  case MmaKind::F16:
    if (code <= 1) {
      return code ? ElementType::BF16 : ElementType::F16;
    }
    return wrong("the operand type of kind::f16", "0 (f16) or 1 (bf16)", code);
  case MmaKind::TF32:
    if (code == 2) {
      return ElementType::TF32;
    }
    return wrong("the operand type of kind::tf32", "2 (tf32)", code);
  case MmaKind::F8F6F4:
    if (code <= 1) {
      return code ? ElementType::E5M2 : ElementType::E4M3;
    }
    return wrong("the operand type of kind::f8f6f4",
                 "0 (e4m3) or 1 (e5m2), since 4- and 6-bit types are not modelled", code);
  }
  llvm_unreachable("every kind is listed");
}

llvm::Expected<InstructionDescriptor>
fa4::sim::decodeInstructionDescriptor(MmaKind kind, unsigned ctas, uint32_t bits) {
  // Sparsity, integer saturation, the reserved bits and the .ws shift.
  uint64_t unused = field(bits, 0, 4) | field(bits, 6, 1) | field(bits, 23, 1) | field(bits, 29, 3);
  if (unused) {
    return wrong("the sparse, reserved and shift bits of an instruction descriptor", "0", unused);
  }
  uint64_t resultCode = field(bits, 4, 2);
  if (resultCode > 1 || (kind == MmaKind::TF32 && resultCode == 0)) {
    return wrong("the result type of an instruction descriptor",
                 kind == MmaKind::TF32 ? "1 (f32)" : "0 (f16) or 1 (f32)", resultCode);
  }
  InstructionDescriptor result;
  llvm::Expected<ElementType> a = operandType(kind, uint32_t(field(bits, 7, 3)));
  if (!a) {
    return a.takeError();
  }
  llvm::Expected<ElementType> b = operandType(kind, uint32_t(field(bits, 10, 3)));
  if (!b) {
    return b.takeError();
  }
  result.a = *a;
  result.b = *b;
  result.d = resultCode ? ElementType::F32 : ElementType::F16;
  if (kind == MmaKind::F16 && result.a != result.b) {
    return createStringError("expected the operand types of kind::f16 to be equal, but got f16 "
                             "and bf16");
  }
  if (result.a == ElementType::BF16 && result.d == ElementType::F16) {
    return createStringError("expected the result type of bf16 operands to be f32, but got f16");
  }
  result.negateA = field(bits, 13, 1);
  result.negateB = field(bits, 14, 1);
  result.aMnMajor = field(bits, 15, 1);
  result.bMnMajor = field(bits, 16, 1);
  result.n = unsigned(field(bits, 17, 6)) << 3;
  result.m = unsigned(field(bits, 24, 5)) << 4;
  result.k = 256 / containerBits(result.a); // one instruction reads 32 bytes of K

  // PTX ISA, "Matrix and Data Movement Shape", dense kinds.
  if (result.m != 64 * ctas && result.m != 128 * ctas) {
    return wrong("M of an instruction descriptor",
                 ctas == 1 ? "64 or 128 for one CTA" : "128 or 256 for a pair", result.m);
  }
  unsigned step = ctas == 1 ? 8 : 16;
  if (containerBits(result.a) == 8 && result.bMnMajor) {
    step *= 2;
  }
  if (result.n == 0 || result.n > 256 || result.n % step) {
    return createStringError("expected N of an instruction descriptor to be a multiple of %u from "
                             "%u to 256, but got %u",
                             step, step, result.n);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

AccumulatorPlace fa4::sim::accumulatorPlace(unsigned ctas, unsigned m, unsigned n, unsigned row,
                                            unsigned column) {
  if (ctas == 1) {
    // 64 rows sit in the lower half of each warp's 32 lanes.
    return {0, m == 64 ? row % 16 + 32 * (row / 16) : row, column};
  }
  if (m == 256) {
    return {row / 128, row % 128, column};
  }
  // 64 rows a CTA: the right half of the columns goes to the upper lanes.
  unsigned half = n / 2;
  return {row / 64, row % 64 + 64 * (column / half), column % half};
}

TmemCell fa4::sim::tmemCell(TmemShape shape, unsigned lane, unsigned index, unsigned split) {
  switch (shape) {
  case TmemShape::S32x32b:
    return {lane, index};
  case TmemShape::S16x64b:
    return {lane / 4 + 8 * (lane % 2), (lane / 2) % 2 + 2 * index};
  case TmemShape::S16x128b:
    return {lane / 4 + 8 * (index % 2), lane % 4 + 4 * (index / 2)};
  case TmemShape::S16x256b:
    return {lane / 4 + 8 * ((index / 2) % 2), index % 2 + 2 * (lane % 4) + 8 * (index / 4)};
  case TmemShape::S16x32bx2:
    return {lane % 16, index + (lane / 16) * split};
  }
  llvm_unreachable("every shape is listed");
}

unsigned fa4::sim::tmemRegistersPerRepeat(TmemShape shape) {
  switch (shape) {
  case TmemShape::S32x32b:
  case TmemShape::S16x64b:
  case TmemShape::S16x32bx2:
    return 1;
  case TmemShape::S16x128b:
    return 2;
  case TmemShape::S16x256b:
    return 4;
  }
  llvm_unreachable("every shape is listed");
}

unsigned fa4::sim::tmemLargestRepeat(TmemShape shape) {
  return 128 / tmemRegistersPerRepeat(shape); // 128 registers a lane at most
}

unsigned fa4::sim::tmemColumns(TmemShape shape, unsigned repeat) {
  switch (shape) {
  case TmemShape::S32x32b:
  case TmemShape::S16x32bx2:
    return repeat;
  case TmemShape::S16x64b:
    return 2 * repeat;
  case TmemShape::S16x128b:
    return 4 * repeat;
  case TmemShape::S16x256b:
    return 8 * repeat;
  }
  llvm_unreachable("every shape is listed");
}

//===----------------------------------------------------------------------===//
// Register fragments
//===----------------------------------------------------------------------===//

FragmentElement fa4::sim::accumulatorElement(ElementType type, unsigned warp, unsigned lane,
                                             unsigned index, unsigned part) {
  unsigned number = containerBits(type) == 16 ? 2 * index + part : index;
  return {16 * warp + lane / 4 + 8 * ((number / 2) % 2),
          8 * (number / 4) + 2 * (lane % 4) + number % 2};
}

FragmentElement fa4::sim::leftElement(unsigned perRegister, unsigned warp, unsigned lane,
                                      unsigned index, unsigned part) {
  return {16 * warp + lane / 4 + 8 * (index % 2),
          perRegister * (lane % 4) + part + 4 * perRegister * (index / 2)};
}

FragmentElement fa4::sim::rightElement(unsigned perRegister, unsigned lane, unsigned index,
                                       unsigned part) {
  return {lane / 4, perRegister * (lane % 4) + part + 4 * perRegister * index};
}

FragmentElement fa4::sim::matrixElement(bool transposed, unsigned lane, unsigned part) {
  unsigned across = lane / 4, along = 2 * (lane % 4) + part;
  return transposed ? FragmentElement{along, across} : FragmentElement{across, along};
}
