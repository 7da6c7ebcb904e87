//===- HomeValues.cpp - which values need a home --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an engine writes or reads is in memory, and what another role takes is:
// the rest stays in the registers of the role that made it.
//
//===----------------------------------------------------------------------===//

#include "HomePlan.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {

/// How one value is taken, over all its copies.
struct Demand {
  bool feedsProduct = false;
  bool isAccumulated = false;
  /// A step of another role, and one of the own role whose engine takes it.
  InlinedStepOp otherTaker, ownProduct, ownReader, otherProduct;
  /// A step of the own role copies it to global memory.
  bool isStored = false;
  /// The copies that steps of other roles use.
  SetVector<Value> carriers;
};

class Finder {
public:
  explicit Finder(KernelOp kernel) : kernel(kernel) {}

  LogicalResult run();

  SmallVector<KeptValue> kept;

private:
  LogicalResult visit(InlinedStepOp step, Value value);
  LogicalResult visitFragment(InlinedStepOp step, Value value);
  LogicalResult checkEngines(InlinedStepOp step, Value value, const Demand &demand);
  Demand getDemand(InlinedStepOp step, Value value);
  void keepThreadValue(InlinedStepOp step, Value value, const Demand &demand);
  bool doAllCopiesHandOver(InlinedStepOp step, unsigned result);
  bool isTakenByOthers(Value result, const Role *role);

  KernelOp kernel;
  /// Copies of one step: equal name and index.
  llvm::StringMap<SmallVector<InlinedStepOp>> copies;
};

} // namespace

static bool isEngineOp(Operation *op) { return isa<MmaOp, LoadOp>(op); }

Demand Finder::getDemand(InlinedStepOp step, Value value) {
  Demand demand;
  const Role *role = getRoleOf(step);
  for (Value copy : getCopies(value)) {
    for (const OperandChain &chain : getUseChains(copy)) {
      InlinedStepOp taker = getStepOf(chain.use->getOwner());
      if (!taker) {
        continue;
      }
      bool isOwn = getRoleOf(taker) == role;
      if (chain.isProduct() && !isOwn) {
        demand.otherProduct = taker;
      }
      if (isOwn && taker != step && isa<StoreOp>(chain.use->getOwner())) {
        demand.isStored = true;
      }
      if (chain.isAccumulator()) {
        demand.isAccumulated = true;
      } else if (chain.isProduct()) {
        demand.feedsProduct = true;
        if (isOwn) {
          demand.ownProduct = taker;
        }
      } else if (isOwn && taker != step) {
        demand.ownReader = taker;
      }
      if (!isOwn && !chain.isAccumulator()) {
        demand.otherTaker = taker;
        demand.carriers.insert(copy);
      }
    }
  }
  return demand;
}

bool Finder::isTakenByOthers(Value result, const Role *role) {
  return llvm::any_of(getDirectUses(result), [&](OpOperand *use) {
    InlinedStepOp taker = getStepOf(use->getOwner());
    return taker && getRoleOf(taker) != role;
  });
}

/// Whether every copy of `step` hands its result number `result` over directly.
bool Finder::doAllCopiesHandOver(InlinedStepOp step, unsigned result) {
  return llvm::all_of(copies[step.getStepName()], [&](InlinedStepOp copy) {
    return isTakenByOthers(copy.getOutputs()[result], getRoleOf(copy));
  });
}

/// Keeps at the value's definition, unless only what a loop leaves of it, or only
/// this copy of the step, is handed over.
void Finder::keepThreadValue(InlinedStepOp step, Value value, const Demand &demand) {
  KeptValue entry{value, step};
  auto addTakers = [&](Value carrier) {
    for (OpOperand *use : getDirectUses(carrier)) {
      InlinedStepOp taker = getStepOf(use->getOwner());
      if (taker && getRoleOf(taker) != getRoleOf(step)) {
        entry.takers.push_back(use);
      }
    }
  };
  auto isLeftByLoop = [](Value carrier) {
    return isa_and_present<scf::ForOp>(carrier.getDefiningOp());
  };
  if (demand.carriers.size() == 1 && isLeftByLoop(demand.carriers.front())) {
    entry.value = demand.carriers.front();
    entry.isOutside = true;
    addTakers(entry.value);
    // Copies of the loop's result are found once per origin.
    bool known =
        llvm::any_of(kept, [&](const KeptValue &other) { return other.value == entry.value; });
    if (!known) {
      kept.push_back(std::move(entry));
    }
    return;
  }
  bool isOneResult =
      demand.carriers.size() == 1 && demand.carriers.front().getDefiningOp() == step.getOperation();
  if (isOneResult) {
    auto result = cast<OpResult>(demand.carriers.front());
    if (!doAllCopiesHandOver(step, result.getResultNumber())) {
      entry.value = result;
      entry.isOutside = true;
      addTakers(result);
      kept.push_back(std::move(entry));
      return;
    }
  }
  // The yield of the step: what the step itself goes on with stays in registers.
  for (OpOperand &use : value.getUses()) {
    if (isHandOn(use)) {
      entry.takers.push_back(&use);
    }
  }
  kept.push_back(std::move(entry));
}

