//===- CostModel.cpp - clocks of a block by unit --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every unit has a rate from the target, and the work of a block on it a time.
// The period is the longest of them, corrected for what the matrix unit takes
// from the others while it is busy, or the chain of dependences if that is
// longer.
//
//===----------------------------------------------------------------------===//

#include "fa4/Planning/CostModel.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace fa4;

UnitCounts &UnitCounts::operator+=(const UnitCounts &more) {
  exp2 += more.exp2;
  fma += more.fma;
  packedFma += more.packedFma;
  alu += more.alu;
  other += more.other;
  return *this;
}

UnitCounts UnitCounts::operator*(double factor) const {
  return {exp2 * factor, fma * factor, packedFma * factor, alu * factor, other * factor};
}

llvm::StringRef fa4::stringifyCostUnit(CostUnit unit) {
  switch (unit) {
  case CostUnit::Matrix:
    return "matrix unit";
  case CostUnit::SharedMemory:
    return "shared memory";
  case CostUnit::Exp2:
    return "exp2";
  case CostUnit::Fma:
    return "fma";
  case CostUnit::Alu:
    return "alu";
  case CostUnit::Issue:
    return "issue";
  case CostUnit::Chain:
    return "chain of dependences";
  }
  llvm_unreachable("covered switch");
}

namespace {
/// One product of one stage of one CTA.
struct Product {
  double multiply = 0;
  double read = 0;

  double clocks() const { return std::max(multiply, read); }
};

/// The chain through the softmax of one stage, for one of its warps alone.
struct SoftmaxLatency {
  /// Maxima and fixed steps, before and after the exponentials.
  double before = 0;
  double exponentials = 0;
};

class BlockModel {
public:
  BlockModel(const ForwardProblem &problem, const Schedule &schedule, const TargetInfo &target,
             const UnitRates &rates, llvm::ArrayRef<RoleCost> instructions)
      : problem(problem), schedule(schedule), target(target), instructions(instructions),
        rows(static_cast<double>(schedule.tileRows)),
        columns(static_cast<double>(schedule.tileColumns)),
        stages(static_cast<double>(schedule.stages)), rates(rates) {}

  BlockCost run();

private:
  Product makeProduct(int64_t dim, bool readsRows) const;
  UnitCounts countAllWarps() const;
  SoftmaxLatency softmaxLatency() const;
  double chain(const Product &scores, const Product &values, const SoftmaxLatency &softmax) const;
  void setPeriod(BlockCost &cost) const;

  /// Clocks of all schedulers for one instruction of one warp at `perClock` lanes.
  double clocksPerInstruction(double perClock) const {
    return static_cast<double>(target.threadsPerWarp) / perClock;
  }

  const ForwardProblem &problem;
  const Schedule &schedule;
  const TargetInfo &target;
  llvm::ArrayRef<RoleCost> instructions;
  double rows, columns, stages;
  const UnitRates &rates;
};
} // namespace

/// Operands in shared memory are read once per product; each CTA of a pair reads
/// its half of what belongs to the block. P comes from tensor memory or registers.
/// Copies into shared memory are not counted: with them the path would be 87 % busy
/// in a kernel for which ncu shows 68 % (docs/CostModel.md), without them 69 %.
Product BlockModel::makeProduct(int64_t dim, bool readsRows) const {
  const auto depth = static_cast<double>(padHeadDim(dim));
  const double operandRows =
      (readsRows ? rows : 0) + columns / static_cast<double>(std::max<int64_t>(schedule.ctas, 1));
  return {2 * rows * columns * depth / static_cast<double>(target.mmaFlopsPerClock),
          operandRows * depth * static_cast<double>(problem.elementBytes) /
              static_cast<double>(target.smemBytesPerClock)};
}

UnitCounts BlockModel::countAllWarps() const {
  UnitCounts sum;
  for (const RoleCost &role : instructions) {
    sum += role.counts * static_cast<double>(role.warps);
  }
  return sum;
}

/// The row's maximum stands before its first exponential; then the exponential unit
/// sets the pace of a warp that has its scheduler to itself.
SoftmaxLatency BlockModel::softmaxLatency() const {
  const Role *role = schedule.findRoleOf("softmax");
  const auto *cost = llvm::find_if(
      instructions, [&](const RoleCost &entry) { return role && entry.role == role->name; });
  if (!role || cost == instructions.end()) {
    return {};
  }
  const auto schedulers = rates.warpSchedulers;
  const double scores =
      rows * columns /
      static_cast<double>(target.threadsPerWarp * std::max<int64_t>(role->warps, 1));
  // ptxas 13.0's own issue distances leave 121, 133, 127 and 152 clocks beside
  // maxima and exponentials in four softmax steps (docs/CostModel.md).
  constexpr double fixedSteps = 130;
  if (!target.hasTensorMemory()) {
    // All of a consumer's instructions stand in one chain beside the products.
    return {0, cost->counts.all() / rates.warpIssueBesideMma};
  }
  const double maxima = scores / 2 * clocksPerInstruction(rates.aluPerClock) * schedulers;
  return {maxima + fixedSteps, cost->counts.exp2 *
                                   clocksPerInstruction(static_cast<double>(target.exp2PerClock)) *
                                   schedulers};
}

