//===- DeviceCompiler.cpp - from attention to PTX and a bundle ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Driver/DeviceCompiler.h"

#include "fa4/Dialect/Attn/IR/AttnOps.h"
#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Driver/BundleBuilder.h"
#include "fa4/Driver/DeviceCode.h"
#include "fa4/Pipelines/Pipelines.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

#include <ctime>

using namespace mlir;

namespace fa4::driver {

static DeviceLevel levelOfKernel(tile::KernelOp kernel) {
  Block &body = *kernel.getEntry();
  auto holds = [&](auto op) { return !body.getOps<decltype(op)>().empty(); };
  if (!holds(tile::RoleOp())) {
    return DeviceLevel::T0;
  }
  // What is lowered but not simplified cannot be told from what is.
  return holds(tile::ChannelOp()) || holds(tile::AllocOp()) ? DeviceLevel::T1 : DeviceLevel::T2;
}

DeviceLevel levelOf(ModuleOp module) {
  DeviceLevel level = DeviceLevel::Machine;
  module.walk([&](Operation *op) {
    if (isa<attn::ForwardOp, attn::MergeOp>(op)) {
      level = DeviceLevel::Attn;
    } else if (auto kernel = dyn_cast<tile::KernelOp>(op)) {
      level = std::min(level, levelOfKernel(kernel));
    }
  });
  return level;
}

double processorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void DeviceCompiler::addTimeSince(llvm::StringRef stage, double start) {
  addTime(stage, processorSeconds() - start);
}

namespace {
/// What the proofs among the passes take.
class ProofTimer : public PassInstrumentation {
public:
  explicit ProofTimer(double &seconds)
      : seconds(seconds), proof(tile::createTileVerifyProtocol()->getArgument()) {}
  void runBeforePass(Pass *, Operation *) override { start = processorSeconds(); }
  void runAfterPass(Pass *pass, Operation *) override {
    seconds += pass->getArgument() == proof ? processorSeconds() - start : 0.0;
  }

private:
  double &seconds;
  double start = 0.0;
  std::string proof;
};

/// One stretch of the way and the level it ends at.
struct Stretch {
  DeviceLevel end;
  llvm::StringLiteral stage, description;
  void (*build)(OpPassManager &manager, const TileToNVVMOptions &options);
};
} // namespace

LogicalResult DeviceCompiler::lowerTo(DeviceLevel level) {
  static const Stretch stretches[] = {
      {DeviceLevel::T0, "t0", "tile programs of one thread",
       [](OpPassManager &manager, const TileToNVVMOptions &) {
         buildAttnToTilePipeline(manager, AttnToTileOptions());
       }},
      {DeviceLevel::T1, "t1", "roles and channels", buildTileToRolesPipeline},
      {DeviceLevel::Barriers, "t2-lowered", "barriers",
       [](OpPassManager &manager, const TileToNVVMOptions &) {
         buildRolesToBarriersPipeline(manager);
       }},
      {DeviceLevel::T2, "t2", "placed barriers and fences", buildSimplifyBarriersPipeline},
      {DeviceLevel::Machine, "nvvm", "the machine's dialects",
       [](OpPassManager &manager, const TileToNVVMOptions &) {
         buildPlacedToNVVMPipeline(manager);
       }},
  };
  TileToNVVMOptions pipeline;
  pipeline.prove = options.prove;
  DeviceLevel current = levelOf(module);
  for (const Stretch &stretch : stretches) {
    if (stretch.end <= current || stretch.end > level) {
      continue;
    }
    if (stretch.end == DeviceLevel::Machine) {
      access = findKernelAccess(module);
      if (kernels.empty()) {
        kernels = reportKernels(module);
      }
    }
    double start = processorSeconds(), proofs = 0.0;
    PassManager manager(module.getContext());
    // What stands behind the last stretch LLVM verifies, as all that it gets.
    manager.enableVerifier(stretch.end != DeviceLevel::Machine);
    manager.addInstrumentation(std::make_unique<ProofTimer>(proofs));
    if (options.instrument) {
      options.instrument(manager);
    }
    stretch.build(manager, pipeline);
    if (failed(manager.run(module))) {
      return failure();
    }
    addTime(stretch.stage, processorSeconds() - start - proofs);
    if (proofs > 0.0) {
      addTime(("proof-" + stretch.stage).str(), proofs);
    }
    // Lowered and simplified barriers look alike.
    DeviceLevel wanted = stretch.end == DeviceLevel::Barriers ? DeviceLevel::T2 : stretch.end;
    if (levelOf(module) < wanted) {
      return module.emitError("expected the passes up to '")
             << stretch.stage << "' to leave " << stretch.description
             << ", but got kernels of an earlier level";
    }
    if (stretch.end == DeviceLevel::Barriers || stretch.end == DeviceLevel::T2) {
      kernels = reportKernels(module, kernels);
    }
  }
  return success();
}

/// Errors of the libraries below as diagnostics of the module.
template <typename T>
static FailureOr<T> report(ModuleOp module, llvm::Expected<T> result) {
  if (!result) {
    return module.emitError(llvm::toString(result.takeError()));
  }
  return std::move(*result);
}

FailureOr<std::string> DeviceCompiler::emitLLVM(bool optimized) {
  FailureOr<DeviceCode> code = report(module, DeviceCode::translate(module, target));
  if (failed(code)) {
    return failure();
  }
  if (optimized) {
    code->optimize();
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  code->print(stream);
  return text;
}

FailureOr<std::string> DeviceCompiler::emitPtx() {
  double start = processorSeconds();
  FailureOr<DeviceCode> code = report(module, DeviceCode::translate(module, target));
  if (failed(code)) {
    return failure();
  }
  addTimeSince("translate", start);
  start = processorSeconds();
  code->optimize();
  addTimeSince("optimize", start);
  start = processorSeconds();
  FailureOr<std::string> ptx = report(module, code->emitPtx());
  addTimeSince("ptx", start);
  return ptx;
}

FailureOr<runtime::Bundle> DeviceCompiler::makeBundle(llvm::StringRef entry,
                                                      llvm::ArrayRef<std::string> names,
                                                      llvm::StringRef ptxFile) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  if (!function) {
    return module.emitError("expected the module to have the host function @")
           << entry << ", but got none";
  }
  return buildBundle(function, names, access, target.chip, ptxFile);
}

} // namespace fa4::driver
