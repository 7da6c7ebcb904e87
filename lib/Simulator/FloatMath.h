//===- FloatMath.h - float arithmetic as the GPU does it --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host rounds to nearest and is never asked to round otherwise: directed
// rounding goes through an f64 result rounded to odd, from which every f32
// rounding is exact (53 bits ≥ 2·24 + 2). Every operation that yields a NaN
// yields the one canonical NaN that an H200 was seen to return.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_FLOATMATH_H
#define FA4_LIB_SIMULATOR_FLOATMATH_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace fa4::sim {

template <typename To, typename From>
inline To bitCast(From v) {
  static_assert(sizeof(To) == sizeof(From));
  To t;
  std::memcpy(&t, &v, sizeof(To));
  return t;
}

/// Measured on an H200: whatever the payload of the input.
constexpr uint32_t canonicalNan = 0x7fffffff;
constexpr uint16_t canonicalNan16 = 0x7fff;

enum class Rounding : uint8_t { Nearest, Zero, Down, Up };

inline float flushToZero(float v) {
  uint32_t b = bitCast<uint32_t>(v);
  return bitCast<float>((b & 0x7f800000u) == 0 ? b & 0x80000000u : b);
}

inline float canonical(float v) {
  uint32_t b = bitCast<uint32_t>(v);
  return bitCast<float>((b & 0x7fffffffu) > 0x7f800000u ? canonicalNan : b);
}

inline double quieted(double v) {
  return bitCast<double>(bitCast<uint64_t>(v) | uint64_t(1) << 51);
}

/// f64, measured on an H200: the first NaN operand, quieted; an invalid operation
/// gives the default NaN with the sign set.
inline double withNan(double r, double a, double b = 0.0, double c = 0.0) {
  if (r == r) {
    return r;
  }
  return a != a   ? quieted(a)
         : b != b ? quieted(b)
         : c != c ? quieted(c)
                  : bitCast<double>(uint64_t(0xfff8) << 48);
}

/// The arithmetic unit's own f64 instructions prefer the second operand's NaN
/// (division and root are software and keep to the first).
inline double withLaterNan(double r, double a, double b, double c = 0.0) {
  return withNan(r, b, a, c);
}

/// The memory system's f64 addition hands a NaN on as it is, the added one first.
inline double withPlainNan(double r, double old, double added) {
  return added != added ? added : old != old ? old : withNan(r, 0.0);
}

template <bool Ftz>
inline float input(float v) {
  return Ftz ? flushToZero(v) : v;
}

/// Measured on an H200: products and fused sums that lie below the smallest normal
/// before rounding are flushed, even if rounding would lift them to it.
constexpr double smallestNormal = 0x1p-126;
constexpr uint32_t smallestNormalBits = 0x00800000u;

template <bool Ftz, bool Sat>
inline float finish(float v) {
  v = Ftz ? flushToZero(v) : v;
  if (Sat) {
    // NaN becomes +0, and so does -0.
    v = v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f;
    return v;
  }
  return canonical(v);
}

/// Replaces an inexact f64 by its neighbour with an odd last bit; `error` is
/// what rounding left out.
inline double roundToOdd(double rounded, double error) {
  uint64_t b = bitCast<uint64_t>(rounded);
  bool finite = (b & (uint64_t(0x7ff) << 52)) != uint64_t(0x7ff) << 52;
  if (error == 0.0 || (b & 1) || !finite) {
    return rounded;
  }
  bool awayFromZero = (error > 0.0) == (rounded > 0.0);
  return bitCast<double>(awayFromZero ? b + 1 : b - 1);
}

/// Rounds once to f32.
template <Rounding R>
inline float roundToFloat(double v) {
  float f = float(v);
  if (R == Rounding::Nearest || double(f) == v || v != v) {
    return f;
  }
  uint32_t b = bitCast<uint32_t>(f);
  bool above = double(f) > v;
  bool wantAbove = R == Rounding::Up || (R == Rounding::Zero && v < 0.0);
  if (above == wantAbove) {
    return f;
  }
  bool negative = b >> 31;
  if ((b & 0x7fffffffu) == 0) { // a tiny value rounded to zero
    return bitCast<float>(above ? 0x80000001u : 0x00000001u);
  }
  // Move towards v: up when f is below it.
  return bitCast<float>(above == negative ? b + 1 : b - 1);
}

