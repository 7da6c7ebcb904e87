//===- SplitExp2.cpp - tile-split-exp2 ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the schedule's share of polynomial exp2 on the exponentials of the
// kernel. How one is computed then depends on its place in the tile only (R4).
//
//===----------------------------------------------------------------------===//

#include "StepSources.h"
#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILESPLITEXP2
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

namespace {
struct TileSplitExp2 : public fa4::tile::impl::TileSplitExp2Base<TileSplitExp2> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    const Schedule &plan = kernel.getSchedule().getPlan();
    if (!plan.exp2) {
      return;
    }
    if (failed(requireOwnDefs(kernel))) {
      return signalPassFailure();
    }
    auto share = Exp2ShareAttr::get(&getContext(), plan.exp2->degree, plan.exp2->period,
                                    plan.exp2->last, plan.exp2->firstChunk, plan.exp2->lastChunk);
    WalkResult result = kernel.walk([&](Exp2Op exp2) {
      if (Exp2ShareAttr present = exp2.getShareAttr()) {
        if (present == share) {
          return WalkResult::advance();
        }
        exp2.emitError("expected the share of an exp2 to be the schedule's ")
            << share << ", but got " << present;
        return WalkResult::interrupt();
      }
      exp2.setShareAttr(share);
      ++numExponentials;
      return WalkResult::advance();
    });
    if (result.wasInterrupted()) {
      signalPassFailure();
    }
  }
};
} // namespace
