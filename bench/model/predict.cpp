//===- predict.cpp - the cost model over a table of cases -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads cases as CSV, one kernel and launch a line, and writes what the library
// predicts of them. model.py makes the cases and judges the answers.
//
//===----------------------------------------------------------------------===//

#include "fa4/Planning/CostModel.h"
#include "fa4/Planning/ScheduleSelection.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace fa4;
namespace cl = llvm::cl;

namespace {
/// What a fit varies; 0: the library's.
struct FreeNumbers {
  double warpIssue = 0;
  double clocksPerTile = 0;
};

/// One line by the names of its columns.
class Case {
public:
  Case(llvm::ArrayRef<llvm::StringRef> header, llvm::ArrayRef<llvm::StringRef> cells) {
    for (auto [name, cell] : llvm::zip(header, cells)) {
      values[name] = cell.trim().str();
    }
  }
  std::string text(llvm::StringRef name) const { return values.lookup(name); }
  int64_t number(llvm::StringRef name) const {
    int64_t value = 0;
    llvm::StringRef(text(name)).getAsInteger(10, value);
    return value;
  }

private:
  llvm::StringMap<std::string> values;
};
} // namespace

/// `role:exp2:fma:packed:alu:other;…`, per warp and block.
static std::vector<RoleCost> parseCounts(const Schedule &schedule, llvm::StringRef text) {
  std::vector<RoleCost> roles;
  llvm::SmallVector<llvm::StringRef> entries;
  text.split(entries, ';', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef entry : entries) {
    llvm::SmallVector<llvm::StringRef> parts;
    entry.split(parts, ':');
    for (const Role &role : schedule.roles) {
      if (role.name != parts[0] || parts.size() != 6) {
        continue;
      }
      UnitCounts counts;
      double *fields[] = {&counts.exp2, &counts.fma, &counts.packedFma, &counts.alu, &counts.other};
      for (auto [field, part] : llvm::zip(fields, llvm::ArrayRef(parts).drop_front())) {
        part.getAsDouble(*field);
      }
      roles.push_back({role.name, role.warps * role.replicas, counts});
    }
  }
  return roles;
}

/// The case's answer, or what is wrong with it.
static std::string predict(const Case &input, const FreeNumbers &numbers) {
  const TargetInfo *target = lookupTarget(input.text("target"));
  if (!target) {
    return "error: expected target to be a known chip, but got '" + input.text("target") + "'";
  }
  const bool causal = input.number("causal") != 0;
  const ForwardProblem problem{input.number("query_key_dim"), input.number("value_dim"), 2, causal};
  const TileChoice tile{input.number("rows"), input.number("columns"), input.number("stages")};
  std::string violation;
  std::optional<ScheduleChoice> choice = tile.rows > 0
                                             ? buildForward(problem, *target, tile, violation)
                                             : selectForward(problem, *target, violation);
  if (!choice) {
    return "error: " + violation;
  }
  Schedule schedule = choice->schedule;
  schedule.ctas = std::max<int64_t>(input.number("ctas"), 1);
  if (input.text("work") == "one_per_cluster") {
    schedule.work = WorkKind::OnePerCluster;
  } else if (input.text("work") == "static_persistent") {
    schedule.work = WorkKind::StaticPersistent;
  }
  if (input.text("order") == "in_order") {
    schedule.workOrder = WorkOrder::InOrder;
  }
  std::vector<RoleCost> counts = parseCounts(schedule, input.text("counts"));
  if (counts.empty()) {
    counts = estimateInstructions(problem, schedule, *target);
  }
  UnitRates rates = unitRates(*target);
  if (numbers.warpIssue > 0) {
    rates.warpIssueBesideMma = numbers.warpIssue;
  }
  const BlockCost block = costOfBlock(problem, schedule, *target, rates, counts);
  const ForwardShape shape{input.number("batch"),
                           input.number("heads"),
                           input.number("queries"),
                           input.number("keys"),
                           causal,
                           numbers.clocksPerTile};
  const GridCost grid =
      costOfGrid(problem, schedule, *target, block, shape, input.number("multiprocessors"));
  std::string line = input.text("case");
  for (double clocks : block.clocks) {
    line += llvm::formatv(",{0:F1}", clocks).str();
  }
  line += llvm::formatv(",{0:F1},{1},{2:F0},{3:F0},{4:F4},{5:F4},{6:F4},{7:F4}", block.period,
                        stringifyCostUnit(block.boundBy), grid.clocks, grid.flops, grid.blockShare,
                        grid.usefulShare, grid.rampShare, grid.blockShare * block.matrixShare())
              .str();
  return line;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::opt<double> warpIssue("warp-issue",
                            cl::desc("Share of issue slots that one warp can use "
                                     "beside a busy matrix unit"),
                            cl::init(0));
  cl::opt<double> clocksPerTile("clocks-per-tile", cl::desc("What a tile takes beside its blocks"),
                                cl::init(0));
  cl::ParseCommandLineOptions(argc, argv, "what the cost model says of a table of cases\n");
  auto input = llvm::MemoryBuffer::getSTDIN();
  if (!input) {
    llvm::errs() << "error: expected cases on standard input, but got none\n";
    return 2;
  }
  llvm::SmallVector<llvm::StringRef> lines, header;
  (*input)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  llvm::outs() << "case,matrix,shared_memory,exp2,fma,alu,issue,chain,period,bound_by,clocks,flops,"
                  "block_share,useful_share,tile_share,matrix_share\n";
  for (llvm::StringRef line : lines) {
    llvm::SmallVector<llvm::StringRef> cells;
    line.split(cells, ',');
    if (header.empty()) {
      header = cells;
      continue;
    }
    const std::string answer = predict(Case(header, cells), {warpIssue, clocksPerTile});
    if (llvm::StringRef(answer).starts_with("error")) {
      llvm::errs() << answer << '\n';
      return 1;
    }
    llvm::outs() << answer << '\n';
  }
  return 0;
}