/// From the scores of one block of a stage to those of its next block.
double BlockModel::chain(const Product &scores, const Product &values,
                         const SoftmaxLatency &softmax) const {
  if (!target.hasTensorMemory()) {
    // The next block's scores are under way while this block's P is multiplied.
    return scores.clocks() + std::max(values.clocks(), softmax.before + softmax.exponentials);
  }
  const double first =
      schedule.splitP.empty() ? 1.0 : static_cast<double>(schedule.splitP.front()) / columns;
  // The product starts on the first part of P and ends after the last.
  return scores.clocks() + softmax.before +
         std::max(first * softmax.exponentials + values.clocks(),
                  softmax.exponentials + (1 - first) * values.clocks());
}

/// Beside a busy matrix unit the others may be slower: what is not done by then is
/// done at full rate while the matrix unit waits.
void BlockModel::setPeriod(BlockCost &cost) const {
  const double matrix = cost.get(CostUnit::Matrix);
  double alone = 0, beside = 0;
  CostUnit slowest = CostUnit::Issue;
  for (auto [unit, left] : {std::pair<CostUnit, double>{CostUnit::Exp2, rates.exp2BesideMma},
                            {CostUnit::Fma, 1},
                            {CostUnit::Alu, 1},
                            {CostUnit::Issue, rates.issueBesideMma}}) {
    alone = std::max(alone, cost.get(unit));
    const double slowed = cost.get(unit) / left;
    if (slowed > beside) {
      beside = slowed;
      slowest = unit;
    }
  }
  cost.period = matrix;
  cost.boundBy = CostUnit::Matrix;
  auto extend = [&](double clocks, CostUnit unit) {
    if (clocks > cost.period) {
      cost.period = clocks;
      cost.boundBy = unit;
    }
  };
  if (beside > matrix) {
    extend(matrix + (1 - matrix / beside) * alone, slowest);
  }
  extend(cost.get(CostUnit::SharedMemory), CostUnit::SharedMemory);
  extend(cost.get(CostUnit::Chain), CostUnit::Chain);
}

BlockCost BlockModel::run() {
  BlockCost cost;
  auto set = [&](CostUnit unit, double clocks) { cost.clocks[static_cast<size_t>(unit)] = clocks; };
  const Product scores = makeProduct(problem.queryKeyDim, /*readsRows=*/true);
  const Product values = makeProduct(problem.valueDim, /*readsRows=*/false);
  set(CostUnit::Matrix, stages * (scores.multiply + values.multiply));
  set(CostUnit::SharedMemory, stages * (scores.read + values.read));

  const UnitCounts counts = countAllWarps();
  set(CostUnit::Exp2, counts.exp2 * clocksPerInstruction(static_cast<double>(target.exp2PerClock)));
  set(CostUnit::Fma, (counts.fma + 2 * counts.packedFma) *
                         clocksPerInstruction(static_cast<double>(target.fmaPerClock)));
  set(CostUnit::Alu, counts.alu * clocksPerInstruction(rates.aluPerClock));
  set(CostUnit::Issue, counts.all() / rates.warpSchedulers);

  const SoftmaxLatency softmax = softmaxLatency();
  set(CostUnit::Chain, chain(scores, values, softmax));
  setPeriod(cost);

  // Other stages' products fill the wait for a tile's first P, and for its last.
  const double latency = cost.get(CostUnit::Chain) - scores.clocks() - values.clocks();
  cost.ramp = std::max(0.0, latency - (stages - 1) * scores.clocks()) +
              std::max(0.0, latency - (stages - 1) * values.clocks());
  cost.scores = rows * stages * columns;
  if (target.hasTensorMemory()) {
    // S is read as f32, P written in 16 bits.
    constexpr double scoreBytes = 4;
    cost.tensorMemoryBytes = cost.scores * (scoreBytes + static_cast<double>(problem.elementBytes));
  }
  return cost;
}

BlockCost fa4::costOfBlock(const ForwardProblem &problem, const Schedule &schedule,
                           const TargetInfo &target, const UnitRates &rates,
                           llvm::ArrayRef<RoleCost> instructions) {
  return BlockModel(problem, schedule, target, rates, instructions).run();
}

BlockCost fa4::costOfBlock(const ForwardProblem &problem, const Schedule &schedule,
                           const TargetInfo &target, llvm::ArrayRef<RoleCost> instructions) {
  return costOfBlock(problem, schedule, target, unitRates(target), instructions);
}
