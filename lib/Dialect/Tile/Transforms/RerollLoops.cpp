//===- RerollLoops.cpp - rotated loops become plain ones --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rotation moved the last steps of an iteration into the next trip. In a role that
// has only steps which moved together the same ops stand before, in and after the
// loop, and one more trip of the loop, or one less, says it all:
//   P Y(b - 1), for i in [b, n) { X(i) Y(i) }, X(n) E
//   = P, for j in [b - 1, n) { Y(j) X(j + 1) }, E
// Scalars do not count as ops here: they are compared where they are used.
//
//===----------------------------------------------------------------------===//

#include "PartitionRoles.h"
#include "RoleScalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <functional>

using namespace mlir;
using namespace fa4::tile;

namespace {

/// Compares ops of a trip with ops outside of the loop that do the same in another.
class TripMatcher {
public:
  /// `trip`: the number of the other trip.
  TripMatcher(scf::ForOp loop, LinearForm trip) : loop(loop), trip(std::move(trip)) {}

  void map(Value inside, Value outside) { counterparts[inside] = outside; }
  Value lookup(Value inside) const { return counterparts.lookup(inside); }
  bool match(ArrayRef<Operation *> inside, ArrayRef<Operation *> outside);

private:
  bool matchOp(Operation *inside, Operation *outside);
  bool matchRegion(Region &inside, Region &outside);
  bool matchValue(Value inside, Value outside);
  std::optional<LinearForm> getForm(Value inside);

  scf::ForOp loop;
  LinearForm trip;
  DenseMap<Value, Value> counterparts;
};

class LoopReroller {
public:
  LoopReroller(RewriterBase &rewriter, RoleOp role, scf::ForOp loop)
      : rewriter(rewriter), role(role), loop(loop) {}

  bool run();

private:
  void collect();
  bool matchCut(size_t cut);
  bool keepsNothingElse(size_t cut);
  Value getYielded(Value carried) {
    return loop.getYieldedValues()[cast<BlockArgument>(carried).getArgNumber() - 1];
  }
  bool isTail(Value value, size_t cut);
  void rewrite(size_t cut);
  void simplifyScalars(Value shifted, Value induction);

  RewriterBase &rewriter;
  RoleOp role;
  scf::ForOp loop;
  SmallVector<Operation *> before, inside, after;
  std::optional<TripMatcher> head, tail;
};

} // namespace

//===----------------------------------------------------------------------===//
// TripMatcher
//===----------------------------------------------------------------------===//

/// The form that `inside` has in the other trip; none if a part of it is not known
/// there.
std::optional<LinearForm> TripMatcher::getForm(Value inside) {
  LinearForm form = LinearForm::get(inside), result(form.getConstant());
  for (auto [value, coefficient] : form.getTerms()) {
    if (value == loop.getInductionVar()) {
      result.add(trip, coefficient);
    } else if (Value known = counterparts.lookup(value)) {
      result.add(LinearForm::get(known), coefficient);
    } else if (loop.isDefinedOutsideOfLoop(value)) {
      result.add(LinearForm::get(value), coefficient);
    } else {
      return std::nullopt;
    }
  }
  return result;
}

bool TripMatcher::matchValue(Value inside, Value outside) {
  if (Value known = counterparts.lookup(inside)) {
    return known == outside;
  }
  if (loop.isDefinedOutsideOfLoop(inside) && inside == outside) {
    return true;
  }
  if (inside.getType() != outside.getType()) {
    return false;
  }
  if (inside.getType().isIntOrIndex()) {
    if (std::optional<LinearForm> form = getForm(inside)) {
      return *form == LinearForm::get(outside);
    }
  }
  Operation *op = inside.getDefiningOp(), *other = outside.getDefiningOp();
  return op && other && isScalarArithmetic(op) && matchOp(op, other);
}

bool TripMatcher::matchRegion(Region &inside, Region &outside) {
  if (inside.empty() || outside.empty()) {
    return inside.empty() && outside.empty();
  }
  Block &block = inside.front(), &other = outside.front();
  if (block.getArgumentTypes() != other.getArgumentTypes()) {
    return false;
  }
  for (auto [argument, counterpart] : llvm::zip(block.getArguments(), other.getArguments())) {
    map(argument, counterpart);
  }
  auto collect = [](Block &from) {
    SmallVector<Operation *> ops;
    for (Operation &op : from) {
      if (!isScalarArithmetic(&op)) {
        ops.push_back(&op);
      }
    }
    return ops;
  };
  return match(collect(block), collect(other));
}

bool TripMatcher::matchOp(Operation *inside, Operation *outside) {
  if (inside->getName() != outside->getName() ||
      inside->getAttrDictionary() != outside->getAttrDictionary() ||
      inside->getResultTypes() != outside->getResultTypes() ||
      inside->getNumOperands() != outside->getNumOperands()) {
    return false;
  }
  for (auto [operand, other] : llvm::zip(inside->getOperands(), outside->getOperands())) {
    if (!matchValue(operand, other)) {
      return false;
    }
  }
  for (auto [region, other] : llvm::zip(inside->getRegions(), outside->getRegions())) {
    if (!matchRegion(region, other)) {
      return false;
    }
  }
  for (auto [result, other] : llvm::zip(inside->getResults(), outside->getResults())) {
    map(result, other);
  }
  return true;
}

