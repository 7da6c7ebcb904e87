//===- Elementwise.cpp - ops on each element of a thread's row ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One vector instruction per op where the machine has one. Slices and splats
// only rename registers.
//
//===----------------------------------------------------------------------===//

#include "Values.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fa4::tile::gpu {

namespace {
struct SliceLowering : LoweringPattern<SliceOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(SliceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    // checkValues: columns, or all rows.
    Value part = adaptor.getOperand();
    if (op.getAxis() == Axis::Columns) {
      part = takeLanes(b, part, op.getBegin(), op.getEnd() - op.getBegin());
    }
    rewriter.replaceOp(op, part);
    return success();
  }
};

struct SplatLowering : LoweringPattern<SplatOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(SplatOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FragType type = tileOf(op.getResult());
    Value fill = adaptor.getValue();
    rewriter.replaceOp(op, type.isRow() ? fill : broadcast(b, fill, type.getColumns()));
    return success();
  }
};

struct ScaleRowsLowering : LoweringPattern<ScaleRowsOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(ScaleRowsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value factor = broadcast(b, adaptor.getBy(), tileOf(op.getOperand()).getColumns());
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, adaptor.getOperand(), factor);
    return success();
  }
};

struct CastLowering : LoweringPattern<CastOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(CastOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto like = [&](Type element) -> Type {
      auto vector = dyn_cast<VectorType>(adaptor.getOperand().getType());
      return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
    };
    auto from = cast<FloatType>(tileOf(op.getOperand()).getElementType());
    auto to = cast<FloatType>(tileOf(op.getResult()).getElementType());
    Value value = adaptor.getOperand();
    if (from != to && !from.isF32()) {
      // Exact, and the only way between two types of 16 bits.
      value = arith::ExtFOp::create(b, like(b.getF32Type()), value);
    }
    if (from != to && !to.isF32()) {
      value = arith::TruncFOp::create(b, like(to), value);
    }
    rewriter.replaceOp(op, value);
    return success();
  }
};

struct Exp2Lowering : LoweringPattern<Exp2Op> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(Exp2Op op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = adaptor.getOperand();
    auto first = static_cast<int64_t>(op.getColumnsFrom());
    if (tileOf(op.getOperand()).isRow()) {
      bool isPolynomial = op.getShare() && op.getShare()->isPolynomial(first);
      rewriter.replaceOp(op, isPolynomial ? emitExp2Polynomial(b, x, op.getShare()->getDegree())
                                          : emitExp2(b, x));
      return success();
    }
    int64_t columns = tileOf(op.getOperand()).getColumns();
    SmallVector<Value> pieces;
    for (int64_t begin = 0; begin < columns;) {
      // Pieces end where chunks of the whole tile do: each has one pattern.
      int64_t end = std::min<int64_t>(columns, (first + begin) / kPieceColumns * kPieceColumns +
                                                   kPieceColumns - first);
      pieces.push_back(emitPiece(b, op, x, begin, end));
      begin = end;
    }
    rewriter.replaceOp(op, joinLanes(b, pieces));
    return success();
  }

private:
  /// The polynomial's lanes are taken out as one vector, so that both kinds stay
  /// whole-vector arithmetic.
  static Value emitPiece(ImplicitLocOpBuilder &b, Exp2Op op, Value x, int64_t begin, int64_t end) {
    auto first = static_cast<int64_t>(op.getColumnsFrom());
    SmallVector<int32_t> emulated;
    SmallVector<int32_t> others;
    // Where each lane of the piece is in the two results, put one after the other.
    SmallVector<std::pair<bool, int32_t>> places;
    for (int64_t column = begin; column < end; ++column) {
      bool isEmulated = op.getShare() && op.getShare()->isPolynomial(first + column);
      SmallVector<int32_t> &lanes = isEmulated ? emulated : others;
      places.emplace_back(isEmulated, static_cast<int32_t>(lanes.size()));
      lanes.push_back(static_cast<int32_t>(column));
    }
    if (emulated.empty()) {
      return emitExp2(b, takeLanes(b, x, begin, end - begin));
    }
    Value polynomial = emitExp2Polynomial(b, pickLanes(b, x, emulated), op.getShare()->getDegree());
    if (others.empty()) {
      return polynomial;
    }
    Value both = joinLanes(b, {emitExp2(b, pickLanes(b, x, others)), polynomial});
    return pickLanes(b, both, llvm::map_to_vector(places, [&](auto place) {
                       return place.second +
                              (place.first ? static_cast<int32_t>(others.size()) : 0);
                     }));
  }
};
} // namespace

void populateElementwisePatterns(const TileToNVVMTypeConverter &converter,
                                 RewritePatternSet &patterns, const Lowering &lowering) {
  patterns.add<SliceLowering, SplatLowering, ScaleRowsLowering, CastLowering, Exp2Lowering>(
      converter, patterns.getContext(), lowering);
}

} // namespace fa4::tile::gpu
