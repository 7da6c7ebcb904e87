//===- MatrixMain.cpp - kernels of all features against the reference -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `fa4-matrix` runs a covering array: every pair of levels in some case. With
// --deep it walks the full product, in a fixed order that spreads, for a while;
// the next call goes on from there; with --every-mask it takes all types x head dims x
// masks, of the other factors what the seed draws, at once or with --deep as far. Each case is
// judged by R1, R2 and R7, and must give equal bits for packed copies of its arrays (S2). The
// kernels are T0 on the host, or with --target those of a chip: in the simulator, or with --gpu on
// this machine's, --pairs with two CTAs to a tile; --compare-simulator counts what differs, and
// with
// --verbose looks at the worst element beside the reference and the terms that it sums. With
// --compile-only nothing runs: what each kernel takes to compile, and whether it spills.
//
//===----------------------------------------------------------------------===//

#include "CaseData.h"
#include "CasePlan.h"
#include "Comparison.h"
#include "CoveringArray.h"
#include "DeviceProgram.h"
#include "Differences.h"
#include "KernelCost.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Driver/HostProgram.h"
#include "fa4/Driver/ReferenceAdapter.h"
#include "fa4/Driver/SimulatedProgram.h"
#include "fa4/Pipelines/Registration.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <mutex>
#include <thread>

using namespace fa4;
using namespace fa4::driver;
using namespace fa4::matrix;

namespace {

namespace cl = llvm::cl;
cl::opt<uint64_t> seed("seed", cl::desc("Which covering array, or order of the product"),
                       cl::init(1));
cl::opt<size_t> minimum("minimum", cl::desc("Cases at least"), cl::init(300));
cl::opt<size_t> first("first", cl::desc("First case to run"), cl::init(0));
cl::opt<size_t> count("count", cl::desc("Cases to run; 0: all"), cl::init(0));
cl::opt<unsigned> jobs("jobs", cl::desc("Cases at a time; 0: one per processor"), cl::init(0));
cl::opt<bool> verbose("verbose", cl::desc("A line for every case"));
cl::opt<bool> list("list", cl::desc("Print the cases and run nothing"));
cl::opt<std::string> target("target", cl::desc("Where the kernels run: on this CPU, or simulated"),
                            cl::value_desc("cpu or a chip"), cl::init("cpu"));
cl::opt<bool> onPairs("pairs", cl::desc("Let two CTAs compute each tile together"));
cl::opt<bool> prove("prove", cl::desc("Prove the protocol of simulated kernels"), cl::init(true));
cl::opt<bool> onGpu("gpu", cl::desc("Run the kernels of --target on the first GPU"));
cl::opt<unsigned> repeats("repeats", cl::desc("Runs on the GPU, equal bit by bit"), cl::init(1));
cl::opt<bool> compareSimulator("compare-simulator",
                               cl::desc("Count the elements that differ from those of the "
                                        "simulator, its approximations as the hardware leans, "
                                        "and say by how much; without --gpu what differs are "
                                        "the nearest approximations"));
cl::opt<bool> printModules("print-modules", cl::desc("Print the cases' modules and run nothing"));
cl::opt<bool> compileOnly("compile-only",
                          cl::desc("Compile for the target and run nothing; spills and notes of "
                                   "ptxas are failures; times need --jobs=1"));
cl::opt<std::string> ptxFolder("keep-ptx", cl::desc("With --compile-only: write each kernel's PTX"),
                               cl::value_desc("existing folder"));
cl::opt<std::string>
    deepFile("deep", cl::desc("Walk the full product, or --every-mask; progress and result file"),
             cl::value_desc("deep.csv"));
cl::opt<std::string> commit("commit", cl::desc("What to write as commit (with --deep)"),
                            cl::init("unknown"));
cl::opt<bool> everyMask("every-mask",
                        cl::desc("Instead of the covering array: all element types x head dims x "
                                 "masks, the rest drawn"));
cl::opt<double> minutes("minutes", cl::desc("How long to walk (with --deep)"), cl::init(60));

using Clock = std::chrono::steady_clock;

/// Of a device's, each of which takes long to compile; on the host one compiles faster than
/// most cases run.
constexpr size_t kCasesPerKernel = 3;

/// The `target` of our rows in deep.csv.
std::string deepTarget() {
  std::string name = target == "cpu" ? "cpu-t0" : target + (onGpu ? "-gpu" : "-sim");
  return everyMask ? name + "-masks" : name;
}

Levels levelsOfTarget() {
  const TargetInfo *info = lookupTarget(target);
  return info ? deviceLevels(info->clusterLaunchControl, onPairs) : allLevels();
}

/// Cases of one kernel, with numbers.
struct Group {
  size_t firstNumber = 0;
  std::vector<Case> cases;
};

std::vector<Group> groupByKernel(const std::vector<Case> &cases, size_t firstNumber) {
  std::vector<Group> groups;
  for (size_t number = 0; number < cases.size(); ++number) {
    const Case &point = cases[number];
    bool same = !groups.empty() && std::equal(point.begin(), point.begin() + kNumKernelFactors,
                                              groups.back().cases.front().begin());
    if (!same) {
      groups.push_back({firstNumber + number, {}});
    }
    groups.back().cases.push_back(point);
  }
  return groups;
}

mlir::DialectRegistry makeRegistry() {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  fa4::registerAllDialects(registry);
  return registry;
}

/// What one thread needs to judge cases.
class Judge {
public:
  Judge(const mlir::DialectRegistry &registry, std::shared_ptr<const runtime::CudaDevice> device,
        Differences &differences)
      : context(registry, mlir::MLIRContext::Threading::DISABLED), device(std::move(device)),
        differences(differences) {}

