//===- Lowering.h - from T2 to the machine's dialects -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is lowered in three steps. The frame (Frame.cpp) makes the function:
// parameters, set-up, one block per role with the role's ops moved into it, tile
// loops as scf.for. Patterns then replace the ops of the tile dialect one by one;
// they may emit nvvm, llvm, arith, math, vector and scf, structured. At last
// upstream patterns lower these. Patterns find what the frame made, and the
// kernel's symbols, in `Lowering`.
//
// What a thread holds of a tile is a vector, or one scalar of a rank-1 tile; which
// elements these are, ThreadLayout.h says. A cursor is its slot (if the ring has
// more than one) and its parity.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_LOWERING_H
#define FA4_LIB_CONVERSION_TILETONVVM_LOWERING_H

#include "fa4/Dialect/Tile/Analysis/PairArrivals.h"
#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace fa4::tile::gpu {

// NVVM's address spaces.
constexpr unsigned kGlobalSpace = 1;
constexpr unsigned kSharedSpace = 3;
constexpr unsigned kTensorSpace = 6;
constexpr unsigned kClusterSpace = 7;

/// The CTA of a pair that issues for both (PTX ISA, tcgen05 CTA pairs: the even one).
constexpr int64_t kLeaderRank = 0;

/// The mask of a warp that votes, shuffles or meets as a whole.
constexpr int64_t kAllLanes = -1;

/// One shared memory for all kernels of a module: `extern .shared`, sized at launch.
constexpr llvm::StringLiteral kSharedMemoryName = "fa4_shared_memory";

/// Under this name upstream hands a loop's annotation through to branches.
constexpr llvm::StringLiteral kLoopAnnotationName = "llvm.loop_annotation";

/// What the frame gives to the ops of one role. Values stand at the head of the
/// role's block and dominate all of it.
struct RoleContext {
  /// The start of shared memory, opaque to LLVM, so that it is not built anew at
  /// every use.
  mlir::Value smem;
  /// The address of tensor memory, an i32; null if the kernel has none.
  mlir::Value tmem;
  /// The thread's number in its replica, its warp's (uniform), its lane; i32.
  mlir::Value thread;
  mlir::Value warp;
  mlir::Value lane;
  int64_t warps = 1;
  /// Whether this thread issues and commits for the role. Null if nobody does. All
  /// lanes keep the role's loops and cursors: what a warp computes alike stays in
  /// uniform registers, which products and copies take their operands from.
  mlir::Value issues;
  /// Whether this CTA leads its pair; null in a kernel of single CTAs.
  mlir::Value leads;
  /// The named barrier of role_sync, an i32; null if the role has none.
  mlir::Value syncBarrier;
};

/// A tensor map: a box of a global, swizzled as it lies in shared memory.
struct TensorMap {
  llvm::SmallVector<int64_t> box;
  int64_t swizzle;
  /// The dimension along which copies are cut to ranges, or -1.
  int64_t cutDim;
  mlir::Value pointer;
};

/// A range of a dimension, as i32 numbers: not negative, and not below `start`.
struct RangeOfDim {
  int64_t dim;
  mlir::Value start, end;
};

/// A kernel argument of type `!tile.global`, or a range of it. Pointer, strides (bytes, i64) and
/// extents (i32) are there only if threads access the global.
struct GlobalContext {
  unsigned argument;
  llvm::SmallVector<TensorMap, 2> maps;
  mlir::Value pointer;
  llvm::SmallVector<mlir::Value> strides;
  llvm::SmallVector<mlir::Value> extents;
  /// A tile's loads walk along it, so that other tiles walk along the same: K and V.
  /// What a tile loads once as its own is read by no other: Q.
  bool isStreamed = false;
  /// What tensor copies are cut to; pointer and extents are those of the range.
  std::optional<RangeOfDim> range = std::nullopt;
};

/// How an op at T2 names an element and a slot of a view or barrier: by name, the
/// cursor's type before conversion, and converted values.
struct Place {
  /// `handle` is the op's cursor or null, `cursor` and `element` the adaptor's.
  Place(mlir::FlatSymbolRefAttr symbol, mlir::Value handle, mlir::ValueRange cursor,
        mlir::ValueRange element, mlir::IntegerAttr staticElement);

