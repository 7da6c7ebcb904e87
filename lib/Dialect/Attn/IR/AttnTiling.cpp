//===- AttnTiling.cpp - attn.forward over batch and heads -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops are batch and key head: a tile of key heads takes their query heads
// along, so every tile is a whole attention again (S3). Packed sequences have no
// batch dimension to cut and tile over key heads alone. Regions keep seeing the
// b and h of the whole op through `origin`.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/IR/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

static SmallVector<OpFoldResult> getSizes(OpBuilder &builder, Location loc, Value value) {
  return isa<MemRefType>(value.getType()) ? memref::getMixedSizes(builder, loc, value)
                                          : tensor::getMixedSizes(builder, loc, value);
}

template <class ArithOp>
static OpFoldResult combine(OpBuilder &builder, Location loc, OpFoldResult lhs, OpFoldResult rhs) {
  return builder.createOrFold<ArithOp>(loc, getValueOrCreateConstantIndexOp(builder, loc, lhs),
                                       getValueOrCreateConstantIndexOp(builder, loc, rhs));
}

static OpFoldResult multiply(OpBuilder &builder, Location loc, OpFoldResult lhs, OpFoldResult rhs) {
  std::optional<int64_t> left = getConstantIntValue(lhs), right = getConstantIntValue(rhs);
  if (left && right) {
    return builder.getIndexAttr(*left * *right);
  }
  if (left == 1) {
    return rhs;
  }
  return right == 1 ? lhs : combine<arith::MulIOp>(builder, loc, lhs, rhs);
}

namespace {
/// The part of each dimension that a tile takes.
struct Cut {
  OpFoldResult offset, size;
};

/// One tile of the loops, in the terms of the operands.
struct Tile {
  std::optional<Cut> batch;
  Cut keyHeads;
  Cut queryHeads;
};
} // namespace

static Tile makeTile(OpBuilder &builder, ForwardOp op, ArrayRef<OpFoldResult> offsets,
                     ArrayRef<OpFoldResult> sizes) {
  const TensorDims dims = op.getTensorDims();
  Tile tile;
  if (dims.batch) {
    tile.batch = Cut{offsets.front(), sizes.front()};
  }
  tile.keyHeads = Cut{offsets.back(), sizes.back()};
  Location loc = op.getLoc();
  OpFoldResult queryHeads = getSizes(builder, loc, op.getQ())[dims.head];
  OpFoldResult keyHeads = getSizes(builder, loc, op.getK())[dims.head];
  std::optional<int64_t> staticQuery = getConstantIntValue(queryHeads);
  std::optional<int64_t> staticKey = getConstantIntValue(keyHeads);
  OpFoldResult ratio = staticQuery && staticKey
                           ? OpFoldResult(builder.getIndexAttr(*staticQuery / *staticKey))
                           : combine<arith::DivUIOp>(builder, loc, queryHeads, keyHeads);
  tile.queryHeads = Cut{multiply(builder, loc, tile.keyHeads.offset, ratio),
                        multiply(builder, loc, tile.keyHeads.size, ratio)};
  return tile;
}

/// `value` cut along the given dimensions, whole along the others.
static Value slice(OpBuilder &builder, Location loc, Value value,
                   ArrayRef<std::pair<unsigned, Cut>> cuts, SmallVectorImpl<Operation *> &slices) {
  if (!value || cuts.empty()) {
    return value;
  }
  SmallVector<OpFoldResult> sizes = getSizes(builder, loc, value);
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), builder.getIndexAttr(1));
  for (const auto &[dim, cut] : cuts) {
    offsets[dim] = cut.offset;
    sizes[dim] = cut.size;
  }
  Operation *sliced =
      isa<MemRefType>(value.getType())
          ? memref::SubViewOp::create(builder, loc, value, offsets, sizes, strides).getOperation()
          : tensor::ExtractSliceOp::create(builder, loc, value, offsets, sizes, strides)
                .getOperation();
  slices.push_back(sliced);
  return sliced->getResult(0);
}

