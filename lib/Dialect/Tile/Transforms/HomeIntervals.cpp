//===- HomeIntervals.cpp - what lies over each other is not live together -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hazards belong to regions. In the order that the loop was given, the values of
// two views that share bytes or columns must follow each other. Values that one
// channel will carry are its ring's to keep apart.
//
//===----------------------------------------------------------------------===//

#include "HomePlan.h"
#include "TripWalk.h"

#include "fa4/Dialect/Tile/Analysis/ViewOverlap.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {

/// One value in memory: written, then read for the last time.
struct Interval {
  KeepOp keep;
  int64_t begin, end;
  /// Where it was read last, and by which role; null if nowhere.
  InlinedStepOp reader;
  const Role *writerRole, *readerRole = nullptr;
};

class IntervalWalk : public TripWalk {
public:
  explicit IntervalWalk(KernelOp kernel) : overlap(kernel) {}

  LogicalResult check();

private:
  void enter(InlinedStepOp step) override {
    ++instance;
    current = step;
  }
  LogicalResult visit(Operation *op) override;
  LogicalResult visitKeep(KeepOp keep);
  void read(Operation *op, int64_t label);
  LogicalResult report(const Interval &first, const Interval &second, MemoryRange shared);

  ViewOverlap overlap;
  SmallVector<Interval> intervals;
  /// The value and the step instance of each read by threads: the first of them
  /// takes the tile to registers.
  llvm::DenseSet<std::pair<int64_t, int64_t>> taken;
  InlinedStepOp current;
  int64_t position = 0, instance = 0;
};

} // namespace

static InlinedStepOp getMaker(KeepOp keep) {
  if (InlinedStepOp step = getStepOf(keep)) {
    return step;
  }
  for (Value origin : getOrigins(keep.getValue())) {
    if (InlinedStepOp step = getStepOf(origin.getDefiningOp())) {
      return step;
    }
  }
  return InlinedStepOp();
}

void IntervalWalk::read(Operation *op, int64_t label) {
  Interval &interval = intervals[label];
  const Role *role = current ? getRoleOf(current) : nullptr;
  bool isByEngine = isa<MmaOp, StoreOp>(op);
  bool wasByEngine = isa_and_present<MmaOp, LoadOp>(interval.keep.getValue().getDefiningOp());
  if (!isByEngine && !wasByEngine && role == interval.writerRole) {
    return; // still in the registers of the role that made it
  }
  if (!isByEngine && !taken.insert({label, instance}).second) {
    return;
  }
  interval.end = position;
  interval.reader = current;
  interval.readerRole = role;
}

LogicalResult IntervalWalk::visitKeep(KeepOp keep) {
  InlinedStepOp maker = getMaker(keep);
  setLabel(keep.getResult(), static_cast<int64_t>(intervals.size()));
  intervals.push_back({keep, position, position, InlinedStepOp(), getRoleOf(maker)});
  return success();
}

LogicalResult IntervalWalk::visit(Operation *op) {
  ++position;
  if (auto keep = dyn_cast<KeepOp>(op)) {
    return visitKeep(keep);
  }
  for (Value operand : op->getOperands()) {
    int64_t label = getLabel(operand);
    if (label == kNoLabel) {
      continue;
    }
    if (isa<SliceOp, TransposeOp>(op)) {
      setLabel(op->getResult(0), label);
    }
    read(op, label);
  }
  return success();
}

LogicalResult IntervalWalk::report(const Interval &first, const Interval &second,
                                   MemoryRange shared) {
  KeepOp keep = second.keep;
  InlinedStepOp writer = getMaker(keep), reader = first.reader;
  KeepOp older = first.keep;
  auto alloc =
      SymbolTable::lookupNearestSymbolFrom<ViewOp>(keep, keep.getViewAttr()).getAllocAttr();
  bool isTmem = overlap.lookup(keep.getView())->space == Space::Tmem;
  InFlightDiagnostic error =
      writer.emitError() << "expected " << older.getViewAttr() << " and " << keep.getViewAttr()
                         << " of " << alloc << " not to be live together, but '"
                         << writer.getStepName() << "' writes " << (isTmem ? "columns " : "bytes ")
                         << shared.begin << " to " << shared.end << " before '"
                         << reader.getStepName() << "' has read " << older.getViewAttr();
  error.attachNote(reader.getLoc()) << "'" << reader.getStepName() << "' is here";
  error.attachNote(writer.getLoc())
      << "put '" << reader.getStepName() << "' before '" << writer.getStepName()
      << "' in the schedule's order, or give them homes apart";
  return error;
}

LogicalResult IntervalWalk::check() {
  for (size_t first = 0; first < intervals.size(); ++first) {
    for (size_t second = first + 1; second < intervals.size(); ++second) {
      Interval &older = intervals[first], &newer = intervals[second];
      if (older.end < newer.begin) {
        continue;
      }
      std::optional<MemoryRange> shared =
          overlap.shared(older.keep.getView(), newer.keep.getView());
      bool isOneChannel = older.writerRole == newer.writerRole &&
                          (older.readerRole == newer.readerRole || !newer.readerRole);
      bool isOtherElement = older.keep.getElement() != newer.keep.getElement();
      if (!shared || isOtherElement || isOneChannel) {
        continue;
      }
      return report(older, newer, *shared);
    }
  }
  return success();
}

LogicalResult fa4::tile::checkLiveIntervals(KernelOp kernel) {
  IntervalWalk walk(kernel);
  // Two trips of the rotated loop, and two tiles for the border between them.
  constexpr int64_t kTrips = 3;
  if (failed(walk.run(kernel, {kTrips, kTrips}))) {
    return failure();
  }
  return walk.check();
}
