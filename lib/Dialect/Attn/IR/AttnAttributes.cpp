//===- AttnAttributes.cpp - layouts and masks -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask says by itself which interval of keys it keeps; nothing else in the
// project knows the names of the masks.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/IR/AttnAttributes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

#include "fa4/Dialect/Attn/IR/AttnEnums.cpp.inc"
#include "fa4/Dialect/Attn/IR/AttnInterfaces.cpp.inc"

/// `none`, or a number; never a number that means none (M4).
static ParseResult parseBound(AsmParser &parser, std::optional<int64_t> &bound) {
  if (succeeded(parser.parseOptionalKeyword("none"))) {
    bound.reset();
    return success();
  }
  return parser.parseInteger(bound.emplace());
}

static void printBound(AsmPrinter &printer, std::optional<int64_t> bound) {
  if (bound) {
    printer << *bound;
  } else {
    printer << "none";
  }
}

#define GET_ATTRDEF_CLASSES
#include "fa4/Dialect/Attn/IR/AttnAttributes.cpp.inc"

void AttnDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fa4/Dialect/Attn/IR/AttnAttributes.cpp.inc"
      >();
}

TensorDims attn::getTensorDims(Layout layout) {
  switch (layout) {
  case Layout::BSHD:
    return {0, 1, 2, 3};
  case Layout::BHSD:
    return {0, 2, 1, 3};
  case Layout::THD:
    return {std::nullopt, 0, 1, 2};
  }
  llvm_unreachable("all layouts are listed");
}

MaskBounds CausalAttr::getBounds() const { return {getAlignment(), std::nullopt, 0}; }

MaskBounds WindowAttr::getBounds() const {
  MaskBounds bounds;
  bounds.alignment = getAlignment();
  if (getLeft()) {
    bounds.lower = -*getLeft();
  }
  bounds.upper = getRight();
  return bounds;
}

LogicalResult WindowAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                 std::optional<int64_t> left, std::optional<int64_t> right,
                                 MaskAlignment) {
  for (auto [name, bound] :
       {std::pair<StringRef, std::optional<int64_t>>{"left", left}, {"right", right}}) {
    if (bound && !llvm::isInt<32>(*bound)) { // M4
      return emitError() << "expected the window's " << name
                         << " bound to be none or to fit 32 bits, but got " << *bound;
    }
  }
  return success();
}
