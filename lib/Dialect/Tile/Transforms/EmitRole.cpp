//===- EmitRole.cpp - writes a slice as a role ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pass over the sequential program in its order. Kept and used values turn into
// accesses of their views; all others keep their ops, on tiles spread over the
// role's threads.
//
//===----------------------------------------------------------------------===//

#include "PartitionRoles.h"
#include "ValueFlow.h"

#include "fa4/Target/TargetInfo.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {

class RoleEmitter {
public:
  RoleEmitter(RewriterBase &rewriter, const RoleSlice &slice) : rewriter(rewriter), slice(slice) {}

  FailureOr<RoleOp> run();

private:
  LogicalResult emitOps(Block &block);
  LogicalResult emitOp(Operation *op);
  LogicalResult emitTiles(ForEachTileOp tiles);
  LogicalResult emitLoop(scf::ForOp loop);
  LogicalResult emitBranch(scf::IfOp branch);
  LogicalResult emitStep(InlinedStepOp step);
  LogicalResult emitSkippedStep(InlinedStepOp step);
  LogicalResult emitSide(Block &from, Block *to, ValueRange yielded, ArrayRef<unsigned> kept);
  void emitKept(KeepOp keep);
  LogicalResult emitValueOp(Operation *op);

  /// The numbers of the values that the role needs.
  SmallVector<unsigned> getNeeded(ValueRange values) const {
    return llvm::filter_to_vector(llvm::seq<unsigned>(0, values.size()),
                                  [&](unsigned number) { return slice.holds(values[number]); });
  }
  Value lookup(Value value) { return value ? mapping.lookup(value) : value; }
  SmallVector<Value> lookupAll(ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return mapping.lookup(value); });
  }
  FailureOr<Type> spread(Operation *op, Value value);
  FailureOr<FragType> spreadFragment(Operation *op, FragType tile, bool isOperand);
  LogicalResult emitProduct(MmaOp product);
  void findOperands();

  RewriterBase &rewriter;
  const RoleSlice &slice;
  IRMapping mapping;
  /// The role's argument; null if it does not ask which CTA it runs in.
  Value rank;
  /// What products take as first operand from registers, under all its names.
  llvm::DenseSet<Value> operands;
};

} // namespace

void RoleEmitter::findOperands() {
  slice.getKernel().walk([&](MmaOp product) {
    if (getPlace(product.getA())) {
      return;
    }
    for (Value origin : getOrigins(product.getA())) {
      operands.insert_range(getCopies(origin));
    }
  });
}

/// `tile` as the warps of a warpgroup hold it beside products on registers.
FailureOr<FragType> RoleEmitter::spreadFragment(Operation *op, FragType tile, bool isOperand) {
  const fa4::Role &role = *slice.getCopy().role;
  const TargetInfo &target = slice.getKernel().getTarget().getInfo();
  bool isColumns = tile.getRank() == 2 && tile.getRows() == 1;
  constexpr int64_t kWarpsPerGroup = 4;
  bool isOneGroup = role.warps == kWarpsPerGroup;
  if (!isOneGroup || (!isColumns && !llvm::is_contained(target.mmaRows, tile.getRows()))) {
    return op->emitError("expected role '")
           << role.name << "' to have " << kWarpsPerGroup << " warps for tiles of "
           << target.mmaRows.front() << " rows, which one product fills, but got " << role.warps
           << " warps for " << tile.getRows()
           << " rows; let the schedule's tile have as many rows, and the role replicas";
  }
  Spread form = isColumns      ? Spread::Columns
                : tile.isRow() ? Spread::Quad
                : isOperand    ? Spread::A16
                               : Spread::Acc;
  return FragType::get(tile.getContext(), tile.getShape(), tile.getElementType(),
                       SpreadAttr::get(tile.getContext(), form));
}

