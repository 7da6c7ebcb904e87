//===- ScheduleSelectionTest.cpp - what is chosen, and that it is legal ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The choices for the known chips are pinned; over random chips whatever is
// chosen must pass the check, and what is called nearest must be buildable.
//
//===----------------------------------------------------------------------===//

#include "fa4/Planning/ScheduleSelection.h"

#include "gtest/gtest.h"

#include <limits>
#include <random>

using namespace fa4;

namespace {

ScheduleChoice selectOrDie(const ForwardProblem &problem, const TargetInfo &target) {
  std::string violation;
  std::optional<ScheduleChoice> choice = selectForward(problem, target, violation);
  EXPECT_TRUE(choice) << violation;
  return choice ? *choice : ScheduleChoice();
}

std::string tileOf(const ScheduleChoice &choice) {
  return TileChoice{choice.schedule.tileRows, choice.schedule.tileColumns, choice.schedule.stages}
      .str();
}

TEST(ScheduleSelection, Blackwell) {
  const TargetInfo &target = *lookupTarget("sm_100a");
  EXPECT_EQ(tileOf(selectOrDie({64, 64}, target)), "tile = 128 x 128, stages = 2");
  EXPECT_EQ(tileOf(selectOrDie({128, 128}, target)), "tile = 128 x 128, stages = 2");
  EXPECT_EQ(tileOf(selectOrDie({192, 128}, target)), "tile = 128 x 128, stages = 2");
  // Two accumulators of 256 columns leave none for scores.
  EXPECT_EQ(tileOf(selectOrDie({256, 256}, target)), "tile = 128 x 128, stages = 1");
}

TEST(ScheduleSelection, BlackwellRolesAndExponentials) {
  const TargetInfo &target = *lookupTarget("sm_100a");
  const Schedule causal = selectOrDie({128, 128, 2, true}, target).schedule;
  EXPECT_EQ(causal.roles[0].registers, 192);
  EXPECT_EQ(causal.roles[1].registers, 80);
  EXPECT_EQ(causal.roles[2].registers, 48);
  EXPECT_EQ(causal.workOrder, WorkOrder::LongestFirst);
  EXPECT_EQ(causal.splitP, (std::vector<int64_t>{96, 32}));
  EXPECT_TRUE(causal.exp2 == (Exp2Share{3, 16, 4, 1, 2}));
  const Schedule full = selectOrDie({64, 64}, target).schedule;
  EXPECT_EQ(full.workOrder, WorkOrder::InOrder);
  EXPECT_EQ(full.roles[0].registers, 192);
  // Twice the exponential rate: nothing to relieve at this head dim.
  EXPECT_FALSE(selectOrDie({128, 128}, *lookupTarget("sm_103a")).schedule.exp2);
  EXPECT_FALSE(selectOrDie({256, 256}, target).schedule.exp2);
}

TEST(ScheduleSelection, Hopper) {
  const TargetInfo &target = *lookupTarget("sm_90a");
  const Schedule d128 = selectOrDie({128, 128}, target).schedule;
  EXPECT_EQ(tileOf(selectOrDie({128, 128}, target)), "tile = 64 x 80, stages = 3");
  EXPECT_EQ(d128.findRoleOf("qk")->registers, 160);
  EXPECT_EQ(d128.findRoleOf("load_q")->registers, 32);
  EXPECT_FALSE(d128.exp2);
  // Where exponentials take longest, many warpgroups with small blocks.
  EXPECT_EQ(tileOf(selectOrDie({64, 64}, target)), "tile = 64 x 64, stages = 4");
  EXPECT_EQ(selectOrDie({64, 64}, target).schedule.findRoleOf("qk")->registers, 112);
  EXPECT_EQ(tileOf(selectOrDie({96, 96}, target)), "tile = 64 x 96, stages = 3");
}

// A machine has said that the rule is wrong at head dim 256; of a chip with another number,
// or of other head dims, it has said nothing.
TEST(ScheduleSelection, MeasuredTilesComeFirst) {
  TargetInfo target = *lookupTarget("sm_90a");
  ForwardProblem problem = {256, 256};
  for (bool uneven : {false, true}) {
    problem.unevenTiles = uneven;
    EXPECT_EQ(tileOf(selectOrDie(problem, target)), "tile = 64 x 64, stages = 2");
  }
  EXPECT_EQ(tileOf(selectOrDie({256, 192}, target)), "tile = 64 x 80, stages = 2");
  target.namedBarriers -= 1;
  EXPECT_EQ(tileOf(selectOrDie(problem, target)), "tile = 64 x 80, stages = 2");
}

// S6: no pair of head dims is without a schedule on a known chip.
TEST(ScheduleSelection, EveryHeadDim) {
  for (llvm::StringRef chip : knownTargets()) {
    for (int64_t queryKey = 8; queryKey <= 256; queryKey += 8) {
      for (int64_t value : {int64_t(8), queryKey, int64_t(256)}) {
        std::string violation;
        EXPECT_TRUE(selectForward({queryKey, value}, *lookupTarget(chip), violation))
            << chip.str() << " " << queryKey << "/" << value << ": " << violation;
      }
    }
  }
}

TEST(ScheduleSelection, AChipWithHalfOfEverything) {
  TargetInfo target = *lookupTarget("sm_100a");
  target.tmemColumns = 256;
  target.smemBytesPerCta = 102400;
  const ScheduleChoice choice = selectOrDie({128, 128}, target);
  EXPECT_EQ(tileOf(choice), "tile = 128 x 128, stages = 1");
  EXPECT_LE(choice.usage.tmemColumns, 256);
  EXPECT_LE(choice.usage.smemBytes, 102400);
  EXPECT_EQ(choice.schedule.findHome("finish", 0)->allocation, "q_mem");
}

TEST(ScheduleSelection, NothingFits) {
  TargetInfo target = *lookupTarget("sm_100a");
  target.tmemColumns = 64;
  std::string violation;
  EXPECT_FALSE(selectForward({128, 128}, target, violation));
  EXPECT_EQ(violation, "expected tensor memory to be at most 64 columns, but got 144 (1 x 128 "
                       "@o_mem + 1 x 16 @sp_mem)");
  std::optional<ForwardProblem> smaller = largestHeadDims({128, 128}, target);
  ASSERT_TRUE(smaller);
  EXPECT_EQ(smaller->valueDim, 48);
  EXPECT_FALSE(nearestForward({128, 128}, target, {128, 128, 2}));
}

TEST(ScheduleSelection, Nearest) {
  const TargetInfo &target = *lookupTarget("sm_100a");
  std::optional<TileChoice> nearest = nearestForward({192, 192}, target, {128, 128, 2});
  ASSERT_TRUE(nearest);
  EXPECT_EQ(nearest->str(), "tile = 128 x 64, stages = 2");
}

TEST(ScheduleSelection, CompletionKeepsWhatIsStated) {
  const TargetInfo &target = *lookupTarget("sm_100a");
  Schedule schedule;
  schedule.tileRows = 128;
  schedule.tileColumns = 64;
  schedule.stages = 2;
  schedule.roles = {Role{"all", {"*"}, 4, 1, 0, std::nullopt}};
  completeForward({128, 128}, target, schedule);
  EXPECT_EQ(schedule.roles.size(), 1u);
  EXPECT_EQ(schedule.order.size(), 10u);
  EXPECT_TRUE(schedule.splitP.empty());
  EXPECT_FALSE(schedule.rescaleLog2Threshold);
  EXPECT_EQ(schedule.findHome("softmax", 0)->column, 32);
  // One role needs no factor from another.
  EXPECT_FALSE(schedule.findHome("softmax", 1));
  EXPECT_TRUE(schedule.via.empty());
}

/// A wish for a tile, everything else open.
Schedule wishFor(const Schedule &tile) {
  Schedule wish;
  wish.tileRows = tile.tileRows;
  wish.tileColumns = tile.tileColumns;
  wish.open = kAllClauses;
  return wish;
}

void state(Schedule &wish, Clause clause) { wish.open &= ~static_cast<uint32_t>(clause); }

TEST(ScheduleSelection, AWishForTheChosenTileIsNoWish) {
  for (const char *chip : {"sm_100a", "sm_90a"}) {
    const TargetInfo &target = *lookupTarget(chip);
    for (int64_t dim : {64, 96, 128, 256}) {
      for (bool uneven : {false, true}) {
        const ForwardProblem problem{dim, dim, 2, uneven};
        const Schedule chosen = selectOrDie(problem, target).schedule;
        Schedule wish = wishFor(chosen);
        completeForward(problem, target, wish);
        EXPECT_TRUE(wish == chosen) << chip << " " << dim;
        // Asking for what would be chosen anyway, or for another scheduler, changes no more, but
        // that without tensor memory a resident CTA has two slots for q, if they fit.
        wish = wishFor(chosen);
        wish.work = WorkKind::StaticPersistent;
        state(wish, Clause::Work);
        completeForward(problem, target, wish);
        Schedule expected = chosen;
        expected.work = WorkKind::StaticPersistent;
        expected.workOrder = WorkOrder::InOrder;
        if (!target.hasTensorMemory()) {
          EXPECT_EQ(wish.findHome("load_q", std::nullopt)->slots, dim == 256 ? 1 : 2);
          expected.homes = wish.homes;
        }
        EXPECT_TRUE(wish == expected) << chip << " " << dim;
      }
    }
  }
}

TEST(ScheduleSelection, ShortTilesShareAResidentCta) {
  const TargetInfo &target = *lookupTarget("sm_90a");
  auto workOf = [&](std::optional<int64_t> span) {
    ForwardProblem problem = {64, 64, 2, /*unevenTiles=*/true};
    problem.span = span;
    const Schedule plan = selectOrDie(problem, target).schedule;
    EXPECT_EQ(plan.workOrder == WorkOrder::InOrder, plan.work == WorkKind::StaticPersistent);
    return plan.work;
  };
  EXPECT_EQ(workOf(std::nullopt), WorkKind::OnePerCluster); // causal alone
  EXPECT_EQ(workOf(0), WorkKind::StaticPersistent);
  EXPECT_EQ(workOf(2048), WorkKind::StaticPersistent);
  EXPECT_EQ(workOf(4096), WorkKind::OnePerCluster);
  EXPECT_EQ(workOf(std::numeric_limits<int64_t>::max()), WorkKind::OnePerCluster);
}

TEST(ScheduleSelection, NothingIsPlannedAgainstAWish) {
  const TargetInfo &target = *lookupTarget("sm_100a");
  const ForwardProblem problem{128, 128};
  const Schedule chosen = selectOrDie(problem, target).schedule;
  Schedule whole = wishFor(chosen); // P in one part
  state(whole, Clause::SplitP);
  completeForward(problem, target, whole);
  EXPECT_TRUE(whole.splitP.empty());
  EXPECT_TRUE(whole.grain.empty());
  EXPECT_EQ(whole.earlyAcquire, chosen.earlyAcquire);
  Schedule merged = wishFor(chosen); // softmax corrects, too
  merged.roles = chosen.roles;
  merged.roles[0].steps = {"softmax", "rescale", "finish"};
  merged.roles.erase(merged.roles.begin() + 1);
  state(merged, Clause::Roles);
  completeForward(problem, target, merged);
  EXPECT_EQ(merged.stages, 2);
  EXPECT_TRUE(merged.via.empty() && merged.earlyAcquire.empty() && merged.stagger.empty());
  EXPECT_FALSE(merged.grain.empty());
  // Two slots, so no named barrier; beside a ring of eight they fit.
  const Schedule roomy = selectOrDie({64, 64}, target).schedule;
  Schedule deep = wishFor(roomy);
  deep.homes = roomy.homes;
  for (Home &home : deep.homes) {
    home.slots = home.name == "alpha" ? 2 : home.name == "k" ? 8 : home.slots;
  }
  state(deep, Clause::Homes);
  completeForward({64, 64}, target, deep);
  EXPECT_TRUE(deep.via.empty());
  EXPECT_EQ(deep.stagger, roomy.stagger);
}

TEST(ScheduleSelection, RandomChips) {
  std::mt19937 random(20);
  auto pick = [&](std::initializer_list<int64_t> values) {
    return *(values.begin() + random() % values.size());
  };
  int found = 0;
  for (int trial = 0; trial < 150; ++trial) {
    TargetInfo target = *lookupTarget(random() % 2 ? "sm_100a" : "sm_90a");
    if (target.hasTensorMemory()) {
      target.tmemColumns = pick({64, 128, 256, 512, 1024});
      target.mmaIssueOrder = random() % 2;
    }
    target.smemBytesPerCta = pick({32768, 65536, 102400, 166912, 232448, 400000});
    target.registersPerSm = pick({32768, 65536, 131072});
    target.exp2PerClock = pick({4, 16, 64});
    target.mmaFlopsPerClock = pick({1024, 4096, 8192, 16384});
    const ForwardProblem problem{8 * static_cast<int64_t>(1 + random() % 32),
                                 8 * static_cast<int64_t>(1 + random() % 32), 2, random() % 2 == 0};
    ASSERT_EQ(checkTarget(target), "");
    std::string violation;
    std::optional<ScheduleChoice> choice = selectForward(problem, target, violation);
    std::optional<TileChoice> nearest = nearestForward(problem, target, {128, 128, 2});
    EXPECT_EQ(choice.has_value(), nearest.has_value());
    EXPECT_EQ(choice.has_value(), violation.empty());
    if (!choice) {
      continue;
    }
    ++found;
    ScheduleUsage usage;
    EXPECT_EQ(checkSchedule(problem, choice->schedule, target, usage), "");
    EXPECT_TRUE(buildForward(problem, target, *nearest, violation));
  }
  EXPECT_GT(found, 50);
}

} // namespace
