//===- fa4-sim.cpp - runs PTX without a GPU ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exit status: 0 clean, 1 a fault of severity error, 2 a wrong command line or
// input that cannot be loaded, 3 incomplete. Warnings alone leave it at 0.
//
//===----------------------------------------------------------------------===//

#include "BareLaunch.h"
#include "BundleLaunch.h"
#include "TimelineFile.h"
#include "fa4/Simulator/ExecutionCounts.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

#include <chrono>
#include <ctime>

using namespace llvm;
using namespace fa4;

static cl::OptionCategory category("fa4-sim options");
static cl::opt<std::string> bundleFile(cl::Positional, cl::desc("[bundle.json]"),
                                       cl::cat(category));
static cl::list<std::string>
    arguments("arg", cl::desc("Argument of the bundle, see BundleArguments.h"), cl::cat(category));
static cl::opt<std::string> ptxFile("ptx", cl::desc("PTX file"), cl::cat(category));
static cl::opt<std::string> entryName("entry", cl::desc("Entry (default: the only one)"),
                                      cl::cat(category));
static cl::opt<std::string> gridText("grid", cl::init("1"), cl::desc("Grid, x,y,z"),
                                     cl::cat(category));
static cl::opt<std::string> blockText("block", cl::desc("Block, x,y,z (default: .reqntid)"),
                                      cl::cat(category));
static cl::opt<std::string> clusterText("cluster", cl::desc("Cluster, x,y,z"), cl::cat(category));
static cl::opt<uint32_t> sharedBytes("smem", cl::desc("Dynamic shared memory in bytes"),
                                     cl::cat(category));
static cl::list<std::string> parameters("param", cl::desc("Parameters in order, see BareLaunch.h"),
                                        cl::cat(category));
static cl::list<std::string> dumps("dump", cl::desc("Print NAME:TYPE:FIRST:COUNT after the run"),
                                   cl::cat(category));
static cl::list<std::string>
    outputs("out", cl::desc("Write NAME=PATH.npy of a bundle, else NAME:TYPE:SHAPE=PATH.npy"),
            cl::cat(category));
static cl::opt<uint64_t> seed("seed", cl::init(1), cl::desc("Seed of every choice"),
                              cl::cat(category));
static cl::opt<unsigned> threads("jobs", cl::desc("Worker threads (default: host cores)"),
                                 cl::cat(category));
static cl::opt<sim::Policy>
    policy("schedule", cl::init(sim::Policy::RunToBlock), cl::desc("How warps are interleaved"),
           cl::values(clEnumValN(sim::Policy::RunToBlock, "block", "run each warp until it waits"),
                      clEnumValN(sim::Policy::Random, "random", "seeded switches")),
           cl::cat(category));
static cl::opt<sim::TensorMode>
    mmaMode("mma", cl::init(sim::TensorMode::Exact), cl::desc("Tensor-core arithmetic"),
            cl::values(clEnumValN(sim::TensorMode::Exact, "exact", "as the hardware sums"),
                       clEnumValN(sim::TensorMode::F32Fma, "f32", "chain of f32 fma"),
                       clEnumValN(sim::TensorMode::F64, "f64", "f64 sums")),
            cl::cat(category));
static cl::opt<sim::ApproxMode> approxMode(
    "approx", cl::init(sim::ApproxMode::Nearest), cl::desc("Approximate functions"),
    cl::values(clEnumValN(sim::ApproxMode::Nearest, "nearest", "correctly rounded"),
               clEnumValN(sim::ApproxMode::Low, "low", "as the hardware leans"),
               clEnumValN(sim::ApproxMode::Jitter, "jitter", "seeded error within the bound"),
               clEnumValN(sim::ApproxMode::Edge, "edge", "always at the bound")),
    cl::cat(category));
static cl::opt<unsigned>
    processors("processors", cl::init(4),
               cl::desc("Multiprocessors of the device: CTAs of a persistent kernel"),
               cl::cat(category));
static cl::opt<bool> spurious("spurious-try-wait", cl::desc("try_wait may fail for no reason"),
                              cl::cat(category));
static cl::opt<bool> tmemZero("tmem-base-zero", cl::desc("Tensor memory starts at column 0"),
                              cl::cat(category));
