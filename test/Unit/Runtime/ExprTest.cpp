//===- ExprTest.cpp - evaluating formulas -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operator against an independent statement of what it means, over signs and
// at the ends of 64 bits.
//
//===----------------------------------------------------------------------===//

#include "fa4/Runtime/Expr.h"

#include "gtest/gtest.h"

#include <limits>

using namespace fa4::runtime;

namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Binding sample() {
  Binding binding;
  binding.tensors["q"] = bindDense(0x1000, ElementType::BF16, {2, 300, 64});
  binding.integers["n"] = -7;
  return binding;
}

int64_t value(const Expr &expr) {
  llvm::Expected<int64_t> result = expr.evaluate(sample());
  EXPECT_TRUE(bool(result)) << llvm::toString(result.takeError());
  return result ? *result : 0;
}

std::string errorOf(const Expr &expr) {
  llvm::Expected<int64_t> result = expr.evaluate(sample());
  return result ? "" : llvm::toString(result.takeError());
}

Expr call(Expr::Op op, std::vector<Expr> operands) { return Expr::make(op, std::move(operands)); }

TEST(Expr, NamesGiveTheCallersNumbers) {
  EXPECT_EQ(value(Expr::extent("q", 1)), 300);
  EXPECT_EQ(value(Expr::stride("q", 0)), 300 * 64 * 2);
  EXPECT_EQ(value(Expr::stride("q", 2)), 2);
  EXPECT_EQ(value(Expr::scalar("n")), -7);
  EXPECT_EQ(errorOf(Expr::extent("k", 0)), "expected the tensor 'k' to be bound, but got nothing");
  EXPECT_EQ(errorOf(Expr::extent("q", 3)),
            "expected a dimension of 'q' to be less than 3, but got 3");
  EXPECT_EQ(errorOf(Expr::scalar("m")),
            "expected the scalar 'm' to be bound to an integer, but got nothing");
}

TEST(Expr, DivisionsRoundTheNamedWayForAllSigns) {
  for (int64_t a = -20; a <= 20; ++a) {
    for (int64_t b : {-7, -3, -1, 1, 3, 7}) {
      int64_t floor = value(call(Expr::Op::FloorDiv, {a, b}));
      int64_t ceil = value(call(Expr::Op::CeilDiv, {a, b}));
      double exact = double(a) / double(b);
      EXPECT_LE(double(floor), exact);
      EXPECT_LT(exact, double(floor) + 1);
      EXPECT_GE(double(ceil), exact);
      EXPECT_GT(exact, double(ceil) - 1);
      EXPECT_EQ(value(call(Expr::Op::Mod, {a, b})), a - floor * b);
      EXPECT_EQ(value(call(Expr::Op::AlignUp, {a, b})), ceil * b);
    }
  }
}

TEST(Expr, FoldsAndChoices) {
  EXPECT_EQ(value(call(Expr::Op::Add, {1, 2, 3, Expr::scalar("n")})), -1);
  EXPECT_EQ(value(call(Expr::Op::Mul, {2, 3, 4})), 24);
  EXPECT_EQ(value(call(Expr::Op::Min, {5, -2, 9})), -2);
  EXPECT_EQ(value(call(Expr::Op::Max, {5, -2, 9})), 9);
  EXPECT_EQ(value(call(Expr::Op::Sub, {5, 9})), -4);
  EXPECT_EQ(value(call(Expr::Op::Less, {1, 2})), 1);
  EXPECT_EQ(value(call(Expr::Op::Less, {2, 2})), 0);
  EXPECT_EQ(value(call(Expr::Op::Equal, {2, 2})), 1);
  EXPECT_EQ(value(call(Expr::Op::Equal, {2, 3})), 0);
  EXPECT_EQ(value(call(Expr::Op::Select, {1, 10, 20})), 10);
  EXPECT_EQ(value(call(Expr::Op::Select, {0, 10, 20})), 20);
  // The branch that is not taken is not evaluated.
  Expr bad = call(Expr::Op::FloorDiv, {1, 0});
  EXPECT_EQ(value(call(Expr::Op::Select, {0, bad, 20})), 20);
}

TEST(Expr, LeavingSixtyFourBitsIsAnError) {
  EXPECT_EQ(errorOf(Expr(kMax) + Expr(1)),
            "expected the result of '+' to fit in 64 bits, but got operands 9223372036854775807 "
            "and 1");
  EXPECT_NE(errorOf(Expr(kMin) - Expr(1)), "");
  EXPECT_NE(errorOf(Expr(kMax) * Expr(2)), "");
  EXPECT_NE(errorOf(call(Expr::Op::AlignUp, {kMax, 16})), "");
  for (Expr::Op op : {Expr::Op::FloorDiv, Expr::Op::CeilDiv, Expr::Op::Mod, Expr::Op::AlignUp}) {
    EXPECT_NE(errorOf(call(op, {kMin, -1})), "");
    EXPECT_NE(errorOf(call(op, {1, 0})).find("other than 0"), std::string::npos);
  }
  EXPECT_EQ(value(Expr(kMax) - Expr(kMax)), 0);
  EXPECT_EQ(value(call(Expr::Op::FloorDiv, {kMin, 2})), kMin / 2);
}

TEST(Binding, DenseStridesOfAnEmptyTensorAreNotZero) {
  BoundTensor tensor = bindDense(0, ElementType::F32, {4, 0, 8});
  EXPECT_EQ(tensor.strides, (std::vector<int64_t>{32, 32, 4}));
}

TEST(Binding, ElementNamesRoundTrip) {
  for (const char *name : {"u8", "u16", "u32", "i32", "u64", "i64", "f16", "bf16", "f32", "f64",
                           "tf32", "e4m3", "e5m2"}) {
    std::optional<ElementType> type = elementNamed(name);
    ASSERT_TRUE(type.has_value()) << name;
    EXPECT_EQ(elementName(*type), name);
  }
  EXPECT_FALSE(elementNamed("f80").has_value());
}

} // namespace
