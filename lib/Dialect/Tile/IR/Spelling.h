//===- Spelling.h - shared pieces of the tile assembly -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How an op names memory, once for all ops: `%token as @View` from tokens,
// `@View[element] at %cursor mod depth` where slots are placed. The generated
// parsers and printers call these by name.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_IR_SPELLING_H
#define FA4_LIB_DIALECT_TILE_IR_SPELLING_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include <optional>

namespace fa4::tile {

using OptionalOperand = std::optional<mlir::OpAsmParser::UnresolvedOperand>;

/// `[2]`, `[%r]` or nothing: an element of a family.
mlir::ParseResult parseElement(mlir::OpAsmParser &parser, OptionalOperand &element,
                               mlir::IntegerAttr &staticElement);
void printElement(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Value element,
                  mlir::IntegerAttr staticElement);

/// `@symbol[element] at %cursor mod depth`; element and cursor are optional.
mlir::ParseResult parseSlot(mlir::OpAsmParser &parser, OptionalOperand &cursor,
                            mlir::Type &cursorType, mlir::FlatSymbolRefAttr &symbol,
                            OptionalOperand &element, mlir::IntegerAttr &staticElement);
void printSlot(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Value cursor,
               mlir::Type cursorType, mlir::FlatSymbolRefAttr symbol, mlir::Value element,
               mlir::IntegerAttr staticElement);

/// `%token as @View` with a read token, or a slot.
mlir::ParseResult parseReadPlace(mlir::OpAsmParser &parser, OptionalOperand &handle,
                                 mlir::Type &handleType, mlir::FlatSymbolRefAttr &view,
                                 OptionalOperand &element, mlir::IntegerAttr &staticElement);
void printReadPlace(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Value handle,
                    mlir::Type handleType, mlir::FlatSymbolRefAttr view, mlir::Value element,
                    mlir::IntegerAttr staticElement);

/// `to %token as @View`, `over %token as @View` (a read token), or `to` a slot.
mlir::ParseResult parseWriteTarget(mlir::OpAsmParser &parser, OptionalOperand &handle,
                                   mlir::Type &handleType, mlir::FlatSymbolRefAttr &view,
                                   OptionalOperand &element, mlir::IntegerAttr &staticElement);
void printWriteTarget(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Value handle,
                      mlir::Type handleType, mlir::FlatSymbolRefAttr view, mlir::Value element,
                      mlir::IntegerAttr staticElement);

/// `in @View[element]`, `in %token as @View`, or `in over %token as @View` with a
/// read token: where a value is kept.
mlir::ParseResult parseKeepPlace(mlir::OpAsmParser &parser, OptionalOperand &handle,
                                 mlir::Type &handleType, mlir::FlatSymbolRefAttr &view,
                                 mlir::IntegerAttr &element);
void printKeepPlace(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Value handle,
                    mlir::Type handleType, mlir::FlatSymbolRefAttr view, mlir::IntegerAttr element);

/// ` after(%e, %f)`, ` after(all)` or nothing.
mlir::ParseResult parseAfter(mlir::OpAsmParser &parser,
                             llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &after,
                             mlir::UnitAttr &all);
void printAfter(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ValueRange after,
                mlir::UnitAttr all);

/// `smem 1024 bytes` or `tmem 128 columns`.
mlir::ParseResult parseSize(mlir::OpAsmParser &parser, SpaceAttr &space, mlir::IntegerAttr &size);
void printSize(mlir::OpAsmPrinter &printer, mlir::Operation *op, SpaceAttr space,
               mlir::IntegerAttr size);

/// `@load, @softmax each`: the ends on one side of a channel.
mlir::ParseResult parseEnds(mlir::OpAsmParser &parser, mlir::ArrayAttr &ends);
void printEnds(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ArrayAttr ends);

/// `@A, @B`, possibly none.
mlir::ParseResult parseSymbols(mlir::OpAsmParser &parser, mlir::ArrayAttr &symbols);
void printSymbols(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ArrayAttr symbols);

/// `1, 0`.
mlir::ParseResult parseIntegers(mlir::OpAsmParser &parser, mlir::DenseI64ArrayAttr &integers);
void printIntegers(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                   mlir::DenseI64ArrayAttr integers);

/// `thread`, `warp`, ...: how threads arrive.
mlir::ParseResult parseArrival(mlir::OpAsmParser &parser, ArrivalAttr &arrival);
void printArrival(mlir::OpAsmPrinter &printer, mlir::Operation *op, ArrivalAttr arrival);

/// `[tmem_loads, before]`: what a fence orders.
mlir::ParseResult parseFenceKinds(mlir::OpAsmParser &parser, FenceKindAttr &kinds);
void printFenceKinds(mlir::OpAsmPrinter &printer, mlir::Operation *op, FenceKindAttr kinds);

/// `own` or `other`.
mlir::ParseResult parseSide(mlir::OpAsmParser &parser, mlir::UnitAttr &other);
void printSide(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::UnitAttr other);

/// ` on leader`, ` on peer` or nothing: whose barrier.
mlir::ParseResult parseHome(mlir::OpAsmParser &parser, mlir::UnitAttr &onLeader,
                            mlir::UnitAttr &onPeer);
void printHome(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::UnitAttr onLeader,
               mlir::UnitAttr onPeer);

/// `: T` for an async with a value of type T, nothing for one without.
mlir::ParseResult parseAwaitType(mlir::OpAsmParser &parser, mlir::Type &async, mlir::Type &result);
void printAwaitType(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Type async,
                    mlir::Type result);

/// ` : types` of values that pass through; nothing without values.
mlir::ParseResult parseSameTypes(mlir::OpAsmParser &parser,
                                 llvm::SmallVectorImpl<mlir::Type> &values,
                                 llvm::SmallVectorImpl<mlir::Type> &results);
void printSameTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::TypeRange values,
                    mlir::TypeRange results);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_IR_SPELLING_H
