//===- TestProblem.h - small problems with known answers --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With q = 0 every score is 0, so a row's output is the mean of the values it
// sees. Giving key j the value 2^j then makes the output times the number of seen
// keys a bit set of exactly those keys.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_REFERENCE_TESTPROBLEM_H
#define FA4_TEST_UNIT_REFERENCE_TESTPROBLEM_H

#include "fa4/Reference/Attention.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

namespace fa4::ref {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Equal scores; the value of key j is 2^j.
inline Problem meanProblem(int64_t queryLength, int64_t keyLength) {
  Problem problem;
  problem.queryLength = queryLength;
  problem.keyLength = keyLength;
  problem.queryDim = problem.valueDim = 1;
  problem.query = [](int64_t, int64_t, int64_t, int64_t) { return 0.0; };
  problem.key = [](int64_t, int64_t, int64_t, int64_t) { return 1.0; };
  problem.value = [](int64_t, int64_t j, int64_t, int64_t) {
    return std::ldexp(1.0, static_cast<int>(j));
  };
  return problem;
}

inline Results mustEvaluate(const Problem &problem) {
  llvm::Expected<Results> results = evaluate(problem, 2);
  if (!results) {
    ADD_FAILURE() << llvm::toString(results.takeError());
    return Results();
  }
  return std::move(*results);
}

/// The keys a row of a meanProblem saw, as a string like "0110" (key 0 first).
inline std::string seen(const Results &results, int64_t b, int64_t h, int64_t i, int64_t keys) {
  int64_t count = results.seenKeys(b, h, i);
  auto bits = static_cast<uint64_t>(std::llround(*results.output(b, h, i) * count));
  // ln of the number of keys, each of which has exp(0) = 1.
  if (count == 0) {
    EXPECT_EQ(results.lse(b, h, i), -infinity);
  } else {
    EXPECT_NEAR(results.lse(b, h, i), std::log(static_cast<double>(count)), 1e-14);
  }
  std::string text;
  for (int64_t j = 0; j < keys; ++j) {
    text += (bits >> j & 1) != 0 ? '1' : '0';
  }
  return text;
}

/// All rows of head 0 of a sequence.
inline std::vector<std::string> seenRows(const Problem &problem, int64_t b = 0) {
  Results results = mustEvaluate(problem);
  std::vector<std::string> rows;
  for (int64_t i = 0; i < results.rows(b); ++i) {
    rows.push_back(seen(results, b, 0, i, problem.usedKeys(b)));
  }
  return rows;
}

using Rows = std::vector<std::string>;

inline PositionMask causal(Alignment alignment) {
  PositionMask mask;
  mask.alignment = alignment;
  mask.causal = true;
  return mask;
}

inline PositionMask window(std::optional<int64_t> left, std::optional<int64_t> right,
                           Alignment alignment = Alignment::TopLeft) {
  PositionMask mask;
  mask.alignment = alignment;
  mask.left = left;
  mask.right = right;
  return mask;
}

} // namespace fa4::ref

#endif // FA4_TEST_UNIT_REFERENCE_TESTPROBLEM_H
