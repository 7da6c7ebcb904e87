//===- ApproxTest.cpp -----------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Approx.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace fa4::sim;

namespace {

uint32_t bitsOf(float value) { return llvm::bit_cast<uint32_t>(value); }
float valueOf(uint32_t bits) { return llvm::bit_cast<float>(bits); }

uint32_t nearest(ApproxOp op, uint32_t bits, bool ftz = true) {
  return approximate(op, ftz, bits, ApproxPolicy(), 0);
}

constexpr uint32_t kInfinity = 0x7F800000, kNaN = 0x7FFFFFFF, kMinusZero = 0x80000000;

TEST(Approx, FixedResults) {
  EXPECT_EQ(nearest(ApproxOp::Ex2, kMinusZero), bitsOf(1));
  EXPECT_EQ(nearest(ApproxOp::Ex2, 0xFF800000), 0u);
  EXPECT_EQ(nearest(ApproxOp::Ex2, bitsOf(-126)), 0x00800000u);
  EXPECT_EQ(nearest(ApproxOp::Ex2, bitsOf(-126.5f)), 0u);
  EXPECT_EQ(nearest(ApproxOp::Ex2, bitsOf(-127), false), 0x00400000u);
  EXPECT_EQ(nearest(ApproxOp::Ex2, 0x7F800001), kNaN);
  EXPECT_EQ(nearest(ApproxOp::Lg2, 0), 0xFF800000u);
  EXPECT_EQ(nearest(ApproxOp::Lg2, 1), 0xFF800000u);
  EXPECT_EQ(nearest(ApproxOp::Lg2, 1, false), bitsOf(-149));
  EXPECT_EQ(nearest(ApproxOp::Lg2, bitsOf(-1)), kNaN);
  EXPECT_EQ(nearest(ApproxOp::Rcp, kMinusZero), 0xFF800000u);
  EXPECT_EQ(nearest(ApproxOp::Rcp, 0x80000001), 0xFF800000u);
  EXPECT_EQ(nearest(ApproxOp::Rcp, 0x7E800000), 0x00800000u);
  EXPECT_EQ(nearest(ApproxOp::Rcp, 0xFE800001), 0x80000000u);
  EXPECT_EQ(nearest(ApproxOp::Rcp, 0x7E800000, false), 0x00800000u);
  EXPECT_EQ(nearest(ApproxOp::Rsqrt, kInfinity), 0u);
  EXPECT_EQ(nearest(ApproxOp::Rsqrt, bitsOf(-4)), kNaN);
  EXPECT_EQ(nearest(ApproxOp::Sqrt, kMinusZero), kMinusZero);
  EXPECT_EQ(nearest(ApproxOp::Tanh, 0xFF800000), bitsOf(-1));
  EXPECT_EQ(nearest(ApproxOp::Sin, kInfinity), kNaN);
  EXPECT_EQ(nearest(ApproxOp::Cos, kMinusZero), bitsOf(1));
}

TEST(Approx, LowLeansAsTheHardware) {
  ApproxPolicy low{ApproxMode::Low, 0};
  EXPECT_EQ(approximate(ApproxOp::Ex2, true, bitsOf(-3), low, 0), bitsOf(0.125f));
  EXPECT_EQ(approximate(ApproxOp::Ex2, true, bitsOf(-2.5f), low, 0),
            nearest(ApproxOp::Ex2, bitsOf(-2.5f)) - 1);
  EXPECT_EQ(approximate(ApproxOp::Ex2, true, bitsOf(0.3f), low, 0),
            nearest(ApproxOp::Ex2, bitsOf(0.3f)));
}

struct Bound {
  ApproxOp op;
  float low, high;
  double (*exact)(double);
  double relative, absolute;
};

class Bounds : public testing::TestWithParam<Bound> {};

TEST_P(Bounds, EveryModeStaysInside) {
  const Bound &bound = GetParam();
  std::mt19937 random(5);
  std::uniform_real_distribution<float> inputs(bound.low, bound.high);
  for (ApproxMode mode :
       {ApproxMode::Nearest, ApproxMode::Low, ApproxMode::Jitter, ApproxMode::Edge}) {
    for (uint64_t seed : {1, 2, 3}) {
      double largest = 0;
      for (int i = 0; i < 2000; ++i) {
        float x = inputs(random);
        ApproxPolicy policy{mode, seed};
        uint32_t got = approximate(bound.op, true, bitsOf(x), policy, 17);
        ASSERT_EQ(got, approximate(bound.op, true, bitsOf(x), policy, 17));
        double exact = bound.exact(x);
        double error = std::fabs(valueOf(got) - exact);
        double allowed = std::max(bound.absolute, std::fabs(exact) * bound.relative);
        ASSERT_LE(error, allowed) << "mode " << int(mode) << " input " << x;
        largest = std::max(largest, error / allowed);
      }
      if (mode == ApproxMode::Edge) {
        EXPECT_GT(largest, 0.45); // really at the bound
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Functions, Bounds,
    testing::Values(
        Bound{ApproxOp::Ex2, -100, 100, [](double x) { return std::exp2(x); }, 0x1p-22, 0},
        Bound{ApproxOp::Lg2, 0.5f, 2, [](double x) { return std::log2(x); }, 0, 0x1p-22},
        Bound{ApproxOp::Lg2, 3, 1e30f, [](double x) { return std::log2(x); }, 0x1p-22, 0},
        Bound{ApproxOp::Rcp, 0.1f, 50, [](double x) { return 1 / x; }, 0x1p-23, 0},
        Bound{ApproxOp::Rsqrt, 0.1f, 50, [](double x) { return 1 / std::sqrt(x); },
              0x1.126p-23 /* 2^-22.9 */, 0},
        Bound{ApproxOp::Sqrt, 0.1f, 50, [](double x) { return std::sqrt(x); }, 0x1p-23, 0},
        Bound{ApproxOp::Tanh, -3, 3, [](double x) { return std::tanh(x); }, 0x1p-11, 0},
        Bound{ApproxOp::Sin, -6, 6, [](double x) { return std::sin(x); }, 0, 0x1.6bp-21},
        Bound{ApproxOp::Cos, -6, 6, [](double x) { return std::cos(x); }, 0, 0x1.6bp-21}));

TEST(Approx, JitterDependsOnSiteAndSeed) {
  unsigned differing = 0;
  for (uint32_t site = 0; site < 32; ++site) {
    ApproxPolicy one{ApproxMode::Jitter, 1}, two{ApproxMode::Jitter, 2};
    uint32_t x = bitsOf(-0.7f);
    differing += approximate(ApproxOp::Ex2, true, x, one, site) !=
                 approximate(ApproxOp::Ex2, true, x, two, site);
  }
  EXPECT_GT(differing, 8u);
}

TEST(Approx, HalfForms) {
  ApproxPolicy policy;
  EXPECT_EQ(approximateHalf(ApproxOp::Ex2, ElementType::F16, false, 0x3C00, policy, 0), 0x4000);
  EXPECT_EQ(approximateHalf(ApproxOp::Ex2, ElementType::BF16, true, 0xC000, policy, 0), 0x3E80);
  EXPECT_EQ(approximateHalf(ApproxOp::Ex2, ElementType::F16, false, 0x7E00, policy, 0), 0x7FFF);
  EXPECT_EQ(approximateHalf(ApproxOp::Tanh, ElementType::BF16, false, 0xFF80, policy, 0), 0xBF80);
  EXPECT_EQ(approximateHalf(ApproxOp::Ex2, ElementType::BF16, true, 0xC300, policy, 0), 0x0000)
      << "2^-128 is subnormal and flushed";
  EXPECT_EQ(approximateHalf(ApproxOp::Ex2, ElementType::BF16, false, 0xC300, policy, 0), 0x0020);
}

} // namespace
