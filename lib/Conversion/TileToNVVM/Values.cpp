//===- Values.cpp - tile values in registers ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which ops on tile values a kernel may hold, and the patterns that lower them.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;

namespace fa4::tile::gpu {

LogicalResult checkValues(KernelOp) { return success(); }

void populateValuePatterns(const TileToNVVMTypeConverter &, RewritePatternSet &, const Lowering &) {
}

} // namespace fa4::tile::gpu