bool TripMatcher::match(ArrayRef<Operation *> inside, ArrayRef<Operation *> outside) {
  if (inside.size() != outside.size()) {
    return false;
  }
  for (auto [op, other] : llvm::zip(inside, outside)) {
    if (!matchOp(op, other)) {
      return false;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// LoopReroller
//===----------------------------------------------------------------------===//

void LoopReroller::collect() {
  SmallVector<Operation *> *into = &before;
  for (Operation &op : *loop->getBlock()) {
    if (&op == loop) {
      into = &after;
    } else if (!isScalarArithmetic(&op) && !op.hasTrait<OpTrait::IsTerminator>()) {
      into->push_back(&op);
    }
  }
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (!isScalarArithmetic(&op)) {
      inside.push_back(&op);
    }
  }
}

/// Whether an op from `cut` on makes `value`.
bool LoopReroller::isTail(Value value, size_t cut) {
  return llvm::is_contained(ArrayRef(inside).drop_front(cut), value.getDefiningOp());
}

/// Whether the first `cut` ops of a trip stand behind the loop, and the others
/// before it.
bool LoopReroller::matchCut(size_t cut) {
  size_t rest = inside.size() - cut;
  if (after.size() < cut || before.size() < rest) {
    return false;
  }
  head.emplace(loop, LinearForm::get(loop.getUpperBound()));
  for (auto [argument, result] : llvm::zip(loop.getRegionIterArgs(), loop.getResults())) {
    head->map(argument, result);
  }
  tail.emplace(loop, LinearForm::get(loop.getLowerBound()).plus(-1));
  ArrayRef<Operation *> body = inside;
  if (!head->match(body.take_front(cut), ArrayRef(after).take_front(cut)) ||
      !tail->match(body.drop_front(cut), ArrayRef(before).take_back(rest))) {
    return false;
  }
  return keepsNothingElse(cut);
}

/// Whether the values that other ops use are those that the new loop has.
bool LoopReroller::keepsNothingElse(size_t cut) {
  auto isRemoved = [&](Operation *user, ArrayRef<Operation *> removed) {
    return llvm::any_of(removed, [&](Operation *op) { return op->isAncestor(user); });
  };
  ArrayRef<Operation *> gone = ArrayRef(after).take_front(cut);
  ArrayRef<Operation *> early = ArrayRef(before).take_back(inside.size() - cut);
  for (auto [argument, init, result] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInits(), loop.getResults())) {
    Value yielded = getYielded(argument);
    if (isTail(yielded, cut) && tail->lookup(yielded) != init) {
      return false;
    }
    // What was carried into the last trip is not to be had any more.
    if (yielded != argument &&
        !llvm::all_of(result.getUsers(), [&](Operation *user) { return isRemoved(user, gone); })) {
      return false;
    }
  }
  for (Operation *op : ArrayRef(inside).take_front(cut)) {
    for (Value value : op->getResults()) {
      Value last = head->lookup(value);
      bool isUsed =
          !llvm::all_of(last.getUsers(), [&](Operation *user) { return isRemoved(user, gone); });
      if (isUsed && !llvm::is_contained(loop.getYieldedValues(), value)) {
        return false;
      }
    }
  }
  for (Operation *op : ArrayRef(inside).drop_front(cut)) {
    for (Value value : op->getResults()) {
      Value first = tail->lookup(value);
      if (!llvm::all_of(first.getUsers(),
                        [&](Operation *user) { return user == loop || isRemoved(user, early); })) {
        return false;
      }
    }
  }
  return true;
}

/// Writes what was computed from the number of the next trip, `shifted`, with the
/// number of this one.
void LoopReroller::simplifyScalars(Value shifted, Value induction) {
  std::function<bool(Value)> sumsShifted = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return value == shifted ||
           (isa_and_present<arith::AddIOp, arith::SubIOp>(op) &&
            llvm::any_of(op->getOperands(), [&](Value operand) { return sumsShifted(operand); }));
  };
  SmallVector<Operation *> users;
  role.walk([&](Operation *op) {
    if (isa<arith::AddIOp, arith::SubIOp, arith::CmpIOp>(op) && op != shifted.getDefiningOp() &&
        llvm::any_of(op->getOperands(), sumsShifted)) {
      users.push_back(op);
    }
  });
  for (Operation *op : users) {
    rewriter.setInsertionPoint(op);
    Type type = induction.getType();
    auto test = dyn_cast<arith::CmpIOp>(op);
    if (!test) {
      rewriter.replaceOp(
          op, materialize(rewriter, role, op->getLoc(), type, LinearForm::get(op->getResult(0))));
      continue;
    }
    bool isEquality = test.getPredicate() == arith::CmpIPredicate::eq ||
                      test.getPredicate() == arith::CmpIPredicate::ne;
    LinearForm form = LinearForm::get(test.getLhs()).minus(LinearForm::get(test.getRhs()));
    LinearForm rest = form.replace(induction, LinearForm(0));
    if (isEquality && form.getCoefficient(induction) == 1) {
      Value bound = materialize(rewriter, role, op->getLoc(), type, rest.negated());
      rewriter.modifyOpInPlace(test, [&] { test->setOperands({induction, bound}); });
    }
  }
}