  /// Takes the kernel of `point`; an error says why there is none.
  llvm::Error prepare(const Case &point);
  /// What compiling it took, with --compile-only.
  const KernelCost &getCost() const { return cost; }
  /// Runs and judges a case of that kernel.
  llvm::Error judge(const Case &point);

private:
  llvm::Error compile(mlir::ModuleOp planned);
  llvm::Error runWith(const Case &point, const Entry &entry, std::vector<Argument> &arguments);
  SimulationOptions simulationOptions(const Case &point, const Entry &entry,
                                      llvm::ArrayRef<Argument> arguments) const;
  llvm::Error compare(const Case &point, const Entry &entry, llvm::ArrayRef<Argument> arguments,
                      double outputBound);

  mlir::MLIRContext context;
  std::shared_ptr<const runtime::CudaDevice> device;
  Differences &differences;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ScheduleAttr schedule;
  std::unique_ptr<HostProgram> program;
  std::unique_ptr<SimulatedProgram> simulated;
  std::unique_ptr<DeviceProgram> onDevice;
  KernelCost cost;
};

attn::ForwardOp findForward(mlir::ModuleOp module) {
  attn::ForwardOp found;
  module.walk([&](attn::ForwardOp op) { found = op; });
  return found;
}

llvm::Error Judge::compile(mlir::ModuleOp planned) {
  if (target == "cpu") {
    auto compiled = HostProgram::create(planned, Threading::Caller);
    if (!compiled) {
      return compiled.takeError();
    }
    program = std::move(*compiled);
    return llvm::Error::success();
  }
  std::string complaints;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) { complaints += "\n     " + diagnostic.str(); });
  if (compileOnly) {
    auto compiled = compileKernel(planned, lookupTargetAttr(planned).getInfo(), {prove});
    if (!compiled) {
      return llvm::createStringError(llvm::toString(compiled.takeError()) + complaints);
    }
    cost = std::move(*compiled);
    std::string complaint = cost.complaint();
    return complaint.empty() ? llvm::Error::success() : llvm::createStringError(complaint);
  }
  llvm::Expected<Entry> entry = Entry::find(planned, "main");
  if (!entry) {
    return entry.takeError();
  }
  auto compiled =
      SimulatedProgram::create(planned, *entry, lookupTargetAttr(planned).getInfo(), {prove});
  if (!compiled) {
    return llvm::createStringError(llvm::toString(compiled.takeError()) + complaints);
  }
  simulated = std::move(*compiled);
  if (device) {
    auto loaded = DeviceProgram::create(device, simulated->getBundle(), simulated->getPtx());
    if (!loaded) {
      return loaded.takeError();
    }
    onDevice = std::move(*loaded);
  }
  return llvm::Error::success();
}

