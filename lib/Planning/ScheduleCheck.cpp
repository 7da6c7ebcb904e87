//===- ScheduleCheck.cpp - does a schedule fit a chip ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts every allocation of a schedule at its largest member and compares the
// sums with the target, and nothing but the target: it knows no chip. It never
// looks at how schedules are made, so it judges the selection as well.
//
//===----------------------------------------------------------------------===//

#include "fa4/Planning/ScheduleCheck.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <optional>

using namespace fa4;

namespace {

constexpr int64_t f32Bytes = 4;
constexpr int64_t tmemColumnBytes = 4; // PTX ISA, tensor memory: cells of 32 bit.
constexpr int64_t tmemViewStep = 16;   // Accesses come in pieces of 16 columns.
constexpr int64_t warpsPerGroup = 4;   // PTX ISA, setmaxnreg: per warpgroup of four warps.
constexpr int64_t mbarrierBytes = 8;   // PTX ISA, mbarrier objects.

std::string expected(const llvm::Twine &what, const llvm::Twine &rule, const llvm::Twine &value) {
  return ("expected " + what + " to be " + rule + ", but got " + value).str();
}

/// What one home asks of its allocation, per slot.
struct Need {
  int64_t smemBytes = 0;
  int64_t tmemColumns = 0;
  /// One per Q stage, or one for all.
  bool perStage = true;
};

struct Allocation {
  HomeSpace space = HomeSpace::Smem;
  int64_t slotSize = 0;
  int64_t slots = 1;
};

class Checker {
public:
  Checker(const ForwardProblem &problem, const Schedule &schedule, const TargetInfo &target,
          ScheduleUsage &usage)
      : problem(problem), schedule(schedule), target(target), usage(usage) {}

  std::string run() {
    using Check = std::string (Checker::*)();
    for (Check check : {&Checker::checkShape, &Checker::checkHomes, &Checker::checkMemory,
                        &Checker::checkIssueOrder, &Checker::checkNamedBarriers,
                        &Checker::checkRoles, &Checker::checkFragments}) {
      std::string problem = (this->*check)();
      if (!problem.empty()) {
        return problem;
      }
    }
    return "";
  }

private:
  std::string checkShape();
  std::string checkHomes();
  std::string checkMemory();
  std::string checkIssueOrder();
  std::string checkNamedBarriers();
  std::string checkRoles();
  std::string checkFragments();
  std::optional<Need> needOf(const Home &home) const;

  int64_t paddedQueryKey() const { return padHeadDim(problem.queryKeyDim); }
  int64_t paddedValue() const { return padHeadDim(problem.valueDim); }
  /// P's parts come first among the results of softmax, row statistics after.
  int64_t parts() const {
    return schedule.splitP.empty() ? 1 : static_cast<int64_t>(schedule.splitP.size());
  }
  bool isPartOfP(const Home &home) const {
    return home.step == "softmax" && home.result.value_or(0) < parts();
  }

  const ForwardProblem &problem;
  const Schedule &schedule;
  const TargetInfo &target;
  ScheduleUsage &usage;
  std::map<std::string, Allocation> allocations;
};

} // namespace

