//===- TileTypes.h - types of the tile dialect -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types are uniqued and verify themselves; nothing here depends on an op.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILETYPES_H
#define FA4_DIALECT_TILE_IR_TILETYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Types.h"

#include "fa4/Dialect/Tile/IR/TileEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "fa4/Dialect/Tile/IR/TileTypes.h.inc"

#endif // FA4_DIALECT_TILE_IR_TILETYPES_H
