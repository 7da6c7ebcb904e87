//===- DeviceMathTest.cpp - functions of math on the machine --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// M1: region mathematics is accurate to 4 ulp of f32. Each function of `math` that
// the device path accepts is executed as PTX, with the machine's approximate
// instructions at the edge of what PTX promises, and compared in f64.
//
//===----------------------------------------------------------------------===//

#include "DeviceRun.h"

#include "fa4/Numerics/Exp2.h"

#include <cmath>
#include <limits>

using namespace fa4::driver;
using fa4::support::NpyType;

namespace {

constexpr int64_t kRows = 1024;
constexpr int64_t kColumns = 128;
constexpr double kSmallestNormal = 0x1p-126;

struct Function {
  const char *name;
  double (*exact)(double);
  /// Inputs lie in [low, high], half of them evenly, half by exponent.
  double low, high;
  /// The largest error, in ulp.
  double bound;
};

double inverseRoot(double x) { return 1.0 / std::sqrt(x); }

/// Distance in units of the last place that f32 has at `exact`.
double ulps(float actual, double exact) {
  auto nearest = static_cast<float>(exact);
  if (std::isnan(exact) || std::isnan(actual)) {
    return std::isnan(exact) && std::isnan(actual) ? 0.0 : std::numeric_limits<double>::infinity();
  }
  if (std::isinf(nearest) || std::isinf(actual)) {
    return nearest == actual ? 0.0 : std::numeric_limits<double>::infinity();
  }
  if (std::fabs(exact) < kSmallestNormal) {
    // Results below are zeroes on a machine that flushes.
    return std::fabs(actual) <= kSmallestNormal ? 0.0 : std::numeric_limits<double>::infinity();
  }
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::fabs(actual - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

double inputAt(const Function &function, int64_t number) {
  double share = static_cast<double>(number) / (kRows * kColumns);
  if (number % 2 == 0) {
    return function.low + share * (function.high - function.low);
  }
  // Magnitudes from 2^-126 to the larger end, signs in turn.
  double largest = std::max(std::fabs(function.low), std::fabs(function.high));
  double size = std::exp2(-126.0 + share * (126.0 + std::log2(largest)));
  double value = number % 4 == 1 ? size : -size;
  return value < function.low || value > function.high ? size : value;
}

TEST(DeviceMath, IsWithinFourUlp) {
  const Function functions[] = {
      {"exp2", std::exp2, -130.0, 129.0, 4.0},
      {"exp", std::exp, -95.0, 90.0, 4.0},
      {"tanh", std::tanh, -20.0, 20.0, 4.0},
      {"log", std::log, 0.0, 1e38, 4.0},
      {"log2", std::log2, 0.0, 1e38, 4.0},
      {"log1p", std::log1p, -0.99, 1e30, 4.0},
      {"expm1", std::expm1, -30.0, 88.0, 4.0},
      {"sqrt", std::sqrt, 0.0, 1e38, 4.0},
      {"rsqrt", inverseRoot, kSmallestNormal, 1e38, 4.0},
      {"floor", std::floor, -1e7, 1e7, 0.0},
      {"ceil", std::ceil, -1e7, 1e7, 0.0},
      {"trunc", std::trunc, -1e7, 1e7, 0.0},
      {"roundeven", std::nearbyint, -1e7, 1e7, 0.0},
      {"absf", std::fabs, -1e30, 1e30, 0.0},
  };
  for (const Function &function : functions) {
    auto x = makeArray(NpyType::F32, {kRows, kColumns});
    x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
      x->set(index, inputAt(function, number));
    });
    // Ends, and what is no number.
    const float special[] = {0.0F,
                             -0.0F,
                             std::numeric_limits<float>::infinity(),
                             -std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN(),
                             1.0F,
                             -1.0F};
    for (size_t place = 0; place < std::size(special); ++place) {
      x->set({0, static_cast<int64_t>(place)}, special[place]);
    }
    std::string grid = "128x128xf32";
    std::string type = tileType(grid);
    std::string body = "%x = tile.load %X[%t] : !tile.global<" + grid + "> -> " + type +
                       "\n%y = tile.map (%e = %x) : (" + type + ") -> " + type + " { %r = math." +
                       function.name + " %e : f32 tile.yield %r : f32 }" +
                       "\ntile.store %y to %Y[%t] : " + type + ", !tile.global<" + grid + ">";
    auto program = DeviceProgram::compile(roleText({{"X", grid, ""}, {"Y", grid, ""}}, body));
    ASSERT_TRUE(program) << function.name;
    auto y = makeArray(NpyType::F32, {kRows, kColumns});
    program->run({x, y}, kRows / 128, fa4::sim::ApproxMode::Edge);
    double worst = 0.0, at = 0.0;
    x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
      double error = ulps(static_cast<float>(y->get(index)), function.exact(x->get(index)));
      if (error > worst) {
        worst = error;
        at = x->get(index);
      }
    });
    EXPECT_LE(worst, function.bound) << function.name << " at " << at;
    RecordProperty(std::string("ulp_") + function.name, std::to_string(worst));
  }
}

} // namespace