std::string Checker::checkShape() {
  if (schedule.direction != Direction::Forward) {
    return "expected the schedule of a forward op to be forward, but got backward";
  }
  if (schedule.ctas == 2 && !target.ctaPairs) {
    return expected("ctas", "1 on a chip without cta_pairs", llvm::Twine(schedule.ctas));
  }
  if (schedule.work == WorkKind::Dynamic && !target.clusterLaunchControl) {
    return expected("work",
                    "static_persistent or one_per_cluster on a chip without "
                    "cluster_launch_control",
                    "dynamic");
  }
  if (schedule.work == WorkKind::Dynamic && schedule.ctas != 1) {
    return expected("work", "static_persistent or one_per_cluster with ctas = 2", "dynamic");
  }
  const std::vector<int64_t> &legalRows = schedule.ctas == 2 ? target.pairMmaRows : target.mmaRows;
  const int64_t rows = schedule.tileRows * schedule.ctas;
  if (!llvm::is_contained(legalRows, rows)) {
    std::string list;
    for (int64_t legal : legalRows) {
      list += (list.empty() ? "" : ", ") + std::to_string(legal);
    }
    return expected("rows of one matrix instruction", "one of " + list, llvm::Twine(rows));
  }
  for (auto [what, columns] :
       {std::pair<llvm::StringRef, int64_t>{"tile columns", schedule.tileColumns},
        {"the padded head dim of v", paddedValue()}}) {
    if (columns % target.mmaColumnStep != 0 || columns > target.mmaMaxColumns) {
      return expected(what,
                      "a multiple of " + llvm::Twine(target.mmaColumnStep) + " up to " +
                          llvm::Twine(target.mmaMaxColumns),
                      llvm::Twine(columns));
    }
  }
  if (schedule.ctas == 2) {
    // Each CTA has half of the columns, whole steps of them.
    const int64_t step = 2 * target.mmaColumnStep;
    for (auto [what, columns] :
         {std::pair<llvm::StringRef, int64_t>{"tile columns", schedule.tileColumns},
          {"the padded head dim of v", paddedValue()}}) {
      if (columns % step != 0) {
        return expected(what, "a multiple of " + llvm::Twine(step) + " with ctas = 2",
                        llvm::Twine(columns));
      }
    }
  }
  // The second product runs along the keys of a part.
  const int64_t k = target.mmaKBytes / problem.elementBytes;
  for (int64_t part :
       schedule.splitP.empty() ? std::vector<int64_t>{schedule.tileColumns} : schedule.splitP) {
    if (part % k != 0) {
      return expected("the keys of one part of P", "a multiple of " + llvm::Twine(k),
                      llvm::Twine(part));
    }
  }
  return "";
}

std::optional<Need> Checker::needOf(const Home &home) const {
  const int64_t rows = schedule.tileRows, columns = schedule.tileColumns;
  const int64_t bytes = problem.elementBytes;
  const int64_t result = home.result.value_or(0);
  auto matrix = [&](int64_t height, int64_t width, int64_t elementBytes) {
    return Need{height * width * elementBytes,
                (width * elementBytes + tmemColumnBytes - 1) / tmemColumnBytes};
  };
  // Factor and maximum of a row travel together.
  const Need statistics{rows * 2 * f32Bytes, 2};
  if (home.step == "load_q") {
    return matrix(rows, paddedQueryKey(), bytes);
  }
  if (home.step == "load_k" || home.step == "load_v") {
    const bool isK = home.step == "load_k";
    Need need = matrix(columns, isK ? paddedQueryKey() : paddedValue(), bytes);
    need.smemBytes /= schedule.ctas; // a pair shares B: half of it in each CTA
    need.perStage = false;
    return need;
  }
  if (home.step == "qk") {
    return matrix(rows, columns, f32Bytes);
  }
  if (home.step == "softmax") {
    if (!isPartOfP(home)) {
      return statistics;
    }
    return matrix(rows, schedule.splitP.empty() ? columns : schedule.splitP[result], bytes);
  }
  if (home.step == "pv" || home.step == "rescale") {
    return matrix(rows, paddedValue(), f32Bytes);
  }
  if (home.step == "finish") {
    return result == 0 ? matrix(rows, paddedValue(), bytes) : statistics;
  }
  return std::nullopt;
}

