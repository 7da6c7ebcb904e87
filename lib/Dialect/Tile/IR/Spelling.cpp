//===- Spelling.cpp - shared pieces of the tile assembly -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kind of a token follows from the op and the keyword, and the depth of a
// cursor stands after `mod`, so that no place needs a trailing type.
//
//===----------------------------------------------------------------------===//

#include "Spelling.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

ParseResult fa4::tile::parseElement(OpAsmParser &parser, OptionalOperand &element,
                                    IntegerAttr &staticElement) {
  if (failed(parser.parseOptionalLSquare())) {
    return success();
  }
  OpAsmParser::UnresolvedOperand operand;
  OptionalParseResult parsed = parser.parseOptionalOperand(operand);
  if (parsed.has_value()) {
    element = operand;
    return failure(*parsed || parser.parseRSquare());
  }
  int64_t value = 0;
  if (parser.parseInteger(value) || parser.parseRSquare()) {
    return failure();
  }
  staticElement = parser.getBuilder().getI64IntegerAttr(value);
  return success();
}

void fa4::tile::printElement(OpAsmPrinter &printer, Operation *, Value element,
                             IntegerAttr staticElement) {
  if (element) {
    printer << '[' << element << ']';
  } else if (staticElement) {
    printer << '[' << staticElement.getInt() << ']';
  }
}

ParseResult fa4::tile::parseSlot(OpAsmParser &parser, OptionalOperand &cursor, Type &cursorType,
                                 FlatSymbolRefAttr &symbol, OptionalOperand &element,
                                 IntegerAttr &staticElement) {
  if (parser.parseAttribute(symbol) || parseElement(parser, element, staticElement)) {
    return failure();
  }
  if (failed(parser.parseOptionalKeyword("at"))) {
    return success();
  }
  OpAsmParser::UnresolvedOperand operand;
  int64_t depth = 0;
  if (parser.parseOperand(operand) || parser.parseKeyword("mod") || parser.parseInteger(depth)) {
    return failure();
  }
  cursor = operand;
  cursorType = parser.getChecked<CursorType>(parser.getContext(), depth);
  return success(static_cast<bool>(cursorType));
}

void fa4::tile::printSlot(OpAsmPrinter &printer, Operation *op, Value cursor, Type cursorType,
                          FlatSymbolRefAttr symbol, Value element, IntegerAttr staticElement) {
  printer << symbol;
  printElement(printer, op, element, staticElement);
  if (cursor) {
    printer << " at " << cursor << " mod " << cast<CursorType>(cursorType).getDepth();
  }
}

/// `%token as @View`, if an operand comes next.
static OptionalParseResult parseTokenPlace(OpAsmParser &parser, TokenKind kind,
                                           OptionalOperand &handle, Type &handleType,
                                           FlatSymbolRefAttr &view) {
  OpAsmParser::UnresolvedOperand operand;
  OptionalParseResult parsed = parser.parseOptionalOperand(operand);
  if (!parsed.has_value() || failed(*parsed)) {
    return parsed;
  }
  handle = operand;
  handleType = TokenType::get(parser.getContext(), kind);
  return failure(parser.parseKeyword("as") || parser.parseAttribute(view));
}

ParseResult fa4::tile::parseReadPlace(OpAsmParser &parser, OptionalOperand &handle,
                                      Type &handleType, FlatSymbolRefAttr &view,
                                      OptionalOperand &element, IntegerAttr &staticElement) {
  OptionalParseResult token = parseTokenPlace(parser, TokenKind::Read, handle, handleType, view);
  if (token.has_value()) {
    return *token;
  }
  return parseSlot(parser, handle, handleType, view, element, staticElement);
}

void fa4::tile::printReadPlace(OpAsmPrinter &printer, Operation *op, Value handle, Type handleType,
                               FlatSymbolRefAttr view, Value element, IntegerAttr staticElement) {
  if (handle && isa<TokenType>(handleType)) {
    printer << handle << " as " << view;
    return;
  }
  printSlot(printer, op, handle, handleType, view, element, staticElement);
}

ParseResult fa4::tile::parseWriteTarget(OpAsmParser &parser, OptionalOperand &handle,
                                        Type &handleType, FlatSymbolRefAttr &view,
                                        OptionalOperand &element, IntegerAttr &staticElement) {
  if (succeeded(parser.parseOptionalKeyword("over"))) {
    OptionalParseResult token = parseTokenPlace(parser, TokenKind::Read, handle, handleType, view);
    if (!token.has_value()) {
      return parser.emitError(parser.getCurrentLocation())
             << "expected 'over' to be followed by a read token";
    }
    return *token;
  }
  if (parser.parseKeyword("to")) {
    return failure();
  }
  OptionalParseResult token = parseTokenPlace(parser, TokenKind::Write, handle, handleType, view);
  if (token.has_value()) {
    return *token;
  }
  return parseSlot(parser, handle, handleType, view, element, staticElement);
}

