//===- PipelineLoopRotate.cpp - builds the rotated loop -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The building half of tile-pipeline-loop. A value of the loop is known as
// (value, offset): the value that the iteration `offset` after a base gives it.
// The base is the first iteration in the prologue, the current trip in the
// kernel loop, and the trip count in the epilogue. A pair that an earlier trip
// made reaches the kernel loop in a register, one carried value per trip of age.
//
//===----------------------------------------------------------------------===//

#include "PipelineLoopOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {

using TimedValue = std::pair<Value, int64_t>;

/// One of prologue, kernel loop and epilogue while it is being written.
struct Phase {
  explicit Phase(Value base, std::optional<int64_t> iteration = std::nullopt)
      : base(base), iteration(iteration) {}

  /// The induction value at offset 0.
  Value base;
  /// Base - lower bound, if it is one number for the whole phase.
  std::optional<int64_t> iteration;
  /// What is known already: steps done here, registers, clones.
  DenseMap<TimedValue, Value> values;
};

class LoopRotator {
public:
  LoopRotator(RewriterBase &rewriter, const PipelineLoopOrder &order)
      : rewriter(rewriter), order(order), loop(order.getLoop()), body(loop.getBody()),
        yield(cast<scf::YieldOp>(body->getTerminator())), lastStage(order.getLastStage()) {}

  scf::ForOp run();

private:
  // Which registers the kernel loop needs.
  void collectRegisters();
  void collect(Value value, int64_t offset, llvm::SetVector<TimedValue> &seen);
  void addRegisters(Value value, int64_t offset);
  void sortRegisters();
  bool isOwnRegister(BlockArgument carried, int64_t offset);

  // Values of a phase.
  Value lookup(Phase &phase, Value value, int64_t offset);
  Value lookupCarried(Phase &phase, BlockArgument carried, int64_t offset);
  Value getInduction(Phase &phase, int64_t offset);
  Value foldFirstTest(Phase &phase, arith::CmpIOp test, int64_t offset);
  void clonePure(Phase &phase, Operation *op, int64_t offset);
  void emitStep(Phase &phase, StepOp step, int64_t offset);

  Value getConstant(Type type, int64_t value);
  Value addConstant(Value value, int64_t addend);
  Value getInit(BlockArgument carried) { return loop.getInitArgs()[getNumber(carried)]; }
  Value getYielded(BlockArgument carried) { return yield.getOperand(getNumber(carried)); }
  /// The carried value that `value` feeds, if it feeds exactly one.
  BlockArgument getOnlyCarried(Value value);
  static unsigned getNumber(BlockArgument carried) { return carried.getArgNumber() - 1; }
  Value getRegisterInit(Phase &prologue, TimedValue reg);
  void sinkSteps(Block *block, Block::iterator before);

  RewriterBase &rewriter;
  const PipelineLoopOrder &order;
  scf::ForOp loop;
  Block *body;
  scf::YieldOp yield;
  int64_t lastStage;
  SmallVector<TimedValue> registers;
  DenseMap<std::pair<Type, int64_t>, Value> constants;
};

} // namespace

BlockArgument LoopRotator::getOnlyCarried(Value value) {
  BlockArgument found;
  for (BlockArgument carried : loop.getRegionIterArgs()) {
    if (getYielded(carried) != value) {
      continue;
    }
    if (found) {
      return {};
    }
    found = carried;
  }
  return found;
}

