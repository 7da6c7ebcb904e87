//===- ProtocolSteps.cpp - the ops of a role that make its events -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A backward slice from the events: loop bounds, conditions, elements, cursors,
// tokens and completions. Where it reaches the tile loop's arguments, those results
// of the work steer control flow.
//
//===----------------------------------------------------------------------===//

#include "ProtocolSteps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace fa4::tile;

bool fa4::tile::isInteger(Operation *op) {
  return isa_and_present<arith::ArithDialect>(op->getDialect()) && op->getNumResults() == 1 &&
         op->getResult(0).getType().isIntOrIndex();
}

static int64_t floorDiv(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient * b != a && ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

static int64_t ceilDiv(int64_t a, int64_t b) { return -floorDiv(-a, b); }

static bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  case arith::CmpIPredicate::ult:
    return ua < ub;
  case arith::CmpIPredicate::ule:
    return ua <= ub;
  case arith::CmpIPredicate::ugt:
    return ua > ub;
  case arith::CmpIPredicate::uge:
    return ua >= ub;
  }
  return false;
}

std::optional<int64_t> fa4::tile::evaluateInteger(Operation *op, ArrayRef<int64_t> x) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto value = dyn_cast<IntegerAttr>(constant.getValue())) {
      bool flag = value.getType().isInteger(1);
      return flag ? static_cast<int64_t>(value.getValue().getBoolValue())
                  : value.getValue().getSExtValue();
    }
    return std::nullopt;
  }
  if (isa<arith::AddIOp>(op)) {
    return op->getResult(0).getType().isInteger(1) ? x[0] ^ x[1] : x[0] + x[1];
  }
  if (isa<arith::SubIOp>(op)) {
    return x[0] - x[1];
  }
  if (isa<arith::MulIOp>(op)) {
    return x[0] * x[1];
  }
  if (isa<arith::MinSIOp>(op)) {
    return std::min(x[0], x[1]);
  }
  if (isa<arith::MaxSIOp>(op)) {
    return std::max(x[0], x[1]);
  }
  if (isa<arith::AndIOp>(op)) {
    return x[0] & x[1];
  }
  if (isa<arith::OrIOp>(op)) {
    return x[0] | x[1];
  }
  if (isa<arith::XOrIOp>(op)) {
    return x[0] ^ x[1];
  }
  if (isa<arith::SelectOp>(op)) {
    return x[0] != 0 ? x[1] : x[2];
  }
  if (auto cmp = dyn_cast<arith::CmpIOp>(op)) {
    return compare(cmp.getPredicate(), x[0], x[1]) ? 1 : 0;
  }
  if (isa<arith::ExtSIOp>(op)) {
    bool flag = op->getOperand(0).getType().isInteger(1);
    return flag ? -x[0] : x[0];
  }
  if (isa<arith::ExtUIOp, arith::IndexCastOp, arith::TruncIOp>(op) && x[0] >= 0) {
    return op->getResult(0).getType().isInteger(1) ? x[0] & 1 : x[0];
  }
  bool divides = isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(op);
  if (!divides || x[1] == 0) {
    return std::nullopt;
  }
  if (isa<arith::DivSIOp>(op)) {
    return x[0] / x[1];
  }
  if (isa<arith::RemSIOp>(op)) {
    return x[0] % x[1];
  }
  return isa<arith::FloorDivSIOp>(op) ? floorDiv(x[0], x[1]) : ceilDiv(x[0], x[1]);
}

/// Whether the op makes events of its own.
static bool makesEvents(Operation *op) {
  return isa<BarrierWaitOp, BarrierArriveOp, BarrierExpectOp, BarrierCommitOp, NamedArriveOp,
             NamedSyncOp, RoleSyncOp, ClusterSyncOp, IssueLoadOp, IssueStoreOp, IssueSendOp,
             IssueNextOp, IssueMmaOp, GroupCommitOp, GroupWaitOp, FenceOp, ReadOp, WriteOp,
             RescaleOp, RunPtxOp, AcquireOp, WaitOp, CommitOp, ReleaseOp, SettleOp, AsyncMmaOp,
             AsyncLoadOp, AsyncStoreOp, AsyncSendOp, AsyncNextOp, AwaitOp>(op);
}

