//===- DeviceValuesTest.cpp - tile values on the machine ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each op between a load and a store, executed as PTX and compared with what the
// op says, over the shapes and special numbers where its lowering branches.
//
//===----------------------------------------------------------------------===//

#include "DeviceRun.h"

#include "fa4/Numerics/Exp2.h"

#include <cmath>
#include <limits>

using namespace fa4::driver;
using fa4::support::NpyType;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

uint32_t hash(int64_t number) {
  auto x = static_cast<uint32_t>(number) * 2654435761U;
  x ^= x >> 15U;
  return x * 2246822519U;
}

/// Numbers of magnitude up to `size`, the same on every run.
float numberAt(int64_t number, float size) {
  return (static_cast<float>(hash(number) >> 8U) / 8388608.0F - 1.0F) * size;
}

std::shared_ptr<HostArray> makeNumbers(std::vector<int64_t> shape, float size = 4.0F) {
  auto array = makeArray(NpyType::F32, shape);
  array->forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
    array->set(index, numberAt(number, size));
  });
  return array;
}

std::string shapeText(int64_t columns, const std::string &element) {
  return "128x" + std::to_string(columns) + "x" + element;
}

float get(const std::shared_ptr<HostArray> &array, std::vector<int64_t> index) {
  return static_cast<float>(array->get(index));
}

/// y = body(x) on tiles of `columns` columns; `body` gives %y of `element`.
std::shared_ptr<HostArray> runOnTile(const std::shared_ptr<HostArray> &x, const std::string &body,
                                     const std::string &element = "f32",
                                     NpyType type = NpyType::F32) {
  int64_t columns = x->getShape()[1];
  std::string in = shapeText(columns, "f32"), out = shapeText(columns, element);
  std::string text = "%x = tile.load %X[%t] : !tile.global<" + in + "> -> " + tileType(in) + "\n" +
                     body + "\ntile.store %y to %Y[%t] : " + tileType(out) + ", !tile.global<" +
                     out + ">";
  auto program = DeviceProgram::compile(roleText({{"X", in, ""}, {"Y", out, ""}}, text));
  auto y = makeArray(type, x->getShape());
  if (program) {
    program->run({x, y}, static_cast<int>(llvm::divideCeil(x->getShape()[0], 128)));
  }
  return y;
}

/// Equal bits, or a NaN for a NaN. Asked millions of times.
void expectBits(float actual, float expected, llvm::ArrayRef<int64_t> index) {
  bool isSame = std::isnan(expected) ? std::isnan(actual)
                                     : fa4::numerics::bitsFromFloat(actual) ==
                                           fa4::numerics::bitsFromFloat(expected);
  if (!isSame) {
    ADD_FAILURE() << index.front() << ", " << index.back() << ": " << actual << " instead of "
                  << expected;
  }
}

TEST(DeviceValues, RowsBeyondTheTensorReadZeroAndVanish) {
  // 200 rows in tiles of 128; the columns fill no chunk of 16 bytes in the third.
  for (int64_t columns : {128, 96, 13}) {
    auto x = makeNumbers({200, columns});
    std::string type = tileType(shapeText(columns, "f32"));
    std::string body = "%y = tile.map (%e = %x) : (" + type + ") -> " + type +
                       " { %one = arith.constant 1.0 : f32 %s = arith.addf %e, %one : f32 "
                       "tile.yield %s : f32 }";
    auto y = runOnTile(x, body);
    y->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
      expectBits(static_cast<float>(y->get(index)), static_cast<float>(x->get(index)) + 1.0F,
                 index);
    });
  }
}

