//===- SplitRange.cpp - tile-split-range --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts a role's loop where a condition inside changes its truth value, so that
// each part knows it. A part's range is kept as bounds in linear form; the facts
// of the work say which parts have a trip, and which tests a part decides.
//
//===----------------------------------------------------------------------===//

#include "RoleScalars.h"

#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILESPLITRANGE
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

namespace {

/// What is known of an induction value: it is at least each of `lowers`, and
/// below each of `uppers`.
struct TripRange {
  SmallVector<LinearForm> lowers, uppers;
};

/// `induction predicate bound`, the bound being the same in all trips.
struct Test {
  arith::CmpIPredicate predicate;
  LinearForm bound;
};

class RangeSplitter {
public:
  RangeSplitter(RewriterBase &rewriter, RoleOp role, const WorkFacts &facts)
      : rewriter(rewriter), role(role), facts(facts) {}

  /// The number of cuts made.
  unsigned run();

private:
  using LoopRange = std::pair<scf::ForOp, TripRange>;

  std::optional<LinearForm> findCut(scf::ForOp loop);
  std::optional<LinearForm> getCut(arith::CmpIOp test, scf::ForOp loop);
  std::optional<Test> getTest(arith::CmpIOp test, scf::ForOp loop);
  void cut(scf::ForOp loop, const TripRange &range, const LinearForm &place);
  scf::ForOp emitPart(scf::ForOp loop, Value lower, Value upper, ValueRange inits);
  void finishPart(scf::ForOp part, const TripRange &range);
  void inlineOnlyTrip(scf::ForOp loop);
  void eraseEndsOfNoToken(Block::iterator begin, Block::iterator end);

  std::optional<bool> decide(arith::CmpIOp test, Value induction, const TripRange &range);
  bool isNotNegative(const LinearForm &form, Value induction, const TripRange &range);
  void fold(Region &region, Value induction, const TripRange &range);
  void fold(scf::ForOp loop, const TripRange &range) {
    fold(loop.getRegion(), loop.getInductionVar(), range);
  }
  void foldTruth(Operation *op);
  void foldBranch(scf::IfOp branch);
  void foldProduct(AsyncMmaOp product);
  bool isProvenOrder(const LinearForm &lower, const LinearForm &upper) {
    return facts.impliesNotNegative(upper.minus(lower));
  }
  void addLoops(Block::iterator begin, Block::iterator end);
  Value getTruth(bool value) {
    return getRoleConstant(rewriter, role, rewriter.getI1Type(), value);
  }

  RewriterBase &rewriter;
  RoleOp role;
  const WorkFacts &facts;
  SmallVector<LoopRange> pending;
};

} // namespace

static TripRange getRange(scf::ForOp loop) {
  return {{LinearForm::get(loop.getLowerBound())}, {LinearForm::get(loop.getUpperBound())}};
}

//===----------------------------------------------------------------------===//
// Tests of the induction variable
//===----------------------------------------------------------------------===//

/// The comparisons that decide `condition`.
static void collectTests(Value condition, SmallVectorImpl<arith::CmpIOp> &tests) {
  Operation *op = condition.getDefiningOp();
  if (auto test = dyn_cast_or_null<arith::CmpIOp>(op)) {
    tests.push_back(test);
  } else if (isa_and_present<arith::OrIOp, arith::AndIOp, arith::XOrIOp>(op)) {
    collectTests(op->getOperand(0), tests);
    collectTests(op->getOperand(1), tests);
  }
}

/// `b swapped a` for `a predicate b`; none for unsigned orders, which trip counts
/// do not use.
static std::optional<arith::CmpIPredicate> swapSides(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
  case arith::CmpIPredicate::ne:
    return predicate;
  case arith::CmpIPredicate::slt:
    return arith::CmpIPredicate::sgt;
  case arith::CmpIPredicate::sle:
    return arith::CmpIPredicate::sge;
  case arith::CmpIPredicate::sgt:
    return arith::CmpIPredicate::slt;
  case arith::CmpIPredicate::sge:
    return arith::CmpIPredicate::sle;
  default:
    return std::nullopt;
  }
}