namespace {
enum class Pipe { Hw, Isa };
} // namespace
static cl::opt<Pipe> pipe("pipe", cl::init(Pipe::Hw),
                          cl::desc("What orders tcgen05 operations of one CTA"),
                          cl::values(clEnumValN(Pipe::Hw, "hw", "their issue, as on the hardware"),
                                     clEnumValN(Pipe::Isa, "isa", "only the pairs that PTX names")),
                          cl::cat(category));
static cl::opt<bool> races("races", cl::desc("Report accesses that nothing orders"),
                           cl::cat(category));
static cl::opt<bool> lenientTensor("lenient-tcgen05",
                                   cl::desc("With --races: ask neither for tcgen05.fence nor for "
                                            "tcgen05.wait::ld"),
                                   cl::cat(category));
static cl::opt<bool> lenientScope("lenient-scope",
                                  cl::desc("With --races: take mbarrier operations between CTAs "
                                           "for ones of .cluster scope"),
                                  cl::cat(category));
static cl::opt<unsigned>
    orders("orders", cl::desc("Try so many random schedules, the first from --schedule-seed"),
           cl::cat(category));
static cl::opt<uint64_t>
    scheduleSeed("schedule-seed",
                 cl::desc("Seed of the schedule alone (default: --seed), as --orders prints it"),
                 cl::cat(category));
static cl::opt<uint64_t> budget("budget", cl::init(uint64_t(1) << 36),
                                cl::desc("Warp instructions per cluster"), cl::cat(category));
static cl::opt<unsigned> resident("resident", cl::init(8),
                                  cl::desc("Clusters in flight per worker"), cl::cat(category));
static cl::opt<std::string>
    timelineFile("timeline",
                 cl::desc("Write what happens as a trace for Chrome, Perfetto or fa4-explain; its "
                          "times are steps of the simulator, not of a GPU"),
                 cl::value_desc("file.json"), cl::cat(category));
static cl::opt<std::string>
    countsFile("counts",
               cl::desc("Write how often each warp executed each PTX instruction: kernel, rank of "
                        "the CTA in its cluster, warp, line, opcode, number"),
               cl::value_desc("file.csv"), cl::cat(category));
static cl::opt<bool> checkOnly("check", cl::desc("Load every entry and stop"), cl::cat(category));
static cl::opt<bool> printOnly("print", cl::desc("Print the module as parsed and stop"),
                               cl::cat(category));
static cl::opt<bool> showStats("speed", cl::desc("Print speed"), cl::cat(category));
static cl::opt<bool> showProgress("progress", cl::desc("Print finished clusters"),
                                  cl::cat(category));

namespace {
enum ExitCode { Clean = 0, Faulty = 1, Unusable = 2, Incomplete = 3 };
} // namespace

static int unusable(Error e) {
  WithColor::error(errs(), "fa4-sim") << toString(std::move(e)) << '\n';
  return Unusable;
}

static sim::Options makeOptions() {
  sim::Options o;
  o.seed = scheduleSeed.getNumOccurrences() ? scheduleSeed : seed;
  o.threads = threads;
  o.policy = policy;
  o.mma = mmaMode;
  o.approx = approxMode;
  o.spuriousTryWait = spurious;
  o.tmemBaseZero = tmemZero;
  o.pipeIsa = pipe == Pipe::Isa;
  o.races = races;
  o.strictTensor = !lenientTensor;
  o.strictScope = !lenientScope;
  o.instructionBudget = budget;
  o.resident = resident;
  if (showProgress) {
    o.progress = [](uint64_t done, uint64_t total) {
      errs() << "clusters: " << done << " of " << total << '\n';
    };
  }
  return o;
}

static int checkEntries(sim::Program &program) {
  int code = Clean;
  for (StringRef name : program.entries()) {
    auto kernel = program.kernel(name);
    if (!kernel) {
      outs() << name << ": refused\n" << toString(kernel.takeError()) << '\n';
      code = Unusable;
      continue;
    }
    outs() << name << ": " << (*kernel)->code.size() << " instructions, " << (*kernel)->paramBytes
           << " parameter bytes\n";
  }
  return code;
}

namespace {
/// Wall time, and processor time of all threads: what speeds are quoted in.
struct Stopwatch {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::clock_t processorStart = std::clock();
  double wall() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  double processor() const {
    return std::max(double(std::clock() - processorStart) / CLOCKS_PER_SEC, 1e-6);
  }
};
} // namespace

