//===- TileOrder.cpp - which tile has which number ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each order maps the numbers 0 to n - 1 onto the n tiles, every tile once,
// whatever lengths the caller gives. Who computes a tile is not decided here.
//
//===----------------------------------------------------------------------===//

#include "TileOrder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4;

using Predicate = arith::CmpIPredicate;

namespace {

/// Blocks of a head, then heads, then batches.
class InOrder : public TileOrder {
public:
  InOrder(WorkMath &math, const ForwardPlan &plan, KernelArguments &args)
      : narrow(math.narrow), plan(plan), args(args) {}

  TilePlace locate(Value number) override {
    Value blocks = narrow.ceilDiv(args.queryExtent, plan.ctaRows());
    Value rank = narrow.rem(number, blocks);
    Value rest = narrow.div(number, blocks);
    Value head = narrow.rem(rest, args.heads);
    return {narrow.div(rest, args.heads), head, rank};
  }

private:
  ScalarBuilder &narrow;
  const ForwardPlan &plan;
  KernelArguments &args;
};

/// Sections of about equally many heads whose K and V fit into L2 together; in a section all heads'
/// blocks of one rank, then those of the next. Ranks go by length, so what runs last
/// is short.
class InSections : public TileOrder {
public:
  InSections(WorkMath &math, const ForwardPlan &plan, KernelArguments &args)
      : narrow(math.narrow), wide(math.wide), plan(plan), args(args) {}

  TilePlace locate(Value number) override {
    Value blocks = narrow.ceilDiv(args.queryExtent, plan.ctaRows());
    Value heads = narrow.mul(args.batches, args.heads);
    Value size = countHeads(heads);
    Value tiles = narrow.mul(size, blocks);
    Value first = narrow.mul(narrow.div(number, tiles), size);
    Value inside = narrow.rem(number, tiles);
    // The last section may have fewer. Only what the launch fixes is divided by, so
    // that the host can compute reciprocals.
    Value rest = narrow.max(narrow.rem(heads, size), 1);
    Value isWhole = narrow.compare(Predicate::sle, narrow.add(first, size), heads);
    Value mine = narrow.select(isWhole, size, rest);
    Value rank = narrow.select(isWhole, narrow.div(inside, size), narrow.div(inside, rest));
    Value all = narrow.add(first, narrow.sub(inside, narrow.mul(rank, mine)));
    Value head = narrow.rem(all, args.heads);
    return {narrow.div(all, args.heads), head, rank};
  }

private:
  Value countHeads(Value heads) {
    const int64_t keyBytes = (plan.getHeadDimQk() + plan.getHeadDimV()) *
                             plan.getElementType().getIntOrFloatBitWidth() / 8;
    Value headBytes = wide.max(wide.mul(wide.convert(args.keyExtent), keyBytes), 1);
    Value section = wide.constant(plan.target.getInfo().l2SectionBytes);
    Value fitting = wide.mul(wide.div(section, headBytes), wide.convert(args.group));
    // At most a launch's number of tiles, so in 32 bits.
    Value most = narrow.convert(wide.max(wide.min(fitting, wide.convert(heads)), 1));
    // As many sections as that takes, of equal size: a small last one, longest tiles
    // first, would not fill the chip.
    Value sections = narrow.max(ceilDiv(heads, most), 1);
    return narrow.max(ceilDiv(heads, sections), 1);
  }

  /// Of what is at least one.
  Value ceilDiv(Value a, Value b) { return narrow.add(narrow.div(narrow.sub(a, 1), b), 1); }

  ScalarBuilder &narrow, &wide;
  const ForwardPlan &plan;
  KernelArguments &args;
};

/// Packed sequences: heads, then the blocks of a sequence, then sequences, found by
/// a scan of the prefix sums. A number past the last tile gets the sequence after the
/// last, which is empty.
class BySequence : public TileOrder {
public:
  BySequence(WorkMath &math, const ForwardPlan &plan, KernelArguments &args)
      : math(math), narrow(math.narrow), plan(plan), args(args) {}

  TilePlace locate(Value number) override {
    Value head = narrow.rem(number, args.heads);
    Value slot = narrow.div(number, args.heads);
    Value zero = narrow.constant(0), one = narrow.constant(1);
    auto scan = scf::ForOp::create(
        math.builder, math.loc, zero, args.batches, one, ValueRange{zero, args.batches, zero},
        [&](OpBuilder &, Location, Value sequence, ValueRange carried) {
          Value begin = math.fetch(args.queryStarts, sequence);
          Value end = math.fetch(args.queryStarts, narrow.add(sequence, one));
          Value blocks = narrow.max(narrow.ceilDiv(narrow.sub(end, begin), plan.ctaRows()), zero);
          Value next = narrow.add(carried[0], blocks);
          Value rank = narrow.sub(slot, carried[0]);
          Value isHere = arith::AndIOp::create(math.builder, math.loc,
                                               narrow.compare(Predicate::sge, rank, zero),
                                               narrow.compare(Predicate::slt, slot, next));
          scf::YieldOp::create(math.builder, math.loc,
                               ValueRange{next, narrow.select(isHere, sequence, carried[1]),
                                          narrow.select(isHere, rank, carried[2])});
        });
    return {scan.getResult(1), head, scan.getResult(2)};
  }

private:
  WorkMath &math;
  ScalarBuilder &narrow;
  const ForwardPlan &plan;
  KernelArguments &args;
};

} // namespace

std::unique_ptr<TileOrder> TileOrder::create(WorkMath &math, const ForwardPlan &plan,
                                             KernelArguments &args) {
  if (plan.isPacked()) {
    return std::make_unique<BySequence>(math, plan, args);
  }
  if (plan.isLongestFirst()) {
    return std::make_unique<InSections>(math, plan, args);
  }
  return std::make_unique<InOrder>(math, plan, args);
}

Value fa4::emitFromMiddle(WorkMath &math, Value rank, Value blocks, Value twice) {
  ScalarBuilder &narrow = math.narrow, &wide = math.wide;
  Value last = narrow.sub(blocks, 1);
  Value clamped = narrow.convert(wide.max(wide.min(twice, wide.mul(wide.convert(last), 2)), 0));
  Value two = narrow.constant(2);
  // From the block next to the middle, to both sides in turn until one ends.
  Value start = narrow.div(narrow.add(clamped, 1), two);
  Value right = narrow.sub(last, start);
  Value both = narrow.min(start, right);
  Value distance = narrow.max(narrow.div(narrow.add(rank, 1), two), narrow.sub(rank, both));
  Value inTurn = narrow.compare(Predicate::eq, narrow.rem(rank, two), narrow.rem(clamped, two));
  Value isAlone = narrow.compare(Predicate::sgt, rank, narrow.mul(both, 2));
  Value isLeft = narrow.select(isAlone, narrow.compare(Predicate::sgt, start, right), inTurn);
  return narrow.select(isLeft, narrow.sub(start, distance), narrow.add(start, distance));
}
