//===- Cursors.cpp - rings' cursors through control flow --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops are made again with another list of carried values; their bodies move, so
// that ops inside stay the ops they were.
//
//===----------------------------------------------------------------------===//

#include "Cursors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

//===----------------------------------------------------------------------===//
// Carried values
//===----------------------------------------------------------------------===//

static bool isLoop(Operation *op) { return isa_and_nonnull<scf::ForOp, ForEachTileOp>(op); }

/// Operands of a loop in front of what it carries.
static unsigned countBounds(Operation *loop) {
  return loop->getNumOperands() - loop->getNumResults();
}

static BlockArgument getCarried(Operation *loop, unsigned slot) {
  Block &body = loop->getRegion(0).front();
  return body.getArgument(body.getNumArguments() - loop->getNumResults() + slot);
}

static Value getYielded(Operation *loop, unsigned slot) {
  return loop->getRegion(0).front().getTerminator()->getOperand(slot);
}

/// Makes `op` again with its regions, other operands and other results; the uses of
/// its results are left to the caller.
static Operation *recreate(Operation *op, ValueRange operands, TypeRange results) {
  OperationState state(op->getLoc(), op->getName(), operands, results, op->getAttrs());
  for (unsigned index = 0; index < op->getNumRegions(); ++index) {
    state.addRegion();
  }
  OpBuilder builder(op);
  Operation *made = builder.create(state);
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), made->getRegions())) {
    to.takeBody(from);
  }
  return made;
}

static Operation *addResult(Operation *op, ArrayRef<Value> inits, Type type) {
  SmallVector<Value> operands(op->getOperands());
  llvm::append_range(operands, inits);
  SmallVector<Type> results(op->getResultTypes());
  results.push_back(type);
  Operation *made = recreate(op, operands, results);
  op->replaceAllUsesWith(made->getResults().drop_back());
  op->erase();
  return made;
}

/// Drops carried values, whose arguments and results have no uses.
static void dropSlots(Operation *loop, const llvm::BitVector &dropped) {
  SmallVector<Value> operands(loop->getOperands().take_front(countBounds(loop)));
  SmallVector<Type> results;
  SmallVector<Value> kept;
  for (unsigned slot = 0; slot < loop->getNumResults(); ++slot) {
    if (!dropped.test(slot)) {
      operands.push_back(loop->getOperand(countBounds(loop) + slot));
      results.push_back(loop->getResult(slot).getType());
      kept.push_back(loop->getResult(slot));
    }
  }
  Block &body = loop->getRegion(0).front();
  unsigned first = body.getNumArguments() - loop->getNumResults();
  for (unsigned slot = loop->getNumResults(); slot-- > 0;) {
    if (dropped.test(slot)) {
      body.getTerminator()->eraseOperand(slot);
      body.eraseArgument(first + slot);
    }
  }
  Operation *made = recreate(loop, operands, results);
  for (auto [from, to] : llvm::zip_equal(kept, made->getResults())) {
    from.replaceAllUsesWith(to);
  }
  loop->erase();
}

//===----------------------------------------------------------------------===//
// New cursors
//===----------------------------------------------------------------------===//

bool fa4::tile::startsWithCredit(Value cursor) {
  llvm::DenseSet<Value> seen;
  while (seen.insert(cursor).second) {
    if (auto argument = dyn_cast<BlockArgument>(cursor)) {
      Operation *loop = argument.getOwner()->getParentOp();
      unsigned first = argument.getOwner()->getNumArguments() - loop->getNumResults();
      cursor = loop->getOperand(countBounds(loop) + argument.getArgNumber() - first);
      continue;
    }
    Operation *op = cursor.getDefiningOp();
    if (auto start = dyn_cast<CursorOp>(op)) {
      return start.getCredit();
    }
    if (auto advance = dyn_cast<AdvanceOp>(op)) {
      cursor = advance.getCursor();
    } else if (isLoop(op)) {
      cursor = op->getOperand(countBounds(op) + cast<OpResult>(cursor).getResultNumber());
    } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
      cursor = select.getFalseValue(); // replicas differ in their slots only
    } else {
      auto branch = cast<scf::IfOp>(op);
      cursor = branch.thenYield().getOperand(cast<OpResult>(cursor).getResultNumber());
    }
  }
  return false;
}