static int finish(const sim::FaultLog &log, const sim::Statistics &stats, const Stopwatch &watch) {
  for (const sim::Fault &f : log.take()) {
    sim::printFault(outs(), f);
  }
  if (showStats) {
    double wall = watch.wall(), cpu = watch.processor();
    outs() << format("seconds %.3f, processor seconds %.3f; per processor second: %.2f M warp "
                     "instructions, %.2f mma GFLOP; in all %.3f M, %.3f GFLOP, %llu clusters\n",
                     wall, cpu, stats.warpInstructions * 1e-6 / cpu, stats.mmaFlops * 1e-9 / cpu,
                     stats.warpInstructions * 1e-6, stats.mmaFlops * 1e-9,
                     (unsigned long long)stats.clusters);
  }
  if (log.has(sim::FaultId::Incomplete)) {
    return Incomplete;
  }
  return log.hasErrors() ? Faulty : Clean;
}

/// One run from fresh memory.
struct Run {
  const sim::Options &options;
  sim::FaultLog &log;
  sim::Statistics &stats;
  /// Called when the grids have run; whether results are to be written then.
  function_ref<bool()> finished;
};

static Expected<const sim::Kernel *> chooseEntry(sim::Program &program) {
  std::string name = entryName;
  std::vector<StringRef> entries = program.entries();
  if (name.empty()) {
    if (entries.size() != 1) {
      return createStringError(inconvertibleErrorCode(), "expected --entry for a module with " +
                                                             Twine(entries.size()) +
                                                             " entries, but got none");
    }
    name = entries.front().str();
  }
  return program.kernel(name);
}

static Error runBare(sim::Program &program, const Run &run) {
  Expected<const sim::Kernel *> kernel = chooseEntry(program);
  if (!kernel) {
    return kernel.takeError();
  }
  sim::Launch launch;
  auto grid = tool::parseDim(gridText);
  if (!grid) {
    return grid.takeError();
  }
  launch.grid = *grid;
  const uint32_t *required = (*kernel)->reqntid;
  launch.block = {std::max(required[0], 1u), std::max(required[1], 1u), std::max(required[2], 1u)};
  if (!blockText.empty()) {
    auto block = tool::parseDim(blockText);
    if (!block) {
      return block.takeError();
    }
    launch.block = *block;
  }
  if (!clusterText.empty()) {
    auto cluster = tool::parseDim(clusterText);
    if (!cluster) {
      return cluster.takeError();
    }
    launch.cluster = *cluster;
    launch.hasCluster = true;
  }
  launch.dynamicSharedBytes = sharedBytes;
  sim::GlobalMemory memory(seed);
  tool::BareState state{memory, seed, {}};
  std::vector<std::string> specs(parameters.begin(), parameters.end());
  if (Error e = tool::bindParameters(state, **kernel, specs, launch)) {
    return e;
  }
  sim::runGrid(**kernel, launch, memory, run.options, run.log, &run.stats);
  if (!run.finished()) {
    return Error::success();
  }
  for (const std::string &d : dumps) {
    if (Error e = tool::dumpBuffer(state, d, outs())) {
      return e;
    }
  }
  for (const std::string &o : outputs) {
    if (Error e = tool::saveBuffer(state, o)) {
      return e;
    }
  }
  return Error::success();
}

/// Binds the arguments, runs all launches, writes the outputs.
static Error runBundle(const runtime::Bundle &bundle, sim::Program &program, const Run &run) {
  tool::BundleRun launches(bundle, seed, processors);
  for (const std::string &argument : arguments) {
    if (Error e = launches.bind(argument)) {
      return e;
    }
  }
  if (Error e = launches.run(program, run.options, run.log, run.stats)) {
    return e;
  }
  if (!run.finished()) {
    return Error::success();
  }
  for (const std::string &output : outputs) {
    if (Error e = launches.save(output)) {
      return e;
    }
  }
  return Error::success();
}

static Error writeCounts(const sim::ExecutionCounts &counts) {
  std::error_code code;
  ToolOutputFile output(countsFile, code, sys::fs::OF_None);
  if (code) {
    return createStringError("expected '" + countsFile +
                             "' to be writable, but got: " + code.message());
  }
  counts.writeCsv(output.os());
  output.keep();
  return Error::success();
}

