//===- OrdersMain.cpp - shipped kernels in many orders of events ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `fa4-orders` runs what the compiler makes by default of a list of attentions, and of
// one attention with every scheduler, in the simulator, with race detection: random orders of
// events, the orders of the tensor pipe that hardware shows and those that PTX promises, every way
// of choosing inside the bounds of approximate functions. Each run must end without a fault, its
// results must hold against the reference, and where the approximations do not depend on the seed,
// their bits must be those of every other order.
//
// A block of seeds is a unit: what the log has is not run again, and processes with
// different --shard share the units.
//
//===----------------------------------------------------------------------===//

#include "CaseData.h"
#include "CasePlan.h"
#include "Configurations.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Driver/HostProgram.h"
#include "fa4/Driver/ReferenceAdapter.h"
#include "fa4/Driver/SimulatedProgram.h"
#include "fa4/Pipelines/Registration.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <chrono>
#include <fstream>
#include <map>

using namespace fa4;
using namespace fa4::driver;
using namespace fa4::matrix;

namespace {

namespace cl = llvm::cl;
cl::opt<unsigned> seeds("seeds", cl::desc("Orders per configuration, pipe and approximation"),
                        cl::init(200));
cl::opt<unsigned> blockSize("block", cl::desc("Of them in one unit"), cl::init(25));
cl::opt<std::string> shard("shard", cl::desc("Which of how many processes this is"),
                           cl::value_desc("number/count"), cl::init("0/1"));
cl::opt<std::string> logFolder("log", cl::desc("Where to keep what was seen, to go on from"),
                               cl::value_desc("folder"), cl::Required);
cl::opt<std::string> commit("commit", cl::desc("What the rows have as commit"),
                            cl::init("unknown"));
cl::opt<double> minutes("minutes", cl::desc("How long to go on"), cl::init(60));
cl::opt<std::string> only("only", cl::desc("Configurations whose name contains the text"));
cl::opt<bool> list("list",
                   cl::desc("Print the configurations and the number of units, and run nothing"));
cl::opt<std::string> reportFile("report", cl::desc("Sum up the log there and run nothing"),
                                cl::value_desc("orders.csv"));

const std::pair<const char *, sim::ApproxMode> approximations[] = {
    {"nearest", sim::ApproxMode::Nearest},
    {"low", sim::ApproxMode::Low},
    {"jitter", sim::ApproxMode::Jitter},
    {"edge", sim::ApproxMode::Edge}};

/// A block of seeds of one configuration under one choice of rules.
struct Unit {
  const Configuration *configuration = nullptr;
  bool isa = false;
  unsigned approximation = 0;
  unsigned first = 0, count = 0;

  std::string key() const {
    return configuration->chip + "," + configuration->name + "," + (isa ? "isa" : "hw") + "," +
           approximations[approximation].first + "," + std::to_string(first) + "," +
           std::to_string(count);
  }
};

/// All units: the default approximation of every configuration comes first, and
/// neighbours share a kernel.
std::vector<Unit> listUnits(const std::vector<Configuration> &configurations) {
  std::vector<Unit> units;
  for (unsigned number = 0; number < std::size(approximations); ++number) {
    for (const Configuration &configuration : configurations) {
      if (!llvm::StringRef(configuration.chip + " " + configuration.name).contains(only)) {
        continue;
      }
      for (bool isa : {false, true}) {
        if (isa && configuration.chip != "sm_100a") {
          continue; // nothing of sm_90a has a pipe to choose
        }
        for (unsigned first = 0; first < seeds; first += blockSize) {
          units.push_back(
              {&configuration, isa, number, first, std::min<unsigned>(blockSize, seeds - first)});
        }
      }
    }
  }
  return units;
}

/// One compiled configuration.
class Kernel {
public:
  explicit Kernel(const Configuration &configuration) : configuration(configuration) {}

  llvm::Error compile(mlir::MLIRContext &context);
  /// What is wrong with one order; empty: nothing.
  std::string run(const Unit &unit, unsigned seed);

private:
  /// The bytes of each array that the kernel writes.
  using Results = std::vector<std::vector<uint8_t>>;
  llvm::Error runWith(const sim::Options &options);
  std::string checkNumbers() const;
  Results copyResults() const;

  const Configuration &configuration;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Schedule plan;
  std::optional<Entry> entry;
  std::unique_ptr<SimulatedProgram> program;
  std::optional<ForwardOracle> oracle;
  /// Made once; what the kernel writes is put back before each run.
  std::vector<Argument> arguments;
  std::vector<std::shared_ptr<HostArray>> written;
  Results before;
  /// By approximation that no seed changes: what the order without chance gives, which
  /// holds against the reference.
  std::map<unsigned, Results> expected;
};

} // namespace

