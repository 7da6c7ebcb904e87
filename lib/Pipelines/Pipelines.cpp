//===- Pipelines.cpp - pipelines from level to level ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every list is flat, and pinned by a test.
//
//===----------------------------------------------------------------------===//

#include "fa4/Pipelines/Pipelines.h"

#include "fa4/Conversion/AttnToTile.h"
#include "fa4/Conversion/TileToCPU.h"
#include "fa4/Conversion/TileToNVVM.h"
#include "fa4/Dialect/Attn/Transforms/Passes.h"
#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fa4;

/// `pairs`: of two CTAs each gets a program; else one thread computes for both.
static void addTilePrograms(OpPassManager &manager, const AttnToTileOptions &options, bool pairs) {
  // attn: everything stated, one schedule per op.
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(attn::createAttnLegalize());
  functions.addPass(attn::createAttnSelectSchedule());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  // Tensors have no strides: whoever has some to pass states buffers.
  bufferize.functionBoundaryTypeConversion = bufferization::LayoutMapOption::IdentityLayoutMap;
  manager.addPass(bufferization::createOneShotBufferizePass(bufferize));
  // T0: one logical thread, in program order.
  manager.addPass(createConvertAttnToTile());
  manager.addPass(createCSEPass());
  OpPassManager &kernels = manager.nest<tile::KernelOp>();
  kernels.addPass(tile::createTileSplitExp2());
  kernels.addPass(tile::createTileLazyRescale());
  kernels.addPass(tile::createTileSplitMma());
  if (pairs) {
    kernels.addPass(tile::createTilePairCtas());
  }
  if (options.rotateLoops) {
    kernels.addPass(tile::createTilePipelineLoop());
  }
  manager.addPass(tile::createTileVerifyT0());
}

void fa4::buildAttnToTilePipeline(OpPassManager &manager, const AttnToTileOptions &options) {
  addTilePrograms(manager, options, options.pairCtas);
}

void fa4::buildAttnToCPUPipeline(OpPassManager &manager, const AttnToTileOptions &options) {
  addTilePrograms(manager, options, /*pairs=*/false);
  // Upstream dialects: no op or type of ours.
  manager.addPass(createConvertTileToCPU());
}

void fa4::buildTileToRolesPipeline(OpPassManager &manager, const TileToNVVMOptions &options) {
  // Still one logical thread: what lives where, and what is handed over.
  OpPassManager &kernels = manager.nest<tile::KernelOp>();
  kernels.addPass(tile::createTileAssignMemory());
  kernels.addPass(tile::createTileInsertChannels());
  // T1: roles that meet in channels.
  kernels.addPass(tile::createTilePartitionRoles());
  kernels.addPass(tile::createTileSplitRange());
  kernels.addPass(tile::createTileStreamRows());
  kernels.addPass(tile::createTileDrawTiles());
  manager.addPass(tile::createTileVerifyT1());
  if (options.prove) {
    manager.addPass(tile::createTileVerifyProtocol());
  }
}

void fa4::buildRolesToBarriersPipeline(OpPassManager &manager) {
  OpPassManager &kernels = manager.nest<tile::KernelOp>();
  kernels.addPass(tile::createTilePlaceTmem());
  kernels.addPass(tile::createTilePlaceSmem());
  kernels.addPass(tile::createTileAssignRegisters());
  // Each half of each channel becomes a barrier, each asynchronous op its completion.
  kernels.addPass(tile::createTileLowerChannels());
  kernels.addPass(tile::createTileLowerAsync());
}

void fa4::buildSimplifyBarriersPipeline(OpPassManager &manager, const TileToNVVMOptions &options) {
  // T2: every address, count and phase known.
  OpPassManager &kernels = manager.nest<tile::KernelOp>();
  kernels.addPass(tile::createTileSimplifyBarriers());
  kernels.addPass(tile::createTileInsertFences());
  manager.addPass(tile::createTileVerifyT2());
  if (options.prove) {
    manager.addPass(tile::createTileVerifyProtocol());
  }
}

void fa4::buildPlacedToNVVMPipeline(OpPassManager &manager) {
  OpPassManager &kernels = manager.nest<tile::KernelOp>();
  kernels.addPass(tile::createTileVerifyTarget());
  kernels.addPass(tile::createTileSkipHidden());
  // Upstream dialects: no op or type of ours but in the host's launches.
  manager.addPass(createConvertTileToNVVM());
  manager.addPass(createCSEPass());
}

void fa4::buildTileToNVVMPipeline(OpPassManager &manager, const TileToNVVMOptions &options) {
  buildTileToRolesPipeline(manager, options);
  buildRolesToBarriersPipeline(manager);
  buildSimplifyBarriersPipeline(manager, options);
  buildPlacedToNVVMPipeline(manager);
}

void fa4::buildFullPipeline(OpPassManager &manager, const TileToNVVMOptions &options) {
  buildAttnToTilePipeline(manager, AttnToTileOptions());
  buildTileToNVVMPipeline(manager, options);
}

void fa4::registerPipelines() {
  PassPipelineRegistration<AttnToTileOptions>(
      "fa4-attn-to-tile", "attention to tile programs of one logical thread (T0)",
      buildAttnToTilePipeline);
  PassPipelineRegistration<AttnToTileOptions>(
      "fa4-attn-to-cpu", "attention to host loops on upstream dialects", buildAttnToCPUPipeline);
  PassPipelineRegistration<TileToNVVMOptions>(
      "fa4-tile-to-nvvm", "T0 kernels to the machine's dialects", buildTileToNVVMPipeline);
  PassPipelineRegistration<TileToNVVMOptions>("fa4-full", "attention to the machine's dialects",
                                              buildFullPipeline);
}
