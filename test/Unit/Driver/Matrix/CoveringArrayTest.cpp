//===- CoveringArrayTest.cpp - the matrix covers what it says -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CoveringArray.h"

#include "gtest/gtest.h"

#include <set>

using namespace fa4::matrix;

namespace {

TEST(CoveringArray, CoversEveryPairAndIsFixedByItsSeed) {
  std::vector<Case> cases = makeCoveringArray(1, 300);
  EXPECT_GE(cases.size(), 300U);
  EXPECT_LE(cases.size(), 600U);
  EXPECT_EQ(countMissingPairs(cases), 0U);
  EXPECT_EQ(makeCoveringArray(1, 300), cases);
  EXPECT_NE(makeCoveringArray(2, 300), cases);
}

TEST(CoveringArray, MissingPairsAreSeen) {
  std::vector<Case> cases = makeCoveringArray(1, 300);
  std::vector<Case> half(cases.begin(), cases.begin() + static_cast<ptrdiff_t>(cases.size() / 2));
  EXPECT_GT(countMissingPairs(half), 0U);
}

TEST(CoveringArray, ProductOrderVisitsEachCaseOnce) {
  std::set<Case> seen;
  constexpr uint64_t sample = 20000;
  for (uint64_t number = 0; number < sample; ++number) {
    EXPECT_TRUE(seen.insert(productCase(1, number)).second) << number;
  }
  EXPECT_EQ(productCase(1, productSize()), productCase(1, 0));
}

TEST(CoveringArray, KernelsGoByTheirFactors) {
  std::vector<Case> cases = makeCoveringArray(1, 300);
  Case other = cases.front();
  other[QueryLength] = (other[QueryLength] + 1) % 10;
  other[Strides] = (other[Strides] + 1) % 4;
  EXPECT_EQ(moduleText(other), moduleText(cases.front()));
  other[Mask] = (other[Mask] + 1) % 16;
  EXPECT_NE(moduleText(other), moduleText(cases.front()));
}

} // namespace
