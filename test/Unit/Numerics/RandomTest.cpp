//===- RandomTest.cpp - Philox and the test inputs --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Numerics/Random.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace fa4::numerics;

namespace {

using Block = std::array<uint32_t, 4>;

// The known answers that come with the reference implementation of the paper.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  uint32_t ones = 0xFFFFFFFF;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Block{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(philox4x32({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}),
            (Block{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

TEST(CounterRandom, MomentsOfTheNormal) {
  CounterRandom random(1, 2);
  constexpr int kCount = 200000;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < kCount; ++i) {
    double x = random.gaussian(i);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  // Five standard errors of each moment (variances 1, 2 and 96).
  EXPECT_NEAR(sum / kCount, 0.0, 5 * std::sqrt(1.0 / kCount));
  EXPECT_NEAR(squares / kCount, 1.0, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(fourth / kCount, 3.0, 5 * std::sqrt(96.0 / kCount));
}

TEST(CounterRandom, StreamsAndSeedsDiffer) {
  double base = CounterRandom(1, 0).gaussian(5);
  EXPECT_EQ(CounterRandom(1, 0).gaussian(5), base);
  EXPECT_NE(CounterRandom(1, 1).gaussian(5), base);
  EXPECT_NE(CounterRandom(2, 0).gaussian(5), base);
  EXPECT_NE(CounterRandom(1, 0).gaussian(5 + (uint64_t(1) << 32)), base);
}

TEST(CounterRandom, BelowStaysBelow) {
  CounterRandom random(3, 0);
  std::array<int, 5> seen = {};
  for (int i = 0; i < 1000; ++i) {
    uint64_t value = random.below(i, 5);
    ASSERT_LT(value, 5U);
    ++seen[value];
  }
  for (int count : seen) {
    EXPECT_GT(count, 100);
  }
}

TEST(InputDistribution, NamesRoundTrip) {
  for (InputDistribution distribution :
       {InputDistribution::Gaussian, InputDistribution::LargeMean, InputDistribution::Peaked,
        InputDistribution::BelowMinus5e4}) {
    EXPECT_EQ(parseInputDistribution(inputDistributionName(distribution)), distribution);
  }
  EXPECT_EQ(parseInputDistribution("uniform"), std::nullopt);
}

double score(const InputGenerator &generator, uint64_t row, uint64_t key, uint64_t dim) {
  double sum = 0;
  for (uint64_t d = 0; d < dim; ++d) {
    sum += generator.element(InputTensor::Query, row * dim + d, d) *
           generator.element(InputTensor::Key, key * dim + d, d);
  }
  return generator.scale * sum;
}

TEST(InputDistribution, ScoresAreWhatTheNameSays) {
  for (uint64_t dim : {8U, 128U}) {
    double scale = 1 / std::sqrt(static_cast<double>(dim));
    double largest = -INFINITY, meanSum = 0, peakedSquares = 0;
    InputGenerator below{5, InputDistribution::BelowMinus5e4, scale};
    InputGenerator negative{5, InputDistribution::BelowMinus5e4, -scale};
    InputGenerator mean{5, InputDistribution::LargeMean, scale};
    InputGenerator peaked{5, InputDistribution::Peaked, scale};
    for (uint64_t row = 0; row < 40; ++row) {
      for (uint64_t key = 0; key < 40; ++key) {
        largest = std::max({largest, score(below, row, key, dim), score(negative, row, key, dim)});
        meanSum += score(mean, row, key, dim);
        double sharp = score(peaked, row, key, dim);
        peakedSquares += sharp * sharp;
      }
    }
    EXPECT_LT(largest, -5e4);
    EXPECT_NEAR(meanSum / 1600, 16 * std::sqrt(dim), 4.0);
    EXPECT_NEAR(std::sqrt(peakedSquares / 1600), 8.0, 1.5);
  }
}

} // namespace