llvm::Error Kernel::compile(mlir::MLIRContext &context) {
  std::string text = "module attributes {fa4.target = #fa4.target<\"" + configuration.chip +
                     "\">} {\n" + moduleText(configuration.point) + "}\n";
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) {
    return llvm::createStringError("expected the module to parse:\n" + text);
  }
  mlir::OwningOpRef<mlir::ModuleOp> planned(mlir::cast<mlir::ModuleOp>((*module)->clone()));
  if (failed(lowerForHost(*planned, HostStage::Attn))) {
    return llvm::createStringError("expected a schedule for:\n" + text);
  }
  auto findForward = [](mlir::ModuleOp from) {
    attn::ForwardOp found;
    from.walk([&](attn::ForwardOp op) { found = op; });
    return found;
  };
  attn::ForwardOp forward = findForward(*planned);
  plan = forward.getScheduleAttr().getPlan();
  if (configuration.statesScheduler) {
    stateScheduler(configuration.point, plan);
  }
  if (configuration.onPairs) {
    pairCtas(plan);
  }
  auto schedule = ScheduleAttr::get(&context, plan);
  forward.setScheduleAttr(schedule);
  llvm::Expected<Entry> found = Entry::find(*module, "main");
  if (!found) {
    return found.takeError();
  }
  entry.emplace(std::move(*found));
  auto compiled = SimulatedProgram::create(*planned, *entry, lookupTargetAttr(*planned).getInfo(),
                                           {/*prove=*/false});
  if (!compiled) {
    return compiled.takeError();
  }
  program = std::move(*compiled);
  arguments = matrix::makeArguments(configuration.point, *entry);
  for (auto [declared, argument] : llvm::zip_equal(program->getBundle().arguments, arguments)) {
    auto *array = std::get_if<std::shared_ptr<HostArray>>(&argument);
    if (array && declared.access == runtime::Access::Write) {
      written.push_back(*array);
    }
  }
  before = copyResults();
  auto made = ForwardOracle::create(
      findForward(*module), [&](mlir::Value operand) { return entry->bind(operand, arguments); },
      schedule, /*threads=*/1);
  if (!made) {
    return made.takeError();
  }
  oracle.emplace(std::move(*made));
  oracle->grantDeviceProducts();
  return llvm::Error::success();
}

llvm::Error Kernel::runWith(const sim::Options &options) {
  for (auto [array, bytes] : llvm::zip_equal(written, before)) {
    llvm::copy(bytes, array->getSpan().begin());
  }
  SimulationOptions simulation;
  simulation.simulator = options;
  simulation.simulator.threads = 1;
  simulation.processors =
      countProcessors(configuration.point, plan, *entry->findOutput("o", arguments, {}));
  return program->run(arguments, simulation);
}

std::string Kernel::checkNumbers() const {
  const HostArray *output = entry->findOutput("o", arguments, {});
  const HostArray *lse = entry->findOutput("lse", arguments, {});
  ref::CheckReport verdict = oracle->check(*output, lse);
  return verdict.passed ? "" : verdict.message;
}

Kernel::Results Kernel::copyResults() const {
  Results results;
  for (const std::shared_ptr<HostArray> &array : written) {
    llvm::MutableArrayRef<uint8_t> span = array->getSpan();
    results.emplace_back(span.begin(), span.end());
  }
  return results;
}

std::string Kernel::run(const Unit &unit, unsigned seed) {
  sim::Options options;
  options.approx = approximations[unit.approximation].second;
  bool seeded =
      options.approx == sim::ApproxMode::Jitter || options.approx == sim::ApproxMode::Edge;
  if (!seeded && expected.find(unit.approximation) == expected.end()) {
    if (llvm::Error error = runWith(options)) {
      return llvm::toString(std::move(error));
    }
    if (std::string complaint = checkNumbers(); !complaint.empty()) {
      return complaint;
    }
    expected[unit.approximation] = copyResults();
  }
  options.races = true;
  options.policy = sim::Policy::Random;
  options.pipeIsa = unit.isa;
  options.seed = seed;
  options.spuriousTryWait = seed % 2 == 1;
  if (llvm::Error error = runWith(options)) {
    return llvm::toString(std::move(error));
  }
  if (seeded) {
    return checkNumbers();
  }
  return copyResults() == expected[unit.approximation]
             ? ""
             : "expected the bits of another order, but got others";
}

/// Rows `chip,name,pipe,approximation,first,count,alarms` of all processes so far.
static std::map<std::string, unsigned> readLog() {
  std::map<std::string, unsigned> rows;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator file(logFolder, code), end; file != end && !code;
       file.increment(code)) {
    std::ifstream stream(file->path());
    std::string line;
    if (!std::getline(stream, line) || line != commit) {
      continue; // of another state, or not ours
    }
    while (std::getline(stream, line)) {
      auto [key, alarms] = llvm::StringRef(line).rsplit(',');
      unsigned number = 0;
      if (!alarms.getAsInteger(10, number)) {
        rows[key.str()] = number;
      }
    }
  }
  return rows;
}

