//===- Memory.cpp - global tensors on the host ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No access ever leaves the tensor: bounds are compared in 64 bits per
// dimension, rows outside are not touched, columns outside are masked lanes. A
// tensor whose tile columns are not contiguous takes the element-wise path, with
// the same values.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fa4::tile::cpu {

namespace {
/// A tile of a global tensor: where element (0, 0) is, and which of its rows
/// and columns are inside.
struct Box {
  Value memref;
  /// Position of the tile's first element, per dimension of the tensor.
  SmallVector<Value> start;
  /// Dimensions of the tensor along the tile's rows (-1: rank 1) and columns.
  int64_t rowDim = -1;
  int64_t columnDim = 0;
  /// The extents of the tile; one row if rank 1.
  int64_t rows = 1;
  int64_t columns = 1;
  Value rowBegin, rowEnd, columnBegin, columnEnd;
  bool contiguous = false;

  SmallVector<Value> indices(ImplicitLocOpBuilder &b, Value row, Value column) const {
    SmallVector<Value> result(start);
    if (rowDim >= 0) {
      result[rowDim] = arith::AddIOp::create(b, result[rowDim], row);
    }
    result[columnDim] = arith::AddIOp::create(b, result[columnDim], column);
    return result;
  }
  /// The same place in the tile's buffer.
  Strip strip(Value row, Value column, int64_t width) const {
    return Strip{rowDim >= 0 ? row : Value(), column, width};
  }
};
} // namespace

static Value toIndex(ImplicitLocOpBuilder &b, Value i32) {
  return arith::IndexCastOp::create(b, b.getIndexType(), i32);
}

static Value clampTo(ImplicitLocOpBuilder &b, Value value, int64_t extent) {
  Value low = arith::MaxSIOp::create(b, value, indexConstant(b, 0));
  return arith::MinSIOp::create(b, low, indexConstant(b, extent));
}

static Box locate(ImplicitLocOpBuilder &b, const GlobalView &global, GlobalType type,
                  ValueRange coordinates) {
  Box box;
  box.memref = global.memref;
  SmallVector<int64_t> tileDims = type.getTileDims();
  if (tileDims.size() == 2) {
    box.rowDim = tileDims[0];
  }
  box.columnDim = tileDims.back();
  Value inside = arith::ConstantOp::create(b, b.getBoolAttr(true));
  for (auto [dim, range] : llvm::enumerate(global.dims)) {
    Value start = range.origin;
    if (dim < coordinates.size()) {
      Value scaled = arith::MulIOp::create(b, toIndex(b, coordinates[dim]),
                                           indexConstant(b, type.getBox()[dim]));
      start = arith::AddIOp::create(b, start, scaled);
    }
    box.start.push_back(start);
    if (llvm::is_contained(tileDims, static_cast<int64_t>(dim))) {
      continue;
    }
    Value above = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, start, range.begin);
    Value below = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, start, range.end);
    inside = arith::AndIOp::create(b, inside, arith::AndIOp::create(b, above, below));
  }
  auto rangeOf = [&](int64_t dim, int64_t extent, Value &begin, Value &end) {
    const GlobalDim &range = global.dims[dim];
    begin = clampTo(b, arith::SubIOp::create(b, range.begin, box.start[dim]), extent);
    end = clampTo(b, arith::SubIOp::create(b, range.end, box.start[dim]), extent);
    end = arith::MaxSIOp::create(b, begin, end);
  };
  if (box.rowDim >= 0) {
    box.rows = type.getBox()[box.rowDim];
    rangeOf(box.rowDim, box.rows, box.rowBegin, box.rowEnd);
  } else {
    box.rowBegin = indexConstant(b, 0);
    box.rowEnd = indexConstant(b, 1);
  }
  box.columns = type.getBox()[box.columnDim];
  rangeOf(box.columnDim, box.columns, box.columnBegin, box.columnEnd);
  box.rowEnd = arith::SelectOp::create(b, inside, box.rowEnd, box.rowBegin);

  SmallVector<int64_t> strides;
  int64_t offset;
  auto memrefType = cast<MemRefType>(global.memref.getType());
  box.contiguous = box.columnDim + 1 == memrefType.getRank() &&
                   succeeded(memrefType.getStridesAndOffset(strides, offset)) &&
                   strides.back() == 1;
  return box;
}

/// A loop over rows whose bounds are values.
static void forRows(ImplicitLocOpBuilder &b, Value begin, Value end,
                    llvm::function_ref<void(ImplicitLocOpBuilder &, Value)> body) {
  auto loop = scf::ForOp::create(b, begin, end, indexConstant(b, 1));
  ImplicitLocOpBuilder inner(b.getLoc(), b.getContext());
  inner.setInsertionPointToStart(loop.getBody());
  body(inner, loop.getInductionVar());
}