  mlir::FlatSymbolRefAttr symbol;
  int64_t depth = 1;
  /// The values of the cursor; empty without one.
  mlir::ValueRange cursor;
  int64_t knownElement = 0;
  /// The element if it is not known, an i32.
  mlir::Value element;
};

/// Byte distance between the panels of a swizzled view: columns as wide as the
/// swizzle, row after row.
int64_t getPanelPitch(ViewOp view);

class Lowering {
public:
  explicit Lowering(KernelOp kernel);

  const TargetInfo &target() const { return KernelOp(kernel).getTarget().getInfo(); }
  ViewOp view(mlir::FlatSymbolRefAttr name) const { return views.lookup(name.getAttr()); }
  PlacedAllocOp alloc(mlir::FlatSymbolRefAttr name) const { return allocs.lookup(name.getAttr()); }
  PlacedAllocOp allocOf(ViewOp view) const { return alloc(view.getAllocAttr()); }
  BarrierOp barrier(mlir::FlatSymbolRefAttr name) const { return barriers.lookup(name.getAttr()); }
  NamedBarrierOp namedBarrier(mlir::FlatSymbolRefAttr name) const {
    return namedBarriers.lookup(name.getAttr());
  }
  /// Whether two CTAs compute each tile together.
  bool isPair() const { return KernelOp(kernel).getSchedule().getPlan().ctas == 2; }
  /// What threads of both CTAs of a pair arrive at.
  const PairArrivals &getPairArrivals() const { return pairArrivals; }

  /// The role in whose block `op` stands.
  const RoleContext &role(mlir::Operation *op) const;
  /// Numbers of boundaries (orderBehind), each once.
  uint32_t takeBoundaryNumber() const { return numBoundaries++; }
  /// What `global`, an operand as it was before conversion, means in the function.
  const GlobalContext &global(mlir::Value global) const { return globals.find(global)->second; }

  /// Where the view of `place` starts in shared memory, plus `offset` bytes.
  mlir::Value smemPointer(mlir::OpBuilder &b, mlir::Location loc, const RoleContext &role,
                          const Place &place, int64_t offset = 0) const;
  /// The tensor-memory column of `place`, plus `column`: an address (i32) of lane 0.
  mlir::Value tmemAddress(mlir::OpBuilder &b, mlir::Location loc, const RoleContext &role,
                          const Place &place, int64_t column = 0) const;
  /// The same as a pointer; with `ownLanes` to the lanes that this warp may access.
  mlir::Value tmemPointer(mlir::OpBuilder &b, mlir::Location loc, const RoleContext &role,
                          const Place &place, int64_t column, bool ownLanes) const;
  /// The mbarrier of `place`.
  mlir::Value barrierPointer(mlir::OpBuilder &b, mlir::Location loc, const RoleContext &role,
                             const Place &place) const;

  /// The same barrier in the leader's shared memory.
  mlir::Value leaderBarrierPointer(mlir::OpBuilder &b, mlir::Location loc, const RoleContext &role,
                                   const Place &place) const;

  /// Emits `body` so that one thread of the role executes it.
  void emitByOne(mlir::OpBuilder &b, mlir::Location loc, const RoleContext &role,
                 llvm::function_ref<void(mlir::OpBuilder &)> body) const;

  KernelOp kernel;
  mlir::LLVM::LLVMFuncOp function;
  llvm::DenseMap<mlir::Block *, RoleContext> roles;
  llvm::DenseMap<mlir::Value, GlobalContext> globals;
  /// Statistics that look at the rows' largest scores only if one may matter.
  llvm::DenseMap<OnlineMaxOp, RowMaxOp> lazyMaxima;
  llvm::DenseSet<mlir::Operation *> fusedMaxima;
  /// By its last op, ops that are emitted together piece by piece; in order.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *>> pieceChains;
  /// The column at which a read, write or store of a piece of a row starts.
  llvm::DenseMap<mlir::Operation *, int64_t> firstColumns;

private:
  llvm::DenseMap<mlir::StringAttr, PlacedAllocOp> allocs;
  llvm::DenseMap<mlir::StringAttr, ViewOp> views;
  llvm::DenseMap<mlir::StringAttr, BarrierOp> barriers;
  llvm::DenseMap<mlir::StringAttr, NamedBarrierOp> namedBarriers;
  PairArrivals pairArrivals;
  mutable uint32_t numBoundaries = 0;
};

