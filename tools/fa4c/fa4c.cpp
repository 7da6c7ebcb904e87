//===- fa4c.cpp - compile and run attention -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exit codes: 0 done, 1 the module does not compile or the result is wrong, 2 the
// command line or an input file is.
//
//===----------------------------------------------------------------------===//

#include "DeviceCommand.h"
#include "TargetArgument.h"
#include "fa4/Driver/Entry.h"
#include "fa4/Driver/HostProgram.h"
#include "fa4/Driver/ReferenceAdapter.h"
#include "fa4/Driver/SimulatedProgram.h"
#include "fa4/Pipelines/Registration.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"

#include <chrono>

using namespace mlir;
using namespace fa4;
using namespace fa4::driver;
using fa4::tool::Emit;

namespace {

enum ExitCode { Done = 0, Wrong = 1, Usage = 2 };
using Clock = std::chrono::steady_clock;

namespace cl = llvm::cl;
cl::OptionCategory category("fa4c options");
cl::opt<std::string> inputFile(cl::Positional, cl::desc("<module.mlir>"), cl::init("-"),
                               cl::cat(category));
cl::opt<std::string> target("target", cl::desc("What to compile for"),
                            cl::value_desc("cpu or a chip"), cl::init("cpu"), cl::cat(category));
cl::opt<Emit> emitStage(
    "emit", cl::desc("Write one stage; without it a GPU's bundle goes to the folder -o"),
    cl::values(clEnumValN(Emit::Attn, "attn", "attn with defaults and schedule"),
               clEnumValN(Emit::Tile, "tile", "T0, one logical thread"),
               clEnumValN(Emit::Tile, "tile-t0", "the same"),
               clEnumValN(Emit::T1, "tile-t1", "roles and channels (GPU)"),
               clEnumValN(Emit::Barriers, "tile-barriers", "T2 before simplification (GPU)"),
               clEnumValN(Emit::T2, "tile-t2", "placed, barriers and fences (GPU)"),
               clEnumValN(Emit::Nvvm, "nvvm", "upstream dialects (GPU)"),
               clEnumValN(Emit::HostMlir, "mlir-cpu", "upstream dialects (CPU)"),
               clEnumValN(Emit::LLVM, "llvm", "LLVM IR: before LLVM's passes (CPU), after (GPU)"),
               clEnumValN(Emit::Ptx, "ptx", "PTX (GPU)"),
               clEnumValN(Emit::Cubin, "cubin", "machine code, by ptxas (GPU)"),
               clEnumValN(Emit::Bundle, "bundle", "bundle, PTX, cubin, report (GPU)")),
    cl::init(Emit::None), cl::cat(category));
cl::opt<bool> reportIt("report",
                       cl::desc("Write what became of the schedule: roles, memory, barriers, and "
                                "the clocks by unit that the cost model expects (GPU)"),
                       cl::cat(category));
cl::opt<std::string> outputFile("o", cl::desc("Where to write: a file, a folder for a bundle"),
                                cl::value_desc("path"), cl::init("-"), cl::cat(category));
cl::opt<std::string> ptxasFile("ptxas", cl::desc("NVIDIA's assembler; default: looked for"),
                               cl::value_desc("file"), cl::cat(category));
cl::opt<std::string> remarks("remarks", cl::desc("Print remarks of passes that match"),
                             cl::value_desc("regex"), cl::cat(category));
cl::opt<bool> runIt("run", cl::desc("Run the entry: on this CPU, or a GPU's code in the simulator"),
                    cl::cat(category));
cl::opt<unsigned> processors("processors",
                             cl::desc("Multiprocessors of the simulated device (with --run)"),
                             cl::init(4), cl::cat(category));
cl::opt<bool> races("races",
                    cl::desc("Report accesses of the simulated kernels that nothing orders"),
                    cl::cat(category));
cl::opt<bool> pipeIsa("pipe-isa",
                      cl::desc("Order only the tcgen05 pairs that PTX names (with --races)"),
                      cl::cat(category));
cl::opt<uint64_t> scheduleSeed("schedule-seed",
                               cl::desc("Simulate this one of the random schedules; 0: warp by "
                                        "warp"),
                               cl::init(0), cl::cat(category));
cl::opt<bool> checkIt("check",
                      cl::desc("Compare with the float64 reference: the results of --run, else "
                               "those of --input"),
                      cl::cat(category));
cl::opt<std::string> entryName("entry",
                               cl::desc("The function to run; default: the only public one"),
                               cl::value_desc("name"), cl::cat(category));
cl::list<std::string> inputs("input", cl::desc("An argument from a file, or its integers"),
                             cl::value_desc("name=file.npy or name=0,130,400"), cl::cat(category));
cl::list<std::string> outputs("output", cl::desc("Write an output to a file"),
                              cl::value_desc("name=file.npy"), cl::cat(category));
cl::list<std::string> shapes("shape", cl::desc("Extents of an argument"),
                             cl::value_desc("name=AxBxC"), cl::cat(category));
cl::list<std::string> scalars("scalar", cl::desc("An f32 or i32 argument"),
                              cl::value_desc("name=value"), cl::cat(category));
cl::opt<std::string> randomInputs("random", cl::desc("How arguments without a file are drawn"),
                                  cl::value_desc("seed=N,dist=NAME"),
                                  cl::init("seed=0,dist=gaussian"), cl::cat(category));
cl::opt<unsigned> repeat("repeat", cl::desc("Runs; the best time is printed"), cl::init(3),
                         cl::cat(category));

} // namespace

