//===- CasePlan.h - the schedule of a case ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_DRIVER_MATRIX_CASEPLAN_H
#define FA4_TEST_UNIT_DRIVER_MATRIX_CASEPLAN_H

#include "Case.h"

#include "fa4/Dialect/FA4/IR/Schedule.h"
#include "fa4/Driver/HostArray.h"
#include "fa4/Target/TargetInfo.h"

namespace fa4::matrix {

/// Puts the case's scheduler into a plan.
void stateScheduler(const Case &point, Schedule &plan);

/// Lets two CTAs compute each tile of a plan in tensor memory.
void pairCtas(Schedule &plan);

/// The plan that was chosen, with the case's scheduler, share of exp2 and lag, and with
/// `pairs` two CTAs to a tile. A thread has whole rows in tensor memory; of a fragment it
/// has every fourth pair of columns, so that there the share is one of groups of 8.
Schedule editPlan(const Case &point, const TargetInfo &chip, bool pairs, Schedule plan);

/// Processors that do not divide the tiles of result `o` evenly among themselves, but so
/// few that a resident CTA has several.
int64_t countProcessors(const Case &point, const Schedule &plan, const driver::HostArray &o);

} // namespace fa4::matrix

#endif // FA4_TEST_UNIT_DRIVER_MATRIX_CASEPLAN_H
