//===- Exp2.h - 2^x as one description for host and IR ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 2^x is described once over an abstract emitter. `HostExp2Emitter` computes it
// bit for bit; an IR builder with the same operations writes the kernel's code.
// What the two compute cannot drift apart, because there is one operation list.
//
// Emitter concept, all floating point in f32 with round to nearest even unless
// an operation says otherwise, none of it open to reassociation or contraction:
//
//   using F32; using I32;
//   F32 constant(float value);
//   F32 maxNum(F32 a, F32 b);        // a NaN operand yields the other one
//   F32 addRoundDown(F32 x, F32 m);  // x + m rounded towards -inf
//   F32 add(F32 a, F32 b);  F32 sub(F32 a, F32 b);
//   F32 fma(F32 a, F32 b, F32 c);    // a * b + c, rounded once
//   F32 selectLess(F32 a, F32 b, F32 yes, F32 no); // a < b ? yes : no, NaN: no
//   I32 toBits(F32 a);      F32 fromBits(I32 a);
//   I32 shiftLeft(I32 a, unsigned bits);
//   I32 add(I32 a, I32 b);           // wraps
//
// No operation multiplies without adding, so no compiler can contract a pair of
// them: `exp2Polynomial` uses constant, maxNum, addRoundDown, sub, fma, toBits,
// fromBits, shiftLeft and the integer add; `exp2Accurate` all but maxNum and
// addRoundDown. An emitter may provide only what it needs.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_NUMERICS_EXP2_H
#define FA4_NUMERICS_EXP2_H

#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace fa4::numerics {

/// One row of the generated table: 1 + c1 f + ... + cd f^d against 2^f.
struct Exp2TableRow {
  unsigned degree;
  double domainLow, domainHigh;
  /// Largest relative error on the domain in exact arithmetic.
  double approximationError;
  /// The same with the roundings of f and of an f32 FMA Horner scheme: "the
  /// polynomial's relative error" of semantics.md R2.
  double errorBound;
  /// f32 bit patterns of c0 to cd.
  std::array<uint32_t, 7> coefficientBits;
};

inline constexpr Exp2TableRow exp2Table[] = {
#include "fa4/Numerics/Exp2Table.inc"
};

/// The degrees `exp2Polynomial` offers.
inline constexpr unsigned minExp2Degree = 3;
inline constexpr unsigned maxExp2Degree = 5;

/// The row of a degree on [0, 1], or nullptr where there is none. The way for
/// verifiers to ask whether a degree is legal.
constexpr const Exp2TableRow *lookupExp2Row(unsigned degree) {
  for (const Exp2TableRow &row : exp2Table) {
    if (row.degree == degree && row.domainLow == 0.0) {
      return &row;
    }
  }
  return nullptr;
}

/// The row that `exp2Accurate` evaluates, on [-1/2, 1/2].
constexpr const Exp2TableRow &accurateExp2Row() { return exp2Table[std::size(exp2Table) - 1]; }
static_assert(accurateExp2Row().domainLow == -0.5,
              "the table's last row is the one of exp2Accurate");

inline float floatFromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline uint32_t bitsFromFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// 2^23 + 2^22. In [2^23, 2^24) f32 has steps of 1, so adding this to a number
/// below 2^22 in magnitude rounds it to an integer, which the low mantissa bits
/// of the sum then hold (fa4-algorithm.md 3.4). Its own low nine bits are zero,
/// so a shift left by 23 leaves that integer alone in the exponent field.
inline constexpr float exp2Magic = 12582912.0F;

/// Position of the exponent field of f32.
inline constexpr unsigned f32MantissaBits = 23;

/// Horner scheme from the highest coefficient, one FMA per degree.
template <class E>
typename E::F32 exp2Horner(E &e, typename E::F32 f, const Exp2TableRow &row) {
  typename E::F32 p = e.constant(floatFromBits(row.coefficientBits[row.degree]));
  for (unsigned k = row.degree; k-- > 0;) {
    p = e.fma(p, f, e.constant(floatFromBits(row.coefficientBits[k])));
  }
  return p;
}

