//===- MergeReplicas.cpp - one text for equal replicas ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The replicas are read side by side. They may differ in the elements of their
// channels, which become the replica's number, and in scalars, which become a sum
// with it where the work says so, and a selection by it elsewhere.
//
//===----------------------------------------------------------------------===//

#include "PartitionRoles.h"
#include "RoleScalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa4::tile;

namespace {

class ReplicaMerger {
public:
  ReplicaMerger(RewriterBase &rewriter, ArrayRef<RoleOp> replicas, WorkOp work)
      : rewriter(rewriter), replicas(replicas), role(replicas.front()), work(work),
        toFirst(replicas.size()) {}

  LogicalResult run();

private:
  /// An operand of the first replica that others have another value for.
  struct Difference {
    OpOperand *operand;
    SmallVector<Value> values;
  };

  LogicalResult compareBlocks(MutableArrayRef<Block *> blocks);
  LogicalResult compareOps(ArrayRef<Operation *> ops);
  LogicalResult refuse(ArrayRef<Operation *> ops, size_t other);
  LogicalResult refuseLength(size_t other);
  void resolve(const Difference &difference);
  void takeElements();
  std::optional<int64_t> getStep(ArrayRef<Value> values);

  RewriterBase &rewriter;
  ArrayRef<RoleOp> replicas;
  RoleOp role;
  WorkOp work;
  /// Per replica: its values as the first replica calls them.
  SmallVector<DenseMap<Value, Value>> toFirst;
  SmallVector<Difference> differences;
};

} // namespace

LogicalResult ReplicaMerger::refuse(ArrayRef<Operation *> ops, size_t other) {
  InFlightDiagnostic diag = ops.front()->emitError("expected the replicas of role '")
                            << role.getSymName() << "' to do the same, but got '"
                            << ops.front()->getName() << "' in replica 0 and '"
                            << ops[other]->getName() << "' in replica " << other
                            << "; give their steps to roles of their own";
  diag.attachNote(ops[other]->getLoc()) << "replica " << other << " differs here";
  return diag;
}

/// The attributes, without the element, which may differ.
static DictionaryAttr getComparedAttrs(Operation *op) {
  NamedAttrList attributes(op->getAttrDictionary());
  if (isa<AcquireOp, WaitOp, SettleOp>(op)) {
    attributes.erase("static_element");
  }
  return attributes.getDictionary(op->getContext());
}

/// The end of its channel at which an op takes an element; null for other ops.
static EndAttr getEnd(Operation *op, WorkOp work) {
  auto role = op->getParentOfType<RoleOp>();
  auto find = [&](auto taker, bool producer) {
    auto channel = SymbolTable::lookupNearestSymbolFrom<ChannelOp>(work, taker.getChannelAttr());
    return channel.findEnd(producer, role.getSymName());
  };
  if (auto acquire = dyn_cast<AcquireOp>(op)) {
    return find(acquire, /*producer=*/true);
  }
  if (auto wait = dyn_cast<WaitOp>(op)) {
    return find(wait, /*producer=*/false);
  }
  auto settle = dyn_cast<SettleOp>(op);
  return settle ? find(settle, /*producer=*/true) : EndAttr();
}

static IntegerAttr getElement(Operation *op) {
  return op->getAttrOfType<IntegerAttr>("static_element");
}

/// Whether `op` takes the element that the tie gives to replica `replica`, or, at an
/// end without a tie, the one that `first` takes.
static bool takesItsElement(Operation *op, Operation *first, size_t replica, size_t replicas,
                            WorkOp work) {
  EndAttr end = getEnd(op, work);
  if (!end || end.getTie() == Tie::All) {
    return getElement(op) == getElement(first);
  }
  size_t wanted = end.getTie() == Tie::Each ? replica : (replica + 1) % replicas;
  return getElement(op) && getElement(op).getInt() == static_cast<int64_t>(wanted);
}

