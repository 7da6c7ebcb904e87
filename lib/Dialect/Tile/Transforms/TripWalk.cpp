//===- TripWalk.cpp - a kernel's ops in the order they run ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scalars are folded with the folders of their ops; tiles are labels only.
//
//===----------------------------------------------------------------------===//

#include "TripWalk.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4::tile;

int64_t TripWalk::getLabel(Value value) const {
  auto found = labels.find(value);
  return found == labels.end() ? kNoLabel : found->second;
}

std::optional<int64_t> TripWalk::getNumber(Value value) const {
  auto number = dyn_cast_or_null<IntegerAttr>(constants.lookup(value));
  return number ? std::optional(number.getValue().getSExtValue()) : std::nullopt;
}

void TripWalk::handOn(ValueRange from, ValueRange to) {
  SmallVector<std::pair<Attribute, int64_t>> values;
  for (Value value : from) {
    values.push_back({constants.lookup(value), getLabel(value)});
  }
  for (auto [value, state] : llvm::zip_equal(to, values)) {
    constants[value] = state.first;
    labels[value] = state.second;
  }
}

void TripWalk::evaluate(Operation *op) {
  for (Value result : op->getResults()) {
    constants[result] = Attribute();
    labels[result] = kNoLabel;
  }
  if (op->getNumRegions() != 0 || op->getNumResults() == 0) {
    return;
  }
  SmallVector<Attribute> operands =
      llvm::map_to_vector(op->getOperands(), [&](Value value) { return constants.lookup(value); });
  SmallVector<OpFoldResult> folded;
  // A folder without results may have changed the op in place: only those that are
  // known through and through are asked.
  bool isKnown = llvm::all_of(operands, [](Attribute operand) { return operand != nullptr; });
  if (!isKnown || failed(op->fold(operands, folded)) || folded.size() != op->getNumResults()) {
    return;
  }
  for (auto [result, value] : llvm::zip_equal(op->getResults(), folded)) {
    auto attribute = dyn_cast<Attribute>(value);
    constants[result] = attribute ? attribute : constants.lookup(cast<Value>(value));
  }
}

LogicalResult TripWalk::refuse(Operation *op, StringRef what) {
  return op->emitError() << "expected " << what
                         << " to follow from the results of the work and constants";
}

/// Arms of a test and bodies of loops inside a step belong to one thread each: what
/// they read they read, whichever is taken.
LogicalResult TripWalk::walkInside(Block &block) {
  for (Operation &op : block.without_terminator()) {
    evaluate(&op);
    if (failed(visit(&op))) {
      return failure();
    }
    if (isa<scf::ForOp, scf::IfOp>(op)) {
      for (Region &region : op.getRegions()) {
        for (Block &inner : region) {
          if (failed(walkInside(inner))) {
            return failure();
          }
        }
      }
    }
  }
  return success();
}

LogicalResult TripWalk::walkStep(InlinedStepOp step) {
  if (step.getUnless()) {
    std::optional<int64_t> skip = getNumber(step.getUnless());
    if (!skip) {
      return refuse(step, "whether a step is left out");
    }
    if (*skip != 0) {
      handOn(step.getPassed(), step.getOutputs());
      return success();
    }
  }
  enter(step);
  if (failed(walkInside(step.getBody().front()))) {
    return failure();
  }
  handOn(step.getYield().getValues(), step.getOutputs());
  return success();
}

LogicalResult TripWalk::walkFor(Operation *op) {
  auto loop = cast<scf::ForOp>(op);
  std::optional<int64_t> begin = getNumber(loop.getLowerBound());
  std::optional<int64_t> end = getNumber(loop.getUpperBound());
  std::optional<int64_t> stride = getNumber(loop.getStep());
  if (!begin || !end || !stride || *stride <= 0) {
    return refuse(op, "the bounds of a loop of steps");
  }
  handOn(loop.getInitArgs(), loop.getRegionIterArgs());
  for (int64_t trip = *begin; trip < *end; trip += *stride) {
    constants[loop.getInductionVar()] = IntegerAttr::get(loop.getInductionVar().getType(), trip);
    if (failed(walkBlock(*loop.getBody()))) {
      return failure();
    }
    handOn(loop.getYieldedValues(), loop.getRegionIterArgs());
  }
  handOn(loop.getRegionIterArgs(), loop.getResults());
  return success();
}

LogicalResult TripWalk::walkIf(Operation *op) {
  auto choice = cast<scf::IfOp>(op);
  std::optional<int64_t> condition = getNumber(choice.getCondition());
  if (!condition) {
    return refuse(op, "a test around steps");
  }
  Block *taken = *condition != 0 ? choice.thenBlock() : choice.elseBlock();
  if (!taken) {
    return success();
  }
  if (failed(walkBlock(*taken))) {
    return failure();
  }
  handOn(taken->getTerminator()->getOperands(), choice.getResults());
  return success();
}

LogicalResult TripWalk::walkBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    LogicalResult result = success();
    if (auto step = dyn_cast<InlinedStepOp>(op)) {
      result = walkStep(step);
    } else if (isa<scf::ForOp>(op)) {
      result = walkFor(&op);
    } else if (isa<scf::IfOp>(op)) {
      result = walkIf(&op);
    } else {
      evaluate(&op);
      result = visit(&op);
    }
    if (failed(result)) {
      return failure();
    }
  }
  return success();
}

LogicalResult TripWalk::run(KernelOp kernel, ArrayRef<int64_t> trips) {
  for (Operation &op : kernel.getBody().front()) {
    auto loop = dyn_cast<ForEachTileOp>(op);
    if (!loop) {
      if (op.getNumRegions() == 0) {
        evaluate(&op);
        if (failed(visit(&op))) {
          return failure();
        }
      }
      continue;
    }
    for (auto [number, count] : llvm::enumerate(trips)) {
      tile = static_cast<int64_t>(number);
      for (BlockArgument argument : loop.getTileArgs()) {
        constants[argument] = IntegerAttr::get(argument.getType(), count);
      }
      if (failed(walkBlock(loop.getBody().front()))) {
        return failure();
      }
    }
  }
  return success();
}
