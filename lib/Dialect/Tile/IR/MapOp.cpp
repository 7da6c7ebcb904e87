//===- MapOp.cpp - elementwise regions -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The region of a map is a function of scalars: it sees no tile, and touches no
// memory but by fetching.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

YieldOp MapOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

void MapOp::build(OpBuilder &builder, OperationState &state, TypeRange results, ValueRange inputs,
                  Value rowBase, Value columnBase,
                  function_ref<void(OpBuilder &, Location, ValueRange)> body) {
  state.addTypes(results);
  state.addOperands(inputs);
  bool position = static_cast<bool>(rowBase);
  if (position) {
    state.addOperands({rowBase, columnBase});
  }
  auto segments = {static_cast<int32_t>(inputs.size()), position ? 1 : 0, position ? 1 : 0};
  llvm::copy(segments, state.getOrAddProperties<Properties>().operandSegmentSizes.begin());

  Region *region = state.addRegion();
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(region);
  for (Value input : inputs) {
    block->addArgument(cast<FragType>(input.getType()).getElementType(), state.location);
  }
  if (position) {
    block->addArguments({builder.getI32Type(), builder.getI32Type()},
                        {state.location, state.location});
  }
  body(builder, state.location, block->getArguments());
}

//===----------------------------------------------------------------------===//
// Spelling: (%e = %x, ...) at(%i = %row0, %j = %col0) : (types) -> types { ... }
//===----------------------------------------------------------------------===//

ParseResult MapOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> args, positions;
  SmallVector<OpAsmParser::UnresolvedOperand> inputs, bases;
  FunctionType type;
  SMLoc basesLoc, inputsLoc = parser.getCurrentLocation();
  if (parser.parseAssignmentList(args, inputs)) {
    return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("at"))) {
    basesLoc = parser.getCurrentLocation();
    if (parser.parseAssignmentList(positions, bases)) {
      return failure();
    }
    if (bases.size() != 2) {
      return parser.emitError(basesLoc)
             << "expected 'at' to name two positions, but got " << bases.size();
    }
  }
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type)) {
    return failure();
  }
  Type i32 = parser.getBuilder().getI32Type();
  if (parser.resolveOperands(inputs, type.getInputs(), inputsLoc, result.operands) ||
      parser.resolveOperands(bases, i32, result.operands)) {
    return failure();
  }
  for (auto [arg, inputType] : llvm::zip_equal(args, type.getInputs())) {
    auto frag = dyn_cast<FragType>(inputType);
    if (!frag) {
      return parser.emitError(inputsLoc)
             << "expected operands of a map to be tiles, but got " << inputType;
    }
    arg.type = frag.getElementType();
  }
  for (OpAsmParser::Argument &position : positions) {
    position.type = i32;
    args.push_back(position);
  }
  result.addTypes(type.getResults());
  int32_t position = bases.empty() ? 0 : 1;
  auto segments = {static_cast<int32_t>(inputs.size()), position, position};
  llvm::copy(segments, result.getOrAddProperties<Properties>().operandSegmentSizes.begin());
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, args)) {
    return failure();
  }
  MapOp::ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

void MapOp::print(OpAsmPrinter &printer) {
  Block::BlockArgListType args = getBody().getArguments();
  size_t inputs = getInputs().size();
  printer << " (";
  llvm::interleaveComma(
      llvm::zip_equal(args.take_front(inputs), getInputs()), printer,
      [&](auto pair) { printer << std::get<0>(pair) << " = " << std::get<1>(pair); });
  printer << ')';
  if (hasPosition()) {
    printer << " at(" << args[inputs] << " = " << getRowBase() << ", " << args[inputs + 1] << " = "
            << getColumnBase() << ')';
  }
  printer.printOptionalAttrDict((*this)->getAttrs(), {getOperandSegmentSizesAttrName()});
  printer << " : ";
  printer.printFunctionalType(getInputs().getTypes(), getOutputs().getTypes());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Rank 1 [M] gives one number per row of MxN, 1xN one number per column.
static bool broadcastsTo(FragType from, ArrayRef<int64_t> shape) {
  if (from.getShape() == shape) {
    return true;
  }
  if (shape.size() != 2) {
    return false;
  }
  if (from.isRow()) {
    return from.getRows() == shape[0];
  }
  return from.getRows() == 1 && from.getColumns() == shape[1];
}

LogicalResult MapOp::verify() {
  if (static_cast<bool>(getRowBase()) != static_cast<bool>(getColumnBase())) { // map C1
    return emitOpError() << "expected 'at' to have two positions, but got one";
  }
  if (getOutputs().empty()) { // map C4
    return emitOpError() << "expected at least one result, but got none";
  }
  if (getInputs().empty() && !hasPosition()) { // map C4
    return emitOpError() << "expected an operand or 'at', but got neither";
  }
  ArrayRef<int64_t> shape = getCommonShape();
  for (Value output : getOutputs()) {
    if (cast<FragType>(output.getType()).getShape() != shape) { // map C2
      return emitOpError() << "expected results to have one shape, but got "
                           << getOutputs().front().getType() << " and " << output.getType();
    }
  }
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    if (!broadcastsTo(cast<FragType>(input.getType()), shape)) { // map C2
      return emitOpError() << "expected operand #" << index << " to broadcast to "
                           << getOutputs().front().getType() << ", but got " << input.getType();
    }
  }
  return success();
}

LogicalResult MapOp::verifyRegions() {
  SmallVector<Type> expected;
  for (Value input : getInputs()) {
    expected.push_back(cast<FragType>(input.getType()).getElementType());
  }
  if (hasPosition()) {
    expected.append(2, IntegerType::get(getContext(), 32));
  }
  if (getBody().getArgumentTypes() != TypeRange(expected)) { // map C1
    return emitOpError() << "expected region arguments to be " << TypeRange(expected)
                         << ", but got " << TypeRange(getBody().getArgumentTypes());
  }
  YieldOp yield = getYield();
  SmallVector<Type> elements;
  for (Value output : getOutputs()) {
    elements.push_back(cast<FragType>(output.getType()).getElementType());
  }
  if (yield.getValues().getTypes() != TypeRange(elements)) { // map C3
    return yield.emitOpError() << "expected yielded types to be " << TypeRange(elements)
                               << ", but got " << yield.getValues().getTypes();
  }
  WalkResult result = getBody().walk([&](Operation *op) {
    bool tile = llvm::any_of(op->getOperandTypes(), llvm::IsaPred<FragType>) ||
                llvm::any_of(op->getResultTypes(), llvm::IsaPred<FragType>);
    if (tile) { // map C5
      op->emitOpError() << "expected ops inside a map to use scalars only, but got a tile";
      return WalkResult::interrupt();
    }
    if (!isa<FetchOp>(op) && !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
        !isMemoryEffectFree(op)) { // map C5
      op->emitOpError() << "expected ops inside a map to be free of memory effects";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