llvm::Error Judge::prepare(const Case &point) {
  program.reset();
  simulated.reset();
  onDevice.reset();
  cost = {};
  std::string chip = target == "cpu" ? "sm_100a" : target.getValue();
  std::string text = "module attributes {fa4.target = #fa4.target<\"" + chip + "\">} {\n" +
                     moduleText(point) + "}\n";
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) {
    return llvm::createStringError("expected the case's module to parse:\n" + text);
  }
  mlir::OwningOpRef<mlir::ModuleOp> planned(mlir::cast<mlir::ModuleOp>((*module)->clone()));
  if (failed(lowerForHost(*planned, HostStage::Attn))) {
    return llvm::createStringError("expected the case to get a schedule:\n" + text);
  }
  attn::ForwardOp forward = findForward(*planned);
  schedule = ScheduleAttr::get(&context, editPlan(point, lookupTargetAttr(*planned).getInfo(),
                                                  onPairs, forward.getScheduleAttr().getPlan()));
  forward.setScheduleAttr(schedule);
  if (printModules) {
    planned->print(llvm::outs());
    llvm::outs() << '\n';
    return llvm::Error::success();
  }
  return compile(*planned);
}

llvm::Error Judge::compare(const Case &point, const Entry &entry,
                           llvm::ArrayRef<Argument> arguments, double outputBound) {
  std::vector<Argument> again = matrix::makeArguments(point, entry);
  SimulationOptions options = simulationOptions(point, entry, arguments);
  options.simulator.approx = sim::ApproxMode::Low;
  if (device) {
    options.processors = device->getProcessors();
  }
  if (llvm::Error error = simulated->run(again, options)) {
    return error;
  }
  auto results = [&](llvm::ArrayRef<Argument> run) {
    return Outputs{*entry.findOutput("o", run, {}), *entry.findOutput("lse", run, {})};
  };
  llvm::Expected<Comparison> comparison =
      compareOutputs(results(arguments), results(again), outputBound, [&] {
        return Terms::create(findForward(*module),
                             [&](mlir::Value operand) { return entry.bind(operand, again); });
      });
  if (!comparison) {
    return comparison.takeError();
  }
  differences.add(comparison->output, comparison->logits,
                  verbose ? describe(point) + comparison->worst : "");
  return llvm::Error::success();
}

SimulationOptions Judge::simulationOptions(const Case &point, const Entry &entry,
                                           llvm::ArrayRef<Argument> arguments) const {
  SimulationOptions options;
  options.simulator.threads = 1;
  options.processors =
      countProcessors(point, schedule.getPlan(), *entry.findOutput("o", arguments, {}));
  return options;
}

llvm::Error Judge::runWith(const Case &point, const Entry &entry,
                           std::vector<Argument> &arguments) {
  if (onDevice) {
    return onDevice->run(arguments, std::max(1U, unsigned(repeats)));
  }
  if (simulated) {
    return simulated->run(arguments, simulationOptions(point, entry, arguments));
  }
  auto results = program->run("main", arguments);
  return results ? llvm::Error::success() : results.takeError();
}

llvm::Error Judge::judge(const Case &point) {
  llvm::Expected<Entry> entry = Entry::find(*module, "main");
  if (!entry) {
    return entry.takeError();
  }
  std::vector<Argument> arguments = matrix::makeArguments(point, *entry);
  std::vector<Argument> packed = makePacked(arguments);
  if (llvm::Error error = runWith(point, *entry, arguments)) {
    return error;
  }
  const HostArray *output = entry->findOutput("o", arguments, {});
  const HostArray *lse = entry->findOutput("lse", arguments, {});
  llvm::Expected<ForwardOracle> oracle = ForwardOracle::create(
      findForward(*module), [&](mlir::Value operand) { return entry->bind(operand, arguments); },
      schedule, /*threads=*/1);
  if (!oracle) {
    return oracle.takeError();
  }
  if (target != "cpu") {
    oracle->grantDeviceProducts();
  }
  ref::CheckReport verdict = oracle->check(*output, lse);
  if (simulated && compareSimulator) {
    if (llvm::Error error = compare(point, *entry, arguments, verdict.outputBound)) {
      return error;
    }
  }
  if (!verdict.passed) {
    return llvm::createStringError(verdict.message);
  }
  if (levelName(point, Strides) != "packed") {
    if (llvm::Error error = runWith(point, *entry, packed)) {
      return error;
    }
    if (!haveEqualBits(*output, *entry->findOutput("o", packed, {})) ||
        !haveEqualBits(*lse, *entry->findOutput("lse", packed, {}))) {
      return llvm::createStringError("expected packed copies to give equal bits (S2)");
    }
  }
  return llvm::Error::success();
}

