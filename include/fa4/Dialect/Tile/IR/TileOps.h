//===- TileOps.h - ops of the tile dialect -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Op classes of all three phases.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEOPS_H
#define FA4_DIALECT_TILE_IR_TILEOPS_H

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Dialect/Tile/IR/TileAttrs.h"
#include "fa4/Dialect/Tile/IR/TileDialect.h"
#include "fa4/Dialect/Tile/IR/TilePhases.h"
#include "fa4/Dialect/Tile/IR/TileResources.h"
#include "fa4/Dialect/Tile/IR/TileTypes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fa4::tile {

/// What completes an asynchronous op. The matrix unit is tcgen05 or wgmma, and a
/// load is TMA or cp.async, as the target has it.
enum class Engine { Load, Store, Send, Next, Mma };

} // namespace fa4::tile

#include "fa4/Dialect/Tile/IR/TileInterfaces.h.inc"

#define GET_OP_CLASSES
#include "fa4/Dialect/Tile/IR/TileOps.h.inc"

#endif // FA4_DIALECT_TILE_IR_TILEOPS_H
