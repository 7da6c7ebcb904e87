//===- ScheduleClausesTest.cpp - T0 before and after each pass ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One attention under schedules that differ in one clause, so that one pass more
// has run: the results are equal to the bit where the pass promises it, else
// within what the clause may cost. attn.merge is tested by value here too.
//
//===----------------------------------------------------------------------===//

#include "HostRun.h"

#include "fa4/Numerics/Random.h"

#include <cmath>

using namespace fa4::driver;
using fa4::support::NpyType;

namespace {

constexpr const char *kWritten =
    "load_k at 0, load_v at 0, qk[0] at 0, softmax[0] at 0, rescale[0] at 0, pv[0] at 0, "
    "qk[1] at 0, softmax[1] at 0, rescale[1] at 0, pv[1] at 0";
constexpr const char *kBlackwell =
    "load_v at 1, softmax[0] at 1, rescale[0] at 1, pv[0] at 1, load_k at 0, qk[0] at 0, "
    "softmax[1] at 1, rescale[1] at 1, pv[1] at 1, qk[1] at 0";
constexpr const char *kHopper =
    "load_k at 0, qk[0] at 0, load_v at 1, pv[0] at 1, softmax[0] at 0, rescale[0] at 0, "
    "qk[1] at 0, pv[1] at 1, softmax[1] at 0, rescale[1] at 0";

struct Result {
  std::shared_ptr<HostArray> o, lse;
};

class Attention {
public:
  /// A window that leaves some rows without keys, and a score region.
  Attention(const std::string &order, const std::string &clauses) {
    program = compileText(R"(
      module attributes {fa4.target = #fa4.target<"sm_100a">} {
      func.func @main(%q: memref<1x?x2x64xbf16>, %k: memref<1x?x1x64xbf16>, %v: memref<1x?x1x64xbf16>,
                      %o: memref<1x?x2x64xbf16>, %lse: memref<1x2x?xf32>) {
        attn.forward ins(%q, %k, %v : memref<1x?x2x64xbf16>, memref<1x?x1x64xbf16>, memref<1x?x1x64xbf16>)
          outs(%o, %lse : memref<1x?x2x64xbf16>, memref<1x2x?xf32>) mask [#attn.window<left = 200, right = 30>]
          schedule(#fa4.schedule<forward, tile = 64 x 128, stages = 2, order = [)" +
                          order + "]" + clauses + withoutOthers(clauses) + R"(>)
        return
      }
      })");
  }

  Result run(int64_t rows, int64_t keys) const {
    auto q = random({1, rows, 2, 64}, 0);
    auto k = random({1, keys, 1, 64}, 1);
    auto v = random({1, keys, 1, 64}, 2);
    Result result{makeArray(NpyType::BF16, {1, rows, 2, 64}),
                  makeArray(NpyType::F32, {1, 2, rows})};
    if (program) {
      runMain(*program, {q, k, v, result.o, result.lse});
    }
    return result;
  }

private:
  /// What the planner would add to `clauses` is left off.
  static std::string withoutOthers(llvm::StringRef clauses) {
    std::string off;
    for (auto [name, nothing] : {std::pair<const char *, const char *>{"split_p", "[]"},
                                 {"rescale_log2_threshold", "none"},
                                 {"exp2", "none"}}) {
      if (!clauses.contains(name)) {
        off += std::string(", ") + name + " = " + nothing;
      }
    }
    return off;
  }

  /// Peaked scores, so that references do lag.
  static std::shared_ptr<HostArray> random(llvm::ArrayRef<int64_t> shape, uint64_t stream) {
    auto array = makeArray(NpyType::BF16, shape);
    fa4::numerics::CounterRandom numbers(11, stream);
    array->forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
      array->set(index, 3.0 * numbers.gaussian(static_cast<uint64_t>(number)));
    });
    return array;
  }