static int report(llvm::Error error, ExitCode code) {
  llvm::errs() << "error: " << llvm::toString(std::move(error)) << '\n';
  return code;
}

/// Results that something else computed are given as inputs, to be judged.
static bool judgesInputs() { return checkIt && !runIt && emitStage == Emit::None; }

static llvm::Expected<std::pair<llvm::StringRef, llvm::StringRef>>
splitAssignment(llvm::StringRef text, llvm::StringRef option) {
  auto [name, value] = text.split('=');
  if (name.empty() || value.empty()) {
    return llvm::createStringError("expected --" + option + " to be name=value, but got '" + text +
                                   "'");
  }
  return std::pair(name, value);
}

static llvm::Error parseRandom(numerics::InputGenerator &generator) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(randomInputs).split(parts, ',');
  for (llvm::StringRef part : parts) {
    auto assignment = splitAssignment(part, "random");
    if (!assignment) {
      return assignment.takeError();
    }
    auto [name, value] = *assignment;
    if (name == "seed" && !value.getAsInteger(10, generator.seed)) {
      continue;
    }
    std::optional<numerics::InputDistribution> distribution =
        numerics::parseInputDistribution(std::string_view(value.data(), value.size()));
    if (name == "dist" && distribution) {
      generator.distribution = *distribution;
      continue;
    }
    return llvm::createStringError("expected --random to be seed=<number> or dist=<gaussian, "
                                   "large-mean, peaked or below-minus-5e4>, but got '" +
                                   part + "'");
  }
  return llvm::Error::success();
}

/// The numbers of `0,130,400`; nothing if it is something else.
static std::optional<llvm::SmallVector<int64_t>> parseIntegers(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  llvm::SmallVector<int64_t> numbers(parts.size());
  for (auto [part, number] : llvm::zip_equal(parts, numbers)) {
    if (part.getAsInteger(10, number)) {
      return std::nullopt;
    }
  }
  return numbers;
}

static llvm::Expected<InputOptions> parseInputOptions() {
  InputOptions options;
  for (const std::string &text : inputs) {
    auto assignment = splitAssignment(text, "input");
    if (!assignment) {
      return assignment.takeError();
    }
    if (std::optional<llvm::SmallVector<int64_t>> numbers = parseIntegers(assignment->second)) {
      options.integers[assignment->first] = std::move(*numbers);
    } else {
      options.files[assignment->first] = assignment->second.str();
    }
  }
  for (const std::string &text : shapes) {
    auto assignment = splitAssignment(text, "shape");
    if (!assignment) {
      return assignment.takeError();
    }
    llvm::SmallVector<llvm::StringRef> extents;
    assignment->second.split(extents, 'x');
    for (llvm::StringRef extent : extents) {
      int64_t value;
      if (extent.getAsInteger(10, value) || value < 0) {
        return llvm::createStringError("expected extents to be numbers from 0, but got '" + extent +
                                       "'");
      }
      options.shapes[assignment->first].push_back(value);
    }
  }
  for (const std::string &text : scalars) {
    auto assignment = splitAssignment(text, "scalar");
    if (!assignment) {
      return assignment.takeError();
    }
    double value;
    if (assignment->second.getAsDouble(value)) {
      return llvm::createStringError("expected a scalar to be a number, but got '" +
                                     assignment->second + "'");
    }
    options.scalars[assignment->first] = value;
  }
  if (llvm::Error error = parseRandom(options.random)) {
    return error;
  }
  return options;
}

static int emitModule(ModuleOp module) {
  HostStage stage = emitStage == Emit::Attn   ? HostStage::Attn
                    : emitStage == Emit::Tile ? HostStage::Tile
                                              : HostStage::Upstream;
  if (failed(lowerForHost(module, stage))) {
    return Wrong;
  }
  std::string text;
  if (emitStage == Emit::LLVM) {
    llvm::Expected<std::string> code = printLLVMIR(module, Threading::Pool);
    if (!code) {
      return report(code.takeError(), Wrong);
    }
    text = std::move(*code);
  } else {
    llvm::raw_string_ostream stream(text);
    module.print(stream);
    stream << '\n';
  }
  if (llvm::Error error = tool::writeFile(outputFile, text)) {
    return report(std::move(error), Usage);
  }
  return Done;
}

