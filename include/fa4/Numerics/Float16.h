//===- Float16.h - bf16 and f16 as bit patterns -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between f32/f64 and the 16-bit formats, rounding to nearest even
// once (a double goes to 16 bits directly, not through f32). NaN stays NaN and
// becomes quiet, overflow gives infinity, f16 and bf16 subnormals are exact.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_NUMERICS_FLOAT16_H
#define FA4_NUMERICS_FLOAT16_H

#include <cstdint>

namespace fa4::numerics {

/// The 16-bit element types of semantics.md S7.
enum class HalfKind : uint8_t { BF16, F16 };

float bf16ToFloat(uint16_t bits);
float f16ToFloat(uint16_t bits);
uint16_t floatToBF16(float value);
uint16_t floatToF16(float value);
uint16_t doubleToBF16(double value);
uint16_t doubleToF16(double value);

float halfToFloat(HalfKind kind, uint16_t bits);
uint16_t floatToHalf(HalfKind kind, float value);
uint16_t doubleToHalf(HalfKind kind, double value);

/// Distance from 1 to the next larger number: "1 ulp(output type)" of R7 as a
/// relative step. 2^-7 for bf16, 2^-10 for f16.
double halfEpsilon(HalfKind kind);

} // namespace fa4::numerics

#endif // FA4_NUMERICS_FLOAT16_H
