//===- Frame.h - what the steps of the frame share --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_FRAME_H
#define FA4_LIB_CONVERSION_TILETONVVM_FRAME_H

#include "Lowering.h"

namespace fa4::tile::gpu {

constexpr int64_t kWarpsPerWarpgroup = 4; // PTX ISA: a warpgroup is four contiguous warps

/// A tile as tensor copies see it: `panels` boxes beside each other along the
/// innermost dimension.
struct TensorBox {
  llvm::SmallVector<int64_t> box;
  int64_t swizzle;
  int64_t panels;
};
TensorBox tensorBoxOf(ViewOp view, GlobalType global);

/// The number of the kernel argument that `value`, an argument of the kernel, a
/// role or the work, stands for.
unsigned kernelArgumentOf(mlir::Value value);

/// Threads of a CTA: all warps of roles, and idle ones up to a whole warpgroup.
int64_t countThreads(KernelOp kernel);

/// Creates the function and its entry block, at whose end `b` stands afterwards.
/// Returns what stands for each argument of the kernel.
llvm::SmallVector<mlir::Value> createFunction(Lowering &lowering, mlir::RewriterBase &b);

/// Gives every range of a global in the function a context of its own.
void bindRanges(Lowering &lowering, mlir::RewriterBase &b);

/// Replaces `loop` by the tiles that `draw` gives this CTA. `arguments` stand for those
/// of the kernel.
void lowerTileLoop(ForEachTileOp loop, WorkOp work, llvm::ArrayRef<mlir::Value> arguments,
                   WorkKind draw, bool ofPair, mlir::RewriterBase &b);

} // namespace fa4::tile::gpu

#endif // FA4_LIB_CONVERSION_TILETONVVM_FRAME_H