/// The schedule that the compiler chose for the entry's attention.
static ScheduleAttr chosenSchedule(ModuleOp module, llvm::StringRef function) {
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(module->clone()));
  if (failed(lowerForHost(*copy, HostStage::Attn))) {
    return ScheduleAttr();
  }
  ScheduleAttr schedule;
  copy->lookupSymbol<func::FuncOp>(function).walk(
      [&](attn::ForwardOp op) { schedule = op.getScheduleAttr(); });
  return schedule;
}

static void printLine(llvm::StringRef what, double error, double bound, llvm::StringRef rule,
                      const ref::Position &at) {
  llvm::outs() << llvm::format("%-4s", what.str().c_str()) << " error "
               << llvm::format("%.3e", error) << "  bound " << llvm::format("%.3e", bound) << " ("
               << rule << ")  worst at b " << at.b << ", h " << at.h << ", i " << at.i << '\n';
}

static int checkRun(ModuleOp module, const Entry &entry, llvm::ArrayRef<Argument> arguments,
                    llvm::ArrayRef<HostArray> results) {
  attn::ForwardOp forward = entry.getForward();
  auto bind = [&](Value operand) { return entry.bind(operand, arguments); };
  llvm::Expected<ForwardOracle> oracle = ForwardOracle::create(
      forward, bind, chosenSchedule(module, entry.getFunction().getSymName()));
  if (!oracle) {
    return report(oracle.takeError(), Usage);
  }
  if (target != "cpu") {
    oracle->grantDeviceProducts();
  }
  const HostArray *output = entry.findOutput("o", arguments, results);
  const HostArray *lse = entry.findOutput("lse", arguments, results);
  if (!output) {
    return report(llvm::createStringError("expected the entry to return o or to write it into an "
                                          "argument, to be checked"),
                  Usage);
  }
  ref::CheckReport verdict = oracle->check(*output, lse);
  printLine("o", verdict.outputError, verdict.outputBound, "R7", verdict.worstOutput);
  if (lse) {
    printLine("lse", verdict.lseError, verdict.lseBound, "R2", verdict.worstLse);
  }
  if (!verdict.passed) {
    llvm::errs() << "error: " << verdict.message << '\n';
    return Wrong;
  }
  llvm::outs() << "check passed\n";
  return Done;
}

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

static int runOnHost(ModuleOp module, const Entry &entry, std::vector<Argument> &arguments,
                     std::vector<HostArray> &results) {
  auto start = Clock::now();
  auto program = HostProgram::create(module, Threading::Pool);
  if (!program) {
    return report(program.takeError(), Wrong);
  }
  double compileTime = secondsSince(start);
  double best = std::numeric_limits<double>::infinity();
  for (unsigned run = 0; run < std::max(1U, unsigned(repeat)); ++run) {
    start = Clock::now();
    auto returned = (*program)->run(entry.getFunction().getSymName(), arguments);
    best = std::min(best, secondsSince(start));
    if (!returned) {
      return report(returned.takeError(), Usage);
    }
    results = std::move(*returned);
  }
  llvm::outs() << "compiled in " << llvm::format("%.2f", compileTime) << " s, kernel "
               << llvm::format("%.2f", best * 1e3) << " ms (best of "
               << std::max(1U, unsigned(repeat)) << ")\n";
  return Done;
}

static int runSimulated(ModuleOp module, const Entry &entry, std::vector<Argument> &arguments) {
  llvm::Expected<TargetInfo> info = tool::settleTarget(module, target);
  if (!info) {
    return report(info.takeError(), Usage);
  }
  auto start = Clock::now();
  auto program = SimulatedProgram::create(module, entry, *info);
  if (!program) {
    return report(program.takeError(), Wrong);
  }
  double compileTime = secondsSince(start);
  SimulationOptions options;
  options.processors = processors;
  options.simulator.races = races;
  options.simulator.pipeIsa = pipeIsa;
  if (scheduleSeed != 0) {
    options.simulator.policy = sim::Policy::Random;
    options.simulator.seed = scheduleSeed;
  }
  start = Clock::now();
  if (llvm::Error error = (*program)->run(arguments, options)) {
    return report(std::move(error), Wrong);
  }
  const sim::Statistics &statistics = (*program)->getStatistics();
  llvm::outs() << "compiled to PTX in " << llvm::format("%.2f", compileTime) << " s, simulated "
               << statistics.clusters << " clusters, "
               << llvm::format("%.2f", static_cast<double>(statistics.warpInstructions) * 1e-6)
               << " M warp instructions, in " << llvm::format("%.2f", secondsSince(start))
               << " s\n";
  return Done;
}

