//===- TileOps.td - all ops of the tile dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEOPS_TD
#define FA4_DIALECT_TILE_IR_TILEOPS_TD

include "fa4/Dialect/Tile/IR/TileHomedOps.td"
include "fa4/Dialect/Tile/IR/TilePlacedOps.td"
include "fa4/Dialect/Tile/IR/TileProgramOps.td"
include "fa4/Dialect/Tile/IR/TileValueOps.td"

#endif // FA4_DIALECT_TILE_IR_TILEOPS_TD
