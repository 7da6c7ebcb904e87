//===- ElementTypes.h - number formats of the tensor units ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decoding is exact; encoding rounds to nearest even and gives the one NaN
// that the hardware gives, so no NaN rule of the host is visible.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_ELEMENTTYPES_H
#define FA4_SIMULATOR_ELEMENTTYPES_H

#include <cstdint>

namespace fa4::sim {

/// Number formats that a matrix instruction reads or writes.
enum class ElementType : uint8_t { F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, F32 };

/// Bits of one element in registers and memory (the sub-byte formats travel
/// in 8-bit containers).
unsigned containerBits(ElementType type);

enum class NumberClass : uint8_t { Finite, Infinity, NaN };

/// A number as sign, significand and exponent: significand * 2^exponent, with
/// 1 <= |significand| < 2 for normal numbers and below 1 for subnormal ones,
/// whose exponent is the format's smallest.
struct Decoded {
  float significand;
  int32_t exponent;
  NumberClass kind;
  bool negative;
};
Decoded decodeElement(ElementType type, uint32_t bits);

/// The value of `bits` (exact in double for every format).
double elementToDouble(ElementType type, uint32_t bits);

/// `value` rounded to nearest even in F16, BF16 or F32; NaN becomes the
/// canonical one of the hardware.
uint32_t roundToElement(ElementType type, double value);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_ELEMENTTYPES_H
