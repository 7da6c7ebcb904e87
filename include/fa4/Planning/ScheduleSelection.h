//===- ScheduleSelection.h - a schedule for a problem and a chip ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_PLANNING_SCHEDULESELECTION_H
#define FA4_PLANNING_SCHEDULESELECTION_H

#include "fa4/Planning/ScheduleCheck.h"

#include <optional>
#include <string>

namespace fa4 {

/// The three numbers that a user can ask for.
struct TileChoice {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t stages = 0;

  /// `tile = 128 x 64, stages = 2`, as in a schedule.
  std::string str() const;
};

struct ScheduleChoice {
  Schedule schedule;
  ScheduleUsage usage;
  /// Predicted clocks per score, and the unit that sets them.
  double clocksPerScore = 0;
  std::string boundBy;
};

/// The complete schedule of this form with the deepest K/V ring that fits, or
/// none, with the broken limit in `violation`.
std::optional<ScheduleChoice> buildForward(const ForwardProblem &problem, const TargetInfo &target,
                                           const TileChoice &tile, std::string &violation);

/// The cheapest legal schedule, or none, with the limit that the smallest one
/// breaks in `violation`.
std::optional<ScheduleChoice> selectForward(const ForwardProblem &problem, const TargetInfo &target,
                                            std::string &violation);

/// The legal choice closest to `wanted`; none if there is none at all.
std::optional<TileChoice> nearestForward(const ForwardProblem &problem, const TargetInfo &target,
                                         const TileChoice &wanted);

/// The largest head dims up to the problem's that some schedule fits; none if
/// the chip fits none.
std::optional<ForwardProblem> largestHeadDims(const ForwardProblem &problem,
                                              const TargetInfo &target);

/// Plans what a schedule leaves open as if nothing had been asked for: what it states
/// stays, and nothing is chosen that contradicts it.
void completeForward(const ForwardProblem &problem, const TargetInfo &target, Schedule &schedule);

} // namespace fa4

#endif // FA4_PLANNING_SCHEDULESELECTION_H
