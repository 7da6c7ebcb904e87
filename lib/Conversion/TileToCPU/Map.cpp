//===- Map.cpp - tile.map on the host -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The region becomes straight vector code where each of its ops works lane by
// lane and cannot trap; captured scalars, row numbers and row operands stay
// scalars. Any other region (branches, integer division, gathered elements) runs
// once per element, as written. Both give the same bits.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fa4::tile::cpu {

/// Integer division traps on lanes that a select would later drop.
static bool mayTrap(Operation &op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp,
             arith::CeilDivUIOp, arith::FloorDivSIOp>(op);
}

namespace {
/// One map: where its operands and results are, and how it is emitted.
class MapEmitter {
public:
  MapEmitter(Lowering &lowering, MapOp op)
      : lowering(lowering), op(op), body(op.getBody().front()), shape(op.getCommonShape()) {}

  void run();

private:
  bool isRowShape() const { return shape.size() == 1; }
  /// Whether an operand has another number in each column of a strip.
  bool variesInStrip(FragType type) const { return isRowShape() || !type.isRow(); }
  bool isVectorizable();
  void emitVector(ImplicitLocOpBuilder &b, const Strip &strip);
  void emitScalar(ImplicitLocOpBuilder &b, Value row, Value column);
  /// The scalar or strip that operand `index` gives.
  Value loadOperand(ImplicitLocOpBuilder &b, unsigned index, const Strip &strip);
  /// Where the elements of `type` for the place of `strip` are.
  Strip placeOf(ImplicitLocOpBuilder &b, FragType type, const Strip &strip);
  /// Emits `inner` on vectors and binds its results.
  void cloneVector(ImplicitLocOpBuilder &b, Operation &inner, IRMapping &values, int64_t width);
  Value position(ImplicitLocOpBuilder &b, Value base, Value offset);

  Lowering &lowering;
  MapOp op;
  Block &body;
  ArrayRef<int64_t> shape;
  SmallVector<Value> results;
};
} // namespace

bool MapEmitter::isVectorizable() {
  llvm::DenseSet<Value> varying;
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    if (variesInStrip(cast<FragType>(input.getType()))) {
      varying.insert(body.getArgument(index));
    }
  }
  if (op.hasPosition()) {
    varying.insert(body.getArgument(op.getInputs().size() + (isRowShape() ? 0 : 1)));
  }
  for (Operation &inner : body.without_terminator()) {
    bool varies =
        llvm::any_of(inner.getOperands(), [&](Value value) { return varying.contains(value); });
    if (isa<FetchOp>(inner)) {
      if (varies) {
        return false;
      }
      continue;
    }
    if (!varies && inner.getNumRegions() == 0) {
      continue;
    }
    if (mayTrap(inner) || inner.getNumRegions() != 0 ||
        !OpTrait::hasElementwiseMappableTraits(&inner)) {
      return false;
    }
    varying.insert(inner.result_begin(), inner.result_end());
  }
  return true;
}

Strip MapEmitter::placeOf(ImplicitLocOpBuilder &b, FragType type, const Strip &strip) {
  if (!isRowShape() && !type.isRow() && type.getRows() != shape[0]) {
    return Strip{indexConstant(b, 0), strip.column, strip.width};
  }
  return strip;
}

Value MapEmitter::loadOperand(ImplicitLocOpBuilder &b, unsigned index, const Strip &strip) {
  Value input = op.getInputs()[index];
  auto type = cast<FragType>(input.getType());
  Value buffer = lowering.lookup(input);
  Value stored;
  if (!variesInStrip(type)) {
    stored = memref::LoadOp::create(b, buffer, strip.row);
  } else {
    stored = loadStrip(b, buffer, placeOf(b, type, strip));
  }
  return fromStorage(b, stored, type.getElementType());
}

Value MapEmitter::position(ImplicitLocOpBuilder &b, Value base, Value offset) {
  Value first = lowering.lookup(base);
  if (!offset) {
    return first;
  }
  return arith::AddIOp::create(b, first, arith::IndexCastOp::create(b, b.getI32Type(), offset));
}

void MapEmitter::cloneVector(ImplicitLocOpBuilder &b, Operation &inner, IRMapping &values,
                             int64_t width) {
  auto lookup = [&](Value value) {
    return values.contains(value) ? values.lookup(value) : lowering.lookup(value);
  };
  if (auto fetch = dyn_cast<FetchOp>(inner)) {
    values.map(fetch.getResult(), emitFetch(b, lowering.lookupGlobal(fetch.getGlobal()),
                                            llvm::map_to_vector(fetch.getCoordinates(), lookup)));
    return;
  }
  SmallVector<Value> operands = llvm::map_to_vector(inner.getOperands(), lookup);
  bool isVector =
      llvm::any_of(operands, [](Value value) { return isa<VectorType>(value.getType()); });
  if (isVector) {
    for (Value &operand : operands) {
      operand = broadcast(b, operand, width);
    }
  }
  if (isa<math::Exp2Op>(inner) && inner.getResult(0).getType().isF32()) {
    values.map(inner.getResult(0), emitExp2(b, operands.front()));
    return;
  }
  OperationState state(inner.getLoc(), inner.getName());
  state.addOperands(operands);
  state.addAttributes(inner.getAttrs());
  for (Type type : inner.getResultTypes()) {
    state.addTypes(isVector ? VectorType::get({width}, type) : type);
  }
  for (auto [from, to] : llvm::zip_equal(inner.getResults(), b.create(state)->getResults())) {
    values.map(from, to);
  }
}

