//===- Merge.cpp - attn.merge as loops ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Joins two partial results row by row (R3). Memory bound and without reuse: no
// kernel, plain loops on the host.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace fa4;

namespace {
class MergeEmitter {
public:
  MergeEmitter(OpBuilder &builder, attn::MergeOp op)
      : builder(builder), op(op), loc(op.getLoc()), dims(op.getTensorDims()) {}

  void run();

private:
  void emitRow(ValueRange row);
  void emitElement(ValueRange row, Value depth, Value weight1, Value weight2);
  Value constant(float value) {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  }
  Value index(int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getIndexAttr(value));
  }
  Value loadFloat(Value memref, ValueRange indices);

  OpBuilder &builder;
  attn::MergeOp op;
  Location loc;
  attn::TensorDims dims;
};
} // namespace

Value MergeEmitter::loadFloat(Value memref, ValueRange indices) {
  Value element = memref::LoadOp::create(builder, loc, memref, indices);
  if (element.getType().isF32()) {
    return element;
  }
  return arith::ExtFOp::create(builder, loc, builder.getF32Type(), element);
}

void MergeEmitter::emitElement(ValueRange row, Value depth, Value weight1, Value weight2) {
  // `row` is a position in lse: batch (if there is one), head, row.
  SmallVector<Value> position(dims.rank());
  if (dims.batch) {
    position[*dims.batch] = row.front();
  }
  position[dims.head] = row[row.size() - 2];
  position[dims.sequence] = row.back();
  position[dims.depth] = depth;
  Value part1 = arith::MulFOp::create(builder, loc, weight1, loadFloat(op.getO1(), position));
  Value part2 = arith::MulFOp::create(builder, loc, weight2, loadFloat(op.getO2(), position));
  Value sum = arith::AddFOp::create(builder, loc, part1, part2);
  Type element = cast<MemRefType>(op.getO().getType()).getElementType();
  if (!element.isF32()) {
    sum = arith::TruncFOp::create(builder, loc, element, sum);
  }
  memref::StoreOp::create(builder, loc, sum, op.getO(), position);
}

void MergeEmitter::emitRow(ValueRange row) {
  Value lse1 = loadFloat(op.getLse1(), row);
  Value lse2 = loadFloat(op.getLse2(), row);
  Value zero = constant(0);
  Value nothing = constant(-std::numeric_limits<float>::infinity());
  Value larger = arith::MaximumFOp::create(builder, loc, lse1, lse2);
  // Two empty states: every exponential below must be 0, not NaN.
  Value isEmpty = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, larger, nothing);
  Value top = arith::SelectOp::create(builder, loc, isEmpty, zero, larger);
  auto getShare = [&](Value lse) -> Value {
    Value distance = arith::SubFOp::create(builder, loc, lse, top);
    return math::ExpOp::create(builder, loc, distance);
  };
  Value share1 = getShare(lse1), share2 = getShare(lse2);
  Value total = arith::AddFOp::create(builder, loc, share1, share2);
  auto getWeight = [&](Value share) -> Value {
    Value weight = arith::DivFOp::create(builder, loc, share, total);
    return arith::SelectOp::create(builder, loc, isEmpty, zero, weight);
  };
  Value weight1 = getWeight(share1), weight2 = getWeight(share2);
  Value depth = memref::DimOp::create(builder, loc, op.getO(), dims.depth);
  scf::ForOp::create(builder, loc, index(0), depth, index(1), ValueRange(),
                     [&](OpBuilder &, Location, Value column, ValueRange) {
                       emitElement(row, column, weight1, weight2);
                       scf::YieldOp::create(builder, loc);
                     });
  if (Value target = op.getLse()) {
    Value log = math::LogOp::create(builder, loc, total);
    Value lse = arith::AddFOp::create(builder, loc, top, log);
    lse = arith::SelectOp::create(builder, loc, isEmpty, nothing, lse);
    memref::StoreOp::create(builder, loc, lse, target, row);
  }
}

void MergeEmitter::run() {
  auto rank = cast<MemRefType>(op.getLse1().getType()).getRank();
  SmallVector<Value> begins, ends, steps;
  for (int64_t dim = 0; dim < rank; ++dim) {
    begins.push_back(index(0));
    ends.push_back(memref::DimOp::create(builder, loc, op.getLse1(), dim));
    steps.push_back(index(1));
  }
  scf::ParallelOp::create(builder, loc, begins, ends, steps,
                          [&](OpBuilder &, Location, ValueRange row) { emitRow(row); });
}

LogicalResult fa4::lowerMerge(attn::MergeOp op) {
  if (op->getNumResults() != 0 || !isa<MemRefType>(op.getO().getType())) {
    return op.emitError("expected buffer semantics, but got tensors: run one-shot-bufferize first");
  }
  OpBuilder builder(op);
  MergeEmitter(builder, op).run();
  op.erase();
  return success();
}
