//===- VerifyT0.cpp - tile-verify-t0 -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that passes is a sequential program of pure tile values: steps in one
// tile loop, no layout, no memory, no role.
//
//===----------------------------------------------------------------------===//

#include "VerifyPhase.h"

#include "fa4/Dialect/Tile/Transforms/Passes.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEVERIFYT0
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

static LogicalResult verifyBody(Operation *root) {
  WalkResult result = root->walk<WalkOrder::PreOrder>([](Operation *op) {
    if (!isScalarDialectOp(op) && !op->hasTrait<AtT0>()) { // V1
      op->emitOpError() << "expected ops of a kernel to be T0, arith, math or scf ops";
      return WalkResult::interrupt();
    }
    return WalkResult(verifyLayouts(op, /*wanted=*/false, "T0")); // V2
  });
  return failure(result.wasInterrupted());
}

static LogicalResult verifyKernel(KernelOp kernel) {
  if (failed(verifyBody(kernel))) {
    return failure();
  }
  auto loops = llvm::to_vector(kernel.getBody().getOps<ForEachTileOp>());
  if (loops.size() != 1) { // V3
    return kernel.emitOpError() << "expected one tile loop in the kernel, but got " << loops.size();
  }
  ForEachTileOp loop = loops.front();
  WorkOp work = kernel.getWork();
  if (loop.getSource() != work.getSymName()) { // V3
    return loop.emitOpError() << "expected the tile loop to visit the kernel's work '@"
                              << work.getSymName() << "', but got '@" << loop.getSource() << "'";
  }
  WalkResult result = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == loop || isa<DefOp, WorkOp>(op)) {
      return WalkResult::skip();
    }
    if (isa<ForEachTileOp>(op)) { // V3
      op->emitOpError() << "expected the tile loop to stand directly in the kernel";
      return WalkResult::interrupt();
    }
    if (isa<StepOp, LoadOp, StoreOp>(op)) { // V4
      op->emitOpError() << "expected steps, loads and stores of a kernel to be in its tile loop";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted()) {
    return failure();
  }
  WalkResult nested = loop.getBody().walk([](ForEachTileOp inner) {
    inner.emitOpError() << "expected the tile loop to stand directly in the kernel"; // V3
    return WalkResult::interrupt();
  });
  return failure(nested.wasInterrupted());
}

namespace {
struct VerifyT0 : public fa4::tile::impl::TileVerifyT0Base<VerifyT0> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk<WalkOrder::PreOrder>([](Operation *op) {
      if (auto kernel = dyn_cast<KernelOp>(op)) {
        return failed(verifyKernel(kernel)) ? WalkResult::interrupt() : WalkResult::skip();
      }
      if (auto def = dyn_cast<DefOp>(op)) {
        return failed(verifyBody(def)) ? WalkResult::interrupt() : WalkResult::skip();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted()) {
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
