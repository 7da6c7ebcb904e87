//===- AttentionTest.cpp - scores, masks and rows by hand -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Test names carry the labels of the contract that they check.
//
//===----------------------------------------------------------------------===//

#include "TestProblem.h"

#include "fa4/Numerics/Random.h"

using namespace fa4::ref;

namespace {

TEST(Attention, M1TwoKeysByHand) {
  Problem problem = meanProblem(1, 2);
  problem.queryDim = 2;
  problem.scale = 0.5;
  // q = (1, 2), k0 = (3, 1), k1 = (-1, 0): scores 2.5 and -0.5.
  problem.query = [](int64_t, int64_t, int64_t, int64_t d) { return d + 1.0; };
  problem.key = [](int64_t, int64_t j, int64_t, int64_t d) {
    return j == 0 ? 3.0 - 2 * d : d - 1.0;
  };
  Results results = mustEvaluate(problem);
  double weight0 = std::exp(2.5), weight1 = std::exp(-0.5);
  EXPECT_NEAR(*results.output(0, 0, 0), (weight0 + 2 * weight1) / (weight0 + weight1), 1e-15);
  EXPECT_NEAR(results.lse(0, 0, 0), std::log(weight0 + weight1), 1e-15);
}

TEST(Attention, M1ScoreRegionSeesScaledScoreAndRawPositions) {
  Problem problem = meanProblem(2, 3);
  problem.queryHeads = 2;
  problem.scale = 10.0;
  problem.query = [](int64_t, int64_t, int64_t, int64_t) { return 1.0; };
  problem.masks = {causal(Alignment::BottomRight)};
  problem.positionOffsets = {5};
  // All scores are 10, and the region makes them 0 where all its arguments are right.
  problem.score = [](double s, int64_t b, int64_t h, int64_t i, int64_t j) {
    bool right = s == 10.0 && b == 0 && h >= 0 && h < 2 && i >= 0 && i < 2 && j >= 0 && j < 3;
    return right ? 100.0 * h + 10.0 * i : infinity;
  };
  Results results = mustEvaluate(problem);
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(results.lse(0, h, i), 100.0 * h + 10.0 * i + std::log(3.0), 1e-12);
    }
  }
}

TEST(Attention, M1MinusInfinityFromTheRegionHidesTheKey) {
  Problem problem = meanProblem(2, 3);
  problem.score = [](double s, int64_t, int64_t, int64_t i, int64_t j) {
    return i == 1 || j == 1 ? -infinity : s;
  };
  EXPECT_EQ(seenRows(problem), (Rows{"101", "000"}));
}

TEST(Attention, M2AnyFiniteScoreBeatsAMaskedOne) {
  Problem problem = meanProblem(1, 2);
  problem.score = [](double, int64_t, int64_t, int64_t, int64_t) { return -1e300; };
  problem.masks = {window(0, 0)};
  Results results = mustEvaluate(problem);
  EXPECT_EQ(*results.output(0, 0, 0), 1.0);
  EXPECT_EQ(results.lse(0, 0, 0), -1e300);
}

TEST(Attention, M3CausalBothAlignments) {
  Problem problem = meanProblem(2, 4);
  problem.masks = {causal(Alignment::BottomRight)};
  EXPECT_EQ(seenRows(problem), (Rows{"1110", "1111"}));
  problem.masks = {causal(Alignment::TopLeft)};
  EXPECT_EQ(seenRows(problem), (Rows{"1000", "1100"}));
}

TEST(Attention, M3MoreQueriesThanKeys) {
  Problem problem = meanProblem(4, 2);
  problem.masks = {causal(Alignment::BottomRight)};
  EXPECT_EQ(seenRows(problem), (Rows{"00", "00", "10", "11"}));
  problem.masks = {causal(Alignment::TopLeft)};
  EXPECT_EQ(seenRows(problem), (Rows{"10", "11", "11", "11"}));
}

TEST(Attention, M3PositionOffsetPerSequence) {
  Problem problem = meanProblem(2, 3);
  problem.batch = 2;
  problem.positionOffsets = {1, -2};
  problem.masks = {causal(Alignment::TopLeft)};
  EXPECT_EQ(seenRows(problem, 0), (Rows{"110", "111"}));
  EXPECT_EQ(seenRows(problem, 1), (Rows{"000", "000"}));
  problem.masks = {causal(Alignment::BottomRight)};
  EXPECT_EQ(seenRows(problem, 0), (Rows{"111", "111"}));
  EXPECT_EQ(seenRows(problem, 1), (Rows{"000", "100"}));
}

TEST(Attention, M4WindowKeepsBothEnds) {
  Problem problem = meanProblem(4, 4);
  problem.masks = {window(1, 1)};
  EXPECT_EQ(seenRows(problem), (Rows{"1100", "1110", "0111", "0011"}));
  problem.masks = {window(std::nullopt, 0)};
  EXPECT_EQ(seenRows(problem), (Rows{"1000", "1100", "1110", "1111"}));
  problem.masks = {window(0, std::nullopt)};
  EXPECT_EQ(seenRows(problem), (Rows{"1111", "0111", "0011", "0001"}));
}

