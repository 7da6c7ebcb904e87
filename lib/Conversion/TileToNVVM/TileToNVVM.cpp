//===- TileToNVVM.cpp - convert-tile-to-nvvm ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Placed kernels become functions of upstream's machine dialects; the host's
// launches stay as they are, but for what they compute for all tiles.
//
//===----------------------------------------------------------------------===//

#include "fa4/Conversion/TileToNVVM.h"

#include "LaunchNumbers.h"
#include "Lowering.h"
#include "Rows.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/RegionUtils.h"

namespace fa4 {
#define GEN_PASS_DEF_CONVERTTILETONVVM
#include "fa4/Conversion/Passes.h.inc"
} // namespace fa4

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::gpu;

/// Step two: no op or type of the tile dialect is left.
static LogicalResult lowerTileOps(const Lowering &lowering) {
  MLIRContext *context = lowering.function->getContext();
  TileToNVVMTypeConverter converter;
  ConversionTarget target(*context);
  target
      .addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect, arith::ArithDialect, math::MathDialect,
                       vector::VectorDialect, ub::UBDialect, scf::SCFDialect>();
  target.addLegalOp<UnrealizedConversionCastOp>();
  target.addIllegalDialect<TileDialect>();
  RewritePatternSet patterns(context);
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
  populateBarrierPatterns(converter, patterns, lowering);
  populateCopyPatterns(converter, patterns, lowering);
  populateNextTilePatterns(converter, patterns, lowering);
  populateMmaPatterns(converter, patterns, lowering);
  populateWgmmaPatterns(converter, patterns, lowering);
  populateValuePatterns(converter, patterns, lowering);
  return applyPartialConversion(lowering.function, target, std::move(patterns));
}

/// What upstream lowers in place of a dialect conversion.
static LogicalResult expandStructure(LLVM::LLVMFuncOp function) {
  MLIRContext *context = function.getContext();
  ConversionTarget target(*context);
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  target.addIllegalDialect<scf::SCFDialect>();
  target.addIllegalOp<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>();
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  return applyPartialConversion(function, target, std::move(patterns));
}

/// Step three: only llvm and nvvm are left.
static LogicalResult lowerToMachine(LLVM::LLVMFuncOp function) {
  MLIRContext *context = function.getContext();
  LLVMTypeConverter converter(context);
  LLVMConversionTarget target(*context);
  target.addLegalDialect<NVVM::NVVMDialect>();
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  return applyPartialConversion(function, target, std::move(patterns));
}

/// Upstream leaves a loop's annotation on its back edge under a foreign name.
static void placeLoopAnnotations(LLVM::LLVMFuncOp function) {
  function.walk([](LLVM::BrOp branch) {
    if (Attribute annotation = branch->removeDiscardableAttr(kLoopAnnotationName)) {
      branch.setLoopAnnotationAttr(cast<LLVM::LoopAnnotationAttr>(annotation));
    }
  });
}

namespace {
struct ConvertTileToNVVM : fa4::impl::ConvertTileToNVVMBase<ConvertTileToNVVM> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto kernels = llvm::to_vector(module.getOps<KernelOp>());
    for (KernelOp kernel : kernels) {
      if (failed(checkControl(kernel)) || failed(checkValues(kernel))) {
        return signalPassFailure();
      }
    }
    if (kernels.empty()) {
      return markAllAnalysesPreserved();
    }
    declareSharedMemory(module);
    llvm::DenseMap<StringAttr, SmallVector<LaunchOp>> launches;
    module.walk(
        [&](LaunchOp launch) { launches[launch.getKernelAttr().getAttr()].push_back(launch); });
    for (KernelOp kernel : kernels) {
      hoistLaunchNumbers(kernel, launches[kernel.getSymNameAttr()]);
      if (failed(lowerKernel(kernel))) {
        return signalPassFailure();
      }
      ++numKernels;
    }
  }

private:
  static void declareSharedMemory(ModuleOp module) {
    if (module.lookupSymbol(kSharedMemoryName)) {
      return;
    }
    constexpr uint64_t alignment = 1024; // of a 128-byte swizzle (PTX ISA, swizzling modes)
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
    LLVM::GlobalOp::create(b, module.getLoc(), bytes, /*isConstant=*/false, LLVM::Linkage::External,
                           kSharedMemoryName, Attribute(), alignment, kSharedSpace);
  }

  static LogicalResult lowerKernel(KernelOp kernel) {
    sinkStores(kernel);
    Lowering lowering(kernel);
    IRRewriter rewriter(kernel.getContext());
    buildFrame(lowering, rewriter);
    splitRows(lowering, rewriter);
    carrySumsApart(lowering, rewriter);
    findLazyMaxima(lowering);
    findPieceChains(lowering);
    if (failed(lowerTileOps(lowering)) || failed(expandMath(lowering.function)) ||
        failed(expandStructure(lowering.function))) {
      return failure();
    }
    // Rows that nobody uses as a whole.
    (void)runRegionDCE(rewriter, lowering.function->getRegions());
    if (failed(lowerToMachine(lowering.function))) {
      return failure();
    }
    placeLoopAnnotations(lowering.function);
    kernel.erase();
    return success();
  }
};
} // namespace
