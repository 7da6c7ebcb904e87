//===- PartitionRoles.cpp - tile-partition-roles ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread becomes roles. Nothing is decided here: the schedule says who runs
// which step, channels say what crosses, and each role is what its effects need.
//
//===----------------------------------------------------------------------===//

#include "PartitionRoles.h"
#include "RoleScalars.h"

#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILEPARTITIONROLES
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

/// Erases views and memory that no role and no channel speaks of: homes of values
/// that stayed in registers.
static void eraseUnusedMemory(RewriterBase &rewriter, KernelOp kernel) {
  auto eraseUnused = [&](auto symbols) {
    for (Operation *op : llvm::to_vector_of<Operation *>(symbols)) {
      if (SymbolTable::symbolKnownUseEmpty(op, kernel)) {
        rewriter.eraseOp(op);
      }
    }
  };
  eraseUnused(kernel.getBody().getOps<ViewOp>());
  eraseUnused(kernel.getBody().getOps<AllocOp>());
}

namespace {
struct TilePartitionRoles : public fa4::tile::impl::TilePartitionRolesBase<TilePartitionRoles> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (!kernel.getBody().getOps<RoleOp>().empty()) {
      return; // done already
    }
    FailureOr<RoleOwners> owners = RoleOwners::create(kernel);
    if (failed(owners)) {
      return signalPassFailure();
    }
    SmallVector<Operation *> program;
    for (Operation &op : *kernel.getEntry()) {
      if (!isa<WorkOp, AllocOp, ViewOp, ChannelOp>(op)) {
        program.push_back(&op);
      }
    }
    IRRewriter rewriter(&getContext());
    for (const fa4::Role *role : owners->getRoles()) {
      if (failed(partition(rewriter, kernel, *owners, *role))) {
        return signalPassFailure();
      }
    }
    for (Operation *op : llvm::reverse(program)) {
      rewriter.eraseOp(op);
    }
    eraseUnusedMemory(rewriter, kernel);
  }

  LogicalResult partition(RewriterBase &rewriter, KernelOp kernel, const RoleOwners &owners,
                          const fa4::Role &role) {
    WorkFacts facts(kernel.getWork());
    SmallVector<RoleOp> replicas;
    for (int64_t replica = 0; replica < role.replicas; ++replica) {
      FailureOr<RoleSlice> slice = RoleSlice::create(kernel, owners, {&role, replica});
      if (failed(slice)) {
        return failure();
      }
      rewriter.setInsertionPointToEnd(kernel.getEntry());
      FailureOr<RoleOp> emitted = emitRole(rewriter, *slice);
      if (failed(emitted)) {
        return failure();
      }
      placeAwaits(rewriter, *emitted);
      sinkScalars(rewriter, emitted->getBody());
      numRerolled += rerollLoops(rewriter, *emitted, facts);
      replicas.push_back(*emitted);
    }
    if (replicas.size() > 1) {
      if (failed(mergeReplicas(rewriter, replicas, kernel.getWork()))) {
        return failure();
      }
      for (RoleOp replica : ArrayRef(replicas).drop_front()) {
        rewriter.eraseOp(replica);
      }
    }
    nameCompletions(rewriter, replicas.front());
    ++numRoles;
    return success();
  }
};
} // namespace
