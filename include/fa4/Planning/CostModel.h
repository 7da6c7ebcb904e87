//===- CostModel.h - clocks of a kernel by unit ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one KV block of a forward kernel asks of each unit of an SM, from the
// schedule, the target's rates and the instructions of each role; instructions
// are counted in machine code or estimated. docs/CostModel.md derives every term.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_PLANNING_COSTMODEL_H
#define FA4_PLANNING_COSTMODEL_H

#include "fa4/Planning/ScheduleCheck.h"
#include "fa4/Target/UnitRates.h"

#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace fa4 {

/// Instructions that one warp issues, by the unit that runs them. A packed one
/// works on two f32 and keeps its unit twice as long.
struct UnitCounts {
  double exp2 = 0;
  double fma = 0;
  double packedFma = 0;
  double alu = 0;
  /// Waits, arrivals, copies, uniform arithmetic: they take an issue slot only.
  double other = 0;

  double all() const { return exp2 + fma + packedFma + alu + other; }
  UnitCounts &operator+=(const UnitCounts &more);
  UnitCounts operator*(double factor) const;
};

/// One role's instructions for one KV block of all stages, or for what a tile
/// takes beside its blocks.
struct RoleCost {
  std::string role;
  int64_t warps = 0;
  /// Of each of its warps.
  UnitCounts counts;
};

/// What the machine code of a kernel under `schedule` is expected to contain per
/// KV block without a mask. Score regions are not counted.
std::vector<RoleCost> estimateInstructions(const ForwardProblem &problem, const Schedule &schedule,
                                           const TargetInfo &target);

enum class CostUnit { Matrix, SharedMemory, Exp2, Fma, Alu, Issue, Chain };
inline constexpr size_t kCostUnits = 7;
llvm::StringRef stringifyCostUnit(CostUnit unit);

/// One KV block of all stages of one CTA.
struct BlockCost {
  /// How long each unit is busy, alone; `Chain` is how long the dependences from
  /// one block's scores to the next block's take however fast the units are.
  std::array<double, kCostUnits> clocks = {};
  /// The predicted time between blocks, and what sets it.
  double period = 0;
  CostUnit boundBy = CostUnit::Matrix;
  /// How long the matrix unit waits for the first block of a tile, and for the last.
  double ramp = 0;
  /// Bytes between registers and tensor memory; no rate of that path is published.
  double tensorMemoryBytes = 0;
  /// Scores computed.
  double scores = 0;

  double get(CostUnit unit) const { return clocks[static_cast<size_t>(unit)]; }
  /// The share of the matrix unit's peak that the period allows.
  double matrixShare() const { return period > 0 ? get(CostUnit::Matrix) / period : 0; }
};

BlockCost costOfBlock(const ForwardProblem &problem, const Schedule &schedule,
                      const TargetInfo &target, llvm::ArrayRef<RoleCost> instructions);
BlockCost costOfBlock(const ForwardProblem &problem, const Schedule &schedule,
                      const TargetInfo &target, const UnitRates &rates,
                      llvm::ArrayRef<RoleCost> instructions);

/// Extents of one launch.
struct ForwardShape {
  int64_t batch = 1;
  int64_t heads = 1;
  int64_t queries = 0;
  int64_t keys = 0;
  bool causal = false;
  /// What a tile takes beside its blocks and ramp: its start, first loads, last stores.
  double clocksPerTile = 0;
  /// K and V of the heads that are dealt together, longest tiles first; without a
  /// number, what the target's kernels take.
  std::optional<int64_t> sectionBytes = std::nullopt;
};

/// One launch on a chip with some number of SMs.
struct GridCost {
  double clocks = 0;
  /// By the usual convention: two per multiply-add, half of them under a causal mask.
  double flops = 0;
  /// Of the clocks of all SMs: working on a block; on scores that count; waiting in
  /// a tile's ramp; without a tile.
  double blockShare = 0, usefulShare = 0, rampShare = 0, idleShare = 0;
};

GridCost costOfGrid(const ForwardProblem &problem, const Schedule &schedule,
                    const TargetInfo &target, const BlockCost &block, const ForwardShape &shape,
                    int64_t multiprocessors);

} // namespace fa4

#endif // FA4_PLANNING_COSTMODEL_H