/// At the largest offset the first trip of the kernel loop may read the initial
/// value. A step's result then finds it in its own register; everything else
/// that is carried needs a register of its own.
bool LoopRotator::isOwnRegister(BlockArgument carried, int64_t offset) {
  if (-offset < lastStage) {
    return false;
  }
  Value yielded = getYielded(carried);
  Operation *producer = yielded.getDefiningOp();
  return !producer || !order.contains(producer) || !getOnlyCarried(yielded);
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

void LoopRotator::addRegisters(Value value, int64_t offset) {
  int64_t made = value.getDefiningOp() && order.contains(value.getDefiningOp())
                     ? -order.getStage(value.getDefiningOp())
                     : -lastStage + 1;
  for (int64_t age = made - 1; age >= offset; --age) {
    if (!llvm::is_contained(registers, TimedValue(value, age))) {
      registers.push_back({value, age});
    }
  }
}

void LoopRotator::collect(Value value, int64_t offset, llvm::SetVector<TimedValue> &seen) {
  if (value.getParentBlock() != body || value == loop.getInductionVar() ||
      !seen.insert({value, offset})) {
    return;
  }
  if (auto carried = dyn_cast<BlockArgument>(value)) {
    if (isOwnRegister(carried, offset)) {
      addRegisters(carried, offset);
      collect(getYielded(carried), offset, seen);
    } else {
      collect(getYielded(carried), offset - 1, seen);
    }
    return;
  }
  Operation *op = value.getDefiningOp();
  if (order.contains(op)) {
    addRegisters(value, offset);
    return;
  }
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value operand :
       llvm::concat<const Value>(SmallVector<Value>(op->getOperands()), captured.getArrayRef())) {
    collect(operand, offset, seen);
  }
}

void LoopRotator::sortRegisters() {
  auto rank = [&](const TimedValue &reg) {
    BlockArgument carried = dyn_cast<BlockArgument>(reg.first);
    if (!carried) {
      carried = getOnlyCarried(reg.first);
    }
    int64_t first = carried ? getNumber(carried) : loop.getNumRegionIterArgs();
    Operation *producer = reg.first.getDefiningOp();
    int64_t place = producer ? order.getPosition(producer) : -1;
    int64_t result = producer ? cast<OpResult>(reg.first).getResultNumber() : 0;
    return std::tuple(first, place, result, -reg.second);
  };
  llvm::sort(registers,
             [&](const TimedValue &a, const TimedValue &b) { return rank(a) < rank(b); });
}

void LoopRotator::collectRegisters() {
  llvm::SetVector<TimedValue> seen;
  for (const PlacedStep &step : order.getSteps()) {
    for (Value operand : step.op->getOperands()) {
      collect(operand, -step.stage, seen);
    }
  }
  for (auto [result, carried] : llvm::zip(loop.getResults(), loop.getRegionIterArgs())) {
    if (!result.use_empty()) {
      collect(carried, 0, seen);
    }
  }
  sortRegisters();
}

//===----------------------------------------------------------------------===//
// Values of a phase
//===----------------------------------------------------------------------===//

Value LoopRotator::getConstant(Type type, int64_t value) {
  // Constants of the loop's bounds are near and usually the ones needed.
  for (Value bound : {loop.getLowerBound(), loop.getStep(), loop.getUpperBound()}) {
    if (isConstantIntValue(bound, value) && bound.getType() == type) {
      return bound;
    }
  }
  Value &constant = constants[{type, value}];
  if (!constant) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(loop->getBlock());
    constant =
        arith::ConstantOp::create(rewriter, loop.getLoc(), rewriter.getIntegerAttr(type, value));
  }
  return constant;
}

Value LoopRotator::addConstant(Value value, int64_t addend) {
  if (addend == 0) {
    return value;
  }
  if (std::optional<int64_t> constant = getConstantIntValue(value)) {
    return getConstant(value.getType(), *constant + addend);
  }
  Value amount = getConstant(value.getType(), std::abs(addend));
  if (addend < 0) {
    return arith::SubIOp::create(rewriter, loop.getLoc(), value, amount);
  }
  return arith::AddIOp::create(rewriter, loop.getLoc(), value, amount);
}

Value LoopRotator::getInduction(Phase &phase, int64_t offset) {
  Value &value = phase.values[{loop.getInductionVar(), offset}];
  if (!value) {
    value = addConstant(phase.base, offset);
  }
  return value;
}

