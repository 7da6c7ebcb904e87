//===- RoleOps.cpp - roles and what they do to memory -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roles see scalars and globals only; asynchronous ops give a value exactly when
// their result is not in memory.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

#include "fa4/Dialect/Tile/IR/TileInterfaces.cpp.inc"

//===----------------------------------------------------------------------===//
// RoleOp
//===----------------------------------------------------------------------===//

void RoleOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setNameFn) {
  unsigned next = 0;
  if (hasIndex() && next < region.getNumArguments()) {
    setNameFn(region.getArgument(next++), "replica");
  }
  if (getHasRank() && next < region.getNumArguments()) {
    setNameFn(region.getArgument(next), "rank");
  }
}

ParseResult RoleOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  Type i32 = builder.getI32Type();
  StringAttr name;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name), result.attributes)) {
    return failure();
  }
  SmallVector<OpAsmParser::Argument> args;
  int64_t number = 0;
  auto parseNumber = [&](StringAttr attrName) -> ParseResult {
    if (parser.parseLParen() || parser.parseInteger(number) || parser.parseRParen()) {
      return failure();
    }
    result.addAttribute(attrName, builder.getI64IntegerAttr(number));
    return success();
  };
  auto parseNamedArg = [&]() -> ParseResult {
    OpAsmParser::Argument &arg = args.emplace_back();
    arg.type = i32;
    return failure(parser.parseLParen() || parser.parseArgument(arg) || parser.parseRParen());
  };
  if (parser.parseKeyword("warps") || parseNumber(getWarpsAttrName(result.name))) {
    return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("replicas")) &&
      (parseNumber(getReplicasAttrName(result.name)) || parser.parseKeyword("index") ||
       parseNamedArg())) {
    return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("at")) &&
      parseNumber(getFirstWarpAttrName(result.name))) {
    return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("one_lane"))) {
    result.addAttribute(getOneLaneAttrName(result.name), builder.getUnitAttr());
  }
  if (succeeded(parser.parseOptionalKeyword("ctas"))) {
    StringRef ctas;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseLParen() || parser.parseOptionalKeyword(&ctas, {"leader", "both", "single"})) {
      return parser.emitError(loc) << "expected 'ctas' to be leader, both or single";
    }
    if (parser.parseRParen()) {
      return failure();
    }
    result.addAttribute(getCtasAttrName(result.name),
                        CtasAttr::get(builder.getContext(), *symbolizeCtas(ctas)));
  }
  if (succeeded(parser.parseOptionalKeyword("rank"))) {
    result.addAttribute(getHasRankAttrName(result.name), builder.getUnitAttr());
    if (parseNamedArg()) {
      return failure();
    }
  }
  if (succeeded(parser.parseOptionalKeyword("regs")) && parseNumber(getRegsAttrName(result.name))) {
    return failure();
  }
  SMLoc usesLoc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("uses"))) {
    SmallVector<OpAsmParser::UnresolvedOperand> uses;
    SmallVector<Type> types;
    if (parser.parseLParen() || parser.parseOperandList(uses) || parser.parseColonTypeList(types) ||
        parser.parseRParen() || parser.resolveOperands(uses, types, usesLoc, result.operands)) {
      return failure();
    }
    for (auto [use, type] : llvm::zip_equal(uses, types)) {
      OpAsmParser::Argument &arg = args.emplace_back();
      arg.ssaName = use;
      arg.type = type;
    }
  }
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes)) {
    return failure();
  }
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, args, /*enableNameShadowing=*/true)) {
    return failure();
  }
  if (body->empty()) {
    Block &block = body->emplaceBlock();
    for (const OpAsmParser::Argument &arg : args) {
      block.addArgument(arg.type, result.location);
    }
  }
  return success();
}

void RoleOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  unsigned own = (hasIndex() ? 1 : 0) + (getHasRank() ? 1 : 0);
  SmallVector<Value> shadowed(own); // index and rank have names of their own
  llvm::append_range(shadowed, getUses());
  printer.shadowRegionArgs(getBody(), shadowed);
  printer << " warps(" << getWarps() << ')';
  if (hasIndex()) {
    printer << " replicas(" << getReplicas() << ") index(" << getIndex() << ')';
  }
  if (std::optional<uint64_t> first = getFirstWarp()) {
    printer << " at(" << *first << ')';
  }
  if (getOneLane()) {
    printer << " one_lane";
  }
  if (getCtas() != Ctas::Single) {
    printer << " ctas(" << stringifyCtas(getCtas()) << ')';
  }
  if (getHasRank()) {
    printer << " rank(" << getRank() << ')';
  }
  if (std::optional<uint64_t> regs = getRegs()) {
    printer << " regs(" << *regs << ')';
  }
  if (!getUses().empty()) {
    printer << " uses(" << getUses() << " : " << getUses().getTypes() << ')';
  }
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getWarpsAttrName(), getReplicasAttrName(), getFirstWarpAttrName(),
       getOneLaneAttrName(), getCtasAttrName(), getHasRankAttrName(), getRegsAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult RoleOp::verify() {
  auto positive = [&](StringRef what, int64_t value) -> LogicalResult {
    if (value > 0) {
      return success();
    }
    return emitOpError() << "expected " << what << " to be positive, but got " << value;
  };
  if (failed(positive("warps", getWarps())) || failed(positive("replicas", getReplicas())) ||
      failed(positive("registers", getRegs().value_or(1)))) { // role C1
    return failure();
  }
  if (static_cast<int64_t>(getFirstWarp().value_or(0)) < 0) { // role C1
    return emitOpError() << "expected first warp to be at least 0, but got "
                         << static_cast<int64_t>(*getFirstWarp());
  }
  for (Type type : getUses().getTypes()) {
    if (!isa<GlobalType>(type) && !type.isIntOrIndexOrFloat()) { // role C2
      return emitOpError() << "expected a role to use scalars or globals, but got " << type;
    }
  }
  if (getHasRank() && getCtas() != Ctas::Both) { // role C3
    return emitOpError() << "expected 'rank' only with ctas(both), but got ctas("
                         << stringifyCtas(getCtas()) << ")";
  }
  return success();
}

LogicalResult RoleOp::verifyRegions() {
  SmallVector<Type> expected((hasIndex() ? 1 : 0) + (getHasRank() ? 1 : 0),
                             IntegerType::get(getContext(), 32));
  llvm::append_range(expected, getUses().getTypes());
  if (getBody().getArgumentTypes() != TypeRange(expected)) { // role C4
    return emitOpError() << "expected region arguments to be " << TypeRange(expected)
                         << ", but got " << TypeRange(getBody().getArgumentTypes());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Small ones
//===----------------------------------------------------------------------===//

static LogicalResult verifyCoordinates(Operation *op, Type global, unsigned coordinates) {
  int64_t rank = cast<GlobalType>(global).getRank();
  if (coordinates > rank) { // async_load C1, async_store C1, issue_load C1, issue_store C1
    return op->emitOpError() << "expected at most " << rank
                             << " coordinates, one per dimension, but got " << coordinates;
  }
  return success();
}

LogicalResult AsyncLoadOp::verify() {
  return verifyCoordinates(*this, getGlobal().getType(), getCoordinates().size());
}

LogicalResult AsyncStoreOp::verify() {
  return verifyCoordinates(*this, getGlobal().getType(), getCoordinates().size());
}

LogicalResult IssueLoadOp::verify() {
  return verifyCoordinates(*this, getGlobal().getType(), getCoordinates().size());
}

LogicalResult IssueStoreOp::verify() {
  return verifyCoordinates(*this, getGlobal().getType(), getCoordinates().size());
}

LogicalResult PartOp::verify() {
  auto from = cast<FragType>(getOperand().getType()), to = cast<FragType>(getResult().getType());
  unsigned dim = getAxis() == Axis::Columns ? 1 : 0;
  if (from.getRank() != 2 || from.getShape()[dim] % 2 != 0) { // part C1
    return emitOpError() << "expected operand to have rank 2 and even " << stringifyAxis(getAxis())
                         << ", but got " << from;
  }
  SmallVector<int64_t> shape(from.getShape());
  shape[dim] /= 2;
  if (to.getShape() != ArrayRef<int64_t>(shape) ||
      to.getElementType() != from.getElementType()) { // part C2
    return emitOpError() << "expected result to be "
                         << FragType::get(getContext(), shape, from.getElementType())
                         << ", but got " << to;
  }
  return success();
}

LogicalResult RunPtxOp::verify() {
  SmallVector<StringRef> constraints;
  if (!getConstraints().empty()) {
    getConstraints().split(constraints, ',');
  }
  if (constraints.size() != getInputs().size()) { // run_ptx C1
    return emitOpError() << "expected one constraint for each of " << getInputs().size()
                         << " operands, but got '" << getConstraints() << "'";
  }
  return success();
}

LogicalResult AwaitOp::verify() {
  Type value = cast<AsyncType>(getAsync().getType()).getValue();
  Type result = getResult() ? getResult().getType() : Type();
  if (value != result) { // await C1
    InFlightDiagnostic diag = emitOpError() << "expected the result to be the async's value, ";
    (value ? diag << value : diag << "none") << ", but got ";
    (result ? diag << result : diag << "none");
    return diag;
  }
  return success();
}
