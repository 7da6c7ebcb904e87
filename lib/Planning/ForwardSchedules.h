//===- ForwardSchedules.h - the two forms of forward kernels --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_PLANNING_FORWARDSCHEDULES_H
#define FA4_LIB_PLANNING_FORWARDSCHEDULES_H

#include "fa4/Planning/ScheduleSelection.h"

namespace fa4 {

/// A schedule that leaves everything to the planner.
inline Schedule makeOpenSchedule() {
  Schedule schedule;
  schedule.open = kAllClauses;
  return schedule;
}

/// What distinguishes variants of one tile.
struct ForwardVariant {
  TileChoice tile;
  /// Slots of the K/V ring (of each ring where K and V have their own).
  int64_t ringSlots = 2;
  /// o is staged in q's only memory; where each warpgroup stages it there anyway, q has no
  /// second slot.
  bool outputOverQuery = false;
};

/// The schedule of a variant, complete, whether or not it fits: what `wanted` states
/// besides the tile, and for its open clauses what goes with that.
Schedule makeForward(const ForwardProblem &problem, const TargetInfo &target,
                     const ForwardVariant &variant, const Schedule &wanted);

} // namespace fa4

#endif // FA4_LIB_PLANNING_FORWARDSCHEDULES_H
