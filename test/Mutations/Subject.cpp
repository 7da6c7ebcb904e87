//===- Subject.cpp - the kernel that edits break --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run is right if every result has the bits of the unedited kernel's, in every
// order of events: that kernel gives the same bits in all of them, which is checked
// first.
//
//===----------------------------------------------------------------------===//

#include "Subject.h"

#include "BundleArguments.h"
#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace fa4::driver;

namespace fa4::mutations {

namespace {

/// Keeps the first error of what runs while it lives.
class Listener {
public:
  explicit Listener(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (first.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error) {
            first = diagnostic.str();
          }
          return success();
        }) {}

  std::string getError(llvm::StringRef otherwise) const {
    return first.empty() ? otherwise.str() : first;
  }

private:
  std::string first;
  ScopedDiagnosticHandler handler;
};

constexpr char kSeparator = '\t';
constexpr llvm::StringLiteral kNotAsked = "-";

std::string oneLine(llvm::StringRef text) {
  constexpr size_t longest = 200;
  std::string line = text.split('\n').first.take_front(longest).str();
  llvm::replace(line, kSeparator, ' ');
  return line;
}

/// An array like `array` whose elements no kernel would write by chance.
std::shared_ptr<HostArray> makeFilled(const HostArray &array) {
  auto filled = std::make_shared<HostArray>(array.getType(), array.getShape());
  filled->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) { filled->set(index, 0.5); });
  return filled;
}

} // namespace

std::string toLine(const Verdict &verdict) {
  std::string line;
  for (const auto *part : {&verdict.verifier, &verdict.proof, &verdict.simulator}) {
    line += *part ? oneLine(**part) : kNotAsked.str();
    line += kSeparator;
  }
  return line + (verdict.sameCode ? "same" : "") + (verdict.crashed ? "crashed" : "");
}

std::optional<Verdict> fromLine(llvm::StringRef line) {
  llvm::SmallVector<llvm::StringRef> parts;
  line.split(parts, kSeparator);
  if (parts.size() != 4) {
    return std::nullopt;
  }
  auto read = [](llvm::StringRef part) -> std::optional<std::string> {
    return part == kNotAsked ? std::nullopt : std::optional<std::string>(part.str());
  };
  return Verdict{read(parts[0]), read(parts[1]), read(parts[2]), parts[3] == "same",
                 parts[3] == "crashed"};
}

llvm::Expected<std::unique_ptr<Subject>>
Subject::create(MLIRContext &context, llvm::StringRef moduleText, llvm::ArrayRef<Run> runs) {
  std::unique_ptr<Subject> subject(new Subject());
  subject->stated = parseSourceString<ModuleOp>(moduleText, &context);
  if (!subject->stated) {
    return llvm::createStringError("expected the kernel's module to parse");
  }
  OwningOpRef<ModuleOp> lowered(cast<ModuleOp>((*subject->stated)->clone()));
  std::optional<TargetAttr> target;
  if (TargetAttr given = lookupTargetAttr(*lowered)) {
    target = given;
  }
  lowered->walk([&](tile::KernelOp kernel) { target = kernel.getTarget(); });
  if (!target) {
    return llvm::createStringError("expected the kernel's module to state its target");
  }
  subject->target = target->getInfo();
  Listener listener(&context);
  if (failed(DeviceCompiler(*lowered, subject->target).lowerTo(DeviceLevel::T2))) {
    return llvm::createStringError(listener.getError("expected the kernel to compile"));
  }
  // Printed and read again, every op has a line of its own.
  llvm::raw_string_ostream stream(subject->placedText);
  lowered->print(stream);
  subject->placed = parseSourceString<ModuleOp>(subject->placedText, &context);
  if (!subject->placed) {
    return llvm::createStringError(listener.getError("expected the placed kernel to parse"));
  }
  for (const std::string &complaint :
       {subject->verify(*subject->placed), subject->prove(*subject->placed)}) {
    if (!complaint.empty()) {
      return llvm::createStringError("expected the unedited kernel to hold, but got: " + complaint);
    }
  }
  bool isCalled = llvm::any_of(subject->stated->getOps<func::FuncOp>(),
                               [](func::FuncOp function) { return !function.isDeclaration(); });
  if (isCalled) {
    if (llvm::Error error = subject->prepareRuns(runs)) {
      return std::move(error);
    }
  }
  return subject;
}