/// 2^x for x <= 127 by a polynomial of `degree` (a row of the table on [0, 1]).
///
/// x <= -127 and -inf give exactly +0, which is what a masked score needs: the
/// clamp leaves floor -127 and f = 0, and bits(1.0) + (-127 << 23) is 0. Results
/// below 2^-126 but above that are wrong in scale and smaller than 2^-126. A NaN
/// gives +0, because the clamp swallows it. For -126 <= x < 128 the relative error
/// is at most the row's `errorBound`; beyond 128 the exponent field overflows.
template <class E>
typename E::F32 exp2Polynomial(E &e, typename E::F32 x, unsigned degree) {
  const Exp2TableRow *row = lookupExp2Row(degree);
  assert(row && "a verifier lets only degrees with a row through");
  // -127 is the lowest clamp whose exponent field (0) is still meant.
  typename E::F32 clamped = e.maxNum(x, e.constant(-127.0F));
  typename E::F32 magic = e.constant(exp2Magic);
  typename E::F32 shifted = e.addRoundDown(clamped, magic);
  typename E::F32 floor = e.sub(shifted, magic);
  // In [0, 1]: 1 is reached when x lies less than a rounding step below an
  // integer, and p(1) is within the error bound of 2 like any other point.
  typename E::F32 f = e.sub(clamped, floor);
  typename E::F32 p = exp2Horner(e, f, *row);
  return e.fromBits(e.add(e.shiftLeft(e.toBits(shifted), f32MantissaBits), e.toBits(p)));
}

/// 2^x to 2 ulp of f32 for every x in [-126, 128); the form for machines without
/// a hardware exp2. Vectorises: no branch, no table, one select per special case.
///
/// -inf and every x < -126 give +0 (results are flushed like `ex2.approx.ftz`,
/// so no subnormal ever enters a sum), x >= 128 and +inf give +inf, NaN gives
/// NaN, integers in [-126, 127] give their power of two exactly.
template <class E>
typename E::F32 exp2Accurate(E &e, typename E::F32 x) {
  typename E::F32 lowest = e.constant(-126.0F);
  typename E::F32 highest = e.constant(128.0F);
  // As selections and not min/max, since these keep a NaN.
  typename E::F32 raised = e.selectLess(x, lowest, lowest, x);
  typename E::F32 clamped = e.selectLess(highest, raised, highest, raised);
  typename E::F32 magic = e.constant(exp2Magic);
  typename E::F32 shifted = e.add(clamped, magic);
  // Exact: |f| <= 1/2 and both operands are multiples of the ulp of x.
  typename E::F32 f = e.sub(clamped, e.sub(shifted, magic));
  typename E::F32 p = exp2Horner(e, f, accurateExp2Row());
  // At 128 the field becomes 255 with p = 1: the bits of +inf. Just below, p < 1
  // has field 126, so the sum is 254 and still finite.
  typename E::F32 scaled =
      e.fromBits(e.add(e.shiftLeft(e.toBits(shifted), f32MantissaBits), e.toBits(p)));
  // Integer arithmetic lost a NaN; 0 * clamped brings it back and adds 0 else.
  typename E::F32 zero = e.constant(0.0F);
  typename E::F32 value = e.fma(clamped, zero, scaled);
  return e.selectLess(x, lowest, zero, value);
}

/// Computes on the host, bit for bit what the kernel computes.
struct HostExp2Emitter {
  using F32 = float;
  using I32 = uint32_t;

  F32 constant(float value) const { return value; }
  F32 maxNum(F32 a, F32 b) const { return std::fmax(a, b); }
  /// Equal bit for bit to an addition rounded towards -inf wherever this
  /// description uses it: |x| <= 2^22 and m = exp2Magic put the exact sum in
  /// [2^23, 2^24), where the f32 numbers are the integers. The largest integer
  /// not above x + m is floor(x) + m, and adding two integers of that size is
  /// exact, so no directed rounding mode is needed.
  F32 addRoundDown(F32 x, F32 m) const { return std::floor(x) + m; }
  F32 add(F32 a, F32 b) const { return a + b; }
  F32 sub(F32 a, F32 b) const { return a - b; }
  F32 fma(F32 a, F32 b, F32 c) const { return std::fma(a, b, c); }
  F32 selectLess(F32 a, F32 b, F32 yes, F32 no) const { return a < b ? yes : no; }
  I32 toBits(F32 a) const { return bitsFromFloat(a); }
  F32 fromBits(I32 a) const { return floatFromBits(a); }
  I32 shiftLeft(I32 a, unsigned bits) const { return a << bits; }
  I32 add(I32 a, I32 b) const { return a + b; }
};

/// Host value of `exp2Polynomial`.
inline float hostExp2Polynomial(float x, unsigned degree) {
  HostExp2Emitter e;
  return exp2Polynomial(e, x, degree);
}

/// Host value of `exp2Accurate`.
inline float hostExp2Accurate(float x) {
  HostExp2Emitter e;
  return exp2Accurate(e, x);
}

} // namespace fa4::numerics

#endif // FA4_NUMERICS_EXP2_H
