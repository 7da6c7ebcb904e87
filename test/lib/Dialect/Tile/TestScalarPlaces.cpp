//===- TestScalarPlaces.cpp - test-tile-scalar-places -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes what computes scalars, and fills of them, out before every op that takes
// them, sums in one form. Two kernels that then print alike are equal up to names
// and to where and how their scalars are computed.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/LinearForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace fa4::tile;

namespace {
struct TestScalarPlaces : public PassWrapper<TestScalarPlaces, OperationPass<KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestScalarPlaces)

  StringRef getArgument() const final { return "test-tile-scalar-places"; }
  StringRef getDescription() const final { return "Compute scalars where they are used"; }

  static bool isMovable(Operation *op) {
    return op && (isa<arith::ArithDialect>(op->getDialect()) || isa<SplatOp>(op));
  }

  /// `value` computed anew at the rewriter's place.
  Value rewrite(IRRewriter &rewriter, Value value) {
    Operation *op = value.getDefiningOp();
    if (!isMovable(op)) {
      return value;
    }
    Location loc = op->getLoc();
    Type type = value.getType();
    if (type.isInteger(32) && isa<arith::AddIOp, arith::SubIOp>(op)) {
      return LinearForm::get(value).materialize(rewriter, loc, [&](int64_t number) {
        return arith::ConstantOp::create(rewriter, loc, rewriter.getIntegerAttr(type, number));
      });
    }
    IRMapping mapping;
    for (Value operand : op->getOperands()) {
      mapping.map(operand, rewrite(rewriter, operand));
    }
    return rewriter.clone(*op, mapping)->getResult(cast<OpResult>(value).getResultNumber());
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> takers, movable;
    getOperation().walk([&](Operation *op) {
      if (op->getParentOfType<MapOp>() || op->getParentOfType<WorkOp>()) {
        return;
      }
      (isMovable(op) ? movable : takers).push_back(op);
    });
    for (Operation *op : takers) {
      rewriter.setInsertionPoint(op);
      for (OpOperand &operand : op->getOpOperands()) {
        operand.set(rewrite(rewriter, operand.get()));
      }
    }
    for (Operation *op : llvm::reverse(movable)) {
      if (op->use_empty()) {
        rewriter.eraseOp(op);
      }
    }
  }
};
} // namespace

namespace fa4::test {
void registerTestScalarPlacesPass() { PassRegistration<TestScalarPlaces>(); }
} // namespace fa4::test
