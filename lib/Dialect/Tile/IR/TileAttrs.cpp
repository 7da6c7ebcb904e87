//===- TileAttrs.cpp - attributes of the tile dialect -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shares and facts verify themselves here, with the labels of their records.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/TileAttrs.h"

#include "fa4/Dialect/Tile/IR/TileDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4::tile;

#include "fa4/Dialect/Tile/IR/TileEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fa4/Dialect/Tile/IR/TileAttrs.cpp.inc"

void TileDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fa4/Dialect/Tile/IR/TileAttrs.cpp.inc"
      >();
}

LogicalResult Exp2ShareAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t degree,
                                    int64_t period, int64_t last, int64_t firstChunk,
                                    int64_t lastChunk) {
  if (degree < 1 || degree > 8) { // exp2_share C1
    return emitError() << "expected degree of an exp2 share to be from 1 to 8, but got " << degree;
  }
  if (period < 1) { // exp2_share C2
    return emitError() << "expected period of an exp2 share to be positive, but got " << period;
  }
  if (last < 0 || last > period) { // exp2_share C2
    return emitError() << "expected last of an exp2 share to be from 0 to the period " << period
                       << ", but got " << last;
  }
  if (firstChunk < 0 || lastChunk < firstChunk) { // exp2_share C3
    return emitError() << "expected chunks of an exp2 share to be an ascending range, but got "
                       << firstChunk << " to " << lastChunk;
  }
  return success();
}

bool Exp2ShareAttr::isPolynomial(int64_t column) const {
  int64_t chunk = column / kChunkColumns;
  return getFirstChunk() <= chunk && chunk <= getLastChunk() &&
         column % getPeriod() >= getPeriod() - getLast();
}

LogicalResult FactAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t lower,
                               int64_t upper, int64_t constant) {
  if (lower < 0 && upper < 0) { // fact C1
    return emitError() << "expected a fact to compare at least one result, but got two constants";
  }
  if (lower < -1 || upper < -1) { // fact C2
    return emitError() << "expected sides of a fact to be result numbers or -1, but got " << lower
                       << " and " << upper;
  }
  return success();
}

LogicalResult SmemLayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, Major major,
                                     int64_t swizzle, int64_t panel) {
  bool linear = major == Major::Linear;
  bool known = swizzle == 32 || swizzle == 64 || swizzle == 128;
  if (linear ? swizzle != 0 : !known) { // smem C1
    return emitError() << "expected swizzle of a " << stringifyMajor(major) << " layout to be "
                       << (linear ? "absent" : "32, 64 or 128 bytes") << ", but got " << swizzle;
  }
  if (panel < 0 || (linear ? panel != 0 : panel % swizzle != 0)) { // smem C2
    return emitError() << "expected panel of a " << stringifyMajor(major) << " layout to be "
                       << (linear ? "absent" : "a multiple of its swizzle") << ", but got "
                       << panel;
  }
  return success();
}
