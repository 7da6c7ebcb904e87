//===- AttnOps.cpp - names, types and effects of the ops of attn ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Destinations come last in every list here: an op writes them whole, reads all
// its other arrays, and on tensors has one result per destination.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/IR/AttnOps.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include <cmath>

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

//===----------------------------------------------------------------------===//
// Assembly: an enum attribute alone prints a space first, `layout( bhsd)`
//===----------------------------------------------------------------------===//

template <class EnumAttr>
static ParseResult parseWord(OpAsmParser &parser, EnumAttr &attr) {
  using Enum = decltype(attr.getValue());
  FailureOr<Enum> value = FieldParser<Enum>::parse(parser);
  if (failed(value)) {
    return failure();
  }
  attr = EnumAttr::get(parser.getContext(), *value);
  return success();
}

static ParseResult parseLayout(OpAsmParser &parser, LayoutAttr &attr) {
  return parseWord(parser, attr);
}
static void printLayout(OpAsmPrinter &printer, Operation *, LayoutAttr attr) {
  printer << stringifyLayout(attr.getValue());
}
static ParseResult parseScalePlacement(OpAsmParser &parser, ScalePlacementAttr &attr) {
  return parseWord(parser, attr);
}
static void printScalePlacement(OpAsmPrinter &printer, Operation *, ScalePlacementAttr attr) {
  printer << stringifyScalePlacement(attr.getValue());
}

#define GET_OP_CLASSES
#include "fa4/Dialect/Attn/IR/AttnOps.cpp.inc"

void AttnDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "fa4/Dialect/Attn/IR/AttnOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// What the destination-style ops share
//===----------------------------------------------------------------------===//

static void inferFromDestinations(Value o, Value lse, SmallVectorImpl<Type> &types) {
  for (Value destination : {o, lse}) {
    if (destination && isa<RankedTensorType>(destination.getType())) {
      types.push_back(destination.getType());
    }
  }
}

static void getDestinationEffects(
    DestinationStyleOpInterface op,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType())) {
      continue;
    }
    auto *effect = op.isDpsInit(&operand)
                       ? static_cast<MemoryEffects::Effect *>(MemoryEffects::Write::get())
                       : MemoryEffects::Read::get();
    effects.emplace_back(effect, &operand, /*stage=*/0, /*effectOnFullRegion=*/true,
                         SideEffects::DefaultResource::get());
  }
}

static LogicalResult reifyFromDestinations(OpBuilder &builder, DestinationStyleOpInterface op,
                                           ReifiedRankedShapedTypeDims &shapes) {
  for (OpOperand &init : op.getDpsInitsMutable()) {
    if (isa<RankedTensorType>(init.get().getType())) {
      shapes.push_back(tensor::getMixedSizes(builder, op.getLoc(), init.get()));
    }
  }
  return success();
}

static void nameResults(ResultRange results, OpAsmSetValueNameFn setName) {
  constexpr StringLiteral names[] = {"o", "lse"};
  for (auto [result, name] : llvm::zip(results, names)) {
    setName(result, name);
  }
}

//===----------------------------------------------------------------------===//
// ForwardOp
//===----------------------------------------------------------------------===//

MutableOperandRange ForwardOp::getDpsInitsMutable() {
  const unsigned start = getODSOperandIndexAndLength(3).first; // after q, k, v
  return MutableOperandRange(getOperation(), start, getLse() ? 2 : 1);
}

LogicalResult ForwardOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                          ValueRange operands, DictionaryAttr attributes,
                                          OpaqueProperties properties, RegionRange regions,
                                          SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  inferFromDestinations(adaptor.getO(), adaptor.getLse(), types);
  return success();
}

LogicalResult ForwardOp::reifyResultShapes(OpBuilder &builder,
                                           ReifiedRankedShapedTypeDims &shapes) {
  return reifyFromDestinations(builder, *this, shapes);
}

void ForwardOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  getDestinationEffects(*this, effects);
}

void ForwardOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  nameResults(getResults(), setName);
}

void ForwardOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  constexpr StringLiteral names[] = {"s", "b", "h", "i", "j"};
  const size_t skipped = &region == &getScore() ? 0 : 1; // a predicate sees no score
  for (auto [argument, name] :
       llvm::zip(region.getArguments(), ArrayRef(names).drop_front(skipped))) {
    setName(argument, name);
  }
}

int64_t ForwardOp::getQueryKeyDim() { return cast<ShapedType>(getQ().getType()).getShape().back(); }

int64_t ForwardOp::getValueDim() { return cast<ShapedType>(getV().getType()).getShape().back(); }

APFloat ForwardOp::getScaleOrDefault() {
  if (std::optional<APFloat> scale = getScale()) {
    return *scale;
  }
  const double scale = 1.0 / std::sqrt(static_cast<double>(getQueryKeyDim())); // M1
  return APFloat(static_cast<float>(scale));
}

ScalePlacement ForwardOp::getScalePlacementOrDefault() {
  if (std::optional<ScalePlacement> placement = getScalePlacement()) {
    return *placement;
  }
  APFloat scale = getScaleOrDefault();
  const bool positive = !scale.isZero() && !scale.isNegative();
  return positive && !hasScoreRegion() ? ScalePlacement::InExp2 : ScalePlacement::BeforeMax;
}

SmallVector<AttnMaskInterface> ForwardOp::getMaskList() {
  SmallVector<AttnMaskInterface> masks;
  if (std::optional<ArrayAttr> list = getMasks()) {
    llvm::append_range(masks, list->getAsRange<AttnMaskInterface>());
  }
  return masks;
}

//===----------------------------------------------------------------------===//
// FetchOp
//===----------------------------------------------------------------------===//

void FetchOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (isa<MemRefType>(getSource().getType())) {
    effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable(),
                         SideEffects::DefaultResource::get());
  }
}

LogicalResult FetchOp::verify() {
  const int64_t rank = cast<ShapedType>(getSource().getType()).getRank();
  if (static_cast<int64_t>(getIndices().size()) != rank) {
    return emitOpError("expected one index per dimension of source, ")
           << rank << ", but got " << getIndices().size();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// MergeOp
//===----------------------------------------------------------------------===//

MutableOperandRange MergeOp::getDpsInitsMutable() {
  const unsigned start = getODSOperandIndexAndLength(4).first; // after two pairs (o, lse)
  return MutableOperandRange(getOperation(), start, getLse() ? 2 : 1);
}

LogicalResult MergeOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,
                                        DictionaryAttr attributes, OpaqueProperties properties,
                                        RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  inferFromDestinations(adaptor.getO(), adaptor.getLse(), types);
  return success();
}

LogicalResult MergeOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  return reifyFromDestinations(builder, *this, shapes);
}

void MergeOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  getDestinationEffects(*this, effects);
}

void MergeOp::getAsmResultNames(OpAsmSetValueNameFn setName) { nameResults(getResults(), setName); }