void fa4::tile::printWriteTarget(OpAsmPrinter &printer, Operation *op, Value handle,
                                 Type handleType, FlatSymbolRefAttr view, Value element,
                                 IntegerAttr staticElement) {
  auto token = handle ? dyn_cast<TokenType>(handleType) : TokenType();
  printer << (token && token.getKind() == TokenKind::Read ? "over " : "to ");
  printReadPlace(printer, op, handle, handleType, view, element, staticElement);
}

ParseResult fa4::tile::parseKeepPlace(OpAsmParser &parser, OptionalOperand &handle,
                                      Type &handleType, FlatSymbolRefAttr &view,
                                      IntegerAttr &element) {
  bool over = succeeded(parser.parseOptionalKeyword("over"));
  OptionalParseResult token =
      parseTokenPlace(parser, over ? TokenKind::Read : TokenKind::Write, handle, handleType, view);
  if (token.has_value()) {
    return *token;
  }
  SMLoc loc = parser.getCurrentLocation();
  OptionalOperand dynamic;
  if (over || parser.parseAttribute(view) || parseElement(parser, dynamic, element)) {
    return failure();
  }
  if (dynamic) {
    return parser.emitError(loc) << "expected the element of a kept value to be a number";
  }
  return success();
}

void fa4::tile::printKeepPlace(OpAsmPrinter &printer, Operation *op, Value handle, Type handleType,
                               FlatSymbolRefAttr view, IntegerAttr element) {
  if (!handle) {
    printer << view;
    printElement(printer, op, Value(), element);
    return;
  }
  if (cast<TokenType>(handleType).getKind() == TokenKind::Read) {
    printer << "over ";
  }
  printer << handle << " as " << view;
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

ParseResult fa4::tile::parseAfter(OpAsmParser &parser,
                                  SmallVectorImpl<OpAsmParser::UnresolvedOperand> &after,
                                  UnitAttr &all) {
  if (failed(parser.parseOptionalKeyword("after"))) {
    return success();
  }
  if (parser.parseLParen()) {
    return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("all"))) {
    all = parser.getBuilder().getUnitAttr();
    return parser.parseRParen();
  }
  return failure(parser.parseOperandList(after) || parser.parseRParen());
}

void fa4::tile::printAfter(OpAsmPrinter &printer, Operation *, ValueRange after, UnitAttr all) {
  if (all) {
    printer << " after(all)";
  } else if (!after.empty()) {
    printer << " after(" << after << ')';
  }
}

ParseResult fa4::tile::parseEnds(OpAsmParser &parser, ArrayAttr &ends) {
  SmallVector<Attribute> list;
  auto parseEnd = [&]() -> ParseResult {
    FlatSymbolRefAttr role;
    StringRef keyword;
    if (parser.parseAttribute(role)) {
      return failure();
    }
    Tie tie = Tie::All;
    if (succeeded(parser.parseOptionalKeyword(&keyword, {"each", "previous"}))) {
      tie = *symbolizeTie(keyword);
    }
    list.push_back(EndAttr::get(parser.getContext(), role, tie));
    return success();
  };
  if (parser.parseCommaSeparatedList(parseEnd)) {
    return failure();
  }
  ends = parser.getBuilder().getArrayAttr(list);
  return success();
}

void fa4::tile::printEnds(OpAsmPrinter &printer, Operation *, ArrayAttr ends) {
  llvm::interleaveComma(ends.getAsRange<EndAttr>(), printer, [&](EndAttr end) {
    printer << end.getRole();
    if (end.getTie() != Tie::All) {
      printer << ' ' << stringifyTie(end.getTie());
    }
  });
}

ParseResult fa4::tile::parseSymbols(OpAsmParser &parser, ArrayAttr &symbols) {
  SmallVector<Attribute> list;
  FlatSymbolRefAttr symbol;
  auto parseNext = [&]() -> ParseResult {
    if (parser.parseAttribute(symbol)) {
      return failure();
    }
    list.push_back(symbol);
    return success();
  };
  OptionalParseResult first = parser.parseOptionalAttribute(symbol);
  if (first.has_value()) {
    if (failed(*first)) {
      return failure();
    }
    list.push_back(symbol);
    while (succeeded(parser.parseOptionalComma())) {
      if (parseNext()) {
        return failure();
      }
    }
  }
  symbols = parser.getBuilder().getArrayAttr(list);
  return success();
}

void fa4::tile::printSymbols(OpAsmPrinter &printer, Operation *, ArrayAttr symbols) {
  llvm::interleaveComma(symbols, printer);
}

ParseResult fa4::tile::parseIntegers(OpAsmParser &parser, DenseI64ArrayAttr &integers) {
  SmallVector<int64_t> list;
  auto parseNext = [&] { return parser.parseInteger(list.emplace_back()); };
  if (parser.parseCommaSeparatedList(parseNext)) {
    return failure();
  }
  integers = parser.getBuilder().getDenseI64ArrayAttr(list);
  return success();
}

