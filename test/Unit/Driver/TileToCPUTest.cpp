//===- TileToCPUTest.cpp - T0 ops by value on the host --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every expectation is computed here from the op's description, mostly to the
// bit. Extents are chosen so that no strip and no register block is full.
//
//===----------------------------------------------------------------------===//

#include "HostRun.h"
#include "TileText.h"

#include "fa4/Numerics/Exp2.h"
#include "fa4/Numerics/Float16.h"
#include "fa4/Numerics/Random.h"

#include <cmath>

using namespace fa4::driver;
using fa4::support::NpyType;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::shared_ptr<HostArray> randomArray(NpyType type, llvm::ArrayRef<int64_t> shape,
                                       uint64_t stream) {
  auto array = makeArray(type, shape);
  fa4::numerics::CounterRandom random(7, stream);
  array->forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
    array->set(index, random.gaussian(static_cast<uint64_t>(number)));
  });
  return array;
}

float at(const std::shared_ptr<HostArray> &array, llvm::ArrayRef<int64_t> index) {
  return static_cast<float>(array->get(index));
}

/// One row of A times one column of B, onto `start`: in double, rounded once.
float dotProduct(const std::shared_ptr<HostArray> &a, const std::shared_ptr<HostArray> &b,
                 int64_t row, int64_t column, float start) {
  double sum = start;
  for (int64_t k = 0; k < a->getShape()[1]; ++k) {
    sum = std::fma(a->get({row, k}), b->get({k, column}), sum);
  }
  return static_cast<float>(sum);
}

TEST(TileToCPU, MmaRoundsOnce) {
  std::string body = R"(
    %a = tile.load %A[] : !tile.global<20x40xbf16> -> !tile.frag<20x40xbf16>
    %b = tile.load %B[] : !tile.global<40x37xbf16> -> !tile.frag<40x37xbf16>
    %o = tile.load %O[] : !tile.global<20x37xf32> -> !tile.frag<20x37xf32>
    %x = tile.mma a(%a) b(%b) : (!tile.frag<20x40xbf16>, !tile.frag<40x37xbf16>) -> !tile.frag<20x37xf32>
    tile.store %x to %X[] : !tile.frag<20x37xf32>, !tile.global<20x37xf32>
    %skip = arith.cmpi ne, %s, %c0 : i32
    %y = tile.mma a(%a) b(%b) onto(%o) unless(%skip) : (!tile.frag<20x40xbf16>, !tile.frag<40x37xbf16>, !tile.frag<20x37xf32>) -> !tile.frag<20x37xf32>
    tile.store %y to %Y[] : !tile.frag<20x37xf32>, !tile.global<20x37xf32>)";
  auto program = compileText(kernelText({{"A", "20x40xbf16", "memref<20x40xbf16>"},
                                         {"B", "40x37xbf16", "memref<40x37xbf16>"},
                                         {"O", "20x37xf32", "memref<20x37xf32>"},
                                         {"X", "20x37xf32", "memref<20x37xf32>"},
                                         {"Y", "20x37xf32", "memref<20x37xf32>"},
                                         {"s", "i32", "i32"}},
                                        body));
  ASSERT_TRUE(program);
  auto a = randomArray(NpyType::BF16, {20, 40}, 0);
  auto b = randomArray(NpyType::BF16, {40, 37}, 1);
  auto o = randomArray(NpyType::F32, {20, 37}, 2);
  for (int32_t skip : {0, 1}) {
    auto x = makeArray(NpyType::F32, {20, 37});
    auto y = makeArray(NpyType::F32, {20, 37});
    // What is skipped may hold anything.
    o->set({3, 5}, skip ? std::nan("") : 0.5);
    runMain(*program, {a, b, o, x, y, skip});
    x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
      float plain = dotProduct(a, b, index[0], index[1], 0.0F);
      float onto = dotProduct(a, b, index[0], index[1], skip ? 0.0F : at(o, index));
      ASSERT_EQ(at(x, index), plain) << index[0] << " " << index[1];
      ASSERT_EQ(at(y, index), onto) << index[0] << " " << index[1];
    });
  }
}

