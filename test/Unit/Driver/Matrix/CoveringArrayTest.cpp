//===- CoveringArrayTest.cpp - the matrix covers what it says -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CoveringArray.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

using namespace fa4::matrix;

namespace {

TEST(CoveringArray, CoversEveryPairAndIsFixedByItsSeed) {
  std::vector<Case> cases = makeCoveringArray(allLevels(), 1, 300);
  EXPECT_GE(cases.size(), 300U);
  EXPECT_LE(cases.size(), 600U);
  EXPECT_EQ(countMissingPairs(allLevels(), cases), 0U);
  EXPECT_EQ(makeCoveringArray(allLevels(), 1, 300), cases);
  EXPECT_NE(makeCoveringArray(allLevels(), 2, 300), cases);
}

TEST(CoveringArray, MissingPairsAreSeen) {
  std::vector<Case> cases = makeCoveringArray(allLevels(), 1, 300);
  std::vector<Case> half(cases.begin(), cases.begin() + static_cast<ptrdiff_t>(cases.size() / 2));
  EXPECT_GT(countMissingPairs(allLevels(), half), 0U);
}

TEST(CoveringArray, ProductOrderVisitsEachCaseOnce) {
  Levels levels = allLevels();
  std::set<Case> seen;
  constexpr uint64_t sample = 20000;
  for (uint64_t number = 0; number < sample; ++number) {
    EXPECT_TRUE(seen.insert(productCase(levels, 1, number)).second) << number;
  }
  EXPECT_EQ(productCase(levels, 1, productSize(levels)), productCase(levels, 1, 0));
}

TEST(CoveringArray, KeepsToTheLevelsItIsGiven) {
  Levels levels = deviceLevels(true);
  std::vector<Case> cases = makeCoveringArray(levels, 1, 300);
  EXPECT_GE(cases.size(), 300U);
  EXPECT_EQ(countMissingPairs(levels, cases), 0U);
  std::set<std::string> dims;
  for (const Case &point : cases) {
    dims.insert(levelName(point, HeadDim));
  }
  EXPECT_EQ(dims, (std::set<std::string>{"64", "96", "128"}));
  for (const Case &point : makeCoveringArray(deviceLevels(false), 1, 300)) {
    EXPECT_NE(levelName(point, Scheduler).substr(0, 5), "drawn");
  }
  for (const Case &point : makeCoveringArray(deviceLevels(true, /*pairs=*/true), 1, 30)) {
    EXPECT_NE(levelName(point, Scheduler).substr(0, 5), "drawn");
    EXPECT_NE(levelName(point, LayoutKind).substr(0, 3), "thd");
  }
  for (uint64_t number = 0; number < 1000; ++number) {
    EXPECT_EQ(dims.count(levelName(productCase(levels, 1, number), HeadDim)), 1U);
  }
}

TEST(CoveringArray, GivesEachKernelAsManyCasesAsAsked) {
  std::vector<Case> cases = makeCoveringArray(deviceLevels(true), 1, 300, 3);
  EXPECT_EQ(countMissingPairs(deviceLevels(true), cases), 0U);
  ASSERT_EQ(cases.size(), 300U);
  for (size_t number = 0; number < cases.size(); ++number) {
    EXPECT_EQ(moduleText(cases[number]), moduleText(cases[number / 3 * 3])) << number;
  }
}

TEST(CoveringArray, MaskProductHasEveryMaskOfEveryKind) {
  Levels levels = deviceLevels(true);
  std::vector<Case> cases = makeMaskProduct(levels, 1, 3);
  std::map<std::array<unsigned, 3>, size_t> counts;
  for (const Case &point : cases) {
    ++counts[{point[ElementType], point[HeadDim], point[Mask]}];
    for (unsigned factor = 0; factor < NumFactors; ++factor) {
      EXPECT_NE(std::count(levels[factor].begin(), levels[factor].end(), point[factor]), 0);
    }
  }
  EXPECT_EQ(counts.size(),
            levels[ElementType].size() * levels[HeadDim].size() * levels[Mask].size());
  for (const auto &[kind, count] : counts) {
    EXPECT_EQ(count, 3U);
  }
  EXPECT_NE(cases, makeMaskProduct(levels, 2, 3));
}

TEST(CoveringArray, KernelsGoByTheirFactors) {
  std::vector<Case> cases = makeCoveringArray(allLevels(), 1, 300);
  Case other = cases.front();
  other[QueryLength] = (other[QueryLength] + 1) % 10;
  other[Strides] = (other[Strides] + 1) % 4;
  EXPECT_EQ(moduleText(other), moduleText(cases.front()));
  other[Mask] = (other[Mask] + 1) % 16;
  EXPECT_NE(moduleText(other), moduleText(cases.front()));
}

} // namespace
