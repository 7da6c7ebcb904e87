//===- TileDialect.cpp - the tile dialect -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers all types, attributes and ops, and names layouts in printed IR.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/TileDialect.h"

#include "fa4/Dialect/Tile/IR/TileOps.h"

using namespace mlir;

#include "fa4/Dialect/Tile/IR/TileDialect.cpp.inc"

void fa4::tile::TileDialect::initialize() {
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "fa4/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
}
