//===- Elementwise.cpp - ops on each element that a thread has ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One vector instruction per op where the machine has one. Slices and splats
// only rename registers.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "ThreadLayout.h"
#include "Values.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fa4::tile::gpu {

/// Columns whose polynomials are computed at once: a power takes two registers more than
/// its column.
static constexpr int64_t kFormulaColumns = 16;

namespace {
struct SliceLowering : LoweringPattern<SliceOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(SliceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    // checkValues: columns, or all rows.
    Value part = adaptor.getOperand();
    if (op.getAxis() == Axis::Columns) {
      ThreadLayout layout = ThreadLayout::of(op.getOperand());
      int64_t begin = layout.lanesBefore(op.getBegin());
      part = takeLanes(b, part, begin, layout.lanesBefore(op.getEnd()) - begin);
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
    auto type = dyn_cast<VectorType>(ThreadLayout::of(op.getResult()).registerType());
    Value fill = adaptor.getValue();
    rewriter.replaceOp(op, type ? broadcast(b, fill, type.getDimSize(0)) : fill);
    return success();
  }
};

/// What a warp has decided already if all factors are 1 without it; null if it has not.
Value decisionOf(Value factors) {
  auto joined = factors.getDefiningOp<vector::FromElementsOp>();
  if (!joined) {
    return Value();
  }
  Value decision;
  for (Value factor : joined.getElements()) {
    auto branch = factor.getDefiningOp<scf::IfOp>();
    if (!branch || !branch.getCondition().getDefiningOp<NVVM::VoteSyncOp>() ||
        (decision && decision != branch.getCondition())) {
      return Value();
    }
    unsigned number = cast<OpResult>(factor).getResultNumber();
    if (!matchPattern(branch.elseYield().getOperand(number), m_OneFloat())) {
      return Value();
    }
    decision = branch.getCondition();
  }
  return decision;
}

struct ScaleRowsLowering : LoweringPattern<ScaleRowsOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(ScaleRowsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    ThreadLayout layout = ThreadLayout::of(op.getOperand());
    auto scale = [&]() -> Value {
      Value factor = layout.spreadNumbers(b, adaptor.getBy());
      return arith::MulFOp::create(b, adaptor.getOperand(), factor);
    };
    if (!op.getLikelyOne()) {
      rewriter.replaceOp(op, scale());
      return success();
    }
    // A decision of the whole warp: what follows is the warp's, too.
    Value any = decisionOf(adaptor.getBy());
    Value differs;
    for (int64_t row = 0; !any && row < layout.rows(); ++row) {
      Value own = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE,
                                        layout.numberOf(b, adaptor.getBy(), row),
                                        floatConstant(b, b.getF32Type(), 1.0));
      differs = differs ? arith::OrIOp::create(b, differs, own).getResult() : own;
    }
    if (!any) {
      any = anyLane(b, differs);
    }
    auto branch =
        scf::IfOp::create(b, adaptor.getOperand().getType(), any, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard restore(b);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, scale());
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, adaptor.getOperand());
    }
    rewriter.replaceOp(op, branch.getResults());
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
      rewriter.replaceOp(op, isPolynomial ? emitPolynomial(b, op, x) : emitExp2(b, x));
      return success();
    }
    if (op.getShare() && ThreadLayout::of(op.getOperand()).threadsPerRow() > 1) {
      rewriter.replaceOp(op, emitShared(b, op, x));
      return success();
    }
    int64_t columns = tileOf(op.getOperand()).getColumns();
    SmallVector<Value> pieces;
    for (int64_t begin = 0; begin < columns;) {
      // Pieces end where chunks of the whole tile do: each has one pattern.
      int64_t end = std::min<int64_t>(columns, (first + begin) / kPieceColumns * kPieceColumns +
                                                   kPieceColumns - first);
      // A mixture is better off when ptxas moves it: the exponential unit is slow.
      bool isFormula = llvm::all_of(llvm::seq(begin, end), [&](int64_t column) {
        return op.getShare() && op.getShare()->isPolynomial(first + column);
      });
      if (isFormula) {
        end = std::min(end, begin + kFormulaColumns);
      }
      Value piece = emitPiece(b, op, x, begin, end);
      if (isFormula && end != columns) {
        endPiece(b, op, piece, lowering);
      }
      pieces.push_back(piece);
      begin = end;
    }
    rewriter.replaceOp(op, joinLanes(b, pieces));
    return success();
  }