LogicalResult ReplicaMerger::compareOps(ArrayRef<Operation *> ops) {
  Operation *first = ops.front();
  for (size_t other = 0; other < ops.size(); ++other) {
    Operation *op = ops[other];
    if (!takesItsElement(op, first, other, ops.size(), work)) {
      return op->emitError("expected replica ")
             << other << " of role '" << role.getSymName()
             << "' to take the element of its number, as its end is tied, but got another";
    }
    if (op->getName() != first->getName() || getComparedAttrs(op) != getComparedAttrs(first) ||
        op->getResultTypes() != first->getResultTypes() ||
        op->getNumOperands() != first->getNumOperands()) {
      return refuse(ops, other);
    }
    for (auto [from, to] : llvm::zip(op->getResults(), first->getResults())) {
      toFirst[other][from] = to;
    }
  }
  for (OpOperand &operand : first->getOpOperands()) {
    Difference difference{&operand, {operand.get()}};
    for (size_t other = 1; other < ops.size(); ++other) {
      Value value = ops[other]->getOperand(operand.getOperandNumber());
      Value known = toFirst[other].lookup(value);
      if (!known || (known != operand.get() && !known.getType().isIntOrIndexOrFloat())) {
        return refuse(ops, other);
      }
      difference.values.push_back(known);
    }
    if (!llvm::all_equal(difference.values)) {
      differences.push_back(std::move(difference));
    }
  }
  for (unsigned region = 0; region < first->getNumRegions(); ++region) {
    SmallVector<Block *> blocks;
    for (Operation *op : ops) {
      if (op->getRegion(region).empty() != first->getRegion(region).empty()) {
        return refuse(ops, blocks.size());
      }
      if (!op->getRegion(region).empty()) {
        blocks.push_back(&op->getRegion(region).front());
      }
    }
    if (!blocks.empty() && failed(compareBlocks(blocks))) {
      return failure();
    }
  }
  return success();
}

LogicalResult ReplicaMerger::compareBlocks(MutableArrayRef<Block *> blocks) {
  for (size_t other = 1; other < blocks.size(); ++other) {
    for (auto [from, to] :
         llvm::zip(blocks[other]->getArguments(), blocks.front()->getArguments())) {
      toFirst[other][from] = to;
    }
  }
  SmallVector<Block::iterator> places;
  for (Block *block : blocks) {
    places.push_back(block->begin());
  }
  auto isAtEnd = [&](size_t replica) { return places[replica] == blocks[replica]->end(); };
  while (!isAtEnd(0)) {
    SmallVector<Operation *> ops;
    for (auto [replica, place] : llvm::enumerate(places)) {
      if (isAtEnd(replica)) {
        return refuseLength(replica);
      }
      ops.push_back(&*place++);
    }
    if (failed(compareOps(ops))) {
      return failure();
    }
  }
  for (size_t other = 1; other < places.size(); ++other) {
    if (!isAtEnd(other)) {
      return refuseLength(other);
    }
  }
  return success();
}

LogicalResult ReplicaMerger::refuseLength(size_t other) {
  return role.emitError("expected the replicas of role '")
         << role.getSymName() << "' to do the same, but got more ops in one of replicas 0 and "
         << other;
}

/// What each value has more than the one before it, if the work computes them so.
std::optional<int64_t> ReplicaMerger::getStep(ArrayRef<Value> values) {
  std::optional<int64_t> step;
  std::optional<LinearForm> before;
  for (Value value : values) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto tiles =
        argument ? dyn_cast<ForEachTileOp>(argument.getOwner()->getParentOp()) : ForEachTileOp();
    if (!tiles || argument.getArgNumber() >= work.getNumWorkResults()) {
      return std::nullopt;
    }
    unsigned result = argument.getArgNumber();
    // Facts clamp: only what none speaks of is what the work yields.
    for (auto fact : work.getFacts().getAsRange<FactAttr>()) {
      if (fact.getLower() == result || fact.getUpper() == result) {
        return std::nullopt;
      }
    }
    LinearForm form = LinearForm::get(work.getYield().getValues()[result]);
    if (before) {
      LinearForm difference = form.minus(*before);
      if (!difference.isConstant() || (step && *step != difference.getConstant())) {
        return std::nullopt;
      }
      step = difference.getConstant();
    }
    before = form;
  }
  return step;
}

