//===- ForwardSoftmax.cpp - @softmax of a forward kernel ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Raw scores in, weights and statistics out, in the order of the contract: scale
// and score region (M1), then every mask (M2, M5), then one step of the online
// softmax in the log2 domain. A removed score is minus infinity from here on.
//
//===----------------------------------------------------------------------===//

#include "ForwardDefs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

#include <limits>

using namespace mlir;
using namespace fa4;

namespace {
class SoftmaxEmitter {
public:
  SoftmaxEmitter(OpBuilder &builder, const ForwardPlan &plan, const SoftmaxInputs &inputs)
      : builder(builder), plan(plan), op(plan.op), in(inputs), loc(op.getLoc()) {}

  void run();

private:
  using RegionFn = llvm::function_ref<Value(OpBuilder &, ValueRange)>;

  Value constant(float value) {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  }
  /// Scores as a function of scores, and of their position if `atPosition`.
  Value mapScores(ValueRange inputs, bool atPosition, RegionFn body);
  Value scaleScores(Value scores);
  Value applyRegion(Value scores);
  Value maskEdges(Value scores);
  Value maskDocuments(Value scores);
  Value maskPredicate(Value scores);
  Value keepOrRemove(OpBuilder &body, Value isKept, Value score);
  Value addOrigin(Value coordinate, Value origin);
  Value inlineRegion(OpBuilder &body, Region &region, ValueRange arguments);

  OpBuilder &builder;
  const ForwardPlan &plan;
  attn::ForwardOp op;
  const SoftmaxInputs &in;
  Location loc;
  Value removed;
  Value firstRow, firstColumn;
  /// The batch and head that regions see.
  Value batch, head;
};
} // namespace

Value SoftmaxEmitter::mapScores(ValueRange inputs, bool atPosition, RegionFn body) {
  if (atPosition && !firstRow) {
    auto scaled = [&](Value block, int64_t size) -> Value {
      Value factor = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(size));
      return arith::MulIOp::create(builder, loc, block, factor);
    };
    firstRow = scaled(in.queryBlock, plan.rows);
    firstColumn = scaled(in.keyBlock, plan.columns);
  }
  auto map = tile::MapOp::create(
      builder, loc, TypeRange{plan.getScoreType()}, inputs, atPosition ? firstRow : Value(),
      atPosition ? firstColumn : Value(), [&](OpBuilder &region, Location, ValueRange arguments) {
        tile::YieldOp::create(region, loc, body(region, arguments));
      });
  return map.getResult(0);
}

Value SoftmaxEmitter::scaleScores(Value scores) {
  if (!plan.scalesFirst) {
    return scores;
  }
  if (op.hasScoreRegion()) {
    return applyRegion(scores);
  }
  Value scale = constant(plan.scale);
  return mapScores(scores, /*atPosition=*/false, [&](OpBuilder &body, ValueRange arguments) {
    return arith::MulFOp::create(body, loc, arguments[0], scale);
  });
}

Value SoftmaxEmitter::addOrigin(Value coordinate, Value origin) {
  return origin ? arith::AddIOp::create(builder, loc, coordinate, origin).getResult() : coordinate;
}

Value SoftmaxEmitter::inlineRegion(OpBuilder &body, Region &region, ValueRange arguments) {
  IRMapping mapping;
  mapping.map(region.getArguments(), arguments);
  Block &block = region.front();
  for (Operation &inner : block.without_terminator()) {
    Operation *clone = body.clone(inner, mapping);
    clone->walk([&](arith::ArithFastMathInterface math) {
      if (op.getFast() && isa<math::MathDialect>(math->getDialect())) {
        auto flags = arith::FastMathFlagsAttr::get(body.getContext(), arith::FastMathFlags::afn);
        math->setAttr(math.getFastMathAttrName(), flags);
      }
    });
    // Last, since a fetch that is not nested is the clone itself and goes away.
    clone->walk([&](attn::FetchOp fetch) {
      OpBuilder::InsertionGuard guard(body);
      body.setInsertionPoint(fetch);
      Value element = tile::FetchOp::create(body, loc, fetch.getType(), fetch->getOperand(0),
                                            fetch.getIndices());
      fetch.getResult().replaceAllUsesWith(element);
      mapping.map(inner.getResults(), clone == fetch ? element : ValueRange(clone->getResults()));
      fetch.erase();
    });
  }
  return mapping.lookup(cast<attn::YieldOp>(block.getTerminator()).getValue());
}

Value SoftmaxEmitter::applyRegion(Value scores) {
  Value scale = constant(plan.scale);
  return mapScores(scores, /*atPosition=*/true, [&](OpBuilder &body, ValueRange arguments) {
    Value scaled = arith::MulFOp::create(body, loc, arguments[0], scale);
    SmallVector<Value> values{scaled, batch, head, arguments[1], arguments[2]};
    llvm::append_range(values, ArrayRef(in.captured).take_front(op.getScoreCaptures().size()));
    return inlineRegion(body, op.getScore(), values);
  });
}

