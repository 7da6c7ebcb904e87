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

#include "ForwardPlan.h"
#include "ScalarBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4;

using Predicate = arith::CmpIPredicate;

namespace {
class Decoder {
public:
  Decoder(OpBuilder &builder, const ForwardPlan &plan, KernelArguments &args, TileScalars &scalars)
      : builder(builder), loc(attn::ForwardOp(plan.op).getLoc()), plan(plan), args(args),
        scalars(scalars), narrow(builder, loc, builder.getI32Type()),
        wide(builder, loc, builder.getI64Type()) {}

  void run(Value number);

private:
  void decodeDense(Value number);
  Value decodeLongestFirst(Value number, Value blocks);
  void decodePacked(Value number);
  void decodeRange();
  Value fetch(Value global, Value index) {
    return tile::FetchOp::create(builder, loc, builder.getI32Type(), global, index);
  }
  /// The used part of a length, whatever the caller wrote there.
  Value limit(Value used, Value length) {
    return used ? narrow.min(narrow.max(fetch(used, scalars.batch), 0), length) : length;
  }
  Value getLast(Value tile, Value count) { return narrow.sub(narrow.sub(count, 1), tile); }
  /// The largest lower or smallest upper end over all masks for row `row`;
  /// starts from `bound`.
  Value boundLower(Value bound, Value row);
  Value boundUpper(Value bound, Value row);
  Value align(const attn::MaskBounds &mask, Value row, int64_t distance);

  OpBuilder &builder;
  Location loc;
  const ForwardPlan &plan;
  KernelArguments &args;
  TileScalars &scalars;
  ScalarBuilder narrow, wide;
  /// The tile's number among the tiles of its sequence.
  Value block;
  Value queryLength, keyLength;
  /// What alignment adds to a row, as i64.
  Value topLeft, bottomRight;
};
} // namespace

/// The longest tiles of a section of heads come first, so that what runs last is short.
/// A section has no more heads than whose K and V a second-level cache holds.
Value Decoder::decodeLongestFirst(Value number, Value blocks) {
  // FlashAttention-3's hopper/tile_scheduler.hpp takes 32 MB of the 50 MB of an H100; an
  // H200 lost 5 % of head dim 128 when a section was all of 32 heads.
  constexpr int64_t kSectionBytes = int64_t{32} << 20;
  const int64_t keyBytes = (plan.getHeadDimQk() + plan.getHeadDimV()) *
                           plan.getElementType().getIntOrFloatBitWidth() / 8;
  Value heads = narrow.mul(args.batches, args.heads);
  Value headBytes = wide.max(wide.mul(wide.convert(args.keyExtent), keyBytes), 1);
  Value fitting =
      wide.mul(wide.div(wide.constant(kSectionBytes), headBytes), wide.convert(args.group));
  // At most a launch's number of tiles, so in 32 bits.
  Value size = narrow.convert(wide.max(wide.min(fitting, wide.convert(heads)), 1));
  Value tiles = narrow.mul(size, blocks);
  Value first = narrow.mul(narrow.div(number, tiles), size);
  Value inside = narrow.rem(number, tiles);
  // The last section may have fewer.
  Value mine = narrow.min(size, narrow.sub(heads, first));
  block = getLast(narrow.div(inside, mine), blocks);
  return narrow.add(first, narrow.rem(inside, mine));
}

void Decoder::decodeDense(Value number) {
  Value blocks = narrow.ceilDiv(args.queryExtent, plan.ctaRows());
  Value rest;
  if (plan.isLongestFirst()) {
    rest = decodeLongestFirst(number, blocks);
  } else {
    block = narrow.rem(number, blocks);
    rest = narrow.div(number, blocks);
  }
  scalars.head = narrow.rem(rest, args.heads);
  scalars.batch = narrow.div(rest, args.heads);
  queryLength = limit(args.queryUsed, args.queryExtent);
  keyLength = limit(args.keyUsed, args.keyExtent);
}

/// Finds the sequence by a scan of the prefix sums. A number past the last tile
/// gets the sequence after the last, which is empty.
void Decoder::decodePacked(Value number) {
  scalars.head = narrow.rem(number, args.heads);
  Value slot = narrow.div(number, args.heads);
  Value zero = narrow.constant(0), one = narrow.constant(1);
  auto scan = scf::ForOp::create(
      builder, loc, zero, args.batches, one, ValueRange{zero, args.batches, zero},
      [&](OpBuilder &, Location, Value sequence, ValueRange carried) {
        Value begin = fetch(args.queryStarts, sequence);
        Value end = fetch(args.queryStarts, narrow.add(sequence, one));
        Value blocks = narrow.max(narrow.ceilDiv(narrow.sub(end, begin), plan.ctaRows()), zero);
        Value next = narrow.add(carried[0], blocks);
        Value index = narrow.sub(slot, carried[0]);
        Value isHere =
            arith::AndIOp::create(builder, loc, narrow.compare(Predicate::sge, index, zero),
                                  narrow.compare(Predicate::slt, slot, next));
        Value found = plan.isLongestFirst() ? getLast(index, blocks) : index;
        scf::YieldOp::create(builder, loc,
                             ValueRange{next, narrow.select(isHere, sequence, carried[1]),
                                        narrow.select(isHere, found, carried[2])});
      });
  scalars.batch = scan.getResult(1);
  block = scan.getResult(2);
  auto getLength = [&](Value starts, Value begin) {
    Value end = fetch(starts, narrow.add(scalars.batch, one));
    return narrow.max(narrow.sub(end, begin), zero);
  };
  scalars.queryStart = fetch(args.queryStarts, scalars.batch);
  Value rows = getLength(args.queryStarts, scalars.queryStart);
  scalars.queryEnd = narrow.add(scalars.queryStart, rows);
  scalars.keyStart = fetch(args.keyStarts, scalars.batch);
  queryLength = limit(args.queryUsed, rows);
  keyLength = limit(args.keyUsed, getLength(args.keyStarts, scalars.keyStart));
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
      bound = wide.min(bound, align(mask, row, *mask.upper));
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
  topLeft = scalars.offset ? wide.convert(scalars.offset) : Value();
  if (llvm::any_of(plan.bounds, [](const attn::MaskBounds &mask) {
        return mask.alignment == attn::MaskAlignment::BottomRight;
      })) {
    bottomRight = wide.sub(keys, rows);
    bottomRight = topLeft ? wide.add(bottomRight, topLeft) : bottomRight;
  }

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
  if (plan.isPacked()) {
    decodePacked(number);
  } else {
    decodeDense(number);
  }
  scalars.kvHead = narrow.div(scalars.head, args.group);
  if (args.positionOffset) {
    scalars.offset = fetch(args.positionOffset, scalars.batch);
  }
  if (plan.hasLengthsPerBatch()) {
    scalars.queryLength = queryLength;
    scalars.keyLength = keyLength;
  }
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
