//===- TileHelpersTest.cpp - what passes ask of types and ops --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "ParsedModule.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fa4::tile;

TEST(TileHelpersTest, TheTileOfAGridIsItsBoxWithoutUnitExtents) {
  ParsedModule parsed("module {}");
  Type f32 = Float32Type::get(&parsed.context);
  auto grid = GlobalType::get(&parsed.context, {1, 128, 1, 64}, f32);
  EXPECT_EQ(grid.getTileShape(), (SmallVector<int64_t>{128, 64}));
  EXPECT_EQ(grid.getTileDims(), (SmallVector<int64_t>{1, 3}));
  EXPECT_EQ(grid.getTileType(), FragType::get(&parsed.context, {128, 64}, f32));
  EXPECT_FALSE(GlobalType::get(&parsed.context, {1, 1}, f32).getTileType());
}

TEST(TileHelpersTest, AShareGoesByThePlaceInTheTile) {
  ParsedModule parsed("module {}");
  auto share = Exp2ShareAttr::get(&parsed.context, /*degree=*/3, /*period=*/16, /*last=*/4,
                                  /*first_chunk=*/1, /*last_chunk=*/2);
  int64_t count = 0;
  for (int64_t column = 0; column < 128; ++column) {
    count += share.isPolynomial(column);
  }
  EXPECT_EQ(count, 16);
  EXPECT_FALSE(share.isPolynomial(31)) << "chunk 0";
  EXPECT_FALSE(share.isPolynomial(43));
  EXPECT_TRUE(share.isPolynomial(44));
  EXPECT_TRUE(share.isPolynomial(95));
  EXPECT_FALSE(share.isPolynomial(111)) << "chunk 3";
}

TEST(TileHelpersTest, FactsAndNamesOfAWork) {
  ParsedModule parsed(R"(
tile.def @far() {
}
tile.kernel @k(%n: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 128 x 128>) {
  tile.def @near() {
  }
  tile.work @work(%t) tiles(%n : i32) -> (%a, %b) facts(1 <= %b, %a <= 5) {
    tile.yield %t, %t : i32, i32
  }
  tile.for_each_tile (%a, %b) in @work {
    tile.step @far() : () -> ()
    tile.step @near[2]() : () -> ()
  }
}
)");
  auto work = parsed.first<WorkOp>();
  EXPECT_EQ(work.findResult("b"), 1u);
  EXPECT_FALSE(work.findResult("c"));
  EXPECT_TRUE(work.impliesAtLeast(1, 1));
  EXPECT_TRUE(work.impliesAtLeast(1, 0));
  EXPECT_FALSE(work.impliesAtLeast(1, 2));
  EXPECT_FALSE(work.impliesAtLeast(0, 1)) << "an upper bound is no lower bound";

  SmallVector<StepOp> steps;
  parsed.module->walk([&](StepOp step) { steps.push_back(step); });
  EXPECT_EQ(steps[0].getStepName(), "far");
  EXPECT_EQ(steps[1].getStepName(), "near[2]");
  EXPECT_TRUE(isa<ModuleOp>(steps[0].getDef()->getParentOp()));
  EXPECT_TRUE(isa<KernelOp>(steps[1].getDef()->getParentOp()));
}
