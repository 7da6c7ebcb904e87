//===- ScheduleEdits.h - plans that nobody wrote ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random legal plans for a forward kernel, and plans that break one limit each.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_DRIVER_MATRIX_SCHEDULEEDITS_H
#define FA4_TEST_UNIT_DRIVER_MATRIX_SCHEDULEEDITS_H

#include "fa4/Planning/ScheduleCheck.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fa4::matrix {

/// Plan number `number` under `seed`: legal for `problem` on `target`.
Schedule drawSchedule(const ForwardProblem &problem, const TargetInfo &target, uint64_t seed,
                      uint64_t number);

/// What was drawn, in a few words.
std::string describe(const Schedule &schedule);

/// A plan with one thing wrong, and a part of the error that has to say so.
struct IllegalSchedule {
  std::string what;
  Schedule schedule;
  std::string complaint;
};
std::vector<IllegalSchedule> makeIllegalSchedules(const ForwardProblem &problem,
                                                  const TargetInfo &target);

} // namespace fa4::matrix

#endif // FA4_TEST_UNIT_DRIVER_MATRIX_SCHEDULEEDITS_H