static SmallVector<std::pair<unsigned, Cut>> cutTensor(ForwardOp op, const Tile &tile,
                                                       const Cut &heads) {
  const TensorDims dims = op.getTensorDims();
  SmallVector<std::pair<unsigned, Cut>> cuts;
  if (tile.batch) {
    cuts.emplace_back(*dims.batch, *tile.batch);
  }
  cuts.emplace_back(dims.head, heads);
  return cuts;
}

/// lse is `[B, H, S]`, or `[H, T]` packed (S1).
static SmallVector<std::pair<unsigned, Cut>> cutLse(const Tile &tile) {
  SmallVector<std::pair<unsigned, Cut>> cuts;
  if (tile.batch) {
    cuts.emplace_back(0, *tile.batch);
  }
  cuts.emplace_back(cuts.size(), tile.queryHeads);
  return cuts;
}

SmallVector<utils::IteratorType> ForwardOp::getLoopIteratorTypes() {
  const size_t loops = getTensorDims().batch ? 2 : 1;
  return SmallVector<utils::IteratorType>(loops, utils::IteratorType::parallel);
}

SmallVector<Range> ForwardOp::getIterationDomain(OpBuilder &builder) {
  const TensorDims dims = getTensorDims();
  SmallVector<OpFoldResult> sizes = getSizes(builder, getLoc(), getK());
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  SmallVector<Range> domain;
  if (dims.batch) {
    domain.push_back({zero, sizes[*dims.batch], one});
  }
  domain.push_back({zero, sizes[dims.head], one});
  return domain;
}

FailureOr<TilingResult> ForwardOp::getTiledImplementation(OpBuilder &builder,
                                                          ArrayRef<OpFoldResult> offsets,
                                                          ArrayRef<OpFoldResult> sizes) {
  const Tile tile = makeTile(builder, *this, offsets, sizes);
  Location loc = getLoc();
  SmallVector<std::pair<unsigned, Cut>> batch, heads{{0, tile.queryHeads}};
  if (tile.batch) {
    batch.emplace_back(0, *tile.batch);
  }
  // One value may stand in two places (k and v), cut by different rules.
  SmallVector<Value> operands(getOperands());
  SmallVector<Operation *> slices;
  auto cut = [&](MutableOperandRange range, ArrayRef<std::pair<unsigned, Cut>> cuts) {
    for (OpOperand &operand : range) {
      operands[operand.getOperandNumber()] = slice(builder, loc, operand.get(), cuts, slices);
    }
  };
  cut(getQMutable(), cutTensor(*this, tile, tile.queryHeads));
  cut(getKMutable(), cutTensor(*this, tile, tile.keyHeads));
  cut(getVMutable(), cutTensor(*this, tile, tile.keyHeads));
  cut(getOMutable(), cutTensor(*this, tile, tile.queryHeads));
  cut(getLseMutable(), cutLse(tile));
  cut(getQueryDocumentsMutable(), batch);
  cut(getKeyDocumentsMutable(), batch);
  cut(getPositionOffsetMutable(), batch);
  cut(getSinkMutable(), heads);

  auto tiled = cast<ForwardOp>(builder.clone(*getOperation()));
  tiled->setOperands(operands);
  for (OpResult result : tiled->getResults()) {
    result.setType(tiled.getTiedOpOperand(result)->get().getType());
  }
  if (hasScoreRegion() || hasPredicateRegion()) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(tiled);
    auto shift = [&](Value origin, OpFoldResult offset) -> Value {
      Value start = getValueOrCreateConstantIndexOp(builder, loc, offset);
      return origin ? builder.createOrFold<arith::AddIOp>(loc, origin, start) : start;
    };
    OpFoldResult batchOffset = tile.batch ? tile.batch->offset : builder.getIndexAttr(0);
    tiled.getBatchOriginMutable().assign(shift(getBatchOrigin(), batchOffset));
    tiled.getHeadOriginMutable().assign(shift(getHeadOrigin(), tile.queryHeads.offset));
  }
  return TilingResult{{tiled}, SmallVector<Value>(tiled->getResults()), slices};
}

