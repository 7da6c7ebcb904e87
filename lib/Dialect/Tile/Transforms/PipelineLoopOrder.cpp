//===- PipelineLoopOrder.cpp - the legal order of a pipelined loop --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks of tile-pipeline-loop. A dependence from step u of iteration i to
// step v of iteration i + distance is kept iff (stage u, place u) comes before
// (distance + stage v, place v), compared as pairs.
//
//===----------------------------------------------------------------------===//

#include "PipelineLoopOrder.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

FailureOr<PipelineLoopOrder> PipelineLoopOrder::create(scf::ForOp loop,
                                                       ArrayRef<OrderEntry> order) {
  PipelineLoopOrder result(loop);
  if (failed(result.checkBody()) || failed(result.place(order)) || failed(result.checkValues()) ||
      failed(result.checkMemory())) {
    return failure();
  }
  return result;
}

LogicalResult PipelineLoopOrder::checkBody() {
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isa<StepOp>(op)) {
      continue;
    }
    WalkResult nested = op.walk([](StepOp step) {
      step.emitError() << "expected step '" << step.getStepName()
                       << "' to stand directly in the loop, but got it in a nested region";
      return WalkResult::interrupt();
    });
    if (nested.wasInterrupted()) {
      return failure();
    }
    std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(&op);
    if (!effects || llvm::any_of(*effects, [](const MemoryEffects::EffectInstance &effect) {
          return !isa<MemoryEffects::Read>(effect.getEffect());
        })) {
      return op.emitError("expected an op that stands beside the steps of a pipelined loop to "
                          "have no effect, but got '")
             << op.getName() << "'";
    }
  }
  return success();
}

static std::string formatEntry(const OrderEntry &entry) {
  std::string text = entry.step.name;
  if (entry.step.index) {
    text += "[" + std::to_string(*entry.step.index) + "]";
  }
  return text;
}

LogicalResult PipelineLoopOrder::place(ArrayRef<OrderEntry> order) {
  llvm::StringMap<StepOp> byName;
  for (StepOp step : loop.getOps<StepOp>()) {
    auto [entry, isNew] = byName.try_emplace(step.getStepName(), step);
    if (!isNew) {
      InFlightDiagnostic error = step.emitError()
                                 << "expected step '" << step.getStepName()
                                 << "' to stand once in the loop, but got it twice";
      error.attachNote(entry->second.getLoc()) << "the other one is here";
      return error;
    }
  }
  for (const OrderEntry &entry : order) {
    std::string name = formatEntry(entry);
    StepOp step = byName.lookup(name);
    if (!step) {
      return loop.emitError("expected the order of the schedule to name steps of this loop, but "
                            "got '")
             << name << "'";
    }
    position[step] = steps.size();
    steps.push_back({step, entry.stage});
    lastStage = std::max(lastStage, entry.stage);
  }
  for (StepOp step : loop.getOps<StepOp>()) {
    if (!position.contains(step)) {
      return step.emitError("expected the order of the schedule to name every step of the loop, "
                            "but got no '")
             << step.getStepName() << "'";
    }
  }
  return success();
}

LogicalResult PipelineLoopOrder::requireBefore(StepOp first, StepOp second, int64_t distance,
                                               const Twine &reason) {
  int64_t firstStage = getStage(first);
  int64_t secondStage = getStage(second) + distance;
  if (std::pair(firstStage, getPosition(first)) < std::pair(secondStage, getPosition(second))) {
    return success();
  }
  InFlightDiagnostic error = second.emitError();
  error << "expected step '" << second.getStepName();
  if (distance > 0) {
    error << "' of " << distance << " iteration" << (distance > 1 ? "s" : "") << " later";
  } else {
    error << "'";
  }
  error << " to come after step '" << first.getStepName() << "', but got stage " << getStage(second)
        << ", place " << getPosition(second) << " against stage " << firstStage << ", place "
        << getPosition(first);
  error.attachNote(first.getLoc()) << reason;
  return error;
}