static Value thread(Block &block, Value cursor, const llvm::DenseSet<Operation *> &waits) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (waits.contains(&op)) {
      cast<BarrierWaitOp>(op).getCursorMutable().assign(cursor);
      OpBuilder builder(&op);
      builder.setInsertionPointAfter(&op);
      cursor = AdvanceOp::create(builder, op.getLoc(), cursor);
      continue;
    }
    WalkResult inside = op.walk([&](BarrierWaitOp wait) {
      return waits.contains(wait) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (!inside.wasInterrupted()) {
      continue;
    }
    if (isLoop(&op)) {
      Operation *loop = addResult(&op, {cursor}, cursor.getType());
      Block &body = loop->getRegion(0).front();
      Value last = thread(body, body.addArgument(cursor.getType(), loop->getLoc()), waits);
      body.getTerminator()->insertOperands(body.getTerminator()->getNumOperands(), last);
      cursor = loop->getResults().back();
    } else {
      auto branch = cast<scf::IfOp>(addResult(&op, {}, cursor.getType()));
      if (branch.getElseRegion().empty()) {
        OpBuilder builder(branch.getContext());
        builder.createBlock(&branch.getElseRegion());
        scf::YieldOp::create(builder, branch.getLoc());
      }
      for (Region &region : branch->getRegions()) {
        Operation *yield = region.front().getTerminator();
        yield->insertOperands(yield->getNumOperands(), thread(region.front(), cursor, waits));
      }
      cursor = branch->getResults().back();
    }
  }
  return cursor;
}

void fa4::tile::threadCursor(RoleOp role, ArrayRef<BarrierWaitOp> waits, bool credit) {
  llvm::DenseSet<Operation *> set(waits.begin(), waits.end());
  Block &body = role.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  BarrierWaitOp first = waits.front();
  Value cursor = CursorOp::create(builder, role.getLoc(), first.getCursor().getType(), credit);
  thread(body, cursor, set);
}

//===----------------------------------------------------------------------===//
// Dead and equal cursors
//===----------------------------------------------------------------------===//

static bool isCarrier(Operation *op) {
  return isLoop(op) || isa<AdvanceOp, arith::SelectOp, scf::IfOp, scf::YieldOp, YieldOp>(op);
}

/// Marks what `value` is made of.
static void markLive(Value value, llvm::DenseSet<Value> &live) {
  if (!isa<CursorType>(value.getType()) || !live.insert(value).second) {
    return;
  }
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *loop = argument.getOwner()->getParentOp();
    unsigned slot =
        argument.getArgNumber() - (argument.getOwner()->getNumArguments() - loop->getNumResults());
    markLive(loop->getOperand(countBounds(loop) + slot), live);
    markLive(getYielded(loop, slot), live);
    return;
  }
  Operation *op = value.getDefiningOp();
  unsigned slot = cast<OpResult>(value).getResultNumber();
  if (auto advance = dyn_cast<AdvanceOp>(op)) {
    markLive(advance.getCursor(), live);
  } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
    markLive(select.getTrueValue(), live);
    markLive(select.getFalseValue(), live);
  } else if (isLoop(op)) {
    markLive(getCarried(op, slot), live);
  } else if (isa<scf::IfOp>(op)) {
    for (Region &region : op->getRegions()) {
      markLive(region.front().getTerminator()->getOperand(slot), live);
    }
  }
}