void ReplicaMerger::resolve(const Difference &difference) {
  Operation *op = difference.operand->getOwner();
  Location loc = op->getLoc();
  Value base = difference.values.front(), index = role.getIndex();
  if (std::optional<int64_t> step = getStep(difference.values)) {
    rewriter.setInsertionPointToStart(base.getParentBlock());
    LinearForm form = LinearForm::get(base).add(LinearForm::get(index), *step);
    Value sum;
    for (Operation *user : base.getUsers()) {
      // One sum serves all places that differ alike.
      if (user->getNumResults() == 1 && user->getBlock() == base.getParentBlock() &&
          user->getResult(0).getType() == base.getType() &&
          LinearForm::get(user->getResult(0)) == form) {
        sum = user->getResult(0);
        break;
      }
    }
    if (!sum) {
      sum = materialize(rewriter, role, loc, base.getType(), form);
    }
    rewriter.modifyOpInPlace(op, [&] { difference.operand->set(sum); });
    return;
  }
  rewriter.setInsertionPoint(op);
  Value chosen = base;
  for (size_t other = 1; other < difference.values.size(); ++other) {
    Value number = getRoleConstant(rewriter, role, index.getType(), static_cast<int64_t>(other));
    Value isOther = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, index, number);
    chosen = arith::SelectOp::create(rewriter, loc, isOther, difference.values[other], chosen);
  }
  rewriter.modifyOpInPlace(op, [&] { difference.operand->set(chosen); });
}

/// Makes the replica's number the element at every end that is tied.
void ReplicaMerger::takeElements() {
  Value next;
  // At the head of the role: each replica passes to one and the same other.
  auto getNext = [&] {
    if (!next) {
      Type type = role.getIndex().getType();
      Value one = getRoleConstant(rewriter, role, type, 1);
      Value count = getRoleConstant(rewriter, role, type, static_cast<int64_t>(replicas.size()));
      Operation *behind = one.getDefiningOp();
      while (isa<arith::ConstantOp>(behind->getNextNode())) {
        behind = behind->getNextNode();
      }
      rewriter.setInsertionPointAfter(behind);
      Value sum = arith::AddIOp::create(rewriter, role.getLoc(), role.getIndex(), one);
      next = arith::RemSIOp::create(rewriter, role.getLoc(), sum, count);
    }
    return next;
  };
  auto take = [&](auto op) {
    EndAttr end = getEnd(op, work);
    if (end.getTie() == Tie::All) {
      return;
    }
    Value element = end.getTie() == Tie::Previous ? getNext() : role.getIndex();
    rewriter.modifyOpInPlace(op, [&] {
      op.removeStaticElementAttr();
      op.getElementMutable().assign(element);
    });
  };
  role.walk([&](Operation *op) {
    if (auto acquire = dyn_cast<AcquireOp>(op)) {
      take(acquire);
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      take(wait);
    } else if (auto settle = dyn_cast<SettleOp>(op)) {
      take(settle);
    }
  });
}

LogicalResult ReplicaMerger::run() {
  SmallVector<Operation *> ops;
  for (RoleOp replica : replicas) {
    ops.push_back(replica);
  }
  SmallVector<Block *> blocks;
  for (size_t number = 0; number < replicas.size(); ++number) {
    RoleOp replica = replicas[number];
    if (replica.getUses() != role.getUses()) {
      return refuse(ops, number);
    }
    blocks.push_back(&replica.getBody().front());
  }
  if (failed(compareBlocks(blocks))) {
    return failure();
  }
  for (const Difference &difference : differences) {
    resolve(difference);
  }
  takeElements();
  return success();
}

LogicalResult fa4::tile::mergeReplicas(RewriterBase &rewriter, ArrayRef<RoleOp> replicas,
                                       WorkOp work) {
  return ReplicaMerger(rewriter, replicas, work).run();
}
