//===- PipelineLoopOrder.h - the legal order of a pipelined loop -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop of steps together with the stage and place that a schedule gives each
// step. It exists only when every dependence of the loop is kept, so that
// building the rotated loop cannot fail.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_PIPELINELOOPORDER_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_PIPELINELOOPORDER_H

#include "fa4/Dialect/FA4/IR/Schedule.h"
#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fa4::tile {

/// A step of the loop, with its place in the pipeline.
struct PlacedStep {
  StepOp op;
  int64_t stage;
};

/// Stage k of trip t works on iteration t - k; inside a trip, list order holds.
class PipelineLoopOrder {
public:
  /// Checks `order` against the dependences of `loop`. Emits one error, with a
  /// note at the second party, if a step is missing or stands too early.
  static mlir::FailureOr<PipelineLoopOrder> create(mlir::scf::ForOp loop,
                                                   llvm::ArrayRef<OrderEntry> order);

  mlir::scf::ForOp getLoop() const { return loop; }
  /// The steps in list order.
  llvm::ArrayRef<PlacedStep> getSteps() const { return steps; }
  int64_t getLastStage() const { return lastStage; }
  bool contains(mlir::Operation *op) const { return position.contains(op); }
  int64_t getStage(mlir::Operation *step) const { return steps[position.lookup(step)].stage; }
  int64_t getPosition(mlir::Operation *step) const { return position.lookup(step); }

private:
  explicit PipelineLoopOrder(mlir::scf::ForOp loop) : loop(loop) {}

  mlir::LogicalResult place(llvm::ArrayRef<OrderEntry> order);
  mlir::LogicalResult checkBody();
  mlir::LogicalResult checkValues();
  mlir::LogicalResult checkMemory();
  mlir::LogicalResult requireBefore(StepOp first, StepOp second, int64_t distance,
                                    const llvm::Twine &reason);

  mlir::scf::ForOp loop;
  llvm::SmallVector<PlacedStep> steps;
  llvm::DenseMap<mlir::Operation *, int64_t> position;
  int64_t lastStage = 0;
};

/// Replaces the loop by prologue, kernel loop and epilogue. Needs a trip count
/// of at least `order.getLastStage()`. Returns the kernel loop.
mlir::scf::ForOp rotateLoop(mlir::RewriterBase &rewriter, const PipelineLoopOrder &order);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_PIPELINELOOPORDER_H