TEST(DeviceValues, ColumnsBeyondTheTensorReadZeroAndVanish) {
  // The tensor has fewer columns than the tile: a padded head, and one that cuts
  // through a chunk.
  for (int64_t extent : {72, 70}) {
    auto x = makeNumbers({128, extent});
    auto y = makeArray(NpyType::F32, {128, extent});
    auto s = makeArray(NpyType::F32, {128});
    std::string in = shapeText(80, "f32");
    std::string body =
        "%x = tile.load %X[%t] : !tile.global<" + in + "> -> " + tileType(in) +
        "\n%z = tile.splat %zero : f32 -> !row\n%s = tile.row_sum %x init(%z) : " + tileType(in) +
        " -> !row\ntile.store %x to %Y[%t] : " + tileType(in) + ", !tile.global<" + in +
        ">\ntile.store %s to %S[%t] : !row, !tile.global<128xf32>";
    auto program = DeviceProgram::compile(
        roleText({{"X", in, ""}, {"Y", in, ""}, {"S", "128xf32", ""}}, body));
    ASSERT_TRUE(program);
    program->run({x, y, s}, 1);
    for (int64_t row = 0; row < 128; ++row) {
      double sum = 0.0;
      for (int64_t column = 0; column < extent; ++column) {
        EXPECT_EQ(get(x, {row, column}), get(y, {row, column}));
        sum += x->get({row, column});
      }
      EXPECT_NEAR(s->get({row}), sum, 1e-4);
    }
  }
}

TEST(DeviceValues, StridesMayBeAnything) {
  // Columns that are not neighbours, and rows that start on no chunk.
  auto x = makeNumbers({128, 32});
  auto strided = std::make_shared<HostArray>(NpyType::F32, llvm::ArrayRef<int64_t>{128, 32},
                                             llvm::ArrayRef<int64_t>{131, 3}, /*offset=*/0);
  std::string in = shapeText(32, "f32");
  auto program = DeviceProgram::compile(
      roleText({{"X", in, ""}, {"Y", in, ""}},
               "%x = tile.load %X[%t] : !tile.global<" + in + "> -> " + tileType(in) +
                   "\ntile.store %x to %Y[%t] : " + tileType(in) + ", !tile.global<" + in + ">"));
  ASSERT_TRUE(program);
  program->run({x, strided}, 1);
  auto back = makeArray(NpyType::F32, {128, 32});
  program->run({strided, back}, 1);
  EXPECT_TRUE(haveEqualBits(*x, *back));
}

TEST(DeviceValues, Exp2IsTheHostModelBitForBit) {
  // Every column by the polynomial; then a share, from a column in mid-tile.
  auto x = makeArray(NpyType::F32, {1024, 128});
  x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
    x->set(index, 1.0 - 130.0 * static_cast<double>(number) / (1024.0 * 128.0));
  });
  x->set({0, 100}, -kInfinity);
  x->set({1, 100}, 0.0);
  std::string type = tileType(shapeText(128, "f32"));
  for (int64_t degree : {3, 4, 5}) {
    std::string share = "<degree = " + std::to_string(degree) +
                        ", period = 1, last = 1, first_chunk = 0, last_chunk = 99>";
    auto y = runOnTile(x, "%y = tile.exp2 %x share(" + share + ") : " + type);
    y->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
      expectBits(static_cast<float>(y->get(index)),
                 fa4::numerics::hostExp2Polynomial(static_cast<float>(x->get(index)),
                                                   static_cast<unsigned>(degree)),
                 index);
    });
  }
}

TEST(DeviceValues, Exp2ShareFollowsThePositionInTheWholeTile) {
  for (std::pair<int64_t, int64_t> part :
       {std::pair<int64_t, int64_t>{96, 0}, {32, 96}, {80, 16}, {64, 40}}) {
    int64_t columns = part.first, from = part.second;
    auto x = makeNumbers({128, columns}, 20.0F);
    auto y =
        runOnTile(x, "%y = tile.exp2 %x share(<degree = 3, period = 16, last = 4, first_chunk = 1, "
                     "last_chunk = 2>) from(" +
                         std::to_string(from) + ") : " + tileType(shapeText(columns, "f32")));
    y->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
      auto argument = static_cast<float>(x->get(index));
      auto power = static_cast<float>(y->get(index));
      int64_t column = from + index[1];
      bool isPolynomial = column / 32 >= 1 && column / 32 <= 2 && column % 16 >= 12;
      if (isPolynomial) {
        expectBits(power, fa4::numerics::hostExp2Polynomial(argument, 3), index);
      } else {
        EXPECT_NEAR(power / std::exp2(static_cast<double>(argument)), 1.0, 0x1p-22);
      }
    });
  }
}