/// Tests whether this is the first iteration: a constant where the phase says
/// so, else a test of the base, which needs no arithmetic. Null if `test` asks
/// something else.
Value LoopRotator::foldFirstTest(Phase &phase, arith::CmpIOp test, int64_t offset) {
  Value lower = loop.getLowerBound();
  bool isFirst = test.getLhs() == loop.getInductionVar() &&
                 (test.getRhs() == lower ||
                  (getConstantIntValue(lower) &&
                   getConstantIntValue(test.getRhs()) == getConstantIntValue(lower)));
  bool isEqual = test.getPredicate() == arith::CmpIPredicate::eq;
  if (!isFirst || (!isEqual && test.getPredicate() != arith::CmpIPredicate::ne)) {
    return {};
  }
  std::optional<bool> known;
  if (phase.iteration) {
    known = *phase.iteration + offset == 0;
  } else if (-offset < lastStage) {
    known = false; // The base is at least the last stage.
  }
  if (known) {
    return getConstant(test.getType(), *known == isEqual);
  }
  return arith::CmpIOp::create(rewriter, test.getLoc(), test.getPredicate(), phase.base,
                               addConstant(lower, -offset));
}

void LoopRotator::clonePure(Phase &phase, Operation *op, int64_t offset) {
  if (auto test = dyn_cast<arith::CmpIOp>(op)) {
    if (Value folded = foldFirstTest(phase, test, offset)) {
      phase.values[{test.getResult(), offset}] = folded;
      return;
    }
  }
  IRMapping mapping;
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op->getRegions(), used);
  used.insert(op->operand_begin(), op->operand_end());
  for (Value operand : used) {
    mapping.map(operand, lookup(phase, operand, offset));
  }
  Operation *clone = rewriter.clone(*op, mapping);
  SmallVector<Value> folded;
  bool isFolded = succeeded(rewriter.tryFold(clone, folded)) && !folded.empty();
  for (auto [index, from] : llvm::enumerate(op->getResults())) {
    phase.values[{from, offset}] = isFolded ? folded[index] : clone->getResult(index);
  }
  if (isFolded) {
    rewriter.eraseOp(clone);
  }
}

Value LoopRotator::lookupCarried(Phase &phase, BlockArgument carried, int64_t offset) {
  if (phase.iteration && *phase.iteration + offset == 0) {
    return getInit(carried);
  }
  return lookup(phase, getYielded(carried), offset - 1);
}

Value LoopRotator::lookup(Phase &phase, Value value, int64_t offset) {
  if (value.getParentBlock() != body) {
    return value;
  }
  if (value == loop.getInductionVar()) {
    return getInduction(phase, offset);
  }
  if (Value known = phase.values.lookup({value, offset})) {
    return known;
  }
  if (auto carried = dyn_cast<BlockArgument>(value)) {
    return lookupCarried(phase, carried, offset);
  }
  Operation *op = value.getDefiningOp();
  assert(!order.contains(op) && "a step's result is known before it is read");
  clonePure(phase, op, offset);
  return phase.values.lookup({value, offset});
}

void LoopRotator::emitStep(Phase &phase, StepOp step, int64_t offset) {
  Value skip;
  if (step.getUnless()) {
    skip = lookup(phase, step.getUnless(), offset);
  }
  std::optional<int64_t> skipped = skip ? getConstantIntValue(skip) : std::optional<int64_t>(0);
  if (skipped && *skipped != 0) {
    for (auto [result, input] : llvm::zip(step.getResults(), step.getInputs())) {
      phase.values[{result, offset}] = lookup(phase, input, offset);
    }
    return;
  }
  IRMapping mapping;
  for (Value operand : step->getOperands()) {
    mapping.map(operand, lookup(phase, operand, offset));
  }
  auto clone = cast<StepOp>(rewriter.clone(*step, mapping));
  if (skip && skipped) {
    clone.getUnlessMutable().clear();
  }
  for (auto [from, to] : llvm::zip(step->getResults(), clone->getResults())) {
    phase.values[{from, offset}] = to;
  }
}

