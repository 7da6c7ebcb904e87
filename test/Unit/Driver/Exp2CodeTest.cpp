//===- Exp2CodeTest.cpp - emitted 2^x against the host model --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code that `tile.exp2` becomes and the host model come from one description;
// here they are compared bit for bit, densely.
//
//===----------------------------------------------------------------------===//

#include "HostRun.h"
#include "TileText.h"

#include "fa4/Numerics/Exp2.h"

#include <cmath>

using namespace fa4::driver;
using fa4::support::NpyType;

namespace {

constexpr int64_t kRows = 32768;
constexpr int64_t kColumns = 128;

/// 2^22 inputs: every 2^10-th bit pattern, so all exponents of both signs,
/// infinities and NaNs, shifted by `phase` within the gap.
std::shared_ptr<HostArray> densePatterns(uint32_t phase) {
  auto x = makeArray(NpyType::F32, {kRows, kColumns});
  x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
    uint32_t bits = (static_cast<uint32_t>(number) << 10U) + phase;
    x->set(index, fa4::numerics::floatFromBits(bits));
  });
  return x;
}

/// 2^22 inputs evenly over [-127, 1], where the scores of a softmax lie.
std::shared_ptr<HostArray> denseScores() {
  auto x = makeArray(NpyType::F32, {kRows, kColumns});
  x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
    x->set(index, -127.0 + static_cast<double>(number) / 32768.0);
  });
  return x;
}

/// A program that computes with the share given, columns counted from `from`.
std::unique_ptr<HostProgram> exp2Program(const std::string &share, int64_t from) {
  std::string body = R"(
    %x = tile.load %X[%t] : !tile.global<128x128xf32> -> !tile.frag<128x128xf32>
    %p = tile.exp2 %x )" +
                     share + " from(" + std::to_string(from) + R"() : !tile.frag<128x128xf32>
    tile.store %p to %Y[%t] : !tile.frag<128x128xf32>, !tile.global<128x128xf32>)";
  return compileText(kernelText({{"X", "128x128xf32", "memref<32768x128xf32>"},
                                 {"Y", "128x128xf32", "memref<32768x128xf32>"}},
                                body, kRows / 128));
}

void expectBits(HostProgram &program, const std::shared_ptr<HostArray> &x,
                llvm::function_ref<float(float, int64_t column)> model) {
  auto y = makeArray(NpyType::F32, {kRows, kColumns});
  runMain(program, {x, y});
  int64_t different = 0;
  x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
    auto input = static_cast<float>(x->get(index));
    auto computed = static_cast<float>(y->get(index));
    float expected = model(input, index[1]);
    bool equal = std::isnan(expected) ? std::isnan(computed)
                                      : fa4::numerics::bitsFromFloat(expected) ==
                                            fa4::numerics::bitsFromFloat(computed);
    if (!equal && ++different < 5) {
      ADD_FAILURE() << "2^" << input << ": expected " << expected << ", but got " << computed;
    }
  });
  EXPECT_EQ(different, 0);
}

TEST(Exp2Code, AccurateIsTheModel) {
  auto program = exp2Program("", 0);
  ASSERT_TRUE(program);
  auto model = [](float x, int64_t) { return fa4::numerics::hostExp2Accurate(x); };
  for (uint32_t phase : {0U, 513U}) {
    expectBits(*program, densePatterns(phase), model);
  }
  expectBits(*program, denseScores(), model);
}

TEST(Exp2Code, PolynomialIsTheModel) {
  for (unsigned degree = fa4::numerics::minExp2Degree; degree <= fa4::numerics::maxExp2Degree;
       ++degree) {
    auto program = exp2Program("share(<degree = " + std::to_string(degree) +
                                   ", period = 1, last = 1, first_chunk = 0, last_chunk = 1000>)",
                               0);
    ASSERT_TRUE(program);
    // Beyond 128 the description promises nothing.
    auto x = densePatterns(77);
    x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
      if (x->get(index) >= 128.0) {
        x->set(index, 0.0);
      }
    });
    auto model = [&](float value, int64_t) {
      return fa4::numerics::hostExp2Polynomial(value, degree);
    };
    expectBits(*program, x, model);
    expectBits(*program, denseScores(), model);
  }
}

/// R4: only the position in the tile decides.
TEST(Exp2Code, ShareGoesByColumn) {
  for (int64_t from : {0, 32, 40}) {
    auto program = exp2Program(
        "share(<degree = 3, period = 16, last = 4, first_chunk = 1, last_chunk = 2>)", from);
    ASSERT_TRUE(program);
    expectBits(*program, denseScores(), [&](float x, int64_t column) {
      int64_t q = from + column;
      bool polynomial = q / 32 >= 1 && q / 32 <= 2 && q % 16 >= 12;
      return polynomial ? fa4::numerics::hostExp2Polynomial(x, 3)
                        : fa4::numerics::hostExp2Accurate(x);
    });
  }
}

} // namespace