/// The type of `value` as the role's threads hold it: a thread per row, or two that
/// share one; or a warpgroup's threads as its products do.
FailureOr<Type> RoleEmitter::spread(Operation *op, Value value) {
  auto tile = dyn_cast<FragType>(value.getType());
  if (!tile) {
    return value.getType();
  }
  if (!slice.getKernel().getTarget().getInfo().hasTensorMemory()) {
    FailureOr<FragType> fragment = spreadFragment(op, tile, operands.contains(value));
    return failed(fragment) ? FailureOr<Type>(failure()) : FailureOr<Type>(*fragment);
  }
  const fa4::Role &role = *slice.getCopy().role;
  int64_t perWarp = slice.getKernel().getTarget().getInfo().threadsPerWarp;
  int64_t threads = role.warps * perWarp;
  bool isColumns = tile.getRank() == 2 && tile.getRows() == 1;
  bool isShared = threads > perWarp * 4; // A warpgroup reaches each row of tensor memory once.
  int64_t rows = isShared ? threads / 2 : threads;
  if ((!isColumns && tile.getRows() != rows) || role.warps % 4 != 0) {
    return op->emitError("expected role '")
           << role.name << "' to have a thread for each of " << tile.getRows() << " rows, that is "
           << llvm::divideCeil(tile.getRows(), perWarp) << " warps, but got " << role.warps
           << "; give the step to another role, or the role more warps";
  }
  Spread form = isColumns ? (isShared ? Spread::Columns2 : Spread::Columns)
                          : (isShared ? Spread::Rows2 : Spread::Rows);
  return Type(FragType::get(tile.getContext(), tile.getShape(), tile.getElementType(),
                            SpreadAttr::get(tile.getContext(), form)));
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

LogicalResult RoleEmitter::emitTiles(ForEachTileOp tiles) {
  SmallVector<unsigned> carried = getNeeded(tiles.getIterArgs());
  SmallVector<Value> inits;
  for (unsigned number : carried) {
    inits.push_back(mapping.lookup(tiles.getInits()[number]));
  }
  auto copy = ForEachTileOp::create(rewriter, tiles.getLoc(), ValueRange(inits).getTypes(),
                                    tiles.getSourceAttr(), inits);
  Block &body = copy.getBody().emplaceBlock();
  for (BlockArgument argument : tiles.getTileArgs()) {
    mapping.map(argument, body.addArgument(argument.getType(), argument.getLoc()));
  }
  for (auto [index, number] : llvm::enumerate(carried)) {
    mapping.map(tiles.getIterArgs()[number],
                body.addArgument(inits[index].getType(), tiles.getLoc()));
    mapping.map(tiles.getResult(number), copy.getResult(index));
  }
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToEnd(&body);
  if (failed(emitOps(*tiles.getYield()->getBlock()))) {
    return failure();
  }
  SmallVector<Value> yielded;
  for (unsigned number : carried) {
    yielded.push_back(mapping.lookup(tiles.getYield().getValues()[number]));
  }
  YieldOp::create(rewriter, tiles.getLoc(), yielded);
  return success();
}

LogicalResult RoleEmitter::emitLoop(scf::ForOp loop) {
  SmallVector<unsigned> carried = getNeeded(loop.getRegionIterArgs());
  SmallVector<Value> inits;
  for (unsigned number : carried) {
    inits.push_back(mapping.lookup(loop.getInitArgs()[number]));
  }
  auto copy = scf::ForOp::create(rewriter, loop.getLoc(), mapping.lookup(loop.getLowerBound()),
                                 mapping.lookup(loop.getUpperBound()),
                                 mapping.lookup(loop.getStep()), inits);
  copy.setUnsignedCmp(loop.getUnsignedCmp());
  if (inits.empty()) {
    rewriter.eraseOp(copy.getBody()->getTerminator());
  }
  mapping.map(loop.getInductionVar(), copy.getInductionVar());
  for (auto [index, number] : llvm::enumerate(carried)) {
    mapping.map(loop.getRegionIterArg(number), copy.getRegionIterArg(index));
    mapping.map(loop.getResult(number), copy.getResult(index));
  }
  return emitSide(*loop.getBody(), copy.getBody(), loop.getYieldedValues(), carried);
}

/// Fills `to` with what the role has of `from`.
LogicalResult RoleEmitter::emitSide(Block &from, Block *to, ValueRange yielded,
                                    ArrayRef<unsigned> kept) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToEnd(to);
  if (failed(emitOps(from))) {
    return failure();
  }
  SmallVector<Value> values;
  for (unsigned number : kept) {
    values.push_back(mapping.lookup(yielded[number]));
  }
  scf::YieldOp::create(rewriter, from.getParentOp()->getLoc(), values);
  return success();
}