void MapEmitter::emitVector(ImplicitLocOpBuilder &b, const Strip &strip) {
  IRMapping values;
  unsigned numInputs = op.getInputs().size();
  for (unsigned index = 0; index < numInputs; ++index) {
    values.map(body.getArgument(index), loadOperand(b, index, strip));
  }
  if (op.hasPosition()) {
    // The coordinate along the strip counts up, the other one is one number.
    Value row = position(b, op.getRowBase(), isRowShape() ? strip.column : strip.row);
    Value column = position(b, op.getColumnBase(), isRowShape() ? Value() : strip.column);
    (isRowShape() ? row : column) = consecutive(b, isRowShape() ? row : column, strip.width);
    values.map(body.getArgument(numInputs), row);
    values.map(body.getArgument(numInputs + 1), column);
  }
  for (Operation &inner : body.without_terminator()) {
    cloneVector(b, inner, values, strip.width);
  }
  for (auto [yielded, buffer] : llvm::zip_equal(op.getYield().getValues(), results)) {
    Value value = values.contains(yielded) ? values.lookup(yielded) : lowering.lookup(yielded);
    storeStrip(b, toStorage(b, broadcast(b, value, strip.width)), buffer, strip);
  }
}

void MapEmitter::emitScalar(ImplicitLocOpBuilder &b, Value row, Value column) {
  // Everything the region captures is bound beside its arguments.
  IRMapping values;
  op.getBody().walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      if (!op.getBody().isAncestor(operand.getParentRegion()) &&
          !isa<GlobalType>(operand.getType())) {
        values.map(operand, lowering.lookup(operand));
      }
    }
  });
  Strip place{row, column, 1};
  unsigned numInputs = op.getInputs().size();
  for (unsigned index = 0; index < numInputs; ++index) {
    auto type = cast<FragType>(op.getInputs()[index].getType());
    Value element = loadOperand(b, index, place);
    if (variesInStrip(type)) {
      element = vector::ExtractOp::create(b, element, 0);
    }
    values.map(body.getArgument(index), element);
  }
  if (op.hasPosition()) {
    values.map(body.getArgument(numInputs),
               position(b, op.getRowBase(), isRowShape() ? column : row));
    values.map(body.getArgument(numInputs + 1),
               position(b, op.getColumnBase(), isRowShape() ? Value() : column));
  }
  SmallVector<Operation *> clones;
  for (Operation &inner : body.without_terminator()) {
    clones.push_back(b.clone(inner, values));
  }
  for (auto [yielded, buffer] : llvm::zip_equal(op.getYield().getValues(), results)) {
    Value element = broadcast(b, values.lookupOrDefault(yielded), 1);
    storeStrip(b, toStorage(b, element), buffer, place);
  }
  SmallVector<Operation *> special;
  for (Operation *clone : clones) {
    clone->walk([&](Operation *inner) {
      if (isa<FetchOp>(inner) ||
          (isa<math::Exp2Op>(inner) && inner->getResult(0).getType().isF32())) {
        special.push_back(inner);
      }
    });
  }
  for (Operation *inner : special) {
    ImplicitLocOpBuilder at(inner->getLoc(), inner);
    Value element;
    if (auto fetch = dyn_cast<FetchOp>(inner)) {
      element = emitFetch(at, lowering.lookupGlobal(fetch.getGlobal()), fetch.getCoordinates());
    } else {
      element = emitExp2(at, inner->getOperand(0));
    }
    inner->getResult(0).replaceAllUsesWith(element);
    inner->erase();
  }
}

void MapEmitter::run() {
  ImplicitLocOpBuilder b = lowering.at(op.getLoc());
  for (Value output : op.getOutputs()) {
    results.push_back(lowering.createTile(b, output));
  }
  if (isVectorizable()) {
    forEachStrip(b, shape, [&](ImplicitLocOpBuilder &inner, const Strip &strip) {
      emitVector(inner, strip);
    });
    return;
  }
  if (isRowShape()) {
    forEach(b, 0, shape[0], 1,
            [&](ImplicitLocOpBuilder &inner, Value column) { emitScalar(inner, Value(), column); });
    return;
  }
  forEach(b, 0, shape[0], 1, [&](ImplicitLocOpBuilder &outer, Value row) {
    forEach(outer, 0, shape[1], 1,
            [&](ImplicitLocOpBuilder &inner, Value column) { emitScalar(inner, row, column); });
  });
}

LogicalResult lowerMap(Lowering &lowering, MapOp op) {
  MapEmitter(lowering, op).run();
  return success();
}

} // namespace fa4::tile::cpu
