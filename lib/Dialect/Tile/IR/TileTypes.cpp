//===- TileTypes.cpp - types of the tile dialect -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile type that exists has static positive extents and a legal element type.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/TileTypes.h"

#include "fa4/Dialect/Tile/IR/TileAttrs.h"
#include "fa4/Dialect/Tile/IR/TileDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4::tile;

#define GET_TYPEDEF_CLASSES
#include "fa4/Dialect/Tile/IR/TileTypes.cpp.inc"

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "fa4/Dialect/Tile/IR/TileTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Shared spelling: <128x96xbf16
//===----------------------------------------------------------------------===//

static ParseResult parseShapeAndElement(AsmParser &parser, SmallVectorImpl<int64_t> &shape,
                                        Type &element) {
  return failure(parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
                 parser.parseType(element));
}

static void printShapeAndElement(AsmPrinter &printer, ArrayRef<int64_t> shape, Type element) {
  for (int64_t extent : shape) {
    printer << extent << 'x';
  }
  printer << element;
}

static LogicalResult verifyExtents(function_ref<InFlightDiagnostic()> emitError, StringRef what,
                                   ArrayRef<int64_t> extents) {
  for (int64_t extent : extents) {
    if (extent <= 0) {
      return emitError() << "expected extents of a " << what << " to be positive, but got "
                         << extent;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// FragType
//===----------------------------------------------------------------------===//

Type FragType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  Attribute layout;
  if (parser.parseLess() || parseShapeAndElement(parser, shape, element) ||
      (succeeded(parser.parseOptionalComma()) && parser.parseAttribute(layout)) ||
      parser.parseGreater()) {
    return Type();
  }
  return parser.getChecked<FragType>(parser.getContext(), shape, element, layout);
}

void FragType::print(AsmPrinter &printer) const {
  printer << '<';
  printShapeAndElement(printer, getShape(), getElementType());
  if (getLayout()) {
    printer << ", " << getLayout();
  }
  printer << '>';
}

LogicalResult FragType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type elementType, Attribute layout) {
  if (shape.empty() || shape.size() > 2) { // frag C1
    return emitError() << "expected rank of a frag to be 1 or 2, but got " << shape.size();
  }
  if (failed(verifyExtents(emitError, "frag", shape))) { // frag C1
    return failure();
  }
  if (!isa<FloatType>(elementType) && !elementType.isSignlessInteger(1) &&
      !elementType.isSignlessInteger(32)) { // frag C2
    return emitError() << "expected element type of a frag to be a float, i1 or i32, but got "
                       << elementType;
  }
  if (layout && !isa<SpreadAttr>(layout)) { // frag C3
    return emitError() << "expected layout of a frag to be a #tile.spread, but got " << layout;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// GlobalType
//===----------------------------------------------------------------------===//

Type GlobalType::parse(AsmParser &parser) {
  SmallVector<int64_t> box;
  Type element;
  if (parser.parseLess() || parseShapeAndElement(parser, box, element) || parser.parseGreater()) {
    return Type();
  }
  return parser.getChecked<GlobalType>(parser.getContext(), box, element);
}

void GlobalType::print(AsmPrinter &printer) const {
  printer << '<';
  printShapeAndElement(printer, getBox(), getElementType());
  printer << '>';
}

LogicalResult GlobalType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> box, Type elementType) {
  if (box.empty()) { // global C1
    return emitError() << "expected rank of a global to be at least 1, but got 0";
  }
  if (failed(verifyExtents(emitError, "global's box", box))) { // global C1
    return failure();
  }
  int64_t tileDims = llvm::count_if(box, [](int64_t extent) { return extent != 1; });
  if (tileDims > 2) { // global C2
    return emitError() << "expected a global's box to have at most 2 extents other than 1, but got "
                       << tileDims;
  }
  if (!isa<FloatType>(elementType) && !elementType.isSignlessInteger()) { // global C3
    return emitError()
           << "expected element type of a global to be a float or signless integer, but got "
           << elementType;
  }
  return success();
}

SmallVector<int64_t> GlobalType::getTileShape() const {
  return llvm::filter_to_vector(getBox(), [](int64_t extent) { return extent != 1; });
}

SmallVector<int64_t> GlobalType::getTileDims() const {
  SmallVector<int64_t> dims;
  for (auto [dim, extent] : llvm::enumerate(getBox())) {
    if (extent != 1) {
      dims.push_back(dim);
    }
  }
  return dims;
}

FragType GlobalType::getTileType() const {
  SmallVector<int64_t> shape = getTileShape();
  if (shape.empty()) {
    return FragType();
  }
  return FragType::get(getContext(), shape, getElementType());
}

//===----------------------------------------------------------------------===//
// CursorType
//===----------------------------------------------------------------------===//

LogicalResult CursorType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t depth) {
  if (depth <= 0) { // cursor C1
    return emitError() << "expected depth of a cursor to be positive, but got " << depth;
  }
  return success();
}