/// The rows of the report so far without their commit, with it.
static std::map<std::string, std::string> readReport() {
  std::map<std::string, std::string> rows;
  std::ifstream file(reportFile);
  std::string line;
  std::getline(file, line); // the names of the columns
  while (std::getline(file, line)) {
    auto [state, rest] = llvm::StringRef(line).split(',');
    rows[rest.rsplit(',').first.rsplit(',').first.str()] = line;
  }
  return rows;
}

/// Rows of what the log has are written anew; others stay, with the commit they are of.
static llvm::Error writeReport() {
  // Keys without the block of seeds, with runs and alarms.
  std::map<std::string, std::pair<unsigned, unsigned>> sums;
  for (const auto &[key, alarms] : readLog()) {
    auto [rest, count] = llvm::StringRef(key).rsplit(',');
    unsigned runs = 0;
    if (!count.getAsInteger(10, runs)) {
      auto &sum = sums[rest.rsplit(',').first.str()];
      sum.first += runs;
      sum.second += alarms;
    }
  }
  std::map<std::string, std::string> rows = readReport();
  size_t runs = 0;
  size_t alarms = 0;
  for (const auto &[key, sum] : sums) {
    rows[key] =
        commit + "," + key + "," + std::to_string(sum.first) + "," + std::to_string(sum.second);
    runs += sum.first;
    alarms += sum.second;
  }
  std::ofstream file(reportFile);
  file << "commit,target,configuration,pipe,approximation,runs,alarms\n";
  for (const auto &[key, row] : rows) {
    file << row << '\n';
  }
  llvm::outs() << sums.size() << " rows, " << runs << " runs, " << alarms << " alarms\n";
  return llvm::Error::success();
}

static llvm::Error runUnits(unsigned number, unsigned of) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  fa4::registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  std::vector<Configuration> configurations = listConfigurations();
  std::vector<Unit> units = listUnits(configurations);
  std::map<std::string, unsigned> known = readLog();
  llvm::SmallString<128> path(logFolder.getValue());
  llvm::sys::path::append(path,
                          "shard-" + std::to_string(number) + "-of-" + std::to_string(of) + ".csv");
  std::string header;
  std::getline(std::ifstream(path.c_str()), header);
  std::ofstream log(path.c_str(), header == commit ? std::ios::app : std::ios::trunc);
  if (header != commit) {
    log << commit << std::endl;
  }
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(minutes * 60);
  std::unique_ptr<Kernel> kernel;
  const Configuration *compiled = nullptr;
  size_t runs = 0;
  size_t alarms = 0;
  for (size_t index = number; index < units.size(); index += of) {
    const Unit &unit = units[index];
    if (known.find(unit.key()) != known.end()) {
      continue;
    }
    if (std::chrono::steady_clock::now() > end) {
      llvm::outs() << "not all units were run in the time given; call again\n";
      break;
    }
    if (compiled != unit.configuration) {
      kernel = std::make_unique<Kernel>(*unit.configuration);
      compiled = unit.configuration;
      if (llvm::Error error = kernel->compile(context)) {
        return llvm::createStringError(compiled->chip + " " + compiled->name + ": " +
                                       llvm::toString(std::move(error)));
      }
    }
    unsigned wrong = 0;
    for (unsigned seed = unit.first; seed < unit.first + unit.count; ++seed) {
      std::string complaint = kernel->run(unit, seed);
      ++runs;
      if (!complaint.empty()) {
        ++wrong;
        llvm::errs() << "ALARM " << unit.key() << " seed " << seed << ": " << complaint << '\n';
      }
    }
    alarms += wrong;
    log << unit.key() << ',' << wrong << std::endl;
  }
  llvm::outs() << runs << " runs, " << alarms << " alarms\n";
  return alarms == 0 ? llvm::Error::success()
                     : llvm::createStringError("expected no alarm, but got those above");
}

static llvm::Error runTool() {
  if (llvm::sys::fs::create_directories(logFolder)) {
    return llvm::createStringError("expected '" + logFolder + "' to be a folder");
  }
  if (!reportFile.empty()) {
    return writeReport();
  }
  if (list) {
    std::vector<Configuration> configurations = listConfigurations();
    for (const Configuration &configuration : configurations) {
      llvm::outs() << configuration.chip << ' ' << configuration.name << '\n';
    }
    llvm::outs() << listUnits(configurations).size() << " units\n";
    return llvm::Error::success();
  }
  auto [number, of] = llvm::StringRef(shard).split('/');
  unsigned index = 0;
  unsigned count = 0;
  if (number.getAsInteger(10, index) || of.getAsInteger(10, count) || index >= count) {
    return llvm::createStringError("expected --shard to be a number below a count, but got '" +
                                   shard + "'");
  }
  return runUnits(index, count);
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "shipped kernels in many orders of events\n");
  if (llvm::Error error = runTool()) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << '\n';
    return 1;
  }
  return 0;
}
