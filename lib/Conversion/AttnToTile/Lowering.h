//===- Lowering.h - the parts of convert-attn-to-tile -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function per op of the attn dialect.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_LOWERING_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_LOWERING_H

#include "fa4/Dialect/Attn/IR/AttnOps.h"
#include "fa4/Dialect/Tile/IR/TileOps.h"

namespace fa4 {

/// Replaces the op by a kernel of its own and a launch. Emits one error if the
/// op cannot be lowered; nothing is changed then.
mlir::LogicalResult lowerForward(attn::ForwardOp op);

/// Replaces the op by loops over its rows.
mlir::LogicalResult lowerMerge(attn::MergeOp op);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_LOWERING_H