  std::unique_ptr<HostProgram> program;
};

constexpr std::pair<int64_t, int64_t> kExtents[] = {{1, 1},     {64, 128},  {129, 127},
                                                    {300, 700}, {513, 100}, {200, 0}};

/// What the others are compared with, compiled once. Not a static object: an
/// engine that dies at exit compiles its destructors with an LLVM that is already
/// half destroyed.
class ScheduleClauses : public testing::Test {
protected:
  static void SetUpTestSuite() { reference = std::make_unique<Attention>(kWritten, ""); }
  static void TearDownTestSuite() { reference.reset(); }

  static void expectEqualBits(const Attention &other);
  static void expectNear(const Attention &other, double unitsO, double lse);

private:
  static std::unique_ptr<Attention> reference;
};
std::unique_ptr<Attention> ScheduleClauses::reference;

void ScheduleClauses::expectEqualBits(const Attention &other) {
  for (auto [rows, keys] : kExtents) {
    Result expected = reference->run(rows, keys);
    Result actual = other.run(rows, keys);
    EXPECT_TRUE(haveEqualBits(*expected.o, *actual.o)) << rows << " x " << keys;
    EXPECT_TRUE(haveEqualBits(*expected.lse, *actual.lse)) << rows << " x " << keys;
  }
}

/// Elements of o within `unitsO` ulp of bf16 at the largest magnitude, lse within
/// `lse`; rows without a key stay exact.
void ScheduleClauses::expectNear(const Attention &other, double unitsO, double lse) {
  for (const std::pair<int64_t, int64_t> &extents : kExtents) {
    Result expected = reference->run(extents.first, extents.second);
    Result actual = other.run(extents.first, extents.second);
    double largest = 0;
    expected.o->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
      largest = std::max(largest, std::abs(expected.o->get(index)));
    });
    expected.o->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
      ASSERT_NEAR(expected.o->get(index), actual.o->get(index), unitsO * std::ldexp(largest, -8))
          << extents.first << " x " << extents.second;
    });
    expected.lse->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
      double value = expected.lse->get(index);
      if (std::isinf(value)) {
        ASSERT_EQ(value, actual.lse->get(index));
      } else {
        ASSERT_NEAR(value, actual.lse->get(index), lse * std::max(1.0, std::abs(value)));
      }
    });
  }
}

TEST_F(ScheduleClauses, EveryOrderGivesTheSameBits) {
  expectEqualBits(Attention(kBlackwell, ""));
  expectEqualBits(Attention(kHopper, ""));
}

// P's parts are summed one after the other, the bits of P stay.
TEST_F(ScheduleClauses, SplitMma) {
  expectNear(Attention(kBlackwell, ", split_p = [96, 32]"), 1, std::ldexp(1, -22));
  expectNear(Attention(kWritten, ", split_p = [32, 16, 48, 32]"), 1, std::ldexp(1, -22));
}

// Rounding of P is relative to another power: half an ulp each way.
TEST_F(ScheduleClauses, LazyRescale) {
  expectNear(Attention(kWritten, ", rescale_log2_threshold = 8.0"), 2, std::ldexp(1, -20));
}

// The polynomial of degree 3 is off by 8.8e-5, which P's own rounding hides.
TEST_F(ScheduleClauses, SplitExp2) {
  expectNear(Attention(kWritten, ", exp2 = <degree 3, of 16 columns the last 4, chunks 1 to 2>"), 2,
             8.8e-5);
  expectNear(Attention(kWritten, ", exp2 = <degree 5, of 1 columns the last 1, chunks 0 to 3>"), 1,
             1.5e-7 + std::ldexp(1, -20));
}

// By position only: with and without a cut of P the same columns are chosen.
TEST_F(ScheduleClauses, ExponentialsDoNotDependOnTheCut) {
  const char *share = ", exp2 = <degree 3, of 10 columns the last 4, chunks 1 to 3>";
  Attention whole(kWritten, share);
  Attention parts(kBlackwell, std::string(share) + ", split_p = [48, 80]");
  for (auto [rows, keys] : kExtents) {
    Result expected = whole.run(rows, keys);
    Result actual = parts.run(rows, keys);
    expected.lse->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
      double value = expected.lse->get(index);
      ASSERT_TRUE(value == actual.lse->get(index) ||
                  std::abs(value - actual.lse->get(index)) <= std::ldexp(std::abs(value), -22));
    });
  }
}

