//===- ForwardWork.cpp - tile.work of a forward kernel --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decodes a tile's number into coordinates and the range of key blocks that some
// row of the tile can see. Blocks are visited from the highest down: the first
// `ne` may hold keys above a row's range or past the end, those from `nl` on
// keys below it; all others need no mask. A tile that sees nothing gets one
// block, number -1, which reads nothing and is masked whole.
//
//===----------------------------------------------------------------------===//

#include "TileOrder.h"

using namespace mlir;
using namespace fa4;

using Predicate = arith::CmpIPredicate;

namespace {
class Decoder {
public:
  Decoder(OpBuilder &builder, const ForwardPlan &plan, KernelArguments &args, TileScalars &scalars)
      : math(builder, attn::ForwardOp(plan.op).getLoc()), narrow(math.narrow), wide(math.wide),
        plan(plan), args(args), scalars(scalars) {}

  void run(Value number);

private:
  void decodeLengths();
  void decodeShifts();
  Value chooseBlock(Value rank);
  void decodeRange();
  /// The used part of a length, whatever the caller wrote there.
  Value limit(Value used, Value length) {
    return used ? narrow.min(narrow.max(math.fetch(used, scalars.batch), 0), length) : length;
  }
  /// The largest lower or smallest upper end over all masks for row `row`;
  /// starts from `bound`, if there is one.
  Value boundLower(Value bound, Value row);
  Value boundUpper(Value bound, Value row);
  Value align(const attn::MaskBounds &mask, Value row, int64_t distance);

  WorkMath math;
  ScalarBuilder &narrow, &wide;
  const ForwardPlan &plan;
  KernelArguments &args;
  TileScalars &scalars;
  /// The tile's number among the tiles of its sequence.
  Value block;
  /// The rows that tiles divide, used or not.
  Value rowExtent;
  Value queryLength, keyLength;
  /// What alignment adds to a row, as i64.
  Value topLeft, bottomRight;
};
} // namespace

void Decoder::decodeLengths() {
  if (!plan.isPacked()) {
    rowExtent = args.queryExtent;
    queryLength = limit(args.queryUsed, args.queryExtent);
    keyLength = limit(args.keyUsed, args.keyExtent);
    return;
  }
  auto getLength = [&](Value starts, Value begin) {
    Value end = math.fetch(starts, narrow.add(scalars.batch, 1));
    return narrow.max(narrow.sub(end, begin), 0);
  };
  scalars.queryStart = math.fetch(args.queryStarts, scalars.batch);
  rowExtent = getLength(args.queryStarts, scalars.queryStart);
  scalars.queryEnd = narrow.add(scalars.queryStart, rowExtent);
  scalars.keyStart = math.fetch(args.keyStarts, scalars.batch);
  queryLength = limit(args.queryUsed, rowExtent);
  keyLength = limit(args.keyUsed, getLength(args.keyStarts, scalars.keyStart));
}

void Decoder::decodeShifts() {
  topLeft = scalars.offset ? wide.convert(scalars.offset) : Value();
  if (llvm::any_of(plan.bounds, [](const attn::MaskBounds &mask) {
        return mask.alignment == attn::MaskAlignment::BottomRight;
      })) {
    Value rows = wide.convert(queryLength);
    bottomRight = wide.sub(wide.convert(keyLength), rows);
    bottomRight = topLeft ? wide.add(bottomRight, topLeft) : bottomRight;
  }
}

/// Later blocks see more keys where there is an upper bound, fewer where there is a
/// lower one. With both, a block's keys grow until the upper bound meets the last key
/// and shrink from where the lower one meets the first, each by a block's rows per
/// block: a curve that is symmetric about the block in between.
Value Decoder::chooseBlock(Value rank) {
  if (!plan.isLongestFirst() || !plan.hasUpperBound()) {
    return rank;
  }
  Value blocks = narrow.ceilDiv(rowExtent, plan.ctaRows());
  if (plan.isPacked()) { // a number past the last tile has a sequence of none
    blocks = narrow.max(blocks, 1);
  }
  if (!plan.hasLowerBound()) {
    return narrow.sub(narrow.sub(blocks, 1), rank);
  }
  Value upper = boundUpper(Value(), wide.constant(plan.ctaRows() - 1));
  Value lower = boundLower(Value(), wide.constant(0));
  Value rest = wide.sub(wide.sub(wide.sub(wide.convert(keyLength), 1), upper), lower);
  return emitFromMiddle(math, rank, blocks, wide.floorDiv(rest, plan.ctaRows()));
}

