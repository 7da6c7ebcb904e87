//===- KernelReport.cpp - what became of a schedule -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Driver/KernelReport.h"

#include "fa4/Dialect/Attn/IR/AttnAttributes.h"
#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace fa4::driver {

static BarrierCounts countBarriers(tile::KernelOp kernel) {
  BarrierCounts counts;
  kernel.walk([&](Operation *op) {
    if (auto barrier = dyn_cast<tile::BarrierOp>(op)) {
      counts.barriers += (barrier.getEnd() - barrier.getStart()) / tile::BarrierOp::kBytes;
    } else if (auto named = dyn_cast<tile::NamedBarrierOp>(op)) {
      counts.namedBarriers += named.getLast() - named.getFirst() + 1;
    }
    counts.waits += isa<tile::BarrierWaitOp, tile::NamedSyncOp>(op);
    counts.arrivals += isa<tile::BarrierArriveOp, tile::BarrierExpectOp, tile::BarrierCommitOp,
                           tile::NamedArriveOp, tile::NamedSyncOp>(op);
  });
  return counts;
}

/// Bounds of the keys that a kernel's masks let through, of all of them together.
static std::pair<bool, bool> findBounds(tile::KernelOp kernel) {
  bool lower = false, upper = false;
  kernel.walk([&](tile::MaskOp op) {
    for (auto mask : op.getMasks().getAsRange<attn::AttnMaskInterface>()) {
      const attn::MaskBounds bounds = mask.getBounds();
      lower |= bounds.lower.has_value();
      upper |= bounds.upper.has_value();
    }
  });
  return {lower, upper};
}

/// q, k and v are the first arguments of a forward kernel; their last extents are
/// the head dims. Other kernels have no role that runs a softmax.
static void predict(tile::KernelOp kernel, KernelReport &report) {
  const Schedule &schedule = kernel.getSchedule().getPlan();
  SmallVector<tile::GlobalType> globals;
  for (Type type : kernel.getEntry()->getArgumentTypes()) {
    if (auto global = dyn_cast<tile::GlobalType>(type)) {
      globals.push_back(global);
    }
  }
  if (!schedule.findRoleOf("softmax") || globals.size() < 3) {
    return;
  }
  ForwardProblem problem;
  problem.queryKeyDim = globals[0].getBox().back();
  problem.valueDim = globals[2].getBox().back();
  problem.elementBytes = globals[0].getElementType().getIntOrFloatBitWidth() / 8;
  const TargetInfo &target = kernel.getTarget().getInfo();
  report.block =
      costOfBlock(problem, schedule, target, estimateInstructions(problem, schedule, target));
  const auto [isBelowBounded, isAboveBounded] = findBounds(kernel);
  if (isBelowBounded) {
    return; // a window: the model of a launch has none
  }
  // Extents come with the launch: the one for which others publish figures.
  ForwardShape shape{/*batch=*/4, /*heads=*/16, /*queries=*/8192, /*keys=*/8192};
  shape.causal = isAboveBounded;
  const int64_t multiprocessors = unitRates(target).multiprocessors;
  report.launch = costOfGrid(problem, schedule, target, *report.block, shape, multiprocessors);
  report.launchName =
      llvm::formatv("4 x 16 heads, {0} x {1}{2}, {3} multiprocessors", shape.queries, shape.keys,
                    shape.causal ? " causal" : "", multiprocessors)
          .str();
}

static llvm::StringRef describe(WorkKind draw) {
  switch (draw) {
  case WorkKind::OnePerCluster:
    return "one tile to a CTA";
  case WorkKind::StaticPersistent:
    return "one CTA to a multiprocessor, tiles at the stride of the grid";
  case WorkKind::Dynamic:
    return "one tile to a CTA, those of CTAs that have not started taken over";
  }
  return {};
}