/// An engine's completion reaches other roles through channels; nothing tells the
/// role that started it.
LogicalResult Finder::checkEngines(InlinedStepOp step, Value value, const Demand &demand) {
  InlinedStepOp taker;
  if (isa<MmaOp>(value.getDefiningOp())) {
    taker = demand.ownReader;
  } else if (demand.ownProduct) {
    taker = demand.ownProduct;
  }
  if (!taker) {
    return success();
  }
  InFlightDiagnostic error = taker.emitError()
                             << "expected what a product gives or takes to cross roles, but got '"
                             << step.getStepName() << "' and '" << taker.getStepName()
                             << "' both in role '" << getRoleOf(step)->name << "'";
  error.attachNote(step.getLoc()) << "'" << step.getStepName() << "' is here";
  error.attachNote(step.getLoc()) << "give the products a role of their own";
  return error;
}

/// What the schedule says of a result of `step`, which is `value`.
static const Home *findListedHome(InlinedStepOp step, Value value) {
  const Schedule &plan = step->getParentOfType<KernelOp>().getSchedule().getPlan();
  for (auto [number, yielded] : llvm::enumerate(step.getYield().getValues())) {
    if (yielded != value) {
      continue;
    }
    if (const Home *listed = plan.findHome(step.getStep(), static_cast<int64_t>(number))) {
      return listed;
    }
    if (step.getNumResults() == 1) {
      return plan.findHome(step.getStep(), std::nullopt);
    }
  }
  return nullptr;
}

/// Without tensor memory a product gives its result to the threads that issue it, and
/// takes from them what they made: all of that stays in one role. What copies bring
/// is in memory, and what they take where the schedule has a place for it.
LogicalResult Finder::visitFragment(InlinedStepOp step, Value value) {
  Demand demand = getDemand(step, value);
  Operation *op = value.getDefiningOp();
  if (isa<LoadOp>(op)) {
    if (demand.feedsProduct || demand.otherTaker) {
      kept.push_back({value, step, /*isByEngine=*/true, /*isOutside=*/false, {}});
    }
    return success();
  }
  const Home *listed = findListedHome(step, value);
  bool isOperand = isa<MmaOp>(op) || demand.isAccumulated || demand.feedsProduct;
  if (isOperand && !isa<SliceOp, TransposeOp>(op)) {
    InlinedStepOp taker = isa<MmaOp>(op) ? demand.otherTaker : demand.otherProduct;
    if (taker) {
      InFlightDiagnostic error =
          taker.emitError() << "expected what a product gives or takes in registers to stay in one "
                               "role, but got '"
                            << step.getStepName() << "' in role '" << getRoleOf(step)->name
                            << "' and '" << taker.getStepName() << "' in '"
                            << getRoleOf(taker)->name << "'";
      error.attachNote(step.getLoc()) << "'" << step.getStepName() << "' is here";
      error.attachNote(step.getLoc()) << "give both steps to one role";
      return error;
    }
    if (listed && listed->space != HomeSpace::Registers) {
      return step.emitError() << "expected the home of '" << step.getStep()
                              << "' to be registers, as a product gives or takes it on a target "
                                 "without tensor memory, but got memory";
    }
    return success();
  }
  if (demand.otherTaker) {
    keepThreadValue(step, value, demand);
  } else if (demand.isStored && listed && listed->space == HomeSpace::Smem) {
    kept.push_back({value, step, /*isByEngine=*/false, /*isOutside=*/false, {}});
  }
  return success();
}

LogicalResult Finder::visit(InlinedStepOp step, Value value) {
  Operation *op = value.getDefiningOp();
  if (!isa<FragType>(value.getType()) || isa<SplatOp>(op)) {
    return success();
  }
  if (!kernel.getTarget().getInfo().hasTensorMemory()) {
    return visitFragment(step, value);
  }
  Demand demand = getDemand(step, value);
  bool isLoad = isa<LoadOp>(op);
  bool isNeeded =
      isa<MmaOp>(op) || demand.isAccumulated || demand.feedsProduct || demand.otherTaker;
  // A slice or transpose inside the step is a way to take another value.
  if (!isNeeded || (isa<SliceOp, TransposeOp>(op) && !demand.otherTaker)) {
    return success();
  }
  if (failed(checkEngines(step, value, demand))) {
    return failure();
  }
  if (isa<MmaOp>(op) || isLoad || demand.isAccumulated) {
    kept.push_back({value, step, isEngineOp(op), /*isOutside=*/false, {}});
  } else {
    keepThreadValue(step, value, demand);
  }
  return success();
}

LogicalResult Finder::run() {
  SmallVector<InlinedStepOp> steps;
  kernel.walk<WalkOrder::PreOrder>([&](InlinedStepOp step) { steps.push_back(step); });
  for (InlinedStepOp step : steps) {
    copies[step.getStepName()].push_back(step);
  }
  for (InlinedStepOp step : steps) {
    if (!getRoleOf(step)) {
      return step.emitError()
             << "expected a role of the schedule to run each step, but got none for '"
             << step.getStep() << "'";
    }
  }
  for (InlinedStepOp step : steps) {
    for (Operation &op : step.getBody().front().without_terminator()) {
      for (Value result : op.getResults()) {
        if (failed(visit(step, result))) {
          return failure();
        }
      }
    }
  }
  return success();
}

FailureOr<SmallVector<KeptValue>> fa4::tile::findKeptValues(KernelOp kernel) {
  Finder finder(kernel);
  if (failed(finder.run())) {
    return failure();
  }
  return std::move(finder.kept);
}
