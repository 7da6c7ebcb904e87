//===- TensorArithTest.cpp ------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/TensorArith.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <chrono>
#include <cmath>
#include <random>

using namespace fa4::sim;

namespace {

constexpr ElementType kOperandTypes[] = {ElementType::F16,  ElementType::BF16, ElementType::TF32,
                                         ElementType::E4M3, ElementType::E5M2, ElementType::E2M3,
                                         ElementType::E3M2, ElementType::E2M1};

uint32_t bitsOf(float value) { return llvm::bit_cast<uint32_t>(value); }

TEST(ElementTypes, EveryBitPatternRoundTrips) {
  for (ElementType type : {ElementType::F16, ElementType::BF16}) {
    for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
      double value = elementToDouble(type, bits);
      if (std::isnan(value)) {
        EXPECT_EQ(roundToElement(type, value), 0x7FFFu);
      } else {
        ASSERT_EQ(roundToElement(type, value), bits);
      }
    }
  }
}

TEST(ElementTypes, RoundsToNearestEven) {
  EXPECT_EQ(roundToElement(ElementType::F16, 70000), 0x7C00u);
  EXPECT_EQ(roundToElement(ElementType::F16, 65519.99), 0x7BFFu);
  EXPECT_EQ(roundToElement(ElementType::F16, 65520), 0x7C00u);
  EXPECT_EQ(roundToElement(ElementType::F16, 0x1p-25), 0u);
  EXPECT_EQ(roundToElement(ElementType::F16, 0x1.8p-24), 2u);
  EXPECT_EQ(roundToElement(ElementType::F16, 2049), 0x6800u);
  EXPECT_EQ(roundToElement(ElementType::F16, -2051), 0xE802u);
  EXPECT_EQ(roundToElement(ElementType::BF16, 3.4e38), 0x7F80u);
  EXPECT_EQ(roundToElement(ElementType::F32, 0.1), 0x3DCCCCCDu);
  EXPECT_EQ(roundToElement(ElementType::F32, -0.0), 0x80000000u);
}

TEST(ElementTypes, NarrowFormats) {
  EXPECT_EQ(elementToDouble(ElementType::E4M3, 0x7E), 448);
  EXPECT_TRUE(std::isnan(elementToDouble(ElementType::E4M3, 0xFF)));
  EXPECT_EQ(elementToDouble(ElementType::E4M3, 0x01), 0x1p-9);
  EXPECT_EQ(elementToDouble(ElementType::E5M2, 0x7B), 57344);
  EXPECT_EQ(elementToDouble(ElementType::E5M2, 0xFC), -HUGE_VAL);
  EXPECT_EQ(elementToDouble(ElementType::E2M3, 0x1F), 7.5);
  EXPECT_EQ(elementToDouble(ElementType::E3M2, 0x1F), 28);
  EXPECT_EQ(elementToDouble(ElementType::E2M1, 0x0F), -6);
  EXPECT_EQ(elementToDouble(ElementType::TF32, bitsOf(1.0f) | 0x1FFF), 1);
}

TEST(FusedSum, CutsBelowTheLargestTerm) {
  // 1 + 2^-26 + 2^-26: in f32 fma order nothing is left, exactly it would be
  // 1 + 2^-25; with 25 fraction bits each small term is cut to zero.
  SumRule rule = hopperSumRule(ElementType::BF16, ElementType::F32);
  uint32_t one = 0x3F80, small = 0x3280 /* 2^-26 */;
  EXPECT_EQ(fusedSum(rule, ElementType::BF16, ElementType::BF16, {one, small, small},
                     {one, one, one}, false, 0),
            bitsOf(1.0f));
  // 2^-25 survives the alignment, and eight of them reach the result.
  uint32_t kept = 0x3300;
  std::vector<uint32_t> a(9, kept), b(9, one);
  a[0] = one;
  EXPECT_EQ(fusedSum(rule, ElementType::BF16, ElementType::BF16, a, b, false, 0),
            bitsOf(1.0f + 0x1p-22f));
}

