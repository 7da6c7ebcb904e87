//===- TokenLinearity.cpp - tokens end once on every path -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A token is used up exactly once on every path: by a commit or release, or by
// handing it on through a loop or conditional. Decided per block, so that loops
// and branches need no fixpoint.
//
//===----------------------------------------------------------------------===//

#include "TokenLinearity.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4::tile;

namespace {

/// Follows one token through the block that defines it.
class TokenUses {
public:
  explicit TokenUses(Value token) : token(token) {}

  LogicalResult verify() { return verifyBlock(token.getParentBlock()); }

private:
  /// Checks that `block` ends the token exactly once, if any use in it does.
  LogicalResult verifyBlock(Block *block);
  LogicalResult verifyBranches(scf::IfOp branch, bool &ends);
  /// Whether an op below `op` ends the token.
  bool endsBelow(Operation *op) const;

  Value token;
};

} // namespace

/// Whether this use ends the token or hands it on.
static bool endsToken(OpOperand &use) {
  Operation *owner = use.getOwner();
  return isa<CommitOp, ReleaseOp, scf::YieldOp, YieldOp, scf::ForOp, ForEachTileOp>(owner);
}

bool TokenUses::endsBelow(Operation *op) const {
  return llvm::any_of(token.getUses(), [&](OpOperand &use) {
    return op != use.getOwner() && op->isProperAncestor(use.getOwner()) && endsToken(use);
  });
}

LogicalResult TokenUses::verifyBranches(scf::IfOp branch, bool &ends) {
  bool inThen = false, inElse = false;
  for (OpOperand &use : token.getUses()) {
    if (endsToken(use)) {
      inThen |= branch.getThenRegion().isAncestor(use.getOwner()->getParentRegion());
      inElse |= branch.getElseRegion().isAncestor(use.getOwner()->getParentRegion());
    }
  }
  ends = inThen || inElse;
  if (inThen != inElse) {
    InFlightDiagnostic diag = branch.emitOpError()
                              << "expected both branches to end a token, but got one that does";
    diag.attachNote(token.getLoc()) << "the token starts here";
    return diag;
  }
  if (!ends) {
    return success();
  }
  if (failed(verifyBlock(branch.thenBlock()))) {
    return failure();
  }
  return verifyBlock(branch.elseBlock());
}

LogicalResult TokenUses::verifyBlock(Block *block) {
  Operation *end = nullptr;
  for (Operation &op : *block) {
    bool uses = false;
    unsigned direct = 0;
    for (OpOperand &use : token.getUses()) {
      uses |= op.isAncestor(use.getOwner());
      direct += use.getOwner() == &op && endsToken(use);
    }
    if (!uses) {
      continue;
    }
    if (direct > 1) {
      return op.emitOpError() << "expected a token to be handed on once, but got " << direct
                              << " times";
    }
    bool ends = direct == 1;
    if (end) {
      InFlightDiagnostic diag = op.emitOpError()
                                << "expected no use of a token after its end, but got one";
      diag.attachNote(end->getLoc()) << "the token ends here";
      return diag;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (failed(verifyBranches(branch, ends))) {
        return failure();
      }
    } else if (endsBelow(&op)) {
      InFlightDiagnostic diag =
          op.emitOpError() << "expected a token to end outside of a loop that it enters, but got "
                              "an end in each trip";
      diag.attachNote(token.getLoc()) << "the token starts here";
      return diag;
    }
    if (ends) {
      end = &op;
    }
  }
  if (end) {
    return success();
  }
  return emitError(token.getLoc()) << "expected the token " << token.getType()
                                   << " to end on every path, but got a path on which it does not";
}

LogicalResult fa4::tile::verifyTokenLinearity(Operation *root) {
  auto verifyValue = [](Value value) -> LogicalResult {
    return isa<TokenType>(value.getType()) ? TokenUses(value).verify() : success();
  };
  WalkResult result = root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value value : op->getResults()) {
      if (failed(verifyValue(value))) {
        return WalkResult::interrupt();
      }
    }
    for (Region &region : op->getRegions()) {
      for (Value value : region.getArguments()) {
        if (failed(verifyValue(value))) {
          return WalkResult::interrupt();
        }
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

Operation *fa4::tile::findTokenStart(Value token) {
  // A carried token starts where its init starts: loops hand tokens on unchanged.
  while (token) {
    if (Operation *op = token.getDefiningOp()) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        token = loop.getInitArgs()[cast<OpResult>(token).getResultNumber()];
      } else if (auto tiles = dyn_cast<ForEachTileOp>(op)) {
        token = tiles.getInits()[cast<OpResult>(token).getResultNumber()];
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        token = branch.thenYield().getOperand(cast<OpResult>(token).getResultNumber());
      } else {
        return op;
      }
      continue;
    }
    auto arg = cast<BlockArgument>(token);
    Operation *parent = arg.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      token = loop.getInitArgs()[arg.getArgNumber() - loop.getNumInductionVars()];
    } else if (auto tiles = dyn_cast<ForEachTileOp>(parent)) {
      token = tiles.getInits()[arg.getArgNumber() - tiles.getNumTileArgs()];
    } else {
      return nullptr;
    }
  }
  return nullptr;
}