/// Whether the unrolling follows values of this type.
static bool isFollowed(Type type) {
  return type.isIntOrIndex() || isa<CursorType, TokenType, AsyncType>(type);
}

void ProtocolSteps::mark(Operation *op) {
  while (op != role.getOperation() && marked.insert(op).second) {
    Operation *parent = op->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      needAll({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      need(branch.getCondition());
    }
    op = parent;
  }
}

void ProtocolSteps::need(Value value) {
  if (isFollowed(value.getType()) && seen.insert(value).second) {
    worklist.push_back(value);
  }
}

void ProtocolSteps::needAll(ValueRange values) {
  for (Value value : values) {
    need(value);
  }
}

void ProtocolSteps::needArgument(BlockArgument argument) {
  Operation *owner = argument.getOwner()->getParentOp();
  unsigned index = argument.getArgNumber();
  if (auto loop = dyn_cast<scf::ForOp>(owner)) {
    mark(loop);
    if (index > 0) {
      need(loop.getInitArgs()[index - 1]);
      need(loop.getYieldedValues()[index - 1]);
    }
  } else if (auto tiles = dyn_cast<ForEachTileOp>(owner)) {
    mark(tiles);
    unsigned numbers = tiles.getNumTileArgs();
    if (index < numbers) {
      control.insert(index);
    } else {
      need(tiles.getInits()[index - numbers]);
      need(tiles.getYield()->getOperand(index - numbers));
    }
  }
}

void ProtocolSteps::needResult(OpResult result) {
  Operation *op = result.getOwner();
  unsigned index = result.getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    mark(op);
    need(loop.getRegionIterArgs()[index]);
  } else if (auto tiles = dyn_cast<ForEachTileOp>(op)) {
    mark(op);
    need(tiles.getIterArgs()[index]);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    mark(op);
    need(branch.thenYield()->getOperand(index));
    need(branch.elseYield()->getOperand(index));
  } else if (isInteger(op) || isa<CursorOp, AdvanceOp, arith::SelectOp>(op)) {
    mark(op);
    needAll(op->getOperands());
  }
}

LogicalResult ProtocolSteps::collect() {
  role.walk([&](Operation *op) {
    if (!makesEvents(op)) {
      return;
    }
    mark(op);
    for (Value operand : op->getOperands()) {
      // Coordinates only say which tile of a global is copied.
      bool coordinate = false;
      if (auto load = dyn_cast<IssueLoadOp>(op)) {
        coordinate = llvm::is_contained(load.getCoordinates(), operand) &&
                     operand != load.getElement() && operand != load.getViewElement();
      } else if (auto store = dyn_cast<IssueStoreOp>(op)) {
        coordinate = llvm::is_contained(store.getCoordinates(), operand) &&
                     operand != store.getViewElement();
      } else if (auto async = dyn_cast<AsyncLoadOp>(op)) {
        coordinate = operand != async.getToken();
      } else if (auto bulk = dyn_cast<AsyncStoreOp>(op)) {
        coordinate =
            llvm::is_contained(bulk.getCoordinates(), operand) && operand != bulk.getElement();
      } else if (isa<RunPtxOp>(op)) {
        coordinate = true;
      }
      if (!coordinate) {
        need(operand);
      }
    }
  });
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      needArgument(argument);
    } else {
      needResult(cast<OpResult>(value));
    }
  }
  WalkResult result = role.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!marked.contains(op)) {
      return WalkResult::advance();
    }
    if (op->getNumRegions() != 0 && !isa<scf::ForOp, scf::IfOp, ForEachTileOp>(op)) {
      op->emitOpError() << "expected protocol ops to stand in tile loops, scf.for and scf.if only";
      return WalkResult::interrupt();
    }
    steps[op->getBlock()].push_back(op);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
