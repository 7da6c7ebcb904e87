//===- CasePlan.cpp - the schedule of a case ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CasePlan.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"

namespace fa4::matrix {

void stateScheduler(const Case &point, Schedule &plan) {
  llvm::StringRef scheduler = levelName(point, Scheduler);
  plan.workOrder =
      scheduler.consume_back("+longest") ? WorkOrder::LongestFirst : WorkOrder::InOrder;
  plan.work = scheduler == "one"       ? WorkKind::OnePerCluster
              : scheduler == "strided" ? WorkKind::StaticPersistent
                                       : WorkKind::Dynamic;
}

void pairCtas(Schedule &plan) {
  plan.ctas = 2;
  for (Role &role : plan.roles) {
    role.ctas = role.runs("qk") ? RoleCtas::Leader : RoleCtas::Both;
  }
  for (Home &home : plan.homes) {
    // A slot has half of the keys, or of the columns.
    home.slots *= home.step == "load_k" || home.step == "load_v" ? 2 : 1;
  }
}

Schedule editPlan(const Case &point, const TargetInfo &chip, bool pairs, Schedule plan) {
  stateScheduler(point, plan);
  plan.rescaleLog2Threshold.reset();
  if (levelName(point, LazyRescale) == "8") {
    plan.rescaleLog2Threshold = 8.0;
  }
  plan.exp2.reset();
  int64_t lastChunk = plan.tileColumns / 32 - 1;
  int64_t unit = chip.hasTensorMemory() ? 2 : 8;
  const std::string &percent = levelName(point, Exp2Polynomial);
  if (percent == "12") {
    plan.exp2 = Exp2Share{3, 8 * unit, unit, 0, lastChunk};
  } else if (percent == "25") {
    plan.exp2 = Exp2Share{3, 8 * unit, 2 * unit, 0, lastChunk};
  } else if (percent == "100") {
    plan.exp2 = Exp2Share{3, unit, unit, 0, lastChunk};
  }
  if (pairs) {
    pairCtas(plan);
  }
  return plan;
}

int64_t countProcessors(const Case &point, const Schedule &plan, const driver::HostArray &o) {
  llvm::ArrayRef<int64_t> shape = o.getShape();
  const bool headsFirst = levelName(point, LayoutKind) == "bhsd";
  const int64_t rows = shape[shape.size() - (headsFirst ? 2 : 3)];
  const int64_t heads = shape[shape.size() - (headsFirst ? 3 : 2)];
  const int64_t batches = shape.size() > 3 ? shape[0] : 1;
  const int64_t tileRows = plan.ctaRows() * plan.ctas;
  const int64_t tiles = batches * heads * ((rows + tileRows - 1) / tileRows);
  int64_t workers = 3;
  while (tiles % workers == 0 && workers < tiles) {
    workers += 2;
  }
  return workers * plan.ctas;
}

} // namespace fa4::matrix