TEST(Attention, M4MinusOneIsALiteral) {
  Problem problem = meanProblem(3, 4);
  // Right -1: up to i - 1. Left -1: from i + 1.
  problem.masks = {window(std::nullopt, -1)};
  EXPECT_EQ(seenRows(problem), (Rows{"0000", "1000", "1100"}));
  problem.masks = {window(-1, std::nullopt)};
  EXPECT_EQ(seenRows(problem), (Rows{"0111", "0011", "0001"}));
}

TEST(Attention, M4EmptyWindowIsEmpty) {
  Problem problem = meanProblem(2, 3);
  problem.masks = {window(-1, -1)};
  EXPECT_EQ(seenRows(problem), (Rows{"000", "000"}));
}

TEST(Attention, M4HugeBoundsAreNotOverflow) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  Problem problem = meanProblem(2, 2);
  problem.masks = {window(kHuge, kHuge)};
  EXPECT_EQ(seenRows(problem), (Rows{"11", "11"}));
  problem.masks = {window(std::numeric_limits<int64_t>::min(), kHuge)};
  EXPECT_EQ(seenRows(problem), (Rows{"00", "00"}));
}

TEST(Attention, M5MasksIntersect) {
  Problem problem = meanProblem(4, 4);
  problem.masks = {causal(Alignment::BottomRight), window(2, std::nullopt)};
  EXPECT_EQ(seenRows(problem), (Rows{"1000", "1100", "1110", "0111"}));
  problem.queryDocument = problem.keyDocument = [](int64_t, int64_t s) { return s / 2; };
  EXPECT_EQ(seenRows(problem), (Rows{"1000", "1100", "0010", "0011"}));
  problem.predicate = [](int64_t, int64_t, int64_t i, int64_t j) { return i != 3 || j != 2; };
  EXPECT_EQ(seenRows(problem), (Rows{"1000", "1100", "0010", "0001"}));
}

TEST(Attention, M7MaskedKeysMayHoldNaN) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  Problem problem = meanProblem(3, 3);
  problem.masks = {causal(Alignment::TopLeft)};
  problem.key = [=](int64_t, int64_t j, int64_t, int64_t) { return j == 2 ? nan : 1.0; };
  problem.value = [=](int64_t, int64_t j, int64_t, int64_t) { return j == 2 ? nan : j + 1.0; };
  Results results = mustEvaluate(problem);
  EXPECT_EQ(*results.output(0, 0, 0), 1.0);
  EXPECT_EQ(*results.output(0, 0, 1), 1.5);
  EXPECT_TRUE(std::isnan(*results.output(0, 0, 2)));
  EXPECT_TRUE(std::isnan(results.lse(0, 0, 2)));
}

TEST(Attention, M8SinkIsOnlyInTheDenominator) {
  Problem problem = meanProblem(1, 3);
  problem.queryHeads = 2;
  problem.sink = {0.0, std::log(3.0)};
  Results results = mustEvaluate(problem);
  // Values 1 + 2 + 4 with weights 1 over 3 + 1 and 3 + 3.
  EXPECT_NEAR(*results.output(0, 0, 0), 7.0 / 4, 1e-15);
  EXPECT_NEAR(results.lse(0, 0, 0), std::log(4.0), 1e-15);
  EXPECT_NEAR(*results.output(0, 1, 0), 7.0 / 6, 1e-15);
  EXPECT_NEAR(results.lse(0, 1, 0), std::log(6.0), 1e-15);
}

TEST(Attention, M8HugeSinkDoesNotOverflow) {
  Problem problem = meanProblem(1, 1);
  problem.sink = {5000.0};
  Results results = mustEvaluate(problem);
  EXPECT_EQ(*results.output(0, 0, 0), 0.0);
  EXPECT_EQ(results.lse(0, 0, 0), 5000.0);
}

TEST(Attention, R1RowWithoutKeys) {
  Problem problem = meanProblem(2, 2);
  problem.masks = {window(-1, -1)};
  Results results = mustEvaluate(problem);
  EXPECT_EQ(*results.output(0, 0, 1), 0.0);
  EXPECT_EQ(results.lse(0, 0, 1), -infinity);
  problem.sink = {-3.25};
  results = mustEvaluate(problem);
  EXPECT_EQ(*results.output(0, 0, 1), 0.0);
  EXPECT_EQ(results.lse(0, 0, 1), -3.25);
  problem.sink = {-infinity};
  EXPECT_EQ(mustEvaluate(problem).lse(0, 0, 1), -infinity);
}