TEST(DeviceValues, CastsRoundToNearestEven) {
  for (int64_t columns : {128, 96, 64}) {
    auto x = makeNumbers({128, columns}, 70000.0F);
    x->set({0, 0}, kInfinity);
    x->set({0, 1}, -kInfinity);
    x->set({0, 2}, kNan);
    x->set({0, 3}, 1.0 + 0x1p-8);
    x->set({0, 4}, 1.0 + 3 * 0x1p-8);
    for (const auto &[element, type] :
         {std::pair<std::string, NpyType>{"bf16", NpyType::BF16}, {"f16", NpyType::F16}}) {
      auto y = runOnTile(x,
                         "%y = tile.cast %x : " + tileType(shapeText(columns, "f32")) + " -> " +
                             tileType(shapeText(columns, element)),
                         element, type);
      auto expected = makeArray(type, x->getShape());
      expected->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
        expected->set(index, x->get(index));
        expectBits(static_cast<float>(y->get(index)), static_cast<float>(expected->get(index)),
                   index);
      });
    }
  }
}

TEST(DeviceValues, RowStatistics) {
  for (int64_t columns : {128, 96, 80, 33, 3}) {
    auto x = makeNumbers({128, columns});
    for (int64_t column = 0; column < columns; ++column) {
      x->set({3, column}, column % 2 == 0 ? kNan : column);
      x->set({4, column}, kNan);
      x->set({5, column}, -kInfinity);
      x->set({6, column}, column == columns - 1 ? kInfinity : 0.0);
    }
    auto top = makeArray(NpyType::F32, {128});
    auto sum = makeArray(NpyType::F32, {128});
    std::string in = shapeText(columns, "f32");
    std::string body = "%x = tile.load %X[%t] : !tile.global<" + in + "> -> " + tileType(in) + R"(
      %none = tile.splat %ninf : f32 -> !row
      %half = arith.constant 0.5 : f32
      %start = tile.splat %half : f32 -> !row
      %m = tile.row_max %x init(%none) : )" +
                       tileType(in) +
                       " -> !row\n%s = tile.row_sum %x init(%start) : " + tileType(in) + R"( -> !row
      tile.store %m to %M[%t] : !row, !tile.global<128xf32>
      tile.store %s to %S[%t] : !row, !tile.global<128xf32>)";
    auto program = DeviceProgram::compile(
        roleText({{"X", in, ""}, {"M", "128xf32", ""}, {"S", "128xf32", ""}}, body));
    ASSERT_TRUE(program);
    program->run({x, top, sum}, 1);
    for (int64_t row = 0; row < 128; ++row) {
      float largest = -kInfinity;
      double total = 0.5;
      for (int64_t column = 0; column < columns; ++column) {
        largest = std::fmax(largest, get(x, {row, column}));
        total += x->get({row, column});
      }
      EXPECT_EQ(get(top, {row}), largest) << row;
      if (std::isfinite(total)) {
        EXPECT_NEAR(sum->get({row}), total, 1e-4) << row;
      } else {
        expectBits(get(sum, {row}), static_cast<float>(total), {row, 0});
      }
    }
  }
}

