//===- ScheduleEditsMain.cpp - no template: plans that nobody wrote -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random legal plans of the causal forward kernel compile, are proved and run right
// in the simulator, all by one compiler; illegal ones are refused with the limit
// named.
//
//===----------------------------------------------------------------------===//

#include "KernelCost.h"
#include "ScheduleEdits.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Driver/DeviceCompiler.h"
#include "fa4/Driver/HostProgram.h"
#include "fa4/Driver/ReferenceAdapter.h"
#include "fa4/Driver/SimulatedProgram.h"
#include "fa4/Pipelines/Registration.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"

#include <chrono>
#include <fstream>

using namespace fa4;
using namespace fa4::driver;
using namespace fa4::matrix;

namespace {

namespace cl = llvm::cl;
cl::opt<uint64_t> seed("seed", cl::desc("Which plans"), cl::init(1));
cl::opt<unsigned> first("first", cl::desc("First plan"), cl::init(0));
cl::opt<unsigned> count("count", cl::desc("Plans"), cl::init(50));
cl::opt<std::string> target("target", cl::desc("For which chip"), cl::value_desc("chip"),
                            cl::init("sm_100a"));
cl::opt<bool> proveOnly("prove-only", cl::desc("Stop at the proved placed kernel and run nothing"));
cl::opt<bool> compileOnly("compile-only",
                          cl::desc("Compile the plans and run nothing; spills and notes of ptxas "
                                   "are failures"));
cl::opt<std::string> ptxFolder("keep-ptx", cl::desc("With --compile-only: write each plan's PTX"),
                               cl::value_desc("existing folder"));
cl::opt<bool> printModules("print-modules", cl::desc("Print the modules and run nothing"));

constexpr int64_t kHeadDim = 64;

class Judge {
public:
  explicit Judge(const mlir::DialectRegistry &registry)
      : context(registry, mlir::MLIRContext::Threading::DISABLED) {}

  /// Compiles, runs and checks.
  llvm::Error judge(const Schedule &plan, unsigned number);
  /// What the compiler says about it; empty if it compiles.
  std::string complaintAbout(const Schedule &plan);
  void print(const Schedule &plan) { make(plan)->print(llvm::outs()); }

private:
  mlir::OwningOpRef<mlir::ModuleOp> make(const Schedule &plan);
  llvm::Error prove(mlir::ModuleOp module);
  llvm::Error assemble(mlir::ModuleOp module, unsigned number);
  llvm::Expected<std::unique_ptr<SimulatedProgram>> compile(mlir::ModuleOp module);
  llvm::Error check(mlir::ModuleOp module, SimulatedProgram &program, int64_t queries,
                    int64_t keys);

  mlir::MLIRContext context;
};

mlir::OwningOpRef<mlir::ModuleOp> Judge::make(const Schedule &plan) {
  std::string d = std::to_string(kHeadDim);
  std::string tensor = "memref<?x?x?x" + d + "xbf16>";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "module attributes {fa4.target = #fa4.target<\"" + target + "\">} {\n" +
          "func.func @main(%q: " + tensor + ", %k: " + tensor + ", %v: " + tensor + ", %o: " +
          tensor + ", %lse: memref<?x?x?xf32>) {\n  attn.forward ins(%q, %k, %v : " + tensor +
          ", " + tensor + ", " + tensor + ") outs(%o, %lse : " + tensor +
          ", memref<?x?x?xf32>) layout(bshd) mask [#attn.causal]\n  return\n}\n}\n",
      &context);
  module->walk([&](attn::ForwardOp op) { op.setScheduleAttr(ScheduleAttr::get(&context, plan)); });
  return module;
}

llvm::Error Judge::prove(mlir::ModuleOp module) {
  std::string complaints;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) { complaints += "\n     " + diagnostic.str(); });
  DeviceCompiler compiler(module, lookupTargetAttr(module).getInfo());
  return failed(compiler.lowerTo(DeviceLevel::T2)) ? llvm::createStringError(complaints)
                                                   : llvm::Error::success();
}

llvm::Expected<std::unique_ptr<SimulatedProgram>> Judge::compile(mlir::ModuleOp module) {
  std::string complaints;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) { complaints += "\n     " + diagnostic.str(); });
  llvm::Expected<Entry> entry = Entry::find(module, "main");
  if (!entry) {
    return entry.takeError();
  }
  auto program = SimulatedProgram::create(module, *entry, lookupTargetAttr(module).getInfo());
  if (!program) {
    return llvm::createStringError(llvm::toString(program.takeError()) + complaints);
  }
  return program;
}