TEST(TileToCPU, TransposeAndSlices) {
  std::string body = R"(
    %x = tile.load %X[] : !tile.global<37x50xf16> -> !tile.frag<37x50xf16>
    %y = tile.transpose %x : !tile.frag<37x50xf16> -> !tile.frag<50x37xf16>
    tile.store %y to %T[] : !tile.frag<50x37xf16>, !tile.global<50x37xf16>
    %r = tile.slice %y rows 5 to 38 : !tile.frag<50x37xf16> -> !tile.frag<33x37xf16>
    %s = tile.slice %r columns 3 to 20 : !tile.frag<33x37xf16> -> !tile.frag<33x17xf16>
    %u = tile.transpose %s : !tile.frag<33x17xf16> -> !tile.frag<17x33xf16>
    tile.store %u to %U[] : !tile.frag<17x33xf16>, !tile.global<17x33xf16>)";
  auto program = compileText(kernelText({{"X", "37x50xf16", "memref<37x50xf16>"},
                                         {"T", "50x37xf16", "memref<50x37xf16>"},
                                         {"U", "17x33xf16", "memref<17x33xf16>"}},
                                        body));
  ASSERT_TRUE(program);
  auto x = randomArray(NpyType::F16, {37, 50}, 0);
  auto t = makeArray(NpyType::F16, {50, 37});
  auto u = makeArray(NpyType::F16, {17, 33});
  runMain(*program, {x, t, u});
  t->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
    ASSERT_EQ(at(t, index), at(x, {index[1], index[0]}));
  });
  u->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
    ASSERT_EQ(at(u, index), at(x, {index[0] + 3, index[1] + 5}));
  });
}

/// Loads the box at (b, i, h, c), stores it at the same place of another tensor.
std::string boxCopy(const std::string &memref) {
  std::string body = R"(
    %x = tile.load %X[%b, %i, %h, %c] : !tile.global<1x16x1x24xbf16> -> !tile.frag<16x24xbf16>
    tile.store %x to %Y[] : !tile.frag<16x24xbf16>, !tile.global<16x24xbf16>
    tile.store %x to %Z[%b, %i, %h, %c] : !tile.frag<16x24xbf16>, !tile.global<1x16x1x24xbf16>)";
  return kernelText({{"X", "1x16x1x24xbf16", memref},
                     {"Y", "16x24xbf16", "memref<16x24xbf16>"},
                     {"Z", "1x16x1x24xbf16", memref},
                     {"b", "i32", "i32"},
                     {"i", "i32", "i32"},
                     {"h", "i32", "i32"},
                     {"c", "i32", "i32"}},
                    body);
}

/// Outside reads zero and is not written, with contiguous columns and without.
TEST(TileToCPU, BoxesAreBounded) {
  struct Case {
    std::string memref;
    llvm::SmallVector<int64_t, 4> strides;
    int64_t offset;
  };
  for (const Case &layout :
       {Case{"memref<?x?x?x?xbf16, strided<[?, ?, ?, 1], offset: ?>>", {4000, 90, 30, 1}, 16},
        Case{"memref<?x?x?x?xbf16, strided<[?, ?, ?, ?], offset: ?>>", {1, 80, 2, 3200}, 8}}) {
    auto program = compileText(boxCopy(layout.memref));
    ASSERT_TRUE(program);
    llvm::SmallVector<int64_t, 4> shape = {2, 37, 3, 29};
    auto x = std::make_shared<HostArray>(NpyType::BF16, shape, layout.strides, layout.offset);
    auto dense = randomArray(NpyType::BF16, shape, 5);
    x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) { x->set(index, dense->get(index)); });
    for (int32_t b : {-1, 0, 1, 2}) {
      for (int32_t i : {-1, 0, 2, 3}) {
        for (int32_t h : {0, 2, 3}) {
          for (int32_t c : {-1, 0, 1, 2}) {
            auto y = makeArray(NpyType::BF16, {16, 24});
            auto z =
                std::make_shared<HostArray>(NpyType::BF16, shape, layout.strides, layout.offset);
            runMain(*program, {x, y, z, b, i, h, c});
            y->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
              int64_t row = 16 * i + index[0];
              int64_t column = 24 * c + index[1];
              bool inside = b >= 0 && b < 2 && h >= 0 && h < 3 && row >= 0 && row < 37 &&
                            column >= 0 && column < 29;
              ASSERT_EQ(y->get(index), inside ? x->get({b, row, h, column}) : 0.0);
            });
            z->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
              bool written = index[0] == b && index[2] == h && index[1] >= 16 * i &&
                             index[1] < 16 * i + 16 && index[3] >= 24 * c && index[3] < 24 * c + 24;
              ASSERT_EQ(z->get(index), written ? x->get(index) : 0.0);
            });
          }
        }
      }
    }
  }
}