TEST(DeviceValues, OnlineMaxIsItsDefinition) {
  // Top and reference over the whole table, infinities and huge logits included.
  const std::vector<float> values = {-kInfinity, kInfinity, 0.0F,      1.0F, -3.0F,
                                     7.75F,      8.5F,      -70000.3F, 1e30F};
  auto top = makeArray(NpyType::F32, {128});
  auto reference = makeArray(NpyType::F32, {128});
  for (int64_t row = 0; row < 128; ++row) {
    top->set({row}, values[row % values.size()]);
    reference->set({row}, values[row / values.size() % values.size()]);
  }
  std::string body = R"(
    %m = tile.load %M[%t] : !tile.global<128xf32> -> !row
    %d = tile.load %D[%t] : !tile.global<128xf32> -> !row
    %n, %use, %a = tile.online_max %m from(%d) scale(%c) lag(8.0) : !row
    tile.store %n to %N[%t] : !row, !tile.global<128xf32>
    tile.store %use to %U[%t] : !row, !tile.global<128xf32>
    tile.store %a to %A[%t] : !row, !tile.global<128xf32>)";
  std::string g = "128xf32";
  auto program = DeviceProgram::compile(roleText(
      {{"M", g, ""}, {"D", g, ""}, {"N", g, ""}, {"U", g, ""}, {"A", g, ""}, {"c", "f32", "f32"}},
      body));
  ASSERT_TRUE(program);
  auto next = makeArray(NpyType::F32, {128});
  auto use = makeArray(NpyType::F32, {128});
  auto factor = makeArray(NpyType::F32, {128});
  const float scale = 0.18033688F;
  program->run({top, reference, next, use, factor, scale}, 1);
  // Contracted to an FMA, the factor would not fit the offset.
  EXPECT_EQ(program->getPtx().count("fma.rn"), 0U) << program->getPtx().str();
  for (int64_t row = 0; row < 128; ++row) {
    volatile float product = get(top, {row}) * scale;
    float candidate = -product;
    float distance = candidate - get(reference, {row});
    bool keep = !(distance < -8.0F);
    float carried = keep ? get(reference, {row}) : candidate;
    expectBits(get(next, {row}), carried, {row, 0});
    expectBits(get(use, {row}), carried == kInfinity ? 0.0F : carried, {row, 1});
    double expected = keep ? 1.0 : std::exp2(static_cast<double>(distance));
    EXPECT_NEAR(get(factor, {row}), expected, expected * 0x1p-22) << row;
  }
}

struct MaskCase {
  std::string masks;
  int64_t left, right; ///< kept: aligned - left <= column <= aligned + right
  bool bottomRight;
};

TEST(DeviceValues, MasksKeepWhatTheyBound) {
  constexpr int64_t kNone = int64_t(1) << 40;
  const std::vector<MaskCase> cases = {
      {"[]", kNone, kNone, true},
      {"[#attn.causal]", kNone, 0, true},
      {"[#attn.causal<top_left>]", kNone, 0, false},
      {"[#attn.window<left = 40, right = none>]", 40, kNone, true},
      {"[#attn.window<left = 3, right = 5, align = top_left>]", 3, 5, false},
      {"[#attn.causal, #attn.window<left = 64, right = none>]", 64, 0, true},
      {"[#attn.window<left = 2147483647, right = 2147483647>]", kNone, kNone, true},
      {"[#attn.window<left = -4, right = 2>]", -4, 2, true}};
  for (const MaskCase &mask : cases) {
    for (int64_t columns : {128, 80}) {
      auto x = makeNumbers({256, columns});
      std::string in = shapeText(columns, "f32");
      std::string body = "%x = tile.load %X[%t] : !tile.global<" + in + "> -> " + tileType(in) +
                         "\n%y = tile.mask %x block(%t, %j) " + mask.masks +
                         " extents(%sq, %sk) offset(%off) : " + tileType(in) +
                         "\ntile.store %y to %Y[%t] : " + tileType(in) + ", !tile.global<" + in +
                         ">";
      auto program = DeviceProgram::compile(roleText({{"X", in, ""},
                                                      {"Y", in, ""},
                                                      {"j", "i32", "i32"},
                                                      {"sq", "i32", "i32"},
                                                      {"sk", "i32", "i32"},
                                                      {"off", "i32", "i32"}},
                                                     body));
      ASSERT_TRUE(program);
      struct Position {
        int32_t block, rows, columns, offset;
      };
      for (Position at : {Position{0, 256, 128, 0},
                          {1, 200, 150, 0},
                          {-1, 256, 300, 0},
                          {0, 130, 0, 0},
                          {2, 256, 2000, 5}}) {
        auto y = makeArray(NpyType::F32, {256, columns});
        program->run({x, y, at.block, at.rows, at.columns, at.offset}, 2);
        y->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
          int64_t column = at.block * columns + index[1];
          int64_t aligned = index[0] + at.offset + (mask.bottomRight ? at.columns - at.rows : 0);
          bool isKept = index[0] < at.rows && column >= 0 && column < at.columns &&
                        column >= aligned - mask.left && column <= aligned + mask.right;
          expectBits(static_cast<float>(y->get(index)),
                     isKept ? static_cast<float>(x->get(index)) : -kInfinity, index);
        });
      }
    }
  }
}