static std::string textOf(const sim::FaultLog &log) {
  std::string text;
  raw_string_ostream stream(text);
  for (const sim::Fault &f : log.take()) {
    sim::printFault(stream, f);
  }
  return text;
}

/// Runs random schedules until one has an error, which is then repeated: a schedule
/// is worth reporting when its seed brings it back.
static int tryOrders(function_ref<Error(const Run &)> runOnce) {
  sim::Options options = makeOptions();
  options.policy = sim::Policy::Random;
  options.threads = 1;
  uint64_t first = options.seed;
  for (unsigned order = 0; order < orders; ++order) {
    options.seed = first + order;
    sim::FaultLog log, again;
    sim::Statistics stats;
    if (Error e = runOnce({options, log, stats, [] { return false; }})) {
      return unusable(std::move(e));
    }
    bool last = order + 1 == orders;
    if (!log.hasErrors() && !last) {
      continue;
    }
    std::string text = textOf(log);
    outs() << text;
    if (!log.hasErrors()) {
      break;
    }
    if (Error e = runOnce({options, again, stats, [] { return false; }})) {
      return unusable(std::move(e));
    }
    outs() << "order " << order + 1 << " of " << orders
           << " failed; it is --schedule=random --jobs=1"
           << " --schedule-seed=" << options.seed
           << (textOf(again) == text ? ", replayed with the same faults"
                                     : ", but the replay had other faults")
           << '\n';
    return log.has(sim::FaultId::Incomplete) ? Incomplete : Faulty;
  }
  outs() << orders << " orders without an error\n";
  return Clean;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "runs PTX on the host, as the GPU would\n");
  std::optional<runtime::Bundle> bundle;
  SmallString<128> ptxPath(ptxFile);
  if (!bundleFile.empty()) {
    if (!ptxFile.empty()) {
      return unusable(
          createStringError(inconvertibleErrorCode(), "expected a bundle or --ptx, but got both"));
    }
    auto read = runtime::readBundle(bundleFile);
    if (!read) {
      return unusable(read.takeError());
    }
    bundle = std::move(*read);
    ptxPath = sys::path::parent_path(bundleFile);
    sys::path::append(ptxPath, bundle->ptx);
  }
  auto text = MemoryBuffer::getFile(ptxPath, /*IsText=*/true);
  if (!text) {
    return unusable(
        createStringError(text.getError(), "expected a PTX file, but got '" + ptxPath + "'"));
  }
  auto program = sim::Program::load((*text)->getBuffer());
  if (!program) {
    return unusable(program.takeError());
  }
  if (printOnly) {
    sim::ptx::printModule(outs(), (*program)->module());
    return Clean;
  }
  if (checkOnly) {
    return checkEntries(**program);
  }
  auto runOnce = [&](const Run &run) {
    return bundle ? runBundle(*bundle, **program, run) : runBare(**program, run);
  };
  if (orders != 0 && (!timelineFile.empty() || !countsFile.empty())) {
    StringRef option = timelineFile.empty() ? "--counts" : "--timeline";
    return unusable(createStringError("expected " + option +
                                      " without --orders, but got both; run the one order with "
                                      "--schedule-seed"));
  }
  if (orders != 0) {
    return tryOrders(runOnce);
  }
  sim::Options options = makeOptions();
  sim::Timeline timeline(tool::readNames(bundleFile));
  options.timeline = timelineFile.empty() ? nullptr : &timeline;
  sim::ExecutionCounts counts;
  options.counts = countsFile.empty() ? nullptr : &counts;
  sim::FaultLog log;
  sim::Statistics stats;
  Stopwatch watch;
  int code = Clean;
  auto finished = [&] {
    code = finish(log, stats, watch);
    return true;
  };
  if (Error e = runOnce({options, log, stats, finished})) {
    return unusable(std::move(e));
  }
  if (options.timeline) {
    if (Error e = tool::writeTimeline(timelineFile, timeline)) {
      return unusable(std::move(e));
    }
  }
  if (options.counts) {
    if (Error e = writeCounts(counts)) {
      return unusable(std::move(e));
    }
  }
  return code;
}
