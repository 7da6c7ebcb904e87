//===- Reductions.cpp - a row's statistics in its thread ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row lies in one thread, so no lane talks to another. The order of a sum is
// fixed here and by nothing else: the result does not depend on the compiler.
//
//===----------------------------------------------------------------------===//

#include "Values.h"

#include "fa4/Dialect/Tile/IR/OnlineMax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fa4::tile::gpu {

/// Partial sums that run side by side: enough packed additions in flight to hide
/// the latency of one.
static constexpr int64_t kSumChains = 4;
/// f32 in one packed operand.
static constexpr int64_t kPair = 2;

namespace {
struct RowMaxLowering : LoweringPattern<RowMaxOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(RowMaxOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value row = adaptor.getOperand();
    int64_t columns = tileOf(op.getOperand()).getColumns();
    auto larger = [&](Value best, Value next) -> Value {
      return best ? arith::MaxNumFOp::create(b, best, next).getResult() : next;
    };
    // Two chains over ascending columns: two links are one three-operand
    // instruction, and loads are used in the order in which they come.
    Value pairs;
    for (int64_t column = 0; column + kPair <= columns; column += kPair) {
      pairs = larger(pairs, takeLanes(b, row, column, kPair));
    }
    Value top = adaptor.getInit();
    if (columns % kPair == 1) {
      top = larger(top, takeLane(b, row, columns - 1));
    }
    if (pairs) {
      top = larger(larger(takeLane(b, pairs, 0), takeLane(b, pairs, 1)), top);
    }
    rewriter.replaceOp(op, top);
    return success();
  }
};

struct RowSumLowering : LoweringPattern<RowSumOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(RowSumOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value row = adaptor.getOperand();
    int64_t columns = tileOf(op.getOperand()).getColumns();
    auto add = [&](Value sum, Value next) -> Value {
      return sum ? arith::AddFOp::create(b, sum, next).getResult() : next;
    };
    SmallVector<Value> chains(kSumChains);
    for (int64_t pair = 0; pair < columns / kPair; ++pair) {
      Value &chain = chains[pair % kSumChains];
      chain = add(chain, takeLanes(b, row, pair * kPair, kPair));
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
    if (columns % kPair == 1) {
      sum = add(sum, takeLane(b, row, columns - 1));
    }
    rewriter.replaceOp(op, add(sum, adaptor.getInit()));
    return success();
  }
};

struct OnlineMaxLowering : LoweringPattern<OnlineMaxOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(OnlineMaxOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    double lag = op.getLag() ? op.getLag()->convertToDouble() : 0.0;
    OnlineMaxValues values =
        emitOnlineMax(b, op.getLoc(), adaptor.getTop(), adaptor.getReference(), adaptor.getScale(),
                      lag, [&](Value distance) { return emitExp2(b, distance); });
    rewriter.replaceOp(op, {values.reference, values.offset, values.factor});
    return success();
  }
};
} // namespace

void populateReductionPatterns(const TileToNVVMTypeConverter &converter,
                               RewritePatternSet &patterns, const Lowering &lowering) {
  patterns.add<RowMaxLowering, RowSumLowering, OnlineMaxLowering>(converter, patterns.getContext(),
                                                                  lowering);
}

} // namespace fa4::tile::gpu