//===----------------------------------------------------------------------===//
// attn.merge (R3)
//===----------------------------------------------------------------------===//

class Merge {
public:
  Merge() {
    program = compileText(R"(
      module attributes {fa4.target = #fa4.target<"sm_100a">} {
      func.func @main(%o1: memref<1x2x1x8xf32>, %l1: memref<1x1x2xf32>, %o2: memref<1x2x1x8xf32>, %l2: memref<1x1x2xf32>,
                      %o: memref<1x2x1x8xf32>, %l: memref<1x1x2xf32>) {
        attn.merge ins(%o1, %l1, %o2, %l2 : memref<1x2x1x8xf32>, memref<1x1x2xf32>, memref<1x2x1x8xf32>, memref<1x1x2xf32>)
          outs(%o, %l : memref<1x2x1x8xf32>, memref<1x1x2xf32>)
        return
      }
      })");
  }

  Result run(const Result &a, const Result &b) const {
    Result result = makeState(0, 0);
    if (program) {
      runMain(*program, {a.o, a.lse, b.o, b.lse, result.o, result.lse});
    }
    return result;
  }

  static Result makeState(double o, double lse) {
    Result state{makeArray(NpyType::F32, {1, 2, 1, 8}), makeArray(NpyType::F32, {1, 1, 2})};
    state.o->forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
      state.o->set(index, o * (1.0 + 0.25 * static_cast<double>(number)));
    });
    state.lse->set({0, 0, 0}, lse);
    state.lse->set({0, 0, 1}, lse + 1.0);
    return state;
  }

private:
  std::unique_ptr<HostProgram> program;
};

void expectNear(const Result &a, const Result &b, double tolerance = 1e-6) {
  auto compare = [&](const HostArray &x, const HostArray &y) {
    x.forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
      ASSERT_NEAR(x.get(index), y.get(index), tolerance * (1 + std::abs(x.get(index))));
    });
  };
  compare(*a.o, *b.o);
  compare(*a.lse, *b.lse);
}

TEST(Merge, WeighsByLse) {
  Merge merge;
  Result a = Merge::makeState(2.0, 0.5), b = Merge::makeState(-1.0, 1.25);
  Result sum = merge.run(a, b);
  double lse = std::log(std::exp(0.5) + std::exp(1.25));
  EXPECT_NEAR(sum.lse->get({0, 0, 0}), lse, 1e-6);
  EXPECT_NEAR(sum.o->get({0, 0, 0, 4}), std::exp(0.5 - lse) * 4.0 + std::exp(1.25 - lse) * -2.0,
              1e-6);
  expectNear(sum, merge.run(b, a));
}

TEST(Merge, IsAssociativeAlsoForHugeLogits) {
  Merge merge;
  for (double base : {0.0, 5e4, -5e4}) {
    Result a = Merge::makeState(2.0, base), b = Merge::makeState(-1.0, base + 2);
    Result c = Merge::makeState(0.5, base - 3);
    // The lse between the two merges is a float: its rounding is in the weights.
    expectNear(merge.run(merge.run(a, b), c), merge.run(a, merge.run(b, c)),
               1e-6 + std::ldexp(std::abs(base), -23));
  }
}

TEST(Merge, EmptyStates) {
  Merge merge;
  constexpr double nothing = -std::numeric_limits<double>::infinity();
  Result empty = Merge::makeState(0, nothing), a = Merge::makeState(2.0, 0.5);
  for (const Result &sum : {merge.run(a, empty), merge.run(empty, a)}) {
    EXPECT_TRUE(haveEqualBits(*sum.o, *a.o));
    EXPECT_TRUE(haveEqualBits(*sum.lse, *a.lse));
  }
  Result both = merge.run(empty, empty);
  EXPECT_EQ(both.lse->get({0, 0, 1}), nothing);
  EXPECT_EQ(both.o->get({0, 1, 0, 3}), 0.0);
}

} // namespace
