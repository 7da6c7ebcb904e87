//===- Lowering.cpp - the walk over the ops of a T0 program ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps are inlined. Control flow keeps its scalars; its tiles become buffers
// that exist before it and are written by it.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fa4::tile::cpu {

/// Rows of 128 floats and multiples of it would all start in the same few sets
/// of a first-level cache (64 sets of 64-byte lines on the hosts we know); one
/// more strip per row spreads them.
static int64_t paddedColumns(int64_t columns) {
  constexpr int64_t conflictingColumns = 128;
  return columns % conflictingColumns == 0 ? columns + kStrip : columns;
}

Value Lowering::createBuffer(ImplicitLocOpBuilder &b, FragType type) {
  SmallVector<int64_t> shape(type.getShape());
  if (shape.size() == 2) {
    shape[1] = paddedColumns(shape[1]);
  }
  Type storage = getStorageType(type.getElementType());
  auto alloc = memref::AllocOp::create(b, MemRefType::get(shape, storage));
  buffers.push_back(alloc);
  if (ArrayRef<int64_t>(shape) == type.getShape()) {
    return alloc;
  }
  SmallVector<OpFoldResult> offsets(2, b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes{b.getIndexAttr(type.getRows()),
                                  b.getIndexAttr(type.getColumns())};
  return memref::SubViewOp::create(b, alloc, offsets, sizes, strides);
}

Value Lowering::createTile(ImplicitLocOpBuilder &b, Value tile) {
  Value buffer = destinations.lookup(tile);
  if (!buffer) {
    buffer = createBuffer(b, cast<FragType>(tile.getType()));
    builder.restoreInsertionPoint(b.saveInsertionPoint());
  }
  bind(tile, buffer);
  return buffer;
}

void Lowering::alias(Value from, Value to) {
  if (isa<GlobalType>(to.getType())) {
    bindGlobal(to, GlobalView(lookupGlobal(from)));
  } else {
    bind(to, lookup(from));
  }
}

LogicalResult Lowering::lowerBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (failed(lowerOp(&op))) {
      return failure();
    }
  }
  return success();
}

/// The buffer behind views.
static Value rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    buffer = view.getViewSource();
  }
  return buffer;
}

FailureOr<SmallVector<Value>> Lowering::lowerInto(Block &block, ArrayRef<Value> targets) {
  if (failed(lowerBlock(block))) {
    return failure();
  }
  ImplicitLocOpBuilder b = at(block.getTerminator()->getLoc());
  SmallVector<Value> scalars;
  SmallVector<std::pair<Value, Value>> copies;
  llvm::SmallDenseSet<Value> overwritten;
  for (Value target : targets) {
    if (target) {
      overwritten.insert(rootOf(target));
    }
  }
  for (auto [yielded, target] : llvm::zip_equal(block.getTerminator()->getOperands(), targets)) {
    Value value = lookup(yielded);
    if (!target) {
      scalars.push_back(value);
      continue;
    }
    if (value == target) {
      continue;
    }
    // All copies happen at once: what another copy overwrites is saved first.
    if (overwritten.contains(rootOf(value))) {
      Value saved = createBuffer(b, cast<FragType>(yielded.getType()));
      copyTile(b, value, saved);
      value = saved;
    }
    copies.push_back({value, target});
  }
  for (auto [value, target] : copies) {
    copyTile(b, value, target);
  }
  builder.restoreInsertionPoint(b.saveInsertionPoint());
  return scalars;
}

LogicalResult Lowering::lowerStep(StepOp step) {
  ++numSteps;
  DefOp def = step.getDef();
  Block &body = def.getBody().front();
  auto inlineBody = [&]() -> LogicalResult {
    for (auto [input, argument] : llvm::zip_equal(step.getInputs(), body.getArguments())) {
      alias(input, argument);
    }
    return lowerBlock(body);
  };
  ValueRange yielded = def.getYield().getValues();
  if (step.getUnless()) {
    return lowerUnless(step, step.getUnless(), step.getInputs(), yielded, inlineBody);
  }
  if (failed(inlineBody())) {
    return failure();
  }
  for (auto [value, output] : llvm::zip_equal(yielded, step.getOutputs())) {
    alias(value, output);
  }
  return success();
}

LogicalResult Lowering::lowerInlinedStep(InlinedStepOp step) {
  ++numSteps;
  Block &body = step.getBody().front();
  ValueRange yielded = step.getYield().getValues();
  if (step.getUnless()) {
    return lowerUnless(step, step.getUnless(), step.getPassed(), yielded,
                       [&] { return lowerBlock(body); });
  }
  if (failed(lowerBlock(body))) {
    return failure();
  }
  for (auto [value, output] : llvm::zip_equal(yielded, step.getOutputs())) {
    alias(value, output);
  }
  return success();
}

