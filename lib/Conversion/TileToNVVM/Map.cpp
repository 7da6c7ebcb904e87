//===- Map.cpp - tile.map in a thread -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What does not depend on the column is computed once for the row. The rest is
// whole-vector code where every op works lane by lane on numbers; with column
// positions, gathered elements or branches it is scalar code column by column,
// so that few predicates live at a time. Branches of harmless ops become
// selections: a warp stays whole.
//
//===----------------------------------------------------------------------===//

#include "Values.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace fa4::tile::gpu {

namespace {
class MapEmitter {
public:
  MapEmitter(ImplicitLocOpBuilder &b, MapOp op, MapOp::Adaptor in, Value thread)
      : b(b), op(op), in(in), thread(thread), body(op.getBody().front()) {}

  /// One value per result.
  SmallVector<Value> run();

private:
  bool isRowShape() { return op.getCommonShape().size() == 1; }
  int64_t columns() { return op.getCommonShape().back(); }
  bool varies(Value value) const { return varying.contains(value); }
  void classify();
  void bindRowArguments();
  /// Emits the ops of `block` that vary by column, or those that do not.
  void emitBlock(Block &block, IRMapping &values, bool wantVarying);
  void emitOp(Operation &inner, IRMapping &values);
  void emitVector(Operation &inner, IRMapping &values);
  Value position(Value base, Value offset) { return arith::AddIOp::create(b, base, offset); }
  SmallVector<Value> yielded(const IRMapping &values);
  SmallVector<Value> runColumns();

  ImplicitLocOpBuilder &b;
  MapOp op;
  MapOp::Adaptor in;
  Value thread;
  Block &body;
  llvm::DenseSet<Value> varying;
  /// Whether what varies is lane by lane arithmetic.
  bool isVectorizable = true;
  IRMapping rowValues;
};
} // namespace

/// Whether `inner` may be executed although its branch is not taken.
static bool isHarmless(Operation &inner) {
  // A fetch is checked against its tensor's bounds by itself.
  return isa<FetchOp>(inner) || inner.hasTrait<OpTrait::IsTerminator>() || isPure(&inner);
}