llvm::Expected<std::unique_ptr<Subject>>
Subject::createFromBundle(llvm::StringRef path, llvm::ArrayRef<Run> runs, bool lenient) {
  if (llvm::any_of(runs, [](const Run &run) { return run.isLadder(); })) {
    return llvm::createStringError("expected the runs of a kernel in PTX to have no steps, but got "
                                   "one with steps: state each length");
  }
  llvm::Expected<runtime::Bundle> bundle = runtime::readBundle(path);
  if (!bundle) {
    return bundle.takeError();
  }
  llvm::SmallString<128> file = llvm::sys::path::parent_path(path);
  llvm::sys::path::append(file, bundle->ptx);
  auto text = llvm::MemoryBuffer::getFile(file);
  if (!text) {
    return llvm::createStringError("expected '" + file.str() +
                                   "' to be readable, but got: " + text.getError().message());
  }
  std::unique_ptr<Subject> subject(new Subject());
  subject->strictTensor = !lenient;
  auto loaded = SimulatedProgram::load(std::move(*bundle), (*text)->getBuffer().str());
  if (!loaded) {
    return loaded.takeError();
  }
  subject->baseline = std::move(*loaded);
  if (llvm::Error error = subject->finishRuns(runs, /*slots=*/1)) {
    return std::move(error);
  }
  return subject;
}

/// Normal numbers in every tensor.
llvm::Expected<std::vector<Argument>> Subject::makeArguments(const InputOptions &inputs) const {
  std::vector<Argument> arguments;
  for (auto [number, declared] : llvm::enumerate(baseline->getBundle().arguments)) {
    auto shape = inputs.shapes.find(declared.name);
    std::optional<support::NpyType> type = tool::npyTypeOf(declared.type);
    if (!declared.isTensor || !type || shape == inputs.shapes.end()) {
      return llvm::createStringError("expected argument '" + declared.name +
                                     "' to be a tensor with a shape in --run, but got another one");
    }
    auto array = std::make_shared<HostArray>(*type, shape->second);
    numerics::CounterRandom normal(inputs.random.seed, number);
    array->forEach([&](llvm::ArrayRef<int64_t> index, int64_t element) {
      array->set(index, normal.gaussian(static_cast<uint64_t>(element)));
    });
    arguments.emplace_back(std::move(array));
  }
  return arguments;
}

/// One cluster at a time, so that a persistent one has several tiles.
int64_t Subject::countProcessors() const {
  int64_t processors = 1;
  for (const runtime::Launch &launch : baseline->getBundle().launches) {
    if (launch.cluster) {
      auto [x, y, z] = *launch.cluster;
      processors = std::max<int64_t>(processors, int64_t(x) * y * z);
    }
  }
  return processors;
}

llvm::Expected<Subject::Case> Subject::makeCase(const InputOptions &inputs) const {
  llvm::Expected<std::vector<Argument>> made =
      entry ? entry->makeArguments(inputs) : makeArguments(inputs);
  if (!made) {
    return made.takeError();
  }
  Case point;
  point.arguments = std::move(*made);
  for (auto [declared, argument] :
       llvm::zip_equal(baseline->getBundle().arguments, point.arguments)) {
    if (declared.access == runtime::Access::Write) {
      point.results.push_back(makeFilled(*std::get<std::shared_ptr<HostArray>>(argument)));
      argument = point.results.back();
    }
  }
  SimulationOptions options;
  options.processors = countProcessors();
  options.simulator.threads = 1;
  uint64_t before = baseline->getStatistics().warpInstructions;
  if (llvm::Error error = baseline->run(point.arguments, options)) {
    return std::move(error);
  }
  constexpr uint64_t patience = 20;
  point.instructionBudget = patience * (baseline->getStatistics().warpInstructions - before);
  if (point.instructionBudget == 0) {
    return llvm::createStringError("expected the kernel to run on the inputs, but got no CTA");
  }
  return point;
}

/// Of the ring with most slots.
static int64_t countSlots(ModuleOp module) {
  int64_t slots = 1;
  module.walk([&](tile::BarrierOp barrier) {
    slots = std::max<int64_t>(slots, static_cast<int64_t>(barrier.getDepth()));
  });
  return slots;
}

llvm::Error Subject::prepareRuns(llvm::ArrayRef<Run> runs) {
  llvm::Expected<Entry> found = Entry::find(*stated, "");
  if (!found) {
    return found.takeError();
  }
  entry = *found;
  auto compiled = SimulatedProgram::create(*placed, *entry, target, {/*prove=*/false});
  if (!compiled) {
    return compiled.takeError();
  }
  baseline = std::move(*compiled);
  return finishRuns(runs, countSlots(*placed));
}