std::string Checker::checkHomes() {
  for (const Home &home : schedule.homes) {
    std::optional<Need> need = needOf(home);
    if (!need) {
      return expected("homes", "of steps with results", "'" + home.step + "'");
    }
    if (home.space == HomeSpace::Registers) {
      continue;
    }
    if (home.space == HomeSpace::Tmem && !target.hasTensorMemory()) {
      return expected("the home of '" + home.step + "'",
                      "smem or registers on a chip without tensor memory", "tmem");
    }
    auto [it, inserted] = allocations.try_emplace(home.allocation, Allocation{home.space});
    Allocation &allocation = it->second;
    if (allocation.space != home.space) {
      return expected("homes in @" + home.allocation, "in one memory", "smem and tmem");
    }
    const int64_t size =
        home.space == HomeSpace::Smem
            ? static_cast<int64_t>(llvm::alignTo(need->smemBytes, target.smemSwizzleBytes))
            : static_cast<int64_t>(
                  llvm::alignTo(home.column.value_or(0) + need->tmemColumns, tmemViewStep));
    allocation.slotSize = std::max(allocation.slotSize, size);
    allocation.slots =
        std::max(allocation.slots, home.slots * (need->perStage ? schedule.stages : 1));
  }
  return "";
}

std::string Checker::checkMemory() {
  int64_t ringSlots = 0;
  std::string smemParts, tmemParts;
  for (const auto &[name, allocation] : allocations) {
    const bool isSmem = allocation.space == HomeSpace::Smem;
    (isSmem ? usage.smemBytes : usage.tmemColumns) += allocation.slotSize * allocation.slots;
    ringSlots += isSmem ? allocation.slots : 0;
    std::string &parts = isSmem ? smemParts : tmemParts;
    parts += (parts.empty() ? "" : " + ") + std::to_string(allocation.slots) + " x " +
             std::to_string(allocation.slotSize) + " @" + name;
  }
  // One full and one empty barrier per smem slot, and per stage for each of the
  // channels that carry no smem: scores, P in parts, the accumulator.
  usage.smemBytes += 2 * mbarrierBytes * (ringSlots + schedule.stages * (2 + parts()));
  if (schedule.work == WorkKind::Dynamic) { // one answer, as tile-draw-tiles has it
    constexpr int64_t answerBytes = 128;    // 16, as aligned as shared memory is
    usage.smemBytes += answerBytes + 2 * mbarrierBytes;
  }
  if (usage.tmemColumns > target.tmemColumns) {
    return expected("tensor memory", "at most " + llvm::Twine(target.tmemColumns) + " columns",
                    llvm::Twine(usage.tmemColumns) + " (" + tmemParts + ")");
  }
  if (usage.smemBytes > target.smemBytesPerCta) {
    return expected("shared memory", "at most " + llvm::Twine(target.smemBytesPerCta) + " bytes",
                    llvm::Twine(usage.smemBytes) + " (" + smemParts + " + barriers)");
  }
  return "";
}

/// P over the columns of S is overwritten by the next S: only the order of issue
/// keeps the product that still reads P ahead of it.
std::string Checker::checkIssueOrder() {
  const Home *scores = schedule.findHome("qk", std::nullopt);
  if (target.mmaIssueOrder || !scores || scores->space != HomeSpace::Tmem) {
    return "";
  }
  for (const Home &home : schedule.homes) {
    if (isPartOfP(home) && home.allocation == scores->allocation) {
      return expected("the home of P", "apart from qk's on a chip without mma_issue_order",
                      "both in @" + home.allocation);
    }
  }
  return "";
}

/// A named barrier has one phase at a time: it cannot tell slots apart (rule R6).
std::string Checker::checkNamedBarriers() {
  for (const ViaEntry &entry : schedule.via) {
    for (const Home &home : schedule.homes) {
      if (home.name == entry.channel && home.slots != 1) {
        return expected("slots of '" + home.name + "'", "1 with a named barrier in via",
                        llvm::Twine(home.slots));
      }
    }
  }
  return "";
}

