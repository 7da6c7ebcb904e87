//===- Map.cpp - tile.map in a thread -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What does not depend on the column is computed once for each row. The rest is
// whole-vector code where every op works lane by lane on numbers; with column
// positions, gathered elements or branches it is scalar code element by element,
// so that few predicates live at a time. Branches of harmless ops become
// selections: a warp stays whole.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "ThreadLayout.h"

#include "fa4/Dialect/Tile/Analysis/RowChain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace fa4::tile::gpu {

namespace {
class MapEmitter : public PieceEmitter {
public:
  MapEmitter(ImplicitLocOpBuilder &b, MapOp op, ValueRange operands, const Lowering &lowering)
      : b(b), op(op), operands(operands), in(this->operands, op), lowering(lowering),
        role(lowering.role(op)), layout(ThreadLayout::of(op.getOutputs().front())),
        body(op.getBody().front()), columnOperand(getColumnOperand(op)), rowValues(layout.rows()) {
    classify();
  }

  void prepare() override;
  SmallVector<Value> emit(int64_t begin, int64_t width, Value piece) override {
    return isVectorizable ? emitVectors(begin, width, piece) : emitLanes(begin, width, piece);
  }
  PieceCost costPerLane() override;
  /// One value per result, of a map over numbers of rows.
  SmallVector<Value> emitRows();

private:
  bool isRowShape() { return op.getCommonShape().size() == 1; }
  bool varies(Value value) const { return varying.contains(value); }
  bool isVarying(Operation &inner) const {
    return llvm::any_of(inner.getResults(), [&](Value result) { return varies(result); });
  }
  void classify();
  void bindRowArguments();
  /// Emits the ops of the body that vary by column, or those that do not, one by one.
  void emitScalars(IRMapping &values, bool wantVarying);
  void emitOp(Operation &inner, IRMapping &values);
  /// The lanes [begin, begin + width) of input `index`.
  Value inputLanes(unsigned index, int64_t begin, int64_t width, Value piece);
  SmallVector<Value> emitVectors(int64_t begin, int64_t width, Value piece);
  SmallVector<Value> emitLanes(int64_t begin, int64_t width, Value piece);
  /// `value` of the body, which does not vary by column, for each row.
  SmallVector<Value> rowNumbers(Value value) const;
  /// `value` of the body, which does not vary by column, beside those lanes.
  Value spreadRows(Value value, int64_t begin, int64_t width);
  Value position(Value base, Value offset) { return arith::AddIOp::create(b, base, offset); }

