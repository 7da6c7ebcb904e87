//===- RoleSlice.cpp - what one role needs of a sequential kernel ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One worklist of values, each with the op that asked for it, which is where a
// value that cannot be had is reported.
//
//===----------------------------------------------------------------------===//

#include "RoleSlice.h"
#include "RoleScalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

//===----------------------------------------------------------------------===//
// Forms of kept and used values
//===----------------------------------------------------------------------===//

static ViewOp getView(Operation *op, FlatSymbolRefAttr name) {
  return SymbolTable::lookupNearestSymbolFrom<ViewOp>(op, name);
}

UseOp fa4::tile::getPlace(Value value) { return value.getDefiningOp<UseOp>(); }

/// Rows scaled in the slot, and the view of it, where they are kept again.
static bool isInPlace(KeepOp keep, ScaleRowsOp scaling) {
  UseOp use = getPlace(scaling.getOperand());
  return use && use.getHandle() == keep.getHandle() && use.getViewAttr() == keep.getViewAttr() &&
         scaling->hasOneUse() && use->hasOneUse() &&
         getView(keep, keep.getViewAttr()).getSpace() == Space::Tmem;
}

KeepForm fa4::tile::getKeepForm(KeepOp keep) {
  Operation *source = keep.getValue().getDefiningOp();
  if (isa_and_present<MmaOp>(source)) {
    return KeepForm::Product;
  }
  if (!keep.getHandle()) {
    return KeepForm::Stay;
  }
  if (isa_and_present<LoadOp>(source) && source->hasOneUse() &&
      getView(keep, keep.getViewAttr()).getSpace() == Space::Smem) {
    return KeepForm::Load;
  }
  if (auto scaling = dyn_cast_or_null<ScaleRowsOp>(source); scaling && isInPlace(keep, scaling)) {
    return KeepForm::Rescale;
  }
  return KeepForm::Write;
}

bool fa4::tile::copiesView(StoreOp store) {
  UseOp use = getPlace(store.getValue());
  return use && getView(store, use.getViewAttr()).getSpace() == Space::Smem;
}

//===----------------------------------------------------------------------===//
// The slice
//===----------------------------------------------------------------------===//

SmallVector<BlockArgument> RoleSlice::getUses() const {
  return llvm::filter_to_vector(KernelOp(kernel).getBody().getArguments(),
                                [&](BlockArgument argument) { return holds(argument); });
}

/// The values that decide how often, and whether, what is in `op` runs.
static SmallVector<Value> getControls(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    return {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    return {branch.getCondition()};
  }
  if (auto step = dyn_cast<InlinedStepOp>(op); step && step.getUnless()) {
    return {step.getUnless()};
  }
  return {};
}

/// Rule W: what several roles must count alike each computes from the same
/// scalars, by the same pure arithmetic.
LogicalResult RoleSlice::verifyControl(Operation *op, ValueRange controls) const {
  SmallVector<Value> open(controls);
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *owner = argument.getOwner()->getParentOp();
      auto loop = dyn_cast<scf::ForOp>(owner);
      auto tiles = dyn_cast<ForEachTileOp>(owner);
      if (owner == kernel || (loop && argument == loop.getInductionVar()) ||
          (tiles && argument.getArgNumber() < tiles.getNumTileArgs())) {
        continue;
      }
    } else if (isa<arith::ArithDialect>(value.getDefiningOp()->getDialect())) {
      llvm::append_range(open, value.getDefiningOp()->getOperands());
      continue;
    }
    InFlightDiagnostic diag =
        op->emitError("expected what decides about channel ops to be computed from the tile's "
                      "scalars and the trip, so that all roles count alike, but got '")
        << value << "'";
    diag.attachNote(value.getLoc()) << "it is computed here";
    return diag;
  }
  return success();
}

LogicalResult RoleSlice::addNest(Operation *op) {
  for (; op != kernel && ops.insert(op).second; op = op->getParentOp()) {
    SmallVector<Value> controls = getControls(op);
    if (holdsChannelOps(op) && failed(verifyControl(op, controls))) {
      return failure();
    }
    needAll(controls, op);
  }
  return success();
}

LogicalResult RoleSlice::addOp(Operation *op) {
  if (!ops.insert(op).second) {
    return success();
  }
  return failure(failed(addNest(op->getParentOp())) || failed(addOperands(op)));
}

LogicalResult RoleSlice::addProduct(MmaOp product) {
  for (auto [name, value] : {std::pair("a", product.getA()), std::pair("b", product.getB())}) {
    UseOp place = getPlace(value);
    if (!place) {
      return product.emitError("expected operand '")
             << name << "' of a product to be used from a view, but got a fragment";
    }
    need(place.getHandle(), product);
  }
  if (product.getUnless()) {
    need(product.getUnless(), product);
  }
  return success();
}

/// A product that gives its value to the threads that issue it.
LogicalResult RoleSlice::addFragmentProduct(MmaOp product) {
  if (KernelOp(kernel).getTarget().getInfo().hasTensorMemory()) {
    return product.emitError("expected a product to be kept in a view, but got a use of its value");
  }
  UseOp a = getPlace(product.getA()), b = getPlace(product.getB());
  if (!b) {
    return product.emitError("expected operand 'b' of a product to be used from a view, but got a "
                             "fragment");
  }
  need(a ? a.getHandle() : product.getA(), product);
  need(b.getHandle(), product);
  if (product.getOnto()) {
    need(product.getOnto(), product);
  }
  if (product.getUnless()) {
    need(product.getUnless(), product);
  }
  return success();
}