using StripAccess =
    llvm::function_ref<void(ImplicitLocOpBuilder &, Value row, const Strip &, Value mask)>;

/// Visits the rows inside in strips; `mask` is null where the whole tile's
/// columns are inside.
static void forRowsInside(ImplicitLocOpBuilder &b, const Box &box, StripAccess access) {
  Value whole = arith::AndIOp::create(
      b, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, box.columnBegin, indexConstant(b, 0)),
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, box.columnEnd,
                            indexConstant(b, box.columns)));
  auto branches = scf::IfOp::create(b, whole, /*withElseRegion=*/true);
  auto visit = [&](Block *block, bool masked) {
    ImplicitLocOpBuilder outer(b.getLoc(), b.getContext());
    outer.setInsertionPointToStart(block);
    forRows(outer, box.rowBegin, box.rowEnd, [&](ImplicitLocOpBuilder &rowBuilder, Value row) {
      forEachStrip(rowBuilder, {box.columns}, [&](ImplicitLocOpBuilder &inner, const Strip &strip) {
        Value mask;
        if (masked) {
          auto lanes = VectorType::get({strip.width}, inner.getIndexType());
          Value column = arith::AddIOp::create(inner, vector::StepOp::create(inner, lanes),
                                               broadcast(inner, strip.column, strip.width));
          mask = arith::AndIOp::create(
              inner,
              arith::CmpIOp::create(inner, arith::CmpIPredicate::sge, column,
                                    broadcast(inner, box.columnBegin, strip.width)),
              arith::CmpIOp::create(inner, arith::CmpIPredicate::slt, column,
                                    broadcast(inner, box.columnEnd, strip.width)));
        }
        access(inner, row, box.strip(row, strip.column, strip.width), mask);
      });
    });
  };
  visit(branches.thenBlock(), /*masked=*/false);
  visit(branches.elseBlock(), /*masked=*/true);
}

static void forElementsInside(
    ImplicitLocOpBuilder &b, const Box &box,
    llvm::function_ref<void(ImplicitLocOpBuilder &, Value row, Value column)> access) {
  forRows(b, box.rowBegin, box.rowEnd, [&](ImplicitLocOpBuilder &outer, Value row) {
    forRows(outer, box.columnBegin, box.columnEnd,
            [&](ImplicitLocOpBuilder &inner, Value column) { access(inner, row, column); });
  });
}

static SmallVector<Value, 2> bufferIndices(const Box &box, Value row, Value column) {
  if (box.rowDim >= 0) {
    return {row, column};
  }
  return {column};
}

static Value zeroStrip(ImplicitLocOpBuilder &b, Type element, int64_t width) {
  auto type = VectorType::get({width}, element);
  return arith::ConstantOp::create(b, b.getZeroAttr(type));
}

/// Zeroes rows [begin, end) of a buffer.
static void zeroRows(ImplicitLocOpBuilder &b, const Box &box, Value buffer, Value begin,
                     Value end) {
  Type storage = cast<MemRefType>(buffer.getType()).getElementType();
  forRows(b, begin, end, [&](ImplicitLocOpBuilder &outer, Value row) {
    forEachStrip(outer, {box.columns}, [&](ImplicitLocOpBuilder &inner, const Strip &strip) {
      storeStrip(inner, zeroStrip(inner, storage, strip.width), buffer,
                 box.strip(row, strip.column, strip.width));
    });
  });
}

LogicalResult lowerLoad(Lowering &lowering, LoadOp op) {
  ImplicitLocOpBuilder b = lowering.at(op.getLoc());
  auto type = cast<GlobalType>(op.getGlobal().getType());
  Box box = locate(b, lowering.lookupGlobal(op.getGlobal()), type,
                   llvm::map_to_vector(op.getCoordinates(),
                                       [&](Value value) { return lowering.lookup(value); }));
  Value buffer = lowering.createTile(b, op.getResult());
  Type element = type.getElementType();
  if (box.contiguous) {
    zeroRows(b, box, buffer, indexConstant(b, 0), box.rowBegin);
    forRowsInside(
        b, box, [&](ImplicitLocOpBuilder &inner, Value row, const Strip &strip, Value mask) {
          SmallVector<Value> indices = box.indices(inner, row, strip.column);
          auto vectorType = VectorType::get({strip.width}, element);
          Value loaded;
          if (mask) {
            loaded = vector::MaskedLoadOp::create(inner, vectorType, box.memref, indices, mask,
                                                  zeroStrip(inner, element, strip.width));
          } else {
            loaded = vector::LoadOp::create(inner, vectorType, box.memref, indices);
          }
          storeStrip(inner, toStorage(inner, loaded), buffer, strip);
        });
    zeroRows(b, box, buffer, box.rowEnd, indexConstant(b, box.rows));
    return success();
  }
  zeroRows(b, box, buffer, indexConstant(b, 0), indexConstant(b, box.rows));
  forElementsInside(b, box, [&](ImplicitLocOpBuilder &inner, Value row, Value column) {
    Value loaded = memref::LoadOp::create(inner, box.memref, box.indices(inner, row, column));
    memref::StoreOp::create(inner, toStorage(inner, loaded), buffer,
                            bufferIndices(box, row, column));
  });
  return success();
}

