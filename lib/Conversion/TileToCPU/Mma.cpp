//===- Mma.cpp - matrix products and transposition on the host ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product keeps a block of rows by one strip in registers and walks k inside:
// per step one strip of B and one broadcast number of A per row. Sums are kept in
// f64, where products of 16-bit floats are exact, and rounded to f32 once: a row
// of scores whose terms cancel still has lse within R2, which a chain of f32
// additions misses at logits of -6e4 or of large spread. The order is that of k,
// whatever the blocking.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fa4::tile::cpu {

namespace {
/// What one register block needs of the whole product.
struct Product {
  Value a, b, onto, skip, out;
  int64_t depth;
};
} // namespace

static Value toDouble(ImplicitLocOpBuilder &b, Value value) {
  Type type = b.getF64Type();
  if (auto vector = dyn_cast<VectorType>(value.getType())) {
    type = vector.clone(type);
  }
  return arith::ExtFOp::create(b, type, value);
}

static Value startOf(ImplicitLocOpBuilder &b, const Product &product, const Strip &strip) {
  Value zero = floatConstant(b, VectorType::get({strip.width}, b.getF64Type()), 0.0);
  if (!product.onto) {
    return zero;
  }
  Value before = toDouble(b, loadStrip(b, product.onto, strip));
  if (!product.skip) {
    return before;
  }
  return arith::SelectOp::create(b, product.skip, zero, before);
}

/// Rows row .. row + rows - 1, columns column .. column + width - 1.
static void emitBlock(ImplicitLocOpBuilder &b, const Product &product, Value row, Value column,
                      int64_t rows, int64_t width) {
  SmallVector<Strip> strips;
  SmallVector<Value> starts;
  for (int64_t r = 0; r < rows; ++r) {
    strips.push_back(Strip{addIndex(b, row, r), column, width});
    starts.push_back(startOf(b, product, strips.back()));
  }
  auto loop = scf::ForOp::create(b, indexConstant(b, 0), indexConstant(b, product.depth),
                                 indexConstant(b, 1), starts);
  ImplicitLocOpBuilder inner(b.getLoc(), b.getContext());
  inner.setInsertionPointToEnd(loop.getBody());
  Value k = loop.getInductionVar();
  Value right = toDouble(inner, loadStrip(inner, product.b, Strip{k, column, width}));
  SmallVector<Value> sums;
  for (auto [sum, strip] : llvm::zip_equal(loop.getRegionIterArgs(), strips)) {
    Value left = memref::LoadOp::create(inner, product.a, ValueRange{strip.row, k});
    sums.push_back(
        vector::FMAOp::create(inner, broadcast(inner, toDouble(inner, left), width), right, sum));
  }
  scf::YieldOp::create(inner, sums);
  for (auto [sum, strip] : llvm::zip_equal(loop.getResults(), strips)) {
    auto rounded = VectorType::get({width}, b.getF32Type());
    storeStrip(b, arith::TruncFOp::create(b, rounded, sum), product.out, strip);
  }
}

LogicalResult lowerMma(Lowering &lowering, MmaOp op) {
  ImplicitLocOpBuilder b = lowering.at(op.getLoc());
  Product product;
  product.a = lowering.lookup(op.getA());
  product.b = lowering.lookup(op.getB());
  product.onto = op.getOnto() ? lowering.lookup(op.getOnto()) : Value();
  product.skip = op.getUnless() ? lowering.lookup(op.getUnless()) : Value();
  product.out = lowering.createTile(b, op.getResult());
  product.depth = cast<FragType>(op.getA().getType()).getColumns();
  auto type = cast<FragType>(op.getResult().getType());
  int64_t rows = type.getRows();
  int64_t block = lowering.options.mmaRows;
  int64_t fullRows = rows / block * block;
  // Columns outside: a strip of B, one cache line per k, stays in the first
  // cache while all rows pass over it.
  auto emitColumns = [&](ImplicitLocOpBuilder &outer, Value column, int64_t width) {
    forEach(outer, 0, fullRows, block, [&](ImplicitLocOpBuilder &inner, Value row) {
      emitBlock(inner, product, row, column, block, width);
    });
    if (fullRows != rows) {
      emitBlock(outer, product, indexConstant(outer, fullRows), column, rows - fullRows, width);
    }
  };
  int64_t fullColumns = type.getColumns() / kStrip * kStrip;
  forEach(b, 0, fullColumns, kStrip,
          [&](ImplicitLocOpBuilder &inner, Value column) { emitColumns(inner, column, kStrip); });
  if (fullColumns != type.getColumns()) {
    emitColumns(b, indexConstant(b, fullColumns), type.getColumns() - fullColumns);
  }
  return success();
}

/// A square of strips: each round interleaves row i with row i + half, which
/// rotates the bits of the position; after log2 rounds rows and columns are
/// exchanged.
static void transposeSquare(ImplicitLocOpBuilder &b, Value from, Value to, Value row,
                            Value column) {
  SmallVector<Value> rows;
  for (int64_t r = 0; r < kStrip; ++r) {
    rows.push_back(loadStrip(b, from, Strip{addIndex(b, row, r), column, kStrip}));
  }
  SmallVector<int64_t> low, high;
  for (int64_t lane = 0; lane < kStrip / 2; ++lane) {
    low.append({lane, lane + kStrip});
    high.append({lane + kStrip / 2, lane + kStrip / 2 + kStrip});
  }
  for (int64_t round = kStrip; round > 1; round /= 2) {
    SmallVector<Value> next;
    for (int64_t r = 0; r < kStrip / 2; ++r) {
      next.push_back(vector::ShuffleOp::create(b, rows[r], rows[r + kStrip / 2], low));
      next.push_back(vector::ShuffleOp::create(b, rows[r], rows[r + kStrip / 2], high));
    }
    rows = std::move(next);
  }
  for (int64_t r = 0; r < kStrip; ++r) {
    storeStrip(b, rows[r], to, Strip{addIndex(b, column, r), row, kStrip});
  }
}

LogicalResult lowerTranspose(Lowering &lowering, TransposeOp op) {
  ImplicitLocOpBuilder b = lowering.at(op.getLoc());
  Value from = lowering.lookup(op.getOperand());
  Value to = lowering.createTile(b, op.getResult());
  auto type = cast<FragType>(op.getOperand().getType());
  int64_t fullRows = type.getRows() / kStrip * kStrip;
  int64_t fullColumns = type.getColumns() / kStrip * kStrip;
  forEach(b, 0, fullRows, kStrip, [&](ImplicitLocOpBuilder &outer, Value row) {
    forEach(outer, 0, fullColumns, kStrip, [&](ImplicitLocOpBuilder &inner, Value column) {
      transposeSquare(inner, from, to, row, column);
    });
  });
  auto copyElements = [&](int64_t rowBegin, int64_t rowEnd, int64_t columnBegin,
                          int64_t columnEnd) {
    forEach(b, rowBegin, rowEnd, 1, [&](ImplicitLocOpBuilder &outer, Value row) {
      forEach(outer, columnBegin, columnEnd, 1, [&](ImplicitLocOpBuilder &inner, Value column) {
        Value element = memref::LoadOp::create(inner, from, ValueRange{row, column});
        memref::StoreOp::create(inner, element, to, ValueRange{column, row});
      });
    });
  };
  copyElements(0, fullRows, fullColumns, type.getColumns());
  copyElements(fullRows, type.getRows(), 0, type.getColumns());
  return success();
}

} // namespace fa4::tile::cpu