LogicalResult RoleEmitter::emitBranch(scf::IfOp branch) {
  SmallVector<unsigned> kept = getNeeded(branch.getResults());
  SmallVector<Type> types;
  for (unsigned number : kept) {
    FailureOr<Type> type = spread(branch, branch.getResult(number));
    if (failed(type)) {
      return failure();
    }
    types.push_back(*type);
  }
  bool hasElse = branch.elseBlock();
  auto copy =
      scf::IfOp::create(rewriter, branch.getLoc(), types, mapping.lookup(branch.getCondition()),
                        /*addThenBlock=*/true, /*addElseBlock=*/hasElse);
  for (auto [index, number] : llvm::enumerate(kept)) {
    mapping.map(branch.getResult(number), copy.getResult(index));
  }
  if (failed(emitSide(*branch.thenBlock(), copy.thenBlock(), branch.thenYield().getOperands(),
                      kept))) {
    return failure();
  }
  return hasElse ? emitSide(*branch.elseBlock(), copy.elseBlock(), branch.elseYield().getOperands(),
                            kept)
                 : success();
}

/// A step under `unless`: what it passes on, or its body.
LogicalResult RoleEmitter::emitSkippedStep(InlinedStepOp step) {
  SmallVector<unsigned> kept = getNeeded(step.getOutputs());
  SmallVector<Type> types;
  SmallVector<Value> passed;
  for (unsigned number : kept) {
    passed.push_back(mapping.lookup(step.getPassed()[number]));
    types.push_back(passed.back().getType());
  }
  auto branch = scf::IfOp::create(rewriter, step.getLoc(), types, mapping.lookup(step.getUnless()),
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (auto [index, number] : llvm::enumerate(kept)) {
    mapping.map(step.getResult(number), branch.getResult(index));
  }
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(rewriter, step.getLoc(), passed);
  }
  return emitSide(step.getBody().front(), branch.elseBlock(), step.getYield().getValues(), kept);
}