LogicalResult Lowering::lowerUnless(Operation *op, Value unless, ValueRange inputs,
                                    ValueRange yielded, function_ref<LogicalResult()> body) {
  ImplicitLocOpBuilder b = at(op->getLoc());
  SmallVector<Value> targets;
  SmallVector<Type> scalarTypes;
  for (Value output : op->getResults()) {
    if (isa<FragType>(output.getType())) {
      targets.push_back(createTile(b, output));
      b = at(op->getLoc());
    } else {
      targets.push_back(Value());
      scalarTypes.push_back(output.getType());
    }
  }
  auto branches = scf::IfOp::create(b, scalarTypes, lookup(unless), /*withElseRegion=*/true);
  // Skipped: the first inputs pass through.
  ImplicitLocOpBuilder skipped(op->getLoc(), branches.thenBlock(), branches.thenBlock()->begin());
  SmallVector<Value> passed;
  for (auto [input, target] : llvm::zip(inputs, targets)) {
    if (target) {
      copyTile(skipped, lookup(input), target);
    } else {
      passed.push_back(lookup(input));
    }
  }
  if (!scalarTypes.empty()) {
    scf::YieldOp::create(skipped, passed);
  }
  builder.setInsertionPointToStart(branches.elseBlock());
  if (failed(body())) {
    return failure();
  }
  ImplicitLocOpBuilder done = at(op->getLoc());
  SmallVector<Value> computed;
  for (auto [value, target] : llvm::zip_equal(yielded, targets)) {
    if (target) {
      copyTile(done, lookup(value), target);
    } else {
      computed.push_back(lookup(value));
    }
  }
  if (!scalarTypes.empty()) {
    scf::YieldOp::create(done, computed);
  }
  builder.setInsertionPointAfter(branches);
  unsigned nextScalar = 0;
  for (auto [output, target] : llvm::zip_equal(op->getResults(), targets)) {
    if (!target) {
      bind(output, branches.getResult(nextScalar++));
    }
  }
  return success();
}

LogicalResult Lowering::lowerFor(Operation *op) {
  auto loop = cast<scf::ForOp>(op);
  ImplicitLocOpBuilder b = at(op->getLoc());
  SmallVector<Value> targets, scalarInits;
  for (auto [init, result] : llvm::zip_equal(loop.getInitArgs(), loop.getResults())) {
    if (!isa<FragType>(init.getType())) {
      targets.push_back(Value());
      scalarInits.push_back(lookup(init));
      continue;
    }
    Value carried = createTile(b, result);
    copyTile(b, lookup(init), carried);
    targets.push_back(carried);
  }
  auto host = scf::ForOp::create(b, lookup(loop.getLowerBound()), lookup(loop.getUpperBound()),
                                 lookup(loop.getStep()), scalarInits);
  bind(loop.getInductionVar(), host.getInductionVar());
  unsigned nextScalar = 0;
  for (auto [argument, result, target] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getResults(), targets)) {
    if (target) {
      bind(argument, target);
    } else {
      bind(result, host.getResult(nextScalar));
      bind(argument, host.getRegionIterArg(nextScalar++));
    }
  }
  builder.setInsertionPointToStart(host.getBody());
  FailureOr<SmallVector<Value>> yielded = lowerInto(*loop.getBody(), targets);
  if (failed(yielded)) {
    return failure();
  }
  if (!scalarInits.empty()) {
    scf::YieldOp::create(builder, op->getLoc(), *yielded);
  }
  builder.setInsertionPointAfter(host);
  return success();
}

LogicalResult Lowering::lowerIf(Operation *op) {
  auto branches = cast<scf::IfOp>(op);
  ImplicitLocOpBuilder b = at(op->getLoc());
  SmallVector<Value> targets;
  SmallVector<Type> scalarTypes;
  for (Value result : branches.getResults()) {
    if (isa<FragType>(result.getType())) {
      targets.push_back(createTile(b, result));
    } else {
      targets.push_back(Value());
      scalarTypes.push_back(result.getType());
    }
  }
  bool hasElse = branches.elseBlock() != nullptr;
  auto host = scf::IfOp::create(b, scalarTypes, lookup(branches.getCondition()), hasElse);
  for (auto [from, to] : {std::pair(branches.thenBlock(), host.thenBlock()),
                          std::pair(branches.elseBlock(), hasElse ? host.elseBlock() : nullptr)}) {
    if (!from) {
      continue;
    }
    builder.setInsertionPointToStart(to);
    FailureOr<SmallVector<Value>> yielded = lowerInto(*from, targets);
    if (failed(yielded)) {
      return failure();
    }
    if (!scalarTypes.empty()) {
      scf::YieldOp::create(builder, op->getLoc(), *yielded);
    }
  }
  unsigned nextScalar = 0;
  for (auto [result, target] : llvm::zip_equal(branches.getResults(), targets)) {
    if (!target) {
      bind(result, host.getResult(nextScalar++));
    }
  }
  builder.setInsertionPointAfter(host);
  return success();
}