/// Regions are numbered element * depth + slot: the number of the region of
/// `place`, in units of `stride`, as a known part and an i32, null if all is known.
struct RegionOffset {
  int64_t known;
  mlir::Value rest;
};
RegionOffset regionOffset(mlir::OpBuilder &b, mlir::Location loc, const Place &place,
                          int64_t stride);

/// The CTAs that allocate tensor memory and multiply together.
mlir::NVVM::CTAGroupKind ctaGroupOf(const Lowering &lowering);

mlir::Value i32Constant(mlir::OpBuilder &b, mlir::Location loc, int64_t value);
mlir::Value i64Constant(mlir::OpBuilder &b, mlir::Location loc, int64_t value);

/// The parity of a converted cursor; the slot, if the ring has several, is in front.
inline mlir::Value cursorParity(mlir::ValueRange cursor) { return cursor.back(); }

/// Tiles, cursors and globals in the terms of nvvm.
class TileToNVVMTypeConverter : public mlir::TypeConverter {
public:
  TileToNVVMTypeConverter();
};

/// A located error unless every op and type of the kernel has a lowering.
llvm::LogicalResult checkControl(KernelOp kernel);
llvm::LogicalResult checkValues(KernelOp kernel);

/// Moves stores of threads behind the bulk copies that wait for them for no reason.
void sinkStores(KernelOp kernel);

/// Step one. `lowering.function` and the contexts exist afterwards; the kernel
/// keeps its symbols only.
void buildFrame(Lowering &lowering, mlir::RewriterBase &rewriter);

// Step two, by family.
void populateBarrierPatterns(const TileToNVVMTypeConverter &converter,
                             mlir::RewritePatternSet &patterns, const Lowering &lowering);
void populateCopyPatterns(const TileToNVVMTypeConverter &converter,
                          mlir::RewritePatternSet &patterns, const Lowering &lowering);
void populateNextTilePatterns(const TileToNVVMTypeConverter &converter,
                              mlir::RewritePatternSet &patterns, const Lowering &lowering);
void populateMmaPatterns(const TileToNVVMTypeConverter &converter,
                         mlir::RewritePatternSet &patterns, const Lowering &lowering);
void populateWgmmaPatterns(const TileToNVVMTypeConverter &converter,
                           mlir::RewritePatternSet &patterns, const Lowering &lowering);
void populateValuePatterns(const TileToNVVMTypeConverter &converter,
                           mlir::RewritePatternSet &patterns, const Lowering &lowering);

/// Whether a product orders earlier accesses of its registers by itself, because it
/// has some that are written.
bool fencesItself(IssueMmaOp op);

/// Cuts rows that only pass through registers into pieces of columns.
void splitRows(Lowering &lowering, mlir::RewriterBase &rewriter);

/// Lets loops carry what the columns of each thread add up to in place of row sums.
void carrySumsApart(Lowering &lowering, mlir::RewriterBase &rewriter);

/// Finds the row maxima that only a statistic with a lag uses.
void findLazyMaxima(Lowering &lowering);

/// Functions of `math` that no instruction computes, as formulas over those that
/// are ones.
llvm::LogicalResult expandMath(mlir::Operation *root);

/// A pattern that knows the kernel.
template <typename OpTy>
class LoweringPattern : public mlir::OpConversionPattern<OpTy> {
public:
  LoweringPattern(const mlir::TypeConverter &converter, mlir::MLIRContext *context,
                  const Lowering &lowering)
      : mlir::OpConversionPattern<OpTy>(converter, context), lowering(lowering) {}

protected:
  const Lowering &lowering;
};

} // namespace fa4::tile::gpu

#endif // FA4_LIB_CONVERSION_TILETONVVM_LOWERING_H