LogicalResult PipelineLoopOrder::checkValues() {
  Block *body = loop.getBody();
  auto yield = cast<scf::YieldOp>(body->getTerminator());
  auto iterArgs = loop.getRegionIterArgs();
  for (StepOp consumer : loop.getOps<StepOp>()) {
    // Every value that the consumer reads in the end, with the number of
    // iterations by which its definition comes earlier.
    llvm::SetVector<std::pair<Value, int64_t>> work;
    for (Value operand : consumer->getOperands()) {
      work.insert({operand, 0});
    }
    for (size_t next = 0; next < work.size(); ++next) {
      auto [value, distance] = work[next];
      if (value.getParentBlock() != body || value == loop.getInductionVar()) {
        continue;
      }
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        // A longer walk than there are carried values goes round in circles.
        if (distance < static_cast<int64_t>(iterArgs.size())) {
          work.insert({yield.getOperand(argument.getArgNumber() - 1), distance + 1});
        }
        continue;
      }
      if (auto producer = value.getDefiningOp<StepOp>()) {
        unsigned number = cast<OpResult>(value).getResultNumber();
        if (failed(requireBefore(producer, consumer, distance,
                                 "it takes result " + Twine(number) + " of this step"))) {
          return failure();
        }
        continue;
      }
      Operation *op = value.getDefiningOp();
      llvm::SetVector<Value> captured;
      getUsedValuesDefinedAbove(op->getRegions(), captured);
      for (Value operand : op->getOperands()) {
        work.insert({operand, distance});
      }
      for (Value operand : captured) {
        work.insert({operand, distance});
      }
    }
  }
  return success();
}

/// The tensor that a def argument stands for at this step.
static Value getRootGlobal(StepOp step, Value global) {
  auto argument = dyn_cast<BlockArgument>(global);
  Value root = argument ? step.getInputs()[argument.getArgNumber()] : global;
  while (auto part = root.getDefiningOp<SubrangeOp>()) {
    root = part.getGlobal();
  }
  return root;
}

namespace {
struct GlobalAccess {
  Value root;
  bool isWrite;
};
} // namespace

static SmallVector<GlobalAccess> getGlobalAccesses(StepOp step) {
  SmallVector<GlobalAccess> accesses;
  DefOp def = step.getDef();
  def.walk([&](Operation *op) {
    Value global;
    if (auto load = dyn_cast<LoadOp>(op)) {
      global = load.getGlobal();
    } else if (auto fetch = dyn_cast<FetchOp>(op)) {
      global = fetch.getGlobal();
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      global = store.getGlobal();
    } else {
      return;
    }
    while (auto part = global.getDefiningOp<SubrangeOp>()) {
      global = part.getGlobal();
    }
    accesses.push_back({getRootGlobal(step, global), isa<StoreOp>(op)});
  });
  return accesses;
}

LogicalResult PipelineLoopOrder::checkMemory() {
  SmallVector<std::pair<StepOp, GlobalAccess>> accesses;
  for (StepOp step : loop.getOps<StepOp>()) {
    for (const GlobalAccess &access : getGlobalAccesses(step)) {
      accesses.emplace_back(step, access);
    }
  }
  for (size_t i = 0; i < accesses.size(); ++i) {
    for (size_t k = 0; k < accesses.size(); ++k) {
      auto [first, firstAccess] = accesses[i];
      auto [second, secondAccess] = accesses[k];
      bool conflict =
          firstAccess.root == secondAccess.root && (firstAccess.isWrite || secondAccess.isWrite);
      if (!conflict || first == second) {
        continue;
      }
      if (failed(requireBefore(first, second, /*distance=*/i < k ? 0 : 1,
                               "both access one tensor, and one of them writes it"))) {
        return failure();
      }
    }
  }
  return success();
}
