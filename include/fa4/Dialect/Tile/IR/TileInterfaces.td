//===- TileInterfaces.td - interfaces of the tile dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEINTERFACES_TD
#define FA4_DIALECT_TILE_IR_TILEINTERFACES_TD

include "mlir/IR/OpBase.td"

def Tile_AsyncOpInterface : OpInterface<"AsyncOpInterface"> {
  let cppNamespace = "::fa4::tile";
  let description = [{
    An op that starts something and goes on. Completion, arrival counts and bytes
    of a commit or release follow from the engines of the ops it names.
  }];
  let methods = [
    InterfaceMethod<"The engine that completes the op.", "::fa4::tile::Engine", "getEngine">
  ];
}

#endif // FA4_DIALECT_TILE_IR_TILEINTERFACES_TD
