//===- RegisterBudget.cpp - registers of each role ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The warps of a warpgroup have the same number, so budgets are those of warpgroups.
//
//===----------------------------------------------------------------------===//

#include "fa4/Planning/RegisterBudget.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <numeric>
#include <vector>

using namespace fa4;

// PTX ISA, setmaxnreg: per warpgroup of four warps.
static constexpr int64_t warpsPerGroup = 4;

// What ptxas 13.0 needs for no spill under every mask and score region: beside a row of
// scores the values of a formula; of o, pieces; an issuer's addresses and cursors.
static constexpr int64_t besideRow = 64, forPieces = 80, forIssue = 48;
// A longer row fits no budget, as the schedule's check says.
static constexpr int64_t longestRow = 128;
// More than these no such kernel took (docs/DeviceCode.md): a role of pieces, and one of
// rows beside its row.
static constexpr int64_t mostForPieces = 144, mostBesideRow = 112;

static int64_t threadsPerGroup(const TargetInfo &target) {
  return warpsPerGroup * target.threadsPerWarp;
}

int64_t fa4::launchRegisters(const TargetInfo &target, int64_t warpgroups) {
  const int64_t threads = warpgroups * threadsPerGroup(target);
  const int64_t share = std::min(target.registersPerSm / threads, target.maxRegistersPerThread);
  return static_cast<int64_t>(llvm::alignDown(share, target.registerGranule));
}

namespace {
/// Warpgroups that have the same number: those of one role's replicas, and of roles that
/// share a warpgroup.
struct Unit {
  int64_t groups = 1;
  int64_t registers = 0, most = 0;
};
} // namespace

static Unit needOf(const Role &role, int64_t columns) {
  if (role.runs("softmax")) {
    const int64_t row = std::min(columns, longestRow);
    return {1, row + besideRow, row + mostBesideRow};
  }
  if (role.runs("rescale") || role.runs("finish")) {
    return {1, forPieces, mostForPieces};
  }
  return {1, forIssue, forIssue};
}

void fa4::budgetRegisters(const TargetInfo &target, Schedule &schedule) {
  int64_t warps = 0;
  for (const Role &role : schedule.roles) {
    warps = std::max(warps, role.endWarp());
  }
  const auto numGroups = static_cast<int64_t>(llvm::divideCeil(warps, warpsPerGroup));
  if (numGroups == 0 || numGroups > target.maxThreadsPerCta / threadsPerGroup(target)) {
    return;
  }
  // By warpgroup, the first one of its unit.
  std::vector<int64_t> firsts(numGroups);
  std::iota(firsts.begin(), firsts.end(), 0);
  for (const Role &role : schedule.roles) {
    const int64_t own = role.firstWarp / warpsPerGroup;
    for (int64_t group = own + 1; group * warpsPerGroup < role.endWarp(); ++group) {
      firsts[group] = firsts[own];
    }
  }
  std::map<int64_t, Unit> units;
  for (const Role &role : schedule.roles) {
    Unit &unit = units[firsts[role.firstWarp / warpsPerGroup]];
    const Unit need = needOf(role, schedule.tileColumns);
    unit.registers = std::max(unit.registers, need.registers);
    unit.most = std::max(unit.most, std::min(need.most, target.maxRegistersPerThread));
  }
  const int64_t granule = target.registerGranule;
  int64_t left = launchRegisters(target, numGroups) * numGroups;
  int64_t issuing = 0;
  for (auto &[first, unit] : units) {
    unit.groups = llvm::count(firsts, first);
    left -= unit.groups * unit.registers;
    issuing += unit.most == forIssue ? unit.groups : 0;
  }
  if (left < 0 && issuing > 0) { // issuers do with what the others leave
    const int64_t rest = std::max<int64_t>(forIssue + left / issuing, 0);
    for (auto &[first, unit] : units) {
      if (unit.most == forIssue) {
        unit.registers = static_cast<int64_t>(llvm::alignDown(rest, granule));
      }
    }
    left = 0;
  }
  // A granule for each that wants more, and again.
  for (bool grows = true; grows;) {
    grows = false;
    for (auto &[first, unit] : units) {
      if (unit.registers + granule <= unit.most && left >= unit.groups * granule) {
        unit.registers += granule;
        left -= unit.groups * granule;
        grows = true;
      }
    }
  }
  for (Role &role : schedule.roles) {
    role.registers = units[firsts[role.firstWarp / warpsPerGroup]].registers;
  }
}