/// a + b in f64, rounded to odd (Knuth's error-free sum).
inline double addToOdd(double a, double b) {
  double s = a + b;
  double bb = s - a;
  double error = (a - (s - bb)) + (b - bb);
  return roundToOdd(s, error);
}

template <Rounding R, bool Ftz, bool Sat>
inline float addFloat(float a, float b) {
  a = input<Ftz>(a);
  b = input<Ftz>(b);
  if (R == Rounding::Nearest) {
    return finish<Ftz, Sat>(a + b);
  }
  double s = addToOdd(a, b);
  float r = roundToFloat<R>(s);
  if (s == 0.0) {
    // Opposite values cancel to -0 when rounding down.
    bool same = std::signbit(a) == std::signbit(b);
    r = same ? a : R == Rounding::Down ? -0.0f : 0.0f;
  }
  return finish<Ftz, Sat>(r);
}

template <Rounding R, bool Ftz, bool Sat>
inline float subFloat(float a, float b) {
  return addFloat<R, Ftz, Sat>(a, -b);
}

template <Rounding R, bool Ftz, bool Sat>
inline float mulFloat(float a, float b) {
  a = input<Ftz>(a);
  b = input<Ftz>(b);
  if (R == Rounding::Nearest) {
    return finish<Ftz, Sat>(a * b);
  }
  double p = double(a) * double(b);
  if (Ftz && std::fabs(p) < smallestNormal) {
    p = std::copysign(0.0, p);
  }
  return finish<Ftz, Sat>(roundToFloat<R>(p));
}

template <Rounding R, bool Ftz, bool Sat>
inline float fmaFloat(float a, float b, float c) {
  a = input<Ftz>(a);
  b = input<Ftz>(b);
  c = input<Ftz>(c);
  if (R == Rounding::Nearest) {
    return finish<Ftz, Sat>(__builtin_fmaf(a, b, c));
  }
  double product = double(a) * double(b); // exact: 48 bits
  double s = addToOdd(product, c);
  if (Ftz && s != 0.0 && std::fabs(s) < smallestNormal) {
    return finish<Ftz, Sat>(std::copysign(0.0f, float(s)));
  }
  float r = roundToFloat<R>(s);
  if (s == 0.0) {
    bool bothNegative = std::signbit(product) && std::signbit(c);
    bool bothPositive = !std::signbit(product) && !std::signbit(c);
    r = bothNegative || (R == Rounding::Down && !bothPositive) ? -0.0f : 0.0f;
  }
  return finish<Ftz, Sat>(r);
}

/// Whether a product or fused sum that rounded to the smallest normal was below
/// it; decides the one case that rounding to nearest hides.
inline bool wasTiny(float a, float b, float c) {
  return std::fabs(addToOdd(double(flushToZero(a)) * double(flushToZero(b)), flushToZero(c))) <
         smallestNormal;
}

/// min and max: a NaN loses to a number unless `PropagateNan`; +0 is above -0.
template <bool Max, bool Ftz, bool PropagateNan>
inline float minmaxFloat(float a, float b) {
  a = input<Ftz>(a);
  b = input<Ftz>(b);
  // As integers that order like the floats, ±0 included.
  int32_t x = bitCast<int32_t>(a), y = bitCast<int32_t>(b);
  int32_t kx = x ^ int32_t(uint32_t(x >> 31) >> 1), ky = y ^ int32_t(uint32_t(y >> 31) >> 1);
  bool first = Max ? kx > ky : kx < ky;
  bool nanA = a != a, nanB = b != b;
  float r = first ? a : b;
  r = nanA ? b : nanB ? a : r;
  bool bad = PropagateNan ? (nanA | nanB) : (nanA & nanB);
  return bad ? bitCast<float>(canonicalNan) : r;
}

//===----------------------------------------------------------------------===//
// 16-bit floats
//===----------------------------------------------------------------------===//

