//===- Reductions.cpp - a row's statistics ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each thread reduces what it has of a row, then the threads of the row exchange
// what they have. The order of a sum is fixed here and by nothing else: the result
// does not depend on the compiler, and is the same in all threads of a row.
//
//===----------------------------------------------------------------------===//

#include "ThreadLayout.h"
#include "Values.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fa4::tile::gpu {

/// Partial sums that run side by side: enough packed additions in flight to hide
/// the latency of one.
static constexpr int64_t kSumChains = 4;
/// f32 in one packed operand.
static constexpr int64_t kPair = 2;

/// The first lanes of the pairs of row `row`, in order, and the lane that is left of
/// an odd number.
static SmallVector<int64_t> pairsOf(const ThreadLayout &layout, int64_t row,
                                    std::optional<int64_t> &rest) {
  SmallVector<int64_t> pairs;
  for (int64_t lane = 0; lane < layout.lanes();) {
    if (layout.rowOf(lane) != row) {
      ++lane;
    } else if (lane + 1 == layout.lanes()) {
      rest = lane++;
    } else {
      pairs.push_back(lane);
      lane += kPair;
    }
  }
  return pairs;
}

Value emitRowMax(ImplicitLocOpBuilder &b, const ThreadLayout &layout, int64_t row, Value lanes,
                 Value init) {
  auto larger = [&](Value best, Value next) -> Value {
    return best ? arith::MaxNumFOp::create(b, best, next).getResult() : next;
  };
  // Two chains over ascending columns: two links are one three-operand instruction,
  // and loads are used in the order in which they come.
  std::optional<int64_t> rest;
  Value pairs;
  for (int64_t lane : pairsOf(layout, row, rest)) {
    pairs = larger(pairs, takeLanes(b, lanes, lane, kPair));
  }
  Value top = init;
  if (rest) {
    top = larger(top, takeLane(b, lanes, *rest));
  }
  if (pairs) {
    top = larger(larger(takeLane(b, pairs, 0), takeLane(b, pairs, 1)), top);
  }
  return layout.reduceRow(b, top, larger);
}

namespace {
/// A reduction of rows; `reduceOwn` gives that of the lanes of one row.
template <typename OpTy>
struct RowLowering : LoweringPattern<OpTy> {
  using LoweringPattern<OpTy>::LoweringPattern;

  LogicalResult matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    ThreadLayout layout = ThreadLayout::of(op.getOperand());
    SmallVector<Value> results;
    for (int64_t row = 0; row < layout.rows(); ++row) {
      Value init = layout.numberOf(b, adaptor.getInit(), row);
      results.push_back(emitRow(b, layout, row, adaptor.getOperand(), init));
    }
    rewriter.replaceOp(op, layout.joinNumbers(b, results));
    return success();
  }

protected:
  virtual Value emitRow(ImplicitLocOpBuilder &b, const ThreadLayout &layout, int64_t row,
                        Value lanes, Value init) const = 0;
};

struct RowMaxLowering : RowLowering<RowMaxOp> {
  using RowLowering::RowLowering;

  LogicalResult matchAndRewrite(RowMaxOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!lowering.fusedMaxima.contains(op)) {
      return RowLowering::matchAndRewrite(op, adaptor, rewriter);
    }
    // The statistic computes it where it needs it.
    Type type = ThreadLayout::of(op.getResult()).registerType();
    rewriter.replaceOpWithNewOp<LLVM::PoisonOp>(op, type);
    return success();
  }

  Value emitRow(ImplicitLocOpBuilder &b, const ThreadLayout &layout, int64_t row, Value lanes,
                Value init) const override {
    return emitRowMax(b, layout, row, lanes, init);
  }
};

struct RowSumLowering : RowLowering<RowSumOp> {
  using RowLowering::RowLowering;

  Value emitRow(ImplicitLocOpBuilder &b, const ThreadLayout &layout, int64_t row, Value lanes,
                Value init) const override {
    auto add = [&](Value sum, Value next) -> Value {
      return sum ? arith::AddFOp::create(b, sum, next).getResult() : next;
    };
    SmallVector<Value> chains(kSumChains);
    std::optional<int64_t> rest;
    for (auto [number, lane] : llvm::enumerate(pairsOf(layout, row, rest))) {
      Value &chain = chains[number % kSumChains];
      chain = add(chain, takeLanes(b, lanes, lane, kPair));
    }
    for (int64_t half = kSumChains / 2; half >= 1; half /= 2) {
      for (int64_t chain = 0; chain < half; ++chain) {
        if (chains[chain + half]) {
          chains[chain] = add(chains[chain], chains[chain + half]);
        }
      }
    }
    Value sum;
    if (Value pairs = chains.front()) {
      sum = add(takeLane(b, pairs, 0), takeLane(b, pairs, 1));
    }
    if (rest) {
      sum = add(sum, takeLane(b, lanes, *rest));
    }
    sum = layout.reduceRow(b, sum, add);
    return add(sum, init);
  }
};
} // namespace

void populateReductionPatterns(const TileToNVVMTypeConverter &converter,
                               RewritePatternSet &patterns, const Lowering &lowering) {
  patterns.add<RowMaxLowering, RowSumLowering>(converter, patterns.getContext(), lowering);
}

} // namespace fa4::tile::gpu
