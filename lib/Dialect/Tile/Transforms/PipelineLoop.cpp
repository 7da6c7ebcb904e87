//===- PipelineLoop.cpp - tile-pipeline-loop ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rotates the loop of steps as the schedule orders it. Tile values only: data
// dependences are all there is, so the kernel before and after is the same
// function.
//
//===----------------------------------------------------------------------===//

#include "PipelineLoopOrder.h"
#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILEPIPELINELOOP
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

/// Whether the loop is known to run at least `trips` times, by its bounds or by
/// the facts of the kernel's work.
static bool runsAtLeast(scf::ForOp loop, KernelOp kernel, int64_t trips) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
  if (trips == 0 || !lower) {
    return trips == 0;
  }
  if (std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound())) {
    return *upper - *lower >= trips;
  }
  auto bound = dyn_cast<BlockArgument>(loop.getUpperBound());
  auto tiles = bound ? dyn_cast<ForEachTileOp>(bound.getOwner()->getParentOp()) : ForEachTileOp();
  WorkOp work = kernel.getWork();
  return tiles && bound.getArgNumber() < work.getNumWorkResults() &&
         tiles.getSource() == work.getSymName() &&
         work.impliesAtLeast(bound.getArgNumber(), *lower + trips);
}

/// Leaves the loop as it is for the few trips that it cannot be rotated for:
/// puts it under a test, in a copy to rotate and one to keep. Returns the copy.
static scf::ForOp guardTripCount(RewriterBase &rewriter, scf::ForOp loop, int64_t trips) {
  Location loc = loop.getLoc();
  rewriter.setInsertionPoint(loop);
  // No difference of the bounds: that of a loop without trips can overflow.
  Type type = loop.getUpperBound().getType();
  Value needed = arith::ConstantOp::create(rewriter, loc, rewriter.getIntegerAttr(type, trips));
  Value last = rewriter.createOrFold<arith::AddIOp>(loc, loop.getLowerBound(), needed);
  Value enough =
      arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sge, loop.getUpperBound(), last);
  scf::ForOp rotated;
  auto emitLoop = [&](OpBuilder &builder, Location) {
    auto copy = cast<scf::ForOp>(builder.clone(*loop));
    rotated = rotated ? rotated : copy;
    scf::YieldOp::create(builder, loc, copy.getResults());
  };
  auto choice = scf::IfOp::create(rewriter, loc, enough, emitLoop, emitLoop);
  rewriter.replaceOp(loop, choice.getResults());
  return rotated;
}

namespace {
struct TilePipelineLoop : public fa4::tile::impl::TilePipelineLoopBase<TilePipelineLoop> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    const Schedule &plan = kernel.getSchedule().getPlan();
    if (plan.order.empty()) {
      return;
    }
    if (isRotated(kernel)) {
      return;
    }
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) {
      if (!loop.getOps<StepOp>().empty()) {
        loops.push_back(loop);
      }
    });
    if (loops.size() != 1) {
      kernel.emitError("expected a kernel with an order of steps to have one loop of steps, but "
                       "got ")
          << loops.size();
      return signalPassFailure();
    }
    scf::ForOp loop = loops.front();
    if (getConstantIntValue(loop.getStep()) != 1) {
      loop.emitError("expected the step of a pipelined loop to be the constant 1, but got '")
          << loop.getStep() << "'";
      return signalPassFailure();
    }
    if (loop.getUnsignedCmp()) {
      loop.emitError("expected a pipelined loop to compare its bounds as signed numbers, but got "
                     "an unsigned one");
      return signalPassFailure();
    }
    if (failed(PipelineLoopOrder::create(loop, plan.order))) {
      return signalPassFailure();
    }
    IRRewriter rewriter(loop);
    int64_t lastStage = plan.maxPipelineStage();
    if (!runsAtLeast(loop, kernel, lastStage)) {
      loop = guardTripCount(rewriter, loop, lastStage);
    }
    rotateLoop(rewriter, *PipelineLoopOrder::create(loop, plan.order));
    ++numLoops;
  }

  /// Rotation leaves copies of one step in several blocks.
  bool isRotated(KernelOp kernel) {
    llvm::StringMap<Block *> blocks;
    return kernel
        .walk([&](StepOp step) {
          auto [known, isNew] = blocks.try_emplace(step.getStepName(), step->getBlock());
          return isNew || known->second == step->getBlock() ? WalkResult::advance()
                                                            : WalkResult::interrupt();
        })
        .wasInterrupted();
  }
};
} // namespace
