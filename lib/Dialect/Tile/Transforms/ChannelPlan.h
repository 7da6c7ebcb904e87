//===- ChannelPlan.h - which values go through which channel ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pieces of tile-insert-channels: who hands what to whom, in which generations
// (ChannelPlan), the orders that a schedule asks for (ChannelTokens), regions that
// change hands outside of any channel (ChannelRegions), and the run that shows that
// the one thread with its rings comes to an end (RingWalk).
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_CHANNELPLAN_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_CHANNELPLAN_H

#include "ValueFlow.h"

#include "fa4/Dialect/Tile/Analysis/ViewOverlap.h"

#include <string>
#include <vector>

namespace fa4::tile {

/// The step that makes what `keep` keeps: the one it stands in, or the one in front
/// of it.
InlinedStepOp getMakerOf(KeepOp keep);

/// One hand-over as the text has it: values written into one slot, then committed.
struct HandOver {
  unsigned channel;
  int64_t element;
  llvm::SmallVector<KeepOp> keeps;
  /// Its token is taken by the first op that writes it.
  AcquireOp acquire = {};
  CommitOp commit = {};
};

/// One taking of a slot: waited for, used, released.
struct Taking {
  unsigned channel;
  /// Indices of the hand-overs that it may be.
  llvm::SetVector<unsigned> handOvers;
  llvm::SmallVector<mlir::Value> carriers;
  llvm::SmallVector<OperandChain> uses;
  /// Written in place before it is released.
  KeepOp over = {};
  /// The replica of the taking role, where each takes every slot.
  int64_t replica = 0;
  /// Copies, by the taker, of what it wrote over the slot.
  llvm::SmallVector<mlir::OpOperand *> stores = {};
  /// Some trip finds a value that nobody handed over.
  bool mayBeNone = false;
  /// In one step, which has wait and release inside.
  bool isInside = false;
  /// Otherwise around these ops of one block.
  mlir::Operation *first = nullptr, *last = nullptr;
  WaitOp wait = {};
  ReleaseOp release = {};

  bool isByEngine() const;
};

struct PlannedChannel {
  std::string name, allocation;
  int64_t family = 1, depth = 1;
  const Role *from = nullptr, *to = nullptr;
  llvm::SetVector<llvm::StringRef> views;
  /// Threads fill it, threads empty it.
  bool isFilledByThreads = false, isEmptiedByThreads = false;
  /// Products empty it: the matrix unit says so.
  bool isEmptiedByProducts = false;
  ChannelOp op = {};
};

struct ChannelPlan {
  std::vector<PlannedChannel> channels;
  std::vector<HandOver> handOvers;
  std::vector<Taking> takings;
};

/// What crosses roles in `kernel`, in text order. Emits an error where a value does
/// so in a way that no channel can.
mlir::FailureOr<ChannelPlan> planChannels(KernelOp kernel, const ViewOverlap &overlap);

/// The element of its channel that `handOver` fills, if the channel has several.
mlir::IntegerAttr getElementOf(const ChannelPlan &plan, const HandOver &handOver);

/// The replica of its role that runs `step`.
int64_t getReplicaOf(InlinedStepOp step);

/// Makes `token`, of the body of `step`, a result of it; the step is made again.
mlir::Value yieldToken(InlinedStepOp &step, mlir::Value token);

/// Lets the replicas of a role take turns between the steps that the schedule's `turn`
/// names, from the first to the last of them wherever the first stands.
mlir::LogicalResult takeTurns(KernelOp kernel);

/// Moves acquires and releases as the schedule's `early_acquire` and `stagger` ask.
void moveTokens(KernelOp kernel, ChannelPlan &plan);

/// Orders uses of overlapping views that no channel orders: by settling the one that
/// the writer fills, or by channels that carry nothing.
mlir::LogicalResult orderRegions(KernelOp kernel, ChannelPlan &plan, const ViewOverlap &overlap);

/// Runs the kernel with its rings for all short numbers of trips. Emits an error that
/// names the ring whose depth blocks it.
mlir::LogicalResult checkRings(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_CHANNELPLAN_H