private:
  /// The polynomial's lanes are taken out as one vector, so that both kinds stay
  /// whole-vector arithmetic.
  Value emitPiece(ImplicitLocOpBuilder &b, Exp2Op op, Value x, int64_t begin, int64_t end) const {
    auto first = static_cast<int64_t>(op.getColumnsFrom());
    ThreadLayout layout = ThreadLayout::of(op.getOperand());
    int64_t firstLane = layout.lanesBefore(begin), lastLane = layout.lanesBefore(end);
    SmallVector<int32_t> emulated;
    SmallVector<int32_t> others;
    // Where each lane of the piece is in the two results, put one after the other.
    SmallVector<std::pair<bool, int32_t>> places;
    for (int64_t lane = firstLane; lane < lastLane; ++lane) {
      bool isEmulated = op.getShare() && op.getShare()->isPolynomial(first + layout.columnOf(lane));
      SmallVector<int32_t> &lanes = isEmulated ? emulated : others;
      places.emplace_back(isEmulated, static_cast<int32_t>(lanes.size()));
      lanes.push_back(static_cast<int32_t>(lane));
    }
    if (emulated.empty()) {
      return emitExp2(b, takeLanes(b, x, firstLane, lastLane - firstLane));
    }
    Value polynomial = emitPolynomial(b, op, pickLanes(b, x, emulated));
    if (others.empty()) {
      return polynomial;
    }
    Value both = joinLanes(b, {emitExp2(b, pickLanes(b, x, others)), polynomial});
    return pickLanes(b, both, llvm::map_to_vector(places, [&](auto place) {
                       return place.second +
                              (place.first ? static_cast<int32_t>(others.size()) : 0);
                     }));
  }

  /// Where threads share a row, a lane is another column in each: both kinds are
  /// computed of lanes on which they differ, and each thread takes its own.
  Value emitShared(ImplicitLocOpBuilder &b, Exp2Op op, Value x) const {
    auto first = static_cast<int64_t>(op.getColumnsFrom());
    ThreadLayout layout = ThreadLayout::of(op.getOperand());
    const int64_t everyThread = (int64_t(1) << layout.threadsPerRow()) - 1;
    SmallVector<int64_t> emulating; // by lane, a bit for each thread of the row
    for (int64_t lane = 0; lane < layout.lanes(); ++lane) {
      int64_t &bits = emulating.emplace_back(0);
      for (int64_t thread = 0; thread < layout.threadsPerRow(); ++thread) {
        int64_t column = first + layout.columnOf(lane) + thread * layout.run();
        bits |= int64_t(op.getShare()->isPolynomial(column)) << thread;
      }
    }
    Type i32 = b.getI32Type();
    Value inRow = arith::DivUIOp::create(b, layout.firstColumn(b, lowering.role(op)),
                                         intConstant(b, i32, layout.run()));
    llvm::DenseMap<int64_t, Value> choices;
    SmallVector<Value> lanes;
    for (auto [lane, bits] : llvm::enumerate(emulating)) {
      Value own = takeLane(b, x, static_cast<int64_t>(lane));
      Value plain = bits != everyThread ? emitExp2(b, own) : Value();
      Value polynomial = bits != 0 ? emitPolynomial(b, op, own) : Value();
      if (plain && polynomial) {
        Value &choice = choices[bits];
        if (!choice) {
          Value bit = arith::ShRUIOp::create(b, intConstant(b, i32, bits), inRow);
          choice = arith::TruncIOp::create(b, b.getI1Type(), bit);
        }
        plain = arith::SelectOp::create(b, choice, polynomial, plain);
      }
      lanes.push_back(plain ? plain : polynomial);
    }
    return fromLanes(b, b.getF32Type(), lanes);
  }

  Value emitPolynomial(ImplicitLocOpBuilder &b, Exp2Op op, Value x) const {
    return emitExp2Polynomial(b, x, op.getShare()->getDegree(), lowering.target().packedF32x2);
  }
};
} // namespace

void populateElementwisePatterns(const TileToNVVMTypeConverter &converter,
                                 RewritePatternSet &patterns, const Lowering &lowering) {
  patterns.add<SliceLowering, SplatLowering, ScaleRowsLowering, CastLowering, Exp2Lowering>(
      converter, patterns.getContext(), lowering);
}

} // namespace fa4::tile::gpu