TEST(FusedSum, ResultIsCutTowardZero) {
  SumRule rule = hopperSumRule(ElementType::BF16, ElementType::F32);
  uint32_t one = 0x3F80, small = 0x3300 /* 2^-25 */;
  EXPECT_EQ(
      fusedSum(rule, ElementType::BF16, ElementType::BF16, {one, small}, {one, one}, false, 0),
      bitsOf(1.0f));
  EXPECT_EQ(fusedSum(rule, ElementType::BF16, ElementType::BF16, {one, small}, {one, one}, true, 0),
            bitsOf(-1.0f));
  SumRule narrow = hopperSumRule(ElementType::E4M3, ElementType::F32);
  // 1 + 2^-3 * (1 + 2^-3) with C = 2^-14: C is below the 13 kept bits.
  EXPECT_EQ(fusedSum(narrow, ElementType::E4M3, ElementType::E4M3, {0x38, 0x20}, {0x38, 0x39},
                     false, bitsOf(0x1p-14f)),
            bitsOf(1.140625f));
}

TEST(FusedSum, SpecialValues) {
  SumRule rule = hopperSumRule(ElementType::F16, ElementType::F32);
  uint32_t infinity = 0x7C00, one = 0x3C00, zero = 0, nan = 0x7E01;
  auto sum = [&](uint32_t a, uint32_t b, uint32_t c) {
    return fusedSum(rule, ElementType::F16, ElementType::F16, {a, one}, {b, one}, false, c);
  };
  EXPECT_EQ(sum(infinity, one, 0), 0x7F800000u);
  EXPECT_EQ(sum(infinity, 0xBC00, 0), 0xFF800000u);
  EXPECT_EQ(sum(infinity, zero, 0), 0x7FFFFFFFu);
  EXPECT_EQ(sum(nan, one, 0), 0x7FFFFFFFu);
  EXPECT_EQ(sum(infinity, one, 0xFF800000), 0x7FFFFFFFu);
  SumRule half = hopperSumRule(ElementType::F16, ElementType::F16);
  EXPECT_EQ(fusedSum(half, ElementType::F16, ElementType::F16, {nan}, {one}, false, 0), 0x7FFFu);
}

class FastPath : public testing::TestWithParam<ElementType> {};

