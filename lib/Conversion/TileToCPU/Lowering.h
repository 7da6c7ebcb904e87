//===- Lowering.h - the walk from T0 to host code ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One structural walk emits the host form of a kernel. A tile is a buffer in
// row-major order; floats of 32 bits and less are kept as f32 (a bf16 tile holds
// values that bf16 can hold), so matrix products read their operands as they
// are. A buffer is written once, by the op that gives the tile, and read-only
// from then on; only the buffers carried by a loop are rewritten, at its yield.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETOCPU_LOWERING_H
#define FA4_LIB_CONVERSION_TILETOCPU_LOWERING_H

#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"

namespace fa4::tile::cpu {

/// Columns handled together, as one vector. LLVM splits it where the host's
/// registers are shorter; the order of row sums is fixed by it.
constexpr int64_t kStrip = 16;

struct Options {
  /// Iterations of the `scf.parallel` that tiles are dealt to.
  int64_t workers;
  /// Rows of the register block of a matrix product.
  int64_t mmaRows;
};

/// One dimension of a global tensor: element 0 of the coordinates and the range
/// of valid elements, all absolute.
struct GlobalDim {
  mlir::Value origin;
  mlir::Value begin;
  mlir::Value end;
};

/// A `!tile.global` on the host.
struct GlobalView {
  mlir::Value memref;
  llvm::SmallVector<GlobalDim> dims;
};

/// `width` columns from (row, column). For rank-1 tiles `row` is null and the
/// columns are the tile's rows.
struct Strip {
  mlir::Value row;
  mlir::Value column;
  int64_t width;
};

using StripBody = llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, const Strip &)>;

/// Emits loops over `shape` in strips of `kStrip` columns and one narrower
/// strip for the rest. With `columnBegin` and `columnEnd` only those columns of
/// a rank-2 shape.
void forEachStrip(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<int64_t> shape, StripBody body);
void forEachStrip(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<int64_t> shape, int64_t columnBegin,
                  int64_t columnEnd, StripBody body);

/// A loop from 0 to `count`; `count` = 1 emits the body alone.
void forEach(mlir::ImplicitLocOpBuilder &b, int64_t begin, int64_t end, int64_t step,
             llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, mlir::Value)> body);

mlir::Value indexConstant(mlir::ImplicitLocOpBuilder &b, int64_t value);
mlir::Value addIndex(mlir::ImplicitLocOpBuilder &b, mlir::Value base, int64_t offset);
/// A scalar or vector constant of float type.
mlir::Value floatConstant(mlir::ImplicitLocOpBuilder &b, mlir::Type type, double value);
/// `value` as a vector of `width`; unchanged if it is one.
mlir::Value broadcast(mlir::ImplicitLocOpBuilder &b, mlir::Value value, int64_t width);
/// `shape.last` consecutive i32 from `first`.
mlir::Value consecutive(mlir::ImplicitLocOpBuilder &b, mlir::Value first, int64_t width);

/// How elements of `element` are kept in buffers; null if they cannot be.
mlir::Type getStorageType(mlir::Type element);
/// Between an element (scalar or vector) and its form in a buffer.
mlir::Value toStorage(mlir::ImplicitLocOpBuilder &b, mlir::Value value);
mlir::Value fromStorage(mlir::ImplicitLocOpBuilder &b, mlir::Value stored, mlir::Type element);

/// A strip of a buffer, as stored.
mlir::Value loadStrip(mlir::ImplicitLocOpBuilder &b, mlir::Value buffer, const Strip &strip);
void storeStrip(mlir::ImplicitLocOpBuilder &b, mlir::Value vector, mlir::Value buffer,
                const Strip &strip);
/// Copies a tile.
void copyTile(mlir::ImplicitLocOpBuilder &b, mlir::Value from, mlir::Value to);

/// 2^x on f32, scalar or vector: the accurate form, and the polynomial of
/// `tile.exp2 share`. Both are Numerics' descriptions, emitted.
mlir::Value emitExp2(mlir::ImplicitLocOpBuilder &b, mlir::Value x);
mlir::Value emitExp2Polynomial(mlir::ImplicitLocOpBuilder &b, mlir::Value x, int64_t degree);

class Lowering {
public:
  Lowering(mlir::OpBuilder &builder, const Options &options) : builder(builder), options(options) {}

  /// Emits everything of `block` but its terminator at the builder's position.
  llvm::LogicalResult lowerBlock(mlir::Block &block);
  llvm::LogicalResult lowerOp(mlir::Operation *op);

  /// A builder at the current position.
  mlir::ImplicitLocOpBuilder at(mlir::Location loc) {
    mlir::ImplicitLocOpBuilder b(loc, builder.getContext());
    b.restoreInsertionPoint(builder.saveInsertionPoint());
    return b;
  }

