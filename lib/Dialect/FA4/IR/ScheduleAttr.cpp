//===- ScheduleAttr.cpp - printing and verifying #fa4.schedule ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints in one canonical order: a whole schedule without what is at its default, any
// other one with all that it states, so that the planner finds it again. Verifies what
// a schedule promises by itself; what fits a target is the planner's business.
//
//===----------------------------------------------------------------------===//

#include "ScheduleSyntax.h"
#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>

using namespace mlir;
using namespace fa4;

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// `, name = [a, b]`, or nothing if there is nothing to state.
template <class Range, class Each>
static void printList(AsmPrinter &printer, StringRef name, const Range &range, bool isStated,
                      Each each) {
  if (range.empty() && !isStated) {
    return;
  }
  printer << ", " << name << " = [";
  llvm::interleaveComma(range, printer, each);
  printer << "]";
}

static void printHome(AsmPrinter &printer, const Home &home) {
  printer << home.step;
  if (home.result) {
    printer << "." << *home.result;
  }
  printer << " = " << nameOf(home.space, homeNames);
  if (home.space == HomeSpace::Registers) {
    return;
  }
  printer << " ";
  printer.printSymbolName(home.allocation);
  if (home.slots != 1) {
    printer << " x " << home.slots;
  }
  if (home.column) {
    printer << " column " << *home.column;
  }
  if (!home.name.empty()) {
    printer << " as " << home.name;
  }
}

