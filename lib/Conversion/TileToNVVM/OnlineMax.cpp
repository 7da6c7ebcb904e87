//===- OnlineMax.cpp - tile.online_max in a thread ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A statistic with a lag mostly stays what it is. Where the threads of a row have to
// exchange their largest scores, each first asks for itself whether one could matter,
// and the warp computes the maximum and the statistic only if one of its threads says
// so. The question is put so that a no is always right: results are bit for bit those
// of the plain form, for every input.
//
//===----------------------------------------------------------------------===//

#include "ThreadLayout.h"
#include "Values.h"

#include "fa4/Dialect/Tile/IR/OnlineMax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;

namespace fa4::tile::gpu {

static bool isMinusInfinity(Value numbers) {
  auto splat = numbers.getDefiningOp<SplatOp>();
  FloatAttr value;
  return splat && matchPattern(splat.getValue(), m_Constant(&value)) &&
         value.getValue().isInfinity() && value.getValue().isNegative();
}

void findLazyMaxima(Lowering &lowering) {
  lowering.function.walk([&](OnlineMaxOp op) {
    auto top = op.getTop().getDefiningOp<RowMaxOp>();
    bool hasLag = op.getLag() && op.getLag()->convertToDouble() > 0;
    if (top && hasLag && top->hasOneUse() && isMinusInfinity(top.getInit()) &&
        ThreadLayout::of(top.getOperand()).threadsPerRow() > 1) {
      lowering.lazyMaxima[op] = top;
      lowering.fusedMaxima.insert(top);
    }
  });
}

namespace {
struct OnlineMaxLowering : LoweringPattern<OnlineMaxOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(OnlineMaxOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    ThreadLayout layout = ThreadLayout::of(op.getTop());
    RowMaxOp top = lowering.lazyMaxima.lookup(op);
    SmallVector<Value> numbers;
    if (top) {
      numbers = emitLazy(b, op, adaptor, rewriter.getRemappedValue(top.getOperand()),
                         ThreadLayout::of(top.getOperand()));
    } else {
      for (int64_t row = 0; row < layout.rows(); ++row) {
        Value largest = layout.numberOf(b, adaptor.getTop(), row);
        llvm::append_range(numbers, emitPlain(b, op, adaptor, layout, row, largest));
      }
    }
    SmallVector<Value> results;
    for (size_t index = 0; index < kNumbers; ++index) {
      SmallVector<Value> ofRows;
      for (int64_t row = 0; row < layout.rows(); ++row) {
        ofRows.push_back(numbers[row * kNumbers + index]);
      }
      results.push_back(layout.joinNumbers(b, ofRows));
    }
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  /// Reference, offset and factor of a row.
  static constexpr int64_t kNumbers = 3;

  static SmallVector<Value> emitPlain(ImplicitLocOpBuilder &b, OnlineMaxOp op, OpAdaptor adaptor,
                                      const ThreadLayout &layout, int64_t row, Value largest) {
    double lag = op.getLag() ? op.getLag()->convertToDouble() : 0.0;
    OnlineMaxValues values = emitOnlineMax(
        b, op.getLoc(), largest, layout.numberOf(b, adaptor.getReference(), row),
        adaptor.getScale(), lag, [&](Value distance) { return emitExp2(b, distance); });
    return {values.reference, values.offset, values.factor};
  }

  /// A bound of row `row` as the bits of an f32: no score up to it moves the reference.
  static Value emitBound(ImplicitLocOpBuilder &b, OnlineMaxOp op, OpAdaptor adaptor,
                         Value reference) {
    // A score s moves d iff -(s c) - d < -lag. The bound is -d / c plus three quarters
    // of lag / c, with 1 / c made smaller by 2^-20: that covers what is rounded here
    // (2^-22 of -d / c) and there (2^-23 of d).
    constexpr double shrink = 1.0 - 1.0 / (1 << 20), part = 0.75;
    // Of a tiny c both may pass the largest number. Infinite, they would make the bound of
    // a row without keys (d = +inf) NaN, which nothing exceeds; smaller, they bring a bound
    // above zero nearer to it and leave one below zero there, where all exceeds it.
    Type f32 = b.getF32Type();
    Value most = floatConstant(b, f32, std::numeric_limits<float>::max());
    auto finite = [&](Value number) { return arith::MinNumFOp::create(b, number, most); };
    Value inverse =
        finite(arith::DivFOp::create(b, floatConstant(b, f32, shrink), adaptor.getScale()));
    double lag = op.getLag()->convertToDouble();
    Value slack = finite(arith::MulFOp::create(b, inverse, floatConstant(b, f32, part * lag)));
    Value negated = arith::NegFOp::create(b, reference);
    Value bound = math::FmaOp::create(b, negated, inverse, slack);
    return arith::BitcastOp::create(b, b.getI32Type(), bound);
  }

  /// Whether a score of row `row` that this thread has is above `bound`, or may be.
  static Value emitExceeds(ImplicitLocOpBuilder &b, const ThreadLayout &layout, int64_t row,
                           Value lanes, Value bound) {
    // From zero on floats are ordered as their bits, and integers have a maximum of
    // three. A bound below zero, as of a row that has seen no key, always exceeds
    // itself; NaN scores exceed everything or, negative, nothing, as in maxnum.
    Value highest = intConstant(b, b.getI32Type(), 0);
    for (int64_t lane = 0; lane < layout.lanes(); ++lane) {
      if (layout.rowOf(lane) == row) {
        Value bits = arith::BitcastOp::create(b, b.getI32Type(), takeLane(b, lanes, lane));
        highest = arith::MaxSIOp::create(b, highest, bits);
      }
    }
    return arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, highest, bound);
  }

  static SmallVector<Value> emitLazy(ImplicitLocOpBuilder &b, OnlineMaxOp op, OpAdaptor adaptor,
                                     Value lanes, const ThreadLayout &tile) {
    ThreadLayout layout = ThreadLayout::of(op.getTop());
    Value exceeds;
    SmallVector<Value> kept;
    for (int64_t row = 0; row < layout.rows(); ++row) {
      Value reference = layout.numberOf(b, adaptor.getReference(), row);
      Value own = emitExceeds(b, tile, row, lanes, emitBound(b, op, adaptor, reference));
      exceeds = exceeds ? arith::OrIOp::create(b, exceeds, own).getResult() : own;
      // A reference that stays is not infinite, so it is the offset, too.
      kept.append({reference, reference, floatConstant(b, b.getF32Type(), 1.0)});
    }
    Value any = anyLane(b, exceeds);
    auto branch = scf::IfOp::create(b, ValueRange(kept).getTypes(), any, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard restore(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value none = floatConstant(b, b.getF32Type(), -std::numeric_limits<double>::infinity());
    SmallVector<Value> moved;
    for (int64_t row = 0; row < layout.rows(); ++row) {
      Value largest = emitRowMax(b, tile, row, lanes, none);
      llvm::append_range(moved, emitPlain(b, op, adaptor, layout, row, largest));
    }
    scf::YieldOp::create(b, moved);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, kept);
    return llvm::to_vector(ValueRange(branch.getResults()));
  }
};
} // namespace

void populateOnlineMaxPatterns(const TileToNVVMTypeConverter &converter,
                               RewritePatternSet &patterns, const Lowering &lowering) {
  patterns.add<OnlineMaxLowering>(converter, patterns.getContext(), lowering);
}

} // namespace fa4::tile::gpu
