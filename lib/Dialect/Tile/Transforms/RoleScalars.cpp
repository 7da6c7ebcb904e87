//===- RoleScalars.cpp - scalar code of roles -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants stand at the head of their role, where every later place sees them.
//
//===----------------------------------------------------------------------===//

#include "RoleScalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa4::tile;

Value fa4::tile::getRoleConstant(RewriterBase &rewriter, RoleOp role, Type type, int64_t value) {
  Block &body = role.getBody().front();
  Attribute wanted = rewriter.getIntegerAttr(type, value);
  Operation *last = nullptr;
  for (Operation &op : body) {
    auto constant = dyn_cast<arith::ConstantOp>(op);
    if (!constant) {
      break;
    }
    if (constant.getValue() == wanted) {
      return constant;
    }
    last = constant;
  }
  OpBuilder::InsertionGuard guard(rewriter);
  if (last) {
    rewriter.setInsertionPointAfter(last);
  } else {
    rewriter.setInsertionPointToStart(&body);
  }
  return arith::ConstantOp::create(rewriter, role.getLoc(), cast<TypedAttr>(wanted));
}

Value fa4::tile::materialize(RewriterBase &rewriter, RoleOp role, Location loc, Type type,
                             const LinearForm &form) {
  return form.materialize(
      rewriter, loc, [&](int64_t value) { return getRoleConstant(rewriter, role, type, value); });
}

void fa4::tile::eraseDeadOps(RewriterBase &rewriter, Region &region) {
  for (Block &block : region) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (isOpTriviallyDead(&op)) {
        rewriter.eraseOp(&op);
        continue;
      }
      for (Region &inner : op.getRegions()) {
        eraseDeadOps(rewriter, inner);
      }
    }
  }
}

bool fa4::tile::isScalarArithmetic(Operation *op) {
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  return op->getNumRegions() == 0 && op->getNumResults() > 0 && isMemoryEffectFree(op) &&
         llvm::all_of(op->getOperandTypes(), isScalar) &&
         llvm::all_of(op->getResultTypes(), isScalar);
}

void fa4::tile::sinkScalars(RewriterBase &rewriter, Region &region) {
  for (Block &block : region) {
    // From the back: what an op feeds has moved when its turn comes.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (isa<MapOp>(op)) {
        continue; // one element's business: its order is as it was written
      }
      for (Region &inner : op.getRegions()) {
        sinkScalars(rewriter, inner);
      }
      if (!isScalarArithmetic(&op) || op.hasTrait<OpTrait::ConstantLike>()) {
        continue;
      }
      Operation *first = nullptr;
      for (Operation *user : op.getUsers()) {
        Operation *ancestor = block.findAncestorOpInBlock(*user);
        if (!first || ancestor->isBeforeInBlock(first)) {
          first = ancestor;
        }
      }
      if (first) {
        rewriter.moveOpBefore(&op, first);
      }
    }
  }
}

bool fa4::tile::holdsChannelOps(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<AcquireOp, WaitOp, CommitOp, ReleaseOp, SettleOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}
