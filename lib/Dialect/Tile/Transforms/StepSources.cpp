//===- StepSources.cpp - where a value of a kernel comes from -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value and everything it is a copy of are found by following each hand-over
// backwards, once.
//
//===----------------------------------------------------------------------===//

#include "StepSources.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace fa4::tile;

SmallVector<StepOp> fa4::tile::getCalls(DefOp def, KernelOp kernel) {
  SmallVector<StepOp> calls;
  kernel.walk([&](StepOp step) {
    if (step.getDef() == def) {
      calls.push_back(step);
    }
  });
  return calls;
}

static void addArgumentSources(BlockArgument argument, KernelOp kernel,
                               llvm::SetVector<Value> &sources) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto def = dyn_cast<DefOp>(parent)) {
    for (StepOp step : getCalls(def, kernel)) {
      sources.insert(step.getInputs()[argument.getArgNumber()]);
    }
    return;
  }
  auto loop = dyn_cast<LoopLikeOpInterface>(parent);
  if (!loop) {
    return;
  }
  if (OpOperand *init = loop.getTiedLoopInit(argument)) {
    sources.insert(init->get());
  }
  if (OpOperand *yielded = loop.getTiedLoopYieldedValue(argument)) {
    sources.insert(yielded->get());
  }
}

static void addResultSources(OpResult result, llvm::SetVector<Value> &sources) {
  unsigned number = result.getResultNumber();
  if (auto step = dyn_cast<StepOp>(result.getOwner())) {
    sources.insert(step.getDef().getYield().getValues()[number]);
    if (step.getUnless()) {
      sources.insert(step.getInputs()[number]);
    }
  } else if (auto loop = dyn_cast<scf::ForOp>(result.getOwner())) {
    sources.insert(loop.getInitArgs()[number]);
    sources.insert(loop.getYieldedValues()[number]);
  } else if (auto choice = dyn_cast<scf::IfOp>(result.getOwner())) {
    sources.insert(choice.thenYield().getOperand(number));
    sources.insert(choice.elseYield().getOperand(number));
  }
}

llvm::SetVector<Value> fa4::tile::getSources(Value value, KernelOp kernel) {
  llvm::SetVector<Value> sources;
  sources.insert(value);
  for (size_t next = 0; next < sources.size(); ++next) {
    if (auto argument = dyn_cast<BlockArgument>(sources[next])) {
      addArgumentSources(argument, kernel, sources);
    } else {
      addResultSources(cast<OpResult>(sources[next]), sources);
    }
  }
  return sources;
}

LogicalResult fa4::tile::requireOwnDefs(KernelOp kernel) {
  WalkResult result = kernel.walk([&](StepOp step) {
    DefOp def = step.getDef();
    if (def->getParentOp() == kernel) {
      return WalkResult::advance();
    }
    InFlightDiagnostic error = step.emitError()
                               << "expected the def of step '" << step.getStepName()
                               << "' to be one of the kernel's own, but got one of the module";
    error.attachNote(def.getLoc()) << "the def is here";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
