//===- Pipelines.h - pipelines from level to level --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Flat lists of passes, one builder per stretch of levels. The verifier of the
// level that a stretch reaches ends it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_PIPELINES_PIPELINES_H
#define FA4_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace fa4 {

struct AttnToTileOptions : public mlir::PassPipelineOptions<AttnToTileOptions> {
  Option<bool> rotateLoops{*this, "rotate-loops",
                           llvm::cl::desc("carry out the schedule's order of steps"),
                           llvm::cl::init(true)};
  Option<bool> pairCtas{*this, "pair-ctas",
                        llvm::cl::desc("a program for each CTA of a pair, not one thread for both"),
                        llvm::cl::init(true)};
};

/// `fa4-attn-to-tile`: attn on tensors or buffers to T0 kernels that carry out
/// all that their schedules say at this level.
void buildAttnToTilePipeline(mlir::OpPassManager &manager, const AttnToTileOptions &options);

/// `fa4-attn-to-cpu`: the same, then to upstream dialects for the host, where one
/// thread is both CTAs of a pair.
void buildAttnToCPUPipeline(mlir::OpPassManager &manager, const AttnToTileOptions &options);

struct TileToNVVMOptions : public mlir::PassPipelineOptions<TileToNVVMOptions> {
  Option<bool> prove{*this, "prove", llvm::cl::desc("prove the protocol, at T1 and at T2"),
                     llvm::cl::init(true)};
};

/// T0 to T1: memory, channels, roles.
void buildTileToRolesPipeline(mlir::OpPassManager &manager, const TileToNVVMOptions &options);

/// T1 to T2: every byte, column, register and barrier placed.
void buildRolesToBarriersPipeline(mlir::OpPassManager &manager);

/// T2 as it came from lowering: what is implied goes, fences come.
void buildSimplifyBarriersPipeline(mlir::OpPassManager &manager, const TileToNVVMOptions &options);

/// T2 to the machine's dialects.
void buildPlacedToNVVMPipeline(mlir::OpPassManager &manager);

/// `fa4-tile-to-nvvm`: T0 to the machine's dialects, the four above.
void buildTileToNVVMPipeline(mlir::OpPassManager &manager, const TileToNVVMOptions &options);

/// `fa4-full`: attention to the machine's dialects.
void buildFullPipeline(mlir::OpPassManager &manager, const TileToNVVMOptions &options);

/// Registers the pipelines under their names.
void registerPipelines();

} // namespace fa4

#endif // FA4_PIPELINES_PIPELINES_H