llvm::Error Judge::check(mlir::ModuleOp module, SimulatedProgram &program, int64_t queries,
                         int64_t keys) {
  llvm::Expected<Entry> entry = Entry::find(module, "main");
  if (!entry) {
    return entry.takeError();
  }
  InputOptions inputs;
  inputs.random.seed = seed;
  inputs.random.scale = entry->getForward().getScaleOrDefault().convertToFloat();
  constexpr int64_t heads = 2;
  inputs.shapes["q"] = {1, queries, heads, kHeadDim};
  inputs.shapes["o"] = {1, queries, heads, kHeadDim};
  inputs.shapes["k"] = {1, keys, 1, kHeadDim};
  inputs.shapes["v"] = {1, keys, 1, kHeadDim};
  inputs.shapes["lse"] = {1, heads, queries};
  llvm::Expected<std::vector<Argument>> arguments = entry->makeArguments(inputs);
  if (!arguments) {
    return arguments.takeError();
  }
  SimulationOptions options;
  options.processors = 2;
  if (llvm::Error error = program.run(*arguments, options)) {
    return error;
  }
  mlir::OwningOpRef<mlir::ModuleOp> planned(mlir::cast<mlir::ModuleOp>(module->clone()));
  if (failed(lowerForHost(*planned, HostStage::Attn))) {
    return llvm::createStringError("expected the plan to be kept");
  }
  ScheduleAttr schedule;
  planned->walk([&](attn::ForwardOp op) { schedule = op.getScheduleAttr(); });
  auto bind = [&](mlir::Value operand) { return entry->bind(operand, *arguments); };
  llvm::Expected<ForwardOracle> oracle = ForwardOracle::create(entry->getForward(), bind, schedule);
  if (!oracle) {
    return oracle.takeError();
  }
  oracle->grantDeviceProducts();
  ref::CheckReport verdict = oracle->check(*entry->findOutput("o", *arguments, {}),
                                           entry->findOutput("lse", *arguments, {}));
  return verdict.passed ? llvm::Error::success() : llvm::createStringError(verdict.message);
}

llvm::Error Judge::assemble(mlir::ModuleOp module, unsigned number) {
  std::string complaints;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) { complaints += "\n     " + diagnostic.str(); });
  auto cost = compileKernel(module, lookupTargetAttr(module).getInfo(), {/*prove=*/false});
  if (!cost) {
    return llvm::createStringError(llvm::toString(cost.takeError()) + complaints);
  }
  if (!ptxFolder.empty()) {
    std::ofstream(ptxFolder + "/plan-" + std::to_string(number) + ".ptx") << cost->ptx;
  }
  std::string complaint = cost->complaint();
  return complaint.empty() ? llvm::Error::success() : llvm::createStringError(complaint);
}

llvm::Error Judge::judge(const Schedule &plan, unsigned number) {
  mlir::OwningOpRef<mlir::ModuleOp> module = make(plan);
  if (compileOnly) {
    return assemble(*module, number);
  }
  if (proveOnly) {
    return prove(*module);
  }
  auto program = compile(*module);
  if (!program) {
    return program.takeError();
  }
  // One block and part of one, more queries than keys, several tiles for each CTA.
  for (auto [queries, keys] : {std::pair<int64_t, int64_t>{129, 129}, {300, 100}, {520, 520}}) {
    if (llvm::Error error = check(*module, **program, queries, keys)) {
      return llvm::createStringError("Sq " + llvm::Twine(queries) + ", Sk " + llvm::Twine(keys) +
                                     ": " + llvm::toString(std::move(error)));
    }
  }
  return llvm::Error::success();
}

std::string Judge::complaintAbout(const Schedule &plan) {
  if (proveOnly || compileOnly) {
    return llvm::toString(prove(*make(plan)));
  }
  auto program = compile(*make(plan));
  return program ? "" : llvm::toString(program.takeError());
}

struct Tally {
  unsigned passed = 0, failed = 0;

  void add(const std::string &what, const std::string &message) {
    ++(message.empty() ? passed : failed);
    if (!message.empty()) {
      llvm::outs() << "FAIL " << what << "\n     " << message << '\n';
      llvm::outs().flush();
    }
  }
};

int run() {
  const TargetInfo *info = lookupTarget(target);
  if (!info) {
    llvm::errs() << "error: expected --target to be a known chip, but got '" << target << "'\n";
    return 2;
  }
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  fa4::registerAllDialects(registry);
  Judge judge(registry);
  ForwardProblem problem{kHeadDim, kHeadDim, 2, /*unevenTiles=*/true};
  llvm::outs() << "seed " << seed << '\n';
  Tally tally;
  for (unsigned number = first; number < first + count; ++number) {
    Schedule plan = drawSchedule(problem, *info, seed, number);
    if (printModules) {
      llvm::outs() << "// " << describe(plan) << '\n';
      judge.print(plan);
      continue;
    }
    llvm::Error error = judge.judge(plan, number);
    tally.add(std::to_string(number) + " " + describe(plan),
              error ? llvm::toString(std::move(error)) : "");
  }
  for (const IllegalSchedule &illegal : makeIllegalSchedules(problem, *info)) {
    if (printModules) {
      continue;
    }
    std::string complaint = judge.complaintAbout(illegal.schedule);
    bool named = llvm::StringRef(complaint).contains(illegal.complaint);
    tally.add(illegal.what,
              named ? ""
                    : "expected an error with '" + illegal.complaint + "', but got: " + complaint);
  }
  llvm::outs() << tally.passed << " passed, " << tally.failed << " failed\n";
  return tally.failed ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "plans that nobody wrote\n");
  return run();
}
