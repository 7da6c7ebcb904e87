//===- ScheduleCheck.h - does a schedule fit a chip -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one judge of schedules against targets, for those that the compiler
// selects and for those that a user asks for. Plain data in, a verdict out.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_PLANNING_SCHEDULECHECK_H
#define FA4_PLANNING_SCHEDULECHECK_H

#include "fa4/Dialect/FA4/IR/Schedule.h"
#include "fa4/Target/TargetInfo.h"

#include <cstdint>
#include <optional>
#include <string>

namespace fa4 {

/// What of an attention decides whether a schedule fits, and which is best.
struct ForwardProblem {
  int64_t queryKeyDim = 0;
  int64_t valueDim = 0;
  int64_t elementBytes = 2;
  /// Masks make tiles of different length.
  bool unevenTiles = false;
  /// Keys that a row sees at most, where masks bound both sides of it.
  std::optional<int64_t> span = std::nullopt;
  /// Regions that compute on each score before the softmax.
  int64_t scoreEdits = 0;
  /// Kinds of things that are read from memory for each score.
  int64_t readsPerScore = 0;
};

/// What a kernel under a schedule takes of the chip.
struct ScheduleUsage {
  int64_t smemBytes = 0;
  int64_t tmemColumns = 0;
  int64_t threads = 0;
  int64_t registers = 0;
};

/// The first limit that `schedule` breaks, worded with both numbers; empty if it
/// fits. `usage` holds what was counted until then.
std::string checkSchedule(const ForwardProblem &problem, const Schedule &schedule,
                          const TargetInfo &target, ScheduleUsage &usage);

} // namespace fa4

#endif // FA4_PLANNING_SCHEDULECHECK_H