static KernelReport reportKernel(tile::KernelOp kernel) {
  KernelReport report;
  report.name = kernel.getSymName().str();
  const Schedule &plan = kernel.getSchedule().getPlan();
  report.draw = describe(plan.work).str();
  report.order = plan.workOrder == WorkOrder::LongestFirst ? "longest first" : "as numbered";
  for (Operation &op : *kernel.getEntry()) {
    if (auto role = dyn_cast<tile::RoleOp>(op)) {
      report.roles.push_back({role.getSymName().str(), static_cast<int64_t>(role.getWarps()),
                              static_cast<int64_t>(role.getReplicas()),
                              static_cast<int64_t>(role.getFirstWarp().value_or(0)),
                              static_cast<int64_t>(role.getRegs().value_or(0))});
    } else if (auto alloc = dyn_cast<tile::PlacedAllocOp>(op)) {
      report.allocations.push_back({alloc.getSymName().str(), alloc.getSpace() == tile::Space::Tmem,
                                    static_cast<int64_t>(alloc.getStart()), alloc.getEnd(),
                                    static_cast<int64_t>(alloc.getFamily())});
    } else if (auto barrier = dyn_cast<tile::BarrierOp>(op)) {
      report.barriers.push_back({barrier.getSymName().str(),
                                 static_cast<int64_t>(barrier.getFamily() * barrier.getDepth()),
                                 static_cast<int64_t>(barrier.getCount()),
                                 static_cast<int64_t>(barrier.getStart())});
    }
  }
  report.after = countBarriers(kernel);
  report.before = report.after;
  predict(kernel, report);
  return report;
}

std::vector<KernelReport> reportKernels(ModuleOp module, llvm::ArrayRef<KernelReport> earlier) {
  std::vector<KernelReport> reports;
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    KernelReport report = reportKernel(kernel);
    for (const KernelReport &old : earlier) {
      if (old.name == report.name) {
        report.before = old.after;
      }
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

void KernelReport::print(llvm::raw_ostream &os) const {
  os << "kernel " << name << '\n' << "  tiles     " << draw << "; " << order << '\n';
  for (const Role &role : roles) {
    os << llvm::formatv("  role      {0,-14} warps {1} x {2} at {3}, registers {4}\n", role.name,
                        role.warps, role.replicas, role.firstWarp, role.registers);
  }
  for (bool tensorMemory : {false, true}) {
    for (const Allocation &alloc : allocations) {
      if (alloc.isTensorMemory == tensorMemory) {
        os << llvm::formatv(
            "  {0}      {1,-14} {2} {3} to {4} in {5}\n", tensorMemory ? "tmem" : "smem",
            alloc.name, tensorMemory ? "columns" : "bytes", alloc.start, alloc.end, alloc.elements);
      }
    }
  }
  for (const Barrier &barrier : barriers) {
    os << llvm::formatv("  barrier   {0,-14} {1} of count {2} at {3}\n", barrier.name,
                        barrier.slots, barrier.count, barrier.start);
  }
  auto counts = [&](llvm::StringRef when, const BarrierCounts &counts) {
    os << llvm::formatv("  barriers  {0,-14} {1} mbarriers, {2} named, {3} waits, {4} arrivals\n",
                        when, counts.barriers, counts.namedBarriers, counts.waits, counts.arrivals);
  };
  counts("as lowered", before);
  counts("simplified", after);
  if (!block) {
    return;
  }
  for (size_t unit = 0; unit < kCostUnits; ++unit) {
    os << llvm::formatv("  cost      {0,-20} {1:F0} clocks per KV block\n",
                        stringifyCostUnit(static_cast<CostUnit>(unit)), block->clocks[unit]);
  }
  if (block->tensorMemoryBytes > 0) {
    os << llvm::formatv("  cost      {0,-20} {1:F0} bytes, at no known rate\n", "tensor memory",
                        block->tensorMemoryBytes);
  }
  os << llvm::formatv(
      "  cost      {0,-20} {1:F0} clocks, set by the {2}: the matrix unit at {3:F1} "
      "% of its peak at most\n",
      "period", block->period, stringifyCostUnit(block->boundBy), 100 * block->matrixShare());
  if (launchName.empty()) {
    return;
  }
  os << "  cost      launch               " << launchName << ", of the matrix unit's peak\n";
  const double matrix = block->matrixShare();
  auto share = [&](llvm::StringRef what, double part) {
    os << llvm::formatv("  cost      {0,-20} {1:F1} %\n", what, 100 * part);
  };
  share("slower units", launch.blockShare * (1 - matrix));
  share("hidden scores", (launch.blockShare - launch.usefulShare) * matrix);
  share("ramps of tiles", launch.rampShare);
  share("no tile", launch.idleShare);
  share("left", launch.usefulShare * matrix);
}

} // namespace fa4::driver
