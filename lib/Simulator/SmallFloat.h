//===- SmallFloat.h - 8-, 6- and 4-bit floats -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formats as OCP OFP8 and MX define them: e4m3 has no infinity and one NaN
// magnitude (0x7f), e5m2 is a short f16, the 6- and 4-bit ones have finite
// values only, ue8m0 is a power of two without sign.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_SMALLFLOAT_H
#define FA4_LIB_SIMULATOR_SMALLFLOAT_H

#include "FloatMath.h"
#include "Opcodes.h"

namespace fa4::sim {

inline float e4m3ToFloat(uint8_t v) {
  uint32_t sign = uint32_t(v & 0x80) << 24, magnitude = v & 0x7f;
  if (magnitude == 0x7f) {
    return bitCast<float>(canonicalNan);
  }
  float f = (magnitude >> 3)
                ? bitCast<float>(((magnitude >> 3) + 120) << 23 | (magnitude & 7) << 20)
                : float(magnitude) * 0x1p-9f;
  return bitCast<float>(bitCast<uint32_t>(f) | sign);
}
inline float e5m2ToFloat(uint8_t v) { return halfToFloat(uint16_t(v << 8)); }
inline float e2m1ToFloat(uint8_t v) {
  static constexpr float values[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  return (v & 8) ? -values[v & 7] : values[v & 7];
}
/// 6-bit formats: sign, E exponent bits, 5 − E mantissa bits.
template <unsigned E>
inline float sixBitToFloat(uint8_t v) {
  constexpr unsigned m = 5 - E;
  constexpr int bias = (1 << (E - 1)) - 1;
  unsigned exponent = v >> m & ((1u << E) - 1), mantissa = v & ((1u << m) - 1);
  double f = exponent ? std::ldexp(1.0 + mantissa / double(1u << m), int(exponent) - bias)
                      : std::ldexp(mantissa / double(1u << m), 1 - bias);
  return float((v & 0x20) ? -f : f);
}

/// To nearest even, saturating to ±448; NaN gives 0x7f.
inline uint8_t floatToE4m3(double v) {
  if (v != v) {
    return 0x7f;
  }
  uint8_t sign = std::signbit(v) ? 0x80 : 0;
  double a = std::fabs(v);
  uint32_t m = a >= 480.0 ? 0x7e : roundMagnitude<3, -6>(a, sign != 0, Rounding::Nearest);
  return uint8_t(sign | (m > 0x7e ? 0x7e : m));
}
inline uint8_t floatToE5m2(double v) {
  if (v != v) {
    return 0x7f;
  }
  uint8_t sign = std::signbit(v) ? 0x80 : 0;
  double a = std::fabs(v);
  uint32_t m = a >= 65536.0 ? 0x7b : roundMagnitude<2, -14>(a, sign != 0, Rounding::Nearest);
  return uint8_t(sign | (m > 0x7b ? 0x7b : m));
}
/// NaN saturates to the largest positive value, as the manual says for formats
/// without NaN.
inline uint8_t floatToE2m1(double v) {
  uint8_t sign = v == v && std::signbit(v) ? 8 : 0;
  double a = v == v ? std::fabs(v) : 6.0;
  uint32_t m = a >= 8.0 ? 7 : roundMagnitude<1, 0>(a, sign != 0, Rounding::Nearest);
  return uint8_t(sign | (m > 7 ? 7 : m));
}
template <unsigned E>
inline uint8_t floatToSixBit(double v) {
  constexpr unsigned m = 5 - E;
  constexpr int minExponent = 2 - (1 << (E - 1));
  uint8_t sign = v == v && std::signbit(v) ? 0x20 : 0;
  double a = v == v ? std::fabs(v) : 1024.0;
  uint32_t r = a >= 64.0 ? 31 : roundMagnitude<m, minExponent>(a, sign != 0, Rounding::Nearest);
  return uint8_t(sign | (r > 31 ? 31 : r));
}

bool isPackedConversion(Type to, Type from);
void decodePackedConvert(Decoder &d);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_SMALLFLOAT_H
