//===- RegisterBudgetTest.cpp - registers follow what roles do ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Planning/RegisterBudget.h"

#include "gtest/gtest.h"

#include <map>

using namespace fa4;

namespace {

/// Budgets by role of `roles`, and that the launch has as many.
std::map<std::string, int64_t> budgetsOf(int64_t columns, int64_t warps, std::vector<Role> roles) {
  const TargetInfo &target = *lookupTarget("sm_100a");
  Schedule schedule;
  schedule.tileColumns = columns;
  schedule.roles = std::move(roles);
  budgetRegisters(target, schedule);
  std::map<std::string, int64_t> budgets;
  std::map<int64_t, int64_t> groups;
  for (const Role &role : schedule.roles) {
    budgets[role.name] = role.registers.value_or(0);
    EXPECT_EQ(*role.registers % target.registerGranule, 0) << role.name;
    for (int64_t warp = role.firstWarp; warp < role.endWarp(); ++warp) {
      groups[warp / 4] = *role.registers;
    }
  }
  int64_t sum = 0;
  for (auto [group, registers] : groups) {
    sum += registers;
  }
  EXPECT_LE(sum, launchRegisters(target, warps / 4) * warps / 4);
  return budgets;
}

Role role(std::string name, std::vector<std::string> steps, int64_t warps, int64_t replicas,
          int64_t firstWarp) {
  return Role{std::move(name), std::move(steps), warps, replicas, firstWarp, std::nullopt};
}

using Budgets = std::map<std::string, int64_t>;

TEST(RegisterBudget, TwoStagesTakeAll) {
  Budgets budgets = budgetsOf(
      128, 16,
      {role("softmax", {"softmax"}, 4, 2, 0), role("correction", {"rescale", "finish"}, 4, 1, 8),
       role("mma", {"qk", "pv"}, 1, 1, 12), role("load", {"load_q"}, 1, 1, 13)});
  EXPECT_EQ(budgets, (Budgets{{"softmax", 192}, {"correction", 80}, {"mma", 48}, {"load", 48}}));
}

TEST(RegisterBudget, WhatShortRowsLeaveGoesToAll) {
  Budgets budgets = budgetsOf(64, 16,
                              {role("softmax", {"softmax"}, 4, 2, 0),
                               role("correction", {"rescale", "finish"}, 4, 1, 8),
                               role("mma", {"qk", "pv"}, 1, 1, 12)});
  EXPECT_GT(budgets["softmax"], 128);
  EXPECT_GT(budgets["correction"], 80);
  EXPECT_EQ(budgets["mma"], 48);
}

TEST(RegisterBudget, MergedRolesGetWhatTheOtherHad) {
  Budgets budgets = budgetsOf(128, 12,
                              {role("softmax", {"softmax", "rescale", "finish"}, 4, 2, 0),
                               role("mma", {"qk", "pv"}, 1, 1, 8)});
  EXPECT_GT(budgets["softmax"], 192);
  EXPECT_LE(budgets["softmax"], 240);
}

TEST(RegisterBudget, IssuersDoWithWhatIsLeft) {
  Budgets budgets =
      budgetsOf(128, 16,
                {role("softmax", {"softmax"}, 4, 2, 0), role("correction", {"rescale"}, 4, 1, 8),
                 role("mma", {"qk", "pv"}, 4, 1, 12)});
  EXPECT_EQ(budgets["mma"], 48);
  budgets =
      budgetsOf(128, 20,
                {role("softmax", {"softmax"}, 4, 2, 0), role("correction", {"rescale"}, 4, 1, 8),
                 role("mma", {"qk"}, 4, 1, 12), role("load", {"load_q"}, 4, 1, 16)});
  EXPECT_LT(budgets["mma"], 48);
  EXPECT_EQ(budgets["softmax"], 192);
}

} // namespace