TEST(DeviceValues, MapsSeePositionsElementsAndBranches) {
  auto x = makeNumbers({256, 96});
  auto table = makeNumbers({50});
  std::string in = shapeText(96, "f32");
  // A fetch per column that leaves the tensor at both ends, a branch of harmless
  // ops, a division that only its branch may execute, and a value per row.
  std::string body = "%x = tile.load %X[%t] : !tile.global<" + in + "> -> " + tileType(in) + R"(
    %c128 = arith.constant 128 : i32
    %row0 = arith.muli %t, %c128 : i32
    %m = tile.row_max %x init(%zrow) : )" +
                     tileType(in) + R"( -> !row
    %y = tile.map (%e = %x, %top = %m) at(%i = %row0, %j = %first) : ()" +
                     tileType(in) + ", !row) -> " + tileType(in) + R"( {
      %b = tile.fetch %T[%j] : !tile.global<1xf32> -> f32
      %odd = arith.cmpi sgt, %i, %j : i32
      %s = scf.if %odd -> f32 {
        %p = arith.addf %e, %b : f32
        scf.yield %p : f32
      } else {
        %p = arith.subf %e, %top : f32
        scf.yield %p : f32
      }
      %some = arith.cmpi sgt, %j, %c0 : i32
      %q = scf.if %some -> i32 {
        %d = arith.divsi %i, %j : i32
        scf.yield %d : i32
      } else {
        scf.yield %c0 : i32
      }
      %qf = arith.sitofp %q : i32 to f32
      %r = arith.addf %s, %qf : f32
      tile.yield %r : f32
    }
    tile.store %y to %Y[%t] : )" +
                     tileType(in) + ", !tile.global<" + in + ">";
  auto program = DeviceProgram::compile(
      roleText({{"X", in, ""}, {"Y", in, ""}, {"T", "1xf32", ""}, {"first", "i32", "i32"}},
               "%zrow = tile.splat %ninf : f32 -> !row\n" + body));
  ASSERT_TRUE(program);
  auto y = makeArray(NpyType::F32, {256, 96});
  constexpr int32_t kFirst = -20;
  program->run({x, y, table, kFirst}, 2);
  y->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
    float top = -kInfinity;
    for (int64_t column = 0; column < 96; ++column) {
      top = std::fmax(top, get(x, {index[0], column}));
    }
    int64_t j = kFirst + index[1];
    float b = j >= 0 && j < 50 ? get(table, {j}) : 0.0F;
    float e = get(x, {index[0], index[1]});
    float s = index[0] > j ? e + b : e - top;
    expectBits(static_cast<float>(y->get(index)), s + static_cast<float>(j > 0 ? index[0] / j : 0),
               index);
  });
}

/// A second role owns the tensor memory; the first one meets it at @users.
std::string tensorMemorySetup(int64_t word) {
  return "tile.named_barrier @users ids(1 to 1) threads(160)\n"
         "tile.setup { tile.tmem.alloc 256 columns by @owner word at " +
         std::to_string(word) +
         "\ntile.fence [init]\ntile.role_sync\n}\n"
         "tile.role @owner warps(1) at(4) regs(24) { }\n";
}
std::string tensorMemoryTeardown() {
  return "tile.teardown { tile.tmem.free 256 columns by @owner after(@users) }\n";
}