LogicalResult lowerStore(Lowering &lowering, StoreOp op) {
  ImplicitLocOpBuilder b = lowering.at(op.getLoc());
  auto type = cast<GlobalType>(op.getGlobal().getType());
  Box box = locate(b, lowering.lookupGlobal(op.getGlobal()), type,
                   llvm::map_to_vector(op.getCoordinates(),
                                       [&](Value value) { return lowering.lookup(value); }));
  Value buffer = lowering.lookup(op.getValue());
  Type element = type.getElementType();
  if (box.contiguous && !op.getAdd()) {
    forRowsInside(b, box,
                  [&](ImplicitLocOpBuilder &inner, Value row, const Strip &strip, Value mask) {
                    SmallVector<Value> indices = box.indices(inner, row, strip.column);
                    Value stored = fromStorage(inner, loadStrip(inner, buffer, strip), element);
                    if (mask) {
                      vector::MaskedStoreOp::create(inner, box.memref, indices, mask, stored);
                    } else {
                      vector::StoreOp::create(inner, stored, box.memref, indices);
                    }
                  });
    return success();
  }
  forElementsInside(b, box, [&](ImplicitLocOpBuilder &inner, Value row, Value column) {
    Value value = memref::LoadOp::create(inner, buffer, bufferIndices(box, row, column));
    Value stored = fromStorage(inner, value, element);
    SmallVector<Value> indices = box.indices(inner, row, column);
    if (op.getAdd()) {
      // Tiles run at the same time, and may add to one place.
      memref::AtomicRMWOp::create(inner, arith::AtomicRMWKind::addf, stored, box.memref, indices);
    } else {
      memref::StoreOp::create(inner, stored, box.memref, indices);
    }
  });
  return success();
}

LogicalResult lowerSubrange(Lowering &lowering, SubrangeOp op) {
  ImplicitLocOpBuilder b = lowering.at(op.getLoc());
  GlobalView view = lowering.lookupGlobal(op.getGlobal());
  GlobalDim &dim = view.dims[op.getDim()];
  Value start = arith::AddIOp::create(b, dim.origin, toIndex(b, lowering.lookup(op.getStart())));
  Value end = arith::AddIOp::create(b, dim.origin, toIndex(b, lowering.lookup(op.getEnd())));
  dim.origin = start;
  dim.begin = arith::MaxSIOp::create(b, dim.begin, start);
  dim.end = arith::MinSIOp::create(b, dim.end, end);
  lowering.bindGlobal(op.getResult(), std::move(view));
  return success();
}

Value emitFetch(ImplicitLocOpBuilder &b, const GlobalView &global, ValueRange coordinates) {
  Value inside = arith::ConstantOp::create(b, b.getBoolAttr(true));
  SmallVector<Value> indices;
  for (auto [range, coordinate] : llvm::zip_equal(global.dims, coordinates)) {
    Value index = arith::AddIOp::create(b, range.origin, toIndex(b, coordinate));
    Value above = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, index, range.begin);
    Value below = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, range.end);
    inside = arith::AndIOp::create(b, inside, arith::AndIOp::create(b, above, below));
    indices.push_back(index);
  }
  Type element = cast<MemRefType>(global.memref.getType()).getElementType();
  auto branches = scf::IfOp::create(b, TypeRange{element}, inside, /*withElseRegion=*/true);
  ImplicitLocOpBuilder inner(b.getLoc(), b.getContext());
  inner.setInsertionPointToStart(branches.thenBlock());
  scf::YieldOp::create(inner, memref::LoadOp::create(inner, global.memref, indices).getResult());
  inner.setInsertionPointToStart(branches.elseBlock());
  scf::YieldOp::create(inner,
                       arith::ConstantOp::create(inner, inner.getZeroAttr(element)).getResult());
  return branches.getResult(0);
}

} // namespace fa4::tile::cpu