Value SoftmaxEmitter::maskEdges(Value scores) {
  auto choice = scf::IfOp::create(
      builder, loc, in.isEdge,
      [&](OpBuilder &body, Location) {
        ArrayAttr masks = op.getMasksAttr() ? op.getMasksAttr() : body.getArrayAttr({});
        Value masked = tile::MaskOp::create(body, loc, scores, in.queryBlock, in.keyBlock, masks,
                                            in.queryLength, in.keyLength, in.offset);
        scf::YieldOp::create(body, loc, masked);
      },
      [&](OpBuilder &body, Location) { scf::YieldOp::create(body, loc, scores); });
  return choice.getResult(0);
}

Value SoftmaxEmitter::keepOrRemove(OpBuilder &body, Value isKept, Value score) {
  return arith::SelectOp::create(body, loc, isKept, score, removed);
}

Value SoftmaxEmitter::maskDocuments(Value scores) {
  if (!in.queryDocuments) {
    return scores;
  }
  auto rowType = plan.getFrag({plan.rows}, builder.getI32Type());
  SmallVector<Value> coordinates;
  if (!plan.isPacked()) {
    coordinates.push_back(in.batch);
  }
  SmallVector<Value> rowCoordinates = coordinates;
  rowCoordinates.push_back(in.queryBlock);
  Value rows = tile::LoadOp::create(builder, loc, rowType, in.queryDocuments, rowCoordinates);
  return mapScores({scores, rows}, /*atPosition=*/true, [&](OpBuilder &body, ValueRange arguments) {
    SmallVector<Value> keyCoordinates = coordinates;
    keyCoordinates.push_back(arguments[3]);
    Value key =
        tile::FetchOp::create(body, loc, body.getI32Type(), in.keyDocuments, keyCoordinates);
    Value isSame = arith::CmpIOp::create(body, loc, arith::CmpIPredicate::eq, arguments[1], key);
    return keepOrRemove(body, isSame, arguments[0]);
  });
}

Value SoftmaxEmitter::maskPredicate(Value scores) {
  if (!op.hasPredicateRegion()) {
    return scores;
  }
  return mapScores(scores, /*atPosition=*/true, [&](OpBuilder &body, ValueRange arguments) {
    SmallVector<Value> values{batch, head, arguments[1], arguments[2]};
    llvm::append_range(values, ArrayRef(in.captured).drop_front(op.getScoreCaptures().size()));
    Value isKept = inlineRegion(body, op.getPredicate(), values);
    return keepOrRemove(body, isKept, arguments[0]);
  });
}

void SoftmaxEmitter::run() {
  removed = constant(-std::numeric_limits<float>::infinity());
  batch = addOrigin(in.batch, in.batchOrigin);
  head = addOrigin(in.head, in.headOrigin);
  Value scores = scaleScores(in.scores);
  scores = maskEdges(scores);
  scores = maskDocuments(scores);
  scores = maskPredicate(scores);

  tile::FragType row = plan.getRowType();
  Value scale = constant(plan.log2Scale);
  Value none = tile::SplatOp::create(builder, loc, row, removed);
  Value top = tile::RowMaxOp::create(builder, loc, row, scores, none);
  auto statistic = tile::OnlineMaxOp::create(builder, loc, TypeRange{row, row, row}, top,
                                             in.reference, scale, FloatAttr());
  Value exponents =
      mapScores({scores, statistic.getOffset()}, /*atPosition=*/false,
                [&](OpBuilder &body, ValueRange arguments) -> Value {
                  return math::FmaOp::create(body, loc, arguments[0], scale, arguments[1]);
                });
  Value weights = tile::Exp2Op::create(builder, loc, exponents.getType(), exponents,
                                       /*share=*/tile::Exp2ShareAttr());
  Value rounded = tile::CastOp::create(builder, loc, plan.getWeightTile(), weights);
  auto kept =
      tile::MapOp::create(builder, loc, TypeRange{row}, ValueRange{in.sum, statistic.getFactor()},
                          Value(), Value(), [&](OpBuilder &body, Location, ValueRange arguments) {
                            Value product =
                                arith::MulFOp::create(body, loc, arguments[0], arguments[1]);
                            tile::YieldOp::create(body, loc, product);
                          });
  Value sum = tile::RowSumOp::create(builder, loc, row, weights, kept.getResult(0));
  tile::YieldOp::create(
      builder, loc, ValueRange{rounded, statistic.getFactor(), statistic.getNextReference(), sum});
}

void fa4::emitSoftmax(OpBuilder &builder, const ForwardPlan &plan, SoftmaxInputs inputs) {
  SoftmaxEmitter(builder, plan, inputs).run();
}
