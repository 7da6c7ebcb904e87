//===- ForwardSchedules.cpp - the two forms of forward kernels ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where matrix results go to tensor memory, separate roles issue, exponentiate,
// correct and store; where they go to registers, each consumer warpgroup does
// all of that for its rows. Nothing here looks at limits: the check does.
//
//===----------------------------------------------------------------------===//

#include "ForwardSchedules.h"

#include "fa4/Planning/RegisterBudget.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace fa4;

// PTX ISA, setmaxnreg: per warpgroup of four warps.
static constexpr int64_t warpsPerGroup = 4;

// A row that lags by less keeps its maximum: FlashAttention-4 paper, log2(256).
static constexpr double rescaleThreshold = 8.0;

static OrderEntry at(const char *step, std::optional<int64_t> index, int64_t stage) {
  return OrderEntry{StepRef{step, index}, stage};
}

static Home inMemory(std::string step, std::optional<int64_t> result, std::string name,
                     HomeSpace space, std::string allocation, int64_t slots = 1,
                     std::optional<int64_t> column = std::nullopt) {
  return Home{std::move(step), result, space,          std::move(allocation),
              slots,           column, std::move(name)};
}

static Home inRegisters(std::string step, std::optional<int64_t> result) {
  return Home{std::move(step), result, HomeSpace::Registers, "", 1, std::nullopt};
}

//===----------------------------------------------------------------------===//
// Results in tensor memory
//===----------------------------------------------------------------------===//

/// Whether the factor of a row's scale goes from one role to another.
static bool handsFactorOver(const Schedule &plan) {
  const Role *softmax = plan.findRoleOf("softmax");
  return !softmax || softmax != plan.findRoleOf("rescale");
}

/// P of a stage lies over the upper half of its scores, which 16-bit elements
/// fill exactly, unless the chip does not order the instructions that make this
/// safe; then it has its own columns.
static std::vector<Home> makeTmemHomes(const TargetInfo &target, const Schedule &plan,
                                       const ForwardVariant &variant) {
  const bool apart = !target.mmaIssueOrder;
  std::vector<Home> homes = {
      inMemory("load_q", std::nullopt, "q", HomeSpace::Smem, "q_mem"),
      inMemory("load_k", std::nullopt, "k", HomeSpace::Smem, "kv_mem", variant.ringSlots),
      inMemory("load_v", std::nullopt, "v", HomeSpace::Smem, "kv_mem"),
      inMemory("qk", std::nullopt, "s", HomeSpace::Tmem, apart ? "s_mem" : "sp_mem")};
  const std::vector<int64_t> parts =
      plan.splitP.empty() ? std::vector<int64_t>{plan.tileColumns} : plan.splitP;
  int64_t column = apart ? 0 : plan.tileColumns / 2, result = 0;
  for (int64_t part : parts) {
    // P, or Pa, Pb and so on.
    std::string name = "p";
    if (parts.size() > 1) {
      name += static_cast<char>('a' + result);
    }
    homes.push_back(inMemory("softmax", result++, name, HomeSpace::Tmem, apart ? "p_mem" : "sp_mem",
                             1, column));
    column += part / 2; // two 16-bit elements to a column
  }
  if (handsFactorOver(plan)) {
    homes.push_back(inMemory("softmax", result, "alpha", HomeSpace::Smem, "stat_mem"));
  }
  homes.push_back(inMemory("pv", std::nullopt, "o", HomeSpace::Tmem, "o_mem"));
  homes.push_back(
      inMemory("finish", 0, "out", HomeSpace::Smem, variant.outputOverQuery ? "q_mem" : "out_mem"));
  return homes;
}

/// The polynomial takes columns where the exponential unit is at least as long
/// busy as the matrix unit, and only if it runs on pairs: one pair costs ten
/// issue slots instead of two. First and last chunk of a row stay on the unit,
/// the last so that the end of a row is not delayed (FlashAttention-4, softmax).
static std::optional<Exp2Share> chooseExp2(const ForwardProblem &problem, const TargetInfo &target,
                                           int64_t columns) {
  constexpr int64_t chunk = 32;
  const int64_t depth = padHeadDim(problem.queryKeyDim) + padHeadDim(problem.valueDim);
  const bool exp2Bound = 2 * depth * target.exp2PerClock <= target.mmaFlopsPerClock;
  const int64_t chunks = columns / chunk;
  if (!target.packedF32x2 || !exp2Bound || columns % chunk != 0 || chunks < 2) {
    return std::nullopt;
  }
  return Exp2Share{/*degree=*/3, /*period=*/16, /*last=*/4, /*firstChunk=*/chunks > 2 ? 1 : 0,
                   /*lastChunk=*/chunks - 2};
}

