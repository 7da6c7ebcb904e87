//===- RegisterBudget.h - registers of each role ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roles trade the registers of a launch, warpgroup by warpgroup. Where scores are in
// tensor memory, what a role needs follows from its steps and the columns of a block;
// what no role needs goes to those that hold rows, so that no plan spills while
// registers lie idle.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_PLANNING_REGISTERBUDGET_H
#define FA4_PLANNING_REGISTERBUDGET_H

#include "fa4/Dialect/FA4/IR/Schedule.h"
#include "fa4/Target/TargetInfo.h"

namespace fa4 {

/// Registers per thread of a launch of `warpgroups`, the pool that roles redistribute.
int64_t launchRegisters(const TargetInfo &target, int64_t warpgroups);

/// Gives every role of `schedule` registers, whatever they had. A launch of too many
/// threads is left as it is, and one of too few registers gets too many: the schedule's
/// check refuses both.
void budgetRegisters(const TargetInfo &target, Schedule &schedule);

} // namespace fa4

#endif // FA4_PLANNING_REGISTERBUDGET_H
