//===- Layouts.h - where matrix elements sit --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pure index arithmetic between (row, column) of a matrix and the register,
// shared-memory byte or tensor-memory cell that holds it. Nothing here touches
// memory, so each rule is tested alone; descriptors of users are refused with
// a message, never trusted.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_LAYOUTS_H
#define FA4_SIMULATOR_LAYOUTS_H

#include "fa4/Simulator/ElementTypes.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace fa4::sim {

//===----------------------------------------------------------------------===//
// Swizzles
//===----------------------------------------------------------------------===//

/// How 16-byte pieces are permuted by the bits of their shared address.
enum class Swizzle : uint8_t {
  None,
  B32,
  B64,
  B128,
  B128Atom32,      ///< moves 32-byte pieces
  B128Atom32Flip8, ///< as above, with the 8-byte halves exchanged in odd lines
  B128Atom64       ///< moves 64-byte pieces
};

/// The physical address of the byte at linear address `address`. The
/// permutation follows the absolute shared address, not the offset in a tile.
uint32_t swizzleAddress(Swizzle swizzle, uint32_t address);

/// Bytes of one swizzled line; 16 when there is no swizzle.
unsigned swizzleSpan(Swizzle swizzle);

/// Bytes after which the permutation repeats; 16 when there is no swizzle.
unsigned swizzlePeriod(Swizzle swizzle);

//===----------------------------------------------------------------------===//
// Matrices in shared memory
//===----------------------------------------------------------------------===//

/// A decoded shared-memory matrix descriptor; addresses and strides in bytes.
struct MatrixDescriptor {
  uint32_t start;
  uint32_t leading;
  uint32_t stride;
  Swizzle swizzle;
  /// Lines of 128 bytes by which the swizzle pattern's start is displaced.
  uint32_t baseOffset = 0;

  /// The address of element `k` of row `row` (of M or N), whose elements have
  /// `bytes` bytes. `mnMajor` says that rows, not k, are adjacent in memory.
  uint32_t elementAddress(bool mnMajor, unsigned bytes, unsigned row, unsigned k) const;
};

llvm::Expected<MatrixDescriptor> decodeWgmmaDescriptor(uint64_t bits);
llvm::Expected<MatrixDescriptor> decodeTcgen05Descriptor(uint64_t bits);

//===----------------------------------------------------------------------===//
// Instruction descriptor of tcgen05.mma
//===----------------------------------------------------------------------===//

enum class MmaKind : uint8_t { F16, TF32, F8F6F4 };

struct InstructionDescriptor {
  ElementType a, b, d;
  bool negateA, negateB;
  bool aMnMajor, bMnMajor;
  unsigned m, n, k;
};

/// Decodes and checks for `ctas` (1 or 2) CTAs working together.
llvm::Expected<InstructionDescriptor> decodeInstructionDescriptor(MmaKind kind, unsigned ctas,
                                                                  uint32_t bits);

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

constexpr unsigned kTmemLanes = 128;   // PTX ISA, "Tensor Memory"
constexpr unsigned kTmemColumns = 512; // PTX ISA, "Tensor Memory"

/// Where one output of tcgen05.mma sits: which CTA of the pair, lane, column
/// (relative to the accumulator's address).
struct AccumulatorPlace {
  unsigned cta, lane, column;
};
AccumulatorPlace accumulatorPlace(unsigned ctas, unsigned m, unsigned n, unsigned row,
                                  unsigned column);

enum class TmemShape : uint8_t { S32x32b, S16x64b, S16x128b, S16x256b, S16x32bx2 };

struct TmemCell {
  unsigned row, column;
};
/// The cell that register `index` of lane `lane` holds, relative to the
/// instruction's address; `split` is the second half's column in 16x32bx2.
TmemCell tmemCell(TmemShape shape, unsigned lane, unsigned index, unsigned split = 0);

/// Registers per lane of one repetition, and the largest repetition count.
unsigned tmemRegistersPerRepeat(TmemShape shape);
unsigned tmemLargestRepeat(TmemShape shape);
/// Columns that `repeat` repetitions cover (of each half in 16x32bx2).
unsigned tmemColumns(TmemShape shape, unsigned repeat);

//===----------------------------------------------------------------------===//
// Register fragments
//===----------------------------------------------------------------------===//

struct FragmentElement {
  unsigned row, column;
};

/// Element `part` of register `index` in an accumulator of wgmma (`warp` 0..3)
/// or mma.sync (`warp` 0): one f32 or two 16-bit numbers a register.
FragmentElement accumulatorElement(ElementType type, unsigned warp, unsigned lane, unsigned index,
                                   unsigned part);

/// Element (row, k) of part `part` of register `index` in a left operand with
/// `perRegister` elements a register.
FragmentElement leftElement(unsigned perRegister, unsigned warp, unsigned lane, unsigned index,
                            unsigned part);

/// Element (n, k) of a right operand of mma.sync.
FragmentElement rightElement(unsigned perRegister, unsigned lane, unsigned index, unsigned part);

/// Element (row, column) of an 8x8 matrix of 16-bit numbers that lane `lane`
/// of ldmatrix or stmatrix holds in half `part` of its register.
FragmentElement matrixElement(bool transposed, unsigned lane, unsigned part);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_LAYOUTS_H
