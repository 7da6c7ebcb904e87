//===- WorkOp.cpp - tile.work -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The work is the one computation of coordinates and trip counts. Its spelling
// names results, so facts are checked by name when they are read.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fa4::tile;

YieldOp WorkOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

std::optional<unsigned> WorkOp::findResult(StringRef name) {
  for (unsigned index = 0; index < getNumWorkResults(); ++index) {
    if (getResultName(index) == name) {
      return index;
    }
  }
  return std::nullopt;
}

bool WorkOp::impliesAtLeast(unsigned result, int64_t constant) {
  return llvm::any_of(getFacts().getAsRange<FactAttr>(), [&](FactAttr fact) {
    return fact.isConstantLower() && fact.getUpper() == result && fact.getConstant() >= constant;
  });
}

void WorkOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setNameFn) {
  if (region.getNumArguments() > 0) {
    setNameFn(region.getArgument(0), "t");
  }
}

//===----------------------------------------------------------------------===//
// Spelling
//===----------------------------------------------------------------------===//

/// A name as written, `%q0` without the sign.
static ParseResult parseResultName(OpAsmParser &parser, StringRef &name) {
  OpAsmParser::UnresolvedOperand operand;
  if (parser.parseOperand(operand, /*allowResultNumber=*/false)) {
    return failure();
  }
  name = operand.name.drop_front();
  return success();
}

/// One side of a fact: the number of a result, or -1 and a constant.
static ParseResult parseFactSide(OpAsmParser &parser, ArrayRef<Attribute> names, int64_t &side,
                                 int64_t &constant) {
  OptionalParseResult integer = parser.parseOptionalInteger(constant);
  if (integer.has_value()) {
    side = -1;
    return *integer;
  }
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parseResultName(parser, name)) {
    return failure();
  }
  auto found = llvm::find_if(
      names, [&](Attribute attr) { return cast<StringAttr>(attr).getValue() == name; });
  if (found == names.end()) {
    return parser.emitError(loc) << "expected a fact to speak of a result of the work, but got '%"
                                 << name << "'";
  }
  side = found - names.begin();
  return success();
}

ParseResult WorkOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  Type i32 = builder.getI32Type();
  StringAttr name;
  SmallVector<OpAsmParser::Argument> args(1);
  OpAsmParser::UnresolvedOperand tiles;
  Type tilesType;
  SmallVector<OpAsmParser::UnresolvedOperand> uses;
  SmallVector<Type> useTypes;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name), result.attributes) ||
      parser.parseLParen() || parser.parseArgument(args.front()) || parser.parseRParen() ||
      parser.parseKeyword("tiles") || parser.parseLParen() || parser.parseOperand(tiles) ||
      parser.parseColonType(tilesType) || parser.parseRParen() ||
      parser.resolveOperand(tiles, tilesType, result.operands)) {
    return failure();
  }
  args.front().type = i32;
  SMLoc usesLoc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("uses"))) {
    if (parser.parseLParen() || parser.parseOperandList(uses) ||
        parser.parseColonTypeList(useTypes) || parser.parseRParen() ||
        parser.resolveOperands(uses, useTypes, usesLoc, result.operands)) {
      return failure();
    }
  }
  for (auto [use, type] : llvm::zip_equal(uses, useTypes)) {
    OpAsmParser::Argument arg;
    arg.ssaName = use;
    arg.type = type;
    args.push_back(arg);
  }

  SmallVector<Attribute> names, facts;
  auto parseName = [&]() -> ParseResult {
    StringRef resultName;
    if (parseResultName(parser, resultName)) {
      return failure();
    }
    names.push_back(builder.getStringAttr(resultName));
    return success();
  };
  auto parseFact = [&]() -> ParseResult {
    int64_t lower = -1, upper = -1, constant = 0;
    if (parseFactSide(parser, names, lower, constant) || parser.parseLess() ||
        parser.parseEqual() || parseFactSide(parser, names, upper, constant)) {
      return failure();
    }
    auto fact = parser.getChecked<FactAttr>(builder.getContext(), lower, upper, constant);
    facts.push_back(fact);
    return success(static_cast<bool>(fact));
  };
  if (parser.parseArrow() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseName) ||
      (succeeded(parser.parseOptionalKeyword("facts")) &&
       parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseFact)) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes)) {
    return failure();
  }
  result.addAttribute(getResultNamesAttrName(result.name), builder.getArrayAttr(names));
  result.addAttribute(getFactsAttrName(result.name), builder.getArrayAttr(facts));
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, args, /*enableNameShadowing=*/true)) {
    return failure();
  }
  WorkOp::ensureTerminator(*body, builder, result.location);
  return success();
}

void WorkOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  SmallVector<Value> shadowed{Value()}; // the tile's number has a name of its own
  llvm::append_range(shadowed, getUses());
  printer.shadowRegionArgs(getBody(), shadowed);
  printer << '(' << getBody().getArgument(0) << ") tiles(" << getTiles() << " : "
          << getTiles().getType() << ')';
  if (!getUses().empty()) {
    printer << " uses(" << getUses() << " : " << getUses().getTypes() << ')';
  }
  printer << " -> (";
  llvm::interleaveComma(getResultNames().getAsRange<StringAttr>(), printer,
                        [&](StringAttr name) { printer << '%' << name.getValue(); });
  printer << ')';
  if (!getFacts().empty()) {
    auto printSide = [&](int64_t side, int64_t constant) {
      if (side < 0) {
        printer << constant;
      } else {
        printer << '%' << getResultName(side);
      }
    };
    printer << " facts(";
    llvm::interleaveComma(getFacts().getAsRange<FactAttr>(), printer, [&](FactAttr fact) {
      printSide(fact.getLower(), fact.getConstant());
      printer << " <= ";
      printSide(fact.getUpper(), fact.getConstant());
    });
    printer << ')';
  }
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getSymNameAttrName(), getResultNamesAttrName(), getFactsAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {
/// A side of a fact.
struct FactSide {
  int64_t result; // -1: the constant
  int64_t constant = 0;
  bool isConstant() const { return result < 0; }
};
} // namespace

