//===- DeviceCode.cpp - kernels from the nvvm dialect to PTX --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every call of inline assembly is convergent before the first LLVM pass sees it:
// MLIR 22 has no way to say so, and a pass may then copy a barrier into both arms
// of a divergent branch. What the back end has to say becomes an error; LLVM's own
// handler would end the process.
//
//===----------------------------------------------------------------------===//

#include "fa4/Driver/DeviceCode.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/CorrelatedValuePropagation.h"
#include "llvm/Transforms/Scalar/DivRemPairs.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/Reassociate.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <algorithm>

using namespace mlir;

// What llvm/Support/TargetSelect.h declares for the targets of its build.
extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace fa4::driver {

static const llvm::Triple &deviceTriple() {
  static const llvm::Triple triple("nvptx64-nvidia-cuda");
  return triple;
}

static std::string featureString(const TargetInfo &target) {
  return "+ptx" + std::to_string(target.ptxVersion);
}

static const llvm::Target *findBackEnd() {
  static const llvm::Target *backEnd = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    std::string message;
    return llvm::TargetRegistry::lookupTarget(deviceTriple(), message);
  }();
  return backEnd;
}

llvm::Error checkBackEnd(const TargetInfo &target) {
  const TargetInfo *row = lookupTarget(target.chip);
  if (!row) {
    return llvm::createStringError("expected the chip to be one of " +
                                   llvm::join(knownTargets(), ", ") + ", but got '" + target.chip +
                                   "'");
  }
  if (target.ptxVersion < row->ptxVersion) {
    return llvm::createStringError("expected ptx to be at least " + llvm::Twine(row->ptxVersion) +
                                   " for " + target.chip + ", but got " +
                                   llvm::Twine(target.ptxVersion));
  }
  const llvm::Target *backEnd = findBackEnd();
  if (!backEnd) {
    return llvm::createStringError("expected LLVM to have the NVPTX back end, but got a build "
                                   "without it");
  }
  std::unique_ptr<llvm::MCSubtargetInfo> info(backEnd->createMCSubtargetInfo(
      deviceTriple(), /*CPU=*/llvm::StringRef(), /*Features=*/llvm::StringRef()));
  if (!info->isCPUStringValid(target.chip)) {
    return llvm::createStringError("expected a chip that LLVM " LLVM_VERSION_STRING
                                   " has code for, but got '" +
                                   target.chip + "'");
  }
  std::string feature = featureString(target).substr(1);
  auto isWanted = [&](const llvm::SubtargetFeatureKV &known) { return feature == known.Key; };
  if (llvm::none_of(info->getAllProcessorFeatures(), isWanted)) {
    return llvm::createStringError("expected a PTX version that LLVM " LLVM_VERSION_STRING
                                   " can write, but got ptx = " +
                                   llvm::Twine(target.ptxVersion));
  }
  return llvm::Error::success();
}

static std::unique_ptr<llvm::TargetMachine> makeMachine(const TargetInfo &target) {
  llvm::TargetOptions options;
  // Only what the IR allows to contract is contracted.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.MCOptions.AsmVerbose = true;
  return std::unique_ptr<llvm::TargetMachine>(findBackEnd()->createTargetMachine(
      deviceTriple(), target.chip, featureString(target), options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Default));
}

/// The kernels alone, in the llvm dialect, with scopes for `.loc` lines.
static llvm::Expected<OwningOpRef<ModuleOp>> prepareModule(ModuleOp module) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);

  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(module->clone()));
  (*copy)->removeAttr(targetAttrName);
  unsigned numKernels = 0;
  for (Operation &op : llvm::make_early_inc_range(*copy->getBody())) {
    if (!isa<LLVM::LLVMDialect>(op.getDialect())) {
      op.erase();
      continue;
    }
    op.removeAttr(launchAttrName);
    if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op)) {
      numKernels += !function.isExternal();
      for (unsigned number = 0; number < function.getNumArguments(); ++number) {
        function.removeArgAttr(number, StringAttr::get(copy->getContext(), paramAttrName));
      }
    }
  }
  if (numKernels == 0) {
    return llvm::createStringError("expected the module to have a kernel in the llvm dialect, but "
                                   "got none");
  }
  PassManager manager(copy->getContext());
  // The translation has LLVM verify all of it.
  manager.enableVerifier(false);
  manager.addPass(createConvertNVVMToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  // The other kinds of line information make the back end ask for a debug build,
  // which is other code.
  LLVM::DIScopeForLLVMFuncOpPassOptions lines;
  lines.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
  manager.addPass(LLVM::createDIScopeForLLVMFuncOpPass(lines));
  if (failed(manager.run(*copy))) {
    return llvm::createStringError("expected the kernels to be lowered to the llvm dialect, but a "
                                   "pass failed");
  }
  return copy;
}

