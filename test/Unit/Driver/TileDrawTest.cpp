//===- TileDrawTest.cpp - every tile is computed once ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of two roles that counts, for each way to draw tiles: visits of each
// tile, and trips of its inner loop. What the roles hand over is checked by the proof
// on the way, where it can, and by the simulator's race detection.
//
//===----------------------------------------------------------------------===//

#include "HostRun.h"

#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Driver/SimulatedProgram.h"
#include "mlir/Pass/PassManager.h"

using namespace fa4;
using namespace fa4::driver;
using fa4::support::NpyType;

namespace {

constexpr int64_t kRows = 128;
constexpr int kMostTiles = 11;

/// @load brings a tile of X for each trip; @count adds 1 to the visits of its tile,
/// and X, which is ones, to the trips.
std::string text(const std::string &work, const std::string &chip) {
  return R"(
#rows = #tile.spread<rows>
!T = !tile.frag<128x64xbf16, #rows>
!row = !tile.frag<128xf32, #rows>
!g = !tile.global<128x64xbf16>
!c = !tile.global<128xf32>
tile.kernel @kernel(%X: !g, %Visits: !c, %Trips: !c, %trips: i32, %nt: i32)
    target(#fa4.target<")" +
         chip + R"(">) schedule(#fa4.schedule<forward, tile = 128 x 64, work = )" + work +
         R"(,
      roles = [load = {load} warps 1 at 4 regs 64, count = {count} warps 4 at 0 regs 128]>) {
  tile.work @work(%t) tiles(%nt : i32) uses(%trips : i32) -> (%i, %n) facts(0 <= %n) {
    tile.yield %t, %trips : i32, i32
  }
  tile.alloc @x_mem : smem 16384 bytes
  tile.view @X of @x_mem : 128x64xbf16, #tile.smem<k_major, 128>
  tile.channel @x depth(1) from(@load) to(@count) carries(@X)
  tile.role @load warps(1) uses(%X : !g) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    tile.for_each_tile (%i, %n) in @work {
      scf.for %j = %c0 to %n step %c1 : i32 {
        %t = tile.acquire @x
        %e = tile.async_load %X[%c0] to %t as @X : !g
        tile.commit %t after(%e)
      }
    }
  }
  tile.role @count warps(4) uses(%Visits, %Trips : !c, !c) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant 1.0 : f32
    %zero = arith.constant 0.0 : f32
    %ones = tile.splat %one : f32 -> !row
    %none = tile.splat %zero : f32 -> !row
    tile.for_each_tile (%i, %n) in @work {
      %sum = scf.for %j = %c0 to %n step %c1 iter_args(%s = %none) -> (!row) : i32 {
        %t = tile.wait @x
        %x = tile.read %t as @X : !T
        tile.release %t
        %f = tile.cast %x : !T -> !tile.frag<128x64xf32, #rows>
        %next = tile.row_sum %f init(%s) : !tile.frag<128x64xf32, #rows> -> !row
        scf.yield %next : !row
      }
      tile.store add %ones to %Visits[%i] : !row, !c
      tile.store add %sum to %Trips[%i] : !row, !c
    }
  }
}
func.func @main(%x: memref<?x64xbf16>, %visits: memref<?xf32>, %counted: memref<?xf32>,
                %trips: i32, %nt: i32) {
  tile.launch @kernel(%x, %visits, %counted, %trips, %nt)
      : memref<?x64xbf16>, memref<?xf32>, memref<?xf32>, i32, i32
  return
}
)";
}

struct Draw {
  const char *name, *work, *chip;
  /// At a stride nothing ties the roles together in tiles of no trips: the proof would need
  /// more runs than it takes.
  bool isProved = true;
};

class TileDraw : public ::testing::TestWithParam<Draw> {};

} // namespace

TEST_P(TileDraw, VisitsEveryTileOnce) {
  const Draw &draw = GetParam();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text(draw.work, draw.chip), &testContext());
  ASSERT_TRUE(module);
  mlir::PassManager pm(&testContext());
  pm.nest<tile::KernelOp>().addPass(tile::createTileDrawTiles());
  ASSERT_TRUE(succeeded(pm.run(*module)));
  auto entry = Entry::find(*module, "main");
  ASSERT_TRUE(static_cast<bool>(entry)) << llvm::toString(entry.takeError());
  auto program =
      SimulatedProgram::create(*module, *entry, *lookupTarget(draw.chip), {draw.isProved});
  ASSERT_TRUE(static_cast<bool>(program)) << llvm::toString(program.takeError());

  auto x = makeArray(NpyType::BF16, {kRows, 64});
  x->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) { x->set(index, 1.0); });
  for (int tiles : {0, 1, 2, 3, 7, kMostTiles}) {
    for (int trips : {0, 1, 2}) {
      for (uint64_t seed : {1, 2, 3}) {
        auto visits = makeArray(NpyType::F32, {kMostTiles * kRows});
        auto counted = makeArray(NpyType::F32, {kMostTiles * kRows});
        std::vector<Argument> arguments{x, visits, counted, int32_t(trips), int32_t(tiles)};
        SimulationOptions options;
        options.simulator.seed = seed;
        options.simulator.threads = 1;
        options.simulator.races = true;
        options.simulator.policy = seed == 1 ? sim::Policy::RunToBlock : sim::Policy::Random;
        options.processors = 3;
        llvm::Error error = (*program)->run(arguments, options);
        ASSERT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
        visits->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
          bool exists = index[0] < tiles * kRows;
          EXPECT_EQ(visits->get(index), exists ? 1.0 : 0.0) << tiles << " tiles, at " << index[0];
          EXPECT_EQ(counted->get(index), exists ? 64.0 * trips : 0.0)
              << tiles << " tiles of " << trips << " trips, at " << index[0];
        });
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Schedulers, TileDraw,
    ::testing::Values(Draw{"OnePerCluster", "one_per_cluster", "sm_100a"},
                      Draw{"StaticPersistent", "static_persistent", "sm_100a", false},
                      Draw{"Dynamic", "dynamic", "sm_100a"},
                      Draw{"OnePerClusterHopper", "one_per_cluster", "sm_90a"},
                      Draw{"StaticPersistentHopper", "static_persistent", "sm_90a", false}),
    [](const auto &info) { return info.param.name; });