std::optional<Test> RangeSplitter::getTest(arith::CmpIOp test, scf::ForOp loop) {
  Value induction = loop.getInductionVar();
  LinearForm form = LinearForm::get(test.getLhs()).minus(LinearForm::get(test.getRhs()));
  int64_t coefficient = form.getCoefficient(induction);
  if (std::abs(coefficient) != 1) {
    return std::nullopt;
  }
  LinearForm rest = form.replace(induction, LinearForm(0));
  if (!llvm::all_of(rest.getTerms(), [&](const LinearForm::Term &term) {
        return loop.isDefinedOutsideOfLoop(term.first);
      })) {
    return std::nullopt;
  }
  if (coefficient == 1) {
    return Test{test.getPredicate(), rest.negated()};
  }
  std::optional<arith::CmpIPredicate> swapped = swapSides(test.getPredicate());
  return swapped ? std::optional<Test>({*swapped, rest}) : std::nullopt;
}

std::optional<LinearForm> RangeSplitter::getCut(arith::CmpIOp op, scf::ForOp loop) {
  std::optional<Test> test = getTest(op, loop);
  if (!test) {
    return std::nullopt;
  }
  switch (test->predicate) {
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::sge:
    return test->bound;
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::sgt:
    return test->bound.plus(1);
  case arith::CmpIPredicate::eq:
  case arith::CmpIPredicate::ne:
    if (test->bound == LinearForm::get(loop.getLowerBound())) {
      return test->bound.plus(1); // the first trip
    }
    if (test->bound.plus(1) == LinearForm::get(loop.getUpperBound())) {
      return test->bound; // the last
    }
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

/// Whether the first trip is to end a token of no slot.
static bool startsWithoutToken(scf::ForOp loop) {
  return llvm::any_of(loop.getInits(), [](Value init) { return init.getDefiningOp<NoTokenOp>(); });
}

std::optional<LinearForm> RangeSplitter::findCut(scf::ForOp loop) {
  LinearForm second = LinearForm::get(loop.getLowerBound()).plus(1);
  if (startsWithoutToken(loop) && isProvenOrder(second, LinearForm::get(loop.getUpperBound()))) {
    return second;
  }
  std::optional<LinearForm> place;
  loop.getBody()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<MapOp>(op)) {
      return WalkResult::skip(); // one thread's business: no trip is uniform there
    }
    auto branch = dyn_cast<scf::IfOp>(op);
    if (!branch) {
      return WalkResult::advance();
    }
    SmallVector<arith::CmpIOp> tests;
    collectTests(branch.getCondition(), tests);
    for (arith::CmpIOp test : tests) {
      place = getCut(test, loop);
      if (place) {
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return place;
}

//===----------------------------------------------------------------------===//
// What a range decides
//===----------------------------------------------------------------------===//

/// Whether `form >= 0` in all trips of the range.
bool RangeSplitter::isNotNegative(const LinearForm &form, Value induction, const TripRange &range) {
  switch (form.getCoefficient(induction)) {
  case 0:
    return facts.impliesNotNegative(form);
  case 1: // least in the first trip
    return llvm::any_of(range.lowers, [&](const LinearForm &lower) {
      return facts.impliesNotNegative(form.replace(induction, lower));
    });
  case -1: // least in the last
    return llvm::any_of(range.uppers, [&](const LinearForm &upper) {
      return facts.impliesNotNegative(form.replace(induction, upper.plus(-1)));
    });
  default:
    return false;
  }
}

std::optional<bool> RangeSplitter::decide(arith::CmpIOp test, Value induction,
                                          const TripRange &range) {
  LinearForm form = LinearForm::get(test.getLhs()).minus(LinearForm::get(test.getRhs()));
  bool notBelow = isNotNegative(form, induction, range);
  bool notAbove = isNotNegative(form.negated(), induction, range);
  bool above = isNotNegative(form.plus(-1), induction, range);
  bool below = isNotNegative(form.negated().plus(-1), induction, range);
  auto choose = [](bool holds, bool fails) -> std::optional<bool> {
    return holds ? std::optional(true) : fails ? std::optional(false) : std::nullopt;
  };
  switch (test.getPredicate()) {
  case arith::CmpIPredicate::slt:
    return choose(below, notBelow);
  case arith::CmpIPredicate::sle:
    return choose(notAbove, above);
  case arith::CmpIPredicate::sgt:
    return choose(above, notAbove);
  case arith::CmpIPredicate::sge:
    return choose(notBelow, below);
  case arith::CmpIPredicate::eq:
    return choose(notBelow && notAbove, below || above);
  case arith::CmpIPredicate::ne:
    return choose(below || above, notBelow && notAbove);
  default:
    return std::nullopt;
  }
}

/// The truth value that `value` is known to be.
static std::optional<bool> getKnownTruth(Value value) {
  std::optional<int64_t> number = getConstantIntValue(value);
  return number ? std::optional(*number != 0) : std::nullopt;
}

void RangeSplitter::foldTruth(Operation *op) {
  for (unsigned side : {0, 1}) {
    std::optional<bool> known = getKnownTruth(op->getOperand(side));
    if (!known) {
      continue;
    }
    Value other = op->getOperand(1 - side);
    if (isa<arith::XOrIOp>(op)) {
      std::optional<bool> otherKnown = getKnownTruth(other);
      if (!*known) {
        rewriter.replaceOp(op, other);
        return;
      }
      if (otherKnown) {
        rewriter.replaceOp(op, getTruth(!*otherKnown));
        return;
      }
      continue;
    }
    bool absorbs = isa<arith::OrIOp>(op) == *known;
    rewriter.replaceOp(op, absorbs ? getTruth(*known) : other);
    return;
  }
}

void RangeSplitter::foldBranch(scf::IfOp branch) {
  std::optional<bool> known = getKnownTruth(branch.getCondition());
  if (!known) {
    return;
  }
  Block *taken = *known ? branch.thenBlock() : branch.elseBlock();
  if (!taken) {
    rewriter.eraseOp(branch);
    return;
  }
  auto yield = cast<scf::YieldOp>(taken->getTerminator());
  SmallVector<Value> results(yield.getOperands());
  rewriter.eraseOp(yield);
  rewriter.inlineBlockBefore(taken, branch);
  rewriter.replaceOp(branch, results);
}

void RangeSplitter::foldProduct(AsyncMmaOp product) {
  if (!product.getUnless()) {
    return;
  }
  if (std::optional<bool> known = getKnownTruth(product.getUnless())) {
    rewriter.modifyOpInPlace(product, [&] {
      product.getUnlessMutable().clear();
      product.setOverwrite(*known);
    });
  }
}

void RangeSplitter::fold(Region &region, Value induction, const TripRange &range) {
  region.walk([&](arith::CmpIOp test) {
    if (std::optional<bool> known = decide(test, induction, range)) {
      rewriter.replaceOp(test, getTruth(*known));
    }
  });
  region.walk([&](Operation *op) {
    if (op->getParentOfType<MapOp>()) {
      return;
    }
    if (isa<arith::OrIOp, arith::AndIOp, arith::XOrIOp>(op) &&
        op->getResult(0).getType().isInteger(1)) {
      foldTruth(op);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      foldBranch(branch);
    } else if (auto product = dyn_cast<AsyncMmaOp>(op)) {
      foldProduct(product);
    }
  });
}

//===----------------------------------------------------------------------===//
// Cutting
//===----------------------------------------------------------------------===//

scf::ForOp RangeSplitter::emitPart(scf::ForOp loop, Value lower, Value upper, ValueRange inits) {
  auto part = scf::ForOp::create(rewriter, loop.getLoc(), lower, upper, loop.getStep(), inits);
  part->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  if (inits.empty()) {
    rewriter.eraseOp(part.getBody()->getTerminator());
  }
  IRMapping mapping;
  mapping.map(loop.getBody()->getArguments(), part.getBody()->getArguments());
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToEnd(part.getBody());
  for (Operation &op : *loop.getBody()) {
    rewriter.clone(op, mapping);
  }
  return part;
}

/// To release no slot is nothing.
void RangeSplitter::eraseEndsOfNoToken(Block::iterator begin, Block::iterator end) {
  for (Operation &op : llvm::make_early_inc_range(llvm::make_range(begin, end))) {
    auto release = dyn_cast<ReleaseOp>(op);
    if (release && release.getToken().getDefiningOp<NoTokenOp>()) {
      rewriter.eraseOp(release);
    }
  }
}

/// Puts the only trip of `loop` in its place.
void RangeSplitter::inlineOnlyTrip(scf::ForOp loop) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  SmallVector<Value> results(yield.getOperands()), arguments{loop.getLowerBound()};
  llvm::append_range(arguments, loop.getInits());
  for (Value &result : results) {
    if (auto argument = dyn_cast<BlockArgument>(result);
        argument && argument.getOwner() == loop.getBody()) {
      result = arguments[argument.getArgNumber()];
    }
  }
  rewriter.eraseOp(yield);
  Operation *before = loop->getPrevNode();
  Block *block = loop->getBlock();
  rewriter.inlineBlockBefore(loop.getBody(), loop, arguments);
  Block::iterator begin = before ? std::next(before->getIterator()) : block->begin();
  eraseEndsOfNoToken(begin, loop->getIterator());
  begin = before ? std::next(before->getIterator()) : block->begin();
  addLoops(begin, loop->getIterator());
  rewriter.replaceOp(loop, results);
}

void RangeSplitter::finishPart(scf::ForOp part, const TripRange &range) {
  LinearForm lower = LinearForm::get(part.getLowerBound());
  LinearForm upper = LinearForm::get(part.getUpperBound());
  if (isProvenOrder(upper, lower)) {
    rewriter.replaceOp(part, part.getInits());
    return;
  }
  if (upper == lower.plus(1)) {
    fold(part, range);
    inlineOnlyTrip(part);
    return;
  }
  pending.push_back({part, range});
}

void RangeSplitter::cut(scf::ForOp loop, const TripRange &range, const LinearForm &place) {
  rewriter.setInsertionPoint(loop);
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  Value middle = materialize(rewriter, role, loc, lower.getType(), place);
  Value end = middle, start = middle;
  if (!isProvenOrder(place, LinearForm::get(upper))) {
    end = arith::MinSIOp::create(rewriter, loc, middle, upper);
  }
  if (!isProvenOrder(LinearForm::get(lower), place)) {
    start = arith::MaxSIOp::create(rewriter, loc, middle, lower);
  }
  TripRange firstRange = range, secondRange = range;
  firstRange.uppers.push_back(place);
  secondRange.lowers.push_back(place);
  scf::ForOp first = emitPart(loop, lower, end, loop.getInits());
  scf::ForOp second = emitPart(loop, start, upper, first.getResults());
  rewriter.replaceOp(loop, second.getResults());
  finishPart(first, firstRange);
  finishPart(second, secondRange);
}

void RangeSplitter::addLoops(Block::iterator begin, Block::iterator end) {
  for (Operation &op : llvm::make_range(begin, end)) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      pending.push_back({loop, getRange(loop)});
      continue;
    }
    for (Region &region : op.getRegions()) {
      for (Block &block : region) {
        addLoops(block.begin(), block.end());
      }
    }
  }
}