LogicalResult RoleSlice::addKept(KeepOp keep) {
  Operation *source = keep.getValue().getDefiningOp();
  switch (getKeepForm(keep)) {
  case KeepForm::Product:
    if (!keep.getHandle()) {
      return keep.emitError("expected a product to be kept in a slot of a channel, so that a "
                            "role can take it from there, but got no token");
    }
    return addProduct(cast<MmaOp>(source));
  case KeepForm::Load:
    needAll(source->getOperands(), keep);
    return success();
  case KeepForm::Rescale:
    need(cast<ScaleRowsOp>(source).getBy(), keep);
    return success();
  case KeepForm::Write:
  case KeepForm::Stay:
    need(keep.getValue(), keep);
    return success();
  }
  return success();
}

LogicalResult RoleSlice::addOperands(Operation *op) {
  if (auto keep = dyn_cast<KeepOp>(op)) {
    if (keep.getHandle()) {
      need(keep.getHandle(), op);
    }
    return addKept(keep);
  }
  if (auto use = dyn_cast<UseOp>(op)) {
    need(use.getHandle(), op);
    return success();
  }
  if (auto store = dyn_cast<StoreOp>(op); store && copiesView(store)) {
    need(getPlace(store.getValue()).getHandle(), op);
    need(store.getGlobal(), op);
    needAll(store.getCoordinates(), op);
    return success();
  }
  if (auto product = dyn_cast<MmaOp>(op)) {
    return addFragmentProduct(product);
  }
  if (isa<TransposeOp, RedistributeOp>(op)) {
    return op->emitError("expected a transposed tile to be used from a view, but got a use of its "
                         "value");
  }
  needAll(op->getOperands(), op);
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  needAll(captured.getArrayRef(), op);
  return success();
}

void RoleSlice::addArgument(BlockArgument argument) {
  Operation *owner = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto loop = dyn_cast<scf::ForOp>(owner); loop && argument != loop.getInductionVar()) {
    unsigned carried = number - loop.getNumInductionVars();
    need(loop.getInitArgs()[carried], loop);
    need(loop.getYieldedValues()[carried], loop.getBody()->getTerminator());
  } else if (auto tiles = dyn_cast<ForEachTileOp>(owner);
             tiles && number >= tiles.getNumTileArgs()) {
    unsigned carried = number - tiles.getNumTileArgs();
    need(tiles.getInits()[carried], tiles);
    need(tiles.getYield().getValues()[carried], tiles.getYield());
  }
}

LogicalResult RoleSlice::addResult(OpResult result, Operation *user) {
  Operation *op = result.getOwner();
  unsigned number = result.getResultNumber();
  auto step = dyn_cast<InlinedStepOp>(op);
  bool isOwned =
      step || isa<KeepOp, UseOp, AcquireOp, WaitOp>(op) || op->getParentOfType<InlinedStepOp>();
  if (isOwned && !owners->runs(copy, op)) {
    InFlightDiagnostic diag =
        user->emitError("expected what crosses roles to go through a channel, but got a value "
                        "that role '")
        << copy.role->name << "' does not compute";
    diag.attachNote(op->getLoc()) << "another role computes it here";
    return diag;
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    need(loop.getRegionIterArg(number), user);
    return addNest(op);
  }
  if (auto tiles = dyn_cast<ForEachTileOp>(op)) {
    need(tiles.getIterArgs()[number], user);
    return addNest(op);
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    need(branch.thenYield().getOperand(number), branch.thenYield());
    need(branch.elseYield().getOperand(number), branch.elseYield());
    return addNest(op);
  }
  if (step) {
    need(step.getYield().getValues()[number], step.getYield());
    if (step.getUnless()) {
      need(step.getPassed()[number], step);
    }
    return addNest(op);
  }
  return addOp(op);
}

/// What a role does to others: the ops that nothing asks for.
static bool isRoot(Operation *op) {
  auto keep = dyn_cast<KeepOp>(op);
  return isa<AcquireOp, WaitOp, CommitOp, ReleaseOp, SettleOp, StoreOp>(op) ||
         (keep && keep.getHandle());
}

LogicalResult RoleSlice::run() {
  WalkResult result = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<WorkOp, DefOp>(op)) {
      return WalkResult::skip();
    }
    return isRoot(op) && owners->runs(copy, op) ? WalkResult(addOp(op)) : WalkResult::advance();
  });
  if (result.wasInterrupted()) {
    return failure();
  }
  while (!pending.empty()) {
    auto [value, user] = pending.pop_back_val();
    if (!values.insert(value).second) {
      continue;
    }
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      addArgument(argument);
    } else if (failed(addResult(cast<OpResult>(value), user))) {
      return failure();
    }
  }
  return success();
}

FailureOr<RoleSlice> RoleSlice::create(KernelOp kernel, const RoleOwners &owners, RoleCopy copy) {
  RoleSlice slice(kernel, owners, copy);
  if (failed(slice.run())) {
    return failure();
  }
  return slice;
}