void LoopReroller::rewrite(size_t cut) {
  Location loc = loop.getLoc();
  Type type = loop.getInductionVar().getType();
  rewriter.setInsertionPoint(loop);
  Value lower =
      materialize(rewriter, role, loc, type, LinearForm::get(loop.getLowerBound()).plus(-1));
  SmallVector<BlockArgument> carried =
      llvm::filter_to_vector(loop.getRegionIterArgs(), [&](BlockArgument argument) {
        return !isTail(getYielded(argument), cut);
      });
  auto getNumber = [](BlockArgument argument) { return argument.getArgNumber() - 1; };
  SmallVector<Value> inits = llvm::map_to_vector(
      carried, [&](BlockArgument argument) { return loop.getInits()[getNumber(argument)]; });
  auto plain =
      scf::ForOp::create(rewriter, loc, lower, loop.getUpperBound(), loop.getStep(), inits);
  if (inits.empty()) {
    rewriter.eraseOp(plain.getBody()->getTerminator());
  }
  rewriter.setInsertionPointToEnd(plain.getBody());
  Value induction = plain.getInductionVar();
  auto clone = [&](IRMapping &mapping, bool wantsTail) {
    for (Operation &op : loop.getBody()->without_terminator()) {
      bool isWanted = isScalarArithmetic(&op)
                          ? llvm::all_of(op.getOperands(),
                                         [&](Value operand) {
                                           return loop.isDefinedOutsideOfLoop(operand) ||
                                                  mapping.contains(operand);
                                         })
                          : llvm::is_contained(ArrayRef(inside).drop_front(cut), &op) == wantsTail;
      if (isWanted) {
        rewriter.clone(op, mapping);
      }
    }
  };
  IRMapping tailMapping, headMapping;
  tailMapping.map(loop.getInductionVar(), induction);
  clone(tailMapping, /*wantsTail=*/true);
  Value shifted =
      arith::AddIOp::create(rewriter, loc, induction, getRoleConstant(rewriter, role, type, 1));
  headMapping.map(loop.getInductionVar(), shifted);
  for (BlockArgument argument : loop.getRegionIterArgs()) {
    Value yielded = getYielded(argument);
    headMapping.map(argument, isTail(yielded, cut)
                                  ? tailMapping.lookup(yielded)
                                  : plain.getRegionIterArg(static_cast<unsigned>(
                                        llvm::find(carried, argument) - carried.begin())));
  }
  clone(headMapping, /*wantsTail=*/false);
  scf::YieldOp::create(rewriter, loc, llvm::map_to_vector(carried, [&](BlockArgument argument) {
                         return headMapping.lookupOrDefault(getYielded(argument));
                       }));
  for (auto [argument, result] : llvm::zip(carried, plain.getResults())) {
    Value yielded = getYielded(argument);
    Value last =
        yielded == argument ? Value(loop.getResult(getNumber(argument))) : head->lookup(yielded);
    if (last) {
      rewriter.replaceAllUsesWith(last, result);
    }
  }
  for (Operation *op : llvm::reverse(ArrayRef(after).take_front(cut))) {
    rewriter.eraseOp(op);
  }
  rewriter.eraseOp(loop);
  for (Operation *op : llvm::reverse(ArrayRef(before).take_back(inside.size() - cut))) {
    rewriter.eraseOp(op);
  }
  simplifyScalars(shifted, induction);
}

bool LoopReroller::run() {
  collect();
  if (inside.empty()) {
    return false;
  }
  for (size_t cut = inside.size() + 1; cut-- > 0;) {
    if (matchCut(cut)) {
      rewrite(cut);
      return true;
    }
  }
  return false;
}

unsigned fa4::tile::rerollLoops(RewriterBase &rewriter, RoleOp role, const WorkFacts &facts) {
  SmallVector<scf::ForOp> loops;
  role.walk([&](scf::ForOp loop) {
    bool counts = getConstantIntValue(loop.getStep()) == 1 && !loop.getUnsignedCmp();
    LinearForm trips =
        LinearForm::get(loop.getUpperBound()).minus(LinearForm::get(loop.getLowerBound()));
    if (counts && facts.impliesNotNegative(trips)) {
      loops.push_back(loop);
    }
  });
  unsigned rerolled = 0;
  for (scf::ForOp loop : loops) {
    rerolled += LoopReroller(rewriter, role, loop).run();
  }
  eraseDeadOps(rewriter, role.getBody());
  return rerolled;
}