/// What a register holds when the kernel loop starts, at trip `lastStage`.
Value LoopRotator::getRegisterInit(Phase &prologue, TimedValue reg) {
  int64_t iteration = lastStage + reg.second;
  if (auto carried = dyn_cast<BlockArgument>(reg.first)) {
    return lookup(prologue, carried, iteration);
  }
  if (iteration < 0) {
    return getInit(getOnlyCarried(reg.first));
  }
  return lookup(prologue, reg.first, iteration);
}

/// Steps before the loop move to the first op that needs them, so that, as in
/// the loop, a tile is loaded when it is wanted.
void LoopRotator::sinkSteps(Block *block, Block::iterator before) {
  SmallVector<StepOp> steps;
  for (Operation &op : llvm::make_range(block->begin(), before)) {
    if (auto step = dyn_cast<StepOp>(op)) {
      steps.push_back(step);
    }
  }
  // From the back: what a step feeds has moved when its turn comes.
  for (StepOp step : llvm::reverse(steps)) {
    if (hasEffect<MemoryEffects::Write>(step)) {
      continue;
    }
    Operation *first = nullptr;
    for (Operation *user : step->getUsers()) {
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      if (ancestor && (!first || ancestor->isBeforeInBlock(first))) {
        first = ancestor;
      }
    }
    if (first) {
      rewriter.moveOpBefore(step, first);
    }
  }
}

scf::ForOp LoopRotator::run() {
  Location loc = loop.getLoc();
  collectRegisters();
  rewriter.setInsertionPoint(loop);
  Operation *beforePrologue = loop->getPrevNode();

  Phase prologue(loop.getLowerBound(), /*iteration=*/0);
  for (int64_t trip = 0; trip < lastStage; ++trip) {
    for (const PlacedStep &step : order.getSteps()) {
      if (step.stage <= trip) {
        emitStep(prologue, step.op, trip - step.stage);
      }
    }
  }

  SmallVector<Value> inits;
  for (const TimedValue &reg : registers) {
    inits.push_back(getRegisterInit(prologue, reg));
  }
  Value lower = addConstant(loop.getLowerBound(), lastStage);
  auto kernel =
      scf::ForOp::create(rewriter, loc, lower, loop.getUpperBound(), loop.getStep(), inits);
  if (inits.empty()) {
    rewriter.eraseOp(kernel.getBody()->getTerminator());
  }
  Phase trips(kernel.getInductionVar());
  Phase epilogue(loop.getUpperBound());
  for (auto [reg, argument, result] :
       llvm::zip(registers, kernel.getRegionIterArgs(), kernel.getResults())) {
    trips.values[reg] = argument;
    epilogue.values[reg] = result;
  }
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(kernel.getBody());
    for (const PlacedStep &step : order.getSteps()) {
      emitStep(trips, step.op, -step.stage);
    }
    SmallVector<Value> next;
    for (auto [value, offset] : registers) {
      // The next trip's offset -d is this trip's -d + 1.
      if (auto carried = dyn_cast<BlockArgument>(value)) {
        next.push_back(lookup(trips, getYielded(carried), offset));
      } else {
        next.push_back(lookup(trips, value, offset + 1));
      }
    }
    scf::YieldOp::create(rewriter, loc, next);
  }

  for (int64_t trip = 0; trip < lastStage; ++trip) {
    for (const PlacedStep &step : order.getSteps()) {
      if (step.stage > trip) {
        emitStep(epilogue, step.op, trip - step.stage);
      }
    }
  }
  for (auto [result, carried] : llvm::zip(loop.getResults(), loop.getRegionIterArgs())) {
    if (!result.use_empty()) {
      rewriter.replaceAllUsesWith(result, lookup(epilogue, carried, 0));
    }
  }
  rewriter.eraseOp(loop);
  Block *block = kernel->getBlock();
  Block::iterator end = beforePrologue ? std::next(beforePrologue->getIterator()) : block->begin();
  sinkSteps(block, end);
  return kernel;
}

scf::ForOp fa4::tile::rotateLoop(RewriterBase &rewriter, const PipelineLoopOrder &order) {
  return LoopRotator(rewriter, order).run();
}
