//===- Exp2Test.cpp - dense accuracy sweeps of 2^x --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle is std::exp2 in double, whose error (below 1e-15) is nothing beside
// the bounds checked here. The sweeps cover every f32 of whole binades, since
// f = x - floor(x) takes all its values there.
//
//===----------------------------------------------------------------------===//

#include "fa4/Numerics/Exp2.h"

#include "fa4/Numerics/Random.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "gtest/gtest.h"

#include <cfenv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

using namespace fa4::numerics;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

template <class Function>
double relativeError(Function function, float x) {
  double exact = std::exp2(static_cast<double>(x));
  return std::fabs(static_cast<double>(function(x)) - exact) / exact;
}

/// Largest relative error over every f32 from `low` to `high`, both of one sign.
template <class Function>
double sweep(Function function, float low, float high) {
  uint32_t first = bitsFromFloat(low), last = bitsFromFloat(high);
  if (first > last) {
    std::swap(first, last);
  }
  double largest = 0.0;
  for (uint32_t bits = first; bits <= last; ++bits) {
    largest = std::max(largest, relativeError(function, floatFromBits(bits)));
  }
  return largest;
}

/// Random points of [low, high] in f32.
template <class Function>
double sample(Function function, float low, float high, unsigned count) {
  CounterRandom random(7, 0);
  double largest = 0.0;
  for (unsigned i = 0; i < count; ++i) {
    largest = std::max(
        largest,
        relativeError(function, static_cast<float>(low + (high - low) * random.uniform(i))));
  }
  return largest;
}

class PolynomialDegree : public testing::TestWithParam<unsigned> {};

TEST_P(PolynomialDegree, ErrorStaysWithinTheTablesBound) {
  unsigned degree = GetParam();
  auto function = [&](float x) { return hostExp2Polynomial(x, degree); };
  // [1, 2) has every f that is a multiple of 2^-23, [-1, -1/4] also those that
  // the subtraction rounds; the tail towards -0 is f = 1 within a step.
  double largest = std::max(sweep(function, 1.0F, 2.0F), sweep(function, -0.25F, -1.0F));
  largest = std::max(largest, sample(function, -126.0F, 127.0F, 1U << 21));
  // Both signs down to the smallest exponents.
  for (int i = 0; i < 1 << 17; ++i) {
    float x = std::exp2(-2.0F - static_cast<float>(i) * 0x1p-10F);
    largest = std::max({largest, relativeError(function, x), relativeError(function, -x)});
  }
  const Exp2TableRow *row = lookupExp2Row(degree);
  ASSERT_NE(row, nullptr);
  std::printf("degree %u: largest relative error %.3e, approximation %.3e, "
              "bound %.3e\n",
              degree, largest, row->approximationError, row->errorBound);
  EXPECT_LE(largest, row->errorBound);
  // The bound is not idle: the measured error comes close to it.
  EXPECT_GE(largest, 0.75 * row->approximationError);
  // The published kernels' coefficients (fa4-algorithm.md 3.4) under the same
  // sweep; ours may not be worse.
  const double published[] = {8.769e-5, 3.049e-6, 1.557e-7};
  EXPECT_LE(largest, published[degree - minExp2Degree]);
}

TEST_P(PolynomialDegree, IntegersAreExact) {
  for (int n = -126; n <= 127; ++n) {
    EXPECT_EQ(hostExp2Polynomial(static_cast<float>(n), GetParam()), std::ldexp(1.0F, n));
  }
}