static bool isSelection(Operation &inner) {
  auto branch = dyn_cast<scf::IfOp>(inner);
  if (!branch || branch.getElseRegion().empty()) {
    return false;
  }
  return !branch
              .walk([&](Operation *nested) {
                bool isFine = nested == branch || isHarmless(*nested) || isSelection(*nested);
                return isFine ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

void MapEmitter::classify() {
  unsigned numInputs = op.getInputs().size();
  if (!isRowShape()) {
    for (auto [index, input] : llvm::enumerate(op.getInputs())) {
      if (!cast<FragType>(input.getType()).isRow()) {
        varying.insert(body.getArgument(index));
      }
    }
    if (op.hasPosition() && !body.getArgument(numInputs + 1).use_empty()) {
      varying.insert(body.getArgument(numInputs + 1));
      isVectorizable = false;
    }
  }
  for (Operation &inner : body.without_terminator()) {
    bool depends = false;
    inner.walk([&](Operation *nested) {
      depends |= llvm::any_of(nested->getOperands(), [&](Value value) { return varies(value); });
    });
    if (!depends) {
      continue;
    }
    varying.insert(inner.result_begin(), inner.result_end());
    if (inner.getNumRegions() != 0 || !OpTrait::hasElementwiseMappableTraits(&inner)) {
      isVectorizable = false;
    }
  }
}

void MapEmitter::bindRowArguments() {
  unsigned numInputs = op.getInputs().size();
  for (unsigned index = 0; index < numInputs; ++index) {
    rowValues.map(body.getArgument(index), in.getInputs()[index]);
  }
  if (op.hasPosition()) {
    rowValues.map(body.getArgument(numInputs), position(in.getRowBase(), thread));
    rowValues.map(body.getArgument(numInputs + 1), in.getColumnBase());
  }
}

void MapEmitter::emitVector(Operation &inner, IRMapping &values) {
  SmallVector<Value> operands;
  for (Value operand : inner.getOperands()) {
    operands.push_back(broadcast(b, values.lookupOrDefault(operand), columns()));
  }
  OperationState state(inner.getLoc(), inner.getName());
  state.addOperands(operands);
  state.addAttributes(inner.getAttrs());
  for (Type type : inner.getResultTypes()) {
    state.addTypes(VectorType::get({columns()}, type));
  }
  values.map(inner.getResults(), b.create(state)->getResults());
}

void MapEmitter::emitOp(Operation &inner, IRMapping &values) {
  if (!isSelection(inner)) {
    b.clone(inner, values);
    return;
  }
  auto branch = cast<scf::IfOp>(inner);
  SmallVector<SmallVector<Value>> sides;
  for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
    Block &block = region->front();
    for (Operation &nested : block.without_terminator()) {
      emitOp(nested, values);
    }
    sides.push_back(llvm::map_to_vector(block.getTerminator()->getOperands(), [&](Value value) {
      return values.lookupOrDefault(value);
    }));
  }
  Value condition = values.lookupOrDefault(branch.getCondition());
  for (auto [result, yes, no] : llvm::zip_equal(branch.getResults(), sides[0], sides[1])) {
    values.map(result, arith::SelectOp::create(b, condition, yes, no).getResult());
  }
}

void MapEmitter::emitBlock(Block &block, IRMapping &values, bool wantVarying) {
  for (Operation &inner : block.without_terminator()) {
    bool isVarying = llvm::any_of(inner.getResults(), [&](Value result) { return varies(result); });
    if (isVarying != wantVarying) {
      continue;
    }
    if (isVarying && isVectorizable) {
      emitVector(inner, values);
    } else {
      emitOp(inner, values);
    }
  }
}

SmallVector<Value> MapEmitter::yielded(const IRMapping &values) {
  return llvm::map_to_vector(op.getYield().getValues(),
                             [&](Value value) { return values.lookupOrDefault(value); });
}

SmallVector<Value> MapEmitter::runColumns() {
  unsigned numInputs = op.getInputs().size();
  SmallVector<SmallVector<Value>> lanes(op.getNumResults());
  for (int64_t column = 0; column < columns(); ++column) {
    IRMapping values = rowValues;
    for (unsigned index = 0; index < numInputs; ++index) {
      if (varies(body.getArgument(index))) {
        values.map(body.getArgument(index), takeLane(b, in.getInputs()[index], column));
      }
    }
    if (op.hasPosition() && varies(body.getArgument(numInputs + 1))) {
      Value offset = intConstant(b, b.getI32Type(), column);
      values.map(body.getArgument(numInputs + 1), position(in.getColumnBase(), offset));
    }
    emitBlock(body, values, /*wantVarying=*/true);
    for (auto [result, value] : llvm::zip_equal(lanes, yielded(values))) {
      result.push_back(value);
    }
  }
  return llvm::map_to_vector(lanes, [&](ArrayRef<Value> result) {
    return fromLanes(b, result.front().getType(), result);
  });
}

SmallVector<Value> MapEmitter::run() {
  classify();
  bindRowArguments();
  emitBlock(body, rowValues, /*wantVarying=*/false);
  if (isRowShape()) {
    return yielded(rowValues);
  }
  if (!isVectorizable) {
    return runColumns();
  }
  emitBlock(body, rowValues, /*wantVarying=*/true);
  return llvm::map_to_vector(yielded(rowValues),
                             [&](Value value) { return broadcast(b, value, columns()); });
}

namespace {
struct MapLowering : LoweringPattern<MapOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(MapOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, MapEmitter(b, op, adaptor, lowering.role(op).thread).run());
    return success();
  }
};
} // namespace

void populateMapPatterns(const TileToNVVMTypeConverter &converter, RewritePatternSet &patterns,
                         const Lowering &lowering) {
  patterns.add<MapLowering>(converter, patterns.getContext(), lowering);
}

} // namespace fa4::tile::gpu
