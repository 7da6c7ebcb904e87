//===- TileDialect.cpp - registration of the tile dialect ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/TileDialect.h"

#include "fa4/Dialect/Tile/IR/TileDialect.cpp.inc"

void fa4::tile::TileDialect::initialize() {}