/// A view in shared or tensor memory, written, read back, and for f32 rescaled.
std::shared_ptr<HostArray> throughView(const std::shared_ptr<HostArray> &x, NpyType type,
                                       const std::string &element, const std::string &layout,
                                       const std::string &body) {
  int64_t columns = x->getShape()[1];
  std::string tile = shapeText(columns, element);
  bool isTensor = layout == "#tile.tmem<lanes>";
  std::string symbols = (isTensor ? "tile.placed_alloc @m[2] tmem at 0 stride 128\n"
                                  : "tile.placed_alloc @m[2] smem at 0 stride 65536\n") +
                        std::string("tile.view @V of @m : ") + tile + ", " + layout + "\n";
  std::string setup, teardown;
  if (isTensor) {
    setup = tensorMemorySetup(131072);
    teardown = tensorMemoryTeardown();
  }
  std::string text = "%x = tile.load %X[%t] : !tile.global<" + tile + "> -> " + tileType(tile) +
                     "\n" + body + "\ntile.store %y to %Y[%t] : " + tileType(tile) +
                     ", !tile.global<" + tile + ">";
  auto program = DeviceProgram::compile(
      roleText({{"X", tile, ""}, {"Y", tile, ""}}, text, symbols, setup, teardown));
  auto y = makeArray(type, x->getShape());
  if (program) {
    program->run({x, y}, 1);
  }
  return y;
}

TEST(DeviceValues, ViewsGiveBackWhatWasWritten) {
  for (int64_t columns : {128, 96, 64, 16}) {
    for (const auto &[element, type] :
         {std::pair<std::string, NpyType>{"f32", NpyType::F32}, {"bf16", NpyType::BF16}}) {
      auto x = makeArray(type, {128, columns});
      x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
        x->set(index, numberAt(number, 4.0F));
      });
      int64_t bytes = columns * (type == NpyType::F32 ? 4 : 2);
      int64_t swizzle = bytes % 128 == 0 ? 128 : bytes % 64 == 0 ? 64 : 32;
      for (const std::string &layout :
           {std::string("#tile.tmem<lanes>"), std::string("#tile.smem<linear>"),
            "#tile.smem<k_major, " + std::to_string(swizzle) + ">"}) {
        std::string tile = tileType(shapeText(columns, element));
        auto y =
            throughView(x, type, element, layout,
                        "tile.write %x to @V[1] : " + tile +
                            (layout == "#tile.tmem<lanes>" ? "\ntile.fence [tmem_stores]" : "") +
                            "\n%y = tile.read @V[1] : " + tile);
        EXPECT_TRUE(haveEqualBits(*x, *y)) << element << ' ' << columns << ' ' << layout;
      }
    }
  }
}

TEST(DeviceValues, RescaleSkipsNothingThatIsNotOne) {
  for (int64_t columns : {128, 96, 80}) {
    for (const std::string &likely : {std::string(" likely_one"), std::string()}) {
      auto x = makeNumbers({128, columns});
      std::string tile = tileType(shapeText(columns, "f32"));
      // One row of warp 1 and all of warp 2 differ from 1.
      std::string body = "tile.write %x to @V[1] : " + tile + R"(
        tile.fence [tmem_stores]
        %one = arith.constant 1.0 : f32
        %ones = tile.splat %one : f32 -> !row
        %f = tile.map (%o = %ones) at(%i = %c0, %j = %c0) : (!row) -> !row {
          %c40 = arith.constant 40 : i32
          %c64 = arith.constant 64 : i32
          %c96 = arith.constant 96 : i32
          %half = arith.constant 0.375 : f32
          %a = arith.cmpi eq, %i, %c40 : i32
          %b = arith.cmpi sge, %i, %c64 : i32
          %c = arith.cmpi slt, %i, %c96 : i32
          %d = arith.andi %b, %c : i1
          %e = arith.ori %a, %d : i1
          %r = arith.select %e, %half, %o : f32
          tile.yield %r : f32
        }
        tile.rescale @V[1] by %f)" +
                         likely + R"( : !row
        tile.fence [tmem_stores]
        %y = tile.read @V[1] : )" +
                         tile;
      auto y = throughView(x, NpyType::F32, "f32", "#tile.tmem<lanes>", body);
      y->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
        bool isScaled = index[0] == 40 || (index[0] >= 64 && index[0] < 96);
        expectBits(static_cast<float>(y->get(index)),
                   static_cast<float>(x->get(index)) * (isScaled ? 0.375F : 1.0F), index);
      });
    }
  }
}