LogicalResult RoleEmitter::emitStep(InlinedStepOp step) {
  if (step.getUnless()) {
    return emitSkippedStep(step);
  }
  if (failed(emitOps(step.getBody().front()))) {
    return failure();
  }
  for (auto [result, value] : llvm::zip(step.getResults(), step.getYield().getValues())) {
    if (slice.holds(result)) {
      mapping.map(result, mapping.lookup(value));
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void RoleEmitter::emitKept(KeepOp keep) {
  Location loc = keep.getLoc();
  Operation *source = keep.getValue().getDefiningOp();
  Value token = lookup(keep.getHandle());
  FlatSymbolRefAttr view = keep.getViewAttr();
  auto done = AsyncType::get(keep.getContext(), Type());
  switch (getKeepForm(keep)) {
  case KeepForm::Product: {
    auto product = cast<MmaOp>(source);
    UseOp a = getPlace(product.getA()), b = getPlace(product.getB());
    bool isFresh = !product.getOnto();
    AsyncMmaOp::create(rewriter, product.getLoc(), done, lookup(a.getHandle()), a.getViewAttr(),
                       lookup(b.getHandle()), b.getViewAttr(), token, view,
                       isFresh ? rewriter.getUnitAttr() : UnitAttr(), lookup(product.getUnless()));
    return;
  }
  case KeepForm::Load: {
    auto load = cast<LoadOp>(source);
    AsyncLoadOp::create(rewriter, load.getLoc(), done, lookup(load.getGlobal()),
                        lookupAll(load.getCoordinates()), token, view);
    return;
  }
  case KeepForm::Rescale: {
    auto scaling = cast<ScaleRowsOp>(source);
    RescaleOp::create(rewriter, scaling.getLoc(), token, view, Value(), IntegerAttr(),
                      lookup(scaling.getBy()), scaling.getLikelyOneAttr());
    return;
  }
  case KeepForm::Write:
    WriteOp::create(rewriter, loc, lookup(keep.getValue()), token, view, Value(), IntegerAttr());
    break;
  case KeepForm::Stay:
    break;
  }
  mapping.map(keep.getResult(), lookup(keep.getValue()));
}

LogicalResult RoleEmitter::emitValueOp(Operation *op) {
  if (auto use = dyn_cast<UseOp>(op)) {
    FailureOr<Type> type = spread(op, use.getResult());
    if (failed(type)) {
      return failure();
    }
    auto read = ReadOp::create(rewriter, use.getLoc(), *type, lookup(use.getHandle()),
                               use.getViewAttr(), Value(), IntegerAttr());
    mapping.map(use.getResult(), read.getResult());
    return success();
  }
  Operation *copy = rewriter.clone(*op, mapping);
  for (auto [result, value] : llvm::zip_equal(copy->getResults(), op->getResults())) {
    FailureOr<Type> type = spread(op, value);
    if (failed(type)) {
      return failure();
    }
    result.setType(*type);
  }
  return success();
}

/// A product on registers, and right behind it the wait for its value.
LogicalResult RoleEmitter::emitProduct(MmaOp product) {
  FailureOr<Type> type = spread(product, product.getResult());
  if (failed(type)) {
    return failure();
  }
  UseOp a = getPlace(product.getA()), b = getPlace(product.getB());
  Location loc = product.getLoc();
  auto started = AsyncMmaOp::create(
      rewriter, loc, AsyncType::get(product.getContext(), *type),
      lookup(a ? a.getHandle() : product.getA()), a ? a.getViewAttr() : FlatSymbolRefAttr(),
      lookup(b.getHandle()), b.getViewAttr(), lookup(product.getOnto()), FlatSymbolRefAttr(),
      UnitAttr(), lookup(product.getUnless()));
  auto await = AwaitOp::create(rewriter, loc, *type, started.getResult());
  mapping.map(product.getResult(), await.getResult());
  return success();
}

LogicalResult RoleEmitter::emitOp(Operation *op) {
  if (auto tiles = dyn_cast<ForEachTileOp>(op)) {
    return emitTiles(tiles);
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    return emitLoop(loop);
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    return emitBranch(branch);
  }
  if (auto step = dyn_cast<InlinedStepOp>(op)) {
    return emitStep(step);
  }
  if (auto keep = dyn_cast<KeepOp>(op)) {
    emitKept(keep);
    return success();
  }
  if (auto product = dyn_cast<MmaOp>(op)) {
    return emitProduct(product);
  }
  if (auto known = dyn_cast<CtaRankOp>(op)) {
    mapping.map(known.getResult(), rank);
    return success();
  }
  if (auto store = dyn_cast<StoreOp>(op); store && copiesView(store)) {
    UseOp place = getPlace(store.getValue());
    AsyncStoreOp::create(rewriter, store.getLoc(), AsyncType::get(op->getContext(), Type()),
                         store.getAddAttr(), lookup(place.getHandle()), place.getViewAttr(),
                         Value(), IntegerAttr(), lookup(store.getGlobal()),
                         lookupAll(store.getCoordinates()));
    return success();
  }
  return emitValueOp(op);
}

LogicalResult RoleEmitter::emitOps(Block &block) {
  for (Operation &op : block) {
    if (slice.holds(&op) && failed(emitOp(&op))) {
      return failure();
    }
  }
  return success();
}

/// The CTAs that the schedule lets run `role`.
static Ctas ctasOf(const fa4::Role &role) {
  switch (role.ctas) {
  case RoleCtas::Single:
    return Ctas::Single;
  case RoleCtas::Leader:
    return Ctas::Leader;
  case RoleCtas::Both:
    return Ctas::Both;
  }
  return Ctas::Single;
}

FailureOr<RoleOp> RoleEmitter::run() {
  KernelOp kernel = slice.getKernel();
  const fa4::Role &plan = *slice.getCopy().role;
  SmallVector<BlockArgument> uses = slice.getUses();
  bool asksRank = false;
  WalkResult walk = kernel.walk([&](CtaRankOp known) {
    asksRank |= slice.holds(known.getOperation());
    if (asksRank && plan.ctas != RoleCtas::Both) {
      known.emitError("expected a role that asks which CTA it runs in to run in both, but got '")
          << plan.name << "'; let the schedule give its steps to a role with ctas both";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted()) {
    return failure();
  }
  auto role =
      RoleOp::create(rewriter, kernel.getLoc(), plan.name, static_cast<uint64_t>(plan.warps),
                     static_cast<uint64_t>(plan.replicas), /*first_warp=*/IntegerAttr(),
                     /*one_lane=*/false, ctasOf(plan), asksRank, /*regs=*/IntegerAttr(),
                     llvm::map_to_vector(uses, [](BlockArgument use) { return Value(use); }));
  Block &body = role.getBody().emplaceBlock();
  if (role.hasIndex()) {
    body.addArgument(rewriter.getI32Type(), kernel.getLoc());
  }
  if (asksRank) {
    rank = body.addArgument(rewriter.getI32Type(), kernel.getLoc());
  }
  for (BlockArgument use : uses) {
    mapping.map(use, body.addArgument(use.getType(), use.getLoc()));
  }
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToEnd(&body);
  findOperands();
  if (failed(emitOps(*kernel.getEntry()))) {
    return failure();
  }
  return role;
}

FailureOr<RoleOp> fa4::tile::emitRole(RewriterBase &rewriter, const RoleSlice &slice) {
  return RoleEmitter(rewriter, slice).run();
}
