//===- Float16Test.cpp - bf16 and f16 conversions ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Numerics/Float16.h"

#include "fa4/Numerics/Exp2.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace fa4::numerics;

namespace {

class Half : public testing::TestWithParam<HalfKind> {
protected:
  float widen(uint16_t bits) const { return halfToFloat(GetParam(), bits); }
  uint16_t narrow(double value) const { return doubleToHalf(GetParam(), value); }
};

TEST_P(Half, EveryPatternSurvives) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    float value = widen(static_cast<uint16_t>(bits));
    uint16_t back = floatToHalf(GetParam(), value);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(widen(back)));
    } else {
      EXPECT_EQ(back, bits);
    }
  }
}

TEST_P(Half, RoundsToNearestEvenBetweenNeighbours) {
  uint16_t infinity = narrow(std::numeric_limits<double>::infinity());
  for (uint16_t bits = 0; bits + 1 < infinity; ++bits) {
    double low = widen(bits), high = widen(bits + 1), middle = (low + high) / 2;
    uint16_t even = bits % 2 == 0 ? bits : bits + 1;
    EXPECT_EQ(narrow(middle), even);
    EXPECT_EQ(narrow(-middle), even | 0x8000);
    EXPECT_EQ(narrow(std::nextafter(middle, 0.0)), bits);
    EXPECT_EQ(narrow(std::nextafter(middle, high)), bits + 1);
  }
}

TEST_P(Half, OverflowStartsHalfAStepPastTheLargest) {
  uint16_t infinity = narrow(std::numeric_limits<double>::infinity());
  double largest = widen(infinity - 1);
  double step = largest - widen(infinity - 2);
  EXPECT_EQ(narrow(largest + step / 2), infinity);
  EXPECT_EQ(narrow(std::nextafter(largest + step / 2, 0.0)), infinity - 1);
  EXPECT_EQ(narrow(-1e300), infinity | 0x8000);
}

INSTANTIATE_TEST_SUITE_P(Float16, Half, testing::Values(HalfKind::BF16, HalfKind::F16));

// Values from the formats' definitions, so that a wrong field width shows.
TEST(Float16, KnownPatterns) {
  EXPECT_EQ(floatToBF16(1.0F), 0x3F80);
  EXPECT_EQ(floatToBF16(-2.5F), 0xC020);
  EXPECT_EQ(floatToF16(1.0F), 0x3C00);
  EXPECT_EQ(floatToF16(65504.0F), 0x7BFF);
  EXPECT_EQ(floatToF16(-0x1p-24F), 0x8001);
  EXPECT_EQ(f16ToFloat(0x0001), 0x1p-24F);
  EXPECT_EQ(bf16ToFloat(0x0001), 0x1p-133F);
  EXPECT_EQ(halfEpsilon(HalfKind::BF16), 0x1p-7);
  EXPECT_EQ(halfEpsilon(HalfKind::F16), 0x1p-10);
}

// Through f32 this value would round up twice.
TEST(Float16, DoubleRoundsOnce) {
  double value = 1.0 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(doubleToBF16(value), 0x3F81);
  EXPECT_EQ(floatToBF16(static_cast<float>(value)), 0x3F80);
}

} // namespace