static void addTmemRoles(const TargetInfo &target, Schedule &plan) {
  const int64_t stages = plan.stages;
  const int64_t next = warpsPerGroup * (stages + 1);
  plan.roles.clear();
  auto add = [&](std::string name, std::vector<std::string> steps, int64_t warps, int64_t replicas,
                 int64_t firstWarp) {
    plan.roles.push_back(
        Role{std::move(name), std::move(steps), warps, replicas, firstWarp, std::nullopt});
  };
  add("softmax", {"softmax"}, warpsPerGroup, stages, 0);
  add("correction", {"rescale", "finish"}, warpsPerGroup, 1, warpsPerGroup * stages);
  add("mma", {"qk", "pv"}, 1, 1, next);
  add("store", {"store"}, 1, 1, next + 1);
  add("load", {"load_q", "load_k", "load_v"}, 1, 1, next + 2);
  budgetRegisters(target, plan);
}

static void orderTmem(Schedule &plan) {
  for (int64_t s = 0; s < plan.stages; ++s) {
    if (s == 0) {
      plan.order.push_back(at("load_v", std::nullopt, 1));
    }
    for (const char *step : {"softmax", "rescale", "pv"}) {
      plan.order.push_back(at(step, s, 1));
    }
    if (s == 0) {
      plan.order.push_back(at("load_k", std::nullopt, 0));
    }
    plan.order.push_back(at("qk", s, 0));
  }
}

/// How the row's factor and the last part of P travel, as far as they do under those names.
static void connectTmem(Schedule &plan) {
  auto named = [&](llvm::StringRef name) {
    return llvm::find_if(plan.homes, [&](const Home &home) { return home.name == name; });
  };
  if (plan.isOpen(Clause::Grain) && named("pb") != plan.homes.end()) {
    plan.grain = {GrainEntry{"pb", ChannelHalf::Full, ArrivalGrain::Warp}};
  }
  auto factor = named("alpha");
  if (factor == plan.homes.end() || !handsFactorOver(plan)) {
    return;
  }
  if (plan.isOpen(Clause::Via) && factor->slots == 1) { // a named barrier has one slot
    plan.via = {ViaEntry{"alpha", ChannelHalf::Full, /*perWarp=*/true}};
  }
  if (plan.isOpen(Clause::EarlyAcquire)) {
    plan.earlyAcquire = {"alpha"};
  }
  if (plan.isOpen(Clause::Stagger) && plan.stages > 1) {
    plan.stagger = {"alpha"};
  }
}

static void makeTmemForward(const ForwardProblem &problem, const TargetInfo &target,
                            const ForwardVariant &variant, Schedule &plan) {
  // Matrix work on the first three quarters of P starts while the last is made.
  const int64_t first = plan.tileColumns / 4 * 3 / 16 * 16;
  if (plan.isOpen(Clause::SplitP) && first > 0 && plan.tileColumns - first >= 16) {
    plan.splitP = {first, plan.tileColumns - first};
  }
  if (plan.isOpen(Clause::Order)) {
    orderTmem(plan);
  }
  if (plan.isOpen(Clause::Exp2)) {
    plan.exp2 = chooseExp2(problem, target, plan.tileColumns);
  }
  if (plan.isOpen(Clause::Roles)) {
    addTmemRoles(target, plan);
  }
  if (plan.isOpen(Clause::Homes)) {
    plan.homes = makeTmemHomes(target, plan, variant);
  }
  connectTmem(plan);
  if (plan.isOpen(Clause::Work)) {
    // Dealt at a fixed stride, tiles of unequal length leave a tenth of the chip idle, more
    // than a resident CTA saves at the start of each (docs/CostModel.md).
    plan.work = problem.unevenTiles ? WorkKind::OnePerCluster : WorkKind::StaticPersistent;
  }
}

//===----------------------------------------------------------------------===//
// Results in registers
//===----------------------------------------------------------------------===//

/// Tiles that are so short that what stands before and after the loop of each is worth more than
/// what equal tiles at a fixed stride lose. A mask whose tiles see few blocks makes nearly all of
/// them equally long. Measured on an H200 (docs/Performance.md): resident CTAs gain up to 36
/// blocks and lose from 54 on.
static bool hasShortTiles(const ForwardProblem &problem, const Schedule &plan) {
  constexpr int64_t mostBlocks = 40;
  return problem.span && *problem.span < mostBlocks * plan.tileColumns - plan.ctaRows();
}

static std::vector<Home> makeRegisterHomes(const ForwardVariant &variant, bool resident) {
  // A resident CTA loads the next tile's q while o of the last still lies over its own.
  const int64_t querySlots = resident && !variant.outputOverQuery ? 2 : 1;
  return {inMemory("load_q", std::nullopt, "q", HomeSpace::Smem, "q_mem", querySlots),
          inMemory("load_k", std::nullopt, "k", HomeSpace::Smem, "k_mem", variant.ringSlots),
          inMemory("load_v", std::nullopt, "v", HomeSpace::Smem, "v_mem", variant.ringSlots),
          inRegisters("qk", std::nullopt), inRegisters("softmax", 0),
          inRegisters("pv", std::nullopt),
          // Each warpgroup stages o in its own rows of q, so none waits for another.
          inMemory("finish", 0, "out", HomeSpace::Smem, "q_mem")};
}

