//===- SplitMma.cpp - tile-split-mma --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts the products of computed tiles along k, so that a part can be handed to
// the tensor core while the next one is still being computed. The parts travel
// as values of their own from the op that computes them to the product.
//
//===----------------------------------------------------------------------===//

#include "StepSources.h"
#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

#include <numeric>

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILESPLITMMA
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

namespace {

/// A range of columns of the whole tile.
struct Part {
  int64_t begin;
  int64_t end;
};

class MmaSplitter {
public:
  MmaSplitter(RewriterBase &rewriter, KernelOp kernel, ArrayRef<int64_t> sizes)
      : rewriter(rewriter), kernel(kernel) {
    for (int64_t size : sizes) {
      parts.push_back({columns, columns + size});
      columns += size;
    }
  }

  int64_t getColumns() const { return columns; }
  bool isComputed(Value tile) const;
  void cut(MmaOp mma);
  /// Lets an argument of `def` that is only ever cut arrive in parts. Keeps the
  /// argument whole, and returns false, if something else needs the whole tile.
  bool passInParts(DefOp def, unsigned argument);

private:
  Value slice(Location loc, Value whole, Axis axis, Part part);
  bool isOnlyCut(BlockArgument argument) const;
  /// The one def and result that every call of `def` passes as `argument`.
  FailureOr<std::pair<DefOp, unsigned>> getProducer(DefOp def, unsigned argument) const;
  void yieldInParts(DefOp def, unsigned result);
  Value computePart(Value whole, unsigned index);

  RewriterBase &rewriter;
  KernelOp kernel;
  int64_t columns = 0;
  SmallVector<Part> parts;
  /// The parts of a tile that are computed one by one.
  llvm::MapVector<Value, SmallVector<Value>> computed;
};

} // namespace

