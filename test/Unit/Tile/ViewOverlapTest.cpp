//===- ViewOverlapTest.cpp - which accesses may conflict ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ViewOverlap.h"

#include "fa4/Dialect/Tile/Analysis/PairArrivals.h"

#include "HandText.h"
#include "ParsedModule.h"
#include "gtest/gtest.h"

using namespace fa4::tile;

namespace {

constexpr llvm::StringLiteral text = R"(
tile.kernel @k(%n: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<backward, tile = 128 x 128>) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.alloc @sp[2] : tmem 128 columns
  tile.alloc @ds : smem 32768 bytes
  tile.view @S of @sp : 128x128xf32, #tile.tmem<lanes>
  tile.view @P of @sp at column 64 : 128x128xbf16, #tile.tmem<lanes>
  tile.view @dQ of @sp at column 32 : 64x64xf32, #tile.tmem<fold>
  tile.view @dS of @ds : 64x256xbf16, #tile.smem<mn_major, 128>
  tile.view @Own of @ds plus rank * 16384 : 64x128xbf16, #tile.smem<mn_major, 128>
}
)";

struct ViewOverlapTest : public ::testing::Test {
  ParsedModule parsed{text};
  ViewOverlap overlap{parsed.first<KernelOp>()};
};

} // namespace

TEST_F(ViewOverlapTest, RangesFollowElementWidthAndFold) {
  EXPECT_EQ(overlap.lookup("P")->rangeOf(0), (MemoryRange{64, 128}));
  EXPECT_EQ(overlap.lookup("dQ")->rangeOf(1), (MemoryRange{32, 64}));
  EXPECT_EQ(overlap.lookup("X"), nullptr);
}

TEST_F(ViewOverlapTest, SharedIsTheIntersection) {
  EXPECT_EQ(*overlap.shared("S", "P"), (MemoryRange{64, 128}));
  EXPECT_EQ(*overlap.shared("dQ", "S"), (MemoryRange{32, 64}));
  EXPECT_FALSE(overlap.shared("dQ", "P")) << "adjacent columns share nothing";
  EXPECT_FALSE(overlap.shared("S", "dS")) << "allocations are disjoint";
}

TEST_F(ViewOverlapTest, AViewThatMovesWithTheRankCoversBothHalves) {
  EXPECT_EQ(overlap.lookup("Own")->rangeOf(0), (MemoryRange{0, 16384}));
  EXPECT_EQ(overlap.lookup("Own")->rangeOf(1), (MemoryRange{16384, 32768}));
  EXPECT_EQ(*overlap.shared("dS", "Own"), (MemoryRange{0, 32768}));
}

TEST_F(ViewOverlapTest, DifferentRegionsNeverConflict) {
  EXPECT_TRUE(overlap.mayConflict({"S", 1}, {"P", 1}));
  EXPECT_FALSE(overlap.mayConflict({"S", 0}, {"P", 1}));
  EXPECT_TRUE(overlap.mayConflict({"S", std::nullopt}, {"P", 1})) << "an unknown region is any";
  EXPECT_FALSE(overlap.mayConflict({"dQ", 1}, {"P", 1}));
}

/// Whether threads of pairs tell the leader of tensor memory alone by `barrier`.
static bool isRelaxed(const std::string &file, llvm::StringRef barrier) {
  std::string text = readHandText(file);
  ParsedModule parsed{text};
  auto kernel = parsed.first<KernelOp>();
  PairArrivals arrivals{kernel};
  auto name = mlir::StringAttr::get(kernel->getContext(), barrier);
  EXPECT_TRUE(arrivals.isPairWide(name));
  return arrivals.isRelaxed(name);
}

TEST(PairArrivalsTest, OperandsThatThreadsWriteNeedARelease) {
  EXPECT_TRUE(isRelaxed("forward-sm100-pair-t2.mlir", "pa.full"));
  EXPECT_FALSE(isRelaxed("backward-sm100-t2.mlir", "ds.full"));
}

TEST(PairArrivalsTest, WrittenOperandsAreEnoughForARelease) {
  // Nothing else in that kernel would ask for one.
  std::string text = readHandText("backward-sm100-t2.mlir");
  ParsedModule parsed{text};
  auto kernel = parsed.first<KernelOp>();
  kernel.walk([](IssueSendOp send) { send.erase(); });
  EXPECT_FALSE(
      PairArrivals{kernel}.isRelaxed(mlir::StringAttr::get(kernel->getContext(), "ds.full")));
}

TEST(PairArrivalsTest, BarriersOfOneCtaAreNone) {
  std::string text = readHandText("forward-sm100-t2.mlir");
  ParsedModule parsed{text};
  auto kernel = parsed.first<KernelOp>();
  auto name = mlir::StringAttr::get(kernel->getContext(), "pa.full");
  EXPECT_FALSE(PairArrivals{kernel}.isPairWide(name));
}
