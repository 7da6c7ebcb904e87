//===- LengthsTest.cpp - lengths, layouts and strides -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProblem.h"

#include "fa4/Reference/Tensors.h"

using namespace fa4::ref;

namespace {

TEST(Lengths, S1UsedLengthsDecideTheAlignment) {
  Problem problem = meanProblem(0, 0);
  problem.batch = 2;
  problem.queryPrefix = {0, 3, 5};
  problem.keyPrefix = {0, 6, 11};
  problem.queryUsed = {2, 2};
  problem.keyUsed = {3, 5};
  problem.masks = {causal(Alignment::BottomRight)};
  // Row 2 of sequence 0 lies past the used length: o = 0, lse = -inf.
  EXPECT_EQ(seenRows(problem, 0), (Rows{"110", "111", "000"}));
  EXPECT_EQ(seenRows(problem, 1), (Rows{"11110", "11111"}));
}

TEST(Lengths, S1RowsPastTheUsedLengthIgnoreTheSink) {
  Problem problem = meanProblem(2, 1);
  problem.queryUsed = {1};
  problem.sink = {1.0};
  Results results = mustEvaluate(problem);
  EXPECT_NE(results.lse(0, 0, 0), -infinity);
  EXPECT_EQ(results.lse(0, 0, 1), -infinity);
  EXPECT_EQ(*results.output(0, 0, 1), 0.0);
}

TEST(Lengths, S1PackedTensorsCountInsideTheSequence) {
  // Values 0..4 of five tokens; sequence 1 begins at token 2.
  float values[5] = {0, 1, 2, 3, 4};
  Problem problem = meanProblem(0, 0);
  problem.batch = 2;
  problem.queryPrefix = {0, 1, 2};
  problem.keyPrefix = {0, 2, 5};
  problem.value = stridedTensor(values, ElementType::F32, Layout::THD, {1, 1, 1}, {0, 2, 5});
  problem.score = [](double s, int64_t, int64_t, int64_t, int64_t j) {
    return j == 0 ? s : s - 1e9;
  };
  Results results = mustEvaluate(problem);
  EXPECT_EQ(*results.output(0, 0, 0), 0.0);
  EXPECT_EQ(*results.output(1, 0, 0), 2.0);
}

TEST(Lengths, S4ZeroAndOne) {
  EXPECT_EQ(seenRows(meanProblem(2, 0)), (Rows{"", ""}));
  EXPECT_EQ(seenRows(meanProblem(0, 2)), Rows());
  EXPECT_EQ(seenRows(meanProblem(1, 1)), Rows{"1"});
  Problem none = meanProblem(3, 3);
  none.batch = 0;
  EXPECT_EQ(mustEvaluate(none).batch(), 0);
  Problem packed = meanProblem(0, 0);
  packed.batch = 3;
  packed.queryPrefix = {0, 1, 1, 2};
  packed.keyPrefix = {0, 0, 4, 5};
  EXPECT_EQ(seenRows(packed, 0), Rows{""});
  EXPECT_EQ(seenRows(packed, 1), Rows());
  EXPECT_EQ(seenRows(packed, 2), Rows{"1"});
}

TEST(Tensors, S2StridesAndLayouts) {
  double data[64];
  for (int i = 0; i < 64; ++i) {
    data[i] = i;
  }
  ElementAt bshd = stridedTensor(data, ElementType::F64, Layout::BSHD, {32, 8, 4, 1});
  EXPECT_EQ(bshd(1, 2, 1, 3), 32 + 16 + 4 + 3);
  ElementAt bhsd = stridedTensor(data, ElementType::F64, Layout::BHSD, {32, 16, 4, 1});
  EXPECT_EQ(bhsd(1, 2, 1, 3), 32 + 16 + 8 + 3);
  ElementAt thd = stridedTensor(data, ElementType::F64, Layout::THD, {8, 4, 1}, {0, 3, 5});
  EXPECT_EQ(thd(1, 1, 1, 2), (3 + 1) * 8 + 4 + 2);
  ElementAt broadcast = stridedTensor(data, ElementType::F64, Layout::BSHD, {0, 8, 0, 1});
  EXPECT_EQ(broadcast(7, 2, 5, 3), 16 + 3);
}

TEST(Tensors, ElementTypes) {
  uint16_t half = 0x3C00, brain = 0x3F80;
  float single = 2.5F;
  EXPECT_EQ(loadElement(&half, ElementType::F16, 0), 1.0);
  EXPECT_EQ(loadElement(&brain, ElementType::BF16, 0), 1.0);
  EXPECT_EQ(loadElement(&single, ElementType::F32, 0), 2.5);
}

TEST(Problem, Errors) {
  auto errorOf = [](auto change) {
    Problem problem = meanProblem(2, 2);
    change(problem);
    llvm::Expected<Results> results = evaluate(problem);
    return results ? std::string("no error") : llvm::toString(results.takeError());
  };
  EXPECT_EQ(errorOf([](Problem &p) { p.batch = -1; }),
            "expected batch to be non-negative, but got -1");
  EXPECT_EQ(errorOf([](Problem &p) {
              p.queryHeads = 6;
              p.keyHeads = 4;
            }),
            "expected query heads to be a positive multiple of 4 key heads, but got 6");
  EXPECT_EQ(errorOf([](Problem &p) { p.valueDim = 0; }),
            "expected head dimensions to be at least 1, but got 1 and 0");
  EXPECT_EQ(errorOf([](Problem &p) { p.keyLength = -2; }),
            "expected key length to be non-negative, but got -2");
  EXPECT_EQ(errorOf([](Problem &p) { p.queryPrefix = {0}; }),
            "expected the number of query prefix sums to be 2, but got 1");
  EXPECT_EQ(errorOf([](Problem &p) { p.keyPrefix = {3, 2}; }),
            "expected key prefix sum 1 to be at least the one before it and that at least 0, but "
            "got 2 after 3");
  EXPECT_EQ(errorOf([](Problem &p) { p.queryUsed = {3}; }),
            "expected query used length 0 to be in 0 to 2, but got 3");
  EXPECT_EQ(errorOf([](Problem &p) { p.positionOffsets = {1, 2}; }),
            "expected the number of position offsets to be 1, but got 2");
  EXPECT_EQ(errorOf([](Problem &p) { p.sink = {1, 2}; }),
            "expected the number of sinks to be 1, but got 2");
  EXPECT_EQ(errorOf([](Problem &p) { p.scale = infinity; }),
            "expected scale to be finite, but got inf");
  EXPECT_EQ(errorOf([](Problem &p) { p.key = nullptr; }),
            "expected query, key and value to be given, but got fewer");
  EXPECT_EQ(
      errorOf([](Problem &p) { p.keyDocument = [](int64_t, int64_t) -> int64_t { return 0; }; }),
      "expected document ids to be given for queries and keys or for neither, but got keys "
      "only");
}

} // namespace
