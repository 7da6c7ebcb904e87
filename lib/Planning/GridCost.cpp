//===- GridCost.cpp - clocks of a launch ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Deals the tiles of a launch to the SMs as the schedule's scheduler would.
//
//===----------------------------------------------------------------------===//

#include "fa4/Planning/CostModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <functional>
#include <queue>

using namespace fa4;

/// KV blocks of each tile of one head.
static std::vector<int64_t> blocksOfTiles(const Schedule &schedule, const ForwardShape &shape) {
  const int64_t tileRows = schedule.ctaRows() * std::max<int64_t>(schedule.ctas, 1);
  std::vector<int64_t> blocks;
  for (int64_t first = 0; first < shape.queries; first += tileRows) {
    int64_t keys = shape.keys;
    if (shape.causal) {
      const int64_t last = std::min(first + tileRows, shape.queries);
      keys = std::clamp<int64_t>(last + shape.keys - shape.queries, 0, shape.keys);
    }
    // A tile without keys still runs one block, wholly masked.
    blocks.push_back(std::max<int64_t>(llvm::divideCeil(keys, schedule.tileColumns), 1));
  }
  return blocks;
}

/// KV blocks of all tiles in the order in which they are dealt: head after head, or
/// the longest first within each section of heads whose K and V a second-level
/// cache holds.
static std::vector<int64_t> dealtTiles(const ForwardProblem &problem, const Schedule &schedule,
                                       const ForwardShape &shape, int64_t sectionBytes) {
  const std::vector<int64_t> one = blocksOfTiles(schedule, shape);
  const int64_t heads = shape.batch * shape.heads;
  int64_t section = 1;
  if (schedule.workOrder == WorkOrder::LongestFirst) {
    const int64_t headBytes = shape.keys *
                              (padHeadDim(problem.queryKeyDim) + padHeadDim(problem.valueDim)) *
                              problem.elementBytes;
    const int64_t fitting = std::max<int64_t>(sectionBytes / std::max<int64_t>(headBytes, 1), 1);
    // As many sections as it takes, of equal size: a small last one would not fill the chip.
    section = llvm::divideCeil(heads, llvm::divideCeil(heads, fitting));
  }
  std::vector<int64_t> all;
  for (int64_t first = 0; first < heads; first += section) {
    const auto start = static_cast<std::ptrdiff_t>(all.size());
    for (int64_t head = first; head < std::min(first + section, heads); ++head) {
      all.insert(all.end(), one.begin(), one.end());
    }
    if (schedule.workOrder == WorkOrder::LongestFirst) {
      std::sort(all.begin() + start, all.end(), std::greater<>());
    }
  }
  return all;
}

GridCost fa4::costOfGrid(const ForwardProblem &problem, const Schedule &schedule,
                         const TargetInfo &target, const BlockCost &block,
                         const ForwardShape &shape, int64_t multiprocessors) {
  GridCost cost;
  const int64_t ctas = std::max<int64_t>(schedule.ctas, 1);
  const auto workers = static_cast<size_t>(std::max<int64_t>(multiprocessors / ctas, 1));
  const int64_t heads = shape.batch * shape.heads;
  if (shape.queries <= 0 || shape.keys < 0 || heads <= 0) {
    return cost;
  }
  std::priority_queue<double, std::vector<double>, std::greater<>> ends;
  std::vector<double> fixed(workers, 0.0);
  for (size_t worker = 0; worker < workers; ++worker) {
    ends.push(0.0);
  }
  const double beside = block.ramp + shape.clocksPerTile;
  double work = 0, ramps = 0;
  size_t number = 0;
  const int64_t sectionBytes = shape.sectionBytes.value_or(target.l2SectionBytes);
  for (int64_t blocks : dealtTiles(problem, schedule, shape, sectionBytes)) {
    const double clocks = static_cast<double>(blocks) * block.period + beside;
    work += static_cast<double>(blocks) * block.period;
    ramps += beside;
    if (schedule.work == WorkKind::StaticPersistent) {
      double &end = fixed[number++ % workers];
      end += clocks;
      cost.clocks = std::max(cost.clocks, end);
    } else {
      const double end = ends.top() + clocks;
      ends.pop();
      ends.push(end);
      cost.clocks = std::max(cost.clocks, end);
    }
  }
  const double scores = static_cast<double>(heads) * static_cast<double>(shape.queries) *
                        static_cast<double>(shape.keys) * (shape.causal ? 0.5 : 1.0);
  cost.flops = 2 * scores * static_cast<double>(problem.queryKeyDim + problem.valueDim);
  const double total = cost.clocks * static_cast<double>(workers);
  cost.blockShare = work / total;
  cost.rampShare = ramps / total;
  cost.idleShare = 1 - cost.blockShare - cost.rampShare;
  cost.usefulShare = scores / block.scores * block.period / static_cast<double>(ctas) / total;
  return cost;
}
