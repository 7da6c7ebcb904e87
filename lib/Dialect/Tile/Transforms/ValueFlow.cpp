//===- ValueFlow.cpp - how tile values pass between inlined steps ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One definition of handing on, read forwards and backwards. What stands inside a
// step computes: only the step's own yield hands on.
//
//===----------------------------------------------------------------------===//

#include "ValueFlow.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

InlinedStepOp fa4::tile::getStepOf(Operation *op) {
  if (auto step = dyn_cast_or_null<InlinedStepOp>(op)) {
    return step;
  }
  return op ? op->getParentOfType<InlinedStepOp>() : InlinedStepOp();
}

Operation *fa4::tile::getAncestorIn(Block *block, Operation *op) {
  return block->findAncestorOpInBlock(*op);
}

/// What `operand` is handed on as; empty if its op does more.
static SmallVector<Value, 2> getNext(OpOperand &operand) {
  Operation *owner = operand.getOwner();
  unsigned number = operand.getOperandNumber();
  if (auto loop = dyn_cast<scf::ForOp>(owner)) {
    if (BlockArgument argument = loop.getTiedLoopRegionIterArg(&operand)) {
      return {argument, loop.getTiedLoopResult(&operand)};
    }
    return {};
  }
  if (auto step = dyn_cast<InlinedStepOp>(owner)) {
    if (operand.get() == step.getUnless() && number == 0) {
      return {};
    }
    return {step.getOutputs()[number - step.getPassed().getBeginOperandIndex()]};
  }
  Operation *parent = owner->getParentOp();
  if (isa<YieldOp>(owner)) {
    if (auto step = dyn_cast<InlinedStepOp>(parent)) {
      return {step.getOutputs()[number]};
    }
    return {};
  }
  if (isa<scf::YieldOp>(owner) && !getStepOf(owner)) {
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      return {loop.getRegionIterArgs()[number], loop.getResult(number)};
    }
    if (isa<scf::IfOp>(parent)) {
      return {parent->getResult(number)};
    }
  }
  return {};
}

bool fa4::tile::isHandOn(OpOperand &operand) { return !getNext(operand).empty(); }

SetVector<Value> fa4::tile::getCopies(Value value) {
  SetVector<Value> copies;
  copies.insert(value);
  for (size_t next = 0; next < copies.size(); ++next) {
    for (OpOperand &use : copies[next].getUses()) {
      for (Value copy : getNext(use)) {
        copies.insert(copy);
      }
    }
  }
  return copies;
}

/// What `value` is a copy of, one hand-over back; empty if an op makes it.
static SmallVector<Value, 2> getPrevious(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument == loop.getInductionVar() || getStepOf(loop)) {
      return {};
    }
    return {loop.getTiedLoopInit(argument)->get(), loop.getTiedLoopYieldedValue(argument)->get()};
  }
  auto result = cast<OpResult>(value);
  unsigned number = result.getResultNumber();
  Operation *owner = result.getOwner();
  if (auto step = dyn_cast<InlinedStepOp>(owner)) {
    SmallVector<Value, 2> previous{step.getYield().getValues()[number]};
    if (step.getUnless()) {
      previous.push_back(step.getPassed()[number]);
    }
    return previous;
  }
  if (getStepOf(owner)) {
    return {};
  }
  if (auto loop = dyn_cast<scf::ForOp>(owner)) {
    return {loop.getInitArgs()[number], loop.getYieldedValues()[number]};
  }
  if (auto choice = dyn_cast<scf::IfOp>(owner)) {
    return {choice.thenYield().getOperand(number), choice.elseYield().getOperand(number)};
  }
  return {};
}

SetVector<Value> fa4::tile::getOrigins(Value value) {
  SetVector<Value> seen, origins;
  seen.insert(value);
  for (size_t next = 0; next < seen.size(); ++next) {
    SmallVector<Value, 2> previous = getPrevious(seen[next]);
    if (previous.empty()) {
      origins.insert(seen[next]);
    }
    seen.insert(previous.begin(), previous.end());
  }
  return origins;
}

SmallVector<OpOperand *> fa4::tile::getDirectUses(Value value) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses()) {
    if (!isHandOn(use)) {
      uses.push_back(&use);
    }
  }
  // The list of uses runs backwards; text order is what diagnostics speak of.
  std::reverse(uses.begin(), uses.end());
  return uses;
}

bool OperandChain::isAccumulator() const {
  auto mma = dyn_cast<MmaOp>(use->getOwner());
  return mma && mma.getOnto() && use->getOperandNumber() == 2;
}

static void addChains(Value value, SmallVectorImpl<Operation *> &layout,
                      SmallVectorImpl<OperandChain> &chains) {
  for (OpOperand *use : getDirectUses(value)) {
    Operation *owner = use->getOwner();
    if (!isa<SliceOp, TransposeOp>(owner)) {
      chains.push_back({use, SmallVector<Operation *>(layout.begin(), layout.end())});
      continue;
    }
    layout.push_back(owner);
    addChains(owner->getResult(0), layout, chains);
    layout.pop_back();
  }
}

SmallVector<OperandChain> fa4::tile::getUseChains(Value value) {
  SmallVector<OperandChain> chains;
  SmallVector<Operation *> layout;
  addChains(value, layout, chains);
  return chains;
}

const Role *fa4::tile::getRoleOf(InlinedStepOp step) {
  auto kernel = step->getParentOfType<KernelOp>();
  return kernel.getSchedule().getPlan().findRoleOf(step.getStep());
}

static void inlineStep(StepOp step) {
  OpBuilder builder(step);
  DefOp def = step.getDef();
  ValueRange outputs = step.getOutputs();
  auto passed = step.getUnless() ? step.getInputs().take_front(outputs.size())
                                 : step.getInputs().take_front(0);
  auto inlined = InlinedStepOp::create(builder, step.getLoc(), outputs.getTypes(),
                                       step.getCalleeAttr().getAttr(), step.getIndexAttr(),
                                       step.getUnless(), passed);
  builder.createBlock(&inlined.getBody());
  IRMapping values;
  values.map(def.getBody().getArguments(), step.getInputs());
  for (Operation &op : def.getBody().front()) {
    builder.clone(op, values);
  }
  step->replaceAllUsesWith(inlined.getOutputs());
  step.erase();
}

void fa4::tile::inlineSteps(KernelOp kernel) {
  SmallVector<StepOp> steps;
  kernel.walk([&](StepOp step) { steps.push_back(step); });
  llvm::for_each(steps, inlineStep);
  for (auto def : llvm::make_early_inc_range(kernel.getBody().getOps<DefOp>())) {
    def.erase();
  }
}