Value Decoder::align(const attn::MaskBounds &mask, Value row, int64_t distance) {
  Value shift = mask.alignment == attn::MaskAlignment::TopLeft ? topLeft : bottomRight;
  Value aligned = shift ? wide.add(row, shift) : row;
  return wide.add(aligned, distance);
}

Value Decoder::boundLower(Value bound, Value row) {
  for (const attn::MaskBounds &mask : plan.bounds) {
    if (mask.lower) {
      Value end = align(mask, row, *mask.lower);
      bound = bound ? wide.max(bound, end) : end;
    }
  }
  return bound;
}

Value Decoder::boundUpper(Value bound, Value row) {
  for (const attn::MaskBounds &mask : plan.bounds) {
    if (mask.upper) {
      Value end = align(mask, row, *mask.upper);
      bound = bound ? wide.min(bound, end) : end;
    }
  }
  return bound;
}

void Decoder::decodeRange() {
  // 64 bits: a row, two lengths, an offset and a window each fit 32.
  Value rows = wide.convert(queryLength);
  Value keys = wide.convert(keyLength);
  Value firstRow = wide.mul(wide.convert(block), plan.ctaRows());
  Value lastRow = wide.sub(wide.min(wide.add(firstRow, plan.ctaRows()), rows), 1);
  Value lastKey = boundUpper(wide.sub(keys, 1), lastRow);
  Value last = wide.max(wide.floorDiv(lastKey, plan.columns), -1);
  if (plan.hasLengthsPerBatch()) {
    // Rows past the length see nothing.
    Value isRow = wide.compare(Predicate::slt, firstRow, rows);
    last = wide.select(isRow, last, wide.constant(-1));
  }
  Value count = wide.add(last, 1);
  if (plan.hasLowerBound()) {
    Value firstKey = boundLower(wide.constant(0), firstRow);
    Value first = wide.floorDiv(firstKey, plan.columns);
    Value isEmpty = wide.compare(Predicate::slt, last, first);
    count = wide.select(isEmpty, wide.constant(0), wide.add(wide.sub(last, first), 1));
    last = wide.select(isEmpty, wide.constant(-1), last);
  }
  count = wide.max(count, 1);

  Value wholeKeys = wide.add(boundUpper(wide.sub(keys, 1), firstRow), 1);
  Value firstEdge = wide.floorDiv(wholeKeys, plan.columns);
  Value edges = wide.add(wide.sub(last, firstEdge), 1);
  edges = wide.min(wide.max(edges, 1), count);
  if (plan.hasLowerBound()) {
    Value lowerKey = boundLower(Value(), lastRow);
    Value lastEdge = wide.ceilDiv(lowerKey, plan.columns);
    Value left = wide.add(wide.sub(last, lastEdge), 1);
    scalars.leftEdge = narrow.convert(wide.min(wide.max(left, edges), count));
  }
  scalars.firstBlock = narrow.convert(last);
  scalars.blocks = narrow.convert(count);
  scalars.edgeBlocks = narrow.convert(edges);
}

void Decoder::run(Value number) {
  TilePlace place = TileOrder::create(math, plan, args)->locate(number);
  scalars.batch = place.batch;
  scalars.head = place.head;
  decodeLengths();
  scalars.kvHead = narrow.div(scalars.head, args.group);
  if (args.positionOffset) {
    scalars.offset = math.fetch(args.positionOffset, scalars.batch);
  }
  if (plan.hasLengthsPerBatch()) {
    scalars.queryLength = queryLength;
    scalars.keyLength = keyLength;
  }
  decodeShifts();
  block = chooseBlock(place.rank);
  Value firstStage = narrow.mul(block, plan.stages);
  // Where stages take turns, the one that sees the first block goes first.
  const bool turned = plan.takesTurns() && plan.hasUpperBound();
  for (int64_t stage = 0; stage < plan.stages; ++stage) {
    scalars.queryBlocks.push_back(narrow.add(firstStage, turned ? plan.stages - 1 - stage : stage));
  }
  decodeRange();
}

void fa4::emitDecode(OpBuilder &builder, const ForwardPlan &plan, Value number,
                     KernelArguments &args, TileScalars &scalars) {
  Decoder(builder, plan, args, scalars).run(number);
}