TEST(DeviceValues, RowsPassThroughRegistersInPieces) {
  // Tensor memory to swizzled shared memory, with every op that a piece may hold.
  for (int64_t columns : {128, 96, 80}) {
    auto x = makeNumbers({128, columns});
    std::string tile = tileType(shapeText(columns, "f32"));
    std::string element = shapeText(columns, "bf16");
    int64_t swizzle = columns * 2 % 128 == 0 ? 128 : columns * 2 % 64 == 0 ? 64 : 32;
    std::string in = shapeText(columns, "f32");
    std::string symbols = "tile.placed_alloc @m tmem at 0 stride 128\n"
                          "tile.placed_alloc @o smem at 0 stride 65536\n"
                          "tile.view @V of @m : " +
                          in + ", #tile.tmem<lanes>\ntile.view @O of @o : " + element +
                          ", #tile.smem<k_major, " + std::to_string(swizzle) + ">\n";
    std::string body =
        "%x = tile.load %X[%t] : !tile.global<" + in + "> -> " + tile +
        "\ntile.write %x to @V : " + tile + R"(
      tile.fence [tmem_stores]
      %half = arith.constant 0.5 : f32
      %f = tile.splat %half : f32 -> !row
      %r = tile.read @V : )" +
        tile + "\n%s = tile.scale_rows %r by %f : " + tile +
        ", !row\n%p = tile.map (%e = %s) at(%i = %c0, %j = %c0) : (" + tile + ") -> " + tile + R"( {
        %g = arith.sitofp %j : i32 to f32
        %h = arith.addf %e, %g : f32
        tile.yield %h : f32
      }
      %z = tile.cast %p : )" +
        tile + " -> " + tileType(element) + "\ntile.write %z to @O : " + tileType(element) +
        "\n%y = tile.read @O : " + tileType(element) +
        "\ntile.store %y to %Y[%t] : " + tileType(element) + ", !tile.global<" + element + ">";
    auto program =
        DeviceProgram::compile(roleText({{"X", in, ""}, {"Y", element, ""}}, body, symbols,
                                        tensorMemorySetup(65536), tensorMemoryTeardown()));
    ASSERT_TRUE(program);
    auto y = makeArray(NpyType::BF16, {128, columns});
    auto expected = makeArray(NpyType::BF16, {128, columns});
    program->run({x, y}, 1);
    expected->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
      float value = static_cast<float>(x->get(index)) * 0.5F + static_cast<float>(index[1]);
      expected->set(index, value);
    });
    EXPECT_TRUE(haveEqualBits(*expected, *y)) << columns;
  }
}

TEST(DeviceValues, InlinePtxRunsPerElement) {
  auto x = makeNumbers({128, 40});
  std::string type = tileType(shapeText(40, "f32"));
  auto y = runOnTile(x, "%y = tile.inline_ptx \"abs.f32 $0, $1;\" constraints \"=f,f\" (%x) : (" +
                            type + ") -> " + type);
  y->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
    expectBits(static_cast<float>(y->get(index)), std::fabs(static_cast<float>(x->get(index))),
               index);
  });
}

TEST(DeviceValues, AdditionsToMemoryMeet) {
  // Two tiles add to one place each: both tiles see coordinate 0 only.
  auto x = makeNumbers({128, 32});
  auto sum = makeArray(NpyType::F32, {128, 32});
  std::string in = shapeText(32, "f32");
  auto program = DeviceProgram::compile(roleText(
      {{"X", in, ""}, {"Y", in, ""}},
      "%x = tile.load %X[%c0] : !tile.global<" + in + "> -> " + tileType(in) +
          "\ntile.store add %x to %Y[%c0] : " + tileType(in) + ", !tile.global<" + in + ">"));
  ASSERT_TRUE(program);
  program->run({x, sum}, 2);
  sum->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
    expectBits(static_cast<float>(sum->get(index)), 2.0F * static_cast<float>(x->get(index)),
               index);
  });
}

} // namespace
