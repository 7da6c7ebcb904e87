//===- ProductAwaits.cpp - where a role waits for its own products --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product on registers is awaited where its value is used first, so that what
// stands in between runs beside it. Its operands are read until then: their slots
// are given back behind the await, and registers are filled anew behind it.
//
//===----------------------------------------------------------------------===//

#include "PartitionRoles.h"
#include "ValueFlow.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4::tile;

/// The first op of the await's block that is or holds a user of its value.
static Operation *findFirstUser(AwaitOp await) {
  Operation *first = await->getBlock()->getTerminator();
  for (Operation *user : await.getResult().getUsers()) {
    Operation *op = getAncestorIn(await->getBlock(), user);
    first = op->isBeforeInBlock(first) ? op : first;
  }
  return first;
}

/// The cast that makes, of the same block, what the product takes in the next trip from
/// where it takes it in this one; null if there is none that only the loop uses.
static CastOp findNextOperand(AsyncMmaOp product) {
  auto argument = dyn_cast<BlockArgument>(product.getA());
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop || argument == loop.getInductionVar() || product->getParentOp() != loop) {
    return CastOp();
  }
  auto cast = loop.getTiedLoopYieldedValue(argument)->get().getDefiningOp<CastOp>();
  return cast && cast->getParentOp() == loop && cast->hasOneUse() ? cast : CastOp();
}

void fa4::tile::placeAwaits(RewriterBase &rewriter, RoleOp role) {
  SmallVector<AwaitOp> awaits;
  role.walk([&](AwaitOp await) {
    if (await.getResult()) {
      awaits.push_back(await);
    }
  });
  for (AwaitOp await : awaits) {
    auto product = await.getAsync().getDefiningOp<AsyncMmaOp>();
    rewriter.moveOpBefore(await, findFirstUser(await));
    Operation *behind = await;
    auto moveBehind = [&](Operation *op) {
      if (op->getBlock() == await->getBlock() && op->isBeforeInBlock(await)) {
        rewriter.moveOpAfter(op, behind);
        behind = op;
      }
    };
    for (Value operand : {product.getA(), product.getB()}) {
      for (Operation *user : llvm::make_early_inc_range(operand.getUsers())) {
        if (isa<ReleaseOp>(user)) {
          moveBehind(user);
        }
      }
    }
    if (CastOp next = findNextOperand(product)) {
      moveBehind(next);
    }
  }
}
