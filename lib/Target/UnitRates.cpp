//===- UnitRates.cpp - rates that only the cost model reads ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sources as in KnownTargets.cpp: [G] CUDA C++ Programming Guide 13.0, throughput of
// native arithmetic instructions; [M] measured by us on an H200, docs/CostModel.md;
// [P] FlashAttention-4 paper, B200.
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/UnitRates.h"

using namespace fa4;

UnitRates fa4::unitRates(const TargetInfo &target) {
  UnitRates rates;
  rates.aluPerClock = 64;      // [G] compare, minimum, maximum; compute capabilities 9.0, 10.0
  rates.warpSchedulers = 4;    // [G] warp schedulers of an SM
  rates.multiprocessors = 148; // [P]
  if (target.asyncWarpgroupMma) {
    rates.multiprocessors = 132; // [M]
    // Operands and results of wgmma pass the register file.
    rates.exp2BesideMma = 0.75;      // [M] 12 instead of 16 exponentials per clock
    rates.issueBesideMma = 0.31;     // [M] 0.305 to 0.313 per scheduler in a softmax's mix
    rates.warpIssueBesideMma = 0.27; // [M] fitted by bench/model to 15 schedules
  }
  return rates;
}