/// Ops of no tile dialect are copied, with everything in them.
static LogicalResult copyOp(Lowering &lowering, Operation *op) {
  WalkResult clean = op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    auto isTile = [](Type type) { return isa<FragType, GlobalType>(type); };
    if (isa_and_present<TileDialect>(inner->getDialect()) ||
        llvm::any_of(inner->getOperandTypes(), isTile) ||
        llvm::any_of(inner->getResultTypes(), isTile)) {
      inner->emitOpError("expected every op of the kernel to be one that runs on the host as an op "
                         "of T0, but got '")
          << inner->getName() << "'";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (clean.wasInterrupted()) {
    return failure();
  }
  IRMapping values;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      values.map(operand, lowering.lookup(operand));
    }
  });
  Operation *copy = lowering.builder.clone(*op, values);
  for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults())) {
    lowering.bind(from, to);
  }
  return success();
}

LogicalResult Lowering::lowerOp(Operation *op) {
  for (Type type : op->getResultTypes()) {
    // A step without `unless` and a subrange name a global; nothing chooses one.
    auto step = dyn_cast<StepOp>(op);
    auto inlined = dyn_cast<InlinedStepOp>(op);
    bool names =
        isa<SubrangeOp>(op) || (step && !step.getUnless()) || (inlined && !inlined.getUnless());
    if (isa<GlobalType>(type) && !names) {
      return op->emitOpError("expected a global tensor on the host to be a kernel argument or a "
                             "subrange of one, but got a result of '")
             << op->getName() << "'";
    }
    auto frag = dyn_cast<FragType>(type);
    if (frag && !getStorageType(frag.getElementType())) {
      return op->emitOpError(
                 "expected the element type of a tile on the host to be f16, bf16, f32, "
                 "f64 or an integer of 1 to 64 bits, but got ")
             << frag.getElementType();
    }
  }
  auto fetch = [&](FetchOp fetchOp) -> LogicalResult {
    ImplicitLocOpBuilder b = at(op->getLoc());
    bind(fetchOp.getResult(),
         emitFetch(b, lookupGlobal(fetchOp.getGlobal()),
                   llvm::map_to_vector(fetchOp.getCoordinates(),
                                       [&](Value value) { return lookup(value); })));
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](StepOp step) { return lowerStep(step); })
      .Case([&](InlinedStepOp step) { return lowerInlinedStep(step); })
      .Case<KeepOp, UseOp>([&](auto place) {
        alias(place.getValue(), place.getResult());
        return success();
      })
      .Case<AcquireOp, WaitOp, NoTokenOp>([&](auto start) {
        // One thread needs no order: a token is a constant that loops carry along.
        ImplicitLocOpBuilder b = at(op->getLoc());
        bind(start.getToken(), arith::ConstantOp::create(b, b.getBoolAttr(false)));
        return success();
      })
      .Case<CommitOp, ReleaseOp, SettleOp>([](Operation *) { return success(); })
      .Case([&](CtaRankOp rank) {
        return rank.emitOpError("expected a program that one thread runs, but got that of one CTA "
                                "of a pair: run tile-pair-ctas later, or not at all");
      })
      .Case([&](MmaOp mma) { return lowerMma(*this, mma); })
      .Case([&](TransposeOp transpose) { return lowerTranspose(*this, transpose); })
      .Case([&](LoadOp load) { return lowerLoad(*this, load); })
      .Case([&](StoreOp store) { return lowerStore(*this, store); })
      .Case([&](SubrangeOp subrange) { return lowerSubrange(*this, subrange); })
      .Case([&](FetchOp fetchOp) { return fetch(fetchOp); })
      .Case([&](MapOp map) { return lowerMap(*this, map); })
      .Case([&](MaskOp mask) { return lowerMask(*this, mask); })
      .Case([&](Exp2Op exp2) { return lowerExp2(*this, exp2); })
      .Case([&](ScaleRowsOp scale) { return lowerScaleRows(*this, scale); })
      .Case([&](CastOp cast) { return lowerCast(*this, cast); })
      .Case([&](SplatOp splat) { return lowerSplat(*this, splat); })
      .Case([&](SliceOp slice) { return lowerSlice(*this, slice); })
      .Case([&](RowMaxOp max) { return lowerRowMax(*this, max); })
      .Case([&](RowSumOp sum) { return lowerRowSum(*this, sum); })
      .Case([&](OnlineMaxOp online) { return lowerOnlineMax(*this, online); })
      .Case([&](RedistributeOp redistribute) {
        // One thread is both CTAs of the pair.
        alias(redistribute.getOperand(), redistribute.getResult());
        return success();
      })
      .Case<scf::ForOp>([&](Operation *loop) { return lowerFor(loop); })
      .Case<scf::IfOp>([&](Operation *branches) { return lowerIf(branches); })
      .Default([&](Operation *other) { return copyOp(*this, other); });
}

} // namespace fa4::tile::cpu
