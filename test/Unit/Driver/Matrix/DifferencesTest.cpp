//===- DifferencesTest.cpp ------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Differences.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace fa4;
using namespace fa4::matrix;
using fa4::driver::HostArray;

namespace {

Difference compare(support::NpyType type, std::vector<double> a, std::vector<double> b) {
  auto number = static_cast<int64_t>(a.size());
  HostArray left(type, {number}), right(type, {number});
  for (int64_t i = 0; i < number; ++i) {
    left.set({i}, a[i]);
    right.set({i}, b[i]);
  }
  return findDifference(left, right);
}

TEST(Differences, AreCountedInUnitsOfTheType) {
  Difference result = compare(support::NpyType::BF16, {1, 2, -4}, {1, 2.015625, -4});
  EXPECT_EQ(result.elements, 3U);
  EXPECT_EQ(result.others, 1U);
  EXPECT_EQ(result.units, 1);
  EXPECT_EQ(compare(support::NpyType::F16, {2}, {2 + 0x3p-9}).units, 3);
  EXPECT_EQ(compare(support::NpyType::F32, {1}, {1 + 0x1p-22}).units, 2);
  EXPECT_EQ(compare(support::NpyType::F32, {0}, {0x1p-149}).units, 1);
}

TEST(Differences, TellZerosApartAndRefuseOnlyOneNumber) {
  Difference zeros = compare(support::NpyType::F32, {0.0}, {-0.0});
  EXPECT_EQ(zeros.others, 1U);
  EXPECT_EQ(zeros.units, 0);
  EXPECT_EQ(compare(support::NpyType::F32, {-INFINITY}, {-INFINITY}).others, 0U);
  EXPECT_TRUE(std::isinf(compare(support::NpyType::F32, {-INFINITY}, {1}).units));
}

TEST(Differences, AreSmallBesideTermsThatCancel) {
  HostArray left(support::NpyType::F32, {3}), right(support::NpyType::F32, {3});
  left.set({1}, 0x1p-20);
  right.set({1}, 0x3p-20);
  left.set({2}, 8);
  right.set({2}, 8 + 0x1p-20);
  Difference plain = findDifference(left, right);
  EXPECT_EQ(plain.units, 0x1p23); // 2^-19 in units of 2^-42
  ASSERT_EQ(plain.worst.size(), 1U);
  EXPECT_EQ(plain.worst.front(), 1);
  // Terms of 2^3 have units of 2^-20.
  Difference ofTerms = findDifference(left, right, [](llvm::ArrayRef<int64_t>) { return 8.0; });
  EXPECT_EQ(ofTerms.units, 2);
  EXPECT_EQ(ofTerms.others, 2U);
}

} // namespace
