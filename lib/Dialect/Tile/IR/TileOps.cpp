//===- TileOps.cpp - generated op definitions -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds the generated op definitions; verifiers and spellings live beside their
// family.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "Spelling.h"

using namespace mlir;
using namespace fa4::tile;

#define GET_OP_CLASSES
#include "fa4/Dialect/Tile/IR/TileOps.cpp.inc"
