//===- HomePlan.h - which values lie in memory, and where -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pieces of tile-assign-memory: find the values that need a home, sort them
// into classes of one home each, make views for the classes, and check that no
// two views that overlap are live together.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_HOMEPLAN_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_HOMEPLAN_H

#include "ValueFlow.h"
#include "ViewParts.h"

#include <optional>
#include <string>
#include <vector>

namespace fa4::tile {

/// A value that memory holds from its definition on.
struct KeptValue {
  mlir::Value value;
  /// The step that makes it, or, for what a loop leaves behind, made it last.
  InlinedStepOp step;
  /// Written by the copy or matrix unit, not by threads.
  bool isByEngine = false;
  /// Kept behind the step: only this copy of the step hands the value over.
  bool isOutside = false;
  /// What takes the kept value instead; all uses if empty.
  llvm::SmallVector<mlir::OpOperand *> takers = {};

  InlinedStepOp getStep() const { return step; }
};

/// The values of `kernel` that need a home: matrix results and operands, what
/// products add onto, and what another role takes. Emits an error where a role
/// would have to wait for its own engine.
mlir::FailureOr<llvm::SmallVector<KeptValue>> findKeptValues(KernelOp kernel);

/// Kept values of one home.
struct HomeClass {
  llvm::SmallVector<unsigned> members;
  /// `softmax`, 1, and whether the step has several results.
  std::string step;
  int64_t result = 0;
  std::string name;
  bool isNamed = false;
  std::string allocation;
  Space space = Space::Smem;
  /// Where the schedule lists it, or the result whose memory it shares.
  std::optional<int64_t> position;
  int64_t slots = 1, column = 0, offset = 0;
  /// Elements of the family: the steps' indices.
  int64_t family = 1;
  FragType tile;
  mlir::Attribute layout;
  ViewOp view;
  llvm::SmallVector<ViewPlace> parts;
};

/// Sorts `kept` into classes, takes their homes from the schedule or the default,
/// and makes allocations and views at `builder`.
mlir::FailureOr<std::vector<HomeClass>> makeHomes(KernelOp kernel, llvm::ArrayRef<KeptValue> kept,
                                                  mlir::OpBuilder &builder);

/// Lets products in registers add onto what they are told not to add onto, where that
/// is a tile of zeros in every trip in which they are told so.
mlir::LogicalResult dropZeroStarts(KernelOp kernel);

/// Checks that values whose views overlap are not live together, over two trips of
/// the loop and the border between two tiles.
mlir::LogicalResult checkLiveIntervals(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_HOMEPLAN_H