unsigned RangeSplitter::run() {
  unsigned cuts = 0;
  Block &body = role.getBody().front();
  // What the facts of the work decide in all trips, and outside of loops.
  fold(role.getBody(), Value(), TripRange());
  addLoops(body.begin(), body.end());
  while (!pending.empty()) {
    auto [loop, range] = pending.pop_back_val();
    fold(loop, range);
    // Trips are counted by ones, or there is no place between two of them.
    std::optional<LinearForm> place;
    if (getConstantIntValue(loop.getStep()) == 1 && !loop.getUnsignedCmp()) {
      place = findCut(loop);
    }
    if (place) {
      cut(loop, range, *place);
      ++cuts;
    } else {
      addLoops(loop.getBody()->begin(), loop.getBody()->end());
    }
  }
  eraseDeadOps(rewriter, role.getBody());
  return cuts;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The induction variable that `value` is computed from, if any.
static BlockArgument findInduction(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && loop.getInductionVar() == argument ? argument : BlockArgument();
  }
  for (Value operand : value.getDefiningOp()->getOperands()) {
    if (BlockArgument induction = findInduction(operand)) {
      return induction;
    }
  }
  return {};
}

/// Which trips use a channel must be known: a proof cannot count the others.
static LogicalResult verifyChannelConditions(RoleOp role) {
  WalkResult result = role.walk([](scf::IfOp branch) {
    BlockArgument induction = findInduction(branch.getCondition());
    if (!induction || !holdsChannelOps(branch)) {
      return WalkResult::advance();
    }
    InFlightDiagnostic diag =
        branch.emitError("expected a condition on channel ops to compare the trip with a number "
                         "of the tile, or to ask for the first or last trip, but got '")
        << branch.getCondition() << "'";
    diag.attachNote(induction.getLoc()) << "the trip is counted here";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// A token of no slot has an end that is not there only if the trip is.
static LogicalResult verifyNoTokenLeft(RoleOp role) {
  WalkResult result = role.walk([](NoTokenOp none) {
    none.emitError("expected a loop that carries a token of no slot into its first trip to have "
                   "a first trip by the facts of the work, but got one that may have none");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct TileSplitRange : public fa4::tile::impl::TileSplitRangeBase<TileSplitRange> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    WorkFacts facts(kernel.getWork());
    IRRewriter rewriter(&getContext());
    for (RoleOp role : kernel.getBody().getOps<RoleOp>()) {
      numCuts += RangeSplitter(rewriter, role, facts).run();
      if (failed(verifyChannelConditions(role)) || failed(verifyNoTokenLeft(role))) {
        return signalPassFailure();
      }
    }
  }
};
} // namespace