  mlir::Value lookup(mlir::Value value) const { return mapping.lookupOrDefault(value); }
  void bind(mlir::Value from, mlir::Value to) { mapping.map(from, to); }
  const GlobalView &lookupGlobal(mlir::Value value) const { return globals.find(value)->second; }
  void bindGlobal(mlir::Value value, GlobalView view) {
    globals.insert_or_assign(value, std::move(view));
  }
  /// Binds `to` to what `from` is bound to: a tile, a scalar or a global.
  void alias(mlir::Value from, mlir::Value to);

  /// The buffer that `tile` is to be written to: one asked for beforehand, or a
  /// new one. Binds it.
  mlir::Value createTile(mlir::ImplicitLocOpBuilder &b, mlir::Value tile);
  /// A buffer for a tile of `type`.
  mlir::Value createBuffer(mlir::ImplicitLocOpBuilder &b, FragType type);
  llvm::ArrayRef<mlir::memref::AllocOp> getBuffers() const { return buffers; }

  mlir::OpBuilder &builder;
  const Options &options;
  int64_t numSteps = 0;

private:
  llvm::LogicalResult lowerStep(StepOp step);
  llvm::LogicalResult lowerInlinedStep(InlinedStepOp step);
  /// What a step leaves of `op`: `body`, or under a true `unless` the passed values.
  llvm::LogicalResult lowerUnless(mlir::Operation *op, mlir::Value unless, mlir::ValueRange passed,
                                  mlir::ValueRange yielded,
                                  llvm::function_ref<llvm::LogicalResult()> body);
  llvm::LogicalResult lowerFor(mlir::Operation *op);
  llvm::LogicalResult lowerIf(mlir::Operation *op);
  /// Emits `block` and copies what its terminator yields to `targets`; null
  /// targets are scalars and returned.
  llvm::FailureOr<llvm::SmallVector<mlir::Value>> lowerInto(mlir::Block &block,
                                                            llvm::ArrayRef<mlir::Value> targets);

  mlir::IRMapping mapping;
  llvm::DenseMap<mlir::Value, GlobalView> globals;
  llvm::DenseMap<mlir::Value, mlir::Value> destinations;
  llvm::SmallVector<mlir::memref::AllocOp> buffers;
};

// One function per op family; each binds the results of the op.
llvm::LogicalResult lowerMma(Lowering &lowering, MmaOp op);
llvm::LogicalResult lowerTranspose(Lowering &lowering, TransposeOp op);
llvm::LogicalResult lowerLoad(Lowering &lowering, LoadOp op);
llvm::LogicalResult lowerStore(Lowering &lowering, StoreOp op);
llvm::LogicalResult lowerSubrange(Lowering &lowering, SubrangeOp op);
/// The element at `coordinates` (i32), zero outside.
mlir::Value emitFetch(mlir::ImplicitLocOpBuilder &b, const GlobalView &global,
                      mlir::ValueRange coordinates);
llvm::LogicalResult lowerMap(Lowering &lowering, MapOp op);
llvm::LogicalResult lowerMask(Lowering &lowering, MaskOp op);
llvm::LogicalResult lowerExp2(Lowering &lowering, Exp2Op op);
llvm::LogicalResult lowerScaleRows(Lowering &lowering, ScaleRowsOp op);
llvm::LogicalResult lowerCast(Lowering &lowering, CastOp op);
llvm::LogicalResult lowerSplat(Lowering &lowering, SplatOp op);
llvm::LogicalResult lowerSlice(Lowering &lowering, SliceOp op);
llvm::LogicalResult lowerRowMax(Lowering &lowering, RowMaxOp op);
llvm::LogicalResult lowerRowSum(Lowering &lowering, RowSumOp op);
llvm::LogicalResult lowerOnlineMax(Lowering &lowering, OnlineMaxOp op);

/// Gives every buffer a place in one arena of bytes, reused where lifetimes in
/// `body` allow, and replaces it by a view. Returns the arena's size.
int64_t placeBuffers(mlir::Block &body, mlir::Value arena,
                     llvm::ArrayRef<mlir::memref::AllocOp> buffers);

/// The type of a `!tile.global` argument of a host function: dynamic extents,
/// strides and offset; the innermost stride is 1 if `unitInner`.
mlir::MemRefType getGlobalArgumentType(GlobalType type, bool unitInner);

/// Turns `kernel` into a function beside it and erases it. `unitInner` says for
/// each argument whether its innermost stride is known to be 1.
llvm::LogicalResult lowerKernel(KernelOp kernel, llvm::ArrayRef<bool> unitInner, bool isPrivate,
                                const Options &options, int64_t &numSteps, int64_t &arenaBytes);

} // namespace fa4::tile::cpu

#endif // FA4_LIB_CONVERSION_TILETOCPU_LOWERING_H
