//===- MmaOps.cpp - asynchronous and placed matrix products -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product in memory gives a completion, one in registers a value; both phases
// spell memory operands and fragments apart.
//
//===----------------------------------------------------------------------===//

#include "Spelling.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

namespace {
/// One operand of a product as written: a fragment, or a place in memory.
struct WrittenOperand {
  OptionalOperand handle;
  Type handleType;
  FlatSymbolRefAttr view;
  OptionalOperand element;
  IntegerAttr staticElement;

  bool isFragment() const { return handle && !view; }
};
} // namespace

/// Resolves handle and element of `operand` and appends their segment sizes.
static ParseResult resolve(OpAsmParser &parser, WrittenOperand &operand, OperationState &result,
                           SmallVectorImpl<int32_t> *segments) {
  if (operand.handle &&
      parser.resolveOperand(*operand.handle, operand.handleType, result.operands)) {
    return failure();
  }
  Type i32 = parser.getBuilder().getI32Type();
  if (operand.element && parser.resolveOperand(*operand.element, i32, result.operands)) {
    return failure();
  }
  if (segments) {
    segments->append({operand.handle ? 1 : 0, operand.element ? 1 : 0});
  }
  return success();
}

static void addPlace(OperationState &result, const WrittenOperand &operand, StringAttr viewName,
                     StringAttr elementName) {
  if (operand.view) {
    result.addAttribute(viewName, operand.view);
  }
  if (operand.staticElement) {
    result.addAttribute(elementName, operand.staticElement);
  }
}

/// Gives the fragments among `operands` their types from the trailing type,
/// `(fragments) -> result` or `result`, and returns the result type, if any.
static FailureOr<Type> parseTypes(OpAsmParser &parser, ArrayRef<WrittenOperand *> operands) {
  SmallVector<WrittenOperand *> fragments = llvm::filter_to_vector(
      operands, [](WrittenOperand *operand) { return operand->isFragment(); });
  SMLoc loc = parser.getNameLoc();
  Type result;
  ArrayRef<Type> types;
  if (succeeded(parser.parseOptionalColon())) {
    if (parser.parseType(result)) {
      return failure();
    }
    if (auto function = dyn_cast<FunctionType>(result)) {
      types = function.getInputs();
      result = function.getNumResults() == 1 ? function.getResult(0) : Type();
    }
  }
  if (types.size() != fragments.size()) {
    return parser.emitError(loc) << "expected a type for each of " << fragments.size()
                                 << " fragment operands, but got " << types.size();
  }
  for (auto [operand, type] : llvm::zip_equal(fragments, types)) {
    operand->handleType = type;
  }
  return result;
}

static void printTypes(OpAsmPrinter &printer, ArrayRef<Value> operands, Type result) {
  SmallVector<Type> fragments;
  for (Value operand : operands) {
    if (operand && isa<FragType>(operand.getType())) {
      fragments.push_back(operand.getType());
    }
  }
  if (!fragments.empty()) {
    printer << " : (" << fragments << ") -> ";
    result ? printer << result : printer << "()";
  } else if (result) {
    printer << " : " << result;
  }
}

/// `into(...)` or `onto(...)`, whose operand `parseOperand` reads.
static ParseResult parseAccumulator(OpAsmParser &parser, OperationState &result,
                                    StringAttr overwriteName, bool &present,
                                    function_ref<ParseResult()> parseOperand) {
  bool into = succeeded(parser.parseOptionalKeyword("into"));
  present = into || succeeded(parser.parseOptionalKeyword("onto"));
  if (!present) {
    return success();
  }
  if (into) {
    result.addAttribute(overwriteName, parser.getBuilder().getUnitAttr());
  }
  return failure(parser.parseLParen() || parseOperand() || parser.parseRParen());
}

static ParseResult parseUnless(OpAsmParser &parser, OptionalOperand &unless) {
  if (failed(parser.parseOptionalKeyword("unless"))) {
    return success();
  }
  OpAsmParser::UnresolvedOperand operand;
  if (parser.parseLParen() || parser.parseOperand(operand) || parser.parseRParen()) {
    return failure();
  }
  unless = operand;
  return success();
}

//===----------------------------------------------------------------------===//
// AsyncMmaOp
//===----------------------------------------------------------------------===//

/// `%token as @View` or `%fragment`.
static ParseResult parseTokenOrFragment(OpAsmParser &parser, TokenKind kind,
                                        WrittenOperand &operand) {
  OpAsmParser::UnresolvedOperand handle;
  if (parser.parseOperand(handle)) {
    return failure();
  }
  operand.handle = handle;
  if (succeeded(parser.parseOptionalKeyword("as"))) {
    operand.handleType = TokenType::get(parser.getContext(), kind);
    return parser.parseAttribute(operand.view);
  }
  return success();
}