/// Random operands with wide exponents, subnormals, zeros and some specials:
/// the vector path must agree bit for bit with the definition.
TEST_P(FastPath, AgreesWithTheDefinition) {
  ElementType type = GetParam();
  std::mt19937_64 random(int(type) + 1);
  unsigned bits = containerBits(type);
  for (unsigned round = 0; round < 24; ++round) {
    ElementType result = round % 4 == 3 ? ElementType::F16 : ElementType::F32;
    SumRule rule = round % 2 ? hopperSumRule(type, result) : blackwellSumRule(result);
    unsigned rows = 16, columns = 8 * (1 + round % 3), depth = 8 << (round % 3);
    unsigned shift = round % 5;
    auto element = [&](unsigned index) -> uint32_t {
      uint32_t value = uint32_t(random()) >> (32 - bits);
      if (round < 8) { // magnitudes near one, so that much of the sum is kept
        double narrow = std::ldexp(double(int64_t(random() >> 32)) - 0x1p31, -30);
        value = type == ElementType::F16 || type == ElementType::BF16
                    ? roundToElement(type, narrow)
                    : (type == ElementType::TF32 ? bitsOf(float(narrow)) : value);
      }
      return random() % 16 == 0 ? 0 : value;
    };
    TensorPanel a(TensorPanel::Role::A, type, rows, depth);
    TensorPanel b(TensorPanel::Role::B, type, columns, depth);
    std::vector<std::vector<uint32_t>> aBits(rows), bBits(columns);
    for (unsigned k = 0; k < depth; ++k) {
      for (unsigned row = 0; row < rows; ++row) {
        aBits[row].push_back(element(row));
        a.set(row, k, aBits[row].back());
      }
      for (unsigned column = 0; column < columns; ++column) {
        bBits[column].push_back(element(column));
        b.set(column, k, bBits[column].back());
      }
    }
    std::vector<uint32_t> c(rows * columns), d(rows * columns, 0xDEAD);
    for (uint32_t &start : c) {
      start = round < 8 ? roundToElement(result, std::ldexp(double(random() >> 40), -23))
                        : uint32_t(random()) >> (result == ElementType::F16 ? 16 : 0);
    }
    bool negated = round % 3 == 1;
    if (negated) {
      a.negate();
    }
    multiplyAccumulate(rule, TensorMode::Exact, a, b,
                       llvm::ArrayRef<uint32_t>(c).take_front(round % 7 == 6 ? 0 : c.size()), d,
                       shift);
    for (unsigned row = 0; row < rows; ++row) {
      for (unsigned column = 0; column < columns; ++column) {
        uint32_t start = round % 7 == 6 ? 0 : c[row * columns + column];
        ASSERT_EQ(d[row * columns + column],
                  fusedSum(rule, type, type, aBits[row], bBits[column], negated, start, shift))
            << "round " << round << " row " << row << " column " << column;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, FastPath, testing::ValuesIn(kOperandTypes));

TEST(TensorModes, ChainAndDoubleAreNear) {
  std::mt19937_64 random(7);
  constexpr unsigned kRows = 16, kColumns = 16, kDepth = 16;
  TensorPanel a(TensorPanel::Role::A, ElementType::BF16, kRows, kDepth);
  TensorPanel b(TensorPanel::Role::B, ElementType::BF16, kColumns, kDepth);
  std::normal_distribution<double> normal;
  std::vector<double> x(kRows * kDepth), y(kColumns * kDepth);
  for (unsigned k = 0; k < kDepth; ++k) {
    for (unsigned row = 0; row < kRows; ++row) {
      uint32_t left = roundToElement(ElementType::BF16, normal(random));
      uint32_t right = roundToElement(ElementType::BF16, normal(random));
      a.set(row, k, left);
      b.set(row, k, right);
      x[row * kDepth + k] = elementToDouble(ElementType::BF16, left);
      y[row * kDepth + k] = elementToDouble(ElementType::BF16, right);
    }
  }
  SumRule rule = blackwellSumRule(ElementType::F32);
  std::vector<uint32_t> d(kRows * kColumns);
  for (TensorMode mode : {TensorMode::Exact, TensorMode::F32Fma, TensorMode::F64}) {
    multiplyAccumulate(rule, mode, a, b, {}, d);
    for (unsigned row = 0; row < kRows; ++row) {
      for (unsigned column = 0; column < kColumns; ++column) {
        double sum = 0, size = 0;
        for (unsigned k = 0; k < kDepth; ++k) {
          double product = x[row * kDepth + k] * y[column * kDepth + k];
          sum += product;
          size += std::fabs(product);
        }
        double got = llvm::bit_cast<float>(d[row * kColumns + column]);
        EXPECT_NEAR(got, sum, mode == TensorMode::F64 ? std::fabs(sum) * 0x1p-24 : size * 0x1p-19);
      }
    }
  }
}

/// The cost that the simulator's speed goal rests on, printed for the record.
TEST(TensorModes, Speed) {
  std::mt19937_64 random(3);
  constexpr unsigned kRows = 128, kColumns = 128, kDepth = 16;
  TensorPanel a(TensorPanel::Role::A, ElementType::BF16, kRows, kDepth);
  TensorPanel b(TensorPanel::Role::B, ElementType::BF16, kColumns, kDepth);
  for (unsigned row = 0; row < kRows; ++row) {
    for (unsigned k = 0; k < kDepth; ++k) {
      a.set(row, k, 0x3F80 | (random() & 0x807F));
      b.set(row, k, 0x3F80 | (random() & 0x807F));
    }
  }
  std::vector<uint32_t> d(kRows * kColumns);
  for (TensorMode mode : {TensorMode::Exact, TensorMode::F32Fma, TensorMode::F64}) {
    double best = 1e9;
    for (unsigned round = 0; round < 10; ++round) {
      auto start = std::chrono::steady_clock::now();
      multiplyAccumulate(blackwellSumRule(ElementType::F32), mode, a, b, d, d);
      std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
      best = std::min(best, spent.count());
    }
    RecordProperty("mode" + std::to_string(int(mode)) + "_ms", std::to_string(best));
    printf("mode %d: %.3f ms for 128x128x16\n", int(mode), best);
  }
}

} // namespace
