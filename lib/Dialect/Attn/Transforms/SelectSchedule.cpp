//===- SelectSchedule.cpp - a schedule for each attention -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translates between IR and the planner, which decides. A schedule that was asked
// for is never replaced: it is kept, or it is an error.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/IR/AttnOps.h"
#include "fa4/Dialect/Attn/Transforms/Passes.h"
#include "fa4/Planning/ScheduleSelection.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace fa4::attn {
#define GEN_PASS_DEF_ATTNSELECTSCHEDULE
#include "fa4/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace fa4::attn

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

/// Keys that a row sees at most under the op's windows; none if a side has no bound. Which
/// alignment the bounds count from is not asked: one that is far off only costs time.
static std::optional<int64_t> findSpan(ForwardOp op) {
  std::optional<int64_t> left, right;
  auto bound = [](std::optional<int64_t> &side, std::optional<int64_t> keys) {
    if (keys && (!side || *keys < *side)) {
      side = keys;
    }
  };
  for (AttnMaskInterface mask : op.getMaskList()) {
    if (auto window = dyn_cast<WindowAttr>(mask)) {
      bound(left, window.getLeft());
      bound(right, window.getRight());
    } else if (isa<CausalAttr>(mask)) {
      bound(right, 0);
    }
  }
  int64_t span = 0;
  if (!left || !right || llvm::AddOverflow(*left, *right, span) ||
      llvm::AddOverflow(span, int64_t(1), span)) {
    return std::nullopt;
  }
  return std::max<int64_t>(span, 0);
}

static ForwardProblem makeProblem(ForwardOp op) {
  ForwardProblem problem;
  problem.queryKeyDim = op.getQueryKeyDim();
  problem.valueDim = op.getValueDim();
  problem.elementBytes = cast<ShapedType>(op.getQ().getType()).getElementTypeBitWidth() / 8;
  problem.unevenTiles = !op.getMaskList().empty() || op.getQueryDocuments() ||
                        op.getTensorDims().batch == std::nullopt;
  // Packed sequences end anywhere: their tiles are of any length.
  problem.span = op.getTensorDims().batch ? findSpan(op) : std::nullopt;
  problem.scoreEdits = (op.hasScoreRegion() ? 1 : 0) + (op.hasPredicateRegion() ? 1 : 0);
  auto isTensor = [](Value captured) { return isa<ShapedType>(captured.getType()); };
  problem.readsPerScore = (op.getQueryDocuments() ? 1 : 0) +
                          (llvm::any_of(op.getScoreCaptures(), isTensor) ? 1 : 0) +
                          (llvm::any_of(op.getPredicateCaptures(), isTensor) ? 1 : 0);
  return problem;
}

static TileChoice tileOf(const Schedule &schedule) {
  return {schedule.tileRows, schedule.tileColumns, schedule.stages};
}

static void report(ForwardOp op, const Twine &text) {
  mlir::remark::analysis(
      op.getLoc(), mlir::remark::RemarkOpts::name("schedule").category("attn-select-schedule"))
      << text.str();
}

static void reportUsage(ForwardOp op, const ScheduleUsage &usage, const TargetInfo &target) {
  auto share = [](int64_t used, int64_t limit) {
    return std::to_string(used) + " of " + std::to_string(limit);
  };
  std::string text = "takes " + share(usage.smemBytes, target.smemBytesPerCta) +
                     " bytes of shared memory, " + share(usage.registers, target.registersPerSm) +
                     " registers, " + share(usage.threads, target.maxThreadsPerCta) + " threads";
  if (target.hasTensorMemory()) {
    text += ", " + share(usage.tmemColumns, target.tmemColumns) + " columns of tensor memory";
  }
  report(op, text);
}

namespace {
struct SelectSchedulePass : public fa4::attn::impl::AttnSelectScheduleBase<SelectSchedulePass> {
  void runOnOperation() override {
    WalkResult walked = getOperation().walk([&](ForwardOp op) {
      TargetAttr target = lookupTargetAttr(op);
      if (!target) {
        op.emitOpError("expected the module to have '") << targetAttrName << "', but got no target";
        return WalkResult::interrupt();
      }
      return WalkResult(op.getSchedule() ? honour(op, target.getInfo())
                                         : select(op, target.getInfo()));
    });
    if (walked.wasInterrupted()) {
      signalPassFailure();
    }
  }

  LogicalResult honour(ForwardOp op, const TargetInfo &target) {
    const ForwardProblem problem = makeProblem(op);
    Schedule schedule = op.getSchedule()->getPlan();
    completeForward(problem, target, schedule);
    ScheduleUsage usage;
    const std::string violation = checkSchedule(problem, schedule, target, usage);
    if (!violation.empty()) {
      InFlightDiagnostic diag = op.emitOpError(violation)
                                << "; the schedule that was asked for does not fit " << target.chip;
      if (std::optional<TileChoice> nearest = nearestForward(problem, target, tileOf(schedule))) {
        diag << ", the nearest legal choice is " << nearest->str()
             << (schedule.ctas == 2 ? " with ctas = 1" : "");
      }
      return diag;
    }
    op.setScheduleAttr(ScheduleAttr::get(&getContext(), schedule));
    report(op, "kept the schedule that was asked for, " + tileOf(schedule).str());
    reportUsage(op, usage, target);
    ++numHonoured;
    return success();
  }

  LogicalResult select(ForwardOp op, const TargetInfo &target) {
    const ForwardProblem problem = makeProblem(op);
    std::string violation;
    std::optional<ScheduleChoice> choice = selectForward(problem, target, violation);
    if (!choice) {
      InFlightDiagnostic diag = op.emitOpError(violation)
                                << "; no schedule for head dims " << problem.queryKeyDim << " and "
                                << problem.valueDim << " fits " << target.chip;
      if (std::optional<ForwardProblem> smaller = largestHeadDims(problem, target)) {
        diag << ", the nearest legal choice is head dims " << smaller->queryKeyDim << " and "
             << smaller->valueDim;
      }
      return diag;
    }
    op.setScheduleAttr(ScheduleAttr::get(&getContext(), choice->schedule));
    report(op, "selected " + tileOf(choice->schedule).str() + " for head dims " +
                   Twine(problem.queryKeyDim) + " and " + Twine(problem.valueDim) + ": " +
                   choice->boundBy + " sets " +
                   std::to_string(std::lround(choice->clocksPerScore * 1e6)) +
                   " clocks per million scores");
    reportUsage(op, choice->usage, target);
    ++numSelected;
    return success();
  }
};
} // namespace