ParseResult AsyncMmaOp::parse(OpAsmParser &parser, OperationState &result) {
  WrittenOperand a, b, acc;
  OptionalOperand unless;
  bool hasAcc = false;
  if (parser.parseKeyword("a") || parser.parseLParen() ||
      parseTokenOrFragment(parser, TokenKind::Read, a) || parser.parseRParen() ||
      parser.parseKeyword("b") || parser.parseLParen() ||
      parseTokenOrFragment(parser, TokenKind::Read, b) || parser.parseRParen() ||
      parseAccumulator(parser, result, getOverwriteAttrName(result.name), hasAcc,
                       [&] { return parseTokenOrFragment(parser, TokenKind::Write, acc); }) ||
      parseUnless(parser, unless) || parser.parseOptionalAttrDict(result.attributes)) {
    return failure();
  }
  FailureOr<Type> type = parseTypes(parser, {&a, &b, &acc});
  if (failed(type)) {
    return failure();
  }
  if (resolve(parser, a, result, nullptr) || resolve(parser, b, result, nullptr) ||
      resolve(parser, acc, result, nullptr)) {
    return failure();
  }
  Type i1 = parser.getBuilder().getI1Type();
  if (unless && parser.resolveOperand(*unless, i1, result.operands)) {
    return failure();
  }
  auto segments = {1, 1, hasAcc ? 1 : 0, unless ? 1 : 0};
  llvm::copy(segments, result.getOrAddProperties<Properties>().operandSegmentSizes.begin());
  addPlace(result, a, getAViewAttrName(result.name), StringAttr());
  addPlace(result, b, getBViewAttrName(result.name), StringAttr());
  addPlace(result, acc, getAccViewAttrName(result.name), StringAttr());
  result.addTypes(*type ? *type : AsyncType::get(parser.getContext(), Type()));
  return success();
}

void AsyncMmaOp::print(OpAsmPrinter &printer) {
  auto printOperand = [&](Value handle, FlatSymbolRefAttr view) {
    printer << '(' << handle;
    if (view) {
      printer << " as " << view;
    }
    printer << ')';
  };
  printer << " a";
  printOperand(getA(), getAViewAttr());
  printer << " b";
  printOperand(getB(), getBViewAttr());
  if (getAcc()) {
    printer << (getOverwrite() ? " into" : " onto");
    printOperand(getAcc(), getAccViewAttr());
  }
  if (getUnless()) {
    printer << " unless(" << getUnless() << ')';
  }
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getAViewAttrName(), getBViewAttrName(), getAccViewAttrName(),
                                 getOverwriteAttrName(), getOperandSegmentSizesAttrName()});
  auto type = cast<AsyncType>(getResult().getType());
  printTypes(printer, {getA(), getAcc()}, type.getValue() ? Type(type) : Type());
}

