//===- LaunchNumbers.h - what a launch fixes --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_LAUNCHNUMBERS_H
#define FA4_LIB_CONVERSION_TILETONVVM_LAUNCHNUMBERS_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

namespace fa4::tile::gpu {

/// Moves quotients of numbers that are the same for all tiles from the work of
/// `kernel` to `launches`, which are all that there are, and multiplies where the
/// work divides by such a number.
void hoistLaunchNumbers(KernelOp kernel, llvm::ArrayRef<LaunchOp> launches);

} // namespace fa4::tile::gpu

#endif // FA4_LIB_CONVERSION_TILETONVVM_LAUNCHNUMBERS_H
