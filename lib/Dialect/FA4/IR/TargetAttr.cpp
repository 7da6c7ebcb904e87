//===- TargetAttr.cpp - #fa4.target ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsing starts from the table's row, if there is one, and prints every field:
// what was read is what stands in the dump. Also holds the registration of all
// attributes, which needs their definitions.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4;

#include "fa4/Dialect/FA4/IR/FA4Enums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fa4/Dialect/FA4/IR/FA4Attributes.cpp.inc"

void FA4Dialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fa4/Dialect/FA4/IR/FA4Attributes.cpp.inc"
      >();
}

static ParseResult parseField(AsmParser &parser, const TargetField &field, TargetInfo &info) {
  if (field.number) {
    return parser.parseInteger(info.*field.number);
  }
  if (field.list) {
    std::vector<int64_t> &list = info.*field.list;
    list.clear();
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                          [&] { return parser.parseInteger(list.emplace_back()); });
  }
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word)) {
    return failure();
  }
  if (word != "true" && word != "false") {
    return parser.emitError(loc, "expected '")
           << field.name << "' to be true or false, but got '" << word << "'";
  }
  info.*field.flag = word == "true";
  return success();
}

Attribute TargetAttr::parse(AsmParser &parser, Type) {
  TargetInfo info;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseString(&info.chip)) {
    return {};
  }
  const TargetInfo *row = lookupTarget(info.chip);
  if (row) {
    info = *row;
  }
  llvm::StringSet<> seen;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc fieldLoc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual()) {
      return {};
    }
    const TargetField *field = llvm::find_if(
        targetFields(), [&](const TargetField &candidate) { return candidate.name == name; });
    if (field == targetFields().end()) {
      parser.emitError(fieldLoc, "expected a field of #fa4.target, but got '") << name << "'";
      return {};
    }
    if (!seen.insert(name).second) {
      parser.emitError(fieldLoc, "expected each field to be given once, but got '")
          << name << "' twice";
      return {};
    }
    if (parseField(parser, *field, info)) {
      return {};
    }
  }
  if (parser.parseGreater()) {
    return {};
  }
  for (const TargetField &field : targetFields()) {
    if (!row && !seen.contains(field.name)) {
      InFlightDiagnostic diag = parser.emitError(loc, "expected chip to be one of ");
      llvm::interleaveComma(knownTargets(), diag);
      diag << " or to state every field, but got \"" << info.chip << "\" without '" << field.name
           << "'";
      return {};
    }
  }
  return parser.getChecked<TargetAttr>(loc, parser.getContext(), info);
}

void TargetAttr::print(AsmPrinter &printer) const {
  const TargetInfo &info = getInfo();
  printer << "<";
  printer.printString(info.chip);
  for (const TargetField &field : targetFields()) {
    printer << ", " << field.name << " = ";
    if (field.number) {
      printer << info.*field.number;
    } else if (field.list) {
      printer << "[";
      llvm::interleaveComma(info.*field.list, printer);
      printer << "]";
    } else {
      printer << (info.*field.flag ? "true" : "false");
    }
  }
  printer << ">";
}

LogicalResult TargetAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                 TargetInfo info) {
  std::string problem = checkTarget(info);
  return problem.empty() ? LogicalResult(success()) : emitError() << problem;
}
