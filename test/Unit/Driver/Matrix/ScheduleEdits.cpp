//===- ScheduleEdits.cpp - plans that nobody wrote ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every choice is independent of the others. Combinations that the planner's check
// refuses are drawn again; what it accepts has to compile.
//
//===----------------------------------------------------------------------===//

#include "ScheduleEdits.h"

#include "fa4/Planning/RegisterBudget.h"
#include "fa4/Planning/ScheduleSelection.h"
#include "llvm/ADT/STLExtras.h"

#include <random>

namespace fa4::matrix {

namespace {
class Drawer {
public:
  Drawer(const ForwardProblem &problem, const TargetInfo &target, uint64_t seed)
      : problem(problem), target(target), random(seed) {}

  Schedule draw() {
    while (true) {
      bool onTmem = target.hasTensorMemory();
      Schedule plan = onTmem ? drawShape() : drawRegisterShape();
      completeForward(problem, target, plan);
      drawRing(plan);
      if (onTmem) {
        drawRoles(plan);
        drawStatistics(plan);
      } else {
        drawTurn(plan);
        drawGrain(plan);
      }
      ScheduleUsage usage;
      if (checkSchedule(problem, plan, target, usage).empty()) {
        return plan;
      }
    }
  }

private:
  template <typename T>
  T pick(std::initializer_list<T> choices) {
    return *(choices.begin() + random() % choices.size());
  }
  bool flip() { return random() % 2 == 0; }

  Schedule drawShape();
  /// Also cluster launch control where the chip has none: then the check refuses it.
  void drawScheduler(Schedule &plan) {
    plan.work = pick({WorkKind::StaticPersistent, WorkKind::OnePerCluster, WorkKind::Dynamic});
    plan.workOrder = pick({WorkOrder::InOrder, WorkOrder::LongestFirst});
  }
  void drawRing(Schedule &plan);
  void drawRoles(Schedule &plan);
  void drawStatistics(Schedule &plan);
  /// Where products are in registers: warpgroups of 64 rows, with or without the next
  /// block's scores before this block's P V.
  Schedule drawRegisterShape();
  void drawTurn(Schedule &plan);
  void drawGrain(Schedule &plan);

