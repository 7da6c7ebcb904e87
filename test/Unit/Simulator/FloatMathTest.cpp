//===- FloatMathTest.cpp - rounding against the host's unit -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Directed rounding is computed without changing the host's rounding mode; here
// the host's unit, with its mode changed, is the independent judge.
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Simulator/FloatMath.h"

#include "gtest/gtest.h"

#include <cfenv>
#include <random>

using namespace fa4::sim;

namespace {
/// Values whose sums and products cancel, underflow and overflow often.
float drawFloat(std::mt19937 &random) {
  uint32_t bits = random();
  switch (random() % 4) {
  case 0: // near one
    bits = (bits & 0x80ffffffu) | 0x3f000000u;
    break;
  case 1: // near the smallest normal
    bits = (bits & 0x81ffffffu);
    break;
  default:
    break;
  }
  return bitCast<float>(bits);
}

template <typename F>
float hostRounded(int mode, F f) {
  std::fesetround(mode);
  volatile float r = f();
  std::fesetround(FE_TONEAREST);
  return canonical(float(r));
}

void expectSame(float got, float want, float a, float b, float c) {
  EXPECT_EQ(bitCast<uint32_t>(got), bitCast<uint32_t>(want)) << a << " " << b << " " << c;
}

template <Rounding R>
void checkRounding(int mode) {
  std::mt19937 random(mode + 1);
  for (int n = 0; n < 400000 && !::testing::Test::HasFailure(); ++n) {
    volatile float a = drawFloat(random), b = drawFloat(random), c = drawFloat(random);
    if (n % 8 == 0) {
      b = -a;
    }
    expectSame(addFloat<R, false, false>(a, b), hostRounded(mode, [&] { return a + b; }), a, b, 0);
    expectSame(mulFloat<R, false, false>(a, b), hostRounded(mode, [&] { return a * b; }), a, b, 0);
    if (n % 16 == 0) {
      c = -a * b;
    }
    expectSame(fmaFloat<R, false, false>(a, b, c),
               hostRounded(mode, [&] { return std::fma(float(a), float(b), float(c)); }), a, b, c);
  }
}
} // namespace

TEST(FloatMath, DirectedRounding) {
  checkRounding<Rounding::Zero>(FE_TOWARDZERO);
  checkRounding<Rounding::Down>(FE_DOWNWARD);
  checkRounding<Rounding::Up>(FE_UPWARD);
}

TEST(FloatMath, HalfConversionsExhaustively) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    bool nan = (h & 0x7fff) > 0x7c00;
    uint16_t back = floatToHalf(halfToFloat(uint16_t(h)));
    EXPECT_EQ(back, nan ? canonicalNan16 : h);
    EXPECT_EQ(doubleToHalf(halfToFloat(uint16_t(h))), nan ? canonicalNan16 : h);
    bool bfNan = (h & 0x7fff) > 0x7f80;
    EXPECT_EQ(floatToBfloat(bfloatToFloat(uint16_t(h))), bfNan ? canonicalNan16 : h);
  }
}

TEST(FloatMath, HalfwayPointsGoToEven) {
  // Between neighbouring halves h and h + 1 lies one f32: the tie.
  for (uint32_t h = 0; h < 0x7bff; ++h) {
    float low = halfToFloat(uint16_t(h)), high = halfToFloat(uint16_t(h + 1));
    float tie = low + (high - low) / 2;
    EXPECT_EQ(floatToHalf(tie), (h & 1) ? h + 1 : h);
    EXPECT_EQ(floatToHalf(std::nextafter(tie, 0.0f)), h);
    EXPECT_EQ(floatToHalf(std::nextafter(tie, 1e9f)), h + 1);
    EXPECT_EQ(doubleToHalf(tie), floatToHalf(tie));
  }
}

TEST(FloatMath, MinMax) {
  float nan = std::nanf("");
  EXPECT_EQ(bitCast<uint32_t>(minmaxFloat<true, false, false>(-0.0f, 0.0f)), 0u);
  EXPECT_EQ(bitCast<uint32_t>(minmaxFloat<false, false, false>(0.0f, -0.0f)), 0x80000000u);
  EXPECT_EQ((minmaxFloat<true, false, false>(nan, 1.0f)), 1.0f);
  EXPECT_EQ(bitCast<uint32_t>(minmaxFloat<true, false, false>(nan, nan)), canonicalNan);
  EXPECT_EQ(bitCast<uint32_t>(minmaxFloat<true, false, true>(nan, 1.0f)), canonicalNan);
  EXPECT_EQ(bitCast<uint32_t>(minmaxFloat<true, true, false>(1e-40f, -0.0f)), 0u);
}
