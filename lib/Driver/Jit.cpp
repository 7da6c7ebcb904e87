//===- Jit.cpp - host code from a lowered module --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine sees the host's real CPU, so vectors of 16 floats become whatever
// the machine has. Compilation never touches the caller's module.
//
//===----------------------------------------------------------------------===//

#include "fa4/Driver/Jit.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/AsyncRuntime.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <condition_variable>
#include <mutex>

using namespace mlir;

namespace fa4::driver {

namespace {
/// LLVM's highest pass-pipeline level: the inner loops are already blocked, so
/// what counts is scheduling and addressing.
constexpr unsigned kOptLevel = 3;

void initializeHostTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

llvm::Expected<OwningOpRef<ModuleOp>> lower(ModuleOp module, Threading threading) {
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(module->clone()));
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  PassManager pm(module.getContext());
  buildHostToLLVMPipeline(pm, threading);
  if (failed(pm.run(*copy))) {
    return llvm::createStringError("expected the module to be lowered to the llvm dialect, but a "
                                   "pass failed");
  }
  return copy;
}
} // namespace

MemRefDescriptor::MemRefDescriptor(void *data, llvm::ArrayRef<int64_t> sizes,
                                   llvm::ArrayRef<int64_t> strides, int64_t offset) {
  static_assert(sizeof(void *) == sizeof(int64_t), "descriptors are arrays of 64-bit words");
  int64_t address = reinterpret_cast<int64_t>(data);
  words = {address, address, offset};
  words.insert(words.end(), sizes.begin(), sizes.end());
  words.insert(words.end(), strides.begin(), strides.end());
}

namespace {
/// Where the workers of the async runtime meet.
struct Meeting {
  std::mutex mutex;
  std::condition_variable changed;
  int64_t arrived = 0, left = 0;
};

/// Returns once no worker of the async runtime runs compiled code. A group of
/// tasks is complete before its last task has returned: the worker is then still in
/// the end of a coroutine, in pages that go with the engine. One blocking task per
/// worker can only run when every worker has returned from what it ran before.
void waitForIdleWorkers() {
  // Two meetings at once could each hold some of the workers, for ever.
  static std::mutex oneMeeting;
  std::lock_guard<std::mutex> alone(oneMeeting);
  int64_t workers = mlir::runtime::mlirAsyncRuntimGetNumWorkerThreads();
  Meeting meeting;
  for (int64_t worker = 0; worker < workers; ++worker) {
    mlir::runtime::mlirAsyncRuntimeExecute(&meeting, [](mlir::runtime::CoroHandle handle) {
      auto &meeting = *static_cast<Meeting *>(handle);
      std::unique_lock<std::mutex> lock(meeting.mutex);
      ++meeting.arrived;
      meeting.changed.notify_all();
      int64_t all = mlir::runtime::mlirAsyncRuntimGetNumWorkerThreads();
      meeting.changed.wait(lock, [&] { return meeting.arrived == all; });
      ++meeting.left;
      // Under the lock: `meeting` may die as soon as the last one has left.
      meeting.changed.notify_all();
    });
  }
  std::unique_lock<std::mutex> lock(meeting.mutex);
  meeting.changed.wait(lock, [&] { return meeting.left == workers; });
}
} // namespace

CompiledModule::CompiledModule(std::unique_ptr<ExecutionEngine> engine, Threading threading)
    : engine(std::move(engine)), threading(threading) {}

CompiledModule::~CompiledModule() {
  if (threading == Threading::Pool) {
    waitForIdleWorkers();
  }
}

llvm::Expected<std::unique_ptr<CompiledModule>> CompiledModule::compile(ModuleOp module,
                                                                        Threading threading) {
  initializeHostTarget();
  llvm::Expected<OwningOpRef<ModuleOp>> lowered = lower(module, threading);
  if (!lowered) {
    return lowered.takeError();
  }
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> builder =
      llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder) {
    return builder.takeError();
  }
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Aggressive);
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine = builder->createTargetMachine();
  if (!machine) {
    return machine.takeError();
  }
  auto transformer = makeOptimizingTransformer(kOptLevel, /*sizeLevel=*/0, machine->get());
  ExecutionEngineOptions options;
  options.transformer = transformer;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Aggressive;
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  // The transformer keeps using `machine`, so the engine gets one of its own.
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> own = builder->createTargetMachine();
  if (!own) {
    return own.takeError();
  }
  auto engine = ExecutionEngine::create(**lowered, options, std::move(*own));
  if (!engine) {
    return engine.takeError();
  }
  return std::unique_ptr<CompiledModule>(new CompiledModule(std::move(*engine), threading));
}

llvm::Error CompiledModule::invoke(llvm::StringRef name, llvm::MutableArrayRef<void *> arguments) {
  return engine->invokePacked(("_mlir_ciface_" + name).str(), arguments);
}

void exposeEntries(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isPublic() && !function.isExternal()) {
      function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                        UnitAttr::get(module.getContext()));
    }
  }
}

llvm::Expected<std::string> printLLVMIR(ModuleOp module, Threading threading) {
  llvm::Expected<OwningOpRef<ModuleOp>> lowered = lower(module, threading);
  if (!lowered) {
    return lowered.takeError();
  }
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(**lowered, context);
  if (!translated) {
    return llvm::createStringError("expected the llvm dialect to be translated to LLVM IR, but the "
                                   "translation failed");
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  translated->print(stream, nullptr);
  return text;
}

} // namespace fa4::driver