TEST(TileToCPU, SubrangeCountsFromItsStart) {
  std::string body = R"(
    %P = tile.subrange %X dim(0) from %start to %end : !tile.global<8x4xf32>
    %x = tile.load %P[%i] : !tile.global<8x4xf32> -> !tile.frag<8x4xf32>
    tile.store %x to %Y[] : !tile.frag<8x4xf32>, !tile.global<8x4xf32>
    %e = tile.fetch %P[%c1, %c1] : !tile.global<8x4xf32> -> f32
    %f = tile.splat %e : f32 -> !tile.frag<2xf32>
    tile.store %f to %E[] : !tile.frag<2xf32>, !tile.global<2xf32>)";
  std::string text = kernelText({{"X", "8x4xf32", "memref<30x4xf32>"},
                                 {"Y", "8x4xf32", "memref<8x4xf32>"},
                                 {"E", "2xf32", "memref<2xf32>"},
                                 {"start", "i32", "i32"},
                                 {"end", "i32", "i32"},
                                 {"i", "i32", "i32"}},
                                body);
  auto program = compileText(text);
  ASSERT_TRUE(program);
  auto x = randomArray(NpyType::F32, {30, 4}, 3);
  struct Range {
    int32_t start, end, box;
  };
  for (const Range &range : {Range{5, 20, 0}, Range{5, 20, 1}, Range{5, 6, 0}, Range{25, 40, 0},
                             Range{7, 3, 0}, Range{-4, 9, 0}}) {
    int32_t start = range.start;
    int32_t end = range.end;
    int32_t i = range.box;
    auto y = makeArray(NpyType::F32, {8, 4});
    auto e = makeArray(NpyType::F32, {2});
    runMain(*program, {x, y, e, start, end, i});
    y->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
      int64_t row = start + 8 * i + index[0];
      bool inside = row >= std::max(start, 0) && row < std::min(end, 30);
      ASSERT_EQ(y->get(index), inside ? x->get({row, index[1]}) : 0.0);
    });
    bool inside = start + 1 < std::min(end, 30) && start + 1 >= 0;
    EXPECT_EQ(e->get({0}), inside ? x->get({start + 1, 1}) : 0.0);
  }
}