LogicalResult AsyncMmaOp::verify() {
  auto isToken = [](Value value, TokenKind kind) {
    auto token = dyn_cast<TokenType>(value.getType());
    return token && token.getKind() == kind;
  };
  if (getAView() ? !isToken(getA(), TokenKind::Read)
                 : !isa<FragType>(getA().getType())) { // async_mma C1
    return emitOpError() << "expected 'a' to be a read token with a view or a fragment, but got "
                         << getA().getType();
  }
  if (getAcc() && (getAccView() ? !isToken(getAcc(), TokenKind::Write)
                                : !isa<FragType>(getAcc().getType()))) { // async_mma C2
    return emitOpError() << "expected the accumulator to be a write token with a view or a "
                            "fragment, but got "
                         << getAcc().getType();
  }
  Type value = cast<AsyncType>(getResult().getType()).getValue();
  if (static_cast<bool>(value) == static_cast<bool>(getAccView())) { // async_mma C3
    return emitOpError() << "expected the async to have a value exactly if no accumulator is in "
                            "memory, but got "
                         << getResult().getType();
  }
  if (value && getAcc() && getAcc().getType() != value) { // async_mma C3
    return emitOpError() << "expected the async's value to have the accumulator's type "
                         << getAcc().getType() << ", but got " << value;
  }
  if (getOverwrite() && !getAccView()) { // async_mma C4
    return emitOpError() << "expected 'into' to name an accumulator in memory, but got a fragment";
  }
  if (getUnless() && (!getAcc() || getOverwrite())) { // async_mma C4
    return emitOpError() << "expected 'unless' to be used with 'onto', but got no 'onto'";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// IssueMmaOp
//===----------------------------------------------------------------------===//

/// `%fragment` or a slot.
static ParseResult parseFragmentOrSlot(OpAsmParser &parser, WrittenOperand &operand) {
  OpAsmParser::UnresolvedOperand handle;
  OptionalParseResult fragment = parser.parseOptionalOperand(handle);
  if (fragment.has_value()) {
    operand.handle = handle;
    return *fragment;
  }
  return parseSlot(parser, operand.handle, operand.handleType, operand.view, operand.element,
                   operand.staticElement);
}

ParseResult IssueMmaOp::parse(OpAsmParser &parser, OperationState &result) {
  WrittenOperand a, b, acc;
  OptionalOperand unless;
  bool hasAcc = false;
  if (parser.parseKeyword("a") || parser.parseLParen() || parseFragmentOrSlot(parser, a) ||
      parser.parseRParen() || parser.parseKeyword("b") || parser.parseLParen() ||
      parseSlot(parser, b.handle, b.handleType, b.view, b.element, b.staticElement) ||
      parser.parseRParen() ||
      parseAccumulator(parser, result, getOverwriteAttrName(result.name), hasAcc,
                       [&] { return parseFragmentOrSlot(parser, acc); }) ||
      parseUnless(parser, unless) || parser.parseOptionalAttrDict(result.attributes)) {
    return failure();
  }
  FailureOr<Type> type = parseTypes(parser, {&a, &b, &acc});
  if (failed(type)) {
    return failure();
  }
  SmallVector<int32_t> segments;
  if (resolve(parser, a, result, &segments) || resolve(parser, b, result, &segments) ||
      resolve(parser, acc, result, &segments)) {
    return failure();
  }
  Type i1 = parser.getBuilder().getI1Type();
  if (unless && parser.resolveOperand(*unless, i1, result.operands)) {
    return failure();
  }
  segments.push_back(unless ? 1 : 0);
  llvm::copy(segments, result.getOrAddProperties<Properties>().operandSegmentSizes.begin());
  addPlace(result, a, getAViewAttrName(result.name), getStaticAElementAttrName(result.name));
  addPlace(result, b, getBViewAttrName(result.name), getStaticBElementAttrName(result.name));
  addPlace(result, acc, getAccViewAttrName(result.name), getStaticAccElementAttrName(result.name));
  if (*type) {
    result.addTypes(*type);
  }
  return success();
}

void IssueMmaOp::print(OpAsmPrinter &printer) {
  auto printOperand = [&](Value handle, FlatSymbolRefAttr view, Value element,
                          IntegerAttr staticElement) {
    printer << '(';
    if (view) {
      printSlot(printer, *this, handle, handle ? handle.getType() : Type(), view, element,
                staticElement);
    } else {
      printer << handle;
    }
    printer << ')';
  };
  printer << " a";
  printOperand(getA(), getAViewAttr(), getAElement(), getStaticAElementAttr());
  printer << " b";
  printOperand(getB(), getBViewAttr(), getBElement(), getStaticBElementAttr());
  if (getAcc() || getAccView()) {
    printer << (getOverwrite() ? " into" : " onto");
    printOperand(getAcc(), getAccViewAttr(), getAccElement(), getStaticAccElementAttr());
  }
  if (getUnless()) {
    printer << " unless(" << getUnless() << ')';
  }
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getAViewAttrName(), getBViewAttrName(), getAccViewAttrName(),
                                 getStaticAElementAttrName(), getStaticBElementAttrName(),
                                 getStaticAccElementAttrName(), getOverwriteAttrName(),
                                 getOperandSegmentSizesAttrName()});
  printTypes(printer, {getA(), getAcc()}, getResult() ? getResult().getType() : Type());
}

LogicalResult IssueMmaOp::verify() {
  bool fragmentA = getA() && isa<FragType>(getA().getType());
  if (fragmentA == static_cast<bool>(getAView())) { // issue_mma C1
    return emitOpError() << "expected 'a' to be a view or a fragment, but got "
                         << (fragmentA ? "both" : "neither");
  }
  if (getAccView() && getAcc() && isa<FragType>(getAcc().getType())) { // issue_mma C2
    return emitOpError() << "expected the accumulator to be a view or a fragment, but got both";
  }
  if (static_cast<bool>(getResult()) == static_cast<bool>(getAccView())) { // issue_mma C2
    return emitOpError() << "expected a result exactly if no accumulator is in memory, but got "
                         << (getResult() ? "both" : "neither");
  }
  if (getResult() && getAcc() && getAcc().getType() != getResult().getType()) { // issue_mma C2
    return emitOpError() << "expected the result to have the accumulator's type "
                         << getAcc().getType() << ", but got " << getResult().getType();
  }
  bool onto = (getAcc() || getAccView()) && !getOverwrite();
  if (getUnless() && !onto) { // issue_mma C3
    return emitOpError() << "expected 'unless' to be used with 'onto', but got no 'onto'";
  }
  return success();
}