static void orderRegisters(Schedule &plan) {
  for (int64_t s = 0; s < plan.stages; ++s) {
    if (s == 0) {
      plan.order.push_back(at("load_k", std::nullopt, 0));
    }
    plan.order.push_back(at("qk", s, 0));
    if (s == 0) {
      plan.order.push_back(at("load_v", std::nullopt, 1));
    }
    plan.order.push_back(at("pv", s, 1));
    plan.order.push_back(at("softmax", s, 0));
    plan.order.push_back(at("rescale", s, 0));
  }
}

static void addRegisterRoles(const TargetInfo &target, Schedule &plan) {
  // Consumers get all that the loading warpgroup does not need.
  const int64_t pool = launchRegisters(target, plan.stages + 1) * (plan.stages + 1);
  const int64_t consumer =
      std::min(static_cast<int64_t>(llvm::alignDown((pool - target.minRoleRegisters) / plan.stages,
                                                    target.registerGranule)),
               target.maxRoleRegisters);
  // FlashAttention-3 gives its loading warpgroup no more where there are more.
  constexpr int64_t maxLoadRegisters = 56;
  const int64_t load = std::min(
      static_cast<int64_t>(llvm::alignDown(pool - plan.stages * consumer, target.registerGranule)),
      maxLoadRegisters);
  plan.roles = {Role{"consumer",
                     {"qk", "softmax", "rescale", "pv", "finish", "store"},
                     warpsPerGroup,
                     plan.stages,
                     warpsPerGroup,
                     consumer},
                Role{"load", {"load_q", "load_k", "load_v"}, 1, 1, 0, load}};
}

static void makeRegisterForward(const ForwardProblem &problem, const TargetInfo &target,
                                const ForwardVariant &variant, Schedule &plan) {
  if (plan.isOpen(Clause::Work)) {
    // Measured on an H200: one CTA per tile beats a resident grid (docs/Targets.md).
    const bool resident = hasShortTiles(problem, plan);
    plan.work = resident ? WorkKind::StaticPersistent : WorkKind::OnePerCluster;
    plan.workOrder = resident ? WorkOrder::InOrder : plan.workOrder;
  }
  if (plan.isOpen(Clause::Order)) {
    orderRegisters(plan);
  }
  if (plan.isOpen(Clause::Roles)) {
    addRegisterRoles(target, plan);
  }
  if (plan.isOpen(Clause::Homes)) {
    plan.homes = makeRegisterHomes(variant, plan.work == WorkKind::StaticPersistent);
  }
  if (plan.isOpen(Clause::Grain)) {
    auto returnSlots = [&](llvm::StringRef channel, ArrivalGrain grain) {
      if (llvm::any_of(plan.homes, [&](const Home &home) { return home.name == channel; })) {
        plan.grain.push_back(GrainEntry{channel.str(), ChannelHalf::Empty, grain});
      }
    };
    returnSlots("k", ArrivalGrain::Warp);
    returnSlots("v", ArrivalGrain::Warp);
    returnSlots("q", ArrivalGrain::Lane);
  }
  const Role *products = plan.findRoleOf("qk");
  if (plan.isOpen(Clause::Turn) && products && products->replicas > 1 && products->runs("pv")) {
    plan.turn = {"qk", "pv"};
  }
}

Schedule fa4::makeForward(const ForwardProblem &problem, const TargetInfo &target,
                          const ForwardVariant &variant, const Schedule &wanted) {
  Schedule plan = wanted;
  plan.tileRows = variant.tile.rows;
  plan.tileColumns = variant.tile.columns;
  plan.stages = variant.tile.stages;
  if (plan.isOpen(Clause::Work)) {
    plan.workOrder = problem.unevenTiles ? WorkOrder::LongestFirst : WorkOrder::InOrder;
  }
  if (plan.isOpen(Clause::Rescale)) {
    plan.rescaleLog2Threshold = rescaleThreshold;
  }
  if (target.hasTensorMemory()) {
    makeTmemForward(problem, target, variant, plan);
  } else {
    makeRegisterForward(problem, target, variant, plan);
  }
  if (plan.isOpen(Clause::Roles) && plan.ctas == 2) { // F2: one CTA of a pair issues for both
    for (Role &role : plan.roles) {
      role.ctas = role.runs("qk") ? RoleCtas::Leader : RoleCtas::Both;
    }
  }
  plan.open = 0;
  return plan;
}