static void markInlineAssembly(llvm::Module &code) {
  for (llvm::Function &function : code) {
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *call = dyn_cast<llvm::CallBase>(&instruction);
      if (call && call->isInlineAsm()) {
        call->setConvergent();
      }
    }
  }
}

DeviceCode::DeviceCode() = default;
DeviceCode::DeviceCode(DeviceCode &&) noexcept = default;
DeviceCode::~DeviceCode() = default;

llvm::Expected<DeviceCode> DeviceCode::translate(ModuleOp module, const TargetInfo &target) {
  if (llvm::Error error = checkBackEnd(target)) {
    return error;
  }
  llvm::Expected<OwningOpRef<ModuleOp>> kernels = prepareModule(module);
  if (!kernels) {
    return kernels.takeError();
  }
  DeviceCode result;
  result.machine = makeMachine(target);
  result.context = std::make_unique<llvm::LLVMContext>();
  // The name stands in no line of PTX, and a path would make dumps differ.
  result.code = translateModuleToLLVMIR(**kernels, *result.context, "fa4");
  if (!result.code) {
    return llvm::createStringError("expected the kernels to be translated to LLVM IR, but the "
                                   "translation failed");
  }
  result.code->setTargetTriple(deviceTriple());
  result.code->setDataLayout(result.machine->createDataLayout());
  markInlineAssembly(*result.code);
  return result;
}

void DeviceCode::print(llvm::raw_ostream &os) const { code->print(os, nullptr); }

/// What our IR needs of LLVM's passes: a kernel is one function, unrolled and in SSA
/// form, so nothing is left to inline, unroll, vectorize or promote. O2 takes three
/// times as long and leaves the same loops over KV blocks.
static llvm::FunctionPassManager cleanUp() {
  llvm::LoopPassManager loops;
  loops.addPass(llvm::LoopRotatePass());
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  // Takes most of the time; without it masks cost a third more instructions.
  passes.addPass(llvm::InstCombinePass());
  // Key minus query, column by column: the common part once, not a move per column.
  passes.addPass(llvm::ReassociatePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass());
  // Divisions: one for quotient and remainder, and unsigned where that is known to hold.
  passes.addPass(llvm::CorrelatedValuePropagationPass());
  passes.addPass(llvm::DivRemPairsPass());
  passes.addPass(llvm::SimplifyCFGPass());
  return passes;
}

void DeviceCode::optimize() {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager pipeline;
  builder.invokePipelineStartEPCallbacks(pipeline, llvm::OptimizationLevel::O2);
  pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(cleanUp()));
  pipeline.run(*code, modules);
}

namespace {
/// Leaves out passes of the back end's own over straight-line code. Strength reduction
/// compares each address and product with those before it, of which an unrolled row has
/// hundreds, and derives one from the other, which only holds registers for longer.
/// The others clean up behind it; ptxas writes the same machine code without them.
class BackEndPasses : public llvm::OptPassGate {
public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef name, llvm::StringRef) const override {
    return name != "slsr" && name != "early-cse" && name != "nary-reassociate";
  }
};
} // namespace

llvm::Expected<std::string> DeviceCode::emitPtx() {
  std::string complaints;
  llvm::raw_string_ostream complaintStream(complaints);
  context->setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *stream) {
        if (info->getSeverity() != llvm::DS_Error) {
          return;
        }
        auto &os = *static_cast<llvm::raw_ostream *>(stream);
        llvm::DiagnosticPrinterRawOStream printer(os);
        info->print(printer);
        os << '\n';
      },
      &complaintStream);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager manager;
  bool refused =
      machine->addPassesToEmitFile(manager, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                   /*DisableVerify=*/true);
  BackEndPasses passes;
  llvm::OptPassGate &usual = context->getOptPassGate();
  context->setOptPassGate(passes);
  if (!refused) {
    manager.run(*code);
  }
  context->setOptPassGate(usual);
  context->setDiagnosticHandlerCallBack(nullptr);
  if (refused || !complaints.empty()) {
    return llvm::createStringError("expected LLVM's back end to write PTX, but got: " + complaints);
  }
  // PTX is ASCII. LLVM escapes the name of a source file but in comments beside `.loc`.
  std::string ptx = text.str().str();
  std::replace_if(
      ptx.begin(), ptx.end(), [](char character) { return !llvm::isASCII(character); }, '?');
  return ptx;
}

} // namespace fa4::driver