  ImplicitLocOpBuilder &b;
  MapOp op;
  SmallVector<Value> operands;
  MapOp::Adaptor in;
  const Lowering &lowering;
  const RoleContext &role;
  ThreadLayout layout;
  Block &body;
  /// The operand that a chain hands on, if the map is of a form that has one.
  Value columnOperand;
  /// The position of the thread's first column, if the body sees positions.
  Value firstColumn;
  llvm::DenseSet<Value> varying;
  /// Whether what varies is lane by lane arithmetic.
  bool isVectorizable = true;
  /// What does not vary by column, of each row that the thread has.
  SmallVector<IRMapping> rowValues;
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
  if (op.hasPosition()) {
    Value ofThread = isRowShape() ? Value() : layout.firstColumn(b, role);
    firstColumn = ofThread ? position(in.getColumnBase(), ofThread) : in.getColumnBase();
  }
  for (auto [row, values] : llvm::enumerate(rowValues)) {
    for (unsigned index = 0; index < numInputs; ++index) {
      Value input = in.getInputs()[index];
      bool isNumber = cast<FragType>(op.getInputs()[index].getType()).isRow();
      values.map(body.getArgument(index),
                 isNumber ? layout.numberOf(b, input, static_cast<int64_t>(row)) : input);
    }
    if (op.hasPosition()) {
      Value number = layout.rowNumber(b, role, static_cast<int64_t>(row));
      values.map(body.getArgument(numInputs), position(in.getRowBase(), number));
      values.map(body.getArgument(numInputs + 1), firstColumn);
    }
  }
}

SmallVector<Value> MapEmitter::rowNumbers(Value value) const {
  return llvm::map_to_vector(
      rowValues, [&](const IRMapping &values) { return values.lookupOrDefault(value); });
}

Value MapEmitter::spreadRows(Value value, int64_t begin, int64_t width) {
  SmallVector<Value> numbers = rowNumbers(value);
  if (llvm::all_equal(numbers)) {
    return broadcast(b, numbers.front(), width);
  }
  return takeLanes(b, layout.spreadNumbers(b, layout.joinNumbers(b, numbers)), begin, width);
}

Value MapEmitter::inputLanes(unsigned index, int64_t begin, int64_t width, Value piece) {
  return piece && op.getInputs()[index] == columnOperand
             ? piece
             : takeLanes(b, in.getInputs()[index], begin, width);
}

SmallVector<Value> MapEmitter::emitVectors(int64_t begin, int64_t width, Value piece) {
  IRMapping vectors;
  for (unsigned index = 0; index < op.getInputs().size(); ++index) {
    if (varies(body.getArgument(index))) {
      vectors.map(body.getArgument(index), inputLanes(index, begin, width, piece));
    }
  }
  auto laneValues = [&](Value value) {
    return varies(value) ? vectors.lookup(value) : spreadRows(value, begin, width);
  };
  for (Operation &inner : body.without_terminator()) {
    if (!isVarying(inner)) {
      continue;
    }
    OperationState state(inner.getLoc(), inner.getName());
    state.addOperands(llvm::map_to_vector(inner.getOperands(), laneValues));
    state.addAttributes(inner.getAttrs());
    for (Type type : inner.getResultTypes()) {
      state.addTypes(VectorType::get({width}, type));
    }
    vectors.map(inner.getResults(), b.create(state)->getResults());
  }
  return llvm::map_to_vector(op.getYield().getValues(), laneValues);
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

void MapEmitter::emitScalars(IRMapping &values, bool wantVarying) {
  for (Operation &inner : body.without_terminator()) {
    if (isVarying(inner) == wantVarying) {
      emitOp(inner, values);
    }
  }
}

SmallVector<Value> MapEmitter::emitLanes(int64_t begin, int64_t width, Value piece) {
  unsigned numInputs = op.getInputs().size();
  SmallVector<Value> inputs(numInputs);
  for (unsigned index = 0; index < numInputs; ++index) {
    if (varies(body.getArgument(index))) {
      inputs[index] = inputLanes(index, begin, width, piece);
    }
  }
  SmallVector<SmallVector<Value>> lanes(op.getNumResults());
  for (int64_t lane = begin; lane < begin + width; ++lane) {
    IRMapping values = rowValues[layout.rowOf(lane)];
    for (unsigned index = 0; index < numInputs; ++index) {
      if (inputs[index]) {
        values.map(body.getArgument(index), takeLane(b, inputs[index], lane - begin));
      }
    }
    if (op.hasPosition() && varies(body.getArgument(numInputs + 1))) {
      Value offset = intConstant(b, b.getI32Type(), layout.columnOf(lane));
      values.map(body.getArgument(numInputs + 1), position(firstColumn, offset));
    }
    emitScalars(values, /*wantVarying=*/true);
    for (auto [result, value] : llvm::zip_equal(lanes, op.getYield().getValues())) {
      result.push_back(values.lookupOrDefault(value));
    }
  }
  return llvm::map_to_vector(lanes, [&](ArrayRef<Value> result) {
    return fromLanes(b, result.front().getType(), result);
  });
}

/// Registers that `op` takes while it computes, beside its operands and results.
static int64_t temporariesOf(Operation *op) {
  // The square and the exponential of tanh; an address of 64 bits; a quotient.
  if (isFormula(op) || isa<FetchOp>(op)) {
    return 2;
  }
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op) ? 1 : 0;
}

PieceCost MapEmitter::costPerLane() {
  // By op of the body: numbers that vary and are used last there.
  llvm::DenseMap<Value, Operation *> lastUses;
  int64_t temporaries = 0, loads = 0, shared = 0;
  for (Operation &inner : body) {
    inner.walk([&](Operation *nested) {
      for (Value operand : llvm::make_filter_range(nested->getOperands(),
                                                   [&](Value value) { return varies(value); })) {
        lastUses[operand] = &inner;
      }
    });
  }
  llvm::DenseMap<Operation *, int64_t> deaths;
  for (auto [value, user] : lastUses) {
    ++deaths[user];
  }
  int64_t live = llvm::count_if(body.getArguments(),
                                [&](Value argument) { return lastUses.contains(argument); });
  int64_t most = live;
  for (Operation &inner : body.without_terminator()) {
    if (!isVarying(inner)) {
      continue;
    }
    int64_t own = 0;
    inner.walk([&](Operation *nested) {
      own = std::max(own, temporariesOf(nested));
      if (auto fetch = dyn_cast<FetchOp>(nested)) {
        ++loads;
        shared += kTensorRegisters;
        shared += lowering.global(fetch.getGlobal()).range ? kPartRegisters : 0;
      }
    });
    int64_t after = live - deaths.lookup(&inner) + inner.getNumResults();
    most = std::max(most, std::max(live, after) + own);
    live = after;
    temporaries = std::max(temporaries, own);
  }
  // Lane by lane arithmetic takes one step of the whole row after the other.
  if (isVectorizable && temporaries == 0) {
    return {};
  }
  return {most - static_cast<int64_t>(op.getNumResults()), loads, shared};
}

void MapEmitter::prepare() {
  bindRowArguments();
  for (IRMapping &values : rowValues) {
    emitScalars(values, /*wantVarying=*/false);
  }
}

SmallVector<Value> MapEmitter::emitRows() {
  prepare();
  return llvm::map_to_vector(op.getYield().getValues(),
                             [&](Value value) { return layout.joinNumbers(b, rowNumbers(value)); });
}

std::unique_ptr<PieceEmitter> makeMapEmitter(ImplicitLocOpBuilder &b, MapOp op, ValueRange operands,
                                             const Lowering &lowering) {
  return std::make_unique<MapEmitter>(b, op, operands, lowering);
}

namespace {
/// Of a map over numbers of rows.
struct RowMapLowering : LoweringPattern<MapOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(MapOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getCommonShape().size() != 1) {
      return failure();
    }
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, MapEmitter(b, op, adaptor.getOperands(), lowering).emitRows());
    return success();
  }
};
} // namespace

void populateMapPatterns(const TileToNVVMTypeConverter &converter, RewritePatternSet &patterns,
                         const Lowering &lowering) {
  patterns.add<RowMapLowering>(converter, patterns.getContext(), lowering);
}

} // namespace fa4::tile::gpu