TEST_P(PolynomialDegree, MaskedScoresAreExactlyPlusZero) {
  for (float x : {-127.0F, -127.5F, -1e9F, -std::numeric_limits<float>::max(), -infinity,
                  std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(bitsFromFloat(hostExp2Polynomial(x, GetParam())), 0U) << x;
  }
}

TEST_P(PolynomialDegree, BelowTheNormalRangeStaysTiny) {
  for (int i = 0; i < 4096; ++i) {
    float x = -127.0F + static_cast<float>(i) * 0x1p-12F;
    float value = hostExp2Polynomial(x, GetParam());
    EXPECT_GE(value, 0.0F);
    EXPECT_LT(value, 0x1p-126F) << x;
  }
}

INSTANTIATE_TEST_SUITE_P(Exp2, PolynomialDegree, testing::Values(3U, 4U, 5U));

/// HostExp2Emitter without its replacement of the directed rounding.
struct DirectedRounding : HostExp2Emitter {
  F32 addRoundDown(F32 x, F32 m) const {
    volatile float a = x, b = m;
    std::fesetround(FE_DOWNWARD);
    volatile float sum = a + b;
    std::fesetround(FE_TONEAREST);
    return sum;
  }
};

TEST(Exp2, FloorFormEqualsDirectedRounding) {
  CounterRandom random(11, 0);
  DirectedRounding directed;
  for (unsigned i = 0; i < 1U << 18; ++i) {
    auto x = static_cast<float>(-130.0 + 257.0 * random.uniform(i));
    ASSERT_EQ(bitsFromFloat(exp2Polynomial(directed, x, 3)),
              bitsFromFloat(hostExp2Polynomial(x, 3)))
        << x;
  }
  for (float x : {-1e-38F, 1e-38F, -0x1p-149F, -0.0F, 0.0F, -126.99999F}) {
    EXPECT_EQ(bitsFromFloat(exp2Polynomial(directed, x, 3)),
              bitsFromFloat(hostExp2Polynomial(x, 3)));
  }
}

TEST(Exp2, OnlyTheTablesDegreesExist) {
  for (unsigned degree : {0U, 1U, 2U, 6U, 7U}) {
    EXPECT_EQ(lookupExp2Row(degree), nullptr) << degree;
  }
}

TEST(Exp2Accurate, WithinTwoUlp) {
  double largest =
      std::max(sweep(hostExp2Accurate, 1.0F, 2.0F), sweep(hostExp2Accurate, -0.25F, -1.0F));
  largest = std::max(largest, sample(hostExp2Accurate, -126.0F, 127.99F, 1U << 21));
  std::printf("accurate: largest relative error %.3e\n", largest);
  EXPECT_LE(largest, accurateExp2Row().errorBound);
  // An f32 ulp is at least 2^-24 of the value: one of the two ulps suffices.
  EXPECT_LE(accurateExp2Row().errorBound, 2 * 0x1p-24);
}

TEST(Exp2Accurate, EdgeCases) {
  EXPECT_EQ(bitsFromFloat(hostExp2Accurate(-infinity)), 0U);
  EXPECT_EQ(bitsFromFloat(hostExp2Accurate(-126.00001F)), 0U);
  EXPECT_EQ(bitsFromFloat(hostExp2Accurate(-150.0F)), 0U);
  EXPECT_EQ(bitsFromFloat(hostExp2Accurate(-std::numeric_limits<float>::max())), 0U);
  EXPECT_EQ(hostExp2Accurate(infinity), infinity);
  EXPECT_EQ(hostExp2Accurate(128.0F), infinity);
  EXPECT_EQ(hostExp2Accurate(std::numeric_limits<float>::max()), infinity);
  EXPECT_TRUE(std::isfinite(hostExp2Accurate(std::nextafter(128.0F, 0.0F))));
  // The integer steps would turn the payload of the second NaN into a number.
  EXPECT_TRUE(std::isnan(hostExp2Accurate(floatFromBits(0x7FC00000U))));
  EXPECT_TRUE(std::isnan(hostExp2Accurate(floatFromBits(0x7FC00001U))));
  EXPECT_TRUE(std::isnan(hostExp2Accurate(floatFromBits(0xFFFFFFFFU))));
  EXPECT_EQ(hostExp2Accurate(-0.0F), 1.0F);
  for (int n = -126; n <= 127; ++n) {
    EXPECT_EQ(hostExp2Accurate(static_cast<float>(n)), std::ldexp(1.0F, n));
  }
}

std::string readAll(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().str() : std::string();
}

TEST(Exp2Table, IsWhatTheScriptWrites) {
  std::string source = FA4_SOURCE_DIR;
  std::string script = source + "/scripts/generate-exp2-table.py";
  std::string fresh = testing::TempDir() + "Exp2Table.fresh.inc";
  ASSERT_EQ(llvm::sys::ExecuteAndWait(FA4_PYTHON, {FA4_PYTHON, script, "--output", fresh}), 0);
  std::string checkedIn = readAll(source + "/include/fa4/Numerics/Exp2Table.inc");
  EXPECT_FALSE(checkedIn.empty());
  EXPECT_EQ(readAll(fresh), checkedIn);
  std::remove(fresh.c_str());
}

TEST(Exp2Table, IsWhatThePageSays) {
  std::string page = readAll(std::string(FA4_SOURCE_DIR) + "/docs/Numerics.md");
  for (const Exp2TableRow &row : exp2Table) {
    char start[64], end[64];
    std::snprintf(start, sizeof(start), "\n| %u | [%s] | %.3e | ", row.degree,
                  row.domainLow == 0.0 ? "0, 1" : "-1/2, 1/2", row.approximationError);
    std::snprintf(end, sizeof(end), " | %.3e |\n", row.errorBound);
    size_t line = page.find(start);
    ASSERT_NE(line, std::string::npos) << start;
    EXPECT_EQ(page.find(end, line), page.find('\n', line + 1) + 1 - std::string(end).size());
  }
}

} // namespace
