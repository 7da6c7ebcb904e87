//===- TripWalk.h - a kernel's ops in the order they run --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the one thread of a kernel of inlined steps through given numbers of
// trips, tile after tile. Values carry a label along all hand-overs, so that who
// sees which generation of what is read off, not deduced.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_TRIPWALK_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_TRIPWALK_H

#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "llvm/ADT/DenseMap.h"

namespace fa4::tile {

/// The walk. Every result of the work is the tile's number of trips, which all facts
/// of a work allow; what does not follow from them is unknown.
class TripWalk {
public:
  virtual ~TripWalk() = default;

  /// Walks tiles of so many trips, and what stands before and after their loop.
  /// Emits an error where a loop or test around steps does not follow from the work.
  mlir::LogicalResult run(KernelOp kernel, llvm::ArrayRef<int64_t> trips);

protected:
  static constexpr int64_t kNoLabel = -1;

  /// Called for every op that is no loop, test, step or terminator, in order.
  virtual mlir::LogicalResult visit(mlir::Operation *op) = 0;
  /// Called when a step begins.
  virtual void enter(InlinedStepOp step) {}
  /// Called for an operand of a loop or test inside a step, whose arms are all
  /// walked, once and without hand-overs.
  int64_t getLabel(mlir::Value value) const;
  void setLabel(mlir::Value value, int64_t label) { labels[value] = label; }
  /// The number that a scalar is; none if it does not follow from the work.
  std::optional<int64_t> getNumber(mlir::Value value) const;
  /// The tile that is walked, from 0.
  int64_t getTile() const { return tile; }

private:
  mlir::LogicalResult walkBlock(mlir::Block &block);
  mlir::LogicalResult walkInside(mlir::Block &block);
  mlir::LogicalResult walkFor(mlir::Operation *op);
  mlir::LogicalResult walkIf(mlir::Operation *op);
  mlir::LogicalResult walkStep(InlinedStepOp step);
  mlir::LogicalResult refuse(mlir::Operation *op, llvm::StringRef what);
  void evaluate(mlir::Operation *op);
  /// Hands `from` on as `to`, all at once.
  void handOn(mlir::ValueRange from, mlir::ValueRange to);

  llvm::DenseMap<mlir::Value, mlir::Attribute> constants;
  llvm::DenseMap<mlir::Value, int64_t> labels;
  int64_t tile = 0;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_TRIPWALK_H