TEST(TileToCPU, MapsSeeOperandsAndPositions) {
  std::string body = R"(
    %x = tile.load %X[] : !tile.global<19x37xbf16> -> !tile.frag<19x37xbf16>
    %r = tile.load %R[] : !tile.global<19xf32> -> !tile.frag<19xf32>
    %v, %k = tile.map (%e = %x, %row = %r) at(%i = %i0, %j = %j0) : (!tile.frag<19x37xbf16>, !tile.frag<19xf32>) -> (!tile.frag<19x37xf32>, !tile.frag<19x37xi32>) {
      %f = arith.extf %e : bf16 to f32
      %g = arith.mulf %f, %row : f32
      %h = math.exp2 %g : f32
      %ij = arith.subi %i, %j : i32
      tile.yield %h, %ij : f32, i32
    }
    tile.store %v to %V[] : !tile.frag<19x37xf32>, !tile.global<19x37xf32>
    tile.store %k to %K[] : !tile.frag<19x37xi32>, !tile.global<19x37xi32>
    %d = tile.map (%e = %v, %row = %r) at(%i = %i0, %j = %j0) : (!tile.frag<19x37xf32>, !tile.frag<19xf32>) -> !tile.frag<19x37xf32> {
      %two = arith.constant 3 : i32
      %q = arith.divsi %i, %two : i32
      %u = arith.divsi %j, %two : i32
      %same = arith.cmpi eq, %q, %u : i32
      %w = scf.if %same -> f32 {
        %b = tile.fetch %B[%i, %j] : !tile.global<4x4xf32> -> f32
        %s = arith.addf %b, %row : f32
        scf.yield %s : f32
      } else {
        scf.yield %e : f32
      }
      tile.yield %w : f32
    }
    tile.store %d to %D[] : !tile.frag<19x37xf32>, !tile.global<19x37xf32>
    %y = tile.map (%row = %r) at(%i = %i0, %j = %j0) : (!tile.frag<19xf32>) -> !tile.frag<19xf32> {
      %n = arith.sitofp %i : i32 to f32
      %m = arith.addf %n, %row : f32
      tile.yield %m : f32
    }
    tile.store %y to %Y[] : !tile.frag<19xf32>, !tile.global<19xf32>)";
  auto program = compileText(kernelText({{"X", "19x37xbf16", "memref<19x37xbf16>"},
                                         {"R", "19xf32", "memref<19xf32>"},
                                         {"B", "4x4xf32", "memref<12x40xf32>"},
                                         {"V", "19x37xf32", "memref<19x37xf32>"},
                                         {"K", "19x37xi32", "memref<19x37xi32>"},
                                         {"D", "19x37xf32", "memref<19x37xf32>"},
                                         {"Y", "19xf32", "memref<19xf32>"},
                                         {"i0", "i32", "i32"},
                                         {"j0", "i32", "i32"}},
                                        body));
  ASSERT_TRUE(program);
  auto x = randomArray(NpyType::BF16, {19, 37}, 1);
  auto r = randomArray(NpyType::F32, {19}, 2);
  auto b = randomArray(NpyType::F32, {12, 40}, 3);
  auto v = makeArray(NpyType::F32, {19, 37});
  auto k = makeArray(NpyType::I32, {19, 37});
  auto d = makeArray(NpyType::F32, {19, 37});
  auto y = makeArray(NpyType::F32, {19});
  int32_t i0 = 2;
  int32_t j0 = 5;
  runMain(*program, {x, r, b, v, k, d, y, i0, j0});
  v->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
    int64_t i = i0 + index[0];
    int64_t j = j0 + index[1];
    float row = at(r, {index[0]});
    ASSERT_EQ(at(v, index), fa4::numerics::hostExp2Accurate(at(x, index) * row));
    ASSERT_EQ(k->get(index), static_cast<double>(i - j));
    float fetched = i < 12 && j < 40 ? at(b, {i, j}) : 0.0F;
    ASSERT_EQ(at(d, index), i / 3 == j / 3 ? fetched + row : at(v, index)) << i << " " << j;
  });
  for (int64_t row = 0; row < 19; ++row) {
    EXPECT_EQ(at(y, {row}), static_cast<float>(i0 + row) + at(r, {row}));
  }
}

