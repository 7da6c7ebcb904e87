//===- InstructionEstimate.cpp - instructions of a block, by role ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the softmax must do per score follows from the algorithm; what comes with
// it (waits, arrivals, addresses) is counted in machine code by bench/cost, whose
// table a unit test compares with what stands here.
//
//===----------------------------------------------------------------------===//

#include "fa4/Planning/CostModel.h"

#include <algorithm>

using namespace fa4;

// Counted by bench/cost in sm_100a code of ptxas 13.5 (bench/results/cost.csv).
static constexpr UnitCounts softmaxBeside = {0, 17, 0, 0, 30};
static constexpr double correctionBeside = 12;          // nothing to rescale
static constexpr double correctionPerColumn = 6.0 / 64; // its accesses and their waits
static constexpr double issueBeside = 52;
static constexpr double issuePerProduct = 4.1;
static constexpr double loadBeside = 56;

// The same in sm_90a code without its rare branches (bench/model): 110, 135 and 178 with
// 12, 13 and 21 products.
static constexpr double consumerBeside = 20;
static constexpr double consumerPerProduct = 7.6;

// FlashAttention-4's authors: ten times fewer rescales under a threshold of 8.
static constexpr double lazyRescaleShare = 0.1;

/// The share of columns that take the polynomial.
static double polynomialShare(const Schedule &schedule) {
  if (!schedule.exp2 || schedule.tileColumns <= 0) {
    return 0;
  }
  const Exp2Share &share = *schedule.exp2;
  constexpr int64_t chunk = 32;
  int64_t taken = 0;
  for (int64_t column = 0; column < schedule.tileColumns; ++column) {
    const bool inChunk = column / chunk >= share.firstChunk && column / chunk <= share.lastChunk;
    taken += inChunk && column % share.period >= share.period - share.last ? 1 : 0;
  }
  return static_cast<double>(taken) / static_cast<double>(schedule.tileColumns);
}

/// Adds `count` f32 operations, as pairs where the chip has them.
static void addArithmetic(UnitCounts &counts, const TargetInfo &target, double count) {
  if (target.packedF32x2) {
    counts.packedFma += count / 2;
  } else {
    counts.fma += count;
  }
}

/// One thread's part of a stage's block.
static UnitCounts countSoftmax(const Schedule &schedule, const TargetInfo &target, double scores) {
  const double polynomial = polynomialShare(schedule);
  UnitCounts counts;
  counts.exp2 = scores * (1 - polynomial) + 1;
  // Half an instruction per score for the maximum of three and for packing; a clamp
  // and a shift-and-add for each polynomial.
  counts.alu = scores + 2 * polynomial * scores;
  // Scale and subtract, add to the sum; three additions and, by degree, multiply-adds.
  const double degree = schedule.exp2 ? static_cast<double>(schedule.exp2->degree) : 0;
  addArithmetic(counts, target, scores * (2 + polynomial * (3 + degree)));
  return counts;
}

std::vector<RoleCost> fa4::estimateInstructions(const ForwardProblem &problem,
                                                const Schedule &schedule,
                                                const TargetInfo &target) {
  const auto rows = static_cast<double>(schedule.tileRows);
  const auto columns = static_cast<double>(schedule.tileColumns);
  const auto valueDim = static_cast<double>(padHeadDim(problem.valueDim));
  // Matrix instructions of a stage: along the head dim, and along the keys.
  const double products =
      static_cast<double>((padHeadDim(problem.queryKeyDim) + schedule.tileColumns) *
                          problem.elementBytes) /
      static_cast<double>(target.mmaKBytes);
  const double rescales = schedule.rescaleLog2Threshold ? lazyRescaleShare : 1;
  std::vector<RoleCost> roles;
  for (const Role &role : schedule.roles) {
    const int64_t replicas = std::max<int64_t>(role.replicas, 1);
    const auto threads =
        static_cast<double>(target.threadsPerWarp * std::max<int64_t>(role.warps, 1));
    UnitCounts counts;
    if (role.runs("softmax")) {
      counts += countSoftmax(schedule, target, rows * columns / threads);
      if (target.hasTensorMemory()) {
        counts += softmaxBeside;
      } else {
        counts.other += consumerBeside + consumerPerProduct * products;
      }
    }
    if (role.runs("rescale")) {
      UnitCounts rescale;
      addArithmetic(rescale, target, rows * valueDim / threads);
      if (target.hasTensorMemory()) {
        rescale.other = correctionPerColumn * valueDim;
        counts.other += correctionBeside;
      }
      counts += rescale * rescales;
    }
    counts = counts * (static_cast<double>(schedule.stages) / static_cast<double>(replicas));
    if (target.hasTensorMemory() && (role.runs("qk") || role.runs("pv"))) {
      counts.other +=
          issueBeside + issuePerProduct * products * static_cast<double>(schedule.stages);
    }
    if (role.runs("load_k")) {
      counts.other += loadBeside;
    }
    roles.push_back({role.name, role.warps * replicas, counts});
  }
  return roles;
}