std::string Checker::checkRoles() {
  if (schedule.roles.empty()) {
    return "";
  }
  int64_t warps = 0;
  for (const Role &role : schedule.roles) {
    warps = std::max(warps, role.endWarp());
  }
  warps = static_cast<int64_t>(llvm::alignTo(warps, warpsPerGroup));
  usage.threads = warps * target.threadsPerWarp;
  if (usage.threads > target.maxThreadsPerCta) {
    return expected("threads of a CTA", "at most " + llvm::Twine(target.maxThreadsPerCta),
                    llvm::Twine(usage.threads));
  }
  const int64_t launchShare = static_cast<int64_t>(
      llvm::alignDown(std::min(target.registersPerSm / usage.threads, target.maxRegistersPerThread),
                      target.registerGranule));
  for (int64_t group = 0; group < warps; group += warpsPerGroup) {
    const Role *first = nullptr;
    for (const Role &role : schedule.roles) {
      if (role.firstWarp >= group + warpsPerGroup || role.endWarp() <= group) {
        continue;
      }
      if (first && first->registers != role.registers) {
        return expected("regs of roles '" + first->name + "' and '" + role.name + "'",
                        "equal, since they share a warpgroup",
                        llvm::Twine(first->registers.value_or(launchShare)) + " and " +
                            llvm::Twine(role.registers.value_or(launchShare)));
      }
      first = &role;
    }
    const int64_t registers = first ? first->registers.value_or(launchShare) : launchShare;
    if (first && first->registers &&
        (registers % target.registerGranule != 0 || registers < target.minRoleRegisters ||
         registers > target.maxRoleRegisters)) {
      return expected("regs of role '" + first->name + "'",
                      "a multiple of " + llvm::Twine(target.registerGranule) + " from " +
                          llvm::Twine(target.minRoleRegisters) + " to " +
                          llvm::Twine(target.maxRoleRegisters),
                      llvm::Twine(registers));
    }
    usage.registers += registers * warpsPerGroup * target.threadsPerWarp;
  }
  // Roles redistribute what the launch allotted: more would be waited for in vain.
  const int64_t allotted = launchShare * usage.threads;
  if (usage.registers > allotted) {
    return expected("registers of a CTA", "at most " + llvm::Twine(allotted),
                    llvm::Twine(usage.registers));
  }
  return "";
}

/// What a thread holds of scores, P and o must fit beside its addresses,
/// statistics and loop state.
std::string Checker::checkFragments() {
  const Home *scores = schedule.findHome("qk", std::nullopt);
  const bool inRegisters = scores && scores->space == HomeSpace::Registers;
  const Role *role = schedule.findRoleOf(inRegisters ? "pv" : "softmax");
  if (!scores || !role) {
    return "";
  }
  // What ptxas 13.0 took beside the fragments in kernels of both forms
  // (docs/Targets.md, register windows).
  constexpr int64_t others = 26;
  // And more with two bounds of a row, and in the kernels of the feature array that edit
  // scores: temporaries, or addresses and what is read.
  constexpr int64_t forBounds = 3, forEdits = 16, forReads = 32;
  const int64_t reads =
      problem.readsPerScore > 0 ? forReads * (1 + problem.readsPerScore) + forEdits : 0;
  const int64_t edits = problem.scoreEdits > 0 ? forEdits * (1 + problem.scoreEdits) : 0;
  const int64_t threads = role->warps * target.threadsPerWarp;
  auto share = [&](int64_t width, int64_t bytes) {
    return schedule.tileRows * width * bytes / (threads * f32Bytes);
  };
  int64_t need = share(schedule.tileColumns, f32Bytes) + others;
  if (inRegisters) {
    need += share(schedule.tileColumns, problem.elementBytes) + share(paddedValue(), f32Bytes) +
            forBounds + std::max(reads, edits);
  }
  const int64_t have = std::min(role->registers.value_or(target.maxRegistersPerThread),
                                target.maxRegistersPerThread);
  if (need > have) {
    return expected("registers of role '" + role->name + "'",
                    "at least " + llvm::Twine(need) + " for " +
                        (inRegisters ? "scores, P and o" : "a row of scores"),
                    llvm::Twine(have));
  }
  return "";
}

std::string fa4::checkSchedule(const ForwardProblem &problem, const Schedule &schedule,
                               const TargetInfo &target, ScheduleUsage &usage) {
  usage = ScheduleUsage();
  return Checker(problem, schedule, target, usage).run();
}