TEST(TileToCPU, RowStatisticsKeepTheirOrder) {
  std::string body = R"(
    %x = tile.load %X[] : !tile.global<9x53xf32> -> !tile.frag<9x53xf32>
    %i = tile.load %I[] : !tile.global<9xf32> -> !tile.frag<9xf32>
    %s = tile.row_sum %x init(%i) : !tile.frag<9x53xf32> -> !tile.frag<9xf32>
    %m = tile.row_max %x init(%i) : !tile.frag<9x53xf32> -> !tile.frag<9xf32>
    tile.store %s to %S[] : !tile.frag<9xf32>, !tile.global<9xf32>
    tile.store %m to %M[] : !tile.frag<9xf32>, !tile.global<9xf32>)";
  auto program = compileText(kernelText({{"X", "9x53xf32", "memref<9x53xf32>"},
                                         {"I", "9xf32", "memref<9xf32>"},
                                         {"S", "9xf32", "memref<9xf32>"},
                                         {"M", "9xf32", "memref<9xf32>"}},
                                        body));
  ASSERT_TRUE(program);
  auto x = randomArray(NpyType::F32, {9, 53}, 1);
  auto init = randomArray(NpyType::F32, {9}, 2);
  auto sum = makeArray(NpyType::F32, {9});
  auto top = makeArray(NpyType::F32, {9});
  // A NaN is passed over by the maximum, wherever it stands.
  x->set({4, 0}, std::nan(""));
  x->set({5, 52}, std::nan(""));
  runMain(*program, {x, init, sum, top});
  for (int64_t row = 0; row < 9; ++row) {
    float partial[16] = {};
    float largest = at(init, {row});
    for (int64_t column = 0; column < 53; ++column) {
      partial[column % 16] += at(x, {row, column});
      largest = std::fmax(largest, at(x, {row, column}));
    }
    for (int half = 8; half >= 1; half /= 2) {
      for (int k = 0; k < half; ++k) {
        partial[k] += partial[k + half];
      }
    }
    EXPECT_EQ(at(top, {row}), largest);
    if (row == 4 || row == 5) {
      EXPECT_TRUE(std::isnan(at(sum, {row})));
    } else {
      EXPECT_EQ(at(sum, {row}), partial[0] + at(init, {row}));
    }
  }
}

TEST(TileToCPU, OnlineMaxFollowsItsDescription) {
  std::string body = R"(
    %top = tile.load %T[] : !tile.global<21xf32> -> !tile.frag<21xf32>
    %ref = tile.load %R[] : !tile.global<21xf32> -> !tile.frag<21xf32>
    %d, %use, %a = tile.online_max %top from(%ref) scale(%c) lag(8.0) : !tile.frag<21xf32>
    tile.store %d to %D[] : !tile.frag<21xf32>, !tile.global<21xf32>
    tile.store %use to %U[] : !tile.frag<21xf32>, !tile.global<21xf32>
    tile.store %a to %A[] : !tile.frag<21xf32>, !tile.global<21xf32>)";
  auto program = compileText(kernelText({{"T", "21xf32", "memref<21xf32>"},
                                         {"R", "21xf32", "memref<21xf32>"},
                                         {"D", "21xf32", "memref<21xf32>"},
                                         {"U", "21xf32", "memref<21xf32>"},
                                         {"A", "21xf32", "memref<21xf32>"},
                                         {"c", "f32", "f32"}},
                                        body));
  ASSERT_TRUE(program);
  auto top = makeArray(NpyType::F32, {21});
  auto reference = makeArray(NpyType::F32, {21});
  const float tops[] = {-kInf, -kInf, 0.0F, 1.0F, 5.0F, 50.0F, 3e5F};
  const float references[] = {kInf, -1.0F, 3e4F};
  for (int64_t n = 0; n < 21; ++n) {
    top->set({n}, tops[n % 7]);
    reference->set({n}, references[n / 7]);
  }
  auto next = makeArray(NpyType::F32, {21});
  auto offset = makeArray(NpyType::F32, {21});
  auto factor = makeArray(NpyType::F32, {21});
  float c = 1.44F;
  runMain(*program, {top, reference, next, offset, factor, c});
  for (int64_t n = 0; n < 21; ++n) {
    float dn = -(at(top, {n}) * c);
    float d = at(reference, {n});
    float a = dn - d;
    bool keep = !(a < -8.0F);
    float d1 = keep ? d : dn;
    EXPECT_EQ(at(next, {n}), d1) << n;
    EXPECT_EQ(at(offset, {n}), d1 == kInf ? 0.0F : d1) << n;
    EXPECT_EQ(at(factor, {n}), keep ? 1.0F : fa4::numerics::hostExp2Accurate(a)) << n;
  }
}

