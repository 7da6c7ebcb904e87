//===- Float16.cpp - bf16 and f16 as bit patterns -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One routine rounds a double's significand to any narrow IEEE format; f32 input
// is widened first, which is exact. So both formats and both sources share the
// only place where rounding happens.
//
//===----------------------------------------------------------------------===//

#include "fa4/Numerics/Float16.h"

#include "fa4/Numerics/Exp2.h"

#include <cmath>

namespace fa4::numerics {

namespace {

/// An IEEE binary format of 16 bits with a sign.
struct Format {
  unsigned mantissaBits;
  unsigned exponentBits;

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  uint16_t infinity() const {
    return static_cast<uint16_t>(((1U << exponentBits) - 1) << mantissaBits);
  }
};

// IEEE 754-2019 binary16; bf16 is the upper half of binary32.
constexpr Format f16Format = {10, 5};
constexpr Format bf16Format = {7, 8};

/// Rounds to nearest even. Scaling by a power of two is exact in double for the
/// magnitudes that survive, so `nearbyint` (default mode) rounds exactly once.
uint16_t roundTo(const Format &format, double value) {
  auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000U : 0U);
  if (std::isnan(value)) {
    uint16_t quiet = 1U << (format.mantissaBits - 1);
    return sign | format.infinity() | quiet;
  }
  double magnitude = std::fabs(value);
  if (magnitude == 0.0) {
    return sign;
  }
  if (std::isinf(magnitude)) {
    return sign | format.infinity();
  }
  // Below the smallest normal exponent the step stays that of the smallest one.
  int exponent = std::max(std::ilogb(magnitude), 1 - format.bias());
  double steps =
      std::nearbyint(std::ldexp(magnitude, static_cast<int>(format.mantissaBits) - exponent));
  // Adding instead of or-ing: a significand that rounds up to 2 carries into the
  // exponent, and a subnormal that reaches the implicit bit becomes normal.
  double field = static_cast<double>(exponent + format.bias() - 1) *
                     std::ldexp(1.0, static_cast<int>(format.mantissaBits)) +
                 steps;
  if (field >= format.infinity()) {
    return sign | format.infinity();
  }
  return sign | static_cast<uint16_t>(field);
}

} // namespace

float bf16ToFloat(uint16_t bits) { return floatFromBits(static_cast<uint32_t>(bits) << 16); }

float f16ToFloat(uint16_t bits) {
  float sign = (bits & 0x8000U) ? -1.0F : 1.0F;
  unsigned exponent = (bits >> 10) & 0x1FU;
  auto mantissa = static_cast<float>(bits & 0x3FFU);
  if (exponent == 0x1FU) {
    return mantissa == 0.0F
               ? sign * INFINITY
               : floatFromBits(((bits & 0x8000U) << 16) | 0x7FC00000U | ((bits & 0x3FFU) << 13));
  }
  if (exponent == 0) {
    return sign * std::ldexp(mantissa, -24);
  }
  return sign * std::ldexp(1024.0F + mantissa, static_cast<int>(exponent) - 25);
}

uint16_t floatToBF16(float value) { return roundTo(bf16Format, value); }
uint16_t floatToF16(float value) { return roundTo(f16Format, value); }
uint16_t doubleToBF16(double value) { return roundTo(bf16Format, value); }
uint16_t doubleToF16(double value) { return roundTo(f16Format, value); }

float halfToFloat(HalfKind kind, uint16_t bits) {
  return kind == HalfKind::BF16 ? bf16ToFloat(bits) : f16ToFloat(bits);
}

uint16_t floatToHalf(HalfKind kind, float value) { return doubleToHalf(kind, value); }

uint16_t doubleToHalf(HalfKind kind, double value) {
  return roundTo(kind == HalfKind::BF16 ? bf16Format : f16Format, value);
}

double halfEpsilon(HalfKind kind) {
  const Format &format = kind == HalfKind::BF16 ? bf16Format : f16Format;
  return std::ldexp(1.0, -static_cast<int>(format.mantissaBits));
}

} // namespace fa4::numerics