void fa4::tile::printIntegers(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr integers) {
  llvm::interleaveComma(integers.asArrayRef(), printer);
}

//===----------------------------------------------------------------------===//
// Small ones
//===----------------------------------------------------------------------===//

static StringRef unitOf(Space space) { return space == Space::Smem ? "bytes" : "columns"; }

ParseResult fa4::tile::parseSize(OpAsmParser &parser, SpaceAttr &space, IntegerAttr &size) {
  StringRef keyword;
  int64_t value = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword)) {
    return failure();
  }
  std::optional<Space> parsed = symbolizeSpace(keyword);
  if (!parsed) {
    return parser.emitError(loc) << "expected the space to be smem or tmem, but got '" << keyword
                                 << "'";
  }
  space = SpaceAttr::get(parser.getContext(), *parsed);
  if (parser.parseInteger(value) || parser.parseKeyword(unitOf(*parsed))) {
    return failure();
  }
  size = parser.getBuilder().getI64IntegerAttr(value);
  return success();
}

void fa4::tile::printSize(OpAsmPrinter &printer, Operation *, SpaceAttr space, IntegerAttr size) {
  printer << stringifySpace(space.getValue()) << ' ' << size.getInt() << ' '
          << unitOf(space.getValue());
}

ParseResult fa4::tile::parseArrival(OpAsmParser &parser, ArrivalAttr &arrival) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword)) {
    return failure();
  }
  std::optional<Arrival> parsed = symbolizeArrival(keyword);
  if (!parsed) {
    return parser.emitError(loc) << "expected arrival to be thread, warp, lane, named, "
                                    "named_per_warp or peer, but got '"
                                 << keyword << "'";
  }
  arrival = ArrivalAttr::get(parser.getContext(), *parsed);
  return success();
}

void fa4::tile::printArrival(OpAsmPrinter &printer, Operation *, ArrivalAttr arrival) {
  printer << stringifyArrival(arrival.getValue());
}

ParseResult fa4::tile::parseFenceKinds(OpAsmParser &parser, FenceKindAttr &kinds) {
  auto all = static_cast<FenceKind>(0);
  auto parseKind = [&]() -> ParseResult {
    StringRef keyword;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword)) {
      return failure();
    }
    std::optional<FenceKind> kind = symbolizeFenceKind(keyword);
    if (!kind) {
      return parser.emitError(loc) << "expected a kind of fence, but got '" << keyword << "'";
    }
    all = all | *kind;
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseKind)) {
    return failure();
  }
  kinds = FenceKindAttr::get(parser.getContext(), all);
  return success();
}

void fa4::tile::printFenceKinds(OpAsmPrinter &printer, Operation *, FenceKindAttr kinds) {
  printer << '[' << stringifyFenceKind(kinds.getValue()) << ']';
}

ParseResult fa4::tile::parseSide(OpAsmParser &parser, UnitAttr &other) {
  if (succeeded(parser.parseOptionalKeyword("other"))) {
    other = parser.getBuilder().getUnitAttr();
    return success();
  }
  return parser.parseKeyword("own");
}

void fa4::tile::printSide(OpAsmPrinter &printer, Operation *, UnitAttr other) {
  printer << (other ? "other" : "own");
}

ParseResult fa4::tile::parseHome(OpAsmParser &parser, UnitAttr &onLeader, UnitAttr &onPeer) {
  if (failed(parser.parseOptionalKeyword("on"))) {
    return success();
  }
  if (succeeded(parser.parseOptionalKeyword("peer"))) {
    onPeer = parser.getBuilder().getUnitAttr();
    return success();
  }
  onLeader = parser.getBuilder().getUnitAttr();
  return parser.parseKeyword("leader");
}

void fa4::tile::printHome(OpAsmPrinter &printer, Operation *, UnitAttr onLeader, UnitAttr onPeer) {
  printer << (onLeader ? " on leader" : onPeer ? " on peer" : "");
}

ParseResult fa4::tile::parseAwaitType(OpAsmParser &parser, Type &async, Type &result) {
  if (succeeded(parser.parseOptionalColon()) && parser.parseType(result)) {
    return failure();
  }
  async = AsyncType::get(parser.getContext(), result);
  return success();
}

void fa4::tile::printAwaitType(OpAsmPrinter &printer, Operation *, Type, Type result) {
  if (result) {
    printer << ": " << result;
  }
}

ParseResult fa4::tile::parseSameTypes(OpAsmParser &parser, SmallVectorImpl<Type> &values,
                                      SmallVectorImpl<Type> &results) {
  if (parser.parseOptionalColonTypeList(values)) {
    return failure();
  }
  results.assign(values.begin(), values.end());
  return success();
}

void fa4::tile::printSameTypes(OpAsmPrinter &printer, Operation *, TypeRange, TypeRange results) {
  if (!results.empty()) {
    printer << " : " << results;
  }
}