TEST(TileToCPU, CastsRoundToNearestEven) {
  std::string body = R"(
    %x = tile.load %X[%t] : !tile.global<64x64xf32> -> !tile.frag<64x64xf32>
    %b = tile.cast %x : !tile.frag<64x64xf32> -> !tile.frag<64x64xbf16>
    %h = tile.cast %x : !tile.frag<64x64xf32> -> !tile.frag<64x64xf16>
    %w = tile.cast %b : !tile.frag<64x64xbf16> -> !tile.frag<64x64xf32>
    tile.store %b to %B[%t] : !tile.frag<64x64xbf16>, !tile.global<64x64xbf16>
    tile.store %h to %H[%t] : !tile.frag<64x64xf16>, !tile.global<64x64xf16>
    tile.store %w to %W[%t] : !tile.frag<64x64xf32>, !tile.global<64x64xf32>)";
  auto program = compileText(kernelText({{"X", "64x64xf32", "memref<1024x64xf32>"},
                                         {"B", "64x64xbf16", "memref<1024x64xbf16>"},
                                         {"H", "64x64xf16", "memref<1024x64xf16>"},
                                         {"W", "64x64xf32", "memref<1024x64xf32>"}},
                                        body, 16));
  ASSERT_TRUE(program);
  auto x = makeArray(NpyType::F32, {1024, 64});
  // Every exponent and sign, with mantissas around the rounding points.
  x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
    auto bits = static_cast<uint32_t>(number) * 65537U + static_cast<uint32_t>(number) * 7U;
    x->set(index, fa4::numerics::floatFromBits(bits));
  });
  auto b = makeArray(NpyType::BF16, {1024, 64});
  auto h = makeArray(NpyType::F16, {1024, 64});
  auto w = makeArray(NpyType::F32, {1024, 64});
  runMain(*program, {x, b, h, w});
  x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
    float value = at(x, index);
    float asBF16 = fa4::numerics::bf16ToFloat(fa4::numerics::floatToBF16(value));
    float asF16 = fa4::numerics::f16ToFloat(fa4::numerics::floatToF16(value));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(at(b, index)) && std::isnan(at(h, index)) && std::isnan(at(w, index)));
      return;
    }
    ASSERT_EQ(at(b, index), asBF16) << value;
    ASSERT_EQ(at(w, index), asBF16) << value;
    ASSERT_EQ(at(h, index), asF16) << value;
  });
}

TEST(TileToCPU, MasksRemoveWhatTheySay) {
  std::string body = R"(
    %zero = arith.constant 1.0 : f32
    %s = tile.splat %zero : f32 -> !tile.frag<20x23xf32>
    %m = tile.mask %s block(%i, %j) [#attn.causal<top_left>, #attn.window<left = 6, right = none>] extents(%sq, %sk) offset(%off) : !tile.frag<20x23xf32>
    tile.store %m to %X[] : !tile.frag<20x23xf32>, !tile.global<20x23xf32>)";
  auto program = compileText(kernelText({{"X", "20x23xf32", "memref<20x23xf32>"},
                                         {"i", "i32", "i32"},
                                         {"j", "i32", "i32"},
                                         {"sq", "i32", "i32"},
                                         {"sk", "i32", "i32"},
                                         {"off", "i32", "i32"}},
                                        body));
  ASSERT_TRUE(program);
  struct Place {
    int32_t i, j, sq, sk, off;
  };
  for (const Place &place :
       {Place{0, 0, 20, 23, 0}, Place{1, 1, 37, 50, 3}, Place{0, -1, 20, 23, 0},
        Place{1, 0, 30, 5, -4}, Place{0, 0, 0, 0, 0}, Place{2, 1, 100, 100, -9}}) {
    int32_t i = place.i;
    int32_t j = place.j;
    int32_t sq = place.sq;
    int32_t sk = place.sk;
    int32_t off = place.off;
    auto x = makeArray(NpyType::F32, {20, 23});
    runMain(*program, {x, i, j, sq, sk, off});
    x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
      int64_t row = 20 * i + index[0];
      int64_t key = 23 * j + index[1];
      int64_t alignedTopLeft = row + off;
      int64_t alignedBottomRight = row + sk - sq + off;
      bool keep = row < sq && key >= 0 && key < sk && key <= alignedTopLeft &&
                  key >= alignedBottomRight - 6;
      ASSERT_EQ(at(x, index), keep ? 1.0F : -kInf) << row << " " << key;
    });
  }
}

