//===- ForwardPlan.cpp - what one attn.forward becomes --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan exists only for an op that every later step can lower: buffers, a
// target, and a schedule for the forward direction.
//
//===----------------------------------------------------------------------===//

#include "ForwardPlan.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace mlir;
using namespace fa4;

/// log2(e) to double precision.
static constexpr double kLog2E = 1.4426950408889634;

FailureOr<ForwardPlan> ForwardPlan::create(attn::ForwardOp op) {
  if (op->getNumResults() != 0 || !isa<MemRefType>(op.getQ().getType())) {
    return op.emitError("expected buffer semantics, but got tensors: run one-shot-bufferize first");
  }
  ForwardPlan plan(op);
  plan.schedule = op.getScheduleAttr();
  if (!plan.schedule) {
    return op.emitError("expected a schedule, but got none: run attn-select-schedule first");
  }
  plan.target = lookupTargetAttr(op);
  if (!plan.target) {
    return op.emitError("expected the module to have a target in '")
           << targetAttrName << "', but got none";
  }
  const Schedule &schedule = plan.schedule.getPlan();
  if (schedule.direction != Direction::Forward) {
    return op.emitError("expected a schedule for forward, but got one for backward");
  }
  plan.dims = op.getTensorDims();
  plan.rows = schedule.tileRows * schedule.ctas; // one thread for both CTAs of a pair
  plan.columns = schedule.tileColumns;
  plan.stages = schedule.stages;
  for (attn::AttnMaskInterface mask : op.getMaskList()) {
    plan.bounds.push_back(mask.getBounds());
  }
  plan.scale = op.getScaleOrDefault().convertToFloat();
  auto folded = static_cast<float>(plan.scale * kLog2E);
  // A factor that is not a normal positive number would lose what it scales.
  plan.scalesFirst = op.getScalePlacementOrDefault() == attn::ScalePlacement::BeforeMax ||
                     op.hasScoreRegion() || !std::isnormal(folded) || folded < 0;
  plan.log2Scale = plan.scalesFirst ? static_cast<float>(kLog2E) : folded;
  return plan;
}

bool ForwardPlan::hasUsedLengths() const {
  return static_cast<bool>(attn::ForwardOp(op).getQueryUsedLengths());
}

bool ForwardPlan::hasLowerBound() const {
  return llvm::any_of(bounds, [](const attn::MaskBounds &mask) { return mask.lower.has_value(); });
}

bool ForwardPlan::hasUpperBound() const {
  return llvm::any_of(bounds, [](const attn::MaskBounds &mask) { return mask.upper.has_value(); });
}

/// Without bounds all tiles are equally long.
bool ForwardPlan::isLongestFirst() const {
  return schedule.getPlan().workOrder == WorkOrder::LongestFirst &&
         (hasUpperBound() || hasLowerBound());
}

bool ForwardPlan::takesTurns() const { return !schedule.getPlan().turn.empty(); }

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type ForwardPlan::getElementType() const {
  return cast<MemRefType>(attn::ForwardOp(op).getQ().getType()).getElementType();
}
int64_t ForwardPlan::getHeadDimQk() const {
  return padHeadDim(attn::ForwardOp(op).getQueryKeyDim());
}
int64_t ForwardPlan::getHeadDimV() const { return padHeadDim(attn::ForwardOp(op).getValueDim()); }

tile::FragType ForwardPlan::getFrag(ArrayRef<int64_t> shape, Type element) const {
  return tile::FragType::get(element.getContext(), shape, element);
}
tile::FragType ForwardPlan::getRowType() const {
  return getFrag({rows}, Float32Type::get(schedule.getContext()));
}
tile::FragType ForwardPlan::getScoreType() const {
  return getFrag({rows, columns}, Float32Type::get(schedule.getContext()));
}
tile::FragType ForwardPlan::getOutputType() const {
  return getFrag({rows, getHeadDimV()}, Float32Type::get(schedule.getContext()));
}
tile::FragType ForwardPlan::getQueryTile() const {
  return getFrag({rows, getHeadDimQk()}, getElementType());
}
tile::FragType ForwardPlan::getKeyTile() const {
  return getFrag({columns, getHeadDimQk()}, getElementType());
}
tile::FragType ForwardPlan::getValueTile() const {
  return getFrag({columns, getHeadDimV()}, getElementType());
}
tile::FragType ForwardPlan::getWeightTile() const {
  return getFrag({rows, columns}, getElementType());
}
tile::FragType ForwardPlan::getResultTile() const {
  return getFrag({rows, getHeadDimV()}, getElementType());
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

SmallVector<int64_t> ForwardPlan::getTensorBox(int64_t tileRows, int64_t headDim) const {
  SmallVector<int64_t> box(dims.rank(), 1);
  box[dims.sequence] = tileRows;
  box[dims.depth] = headDim;
  return box;
}

SmallVector<Value> ForwardPlan::getTensorCoordinates(Value batch, Value block, Value head) const {
  SmallVector<Value> coordinates(dims.depth);
  if (dims.batch) {
    coordinates[*dims.batch] = batch;
  }
  coordinates[dims.sequence] = block;
  coordinates[dims.head] = head;
  return coordinates;
}

SmallVector<Value> ForwardPlan::getLseCoordinates(Value batch, Value head, Value block) const {
  if (isPacked()) {
    return {head, block};
  }
  return {batch, head, block};
}