LogicalResult ForwardOp::getResultTilePosition(OpBuilder &builder, unsigned resultNumber,
                                               ArrayRef<OpFoldResult> offsets,
                                               ArrayRef<OpFoldResult> sizes,
                                               SmallVector<OpFoldResult> &resultOffsets,
                                               SmallVector<OpFoldResult> &resultSizes) {
  const Tile tile = makeTile(builder, *this, offsets, sizes);
  resultSizes = getSizes(builder, getLoc(), getDpsInitOperand(resultNumber)->get());
  resultOffsets.assign(resultSizes.size(), builder.getIndexAttr(0));
  const bool isLse = resultNumber == 1;
  for (const auto &[dim, cut] : isLse ? cutLse(tile) : cutTensor(*this, tile, tile.queryHeads)) {
    resultOffsets[dim] = cut.offset;
    resultSizes[dim] = cut.size;
  }
  return success();
}

/// `cut` of query heads in units of key heads; none if it is no whole number.
static std::optional<Cut> toKeyHeads(ForwardOp op, const Cut &cut, Builder &builder) {
  const unsigned dim = op.getTensorDims().head;
  const int64_t queryHeads = cast<ShapedType>(op.getQ().getType()).getDimSize(dim);
  const int64_t keyHeads = cast<ShapedType>(op.getK().getType()).getDimSize(dim);
  if (ShapedType::isDynamic(queryHeads) || ShapedType::isDynamic(keyHeads)) {
    return std::nullopt;
  }
  const int64_t ratio = queryHeads / keyHeads;
  if (ratio == 1) {
    return cut;
  }
  std::optional<int64_t> offset = getConstantIntValue(cut.offset);
  std::optional<int64_t> size = getConstantIntValue(cut.size);
  if (!offset || !size || *offset % ratio != 0 || *size % ratio != 0) {
    return std::nullopt;
  }
  return Cut{builder.getIndexAttr(*offset / ratio), builder.getIndexAttr(*size / ratio)};
}

/// A tile of a result is one of the loops if it takes rows and depth whole and
/// query heads by the key head.
LogicalResult ForwardOp::getIterationDomainTileFromResultTile(
    OpBuilder &builder, unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
    ArrayRef<OpFoldResult> sizes, SmallVectorImpl<OpFoldResult> &domainOffsets,
    SmallVectorImpl<OpFoldResult> &domainSizes) {
  const TensorDims dims = getTensorDims();
  const bool isLse = resultNumber == 1;
  const std::optional<unsigned> batchDim = isLse && dims.batch ? 0 : dims.batch;
  const unsigned headDim = !isLse ? dims.head : dims.batch ? 1 : 0;
  auto type = cast<ShapedType>(getDpsInitOperand(resultNumber)->get().getType());
  for (unsigned dim = 0; dim < offsets.size(); ++dim) {
    if (dim == headDim || dim == batchDim) {
      continue;
    }
    if (!isZeroInteger(offsets[dim]) || getConstantIntValue(sizes[dim]) != type.getDimSize(dim)) {
      return failure();
    }
  }
  std::optional<Cut> heads = toKeyHeads(*this, Cut{offsets[headDim], sizes[headDim]}, builder);
  if (!heads) {
    return failure();
  }
  if (batchDim) {
    domainOffsets.push_back(offsets[*batchDim]);
    domainSizes.push_back(sizes[*batchDim]);
  }
  domainOffsets.push_back(heads->offset);
  domainSizes.push_back(heads->size);
  return success();
}

FailureOr<TilingResult> ForwardOp::generateResultTileValue(OpBuilder &builder,
                                                           unsigned resultNumber,
                                                           ArrayRef<OpFoldResult> offsets,
                                                           ArrayRef<OpFoldResult> sizes) {
  SmallVector<OpFoldResult> domainOffsets, domainSizes;
  if (failed(getIterationDomainTileFromResultTile(builder, resultNumber, offsets, sizes,
                                                  domainOffsets, domainSizes))) {
    return failure();
  }
  FailureOr<TilingResult> tiled = getTiledImplementation(builder, domainOffsets, domainSizes);
  if (failed(tiled)) {
    return failure();
  }
  return TilingResult{tiled->tiledOps, {tiled->tiledValues[resultNumber]}, tiled->generatedSlices};
}
