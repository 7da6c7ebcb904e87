//===- fa4-explain.cpp - kernels and runs, as pictures --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exit codes: 0 done, 1 the protocol of a kernel does not hold or a module does not
// compile, 2 the command line or an input file is wrong.
//
//===----------------------------------------------------------------------===//

#include "TargetArgument.h"

#include "fa4/Dialect/Tile/Transforms/ProveProtocol.h"
#include "fa4/Driver/DeviceCompiler.h"
#include "fa4/Explain/BarrierTable.h"
#include "fa4/Explain/Counterexample.h"
#include "fa4/Explain/MemoryMap.h"
#include "fa4/Explain/PassDiff.h"
#include "fa4/Explain/Svg.h"
#include "fa4/Explain/Trace.h"
#include "fa4/Pipelines/Registration.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

#include <limits>

using namespace mlir;
using namespace fa4;

namespace {
enum ExitCode { Done = 0, Wrong = 1, Usage = 2 };

namespace cl = llvm::cl;
cl::SubCommand barriersCommand("barriers",
                               "The barriers of a kernel at T2: who arrives, who waits");
cl::SubCommand diffCommand("diff", "What each pass does to a module on its way to a GPU's code");
cl::SubCommand memoryCommand("memory", "What is where in a kernel at T2, and when");
cl::SubCommand protocolCommand("protocol", "Prove the protocol of a kernel at T1 or T2; draw what "
                                           "breaks it, if anything does");
cl::SubCommand timelineCommand("timeline", "What a run in fa4-sim did (fa4-sim --timeline)");

cl::opt<std::string> inputFile(cl::Positional, cl::desc("<input file>"), cl::init("-"),
                               cl::sub(cl::SubCommand::getAll()));
cl::opt<std::string> outputFile("o",
                                cl::desc("Where to write; .svg and .html are pictures, all "
                                         "else is text"),
                                cl::value_desc("file"), cl::init("-"),
                                cl::sub(cl::SubCommand::getAll()));
cl::opt<std::string> kernelName("kernel", cl::desc("The kernel to show; default: the first"),
                                cl::value_desc("name"), cl::sub(protocolCommand),
                                cl::sub(barriersCommand), cl::sub(memoryCommand));
cl::opt<int64_t> maxRuns("max-runs", cl::desc("Give up on a kernel that needs more runs"),
                         cl::init(20000), cl::sub(protocolCommand));
cl::opt<std::string> target("target", cl::desc("The chip to compile for"), cl::value_desc("chip"),
                            cl::Required, cl::sub(diffCommand));
cl::opt<driver::DeviceLevel>
    until("until", cl::desc("The level to stop at"), cl::init(driver::DeviceLevel::T2),
          cl::values(clEnumValN(driver::DeviceLevel::T0, "t0", "one logical thread"),
                     clEnumValN(driver::DeviceLevel::T1, "t1", "roles and channels"),
                     clEnumValN(driver::DeviceLevel::T2, "t2", "placed, barriers and fences"),
                     clEnumValN(driver::DeviceLevel::Machine, "nvvm", "upstream dialects")),
          cl::sub(diffCommand));
cl::opt<int64_t> trips("trips", cl::desc("Show tiles of at most so many trips"), cl::init(3),
                       cl::sub(memoryCommand));
cl::opt<unsigned> ctas("ctas", cl::desc("Show at most so many CTAs"), cl::init(2),
                       cl::sub(timelineCommand));
cl::opt<int64_t> fromStep("from", cl::desc("First step to show"), cl::init(0),
                          cl::sub(timelineCommand));
cl::opt<int64_t> toStep("to", cl::desc("Step to stop at"),
                        cl::init(std::numeric_limits<int64_t>::max()), cl::sub(timelineCommand));
} // namespace

static int fail(const llvm::Twine &message, ExitCode code = Usage) {
  llvm::errs() << "error: " << message << '\n';
  return code;
}

namespace {
/// A file that is kept when something was written to it.
class Output {
public:
  Output() : file(outputFile, code, llvm::sys::fs::OF_None) {}
  bool isSvg() const { return llvm::StringRef(outputFile).ends_with(".svg"); }
  bool isHtml() const { return llvm::StringRef(outputFile).ends_with(".html"); }
  llvm::raw_ostream &os() { return file.os(); }
  /// As a picture, alone or in a page, or as text.
  template <typename Picture>
  void print(const Picture &picture) {
    if (isSvg()) {
      os() << explain::kXmlDeclaration;
    }
    if (isHtml()) {
      explain::beginPage(os(), "fa4-explain");
    }
    if (isSvg() || isHtml()) {
      picture.printSvg(os());
    } else {
      picture.printText(os());
    }
    if (isHtml()) {
      explain::endPage(os());
    }
  }
  int finish(ExitCode result) {
    if (code) {
      return fail("expected '" + outputFile + "' to be writable, but got: " + code.message());
    }
    file.keep();
    return result;
  }

private:
  std::error_code code;
  llvm::ToolOutputFile file;
};

/// A parsed module and what it needs to live.
class Input {
public:
  Input() : handler(sources, &context) {
    DialectRegistry registry;
    mlir::registerAllDialects(registry);
    mlir::registerAllExtensions(registry);
    fa4::registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.printOpOnDiagnostic(false);
    module = parseSourceFile<ModuleOp>(inputFile, sources, &context);
  }
  explicit operator bool() const { return static_cast<bool>(module); }
  ModuleOp get() { return *module; }
  /// The kernel that was asked for; null after an error.
  tile::KernelOp kernel() {
    for (auto kernel : module->getOps<tile::KernelOp>()) {
      if (kernelName.empty() || kernel.getSymName() == kernelName) {
        return kernel;
      }
    }
    fail("expected a tile.kernel" + (kernelName.empty() ? "" : " @" + kernelName) +
         " in the module, but got none");
    return {};
  }

private:
  MLIRContext context;
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
};
} // namespace

