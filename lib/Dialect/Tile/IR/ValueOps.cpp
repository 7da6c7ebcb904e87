//===- ValueOps.cpp - verifiers of value ops -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes and element types of value ops agree after verification; whatever needs
// the target is left to tile-verify-target.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "fa4/Dialect/Attn/IR/AttnAttributes.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace fa4::tile;

static FragType fragOf(Value value) { return cast<FragType>(value.getType()); }

static LogicalResult verifyRank2(Operation *op, StringRef what, FragType type) {
  if (type.getRank() != 2) {
    return op->emitOpError() << "expected rank of '" << what << "' to be 2, but got "
                             << type.getRank();
  }
  return success();
}

/// A rank-1 tile with one number for each row of `tile`.
static LogicalResult verifyRowsAgree(Operation *op, StringRef what, FragType row, FragType tile) {
  if (row.getRows() != tile.getRows()) {
    return op->emitOpError() << "expected '" << what << "' to have one number for each of "
                             << tile.getRows() << " rows, but got " << row.getRows();
  }
  return success();
}

static LogicalResult verifyGridAccess(Operation *op, GlobalType global, unsigned coordinates,
                                      Type value) {
  if (coordinates > global.getRank()) { // load C1, store C1
    return op->emitOpError() << "expected at most " << global.getRank()
                             << " coordinates, one per dimension, but got " << coordinates;
  }
  FragType tile = global.getTileType();
  if (!tile) { // load C2, store C2
    return op->emitOpError() << "expected the grid to have a tile, but got a grid of scalars "
                             << global;
  }
  auto frag = cast<FragType>(value);
  if (frag.getShape() != tile.getShape() || frag.getElementType() != tile.getElementType()) {
    return op->emitOpError() << "expected the tile value to be like the grid's tile " << tile
                             << ", but got " << frag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LogicalResult LoadOp::verify() {
  return verifyGridAccess(*this, cast<GlobalType>(getGlobal().getType()), getCoordinates().size(),
                          getResult().getType());
}

LogicalResult StoreOp::verify() {
  if (failed(verifyGridAccess(*this, cast<GlobalType>(getGlobal().getType()),
                              getCoordinates().size(), getValue().getType()))) {
    return failure();
  }
  Type element = fragOf(getValue()).getElementType();
  if (getAdd() && !element.isF32()) { // store C3
    return emitOpError() << "expected element type of an adding store to be f32, but got "
                         << element;
  }
  return success();
}

LogicalResult FetchOp::verify() {
  auto global = cast<GlobalType>(getGlobal().getType());
  if (static_cast<int64_t>(getCoordinates().size()) != global.getRank()) { // fetch C1
    return emitOpError() << "expected " << global.getRank()
                         << " coordinates, one per dimension, but got " << getCoordinates().size();
  }
  if (getResult().getType() != global.getElementType()) { // fetch C2
    return emitOpError() << "expected result type to be the tensor's element type "
                         << global.getElementType() << ", but got " << getResult().getType();
  }
  return success();
}

LogicalResult SubrangeOp::verify() {
  auto global = cast<GlobalType>(getGlobal().getType());
  auto dim = static_cast<int64_t>(getDim());
  if (dim < 0 || dim >= global.getRank()) { // subrange C1
    return emitOpError() << "expected dim to be from 0 to " << global.getRank() - 1 << ", but got "
                         << dim;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Products and shapes
//===----------------------------------------------------------------------===//

static bool isMmaOperandElement(Type type) {
  return type.isBF16() || type.isF16() || type.isTF32() ||
         isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

LogicalResult MmaOp::verify() {
  FragType a = fragOf(getA()), b = fragOf(getB()), result = fragOf(getResult());
  if (failed(verifyRank2(*this, "a", a)) || failed(verifyRank2(*this, "b", b)) ||
      failed(verifyRank2(*this, "result", result))) { // mma C1
    return failure();
  }
  if (a.getColumns() != b.getRows()) { // mma C1
    return emitOpError() << "expected columns of 'a' and rows of 'b' to be equal, but got "
                         << a.getColumns() << " and " << b.getRows();
  }
  int64_t columns = b.getColumns() * (getPair() ? 2 : 1);
  if (result.getRows() != a.getRows() || result.getColumns() != columns) { // mma C1
    return emitOpError() << "expected result to be " << a.getRows() << "x" << columns
                         << ", but got " << result.getRows() << "x" << result.getColumns();
  }
  Type left = a.getElementType(), right = b.getElementType();
  bool bothSmall = left.getIntOrFloatBitWidth() == 8 && right.getIntOrFloatBitWidth() == 8;
  if (!isMmaOperandElement(left) || !isMmaOperandElement(right) ||
      (left != right && !bothSmall)) { // mma C2
    return emitOpError() << "expected element types of 'a' and 'b' to be one of bf16, f16, tf32, "
                            "or 8-bit floats, but got "
                         << left << " and " << right;
  }
  if (getOnto() && getOnto().getType() != result) { // mma C4
    return emitOpError() << "expected 'onto' to have the result's type " << result << ", but got "
                         << getOnto().getType();
  }
  if (getUnless() && !getOnto()) { // mma C5
    return emitOpError() << "expected 'unless' to be used with 'onto', but got no 'onto'";
  }
  return success();
}

LogicalResult TransposeOp::verify() {
  FragType from = fragOf(getOperand()), to = fragOf(getResult());
  if (failed(verifyRank2(*this, "operand", from))) { // transpose C1
    return failure();
  }
  if (to.getRank() != 2 || to.getRows() != from.getColumns() || to.getColumns() != from.getRows() ||
      to.getElementType() != from.getElementType()) { // transpose C2
    return emitOpError() << "expected result to be "
                         << FragType::get(getContext(), {from.getColumns(), from.getRows()},
                                          from.getElementType())
                         << ", but got " << to;
  }
  return success();
}

LogicalResult SliceOp::verify() {
  FragType from = fragOf(getOperand()), to = fragOf(getResult());
  bool columns = getAxis() == Axis::Columns;
  if (columns && failed(verifyRank2(*this, "operand", from))) { // slice C1
    return failure();
  }
  int64_t extent = columns ? from.getColumns() : from.getRows();
  auto begin = static_cast<int64_t>(getBegin()), end = static_cast<int64_t>(getEnd());
  if (begin < 0 || end <= begin || end > extent) { // slice C1
    return emitOpError() << "expected " << stringifyAxis(getAxis())
                         << " to be an ascending range within 0 to " << extent << ", but got "
                         << begin << " to " << end;
  }
  SmallVector<int64_t> shape(from.getShape());
  shape[columns ? 1 : 0] = end - begin;
  if (to.getShape() != ArrayRef<int64_t>(shape) ||
      to.getElementType() != from.getElementType()) { // slice C2
    return emitOpError() << "expected result to be "
                         << FragType::get(getContext(), shape, from.getElementType())
                         << ", but got " << to;
  }
  return success();
}

LogicalResult SplatOp::verify() {
  Type element = fragOf(getResult()).getElementType();
  if (getValue().getType() != element) { // splat C1
    return emitOpError() << "expected scalar to have the tile's element type " << element
                         << ", but got " << getValue().getType();
  }
  return success();
}

LogicalResult CastOp::verify() {
  FragType from = fragOf(getOperand()), to = fragOf(getResult());
  if (from.getShape() != to.getShape()) { // cast C1
    return emitOpError() << "expected operand and result to have one shape, but got " << from
                         << " and " << to;
  }
  return success();
}

LogicalResult RedistributeOp::verify() {
  FragType type = fragOf(getOperand());
  if (failed(verifyRank2(*this, "operand", type))) { // redistribute C1
    return failure();
  }
  if (type.getRows() % 2 != 0 || type.getColumns() % 2 != 0) { // redistribute C1
    return emitOpError() << "expected extents to be even, but got " << type.getRows() << " and "
                         << type.getColumns();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

LogicalResult MaskOp::verify() {
  for (Attribute mask : getMasks()) {
    if (!isa<fa4::attn::AttnMaskInterface>(mask)) { // mask C2
      return emitOpError() << "expected masks to implement the attn mask interface, but got "
                           << mask;
    }
  }
  return verifyRank2(*this, "scores", fragOf(getScores())); // mask C1
}

static LogicalResult verifyRowReduce(Operation *op, FragType operand, FragType init) {
  if (failed(verifyRank2(op, "operand", operand))) { // row_max C1, row_sum C1
    return failure();
  }
  return verifyRowsAgree(op, "init", init, operand); // row_max C2, row_sum C2
}

LogicalResult RowMaxOp::verify() {
  return verifyRowReduce(*this, fragOf(getOperand()), fragOf(getInit()));
}

LogicalResult RowSumOp::verify() {
  return verifyRowReduce(*this, fragOf(getOperand()), fragOf(getInit()));
}

LogicalResult OnlineMaxOp::verify() {
  if (std::optional<APFloat> lag = getLag()) {
    if (!lag->isFinite() || (lag->isNegative() && !lag->isZero())) { // online_max C1
      return emitOpError() << "expected lag to be finite and not negative, but got "
                           << lag->convertToFloat();
    }
  }
  return success();
}

LogicalResult Exp2Op::verify() {
  auto from = static_cast<int64_t>(getColumnsFrom());
  if (from < 0) { // exp2 C1
    return emitOpError() << "expected first column to be at least 0, but got " << from;
  }
  return success();
}

LogicalResult ScaleRowsOp::verify() {
  FragType operand = fragOf(getOperand());
  if (failed(verifyRank2(*this, "operand", operand))) { // scale_rows C1
    return failure();
  }
  return verifyRowsAgree(*this, "by", fragOf(getBy()), operand); // scale_rows C1
}

//===----------------------------------------------------------------------===//
// Inline PTX
//===----------------------------------------------------------------------===//

LogicalResult InlinePtxOp::verify() {
  SmallVector<StringRef> constraints;
  if (!getConstraints().empty()) {
    getConstraints().split(constraints, ',');
  }
  size_t results = llvm::count_if(constraints, [](StringRef c) { return c.starts_with("="); });
  bool resultsFirst = llvm::all_of(ArrayRef(constraints).take_front(results),
                                   [](StringRef c) { return c.starts_with("="); });
  if (!resultsFirst || results != getOutputs().size() ||
      constraints.size() != results + getInputs().size()) { // inline_ptx C1
    return emitOpError() << "expected constraints to be " << getOutputs().size()
                         << " for results, then " << getInputs().size()
                         << " for operands, but got '" << getConstraints() << "'";
  }
  if (getOutputs().empty()) { // inline_ptx C2
    return emitOpError() << "expected at least one result, but got none";
  }
  auto tile = dyn_cast<FragType>(getOutputs().front().getType());
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(getInputs().getTypes()),
                                            SmallVector<Type>(getOutputs().getTypes()))) {
    auto other = dyn_cast<FragType>(type);
    bool alike = tile ? other && other.getShape() == tile.getShape() : type.isIntOrFloat();
    if (!alike) { // inline_ptx C3
      return emitOpError() << "expected operands and results to be scalars, or tiles of one shape,"
                              " but got "
                           << type << " beside " << getOutputs().front().getType();
    }
  }
  return success();
}
