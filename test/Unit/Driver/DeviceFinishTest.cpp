//===- DeviceFinishTest.cpp - the end of a row on the machine -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R1, R2: what a row is divided by and its lse, from the sum and the reference, as
// attn.forward derives them and the device path computes them: the map is taken out
// of a derived kernel and executed as PTX with the machine's approximations at either
// edge of what PTX promises. docs/Numerics.md has the bound.
//
//===----------------------------------------------------------------------===//

#include "DeviceRun.h"

#include "fa4/Pipelines/Pipelines.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <limits>

using namespace fa4::driver;
using fa4::support::NpyType;

namespace {

constexpr int64_t kTiles = 64;
constexpr int64_t kRows = 128 * kTiles;
constexpr double kLn2 = 0.69314718055994530942;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
/// Of the reference, which is lse's part that does not come from the sum.
constexpr double kLseBound = 0x1p-20;

/// The text of the map at the end of a derived kernel, between its braces, and the names
/// of its arguments.
struct FinishMap {
  std::string reference, sum, body;
};

FinishMap deriveFinish() {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    module attributes {fa4.target = #fa4.target<"sm_100a">} {
    func.func @main(%q: memref<1x?x1x64xbf16>, %k: memref<1x?x1x64xbf16>, %v: memref<1x?x1x64xbf16>,
                    %o: memref<1x?x1x64xbf16>, %lse: memref<1x1x?xf32>) {
      attn.forward ins(%q, %k, %v : memref<1x?x1x64xbf16>, memref<1x?x1x64xbf16>, memref<1x?x1x64xbf16>)
        outs(%o, %lse : memref<1x?x1x64xbf16>, memref<1x1x?xf32>)
        schedule(#fa4.schedule<forward, tile = 128 x 128>)
      return
    }
    })",
                                                        &testContext());
  mlir::PassManager passes(&testContext());
  fa4::buildAttnToTilePipeline(passes, {});
  EXPECT_TRUE(module && succeeded(passes.run(*module)));
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  llvm::StringRef finish = llvm::StringRef(text).split("tile.def @finish(").second;
  // tile.map (%reference = ..., %sum = ...) : ... { body }
  llvm::StringRef map = finish.split("tile.map (").second;
  auto [reference, behind] = map.split(" = ");
  llvm::StringRef sum = behind.split(", ").second.split(" = ").first;
  llvm::StringRef body = map.split("{").second.split("}").first;
  return {reference.str(), sum.str(), body.str()};
}

struct Row {
  float sum, reference;
};

/// Sums of 1 to 2^39 by exponent; references that cancel their logarithms to within a
/// unit, to nothing, and not at all.
Row rowAt(int64_t number) {
  double share = static_cast<double>(number) / kRows;
  auto sum = static_cast<float>(std::exp2(39.0 * share));
  const double parts[] = {1.0, 1.0, 0.0, -3.0};
  double logarithm = std::log2(static_cast<double>(sum));
  double away = number % 4 == 1 ? share - 0.5 : 0.0;
  return {sum, static_cast<float>(parts[number % 4] * logarithm + away)};
}

class DeviceFinish : public testing::Test {
protected:
  void SetUp() override {
    FinishMap map = deriveFinish();
    std::string body = "%s = tile.load %S[%t] : !tile.global<128xf32> -> !row\n"
                       "%r = tile.load %R[%t] : !tile.global<128xf32> -> !row\n"
                       "%x, %l = tile.map (" +
                       map.reference + " = %r, " + map.sum +
                       " = %s) : (!row, !row) -> (!row, !row) {" + map.body +
                       "}\n"
                       "tile.store %x to %X[%t] : !row, !tile.global<128xf32>\n"
                       "tile.store %l to %L[%t] : !row, !tile.global<128xf32>";
    program = DeviceProgram::compile(roleText(
        {{"S", "128xf32", ""}, {"R", "128xf32", ""}, {"X", "128xf32", ""}, {"L", "128xf32", ""}},
        body));
    ASSERT_TRUE(program);
  }

