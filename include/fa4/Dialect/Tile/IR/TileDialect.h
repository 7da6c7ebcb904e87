//===- TileDialect.h - the tile dialect ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEDIALECT_H
#define FA4_DIALECT_TILE_IR_TILEDIALECT_H

#include "mlir/IR/Dialect.h"

#include "fa4/Dialect/Tile/IR/TileDialect.h.inc"

#endif // FA4_DIALECT_TILE_IR_TILEDIALECT_H
