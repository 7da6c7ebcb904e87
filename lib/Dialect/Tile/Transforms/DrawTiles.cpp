//===- DrawTiles.cpp - tile-draw-tiles --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every role's tile loop goes on with the number that one answer holds, so all roles
// of a CTA see the same tiles. A request stands behind the loads of each tile, which run
// ahead of what is computed, so that nobody else waits for its answer. One per tile:
// there is none behind the answer "none", which is an error of cluster launch control.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEDRAWTILES
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

namespace {
/// Adds the channel of answers to one kernel.
class Drawer {
public:
  explicit Drawer(KernelOp kernel)
      : kernel(kernel), builder(kernel.getContext()), symbols(kernel) {}

  LogicalResult run();

private:
  LogicalResult findLoops();
  void addChannel();
  void ask(ForEachTileOp loop);
  void learn(ForEachTileOp loop);
  /// A reference to `symbol`, which gets a name of its own if it must.
  FlatSymbolRefAttr enter(Operation *symbol) {
    return FlatSymbolRefAttr::get(symbols.insert(symbol));
  }

  KernelOp kernel;
  OpBuilder builder;
  SymbolTable symbols;
  SmallVector<ForEachTileOp> loops;
  /// Of the role that loads.
  ForEachTileOp asking;
  FlatSymbolRefAttr channel, view;
};
} // namespace

LogicalResult Drawer::findLoops() {
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    for (auto loop : role.getBody().getOps<ForEachTileOp>()) {
      loops.push_back(loop);
      bool loads = loop.walk([](AsyncLoadOp) { return WalkResult::interrupt(); }).wasInterrupted();
      asking = loads && !asking ? loop : asking;
    }
  }
  if (!asking) {
    return kernel.emitOpError() << "expected a role with loads to draw the tiles of dynamic work, "
                                   "but got none";
  }
  if (kernel.getSchedule().getPlan().ctas != 1) {
    return kernel.emitOpError()
           << "expected dynamic work to be that of single CTAs, but got ctas = "
           << kernel.getSchedule().getPlan().ctas
           << "; static_persistent and one_per_cluster serve pairs";
  }
  return success();
}

void Drawer::addChannel() {
  constexpr int64_t words = 4; // PTX ISA, clusterlaunchcontrol.try_cancel: 16 bytes
  Location loc = kernel.getLoc();
  MLIRContext *context = kernel.getContext();
  auto size = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  auto role = [&](ForEachTileOp loop) -> Attribute {
    auto name = FlatSymbolRefAttr::get(loop->getParentOfType<RoleOp>().getSymNameAttr());
    return EndAttr::get(context, name, Tie::All);
  };
  Operation *last = kernel.getWork();
  for (auto other : kernel.getBody().getOps<ChannelOp>()) {
    last = other;
  }
  builder.setInsertionPointAfter(last);
  auto tile = FragType::get(context, {words}, builder.getI32Type());
  FlatSymbolRefAttr memory = enter(AllocOp::create(builder, loc, "next_mem", /*family=*/1,
                                                   Space::Smem, words * sizeof(int32_t)));
  view = enter(ViewOp::create(builder, loc, "Next", memory.getValue(), /*offset=*/0,
                              /*rank_stride=*/0, tile,
                              SmemLayoutAttr::get(context, Major::Linear, 0)));
  channel = enter(ChannelOp::create(builder, loc, builder.getStringAttr("next"), size(1), size(1),
                                    builder.getArrayAttr(role(asking)),
                                    builder.getArrayAttr(llvm::map_to_vector(loops, role)),
                                    builder.getArrayAttr(Attribute(view)), ArrivalAttr(),
                                    ArrivalAttr::get(context, Arrival::Warp), DenseI64ArrayAttr()));
}

void Drawer::ask(ForEachTileOp loop) {
  Location loc = loop.getLoc();
  builder.setInsertionPoint(loop.getYield());
  Value token = AcquireOp::create(builder, loc, channel, Value(), IntegerAttr()).getToken();
  Value asked =
      AsyncNextOp::create(builder, loc, AsyncType::get(builder.getContext(), Type()), token, view);
  CommitOp::create(builder, loc, token, asked, /*after_all=*/false);
}

void Drawer::learn(ForEachTileOp loop) {
  Location loc = loop.getLoc();
  builder.setInsertionPoint(loop.getYield());
  Value token = WaitOp::create(builder, loc, channel, Value(), IntegerAttr()).getToken();
  Value number =
      ReadOp::create(builder, loc, builder.getI32Type(), token, view, Value(), IntegerAttr());
  ReleaseOp::create(builder, loc, token, ValueRange(), /*after_all=*/false);
  NextTileOp::create(builder, loc, number);
}

LogicalResult Drawer::run() {
  if (failed(findLoops())) {
    return failure();
  }
  addChannel();
  ask(asking);
  for (ForEachTileOp loop : loops) {
    learn(loop);
  }
  return success();
}

namespace {
struct TileDrawTiles : fa4::tile::impl::TileDrawTilesBase<TileDrawTiles> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getSchedule().getPlan().work == fa4::WorkKind::Dynamic &&
        failed(Drawer(kernel).run())) {
      signalPassFailure();
    }
  }
};
} // namespace