static void printRole(AsmPrinter &printer, const Role &role) {
  printer << role.name << " = {";
  llvm::interleaveComma(role.steps, printer);
  printer << "} warps " << role.warps;
  if (role.replicas != 1) {
    printer << " x " << role.replicas;
  }
  printer << " at " << role.firstWarp;
  if (role.registers) {
    printer << " regs " << *role.registers;
  }
  if (role.ctas != RoleCtas::Single) {
    printer << " ctas " << nameOf(role.ctas, roleCtaNames);
  }
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  const Schedule &plan = getPlan();
  /// Whether the clause must be seen although it says what its absence may say.
  auto isStated = [&](Clause clause) { return !plan.isWhole() && !plan.isOpen(clause); };
  printer << "<" << nameOf(plan.direction, directionNames) << ", tile = " << plan.tileRows << " x "
          << plan.tileColumns;
  if (!plan.isOpen(Clause::Stages)) {
    printer << ", stages = " << plan.stages;
  }
  if (!plan.isOpen(Clause::Ctas)) {
    printer << ", ctas = " << plan.ctas;
  }
  if (!plan.isOpen(Clause::Work)) {
    printer << ", work = " << nameOf(plan.work, workNames);
    if (plan.workOrder != WorkOrder::InOrder) {
      printer << "<" << nameOf(plan.workOrder, workOrderNames) << ">";
    }
  }
  printList(printer, "order", plan.order, isStated(Clause::Order), [&](const OrderEntry &entry) {
    printer << entry.step.name;
    if (entry.step.index) {
      printer << "[" << *entry.step.index << "]";
    }
    printer << " at " << entry.stage;
  });
  printList(printer, "homes", plan.homes, isStated(Clause::Homes),
            [&](const Home &home) { printHome(printer, home); });
  printList(printer, "roles", plan.roles, isStated(Clause::Roles),
            [&](const Role &role) { printRole(printer, role); });
  printList(printer, "split_p", plan.splitP, isStated(Clause::SplitP),
            [&](int64_t columns) { printer << columns; });
  if (plan.rescaleLog2Threshold) {
    printer << ", rescale_log2_threshold = ";
    printer.printFloat(APFloat(*plan.rescaleLog2Threshold));
  } else if (isStated(Clause::Rescale)) {
    printer << ", rescale_log2_threshold = none";
  }
  if (plan.exp2) {
    printer << ", exp2 = <degree " << plan.exp2->degree << ", of " << plan.exp2->period
            << " columns the last " << plan.exp2->last << ", chunks " << plan.exp2->firstChunk
            << " to " << plan.exp2->lastChunk << ">";
  } else if (isStated(Clause::Exp2)) {
    printer << ", exp2 = none";
  }
  printList(printer, "grain", plan.grain, isStated(Clause::Grain), [&](const GrainEntry &entry) {
    printer << entry.channel << "." << nameOf(entry.half, halfNames) << " = "
            << nameOf(entry.grain, grainNames);
  });
  printList(printer, "via", plan.via, isStated(Clause::Via), [&](const ViaEntry &entry) {
    printer << entry.channel << "." << nameOf(entry.half, halfNames) << " = named"
            << (entry.perWarp ? " per_warp" : "");
  });
  auto printWord = [&](const std::string &word) { printer << word; };
  printList(printer, "early_acquire", plan.earlyAcquire, isStated(Clause::EarlyAcquire), printWord);
  printList(printer, "stagger", plan.stagger, isStated(Clause::Stagger), printWord);
  printList(printer, "turn", plan.turn, isStated(Clause::Turn), printWord);
  if (plan.reduceColumns) {
    printer << ", reduce_columns = " << *plan.reduceColumns;
  }
  if (plan.reduceDepth) {
    printer << ", reduce_depth = " << *plan.reduceDepth;
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

/// Both k of the second product and the rows of an operand come in sixteens:
/// PTX ISA, tcgen05.mma kind::f16 and wgmma, K = 16.
static constexpr int64_t mmaGranule = 16;

/// F9: far above what any chip has, and low enough that no product of the numbers
/// of a schedule leaves 64 bits.
static LogicalResult verifySizes(EmitError emitError, const Schedule &plan) {
  constexpr int64_t limit = 4096;
  std::optional<int64_t> tooLarge;
  auto look = [&](std::optional<int64_t> number) {
    if (number && *number > limit) {
      tooLarge = number;
    }
  };
  for (int64_t number : {plan.tileRows, plan.tileColumns, plan.stages}) {
    look(number);
  }
  for (const OrderEntry &entry : plan.order) {
    look(entry.stage);
  }
  for (const Home &home : plan.homes) {
    look(home.result);
    look(home.slots);
    look(home.column);
  }
  for (const Role &role : plan.roles) {
    look(role.warps);
    look(role.replicas);
    look(role.firstWarp);
    look(role.registers);
  }
  if (plan.exp2) {
    look(plan.exp2->period);
    look(plan.exp2->lastChunk);
  }
  look(plan.reduceColumns);
  look(plan.reduceDepth);
  if (tooLarge) {
    return emitError() << "expected numbers of a schedule to be at most " << limit << ", but got "
                       << *tooLarge;
  }
  return success();
}

static LogicalResult verifyTile(EmitError emitError, const Schedule &plan) {
  for (auto [what, value] :
       {std::pair<StringRef, int64_t>{"rows", plan.tileRows}, {"columns", plan.tileColumns}}) {
    if (value <= 0 || value % mmaGranule != 0) { // F1
      return emitError() << "expected tile " << what << " to be a positive multiple of "
                         << mmaGranule << ", but got " << value;
    }
  }
  if (plan.stages <= 0) { // F2
    return emitError() << "expected stages to be positive, but got " << plan.stages;
  }
  if (plan.ctas != 1 && plan.ctas != 2) { // F2
    return emitError() << "expected ctas to be 1 or 2, but got " << plan.ctas;
  }
  return success();
}

static LogicalResult verifyOrder(EmitError emitError, const Schedule &plan) {
  for (const auto &[position, entry] : llvm::enumerate(plan.order)) {
    if (entry.stage < 0) {
      return emitError() << "expected the pipeline stage of '" << entry.step.name
                         << "' to be 0 or more, but got " << entry.stage;
    }
    if (entry.step.index && (*entry.step.index < 0 || *entry.step.index >= plan.stages)) { // F3
      return emitError() << "expected the index of '" << entry.step.name
                         << "' to be below stages = " << plan.stages << ", but got "
                         << *entry.step.index;
    }
    if (plan.findStep(entry.step.name, entry.step.index) != &plan.order[position]) { // F3
      return emitError() << "expected each step to stand once in order, but got '"
                         << entry.step.name << "' twice";
    }
  }
  return success();
}

static LogicalResult verifyHomes(EmitError emitError, const Schedule &plan) {
  llvm::StringSet<> names;
  for (const auto &[position, home] : llvm::enumerate(plan.homes)) {
    if (plan.findHome(home.step, home.result) != &plan.homes[position]) { // F4
      return emitError() << "expected each result to have one home, but got two for '" << home.step
                         << "'";
    }
    if (home.slots <= 0) {
      return emitError() << "expected the slots of '" << home.step << "' to be positive, but got "
                         << home.slots;
    }
    if (home.column && (home.space != HomeSpace::Tmem || *home.column < 0)) {
      return emitError() << "expected the column of '" << home.step
                         << "' to be 0 or more and in tmem, but got " << *home.column << " in "
                         << nameOf(home.space, homeNames);
    }
    if (!home.name.empty() && !names.insert(home.name).second) { // F4
      return emitError() << "expected the homes' results to have different names, but got '"
                         << home.name << "' twice";
    }
  }
  return success();
}

static LogicalResult verifyRoles(EmitError emitError, const Schedule &plan) {
  llvm::StringMap<StringRef> roleOfStep;
  llvm::StringSet<> names;
  for (const Role &role : plan.roles) {
    if (!names.insert(role.name).second) { // F5
      return emitError() << "expected roles to have different names, but got '" << role.name
                         << "' twice";
    }
    if (role.warps <= 0 || role.replicas <= 0 || role.firstWarp < 0) {
      return emitError() << "expected role '" << role.name
                         << "' to have a positive number of warps, but got " << role.warps << " x "
                         << role.replicas << " at " << role.firstWarp;
    }
    if (role.registers && *role.registers <= 0) {
      return emitError() << "expected regs of role '" << role.name << "' to be positive, but got "
                         << *role.registers;
    }
    if ((role.ctas == RoleCtas::Single) != (plan.ctas == 1)) { // F2
      return emitError() << "expected role '" << role.name
                         << "' to name its CTAs exactly if ctas is 2, but got ctas = " << plan.ctas;
    }
    for (StringRef step : role.steps) {
      auto [it, inserted] = roleOfStep.try_emplace(step, role.name);
      if (!inserted) { // F4
        return emitError() << "expected step '" << step << "' to run in one role, but got '"
                           << it->second << "' and '" << role.name << "'";
      }
    }
    for (const Role &other : plan.roles) {
      if (&other == &role) {
        break;
      }
      if (role.firstWarp < other.endWarp() && other.firstWarp < role.endWarp()) { // F5
        return emitError() << "expected roles to have disjoint warps, but got '" << other.name
                           << "' in [" << other.firstWarp << ", " << other.endWarp() << ") and '"
                           << role.name << "' in [" << role.firstWarp << ", " << role.endWarp()
                           << ")";
      }
    }
  }
  return success();
}

static LogicalResult verifyNumbers(EmitError emitError, const Schedule &plan) {
  if (!plan.splitP.empty()) { // F6
    for (int64_t columns : plan.splitP) {
      if (columns <= 0 || columns % mmaGranule != 0) {
        return emitError() << "expected parts of split_p to be positive multiples of " << mmaGranule
                           << ", but got " << columns;
      }
      if (columns > plan.tileColumns) {
        return emitError() << "expected parts of split_p to be at most the tile's "
                           << plan.tileColumns << " columns, but got " << columns;
      }
    }
    int64_t sum = 0;
    for (int64_t columns : plan.splitP) {
      sum += columns;
    }
    if (sum != plan.tileColumns) {
      return emitError() << "expected split_p to add up to the tile's " << plan.tileColumns
                         << " columns, but got " << sum;
    }
  }
  if (plan.rescaleLog2Threshold &&
      (!std::isfinite(*plan.rescaleLog2Threshold) || *plan.rescaleLog2Threshold < 0)) { // F7
    return emitError() << "expected rescale_log2_threshold to be finite and 0 or more, but got "
                       << *plan.rescaleLog2Threshold;
  }
  if (const std::optional<Exp2Share> &share = plan.exp2) { // F8
    // The degrees with published coefficients: include/fa4/Numerics/Exp2Table.inc.
    if (share->degree < 3 || share->degree > 5) {
      return emitError() << "expected the degree of exp2 to be 3 to 5, but got " << share->degree;
    }
    if (share->last <= 0 || share->last > share->period) {
      return emitError() << "expected exp2 to take 1 to " << share->period << " of "
                         << share->period << " columns, but got " << share->last;
    }
    if (share->firstChunk < 0 || share->lastChunk < share->firstChunk) {
      return emitError() << "expected the chunks of exp2 to ascend from 0, but got "
                         << share->firstChunk << " to " << share->lastChunk;
    }
  }
  for (auto [what, value] :
       {std::pair<StringRef, std::optional<int64_t>>{"reduce_columns", plan.reduceColumns},
        {"reduce_depth", plan.reduceDepth}}) {
    if (value && *value <= 0) {
      return emitError() << "expected " << what << " to be positive, but got " << *value;
    }
  }
  return success();
}

LogicalResult ScheduleAttr::verify(EmitError emitError, Schedule plan) {
  using Check = LogicalResult (*)(EmitError, const Schedule &);
  for (Check check :
       {verifySizes, verifyTile, verifyOrder, verifyHomes, verifyRoles, verifyNumbers}) {
    if (failed(check(emitError, plan))) {
      return failure();
    }
  }
  return success();
}
