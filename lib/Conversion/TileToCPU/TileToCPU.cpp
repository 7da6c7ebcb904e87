//===- TileToCPU.cpp - convert-tile-to-cpu --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels become functions, launches become calls; after it no op or type of
// the tile dialect is left.
//
//===----------------------------------------------------------------------===//

#include "fa4/Conversion/TileToCPU.h"

#include "Lowering.h"

#include "fa4/Numerics/Exp2.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace fa4 {
#define GEN_PASS_DEF_CONVERTTILETOCPU
#include "fa4/Conversion/Passes.h.inc"
} // namespace fa4

using namespace mlir;
using namespace fa4::tile;

/// Whether the host form of `type` keeps its innermost stride as the number 1.
static bool hasUnitInnerStride(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  SmallVector<int64_t> strides;
  int64_t offset;
  return memref && succeeded(memref.getStridesAndOffset(strides, offset)) && !strides.empty() &&
         strides.back() == 1;
}

/// What no host has. Checked before anything is rewritten.
static LogicalResult checkRunsOnHost(Operation *root) {
  WalkResult result = root->walk([root](Operation *op) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      Operation *kernel = SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr());
      if (!isa<KernelOp>(kernel) || kernel->getParentOp() != root) {
        launch.emitOpError("expected a launch on the host to be of a tile.kernel of the module "
                           "that the pass runs on, but got ")
            << kernel->getName() << " '@" << launch.getKernel()
            << "'; start from the module before it was lowered for a device";
        return WalkResult::interrupt();
      }
    }
    if (auto ptx = dyn_cast<InlinePtxOp>(op)) {
      ptx.emitOpError(
          "expected a kernel that runs on the host to be free of inline PTX, but got \"")
          << ptx.getText() << "\"";
      return WalkResult::interrupt();
    }
    if (auto exp2 = dyn_cast<Exp2Op>(op)) {
      auto share = exp2.getShare();
      if (share && !fa4::numerics::lookupExp2Row(static_cast<unsigned>(share->getDegree()))) {
        exp2.emitOpError("expected the degree of the exp2 polynomial to be from ")
            << fa4::numerics::minExp2Degree << " to " << fa4::numerics::maxExp2Degree
            << ", but got " << share->getDegree();
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct ConvertTileToCPU : fa4::impl::ConvertTileToCPUBase<ConvertTileToCPU> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (workers < 1 || mmaRows < 1) {
      module.emitError("expected workers and mma-rows to be positive, but got ")
          << workers.getValue() << " and " << mmaRows.getValue();
      return signalPassFailure();
    }
    if (failed(checkRunsOnHost(module)) || failed(lowerKernels(module))) {
      return signalPassFailure();
    }
    lowerLaunches(module);
    for (DefOp def : llvm::make_early_inc_range(module.getOps<DefOp>())) {
      def.erase();
    }
  }

private:
  LogicalResult lowerKernels(ModuleOp module) {
    llvm::DenseMap<StringAttr, SmallVector<LaunchOp>> launches;
    module.walk(
        [&](LaunchOp launch) { launches[launch.getKernelAttr().getAttr()].push_back(launch); });
    cpu::Options options{workers, mmaRows};
    for (KernelOp kernel : llvm::make_early_inc_range(module.getOps<KernelOp>())) {
      // A kernel that is launched serves its launches; another is an entry.
      const SmallVector<LaunchOp> &sites = launches[kernel.getSymNameAttr()];
      SmallVector<bool> unitInner;
      for (unsigned index = 0; index < kernel.getEntry()->getNumArguments(); ++index) {
        unitInner.push_back(!sites.empty() && llvm::all_of(sites, [&](LaunchOp site) {
          return hasUnitInnerStride(site.getInputs()[index].getType());
        }));
      }
      int64_t steps = 0;
      int64_t bytes = 0;
      if (failed(cpu::lowerKernel(kernel, unitInner, !sites.empty(), options, steps, bytes))) {
        return failure();
      }
      ++numKernels;
      numSteps += static_cast<unsigned>(steps);
      arenaBytes.updateMax(static_cast<unsigned>(bytes));
    }
    return success();
  }

  static void lowerLaunches(ModuleOp module) {
    SymbolTable symbols(module);
    SmallVector<LaunchOp> launches;
    module.walk([&](LaunchOp launch) { launches.push_back(launch); });
    for (LaunchOp launch : launches) {
      auto callee = symbols.lookup<func::FuncOp>(launch.getKernel());
      ImplicitLocOpBuilder b(launch.getLoc(), launch);
      SmallVector<Value> arguments;
      for (auto [input, type] :
           llvm::zip_equal(launch.getInputs(), callee.getFunctionType().getInputs())) {
        arguments.push_back(
            input.getType() == type ? input : memref::CastOp::create(b, type, input).getResult());
      }
      func::CallOp::create(b, callee, arguments);
      launch.erase();
    }
  }
};
} // namespace