  void run(fa4::sim::ApproxMode mode, uint64_t seed) {
    program->run({sum, reference, inverse, lse}, kTiles, mode, seed);
  }

  std::unique_ptr<DeviceProgram> program;
  std::shared_ptr<HostArray> sum = makeArray(NpyType::F32, {kRows}),
                             reference = makeArray(NpyType::F32, {kRows}),
                             inverse = makeArray(NpyType::F32, {kRows}),
                             lse = makeArray(NpyType::F32, {kRows});
};

TEST_F(DeviceFinish, TakesApproximationsOnly) {
  EXPECT_TRUE(program->getPtx().contains("rcp.approx.ftz.f32"));
  EXPECT_TRUE(program->getPtx().contains("lg2.approx.ftz.f32"));
  EXPECT_FALSE(program->getPtx().contains("div."));
}

TEST_F(DeviceFinish, KeepsHalfOfTheAllowance) {
  for (int64_t number = 0; number < kRows; ++number) {
    Row row = rowAt(number);
    sum->set({number}, row.sum);
    reference->set({number}, row.reference);
  }
  using fa4::sim::ApproxMode;
  // Seeds of either side.
  const std::pair<ApproxMode, uint64_t> policies[] = {
      {ApproxMode::Low, 1},  {ApproxMode::Jitter, 1}, {ApproxMode::Edge, 1},
      {ApproxMode::Edge, 2}, {ApproxMode::Edge, 3},   {ApproxMode::Edge, 4}};
  for (auto [mode, seed] : policies) {
    run(mode, seed);
    double worstLse = 0.0, worstInverse = 0.0;
    for (int64_t number = 0; number < kRows; ++number) {
      double s = sum->get({number}), exact = (std::log2(s) - reference->get({number})) * kLn2;
      worstLse = std::max(worstLse,
                          std::fabs(lse->get({number}) - exact) / std::max(1.0, std::fabs(exact)));
      worstInverse = std::max(worstInverse, std::fabs(inverse->get({number}) * s - 1.0));
    }
    EXPECT_LE(worstLse, 0.5 * kLseBound) << "policy " << int(mode) << ", seed " << seed;
    EXPECT_LE(worstInverse, 0x1p-22) << "policy " << int(mode) << ", seed " << seed;
    RecordProperty("share_" + std::to_string(int(mode)) + "_" + std::to_string(seed),
                   std::to_string(worstLse / kLseBound));
  }
}

TEST_F(DeviceFinish, KeepsWhatIsNoSum) {
  const struct {
    float sum, reference, inverse, lse;
  } rows[] = {{0.0F, kInfinity, 0.0F, -kInfinity}, // R1
              {kNan, kInfinity, kNan, kNan},
              {kNan, 2.0F, kNan, kNan},
              {1.0F, kNan, 1.0F, kNan},
              {1.0F, -0.0F, 1.0F, 0.0F},
              {1.0F, 7.5F, 1.0F, static_cast<float>(-7.5 * kLn2)},
              {0x1p-126F, 0.0F, 0x1p126F, static_cast<float>(-126 * kLn2)}};
  for (int64_t number = 0; number < kRows; ++number) {
    sum->set({number}, rows[number % std::size(rows)].sum);
    reference->set({number}, rows[number % std::size(rows)].reference);
  }
  run(fa4::sim::ApproxMode::Nearest, 1);
  auto same = [](double value, float wanted) {
    return std::isnan(wanted) ? std::isnan(value) : value == wanted;
  };
  for (int64_t number = 0; number < static_cast<int64_t>(std::size(rows)); ++number) {
    EXPECT_TRUE(same(inverse->get({number}), rows[number].inverse)) << number;
    EXPECT_TRUE(same(lse->get({number}), rows[number].lse)) << number << ": " << lse->get({number});
  }
}

} // namespace
