//===- ElementTypes.cpp - number formats of the tensor units ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/ElementTypes.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/ErrorHandling.h"
#include <cmath>

using namespace fa4::sim;

namespace {

/// What the top exponent of a format means.
enum class TopExponent : uint8_t { InfinityAndNaN, NaNOnly, Numbers };

struct Format {
  unsigned exponentBits;
  unsigned mantissaBits;
  unsigned container;
  TopExponent top;

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
};

/// PTX ISA, "Alternate Floating-Point Data Formats"; tf32 sits in the upper 19
/// bits of an f32 container, the sub-byte formats in the low bits of a byte.
Format formatOf(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return {5, 10, 16, TopExponent::InfinityAndNaN};
  case ElementType::BF16:
    return {8, 7, 16, TopExponent::InfinityAndNaN};
  case ElementType::TF32:
    return {8, 10, 32, TopExponent::InfinityAndNaN};
  case ElementType::E4M3:
    return {4, 3, 8, TopExponent::NaNOnly};
  case ElementType::E5M2:
    return {5, 2, 8, TopExponent::InfinityAndNaN};
  case ElementType::E2M3:
    return {2, 3, 8, TopExponent::Numbers};
  case ElementType::E3M2:
    return {3, 2, 8, TopExponent::Numbers};
  case ElementType::E2M1:
    return {2, 1, 8, TopExponent::Numbers};
  case ElementType::F32:
    return {8, 23, 32, TopExponent::InfinityAndNaN};
  }
  llvm_unreachable("every format is listed");
}

} // namespace

unsigned fa4::sim::containerBits(ElementType type) { return formatOf(type).container; }

Decoded fa4::sim::decodeElement(ElementType type, uint32_t bits) {
  Format format = formatOf(type);
  if (type == ElementType::TF32) {
    bits >>= 23 - format.mantissaBits; // the unit ignores the bits below
  }
  uint32_t mantissa = bits & ((1u << format.mantissaBits) - 1);
  uint32_t top = (1u << format.exponentBits) - 1;
  uint32_t biased = (bits >> format.mantissaBits) & top;
  bool negative = (bits >> (format.mantissaBits + format.exponentBits)) & 1;

  NumberClass kind = NumberClass::Finite;
  if (biased == top) {
    if (format.top == TopExponent::InfinityAndNaN) {
      kind = mantissa ? NumberClass::NaN : NumberClass::Infinity;
    } else if (format.top == TopExponent::NaNOnly && mantissa == (1u << format.mantissaBits) - 1) {
      kind = NumberClass::NaN;
    }
  }
  // 1.mantissa by its bits; a subnormal number lacks the leading one.
  float significand = llvm::bit_cast<float>(0x3F800000 | mantissa << (23 - format.mantissaBits));
  significand -= biased ? 0.0f : 1.0f;
  int exponent = (biased ? int(biased) : 1) - format.bias();
  return {negative ? -significand : significand, exponent, kind, negative};
}

double fa4::sim::elementToDouble(ElementType type, uint32_t bits) {
  if (type == ElementType::F32) {
    return llvm::bit_cast<float>(bits);
  }
  Decoded number = decodeElement(type, bits);
  switch (number.kind) {
  case NumberClass::NaN:
    return std::nan("");
  case NumberClass::Infinity:
    return number.negative ? -HUGE_VAL : HUGE_VAL;
  case NumberClass::Finite:
    return std::ldexp(double(number.significand), number.exponent);
  }
  llvm_unreachable("every class is listed");
}

uint32_t fa4::sim::roundToElement(ElementType type, double value) {
  Format format = formatOf(type);
  uint32_t signBit = 1u << (format.exponentBits + format.mantissaBits);
  if (std::isnan(value)) {
    return signBit - 1; // all ones below the sign: 0x7FFF, 0x7FFFFFFF
  }
  if (type == ElementType::F32) {
    return llvm::bit_cast<uint32_t>(float(value)); // the host rounds the same way
  }
  uint32_t sign = std::signbit(value) ? signBit : 0;
  double magnitude = std::fabs(value);
  uint32_t infinity = ((1u << format.exponentBits) - 1) << format.mantissaBits;
  if (magnitude == 0 || std::isinf(magnitude)) {
    return sign | (magnitude == 0 ? 0 : infinity);
  }
  // One unit in the last place of the result's binade, or of the subnormals.
  int lowest = 1 - format.bias();
  int exponent = std::max(std::ilogb(magnitude), lowest);
  double units = std::nearbyint(std::ldexp(magnitude, int(format.mantissaBits) - exponent));
  uint64_t count = uint64_t(units); // at most 2^(mantissaBits + 1): a carry is one binade up
  uint64_t result = count + (uint64_t(exponent - lowest) << format.mantissaBits);
  return sign | uint32_t(std::min<uint64_t>(result, infinity));
}