static int runModule(ModuleOp module) {
  llvm::Expected<InputOptions> options = parseInputOptions();
  if (!options) {
    return report(options.takeError(), Usage);
  }
  llvm::Expected<Entry> entry = Entry::find(module, entryName);
  if (!entry) {
    return report(entry.takeError(), Usage);
  }
  if (checkIt && !entry->getForward()) {
    return report(llvm::createStringError("expected an entry that is checked to have exactly one "
                                          "attn.forward"),
                  Usage);
  }
  if (entry->getForward()) {
    options->random.scale = entry->getForward().getScaleOrDefault().convertToFloat();
  }
  llvm::Expected<std::vector<Argument>> arguments = entry->makeArguments(*options);
  if (!arguments) {
    return report(arguments.takeError(), Usage);
  }
  std::vector<HostArray> results;
  int code = Done;
  if (runIt) {
    code = target == "cpu" ? runOnHost(module, *entry, *arguments, results)
                           : runSimulated(module, *entry, *arguments);
  } else if (!options->files.count("o")) {
    return report(llvm::createStringError("expected the result to check as --input o=file.npy, "
                                          "but got none; compute it with --run"),
                  Usage);
  }
  if (code != Done) {
    return code;
  }
  for (const std::string &text : outputs) {
    auto assignment = splitAssignment(text, "output");
    if (!assignment) {
      return report(assignment.takeError(), Usage);
    }
    const HostArray *array = entry->findOutput(assignment->first, *arguments, results);
    if (!array) {
      return report(llvm::createStringError("expected an output to be an array of the entry, but "
                                            "got '" +
                                            assignment->first + "'"),
                    Usage);
    }
    if (llvm::Error error = support::writeNpy(assignment->second, array->toNpy())) {
      return report(std::move(error), Usage);
    }
  }
  return checkIt ? checkRun(module, *entry, *arguments, results) : Done;
}

/// Whether the options go together.
static llvm::Error checkOptions() {
  bool forHost = target == "cpu";
  if (reportIt && (forHost || runIt || emitStage != Emit::None)) {
    return llvm::createStringError("expected --report to be given with a GPU's --target and "
                                   "without --run and --emit");
  }
  if (judgesInputs()) {
    return llvm::Error::success();
  }
  if (!forHost) {
    if (emitStage == Emit::HostMlir) {
      return llvm::createStringError("expected --emit=mlir-cpu only with --target=cpu, but got "
                                     "--target=" +
                                     target);
    }
    if (runIt && emitStage != Emit::None) {
      return llvm::createStringError("expected at most one of --run and --emit");
    }
    return llvm::Error::success();
  }
  if (runIt == (emitStage != Emit::None)) {
    return llvm::createStringError("expected one of --run and --emit");
  }
  if (emitStage != Emit::None &&
      !llvm::is_contained({Emit::Attn, Emit::Tile, Emit::HostMlir, Emit::LLVM}, Emit(emitStage))) {
    return llvm::createStringError("expected a stage of the CPU (attn, tile, mlir-cpu, llvm), but "
                                   "got one of a GPU; state it with --target");
  }
  return llvm::Error::success();
}

static int compileForDevice(ModuleOp module, double parseSeconds) {
  tool::DeviceRequest request;
  request.parseSeconds = parseSeconds;
  request.chip = target;
  request.emit = reportIt ? Emit::Report : emitStage;
  request.inputFile = inputFile;
  request.output = outputFile;
  request.entry = entryName;
  request.ptxas = ptxasFile;
  llvm::Expected<bool> compiled = tool::runDeviceCommand(module, request);
  if (!compiled) {
    return report(compiled.takeError(), Usage);
  }
  return *compiled ? Done : Wrong;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "FA4: compile and run attention\n");
  if (llvm::Error error = checkOptions()) {
    return report(std::move(error), Usage);
  }
  DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  fa4::registerAllDialects(registry);
  // One module has few functions: threads cost more than they bring.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  if (!remarks.empty()) {
    remark::RemarkCategories categories;
    categories.all = remarks;
    // MLIR prints remarks as diagnostics, which the handler above takes.
    if (failed(remark::enableOptimizationRemarks(
            context, nullptr, std::make_unique<remark::RemarkEmittingPolicyAll>(), categories,
            /*printAsEmitRemarks=*/true))) {
      return report(llvm::createStringError("expected --remarks to be a regular expression, but "
                                            "got '" +
                                            remarks + "'"),
                    Usage);
    }
  }
  double start = processorSeconds();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(inputFile, sources, &context);
  if (!module) {
    return Wrong;
  }
  if (runIt || judgesInputs()) {
    return runModule(*module);
  }
  if (target != "cpu") {
    return compileForDevice(*module, processorSeconds() - start);
  }
  return emitModule(*module);
}