  const ForwardProblem &problem;
  const TargetInfo &target;
  std::mt19937_64 random;
};
} // namespace

Schedule Drawer::drawShape() {
  Schedule plan;
  plan.tileRows = 128;
  plan.tileColumns = pick<int64_t>({64, 128});
  plan.stages = pick<int64_t>({1, 2});
  plan.ctas = target.ctaPairs ? pick<int64_t>({1, 2}) : 1;
  drawScheduler(plan);
  int64_t quarter = plan.tileColumns / 4;
  plan.splitP = pick<std::vector<int64_t>>(
      {{}, {3 * quarter, quarter}, {2 * quarter, 2 * quarter}, {quarter, 3 * quarter}});
  plan.rescaleLog2Threshold = pick<std::optional<double>>({std::nullopt, 8.0});
  int64_t lastChunk = plan.tileColumns / 32 - 1;
  plan.exp2 =
      pick<std::optional<Exp2Share>>({std::nullopt, Exp2Share{3, 16, 4, 0, lastChunk},
                                      Exp2Share{3, 16, 2, 1, lastChunk}, Exp2Share{3, 8, 4, 0, 0}});
  return plan;
}

void Drawer::drawRing(Schedule &plan) {
  int64_t depth = pick<int64_t>({2, 3, 4});
  for (Home &home : plan.homes) {
    if (home.step == "load_k") {
      home.slots = depth;
    } else if (home.step == "load_v" && !target.hasTensorMemory()) {
      home.slots = pick<int64_t>({1, 2, 3});
    }
  }
}

Schedule Drawer::drawRegisterShape() {
  Schedule plan;
  plan.tileRows = 64;
  plan.tileColumns = pick<int64_t>({32, 48, 64, 80, 96, 112, 128, 176, 192});
  plan.stages = pick<int64_t>({1, 2, 3, 4});
  drawScheduler(plan);
  plan.rescaleLog2Threshold = pick<std::optional<double>>({std::nullopt, 8.0});
  if (flip()) {
    return plan; // overlapped, as the planner has it
  }
  for (const char *step : {"load_k", "load_v"}) {
    plan.order.push_back({{step, std::nullopt}, 0});
  }
  for (int64_t stage = 0; stage < plan.stages; ++stage) {
    for (const char *step : {"qk", "softmax", "rescale", "pv"}) {
      plan.order.push_back({{step, stage}, 0});
    }
  }
  return plan;
}

void Drawer::drawTurn(Schedule &plan) {
  if (plan.stages > 1 && flip()) {
    plan.turn = flip() ? std::vector<std::string>{"qk", "pv"} : std::vector<std::string>{"qk"};
  }
}

void Drawer::drawGrain(Schedule &plan) {
  for (const char *ring : {"k", "v"}) {
    if (flip()) {
      plan.grain.push_back(
          {ring, ChannelHalf::Empty, pick({ArrivalGrain::Warp, ArrivalGrain::Thread})});
    }
  }
  if (flip()) {
    plan.grain.push_back({"q", ChannelHalf::Empty, ArrivalGrain::Lane});
  }
}

/// The role with that name, of which there is one.
static Role &roleNamed(Schedule &plan, llvm::StringRef name) {
  return *llvm::find_if(plan.roles, [&](const Role &role) { return role.name == name; });
}

static void dropRole(Schedule &plan, llvm::StringRef name) {
  llvm::erase_if(plan.roles, [&](const Role &role) { return role.name == name; });
}

void Drawer::drawRoles(Schedule &plan) {
  std::string finisher = "correction";
  if (flip()) { // correction merged into softmax: the factor stays in registers
    finisher = "softmax";
    roleNamed(plan, "softmax").steps = {"softmax", "rescale", "finish"};
    // The roles behind it take its warps: an empty warpgroup keeps its registers.
    Role gone = roleNamed(plan, "correction");
    dropRole(plan, "correction");
    for (Role &role : plan.roles) {
      role.firstWarp -= role.firstWarp > gone.firstWarp ? gone.warps : 0;
    }
    llvm::erase_if(plan.homes, [](const Home &home) { return home.name == "alpha"; });
  }
  if (flip()) { // no store role
    roleNamed(plan, finisher).steps.emplace_back("store");
    dropRole(plan, "store");
  }
  budgetRegisters(target, plan);
}

void Drawer::drawStatistics(Schedule &plan) {
  const char *lastPart = plan.splitP.empty() ? "p" : "pb";
  if (flip()) {
    plan.grain = {GrainEntry{lastPart, ChannelHalf::Full, ArrivalGrain::Warp}};
  }
  auto alpha = llvm::find_if(plan.homes, [](const Home &home) { return home.name == "alpha"; });
  if (alpha == plan.homes.end()) {
    return;
  }
  alpha->slots = pick<int64_t>({1, 2});
  if (alpha->slots == 1 && flip()) { // a named barrier has one slot
    plan.via = {ViaEntry{"alpha", ChannelHalf::Full, /*perWarp=*/true}};
  }
  if (flip()) {
    plan.earlyAcquire = {"alpha"};
    if (plan.stages > 1 && flip()) {
      plan.stagger = {"alpha"};
    }
  }
}

Schedule drawSchedule(const ForwardProblem &problem, const TargetInfo &target, uint64_t seed,
                      uint64_t number) {
  // Neighbouring seeds of the engine give unrelated sequences.
  constexpr uint64_t stride = 1000003;
  return Drawer(problem, target, seed * stride + number).draw();
}

std::string describe(const Schedule &plan) {
  std::string text = "tile " + std::to_string(plan.tileRows) + " x " +
                     std::to_string(plan.tileColumns) + ", stages " + std::to_string(plan.stages) +
                     (plan.ctas == 2 ? ", pair" : "") +
                     (plan.work == WorkKind::StaticPersistent ? ", persistent"
                      : plan.work == WorkKind::Dynamic        ? ", drawn"
                                                              : ", one per tile") +
                     (plan.workOrder == WorkOrder::InOrder ? "" : ", longest first") + ", P";
  for (int64_t part : plan.splitP) {
    text += " " + std::to_string(part);
  }
  text += plan.splitP.empty() ? " whole" : "";
  for (const Home &home : plan.homes) {
    if (home.step == "load_k") {
      text += ", ring " + std::to_string(home.slots);
    } else if (home.step == "load_v" && home.slots != 1) {
      text += " and " + std::to_string(home.slots);
    } else if (home.name == "alpha") {
      text += ", statistics " + std::to_string(home.slots);
    }
  }
  text += ", roles";
  for (const Role &role : plan.roles) {
    text += " " + role.name;
  }
  if (plan.exp2) {
    text += ", exp2 " + std::to_string(plan.exp2->last) + " of " +
            std::to_string(plan.exp2->period) + " in chunks " +
            std::to_string(plan.exp2->firstChunk) + " to " + std::to_string(plan.exp2->lastChunk);
  }
  for (const std::string &step : plan.turn) {
    text += (&step == &plan.turn.front() ? ", turn " : " ") + step;
  }
  text += plan.maxPipelineStage() == 0 ? ", in order of need" : "";
  text += plan.rescaleLog2Threshold ? ", lag" : "";
  text += plan.grain.empty() ? "" : ", grain";
  text += plan.via.empty() ? "" : ", named";
  text += plan.earlyAcquire.empty() ? "" : ", early";
  text += plan.stagger.empty() ? "" : ", stagger";
  return text;
}

namespace {
/// A good plan, and edits of it.
struct IllegalList {
  IllegalList(const ForwardProblem &problem, const TargetInfo &target, int64_t rows) {
    good.tileRows = rows;
    good.tileColumns = 128;
    good.stages = 2;
    completeForward(problem, target, good);
  }

