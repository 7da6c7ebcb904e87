//===- ScheduleSelection.cpp - a schedule for a problem and a chip --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every form that the chip's matrix unit allows is built, judged by the same
// check as a user's schedule, and ranked by the clocks that the busiest unit
// needs for one score, unless a machine has said which is fastest. What is returned
// has passed the check.
//
//===----------------------------------------------------------------------===//

#include "fa4/Planning/ScheduleSelection.h"

#include "ForwardSchedules.h"
#include "fa4/Target/MeasuredTiles.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <tuple>

using namespace fa4;

std::string TileChoice::str() const {
  return "tile = " + std::to_string(rows) + " x " + std::to_string(columns) +
         ", stages = " + std::to_string(stages);
}

/// The most slots that K and V are given together: past this depth loads only wait
/// longer for their turn (FlashAttention-4 uses up to ten at head dim 64). Without
/// tensor memory each has a ring of its own.
static constexpr int64_t maxRingSlots = 10;
static constexpr int64_t minRingSlots = 2;

/// Clocks per score, from the target's rates. The two products of a block follow
/// each other, each bound by its multiplications or by its operands from shared
/// memory (P comes from tensor memory or registers).
static void predict(const ForwardProblem &problem, const TargetInfo &target,
                    ScheduleChoice &choice) {
  const Schedule &plan = choice.schedule;
  const double rows = static_cast<double>(plan.tileRows);
  const double columns = static_cast<double>(plan.tileColumns);
  double mma = 0, matrix = 0;
  auto addProduct = [&](int64_t dim, double operandRows) {
    const double depth = static_cast<double>(padHeadDim(dim));
    const double multiply = 2 * depth / static_cast<double>(target.mmaFlopsPerClock);
    const double read = operandRows * depth * static_cast<double>(problem.elementBytes) /
                        (rows * columns * static_cast<double>(target.smemBytesPerClock));
    mma += multiply;
    matrix += std::max(multiply, read);
  };
  addProduct(problem.queryKeyDim, rows + columns);
  addProduct(problem.valueDim, columns);
  const double exp2 = 1.0 / static_cast<double>(target.exp2PerClock);
  // With one stage the exponentials of a block have no other block's products
  // to hide behind.
  choice.clocksPerScore = plan.stages > 1 ? std::max(matrix, exp2) : matrix + exp2;
  choice.boundBy = exp2 > matrix ? "exp2" : matrix > mma ? "shared memory" : "matrix unit";
}

/// The schedule of `tile` with all that `wanted` states and the deepest ring that fits.
static std::optional<ScheduleChoice> build(const ForwardProblem &problem, const TargetInfo &target,
                                           const TileChoice &tile, const Schedule &wanted,
                                           std::string &violation) {
  // Staging o apart lets the next tile load q early, so it comes first; a deep
  // ring is worth more than a second buffer only when two slots do not fit.
  const int64_t rings = target.hasTensorMemory() ? 1 : 2;
  for (bool outputOverQuery : {false, true}) {
    for (int64_t slots = maxRingSlots / rings; slots >= minRingSlots; --slots) {
      ScheduleChoice choice;
      choice.schedule = makeForward(problem, target, {tile, slots, outputOverQuery}, wanted);
      violation = checkSchedule(problem, choice.schedule, target, choice.usage);
      if (violation.empty()) {
        predict(problem, target, choice);
        return choice;
      }
    }
  }
  return std::nullopt;
}

std::optional<ScheduleChoice> fa4::buildForward(const ForwardProblem &problem,
                                                const TargetInfo &target, const TileChoice &tile,
                                                std::string &violation) {
  return build(problem, target, tile, makeOpenSchedule(), violation);
}

/// A stage is a warpgroup's rows: beyond these the registers of a CTA, or the
/// columns of tensor memory, hold no useful tile.
static int64_t getMaxStages(const TargetInfo &target) { return target.hasTensorMemory() ? 2 : 4; }

/// Whether a block should be square: the exponentials are at least as long busy as the
/// products, and a stage's warpgroup has all its steps to itself. Then many warpgroups
/// with small blocks hide best behind each other and compute the fewest scores in vain at
/// the end of a range (tile-skip-hidden); narrower ones than square save none.
static bool prefersSquareBlocks(const ForwardProblem &problem, const TargetInfo &target) {
  const int64_t depth = padHeadDim(problem.queryKeyDim) + padHeadDim(problem.valueDim);
  return !target.hasTensorMemory() && 2 * depth * target.exp2PerClock <= target.mmaFlopsPerClock;
}

/// All tiles that the form of the chip has, smallest last.
static std::vector<TileChoice> enumerateTiles(const TargetInfo &target, int64_t maxStages) {
  const int64_t rows = *llvm::max_element(target.mmaRows);
  constexpr int64_t columnStep = 16; // F1
  // Where one thread holds a row of scores, a block wider than its rows adds
  // masked work on the diagonal and registers that no kernel is known to have.
  const int64_t maxColumns =
      target.hasTensorMemory() ? std::min(rows, target.mmaMaxColumns) : target.mmaMaxColumns;
  std::vector<TileChoice> tiles;
  for (int64_t stages = maxStages; stages >= 1; --stages) {
    for (int64_t columns = maxColumns / columnStep * columnStep; columns >= columnStep;
         columns -= columnStep) {
      tiles.push_back({rows, columns, stages});
    }
  }
  return tiles;
}