/// Runs groups on several threads and counts.
class Runner {
public:
  /// `device` is null unless the kernels run on it.
  explicit Runner(std::shared_ptr<const runtime::CudaDevice> device)
      : registry(makeRegistry()), device(std::move(device)) {}

  void run(const std::vector<Group> &groups) {
    unsigned number = jobs ? unsigned(jobs) : std::thread::hardware_concurrency();
    std::vector<std::thread> pool;
    std::atomic<size_t> next = 0;
    for (unsigned worker = 0; worker < std::max(1U, number); ++worker) {
      pool.emplace_back([&] {
        Judge judge(registry, device, differences);
        for (size_t group = next++; group < groups.size(); group = next++) {
          runGroup(judge, groups[group]);
        }
      });
    }
    for (std::thread &worker : pool) {
      worker.join();
    }
  }

  size_t numPassed = 0;
  size_t numFailed = 0;
  CostTable costs;
  Differences differences;

private:
  void runGroup(Judge &judge, const Group &group) {
    auto start = Clock::now();
    llvm::Error prepared = judge.prepare(group.cases.front());
    std::string reason = prepared ? llvm::toString(std::move(prepared)) : "";
    if (compileOnly) {
      recordCost(group, judge.getCost(), reason);
      return;
    }
    for (size_t number = 0; number < group.cases.size(); ++number) {
      std::string message = reason;
      if (message.empty()) {
        llvm::Error error =
            printModules ? llvm::Error::success() : judge.judge(group.cases[number]);
        message = error ? llvm::toString(std::move(error)) : "";
      }
      std::chrono::duration<double> time = Clock::now() - start;
      start = Clock::now();
      record(group.firstNumber + number, group.cases[number], message, time.count());
    }
  }

  void recordCost(const Group &group, const KernelCost &cost, const std::string &message) {
    record(group.firstNumber, group.cases.front(), message, 0.0);
    if (!ptxFolder.empty() && !cost.ptx.empty()) {
      std::ofstream(ptxFolder + "/" + std::to_string(group.firstNumber) + ".ptx") << cost.ptx;
    }
    std::lock_guard<std::mutex> lock(mutex);
    if (!cost.times.empty()) {
      costs.add(group.firstNumber, cost);
    }
    if (!verbose) {
      return;
    }
    llvm::outs() << "    ";
    for (const StageTime &time : cost.times) {
      llvm::outs() << ' ' << time.stage << llvm::format(" %.3f", time.seconds);
    }
    if (cost.assembled) {
      for (const KernelUsage &kernel : cost.assembled->kernels) {
        llvm::outs() << ", registers " << kernel.registers;
      }
    }
    llvm::outs() << '\n';
  }

  void record(size_t number, const Case &point, const std::string &message, double seconds) {
    std::lock_guard<std::mutex> lock(mutex);
    ++(message.empty() ? numPassed : numFailed);
    if (!message.empty() || verbose) {
      llvm::outs() << (message.empty() ? "ok   " : "FAIL ") << number << " "
                   << llvm::format("%.2f s ", seconds) << describe(point) << '\n';
      if (!message.empty()) {
        llvm::outs() << "     " << message << '\n';
      }
      llvm::outs().flush();
    }
  }

  mlir::DialectRegistry registry;
  std::shared_ptr<const runtime::CudaDevice> device;
  std::mutex mutex;
};

/// The result file without the row of this commit, whose totals go to `runner`.
std::vector<std::string> readResults(const std::string &path, Runner &runner) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(file, line)) {
    llvm::SmallVector<llvm::StringRef> fields;
    llvm::StringRef(line).split(fields, ',');
    constexpr size_t numColumns = 5;
    bool mine = fields.size() == numColumns && fields[0] == commit && fields[1] == deepTarget() &&
                !fields[3].getAsInteger(10, runner.numPassed) &&
                !fields[4].getAsInteger(10, runner.numFailed);
    if (!mine) {
      lines.push_back(line);
    }
  }
  if (lines.empty()) {
    lines.emplace_back("commit,target,cases,passed,failed");
  }
  return lines;
}

void writeResults(const std::string &path, const std::vector<std::string> &lines,
                  const Runner &runner) {
  std::ofstream file(path);
  for (const std::string &line : lines) {
    file << line << '\n';
  }
  file << commit.getValue() << ',' << deepTarget() << ',' << runner.numPassed + runner.numFailed
       << ',' << runner.numPassed << ',' << runner.numFailed << '\n';
}