  template <typename Edit>
  void add(const char *what, const char *complaint, Edit edit) {
    Schedule plan = good;
    edit(plan);
    list.push_back({what, std::move(plan), complaint});
  }

  Schedule good;
  std::vector<IllegalSchedule> list;
};
} // namespace

static std::vector<IllegalSchedule> makeIllegalOnRegisters(const ForwardProblem &problem,
                                                           const TargetInfo &target) {
  IllegalList illegal(problem, target, 64);
  illegal.add("a ring of forty slots", "shared memory to be at most", [](Schedule &plan) {
    for (Home &home : plan.homes) {
      home.slots = home.step == "load_k" ? 40 : home.slots;
    }
  });
  illegal.add("rows that no product has", "rows of one matrix instruction to be one of",
              [](Schedule &plan) { plan.tileRows = 96; });
  illegal.add("tiles by cluster launch control", "on a chip without cluster_launch_control",
              [](Schedule &plan) { plan.work = WorkKind::Dynamic; });
  illegal.add("keys that P's product cannot step through",
              "the keys of one part of P to be a multiple of",
              [](Schedule &plan) { plan.tileColumns = 88; });
  illegal.add("scores in tensor memory", "smem or registers on a chip without tensor memory",
              [](Schedule &plan) {
                for (Home &home : plan.homes) {
                  home.space = home.step == "qk" ? HomeSpace::Tmem : home.space;
                }
              });
  illegal.add("more registers than there are", "registers of a CTA to be at most",
              [](Schedule &plan) { roleNamed(plan, "consumer").registers = 248; });
  illegal.add("fragments that do not fit", "registers of role 'consumer' to be at least",
              [](Schedule &plan) { roleNamed(plan, "consumer").registers = 128; });
  illegal.add("scores and probabilities of two roles", "in registers to stay in one role",
              [](Schedule &plan) {
                plan.roles.front().steps = {"qk", "rescale", "pv", "finish", "store"};
                plan.roles.push_back({"exp", {"softmax"}, 4, 2, 12, 24});
                plan.roles.front().registers = 200;
              });
  illegal.add("a turn of two roles", "the schedule's turn to be of one role",
              [](Schedule &plan) { plan.turn = {"qk", "load_v"}; });
  illegal.add("o apart from q", "copies to global memory itself to lie over a slot",
              [](Schedule &plan) {
                for (Home &home : plan.homes) {
                  home.allocation = home.step == "finish" ? "out_mem" : home.allocation;
                }
              });
  illegal.add("a product before its scores", "to come after", [](Schedule &plan) {
    plan.order = {{{"load_k", std::nullopt}, 0}, {{"load_v", std::nullopt}, 0}};
    for (int64_t stage : {0, 1}) {
      for (const char *step : {"qk", "pv", "softmax", "rescale"}) {
        plan.order.push_back({{step, stage}, 0});
      }
    }
  });
  return std::move(illegal.list);
}

std::vector<IllegalSchedule> makeIllegalSchedules(const ForwardProblem &problem,
                                                  const TargetInfo &target) {
  if (!target.hasTensorMemory()) {
    return makeIllegalOnRegisters(problem, target);
  }
  IllegalList illegal(problem, target, 128);
  auto add = [&](const char *what, const char *complaint, auto edit) {
    illegal.add(what, complaint, edit);
  };
  add("a ring of forty slots", "shared memory to be at most", [](Schedule &plan) {
    for (Home &home : plan.homes) {
      home.slots = home.step == "load_k" ? 40 : home.slots;
    }
  });
  add("rows that no product has", "rows of one matrix instruction to be one of",
      [](Schedule &plan) { plan.tileRows = 96; });
  add("keys past one product", "tile columns to be a multiple of",
      [](Schedule &plan) { plan.tileColumns = 512; });
  add("P in parts of eight keys", "the keys of one part of P to be a multiple of",
      [](Schedule &plan) { plan.splitP = {120, 8}; });
  add("P beside S", "tensor memory to be at most", [](Schedule &plan) {
    for (Home &home : plan.homes) {
      if (home.name == "p") {
        home.allocation = "p_mem";
      }
    }
  });
  add("two budgets in one warpgroup", "equal, since they share a warpgroup",
      [](Schedule &plan) { roleNamed(plan, "mma").registers = 64; });
  add("a budget off the grid", "regs of role 'softmax' to be a multiple of",
      [](Schedule &plan) { roleNamed(plan, "softmax").registers = 190; });
  add("more registers than there are", "registers of a CTA to be at most",
      [](Schedule &plan) { roleNamed(plan, "softmax").registers = 248; });
  add("a row that does not fit", "registers of role 'softmax' to be at least",
      [](Schedule &plan) { roleNamed(plan, "softmax").registers = 128; });
  add("too many threads", "threads of a CTA to be at most",
      [](Schedule &plan) { roleNamed(plan, "load").firstWarp = 40; });
  add("half of a pair's keys off the grid", "tile columns to be a multiple of 32 with ctas = 2",
      [](Schedule &plan) {
        plan.ctas = 2;
        plan.tileColumns = 112;
        plan.splitP = {};
        for (Role &role : plan.roles) {
          role.ctas = role.runs("qk") ? RoleCtas::Leader : RoleCtas::Both;
        }
      });
  add("tiles that pairs draw", "static_persistent or one_per_cluster with ctas = 2",
      [](Schedule &plan) {
        plan.work = WorkKind::Dynamic;
        plan.ctas = 2;
        for (Role &role : plan.roles) {
          role.ctas = role.runs("qk") ? RoleCtas::Leader : RoleCtas::Both;
        }
      });
  add("K in tensor memory", "in one memory", [](Schedule &plan) {
    for (Home &home : plan.homes) {
      home.space = home.step == "load_k" ? HomeSpace::Tmem : home.space;
    }
  });
  add("a product before its scores", "to come after", [](Schedule &plan) {
    // pv[0] of a trip in front of softmax[0] of that trip.
    auto softmax = llvm::find_if(plan.order, [](const OrderEntry &entry) {
      return entry.step.name == "softmax" && entry.step.index == 0;
    });
    auto pv = llvm::find_if(plan.order, [](const OrderEntry &entry) {
      return entry.step.name == "pv" && entry.step.index == 0;
    });
    std::swap(*softmax, *pv);
  });
  return std::move(illegal.list);
}

} // namespace fa4::matrix