TEST(Attention, R3MergeOfHalvesIsTheWhole) {
  Problem problem = meanProblem(1, 7);
  problem.score = [](double, int64_t, int64_t, int64_t, int64_t j) { return 3.0 * j - 900.0; };
  Results whole = mustEvaluate(problem);
  problem.predicate = [](int64_t, int64_t, int64_t, int64_t j) { return j < 3; };
  Results first = mustEvaluate(problem);
  problem.predicate = [](int64_t, int64_t, int64_t, int64_t j) { return j >= 3; };
  Results second = mustEvaluate(problem);
  double merged = 0;
  double lse = mergeRow({*first.output(0, 0, 0)}, first.lse(0, 0, 0), {*second.output(0, 0, 0)},
                        second.lse(0, 0, 0), {merged});
  EXPECT_NEAR(merged, *whole.output(0, 0, 0), 1e-12);
  EXPECT_NEAR(lse, whole.lse(0, 0, 0), 1e-12);
}

TEST(Attention, R3EmptyStates) {
  double merged = 7;
  EXPECT_EQ(mergeRow({0.0}, -infinity, {0.0}, -infinity, {merged}), -infinity);
  EXPECT_EQ(merged, 0.0);
  EXPECT_EQ(mergeRow({0.0}, -infinity, {5.0}, 2.0, {merged}), 2.0);
  EXPECT_EQ(merged, 5.0);
  EXPECT_EQ(mergeRow({5.0}, 2.0, {0.0}, -infinity, {merged}), 2.0);
  EXPECT_EQ(merged, 5.0);
}

TEST(Attention, S3AnyHeadRatio) {
  for (int64_t ratio : {1, 3, 7, 10}) {
    Problem problem = meanProblem(1, 1);
    problem.keyHeads = 2;
    problem.queryHeads = 2 * ratio;
    problem.value = [](int64_t, int64_t, int64_t h, int64_t) { return h + 1.0; };
    Results results = mustEvaluate(problem);
    for (int64_t h = 0; h < 2 * ratio; ++h) {
      EXPECT_EQ(*results.output(0, h, 0), h < ratio ? 1.0 : 2.0) << ratio << " " << h;
    }
  }
}

class Blocks : public testing::TestWithParam<int64_t> {};

/// A second evaluation that shares no code with the library: one sum per score.
TEST_P(Blocks, EqualDirectSums) {
  int64_t keyLength = GetParam();
  fa4::numerics::InputGenerator generator{9};
  Problem problem;
  problem.batch = 2;
  problem.queryHeads = 2;
  problem.queryLength = 133;
  problem.keyLength = keyLength;
  problem.queryDim = 24;
  problem.valueDim = 40;
  problem.scale = 0.25;
  auto tensor = [&](fa4::numerics::InputTensor which) -> ElementAt {
    return [=](int64_t b, int64_t s, int64_t h, int64_t d) {
      return generator.element(which, ((b * 300 + s) * 2 + h) * 64 + d, d);
    };
  };
  problem.query = tensor(fa4::numerics::InputTensor::Query);
  problem.key = tensor(fa4::numerics::InputTensor::Key);
  problem.value = tensor(fa4::numerics::InputTensor::Value);
  problem.masks = {window(150, 3, Alignment::BottomRight)};
  Results results = mustEvaluate(problem);
  for (int64_t i : {0, 1, 3, 4, 127, 132}) {
    double sum = 0, output = 0;
    for (int64_t j = 0; j < keyLength; ++j) {
      int64_t aligned = i + keyLength - 133;
      if (j < aligned - 150 || j > aligned + 3) {
        continue;
      }
      double dot = 0;
      for (int64_t d = 0; d < 24; ++d) {
        dot += problem.query(1, i, 1, d) * problem.key(1, j, 0, d);
      }
      sum += std::exp(0.25 * dot);
      output += std::exp(0.25 * dot) * problem.value(1, j, 0, 39);
    }
    EXPECT_NEAR(results.output(1, 1, i)[39], output / sum, 1e-13);
    EXPECT_NEAR(results.lse(1, 1, i), std::log(sum), 1e-13);
  }
}

// Whole blocks of keys, and a ragged end.
INSTANTIATE_TEST_SUITE_P(Attention, Blocks, testing::Values(256, 261));

TEST(PlainF32, R7RoundsProbabilitiesInTheProductOnly) {
  Problem problem = meanProblem(1, 2);
  problem.score = [](double, int64_t, int64_t, int64_t, int64_t j) { return j == 0 ? 0.0 : -1.0; };
  problem.value = [](int64_t, int64_t j, int64_t, int64_t) { return static_cast<double>(j); };
  Results plain = llvm::cantFail(evaluatePlainF32(problem, fa4::numerics::HalfKind::BF16));
  // exp(-1) = 188.35 * 2^-9, and bf16 has steps of 2^-9 there; 376.7 * 2^-10 has
  // steps of 2^-12 in f16: 1506.8.
  float sum = 1.0F + std::exp(-1.0F);
  EXPECT_EQ(*plain.output(0, 0, 0), 188 * 0x1p-9F / sum);
  EXPECT_EQ(plain.lse(0, 0, 0), std::log(sum));
  plain = llvm::cantFail(evaluatePlainF32(problem, fa4::numerics::HalfKind::F16));
  EXPECT_EQ(*plain.output(0, 0, 0), 1507 * 0x1p-12F / sum);
}

} // namespace