inline float halfToFloat(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = h >> 10 & 0x1f, mantissa = h & 0x3ff;
  if (exponent == 0x1f) {
    return bitCast<float>(sign | 0x7f800000u | mantissa << 13);
  }
  if (exponent == 0) {
    float v = float(mantissa) * 0x1p-24f;
    return bitCast<float>(bitCast<uint32_t>(v) | sign);
  }
  return bitCast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

inline float bfloatToFloat(uint16_t b) { return bitCast<float>(uint32_t(b) << 16); }

/// Rounds |v| to a format with `MantissaBits` and exponents from `MinExponent`,
/// as an integer of that format without sign; `overflow` is what lies above the
/// largest finite value `Largest`. All roundings.
template <unsigned MantissaBits, int MinExponent>
inline uint32_t roundMagnitude(double magnitude, bool negative, Rounding r) {
  if (magnitude == 0.0) {
    return 0;
  }
  uint64_t bits = bitCast<uint64_t>(magnitude);
  int exponent = int(bits >> 52) - 1023;
  int quantum = (exponent < MinExponent ? MinExponent : exponent) - int(MantissaBits);
  // magnitude / 2^quantum as an integer plus a remainder, both exact.
  double scaled = std::ldexp(magnitude, -quantum);
  double whole = std::floor(scaled), rest = scaled - whole;
  uint64_t q = uint64_t(whole);
  bool up = false;
  switch (r) {
  case Rounding::Nearest:
    up = rest > 0.5 || (rest == 0.5 && (q & 1));
    break;
  case Rounding::Zero:
    break;
  case Rounding::Down:
    up = negative && rest > 0.0;
    break;
  case Rounding::Up:
    up = !negative && rest > 0.0;
    break;
  }
  q += up;
  // Encoding is continuous: a carry moves into the exponent by itself.
  int biased = exponent < MinExponent ? 0 : exponent - MinExponent;
  return uint32_t(q + (uint64_t(biased) << MantissaBits));
}

/// f16 from an exact or odd-rounded f64; overflow goes to infinity, or with
/// `satfinite` to the largest finite value.
inline uint16_t doubleToHalf(double v, Rounding r = Rounding::Nearest, bool satfinite = false) {
  if (v != v) {
    return canonicalNan16;
  }
  bool negative = std::signbit(v);
  uint16_t sign = negative ? 0x8000 : 0;
  double a = std::fabs(v);
  uint32_t m = std::isinf(a)   ? 0x7c00
               : a >= 131072.0 ? 0x7c00
                               : roundMagnitude<10, -14>(a, negative, r);
  bool towardsZero =
      r == Rounding::Zero || (r == Rounding::Down && !negative) || (r == Rounding::Up && negative);
  if (m >= 0x7c00) {
    bool exactInfinity = std::isinf(a);
    m = satfinite || (towardsZero && !exactInfinity) ? 0x7bff : 0x7c00;
  }
  return uint16_t(sign | m);
}

inline uint16_t doubleToBfloat(double v, Rounding r = Rounding::Nearest, bool satfinite = false) {
  if (v != v) {
    return canonicalNan16;
  }
  bool negative = std::signbit(v);
  uint16_t sign = negative ? 0x8000 : 0;
  double a = std::fabs(v);
  uint32_t m = std::isinf(a) || a >= 0x1p128 ? 0x7f80 : roundMagnitude<7, -126>(a, negative, r);
  bool towardsZero =
      r == Rounding::Zero || (r == Rounding::Down && !negative) || (r == Rounding::Up && negative);
  if (m >= 0x7f80) {
    bool exactInfinity = std::isinf(a);
    m = satfinite || (towardsZero && !exactInfinity) ? 0x7f7f : 0x7f80;
  }
  return uint16_t(sign | m);
}

/// The hot conversions, to nearest, by integer arithmetic alone.
inline uint16_t floatToBfloat(float v) {
  uint32_t b = bitCast<uint32_t>(v);
  uint32_t rounded = (b + 0x7fff + (b >> 16 & 1)) >> 16;
  return uint16_t((b & 0x7fffffffu) > 0x7f800000u ? canonicalNan16 : rounded);
}

inline uint16_t floatToHalf(float v) {
  uint32_t b = bitCast<uint32_t>(v), sign = b >> 16 & 0x8000, a = b & 0x7fffffffu;
  // Normal results: rebias, round half to even; a carry may reach infinity.
  uint32_t normal = (a - (112u << 23) + 0xfff + (a >> 13 & 1)) >> 13;
  // Subnormal results: adding 0.5 puts the integer into the low mantissa bits
  // with the right rounding.
  uint32_t tiny = bitCast<uint32_t>(bitCast<float>(a) + 0.5f) - 0x3f000000u;
  uint32_t r = a < (113u << 23) ? tiny : normal;
  r = a >= 0x47800000u ? 0x7c00u : r;
  r = a > 0x7f800000u ? uint32_t(canonicalNan16) : r | sign;
  return uint16_t(r);
}

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_FLOATMATH_H
