//===- CheckTest.cpp - the verdict on results -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Good results pass and each kind of damage is seen at its place.
//
//===----------------------------------------------------------------------===//

#include "TestProblem.h"

#include "fa4/Numerics/Random.h"
#include "fa4/Reference/Check.h"

using namespace fa4::ref;
using fa4::numerics::HalfKind;

namespace {

/// A seeded problem, its two evaluations, and what a kernel might have returned:
/// the plain result rounded to the output type.
class Check : public testing::Test {
protected:
  void SetUp() override { setUp(fa4::numerics::InputDistribution::Gaussian); }

  void setUp(fa4::numerics::InputDistribution distribution) {
    problem = Problem();
    problem.queryHeads = 2;
    problem.queryLength = 20;
    problem.keyLength = 150;
    problem.queryDim = 16;
    problem.valueDim = 8;
    problem.scale = 0.25;
    fa4::numerics::InputGenerator generator{3, distribution, problem.scale};
    auto tensor = [&](fa4::numerics::InputTensor which) -> ElementAt {
      return [=](int64_t b, int64_t s, int64_t h, int64_t d) {
        double value = generator.element(which, ((b * 150 + s) * 2 + h) * 16 + d, d);
        return fa4::numerics::bf16ToFloat(fa4::numerics::doubleToBF16(value));
      };
    };
    problem.query = tensor(fa4::numerics::InputTensor::Query);
    problem.key = tensor(fa4::numerics::InputTensor::Key);
    problem.value = tensor(fa4::numerics::InputTensor::Value);
    // Row 0 sees no key.
    problem.predicate = [](int64_t, int64_t, int64_t i, int64_t) { return i != 0; };
    exact = mustEvaluate(problem);
    plain = llvm::cantFail(evaluatePlainF32(problem, HalfKind::BF16));
    given = plain;
  }

  CheckReport check() {
    return checkResults(
        exact, plain,
        [&](int64_t b, int64_t s, int64_t h, int64_t d) {
          double value = given.output(b, h, s)[d];
          return fa4::numerics::bf16ToFloat(fa4::numerics::doubleToBF16(value));
        },
        [&](int64_t b, int64_t h, int64_t i) { return static_cast<float>(given.lse(b, h, i)); },
        options);
  }

  Problem problem;
  Results exact, plain, given;
  CheckOptions options;
};

TEST_F(Check, R7EveryInputFamilyPassesWithItsOwnPlainResult) {
  using fa4::numerics::InputDistribution;
  for (InputDistribution distribution :
       {InputDistribution::Gaussian, InputDistribution::LargeMean, InputDistribution::Peaked,
        InputDistribution::BelowMinus5e4}) {
    setUp(distribution);
    CheckReport report = check();
    EXPECT_TRUE(report.passed) << report.message;
    EXPECT_GT(report.plainError, 0.0);
    EXPECT_EQ(report.message, "");
  }
}

TEST_F(Check, R7FindsTheWrongElement) {
  double bound = check().outputBound;
  given.output(0, 1, 7)[5] = exact.output(0, 1, 7)[5] + 1.5 * bound;
  CheckReport report = check();
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.worstOutput.h, 1);
  EXPECT_EQ(report.worstOutput.i, 7);
  EXPECT_EQ(report.worstOutput.d, 5);
  EXPECT_EQ(report.message.find("o[b = 0, h = 1, i = 7, d = 5] (R7): expected the error to be"),
            0U);
  given.output(0, 1, 7)[5] = exact.output(0, 1, 7)[5] + 0.5 * bound;
  EXPECT_TRUE(check().passed);
}

TEST_F(Check, R7BoundIsTwicePlainPlusOneUlp) {
  double largest = 0;
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t i = 0; i < 20; ++i) {
      for (int64_t d = 0; d < 8; ++d) {
        largest = std::max(largest, std::fabs(exact.output(0, h, i)[d]));
      }
    }
  }
  CheckReport report = check();
  EXPECT_DOUBLE_EQ(report.outputBound, 2 * report.plainError + 0x1p-7 * largest);
  options.outputType = HalfKind::F16;
  EXPECT_DOUBLE_EQ(check().outputBound, 2 * report.plainError + 0x1p-10 * largest);
}

TEST_F(Check, R2FindsTheWrongRow) {
  double wanted = exact.lse(0, 1, 9), bound = lseBound(wanted, options);
  EXPECT_DOUBLE_EQ(bound, 0x1p-20 * std::max(1.0, wanted));
  given.lse(0, 1, 9) = wanted + 2 * bound;
  CheckReport report = check();
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.worstLse.h, 1);
  EXPECT_EQ(report.worstLse.i, 9);
  EXPECT_EQ(report.message.find("lse[b = 0, h = 1, i = 9] (R2): expected the error to be"), 0U);
  // With emulated columns the same error is allowed.
  options.exp2Error = 1e-4;
  options.exp2Share = 0.125;
  EXPECT_DOUBLE_EQ(lseBound(wanted, options), bound + 2 * 1e-4 * 0.125);
  EXPECT_TRUE(check().passed) << check().message;
}

TEST_F(Check, NaNNeverPasses) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  given.output(0, 0, 3)[2] = nan;
  EXPECT_FALSE(check().passed);
  EXPECT_EQ(check().worstOutput.i, 3);
  given = plain;
  given.lse(0, 0, 4) = nan;
  EXPECT_FALSE(check().passed);
  EXPECT_EQ(check().worstLse.i, 4);
  // Not even where the oracle or the plain result has one too.
  given = plain;
  given.output(0, 0, 3)[2] = exact.output(0, 0, 3)[2] = nan;
  EXPECT_FALSE(check().passed);
  given = exact = mustEvaluate(problem);
  plain.output(0, 0, 3)[2] = nan;
  EXPECT_FALSE(check().passed);
}

TEST_F(Check, InfinitiesMustMatch) {
  given.lse(0, 0, 0) = -1e30;
  EXPECT_FALSE(check().passed);
  EXPECT_EQ(check().worstLse.i, 0);
  given = plain;
  given.lse(0, 0, 5) = -infinity;
  EXPECT_FALSE(check().passed);
  given = plain;
  given.output(0, 0, 5)[0] = infinity;
  EXPECT_FALSE(check().passed);
}

TEST_F(Check, R1EmptyRowsAreExactlyZero) {
  given.output(0, 1, 0)[3] = 1e-6;
  CheckReport report = check();
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.message.find("o[b = 0, h = 1, i = 0, d = 3] (R1): expected"), 0U);
}

TEST_F(Check, OutputAloneCanBeJudged) {
  CheckReport report = checkResults(
      exact, plain,
      [&](int64_t b, int64_t s, int64_t h, int64_t d) { return exact.output(b, h, s)[d]; }, nullptr,
      options);
  EXPECT_TRUE(report.passed);
  EXPECT_EQ(report.outputError, 0.0);
}

} // namespace
