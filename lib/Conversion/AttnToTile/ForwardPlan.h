//===- ForwardPlan.h - what one attn.forward becomes ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that is decided about a kernel before any of it is written, and
// the named values that travel between host, kernel, work and defs. Each group
// of values has one order, the one in which `forEach` visits it: that is the
// kernel's argument order, the work's result order, a def's input order. A
// value that the kernel does not need is null and takes no place.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_FORWARDPLAN_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_FORWARDPLAN_H

#include "fa4/Dialect/Attn/IR/AttnOps.h"
#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Dialect/Tile/IR/TileOps.h"

namespace fa4 {

/// Kernel arguments, in the order of the kernel's interface.
struct KernelArguments {
  mlir::Value q, k, v, o, lse;
  mlir::Value queryDocuments, keyDocuments;
  mlir::Value positionOffset;
  mlir::Value queryStarts, keyStarts;
  mlir::Value queryUsed, keyUsed;
  mlir::Value sink;
  /// Captures of the score region, then those of the predicate.
  llvm::SmallVector<mlir::Value> captured;
  /// What is added to the b and h that regions see, as i32.
  mlir::Value batchOrigin, headOrigin;
  /// Extents, as i32. Packed kernels have no extents of q and k.
  mlir::Value queryExtent, keyExtent, batches, heads, group, tiles;

  template <class Fn>
  void forEach(Fn &&fn) {
    for (mlir::Value *value :
         {&q, &k, &v, &o, &lse, &queryDocuments, &keyDocuments, &positionOffset, &queryStarts,
          &keyStarts, &queryUsed, &keyUsed, &sink}) {
      fn(*value);
    }
    for (mlir::Value &value : captured) {
      fn(value);
    }
    for (mlir::Value *value :
         {&batchOrigin, &headOrigin, &queryExtent, &keyExtent, &batches, &heads, &group, &tiles}) {
      fn(*value);
    }
  }
};

/// What tile.work says of a tile, in the order of its results.
struct TileScalars {
  llvm::SmallVector<mlir::Value> queryBlocks; // one per stage
  mlir::Value head, kvHead, batch;
  /// The lengths that masks align to, where they differ between batches.
  mlir::Value queryLength, keyLength;
  mlir::Value offset;
  /// Where a packed sequence lies; rows up to queryEnd are written.
  mlir::Value queryStart, queryEnd, keyStart;
  mlir::Value firstBlock, blocks, edgeBlocks, leftEdge;

  template <class Fn>
  void forEach(Fn &&fn) {
    for (auto [stage, value] : llvm::enumerate(queryBlocks)) {
      fn(("q" + llvm::Twine(stage)).str(), value);
    }
    fn("h", head);
    fn("kvh", kvHead);
    fn("b", batch);
    fn("sq", queryLength);
    fn("sk", keyLength);
    fn("off", offset);
    fn("qs", queryStart);
    fn("qe", queryEnd);
    fn("ks", keyStart);
    fn("j0", firstBlock);
    fn("n", blocks);
    fn("ne", edgeBlocks);
    fn("nl", leftEdge);
  }
};

class ForwardPlan {
public:
  /// Decides, or emits one error at the op.
  static mlir::FailureOr<ForwardPlan> create(attn::ForwardOp op);

  attn::ForwardOp op;
  ScheduleAttr schedule;
  TargetAttr target;
  attn::TensorDims dims;
  /// Of the scores that a CTA, or a pair, computes per stage and block.
  int64_t rows, columns, stages;
  /// One interval per mask.
  llvm::SmallVector<attn::MaskBounds> bounds;
  /// Scores are multiplied before anything else sees them, because a region
  /// wants them scaled or because the factor must not be folded into exp2.
  bool scalesFirst;
  float scale;
  /// What takes a score to the log2 domain; positive.
  float log2Scale;

  bool isPacked() const { return !dims.batch; }
  bool hasUsedLengths() const;
  bool hasLengthsPerBatch() const { return isPacked() || hasUsedLengths(); }
  bool hasLowerBound() const;
  bool hasUpperBound() const;
  bool isLongestFirst() const;
  bool takesTurns() const;
  int64_t ctaRows() const { return rows * stages; }

  mlir::Type getElementType() const;
  int64_t getHeadDimQk() const;
  int64_t getHeadDimV() const;
  tile::FragType getFrag(llvm::ArrayRef<int64_t> shape, mlir::Type element) const;
  tile::FragType getRowType() const;
  tile::FragType getScoreType() const;
  tile::FragType getOutputType() const;
  tile::FragType getQueryTile() const;
  tile::FragType getKeyTile() const;
  tile::FragType getValueTile() const;
  tile::FragType getWeightTile() const;
  tile::FragType getResultTile() const;

  /// The box of a q, k, v or o tensor that holds one tile.
  llvm::SmallVector<int64_t> getTensorBox(int64_t tileRows, int64_t headDim) const;
  /// The dimension of rows in lse.
  unsigned getLseRowDim() const { return isPacked() ? 1 : 2; }
  /// Grid coordinates of a tile in such a tensor.
  llvm::SmallVector<mlir::Value> getTensorCoordinates(mlir::Value batch, mlir::Value block,
                                                      mlir::Value head) const;
  llvm::SmallVector<mlir::Value> getLseCoordinates(mlir::Value batch, mlir::Value head,
                                                   mlir::Value block) const;

private:
  explicit ForwardPlan(attn::ForwardOp op) : op(op) {}
};

/// Fills `scalars` in tile.work's region: decodes tile `number`.
void emitDecode(mlir::OpBuilder &builder, const ForwardPlan &plan, mlir::Value number,
                KernelArguments &args, TileScalars &scalars);

/// Fills the kernel's body from its arguments.
void emitKernelBody(mlir::OpBuilder &builder, const ForwardPlan &plan, tile::KernelOp kernel,
                    KernelArguments args);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_FORWARDPLAN_H
