//===- Values.h - what the value patterns share -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectors of what one thread holds, cut and joined; guarded accesses to global
// memory; 2^x. An element of a tile is a lane of a vector, so that whole-vector
// arithmetic becomes packed instructions and nothing here moves a register.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_VALUES_H
#define FA4_LIB_CONVERSION_TILETONVVM_VALUES_H

#include "Lowering.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa4::tile::gpu {

/// Columns of a mask word, and of the largest piece of tensor memory that is
/// accessed at once: larger ones ask ptxas for as many consecutive registers.
constexpr int64_t kPieceColumns = 32;
constexpr int64_t kWordBytes = 4;
/// The largest access of one thread to shared or global memory.
constexpr int64_t kChunkBytes = 16;

class ThreadLayout;

inline FragType tileOf(mlir::Value value) { return llvm::cast<FragType>(value.getType()); }
inline GlobalType gridOf(mlir::Value value) { return llvm::cast<GlobalType>(value.getType()); }

/// Bytes of one element in memory.
inline int64_t getElementBytes(mlir::Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

mlir::Value floatConstant(mlir::ImplicitLocOpBuilder &b, mlir::Type type, double value);
mlir::Value intConstant(mlir::ImplicitLocOpBuilder &b, mlir::Type type, int64_t value);

/// `value` as `width` equal lanes; unchanged if it is a vector.
mlir::Value broadcast(mlir::ImplicitLocOpBuilder &b, mlir::Value value, int64_t width);
/// Lanes [begin, begin + width).
mlir::Value takeLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value vector, int64_t begin,
                      int64_t width);
/// Any lanes, in any order.
mlir::Value pickLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value vector,
                      llvm::ArrayRef<int32_t> lanes);
/// The pieces one after the other; of one element type.
mlir::Value joinLanes(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<mlir::Value> pieces);
mlir::Value takeLane(mlir::ImplicitLocOpBuilder &b, mlir::Value vector, int64_t lane);
llvm::SmallVector<mlir::Value> takeAllLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value vector);
mlir::Value fromLanes(mlir::ImplicitLocOpBuilder &b, mlir::Type element,
                      llvm::ArrayRef<mlir::Value> lanes);

/// A thread's elements as 32-bit words and back; 16-bit elements two by two, the
/// even one in the low half. `value` is a vector or one f32 or i32.
mlir::Value toWords(mlir::ImplicitLocOpBuilder &b, mlir::Value value);
mlir::Value fromWords(mlir::ImplicitLocOpBuilder &b, mlir::Value words, mlir::Type type);

/// The tile's number in the answer at `place`, -1 if there is none; the same in all
/// lanes.
mlir::Value readTileNumber(mlir::ImplicitLocOpBuilder &b, const Lowering &lowering,
                           const RoleContext &role, const Place &place);

/// One PTX text; its result, null if `result` is. Without side effects it is a
/// function of its operands.
mlir::Value emitPtx(mlir::ImplicitLocOpBuilder &b, mlir::Type result, mlir::ValueRange operands,
                    llvm::StringRef text, llvm::StringRef constraints, bool hasSideEffects = false);

/// What one PTX text makes of `lanes`, in their registers: operands `$0` and on; those
/// of `inputs` follow from twice their number on. An empty text is a point that no use
/// of the lanes crosses.
llvm::SmallVector<mlir::Value> emitPtxOnLanes(mlir::ImplicitLocOpBuilder &b,
                                              llvm::ArrayRef<mlir::Value> lanes,
                                              mlir::ValueRange inputs, llvm::StringRef text,
                                              bool clobbersMemory);

/// Whether `condition` (i1) holds for some lane of the warp: the same for all of them.
mlir::Value anyLane(mlir::ImplicitLocOpBuilder &b, mlir::Value condition);

/// Ends what makes `lanes` at a branch that is never taken, over which ptxas moves
/// nothing: it would start the next piece of a row before this one is over, and spill.
/// `smem` is where the CTA's shared memory starts. Not among products on fragments, which
/// a branch serializes.
void orderBehind(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<mlir::Value> lanes, mlir::Value smem,
                 const Lowering &lowering);

/// 2^x by the machine, on f32 or vectors of it.
mlir::Value emitExp2(mlir::ImplicitLocOpBuilder &b, mlir::Value x);
/// 2^x by the polynomial of Numerics, bit for bit the host's. `packed`: the machine
/// has f32x2 instructions.
mlir::Value emitExp2Polynomial(mlir::ImplicitLocOpBuilder &b, mlir::Value x, int64_t degree,
                               bool packed);

/// The largest of `init` and of what all threads of the row have in `lanes`.
mlir::Value emitRowMax(mlir::ImplicitLocOpBuilder &b, const ThreadLayout &layout, int64_t row,
                       mlir::Value lanes, mlir::Value init);

/// One scalar of `element` from global memory, zero without `inside`. Straight-line
/// code: a warp must stay whole for its tensor-memory accesses.
mlir::Value loadIfInside(mlir::ImplicitLocOpBuilder &b, mlir::Type element, mlir::Value address,
                         mlir::Value inside);
/// `words` words, 1, 2 or 4, as a vector of i32.
mlir::Value loadWordsIfInside(mlir::ImplicitLocOpBuilder &b, int64_t words, mlir::Value address,
                              mlir::Value inside);
void storeIfInside(mlir::ImplicitLocOpBuilder &b, mlir::Value scalar, mlir::Value address,
                   mlir::Value inside);
void storeWordsIfInside(mlir::ImplicitLocOpBuilder &b, mlir::Value words, mlir::Value address,
                        mlir::Value inside);
void addIfInside(mlir::ImplicitLocOpBuilder &b, mlir::Value scalar, mlir::Value address,
                 mlir::Value inside);

/// Whether `op` is computed by a formula: many instructions, many values at hand.
bool isFormula(mlir::Operation *op);
/// A located error unless `op` of the math dialect has a form on the device.
llvm::LogicalResult checkMath(mlir::Operation *op);

// The families of patterns.
void populateElementwisePatterns(const TileToNVVMTypeConverter &converter,
                                 mlir::RewritePatternSet &patterns, const Lowering &lowering);
void populateReductionPatterns(const TileToNVVMTypeConverter &converter,
                               mlir::RewritePatternSet &patterns, const Lowering &lowering);
void populateOnlineMaxPatterns(const TileToNVVMTypeConverter &converter,
                               mlir::RewritePatternSet &patterns, const Lowering &lowering);
void populateMapPatterns(const TileToNVVMTypeConverter &converter,
                         mlir::RewritePatternSet &patterns, const Lowering &lowering);
void populateTensorMemoryPatterns(const TileToNVVMTypeConverter &converter,
                                  mlir::RewritePatternSet &patterns, const Lowering &lowering);
void populateViewPatterns(const TileToNVVMTypeConverter &converter,
                          mlir::RewritePatternSet &patterns, const Lowering &lowering);
void populateGlobalMemoryPatterns(const TileToNVVMTypeConverter &converter,
                                  mlir::RewritePatternSet &patterns, const Lowering &lowering);
void populateInlinePtxPatterns(const TileToNVVMTypeConverter &converter,
                               mlir::RewritePatternSet &patterns, const Lowering &lowering);

} // namespace fa4::tile::gpu

#endif // FA4_LIB_CONVERSION_TILETONVVM_VALUES_H
