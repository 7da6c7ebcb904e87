//===- AssignMemory.cpp - tile-assign-memory ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives memory to what an engine or another role takes. The program stays the same
// function of values: a kept value is the value.
//
//===----------------------------------------------------------------------===//

#include "HomePlan.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILEASSIGNMEMORY
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

static LogicalResult checkInput(KernelOp kernel) {
  if (!kernel.getBody().getOps<AllocOp>().empty()) {
    return kernel.emitError() << "expected a kernel of tile values, but got one with memory";
  }
  if (kernel.getSchedule().getPlan().roles.empty()) {
    return kernel.emitError()
           << "expected a schedule with roles, but got none; attn-select-schedule fills them in";
  }
  return success();
}

/// Marks `entry` as kept in `home`, and hands the kept value to its takers.
static void keep(const KeptValue &entry, HomeClass &home, OpBuilder &builder) {
  Value value = entry.value;
  if (entry.isOutside) {
    // Behind its step, in front of the first that takes it: so nothing that the
    // step handed over before is still out.
    Block *block = value.getParentBlock();
    Operation *first = nullptr;
    for (OpOperand *taker : entry.takers) {
      Operation *op = getAncestorIn(block, taker->getOwner());
      first = !first || op->isBeforeInBlock(first) ? op : first;
    }
    builder.setInsertionPoint(first);
  } else {
    builder.setInsertionPointAfterValue(value);
  }
  InlinedStepOp step = entry.step;
  IntegerAttr element;
  if (home.family > 1) {
    element = builder.getI64IntegerAttr(static_cast<int64_t>(step.getIndex().value_or(0)));
  }
  auto kept = KeepOp::create(builder, value.getLoc(), value.getType(), value, Value(),
                             home.view.getSymName(), element);
  if (entry.takers.empty()) {
    value.replaceAllUsesExcept(kept.getResult(), kept);
    return;
  }
  for (OpOperand *taker : entry.takers) {
    taker->set(kept.getResult());
  }
}

namespace {
struct TileAssignMemory : public fa4::tile::impl::TileAssignMemoryBase<TileAssignMemory> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (failed(checkInput(kernel))) {
      return signalPassFailure();
    }
    inlineSteps(kernel);
    if (!kernel.getTarget().getInfo().hasTensorMemory() && failed(dropZeroStarts(kernel))) {
      return signalPassFailure();
    }
    FailureOr<SmallVector<KeptValue>> kept = findKeptValues(kernel);
    if (failed(kept)) {
      return signalPassFailure();
    }
    OpBuilder builder(kernel.getContext());
    builder.setInsertionPointAfter(kernel.getWork());
    FailureOr<std::vector<HomeClass>> homes = makeHomes(kernel, *kept, builder);
    if (failed(homes)) {
      return signalPassFailure();
    }
    for (HomeClass &home : *homes) {
      for (unsigned member : home.members) {
        keep((*kept)[member], home, builder);
        ++numKept;
      }
      ++numHomes;
    }
    if (failed(checkLiveIntervals(kernel))) {
      signalPassFailure();
    }
  }
};
} // namespace
