//===- TileAttrs.h - attributes of the tile dialect -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes verify themselves; a share or fact that exists is well formed.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEATTRS_H
#define FA4_DIALECT_TILE_IR_TILEATTRS_H

#include "mlir/IR/BuiltinAttributes.h"

#include "fa4/Dialect/Tile/IR/TileTypes.h"

#define GET_ATTRDEF_CLASSES
#include "fa4/Dialect/Tile/IR/TileAttrs.h.inc"

#endif // FA4_DIALECT_TILE_IR_TILEATTRS_H