TEST(TileToCPU, CarriedTilesAreExchangedAtOnce) {
  std::string body = R"(
    %x = tile.load %X[] : !tile.global<5x7xf32> -> !tile.frag<5x7xf32>
    %y = tile.load %Y[] : !tile.global<5x7xf32> -> !tile.frag<5x7xf32>
    %a, %b, %k = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %q = %y, %m = %c0) -> (!tile.frag<5x7xf32>, !tile.frag<5x7xf32>, i32) : i32 {
      %odd = arith.andi %i, %c1 : i32
      %isOdd = arith.cmpi ne, %odd, %c0 : i32
      %m1 = arith.addi %m, %i : i32
      %r = tile.step @double[0](%p) unless(%isOdd) : (!tile.frag<5x7xf32>) -> !tile.frag<5x7xf32>
      %s, %m2 = scf.if %isOdd -> (!tile.frag<5x7xf32>, i32) {
        scf.yield %p, %m1 : !tile.frag<5x7xf32>, i32
      } else {
        scf.yield %r, %m : !tile.frag<5x7xf32>, i32
      }
      scf.yield %q, %s, %m2 : !tile.frag<5x7xf32>, !tile.frag<5x7xf32>, i32
    }
    %f = arith.sitofp %k : i32 to f32
    %g = tile.splat %f : f32 -> !tile.frag<5x7xf32>
    tile.store %a to %A[] : !tile.frag<5x7xf32>, !tile.global<5x7xf32>
    tile.store %b to %B[] : !tile.frag<5x7xf32>, !tile.global<5x7xf32>
    tile.store %g to %G[] : !tile.frag<5x7xf32>, !tile.global<5x7xf32>)";
  std::string defs = R"(
    tile.def @double(%x: !tile.frag<5x7xf32>) -> !tile.frag<5x7xf32> {
      %y = tile.map (%e = %x) : (!tile.frag<5x7xf32>) -> !tile.frag<5x7xf32> {
        %f = arith.addf %e, %e : f32
        tile.yield %f : f32
      }
      tile.yield %y : !tile.frag<5x7xf32>
    }
  )";
  std::vector<KernelArgument> arguments;
  for (const char *name : {"X", "Y", "A", "B", "G"}) {
    arguments.push_back({name, "5x7xf32", "memref<5x7xf32>"});
  }
  arguments.push_back({"n", "i32", "i32"});
  auto program = compileText(kernelText(arguments, body, 1, defs));
  ASSERT_TRUE(program);
  auto x = randomArray(NpyType::F32, {5, 7}, 1);
  auto y = randomArray(NpyType::F32, {5, 7}, 2);
  for (int32_t n : {0, 1, 2, 3, 7}) {
    auto a = makeArray(NpyType::F32, {5, 7});
    auto b = makeArray(NpyType::F32, {5, 7});
    auto g = makeArray(NpyType::F32, {5, 7});
    runMain(*program, {x, y, a, b, g, n});
    x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
      float p = at(x, index);
      float q = at(y, index);
      float odds = 0.0F;
      for (int i = 0; i < n; ++i) {
        float next = i % 2 ? p : p + p;
        odds += i % 2 ? static_cast<float>(i) : 0.0F;
        p = q;
        q = next;
      }
      ASSERT_EQ(at(a, index), p);
      ASSERT_EQ(at(b, index), q);
      ASSERT_EQ(at(g, index), odds);
    });
  }
}