static FactSide getLower(FactAttr fact) { return {fact.getLower(), fact.getConstant()}; }
static FactSide getUpper(FactAttr fact) { return {fact.getUpper(), fact.getConstant()}; }

/// Whether `facts` together say that `lower <= upper`.
static bool isImplied(ArrayRef<FactAttr> facts, FactSide lower, FactSide upper) {
  if (lower.isConstant() && upper.isConstant()) {
    return lower.constant <= upper.constant;
  }
  SmallVector<FactSide> reached = {lower};
  auto covers = [](FactSide side, FactSide next) {
    return side.isConstant() && next.isConstant() ? side.constant <= next.constant
                                                  : side.result == next.result;
  };
  for (size_t next = 0; next < reached.size(); ++next) {
    FactSide side = reached[next];
    if (covers(side, upper)) {
      return true;
    }
    for (FactAttr fact : facts) {
      // From a constant also over every smaller bound: 3 <= 5 and 1 <= %x by 3 <= %x.
      bool follows = side.isConstant()
                         ? fact.isConstantLower() && side.constant <= fact.getConstant()
                         : fact.getLower() == side.result;
      FactSide above = getUpper(fact);
      if (follows && llvm::none_of(reached, [&](FactSide old) { return covers(old, above); })) {
        reached.push_back(above);
      }
    }
  }
  return false;
}

/// An earlier fact that making `fact` true may break: the changed result gets the
/// value of the fact's other side, for which nothing says the same.
static std::optional<FactAttr> findBroken(ArrayRef<FactAttr> earlier, FactAttr fact) {
  bool raises = fact.isConstantLower();
  FactSide changed = raises ? getUpper(fact) : getLower(fact);
  FactSide value = raises ? getLower(fact) : getUpper(fact);
  for (FactAttr old : earlier) {
    FactSide bounded = raises ? getLower(old) : getUpper(old);
    FactSide other = raises ? getUpper(old) : getLower(old);
    if (bounded.result == changed.result && other.result != changed.result &&
        !(raises ? isImplied(earlier, value, other) : isImplied(earlier, other, value))) {
      return old;
    }
  }
  return std::nullopt;
}

LogicalResult WorkOp::verify() {
  llvm::StringSet<> seen;
  for (auto name : getResultNames().getAsRange<StringAttr>()) {
    if (!seen.insert(name.getValue()).second) { // work C2
      return emitOpError() << "expected result names to differ, but got '" << name.getValue()
                           << "' twice";
    }
  }
  auto count = static_cast<int64_t>(getNumWorkResults());
  for (auto fact : getFacts().getAsRange<FactAttr>()) {
    if (fact.getLower() >= count || fact.getUpper() >= count) { // work C3
      return emitOpError() << "expected facts to speak of " << count << " results, but got result "
                           << std::max(fact.getLower(), fact.getUpper());
    }
  }
  auto text = [&](FactSide side) {
    return side.isConstant() ? std::to_string(side.constant)
                             : ("%" + getResultName(side.result)).str();
  };
  SmallVector<FactAttr> earlier;
  for (auto fact : getFacts().getAsRange<FactAttr>()) {
    if (std::optional<FactAttr> broken = findBroken(earlier, fact)) { // work C5
      return emitOpError() << "expected facts in an order in which each leaves the ones before "
                              "true, but got "
                           << text(getLower(fact)) << " <= " << text(getUpper(fact)) << " after "
                           << text(getLower(*broken)) << " <= " << text(getUpper(*broken))
                           << "; bound the outer number first";
    }
    earlier.push_back(fact);
  }
  return success();
}

LogicalResult WorkOp::verifyRegions() {
  SmallVector<Type> expected{IntegerType::get(getContext(), 32)};
  llvm::append_range(expected, getUses().getTypes());
  if (getBody().getArgumentTypes() != TypeRange(expected)) { // work C1
    return emitOpError() << "expected region arguments to be " << TypeRange(expected)
                         << ", but got " << TypeRange(getBody().getArgumentTypes());
  }
  YieldOp yield = getYield();
  if (yield.getValues().size() != getNumWorkResults()) { // work C2
    return emitOpError() << "expected the region to yield " << getNumWorkResults()
                         << " values, but got " << yield.getValues().size();
  }
  for (Type type : yield.getValues().getTypes()) {
    if (!type.isSignlessInteger(32)) { // work C2
      return yield.emitOpError() << "expected results of a work to be i32, but got " << type;
    }
  }
  WalkResult result = getBody().walk([&](Operation *op) {
    if (isa<FetchOp>(op) || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
        isMemoryEffectFree(op)) {
      return WalkResult::advance();
    }
    op->emitOpError() << "expected ops inside a work to be free of memory effects"; // work C4
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
