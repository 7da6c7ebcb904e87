//===- LazyRescale.cpp - tile-lazy-rescale --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lets the reference of the online softmax lag behind the row's maximum by the
// schedule's threshold, and tells the scalings that use its factor that it is
// then mostly 1. Exact: sum, output and statistic share one reference, however
// old it is.
//
//===----------------------------------------------------------------------===//

#include "StepSources.h"
#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILELAZYRESCALE
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

/// Whether `value` can be the rescale factor of an online maximum.
static bool isRescaleFactor(Value value, KernelOp kernel) {
  return llvm::any_of(getSources(value, kernel), [](Value source) {
    auto statistic = source.getDefiningOp<OnlineMaxOp>();
    return statistic && statistic.getFactor() == source;
  });
}

namespace {
struct TileLazyRescale : public fa4::tile::impl::TileLazyRescaleBase<TileLazyRescale> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    const Schedule &plan = kernel.getSchedule().getPlan();
    if (!plan.rescaleLog2Threshold || *plan.rescaleLog2Threshold == 0) {
      return;
    }
    if (failed(requireOwnDefs(kernel))) {
      return signalPassFailure();
    }
    auto lag = FloatAttr::get(Float32Type::get(&getContext()), *plan.rescaleLog2Threshold);
    WalkResult result = kernel.walk([&](OnlineMaxOp statistic) {
      if (FloatAttr present = statistic.getLagAttr()) {
        if (present == lag) {
          return WalkResult::advance();
        }
        statistic.emitError("expected the lag to be the schedule's ")
            << lag << ", but got " << present;
        return WalkResult::interrupt();
      }
      statistic.setLagAttr(lag);
      ++numStatistics;
      return WalkResult::advance();
    });
    if (result.wasInterrupted()) {
      return signalPassFailure();
    }
    kernel.walk([&](ScaleRowsOp scaling) {
      if (!scaling.getLikelyOne() && isRescaleFactor(scaling.getBy(), kernel)) {
        scaling.setLikelyOne(true);
        ++numScalings;
      }
    });
  }
};
} // namespace