TEST(TileToCPU, FactsClampTheWork) {
  std::string text = R"(
    tile.kernel @kernel(%O: !tile.global<1x2xi32>, %nt: i32, %low: i32) target(#fa4.target<"sm_100a">)
        schedule(#fa4.schedule<forward, tile = 128 x 128>) {
      tile.work @work(%w) tiles(%nt : i32) uses(%low : i32) -> (%t, %x, %y, %z)
          facts(3 <= %x, %y <= %x, %z <= 4) {
        tile.yield %w, %low, %w, %w : i32, i32, i32, i32
      }
      tile.for_each_tile (%t, %x, %y, %z) in @work {
        %a = arith.muli %x, %x : i32
        %hundred = arith.constant 100 : i32
        %b = arith.muli %y, %hundred : i32
        %d = arith.addi %b, %z : i32
        %v = tile.splat %x : i32 -> !tile.frag<2xi32>
        %r = tile.map (%e = %v) at(%i = %d, %j = %d) : (!tile.frag<2xi32>) -> !tile.frag<2xi32> {
          %zero = arith.cmpi eq, %i, %d : i32
          %s = arith.select %zero, %e, %d : i32
          tile.yield %s : i32
        }
        tile.store %r to %O[%t] : !tile.frag<2xi32>, !tile.global<1x2xi32>
      }
    }
    func.func @main(%o: memref<?x2xi32>, %nt: i32, %low: i32) {
      tile.launch @kernel(%o, %nt, %low) : memref<?x2xi32>, i32, i32
      return
    })";
  auto program = compileText(text);
  ASSERT_TRUE(program);
  for (int32_t tiles : {-2, 0, 1, 40}) {
    for (int32_t low : {1, 9}) {
      auto o = makeArray(NpyType::I32, {41, 2});
      runMain(*program, {o, tiles, low});
      for (int32_t t = 0; t < 41; ++t) {
        int32_t x = std::max(low, 3);
        int32_t second = 100 * std::min(t, x) + std::min(t, 4);
        bool written = t < tiles;
        EXPECT_EQ(o->get({t, 0}), written ? x : 0) << t;
        EXPECT_EQ(o->get({t, 1}), written ? second : 0) << t;
      }
    }
  }
}

TEST(TileToCPU, StoreAddAddsToMemory) {
  std::string body = R"(
    %x = tile.load %X[%t] : !tile.global<3x5xf32> -> !tile.frag<3x5xf32>
    tile.store add %x to %Y[] : !tile.frag<3x5xf32>, !tile.global<3x5xf32>)";
  auto program = compileText(kernelText(
      {{"X", "3x5xf32", "memref<60x5xf32>"}, {"Y", "3x5xf32", "memref<2x5xf32>"}}, body, 20));
  ASSERT_TRUE(program);
  auto x = makeArray(NpyType::F32, {60, 5});
  // Small integers: every order of additions gives the same number.
  x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
    x->set(index, static_cast<double>(number % 13));
  });
  auto y = makeArray(NpyType::F32, {2, 5});
  y->set({1, 1}, 1000.0);
  runMain(*program, {x, y});
  y->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
    double expected = index[0] == 1 && index[1] == 1 ? 1000.0 : 0.0;
    for (int64_t t = 0; t < 20; ++t) {
      expected += x->get({3 * t + index[0], index[1]});
    }
    EXPECT_EQ(y->get(index), expected);
  });
}

} // namespace
