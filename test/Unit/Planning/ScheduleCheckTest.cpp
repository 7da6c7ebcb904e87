//===- ScheduleCheckTest.cpp - each limit of a chip, broken by one --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A good schedule is bent until one limit breaks, once for each limit, so that
// every number of the target that the check reads is seen to matter.
//
//===----------------------------------------------------------------------===//

#include "fa4/Planning/ScheduleCheck.h"

#include "fa4/Planning/ScheduleSelection.h"
#include "gtest/gtest.h"

using namespace fa4;

namespace {

const TargetInfo &blackwell() { return *lookupTarget("sm_100a"); }
const TargetInfo &hopper() { return *lookupTarget("sm_90a"); }

Schedule buildOrDie(const ForwardProblem &problem, const TargetInfo &target,
                    const TileChoice &tile) {
  std::string violation;
  std::optional<ScheduleChoice> choice = buildForward(problem, target, tile, violation);
  EXPECT_TRUE(choice) << violation;
  return choice ? choice->schedule : Schedule();
}

std::string check(const ForwardProblem &problem, const Schedule &schedule,
                  const TargetInfo &target) {
  ScheduleUsage usage;
  return checkSchedule(problem, schedule, target, usage);
}

// FlashAttention-4's forward map at head dim 128: all 512 columns (S 0-255, O
// 256-511), three K/V slots, 512 threads with every register of the SM.
TEST(ScheduleCheck, Blackwell128UsesTheKnownMap) {
  const ForwardProblem problem{128, 128, 2, true};
  Schedule schedule = buildOrDie(problem, blackwell(), {128, 128, 2});
  ScheduleUsage usage;
  EXPECT_EQ(checkSchedule(problem, schedule, blackwell(), usage), "");
  EXPECT_EQ(usage.tmemColumns, 512);
  EXPECT_EQ(usage.threads, 512);
  EXPECT_EQ(usage.registers, 65536);
  EXPECT_EQ(schedule.findHome("load_k", std::nullopt)->slots, 3);
  EXPECT_EQ(schedule.findHome("finish", 0)->allocation, "out_mem");
  EXPECT_EQ(schedule.findHome("softmax", 0)->column, 64);
  EXPECT_EQ(schedule.findHome("softmax", 1)->column, 112);
  // 64 K of Q, 96 K of K and V, 64 K of O, 2 K of statistics, then barriers.
  EXPECT_EQ(usage.smemBytes, 231424 + 16 * (2 + 3 + 2 + 2 + 2 * 4));
}

TEST(ScheduleCheck, TensorMemoryColumns) {
  const ForwardProblem problem{128, 128};
  Schedule schedule = buildOrDie(problem, blackwell(), {128, 128, 2});
  TargetInfo target = blackwell();
  target.tmemColumns = 256;
  EXPECT_EQ(check(problem, schedule, target),
            "expected tensor memory to be at most 256 columns, but got 512 (2 x 128 @o_mem + 2 x "
            "128 @sp_mem)");
}

TEST(ScheduleCheck, SharedMemoryBytes) {
  const ForwardProblem problem{128, 128};
  Schedule schedule = buildOrDie(problem, blackwell(), {128, 128, 2});
  TargetInfo target = blackwell();
  target.smemBytesPerCta = 231424; // all but the barriers
  EXPECT_EQ(check(problem, schedule, target),
            "expected shared memory to be at most 231424 bytes, but got 231696 (3 x 32768 @kv_mem "
            "+ 2 x 32768 @out_mem + 2 x 32768 @q_mem + 2 x 1024 @stat_mem + barriers)");
}

TEST(ScheduleCheck, SharedMemoryIsAlignedToTheSwizzle) {
  const ForwardProblem problem{8, 8}; // a row of 16 padded elements
  Schedule schedule = buildOrDie(problem, blackwell(), {128, 16, 1});
  ScheduleUsage before, after;
  ASSERT_EQ(checkSchedule(problem, schedule, blackwell(), before), "");
  TargetInfo target = blackwell();
  target.smemSwizzleBytes = 2048;
  ASSERT_EQ(checkSchedule(problem, schedule, target, after), "");
  EXPECT_GT(after.smemBytes, before.smemBytes);
}

TEST(ScheduleCheck, MatrixRowsAndColumns) {
  const ForwardProblem problem{128, 128};
  Schedule schedule = buildOrDie(problem, blackwell(), {128, 128, 2});
  EXPECT_EQ(check(problem, schedule, hopper()),
            "expected rows of one matrix instruction to be one of 64, but got 128");
  TargetInfo target = blackwell();
  target.mmaColumnStep = 48;
  EXPECT_EQ(check(problem, schedule, target),
            "expected tile columns to be a multiple of 48 up to 256, but got 128");
  target = blackwell();
  target.mmaMaxColumns = 64;
  EXPECT_EQ(check(problem, schedule, target),
            "expected tile columns to be a multiple of 16 up to 64, but got 128");
  target = blackwell();
  target.mmaKBytes = 128;
  EXPECT_EQ(check(problem, schedule, target),
            "expected the keys of one part of P to be a multiple of 64, but got 96");
}

TEST(ScheduleCheck, PairsNeedAPairUnit) {
  const ForwardProblem problem{128, 128};
  Schedule schedule = buildOrDie(problem, hopper(), {64, 80, 2});
  schedule.ctas = 2;
  EXPECT_EQ(check(problem, schedule, hopper()),
            "expected ctas to be 1 on a chip without cta_pairs, but got 2");
}

TEST(ScheduleCheck, BackwardIsNotForward) {
  const ForwardProblem problem{128, 128};
  Schedule schedule = buildOrDie(problem, blackwell(), {128, 128, 2});
  schedule.direction = Direction::Backward;
  EXPECT_EQ(check(problem, schedule, blackwell()),
            "expected the schedule of a forward op to be forward, but got backward");
}

TEST(ScheduleCheck, Homes) {
  const ForwardProblem problem{64, 64};
  Schedule schedule = buildOrDie(problem, hopper(), {64, 128, 2});
  Schedule bent = schedule;
  bent.homes.push_back(Home{"qv", std::nullopt, HomeSpace::Registers, "", 1, std::nullopt});
  EXPECT_EQ(check(problem, bent, hopper()),
            "expected homes to be of steps with results, but got 'qv'");
  bent = schedule;
  bent.homes[3] = Home{"qk", std::nullopt, HomeSpace::Tmem, "s_mem", 1, std::nullopt};
  EXPECT_EQ(check(problem, bent, hopper()),
            "expected the home of 'qk' to be smem or registers on a chip without tensor memory, "
            "but got tmem");
  bent = buildOrDie(problem, blackwell(), {128, 128, 2});
  bent.homes[0].allocation = "o_mem";
  EXPECT_EQ(check(problem, bent, blackwell()),
            "expected homes in @o_mem to be in one memory, but got smem and tmem");
}

TEST(ScheduleCheck, NamedBarriersServeOneSlot) {
  const ForwardProblem problem{64, 64};
  Schedule schedule = buildOrDie(problem, blackwell(), {128, 128, 2});
  for (Home &home : schedule.homes) {
    // The ring leaves room: the planner fills the memory with it.
    home.slots = home.name == "alpha" ? 2 : home.allocation == "kv_mem" ? 3 : home.slots;
  }
  EXPECT_EQ(check(problem, schedule, blackwell()),
            "expected slots of 'alpha' to be 1 with a named barrier in via, but got 2");
  schedule.via.clear();
  EXPECT_EQ(check(problem, schedule, blackwell()), "");
}

// The form that overlaps P with S leans on an order that the ISA does not
// promise; a chip that denies it makes the schedule an error.
TEST(ScheduleCheck, IssueOrder) {
  const ForwardProblem problem{64, 64};
  Schedule schedule = buildOrDie(problem, blackwell(), {128, 128, 2});
  TargetInfo target = blackwell();
  target.mmaIssueOrder = false;
  EXPECT_EQ(check(problem, schedule, target),
            "expected the home of P to be apart from qk's on a chip without mma_issue_order, but "
            "got both in @sp_mem");
  Schedule apart = buildOrDie(problem, target, {128, 128, 2});
  EXPECT_EQ(check(problem, apart, target), "");
  EXPECT_NE(apart.findHome("softmax", 0)->allocation,
            apart.findHome("qk", std::nullopt)->allocation);
}

TEST(ScheduleCheck, RolesAndRegisters) {
  const ForwardProblem problem{128, 128};
  Schedule schedule = buildOrDie(problem, blackwell(), {128, 128, 2});
  Schedule bent = schedule;
  bent.roles[4].registers = 64;
  EXPECT_EQ(check(problem, bent, blackwell()),
            "expected regs of roles 'store' and 'load' to be equal, since they share a warpgroup, "
            "but got 48 and 64");
  bent = schedule;
  bent.roles[1].registers = 84;
  EXPECT_EQ(check(problem, bent, blackwell()),
            "expected regs of role 'correction' to be a multiple of 8 from 24 to 256, but got 84");
  bent = schedule;
  bent.roles[1].registers = 88;
  EXPECT_EQ(check(problem, bent, blackwell()),
            "expected registers of a CTA to be at most 65536, but got 66560");
  bent = schedule;
  bent.roles[0].firstWarp = 16;
  bent.roles[0].replicas = 5;
  EXPECT_EQ(check(problem, bent, blackwell()),
            "expected threads of a CTA to be at most 1024, but got 1152");
}

// Three consumers of 160 registers hold 80 keys at head dim 128 and no more:
// 96 spilled when it was measured, and one spill serialises all wgmma.
TEST(ScheduleCheck, FragmentsInRegisters) {
  const ForwardProblem problem{128, 128};
  std::string violation;
  EXPECT_TRUE(buildForward(problem, hopper(), {64, 80, 3}, violation)) << violation;
  EXPECT_FALSE(buildForward(problem, hopper(), {64, 96, 3}, violation));
  EXPECT_EQ(violation,
            "expected registers of role 'consumer' to be at least 165 for scores, P and o, but "
            "got 160");
  // A region on scores, and what it reads, want registers of their own.
  ForwardProblem edited = problem;
  edited.scoreEdits = 1;
  EXPECT_FALSE(buildForward(edited, hopper(), {64, 80, 3}, violation));
  EXPECT_TRUE(buildForward(edited, hopper(), {64, 32, 3}, violation)) << violation;
  edited.readsPerScore = 2;
  EXPECT_FALSE(buildForward(edited, hopper(), {64, 32, 3}, violation));
}

TEST(ScheduleCheck, ScoresOfARowInRegisters) {
  const ForwardProblem problem{64, 64};
  std::string violation;
  EXPECT_FALSE(buildForward(problem, blackwell(), {128, 256, 1}, violation));
  EXPECT_EQ(violation, "expected registers of role 'softmax' to be at least 282 for a row of "
                       "scores, but got 240");
}

} // namespace
