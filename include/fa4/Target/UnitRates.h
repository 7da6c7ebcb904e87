//===- UnitRates.h - rates that only the cost model reads -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows for a chip's units from the capabilities that its target states.
// No schedule is legal or illegal by these numbers, so they are no fields of it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TARGET_UNITRATES_H
#define FA4_TARGET_UNITRATES_H

#include "fa4/Target/TargetInfo.h"

namespace fa4 {

struct UnitRates {
  /// Comparisons, minima, maxima of an SM per clock.
  double aluPerClock = 0;
  /// Each issues one instruction of a warp per clock.
  double warpSchedulers = 0;
  /// What is left of the exponential and the issue rate while the matrix unit is
  /// busy, as shares.
  double exp2BesideMma = 1;
  double issueBesideMma = 1;
  /// What one warp of a scheduler can use of that by itself, instruction after
  /// instruction.
  double warpIssueBesideMma = 1;
  /// SMs of the part that launches are predicted for.
  int64_t multiprocessors = 0;
};

UnitRates unitRates(const TargetInfo &target);

} // namespace fa4

#endif // FA4_TARGET_UNITRATES_H