/// The most stages that are tried unasked: four warpgroups have registers for small blocks
/// only.
static int64_t getUsefulStages(const ForwardProblem &problem, const TargetInfo &target) {
  const bool fewer = !target.hasTensorMemory() && !prefersSquareBlocks(problem, target);
  return getMaxStages(target) - (fewer ? 1 : 0);
}

/// The best of `tiles` with all that `wanted` states.
static std::optional<ScheduleChoice> selectAmong(const ForwardProblem &problem,
                                                 const TargetInfo &target,
                                                 const std::vector<TileChoice> &tiles,
                                                 const Schedule &wanted, std::string &violation) {
  std::optional<ScheduleChoice> best;
  const bool square = prefersSquareBlocks(problem, target);
  // More rows per CTA read K and V less often; wider blocks rescale less often.
  auto rank = [square](const ScheduleChoice &choice) {
    constexpr double resolution = 1e6;
    const Schedule &plan = choice.schedule;
    return std::make_tuple(-std::round(choice.clocksPerScore * resolution),
                           square ? -std::max(plan.tileRows, plan.tileColumns) : 0, plan.ctaRows(),
                           plan.tileColumns);
  };
  for (const TileChoice &tile : tiles) {
    std::optional<ScheduleChoice> choice = build(problem, target, tile, wanted, violation);
    if (choice && (!best || rank(*choice) > rank(*best))) {
      best = std::move(choice);
    }
  }
  if (best) {
    violation.clear();
  }
  return best;
}

/// The tile that a machine of this kind ran fastest, if the problem is one that was measured.
static std::optional<TileChoice> findMeasured(const ForwardProblem &problem,
                                              const TargetInfo &target) {
  const int64_t depth = padHeadDim(problem.queryKeyDim);
  if (problem.scoreEdits > 0 || problem.readsPerScore > 0 ||
      depth != padHeadDim(problem.valueDim)) {
    return std::nullopt;
  }
  std::optional<MeasuredTile> tile = lookupMeasuredTile(target, depth, problem.unevenTiles);
  return tile ? std::optional(TileChoice{tile->rows, tile->columns, tile->stages}) : std::nullopt;
}

std::optional<ScheduleChoice> fa4::selectForward(const ForwardProblem &problem,
                                                 const TargetInfo &target, std::string &violation) {
  if (std::optional<TileChoice> measured = findMeasured(problem, target)) {
    if (auto choice = buildForward(problem, target, *measured, violation)) {
      violation.clear();
      return choice;
    }
  }
  return selectAmong(problem, target, enumerateTiles(target, getUsefulStages(problem, target)),
                     makeOpenSchedule(), violation);
}

std::optional<TileChoice> fa4::nearestForward(const ForwardProblem &problem,
                                              const TargetInfo &target, const TileChoice &wanted) {
  std::optional<TileChoice> nearest;
  auto distance = [&](const TileChoice &tile) {
    return std::make_tuple(std::abs(tile.stages - wanted.stages),
                           std::abs(tile.columns - wanted.columns),
                           std::abs(tile.rows - wanted.rows));
  };
  std::string violation;
  for (const TileChoice &tile : enumerateTiles(target, getMaxStages(target))) {
    if ((!nearest || distance(tile) < distance(*nearest)) &&
        buildForward(problem, target, tile, violation)) {
      nearest = tile;
    }
  }
  return nearest;
}

std::optional<ForwardProblem> fa4::largestHeadDims(const ForwardProblem &problem,
                                                   const TargetInfo &target) {
  constexpr int64_t step = 8; // S6
  std::string violation;
  for (int64_t limit = std::max(problem.queryKeyDim, problem.valueDim); limit >= step;
       limit -= step) {
    ForwardProblem smaller = problem;
    smaller.queryKeyDim = std::min(problem.queryKeyDim, limit);
    smaller.valueDim = std::min(problem.valueDim, limit);
    if (selectForward(smaller, target, violation)) {
      return smaller;
    }
  }
  return std::nullopt;
}

/// The stages that a schedule with its own order or roles has; none if it leaves them open.
static std::optional<int64_t> statedStages(const Schedule &schedule) {
  if (!schedule.isOpen(Clause::Stages) || !schedule.order.empty()) {
    return schedule.stages;
  }
  if (const Role *softmax = schedule.findRoleOf("softmax")) {
    return softmax->replicas;
  }
  return std::nullopt;
}

void fa4::completeForward(const ForwardProblem &problem, const TargetInfo &target,
                          Schedule &schedule) {
  for (auto [clause, isEmpty] : {std::pair<Clause, bool>{Clause::Order, schedule.order.empty()},
                                 {Clause::Homes, schedule.homes.empty()},
                                 {Clause::Roles, schedule.roles.empty()}}) {
    schedule.open |= isEmpty ? static_cast<uint32_t>(clause) : 0;
  }
  const std::optional<int64_t> stated = statedStages(schedule);
  std::vector<TileChoice> tiles;
  for (int64_t stages = stated ? *stated : getUsefulStages(problem, target);
       stages >= stated.value_or(1); --stages) {
    tiles.push_back({schedule.tileRows, schedule.tileColumns, stages});
  }
  std::string violation;
  if (auto choice = selectAmong(problem, target, tiles, schedule, violation)) {
    schedule = std::move(choice->schedule);
    return;
  }
  // The check will say what is wrong with the smallest one.
  schedule =
      makeForward(problem, target,
                  ForwardVariant{tiles.back(), minRingSlots, /*outputOverQuery=*/true}, schedule);
}