/// Refuses a picture of what is text alone, before any work and before the file is touched.
static bool refusesPicture(const char *what) {
  if (llvm::StringRef(outputFile).ends_with(".svg")) {
    fail(llvm::Twine("expected ") + what + " to be text or .html, but got '" + outputFile + "'");
    return true;
  }
  return false;
}

static int showProtocol(Input &input) {
  tile::KernelOp kernel = input.kernel();
  if (!kernel) {
    return Usage;
  }
  if (kernel.getBody().getOps<tile::RoleOp>().empty()) {
    return fail("expected a kernel with roles, at T1 or T2, but got one of an earlier level");
  }
  std::optional<explain::Sequence> picture;
  bool holds = succeeded(tile::proveProtocol(
      kernel, maxRuns, [&](const tile::ProtocolGraph &graph, const tile::ProtocolFinding &finding) {
        picture = explain::drawCounterexample(graph, finding);
      }));
  if (!holds && !picture) {
    return Wrong;
  }
  if (holds) {
    picture.emplace();
    picture->title = "the protocol holds for all lengths";
    picture->subtitle = "kernel @" + kernel.getSymName().str();
  }
  Output output;
  output.print(*picture);
  return output.finish(holds ? Done : Wrong);
}

static int showBarriers(Input &input) {
  tile::KernelOp kernel = input.kernel();
  if (!kernel || refusesPicture("the table of barriers")) {
    return Usage;
  }
  if (kernel.getBody().getOps<tile::BarrierOp>().empty()) {
    return fail("expected a kernel with barriers, at T2, but got one of an earlier level");
  }
  explain::BarrierTable table = explain::BarrierTable::of(kernel);
  Output output;
  if (output.isHtml()) {
    table.printHtml(output.os());
  } else {
    table.printText(output.os());
  }
  return output.finish(Done);
}

static int showMemory(Input &input) {
  tile::KernelOp kernel = input.kernel();
  if (!kernel) {
    return Usage;
  }
  if (kernel.getBody().getOps<tile::PlacedAllocOp>().empty()) {
    return fail("expected a kernel with placed memory, at T2, but got one of an earlier level");
  }
  if (trips < 1) {
    return fail("expected --trips to be positive, but got " + llvm::Twine(trips));
  }
  FailureOr<explain::MemoryMap> map = explain::MemoryMap::of(kernel, trips);
  if (failed(map)) {
    return Wrong;
  }
  Output output;
  output.print(*map);
  return output.finish(Done);
}

static int showDiff(Input &input) {
  if (refusesPicture("the passes")) {
    return Usage;
  }
  // One text at a time.
  input.get()->getContext()->disableMultithreading();
  llvm::Expected<TargetInfo> info = tool::settleTarget(input.get(), target);
  if (!info) {
    return fail(llvm::toString(info.takeError()));
  }
  explain::PassDiff diff;
  driver::DeviceOptions options;
  options.instrument = [&](PassManager &manager) { manager.addInstrumentation(diff.recorder()); };
  bool done = succeeded(driver::DeviceCompiler(input.get(), *info, options).lowerTo(until));
  Output output;
  if (output.isHtml()) {
    diff.printHtml(output.os());
  } else {
    diff.printText(output.os());
  }
  return output.finish(done ? Done : Wrong);
}

static int showTimeline() {
  auto text = llvm::MemoryBuffer::getFileOrSTDIN(inputFile, /*IsText=*/true);
  if (!text) {
    return fail("expected a trace, but got '" + inputFile + "': " + text.getError().message());
  }
  llvm::Expected<explain::Trace> trace = explain::Trace::parse((*text)->getBuffer());
  if (!trace) {
    return fail(llvm::toString(trace.takeError()));
  }
  if (fromStep < 0 || fromStep >= toStep) {
    return fail("expected --from to be 0 or more and below --to, but got " + llvm::Twine(fromStep) +
                " and " + llvm::Twine(toStep));
  }
  trace->keep(ctas, fromStep, toStep);
  Output output;
  output.print(*trace);
  return output.finish(Done);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "shows kernels and simulated runs as pictures\n");
  if (timelineCommand) {
    return showTimeline();
  }
  if (!protocolCommand && !barriersCommand && !memoryCommand && !diffCommand) {
    return fail("expected a subcommand, such as protocol, but got none; see --help");
  }
  Input input;
  if (!input) {
    return Usage;
  }
  if (diffCommand) {
    return showDiff(input);
  }
  if (barriersCommand) {
    return showBarriers(input);
  }
  return memoryCommand ? showMemory(input) : showProtocol(input);
}