/// Opens the first GPU with a driver that outlives it.
llvm::Error openGpu(runtime::cuda::Driver &driver,
                    std::shared_ptr<const runtime::CudaDevice> &device) {
  llvm::Expected<runtime::cuda::Driver> loaded = runtime::cuda::loadDriver();
  if (!loaded) {
    return loaded.takeError();
  }
  driver = *loaded;
  auto opened = runtime::CudaDevice::open(driver, 0);
  if (!opened) {
    return opened.takeError();
  }
  device = std::move(*opened);
  return llvm::Error::success();
}

int runDeep(std::shared_ptr<const runtime::CudaDevice> device) {
  Runner runner(std::move(device));
  std::vector<std::string> lines = readResults(deepFile, runner);
  const Levels levels = levelsOfTarget();
  std::vector<Case> masks;
  if (everyMask) {
    masks = makeMaskProduct(levels, seed, kCasesPerKernel);
  }
  const uint64_t total = everyMask ? masks.size() : productSize(levels);
  auto end = Clock::now() + std::chrono::duration<double>(60.0 * minutes);
  constexpr size_t chunk = 20 * kCasesPerKernel;
  while (Clock::now() < end) {
    size_t done = runner.numPassed + runner.numFailed;
    std::vector<Case> cases;
    for (size_t number = done; number < done + chunk && number < total; ++number) {
      cases.push_back(everyMask ? masks[number] : productCase(levels, seed, number));
    }
    if (cases.empty()) {
      break;
    }
    runner.run(groupByKernel(cases, done));
    writeResults(deepFile, lines, runner);
  }
  const size_t done = runner.numPassed + runner.numFailed;
  llvm::outs() << done << " of " << total << " cases so far, " << total - done << " left\n"
               << runner.numPassed << " passed, " << runner.numFailed << " failed\n";
  return runner.numFailed ? 1 : 0;
}

int runArray(std::shared_ptr<const runtime::CudaDevice> device) {
  std::vector<Case> cases = everyMask ? makeMaskProduct(levelsOfTarget(), seed, kCasesPerKernel)
                                      : makeCoveringArray(levelsOfTarget(), seed, minimum,
                                                          target == "cpu" ? 0 : kCasesPerKernel);
  llvm::outs() << cases.size() << " cases, " << countMissingPairs(levelsOfTarget(), cases)
               << " pairs of levels missing\n";
  size_t begin = std::min<size_t>(first, cases.size());
  size_t end = count ? std::min<size_t>(begin + count, cases.size()) : cases.size();
  cases = std::vector<Case>(cases.begin() + static_cast<ptrdiff_t>(begin),
                            cases.begin() + static_cast<ptrdiff_t>(end));
  std::vector<Group> groups = groupByKernel(cases, begin);
  llvm::outs() << groups.size() << " kernels\n";
  llvm::outs().flush();
  if (list) {
    for (size_t number = 0; number < cases.size(); ++number) {
      llvm::outs() << begin + number << " " << describe(cases[number]) << '\n';
    }
    return 0;
  }
  Runner runner(std::move(device));
  runner.run(groups);
  if (compileOnly) {
    runner.costs.print(llvm::outs());
  }
  if (compareSimulator) {
    runner.differences.print(llvm::outs());
  }
  llvm::outs() << runner.numPassed << " passed, " << runner.numFailed << " failed\n";
  return runner.numFailed ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv,
                              "kernels of all features against the float64 reference\n");
  if (compileOnly && target == "cpu") {
    llvm::errs() << "error: expected --target to be a chip with --compile-only, but got cpu\n";
    return 2;
  }
  if (target != "cpu" && !lookupTarget(target)) {
    llvm::errs() << "error: expected --target to be cpu or a known chip, but got '" << target
                 << "'\n";
    return 2;
  }
  runtime::cuda::Driver driver;
  std::shared_ptr<const runtime::CudaDevice> device;
  if (onGpu) {
    if (llvm::Error error = openGpu(driver, device)) {
      llvm::errs() << "error: " << llvm::toString(std::move(error)) << '\n';
      return 2;
    }
  }
  return deepFile.empty() ? runArray(std::move(device)) : runDeep(std::move(device));
}