llvm::Error Subject::finishRuns(llvm::ArrayRef<Run> runs, int64_t slots) {
  ptx = baseline->getPtx().str();
  llvm::Expected<std::string> spread = spreadPtx(ptx);
  if (!spread) {
    return spread.takeError();
  }
  spreadText = std::move(*spread);
  for (const Run &run : runs) {
    for (const InputOptions &input : run.unroll(slots)) {
      llvm::Expected<Case> point = makeCase(input);
      if (!point) {
        return point.takeError();
      }
      point->isStep = run.isLadder();
      cases.push_back(std::move(*point));
    }
  }
  // Most faults show in the shortest run.
  llvm::sort(cases, [](const Case &one, const Case &other) {
    return one.instructionBudget < other.instructionBudget;
  });
  std::string complaint = simulate(*baseline);
  return complaint.empty() ? llvm::Error::success()
                           : llvm::createStringError(
                                 "expected the unedited kernel to give the same bits in every "
                                 "order, but got: " +
                                 complaint);
}

std::string Subject::verify(ModuleOp module) const {
  Listener listener(module.getContext());
  if (failed(mlir::verify(module))) {
    return listener.getError("refused");
  }
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  manager.addPass(tile::createTileVerifyT2());
  manager.nest<tile::KernelOp>().addPass(tile::createTileVerifyTarget());
  return failed(manager.run(module)) ? listener.getError("refused") : "";
}

std::string Subject::prove(ModuleOp module) const {
  Listener listener(module.getContext());
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  manager.addPass(tile::createTileVerifyProtocol());
  return failed(manager.run(module)) ? listener.getError("refused") : "";
}

std::string Subject::runOnce(SimulatedProgram &program, const Case &point,
                             const sim::Options &simulator) const {
  std::vector<Argument> given = point.arguments;
  std::vector<std::shared_ptr<HostArray>> written;
  for (auto [declared, argument] : llvm::zip_equal(baseline->getBundle().arguments, given)) {
    if (declared.access == runtime::Access::Write) {
      written.push_back(makeFilled(*std::get<std::shared_ptr<HostArray>>(argument)));
      argument = written.back();
    }
  }
  SimulationOptions options;
  options.processors = countProcessors();
  options.simulator = simulator;
  options.simulator.threads = 1;
  options.simulator.instructionBudget = point.instructionBudget;
  if (llvm::Error error = program.run(given, options)) {
    // Warnings may stand before the fault itself.
    std::string text = llvm::toString(std::move(error));
    size_t fault = text.find("error[");
    return fault == std::string::npos ? text : text.substr(fault);
  }
  for (auto [is, wanted] : llvm::zip_equal(written, point.results)) {
    if (!haveEqualBits(*is, *wanted)) {
      return "other numbers";
    }
  }
  return "";
}

std::string Subject::simulate(SimulatedProgram &program) const {
  // What no order happens to break may still be unordered.
  sim::Options options;
  options.races = true;
  options.strictTensor = strictTensor;
  for (const Case &point : cases) {
    if (std::string complaint = runOnce(program, point, options); !complaint.empty()) {
      return complaint;
    }
  }
  std::vector<const Case *> inputs;
  for (const Case &point : cases) {
    if (!point.isStep) {
      inputs.push_back(&point);
    }
  }
  options.policy = sim::Policy::Random;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    options.seed = seed;
    options.spuriousTryWait = seed % 2 == 1;
    options.pipeIsa = seed / 2 % 2 == 1;
    for (size_t number = 0; number < inputs.size(); ++number) {
      if (everyInput || number == seed % inputs.size()) {
        std::string complaint = runOnce(program, *inputs[number], options);
        if (!complaint.empty()) {
          return complaint;
        }
      }
    }
  }
  return "";
}

Verdict Subject::judge(const PlacedEdit &edit, bool alsoSimulate) const {
  OwningOpRef<ModuleOp> broken = applyEdit(*placed, edit);
  Verdict verdict;
  {
    // The other rungs stand on the structure of ops.
    Listener listener(broken->getContext());
    if (failed(mlir::verify(*broken))) {
      verdict.verifier = listener.getError("refused");
      return verdict;
    }
  }
  verdict.verifier = verify(*broken);
  verdict.proof = prove(*broken);
  if (!alsoSimulate || !canRun()) {
    return verdict;
  }
  Listener listener(broken->getContext());
  auto program = SimulatedProgram::create(*broken, *entry, target, {/*prove=*/false});
  if (!program) {
    std::string error = llvm::toString(program.takeError());
    if (verdict.verifier->empty()) {
      verdict.verifier = listener.getError(error);
    }
    return verdict;
  }
  verdict.sameCode = (*program)->getPtx() == ptx;
  if (!verdict.sameCode) {
    verdict.simulator = simulate(**program);
  }
  return verdict;
}

Verdict Subject::judge(const PtxEdit &edit) const {
  Verdict verdict;
  auto program = SimulatedProgram::load(baseline->getBundle(), applyEdit(spreadText, edit));
  if (!program) {
    verdict.verifier = llvm::toString(program.takeError());
    return verdict;
  }
  verdict.verifier = "";
  verdict.simulator = simulate(**program);
  return verdict;
}

} // namespace fa4::mutations
