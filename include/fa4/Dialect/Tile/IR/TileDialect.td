//===- TileDialect.td - the tile dialect -----------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEDIALECT_TD
#define FA4_DIALECT_TILE_IR_TILEDIALECT_TD

include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::fa4::tile";
  let summary = "how one CTA computes it: values, roles, placement";
}

#endif // FA4_DIALECT_TILE_IR_TILEDIALECT_TD