/// Returns whether something was dropped.
static bool dropDead(RoleOp role) {
  llvm::DenseSet<Value> live;
  role.walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      if (!isCarrier(op)) {
        markLive(operand, live);
      }
    }
  });
  auto isDead = [&](Value value) {
    return isa<CursorType>(value.getType()) && !live.contains(value);
  };
  SmallVector<Operation *> loops;
  role.walk([&](Operation *op) {
    if (isLoop(op) && llvm::any_of(op->getResults(), [&](OpResult result) {
          return isDead(result) && isDead(getCarried(op, result.getResultNumber()));
        })) {
      loops.push_back(op);
    }
  });
  // What is dead stands for nothing: a new cursor takes its last uses, until they go.
  OpBuilder builder = OpBuilder::atBlockBegin(&role.getBody().front());
  llvm::DenseMap<Type, Value> standIns;
  auto release = [&](Value value) {
    Value &standIn = standIns[value.getType()];
    if (!standIn) {
      standIn = CursorOp::create(builder, role.getLoc(), value.getType(), /*credit=*/false);
    }
    value.replaceAllUsesWith(standIn);
  };
  for (Operation *loop : loops) {
    llvm::BitVector dropped(loop->getNumResults());
    for (OpResult result : loop->getResults()) {
      BlockArgument carried = getCarried(loop, result.getResultNumber());
      if (isDead(result) && isDead(carried)) {
        dropped.set(result.getResultNumber());
        release(result);
        release(carried);
      }
    }
    dropSlots(loop, dropped);
  }
  bool changed = !loops.empty();
  bool again = true;
  while (again) {
    again = false;
    role.walk([&](Operation *op) {
      bool makesCursor = isa<AdvanceOp, CursorOp>(op) ||
                         (isa<arith::SelectOp>(op) && isa<CursorType>(op->getResult(0).getType()));
      if (makesCursor && op->use_empty()) {
        op->erase();
        again = true;
      }
    });
    changed |= again;
  }
  return changed;
}

/// Whether two cursors always stand alike, if the pairs in `assumed` do.
static bool standAlike(Value left, Value right, SmallVectorImpl<std::pair<Value, Value>> &assumed) {
  if (left == right || llvm::is_contained(assumed, std::pair(left, right))) {
    return true;
  }
  Operation *first = left.getDefiningOp(), *second = right.getDefiningOp();
  if (!first || !second || left.getType() != right.getType()) {
    return false;
  }
  if (isa<AdvanceOp>(first) && isa<AdvanceOp>(second)) {
    return standAlike(first->getOperand(0), second->getOperand(0), assumed);
  }
  if (isa<CursorOp>(first) && isa<CursorOp>(second)) {
    return cast<CursorOp>(first).getCredit() == cast<CursorOp>(second).getCredit();
  }
  if (first != second || !isLoop(first)) {
    return false;
  }
  unsigned one = cast<OpResult>(left).getResultNumber();
  unsigned other = cast<OpResult>(right).getResultNumber();
  unsigned bounds = countBounds(first);
  if (!standAlike(first->getOperand(bounds + one), first->getOperand(bounds + other), assumed)) {
    return false;
  }
  assumed.push_back({getCarried(first, one), getCarried(first, other)});
  return standAlike(getYielded(first, one), getYielded(first, other), assumed);
}

/// Lets one carried cursor serve for another that stands alike.
static bool joinEqual(RoleOp role) {
  bool changed = false;
  role.walk([&](Operation *loop) {
    if (!isLoop(loop)) {
      return;
    }
    for (unsigned one = 0; one < loop->getNumResults(); ++one) {
      for (unsigned other = one + 1; other < loop->getNumResults(); ++other) {
        Value left = loop->getResult(one), right = loop->getResult(other);
        BlockArgument carried = getCarried(loop, other);
        SmallVector<std::pair<Value, Value>> assumed;
        bool used = !carried.use_empty() || !right.use_empty();
        if (isa<CursorType>(left.getType()) && used && standAlike(left, right, assumed)) {
          carried.replaceAllUsesWith(getCarried(loop, one));
          right.replaceAllUsesWith(left);
          changed = true;
        }
      }
    }
  });
  // Advances of one cursor in one block.
  role.walk([&](Block *block) {
    llvm::DenseMap<Value, AdvanceOp> firsts;
    llvm::DenseMap<std::pair<Type, unsigned>, CursorOp> starts;
    for (Operation &op : llvm::make_early_inc_range(*block)) {
      if (auto advance = dyn_cast<AdvanceOp>(op)) {
        auto [entry, added] = firsts.insert({advance.getCursor(), advance});
        if (!added) {
          advance.replaceAllUsesWith(entry->second.getResult());
          advance.erase();
          changed = true;
        }
      } else if (auto start = dyn_cast<CursorOp>(op)) {
        unsigned credit = start.getCredit() ? 1 : 0;
        auto [entry, added] = starts.insert({{start.getType(), credit}, start});
        if (!added) {
          start.replaceAllUsesWith(entry->second.getResult());
          start.erase();
          changed = true;
        }
      }
    }
  });
  return changed;
}

void fa4::tile::cleanCursors(RoleOp role) {
  bool changed = true;
  while (changed) {
    changed = joinEqual(role);
    changed |= dropDead(role);
  }
}
