//===- SimplifyBarriers.cpp - tile-simplify-barriers ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every half of every channel is a barrier after lowering; here go those that
// say nothing new. Rules R1 to R5 of docs/Dialects/Tile/Rationale.md, each of
// which can be left out.
//
//===----------------------------------------------------------------------===//

#include "BarrierDrains.h"
#include "BarrierPlacement.h"
#include "BarrierRules.h"
#include "Cursors.h"

#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILESIMPLIFYBARRIERS
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

namespace {
struct TileSimplifyBarriers
    : public fa4::tile::impl::TileSimplifyBarriersBase<TileSimplifyBarriers> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    BarrierRules rules;
    BarrierRuleCounts counts;
    ProtocolRuns runs;
    if (failed(readRules(rules)) || failed(dropImpliedWaits(kernel, runs, rules, counts)) ||
        failed(mergeBarriers(kernel, runs, rules, counts))) {
      return signalPassFailure();
    }
    insertExitDrains(kernel);
    for (auto role : kernel.getBody().getOps<RoleOp>()) {
      cleanCursors(role);
    }
    if (failed(placeBarriers(kernel))) {
      return signalPassFailure();
    }
    numWaits += counts.waits;
    numArrivals += counts.arrivals;
    numBarriers += counts.barriers;
  }

private:
  LogicalResult readRules(BarrierRules &rules) {
    const std::array<bool *, 5> flags = {&rules.dropWaits, &rules.trimArrivals, &rules.merge,
                                         &rules.preArrive, &rules.share};
    for (int64_t rule : without) {
      if (rule < 1 || rule > static_cast<int64_t>(flags.size())) {
        return getOperation().emitOpError("expected rules to leave out to be from 1 to ")
               << flags.size() << ", but got " << rule;
      }
      *flags[rule - 1] = false;
    }
    return success();
  }
};
} // namespace
