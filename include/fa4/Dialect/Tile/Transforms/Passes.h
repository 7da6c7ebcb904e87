//===- Passes.h - passes on the tile dialect -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated declarations and the one call that registers them.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_TRANSFORMS_PASSES_H
#define FA4_DIALECT_TILE_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace fa4::tile {

#define GEN_PASS_DECL
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_TRANSFORMS_PASSES_H