Value MmaSplitter::slice(Location loc, Value whole, Axis axis, Part part) {
  auto type = cast<FragType>(whole.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[axis == Axis::Rows ? 0 : 1] = part.end - part.begin;
  return SliceOp::create(rewriter, loc, type.clone(shape), whole, axis, part.begin, part.end);
}

bool MmaSplitter::isComputed(Value tile) const {
  return llvm::none_of(getSources(tile, kernel),
                       [](Value source) { return source.getDefiningOp<LoadOp>(); });
}

void MmaSplitter::cut(MmaOp mma) {
  rewriter.setInsertionPoint(mma);
  Location loc = mma.getLoc();
  Value onto = mma.getOnto();
  Value unless = mma.getUnless();
  for (Part part : parts) {
    Value a = slice(loc, mma.getA(), Axis::Columns, part);
    Value b = slice(loc, mma.getB(), Axis::Rows, part);
    onto = MmaOp::create(rewriter, loc, mma.getType(), a, b, onto, unless);
    unless = {}; // Only the first product may start from zero.
  }
  rewriter.replaceOp(mma, onto);
}

bool MmaSplitter::isOnlyCut(BlockArgument argument) const {
  return llvm::all_of(argument.getUsers(), [&](Operation *user) {
    auto slice = dyn_cast<SliceOp>(user);
    return slice && slice.getAxis() == Axis::Columns && llvm::any_of(parts, [&](Part part) {
             return slice.getBegin() == static_cast<uint64_t>(part.begin) &&
                    slice.getEnd() == static_cast<uint64_t>(part.end);
           });
  });
}

FailureOr<std::pair<DefOp, unsigned>> MmaSplitter::getProducer(DefOp def, unsigned argument) const {
  std::optional<std::pair<DefOp, unsigned>> producer;
  for (StepOp call : getCalls(def, kernel)) {
    auto step = call.getInputs()[argument].getDefiningOp<StepOp>();
    if (!step || call.getUnless()) {
      return failure();
    }
    unsigned number = cast<OpResult>(call.getInputs()[argument]).getResultNumber();
    std::pair<DefOp, unsigned> found(step.getDef(), number);
    if (found.first->getParentOp() != kernel || (producer && *producer != found)) {
      return failure();
    }
    producer = found;
  }
  if (!producer) {
    return failure();
  }
  for (StepOp step : getCalls(producer->first, kernel)) {
    for (OpOperand &use : step.getOutputs()[producer->second].getUses()) {
      auto user = dyn_cast<StepOp>(use.getOwner());
      if (step.getUnless() || !user || user.getDef() != def || use.getOperandNumber() != argument) {
        return failure();
      }
    }
  }
  return *producer;
}

/// Computes a part of `whole` from parts of what `whole` is computed from.
Value MmaSplitter::computePart(Value whole, unsigned index) {
  SmallVector<Value> &known = computed[whole];
  if (known.size() > index) {
    return known[index];
  }
  Operation *op = whole.getDefiningOp();
  Part part = parts[index];
  auto shape = cast<FragType>(whole.getType())
                   .clone({cast<FragType>(whole.getType()).getRows(), part.end - part.begin});
  Value value;
  if (auto cast = dyn_cast_if_present<CastOp>(op)) {
    Value operand = computePart(cast.getOperand(), index);
    value = CastOp::create(rewriter, cast.getLoc(), shape, operand);
  } else if (auto exp2 = dyn_cast_if_present<Exp2Op>(op)) {
    Value operand = computePart(exp2.getOperand(), index);
    int64_t from = static_cast<int64_t>(exp2.getColumnsFrom()) + part.begin;
    value = Exp2Op::create(rewriter, exp2.getLoc(), shape, operand, exp2.getShareAttr(), from);
  } else {
    value = slice(whole.getLoc(), whole, Axis::Columns, part);
  }
  // `known` may have moved: the recursion added entries.
  computed[whole].push_back(value);
  return value;
}

void MmaSplitter::yieldInParts(DefOp def, unsigned result) {
  YieldOp yield = def.getYield();
  Value whole = yield.getValues()[result];
  // Right after the tile that the parts are cut from, which is in front of
  // every use of the whole.
  Value root = whole;
  while (isa_and_present<CastOp, Exp2Op>(root.getDefiningOp())) {
    root = root.getDefiningOp()->getOperand(0);
  }
  rewriter.setInsertionPointAfterValue(root);
  computed.clear();
  SmallVector<Value> values;
  for (unsigned index = 0; index < parts.size(); ++index) {
    values.push_back(computePart(whole, index));
  }
  for (auto &[tile, tileParts] : computed) {
    for (Operation *user : llvm::make_early_inc_range(tile.getUsers())) {
      auto sum = dyn_cast<RowSumOp>(user);
      if (!sum || tile == root) {
        continue;
      }
      rewriter.setInsertionPoint(sum);
      Value total = sum.getInit();
      for (Value part : tileParts) {
        total = RowSumOp::create(rewriter, sum.getLoc(), sum.getType(), part, total);
      }
      rewriter.replaceOp(sum, total);
    }
  }
  SmallVector<Value> yielded(yield.getValues());
  yielded.erase(yielded.begin() + result);
  yielded.insert(yielded.begin() + result, values.begin(), values.end());
  rewriter.setInsertionPoint(yield);
  rewriter.replaceOpWithNewOp<YieldOp>(yield, yielded);
  for (auto &[tile, tileParts] : computed) {
    if (tile != root && tile.use_empty()) {
      rewriter.eraseOp(tile.getDefiningOp());
    }
  }
  auto type = def.getFunctionType();
  def.setFunctionType(type.clone(type.getInputs(), ValueRange(yielded).getTypes()));
  for (StepOp step : getCalls(def, kernel)) {
    rewriter.setInsertionPoint(step);
    auto parted = StepOp::create(rewriter, step.getLoc(), ValueRange(yielded).getTypes(),
                                 step.getCalleeAttr(), step.getIndexAttr(), step.getInputs(),
                                 step.getUnless());
    for (OpResult old : step->getResults()) {
      unsigned number = old.getResultNumber();
      if (number != result) {
        unsigned moved = number < result ? number : number + parts.size() - 1;
        rewriter.replaceAllUsesWith(old, parted.getResult(moved));
        continue;
      }
      for (OpOperand &use : llvm::make_early_inc_range(old.getUses())) {
        auto call = cast<StepOp>(use.getOwner());
        call.getInputsMutable()
            .slice(use.getOperandNumber(), 1)
            .assign(parted->getResults().slice(result, parts.size()));
      }
    }
    rewriter.eraseOp(step);
  }
}

bool MmaSplitter::passInParts(DefOp def, unsigned argument) {
  Block &body = def.getBody().front();
  if (!isOnlyCut(body.getArgument(argument))) {
    return false;
  }
  FailureOr<std::pair<DefOp, unsigned>> producer = getProducer(def, argument);
  if (failed(producer)) {
    return false;
  }
  auto whole = cast<FragType>(body.getArgument(argument).getType());
  SmallVector<Type> inputs(def.getFunctionType().getInputs());
  inputs.erase(inputs.begin() + argument);
  for (auto [index, part] : llvm::enumerate(parts)) {
    Type type = whole.clone({whole.getRows(), part.end - part.begin});
    inputs.insert(inputs.begin() + argument + index, type);
    BlockArgument value = body.insertArgument(argument + 1 + index, type, def.getLoc());
    for (Operation *user : llvm::make_early_inc_range(body.getArgument(argument).getUsers())) {
      if (cast<SliceOp>(user).getBegin() == static_cast<uint64_t>(part.begin)) {
        rewriter.replaceOp(user, value);
      }
    }
  }
  body.eraseArgument(argument);
  def.setFunctionType(def.getFunctionType().clone(inputs, def.getFunctionType().getResults()));
  yieldInParts(producer->first, producer->second);
  return true;
}

namespace {
struct TileSplitMma : public fa4::tile::impl::TileSplitMmaBase<TileSplitMma> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    const Schedule &plan = kernel.getSchedule().getPlan();
    if (plan.splitP.size() < 2) {
      return;
    }
    if (failed(requireOwnDefs(kernel))) {
      return signalPassFailure();
    }
    IRRewriter rewriter(&getContext());
    MmaSplitter splitter(rewriter, kernel, plan.splitP);
    for (DefOp def : kernel.getOps<DefOp>()) {
      SmallVector<MmaOp> products;
      def.walk([&](MmaOp mma) {
        if (cast<FragType>(mma.getA().getType()).getColumns() == splitter.getColumns() &&
            splitter.isComputed(mma.getA())) {
          products.push_back(mma);
        }
      });
      SmallVector<unsigned> cutArguments;
      for (MmaOp mma : products) {
        auto argument = dyn_cast<BlockArgument>(mma.getA());
        splitter.cut(mma);
        ++numProducts;
        if (argument && !llvm::is_contained(cutArguments, argument.getArgNumber())) {
          cutArguments.push_back(argument.getArgNumber());
        }
      }
      // From the back, so that earlier numbers stay.
      llvm::sort(cutArguments, std::greater<>());
      for (unsigned argument : cutArguments) {
        numResults += splitter.passInParts(def, argument) ? 1 : 0;
      }
    }
  }
};
} // namespace
