//===- SimulatedProgram.cpp - run compiled kernels without a GPU ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arrays that are only written have no value in simulated memory until a kernel
// gives them one: reading them is a fault.
//
//===----------------------------------------------------------------------===//

#include "fa4/Driver/SimulatedProgram.h"

#include "fa4/Simulator/SimulatedRuntime.h"

using namespace mlir;

namespace fa4::driver {

llvm::Expected<std::unique_ptr<SimulatedProgram>> SimulatedProgram::create(ModuleOp module,
                                                                           const Entry &entry,
                                                                           const TargetInfo &target,
                                                                           DeviceOptions options) {
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(module->clone()));
  auto refuse = [] {
    return llvm::createStringError("expected the module to compile, but got the errors above");
  };
  DeviceCompiler compiler(*copy, target, options);
  if (failed(compiler.lowerTo(DeviceLevel::Machine))) {
    return refuse();
  }
  FailureOr<runtime::Bundle> bundle =
      compiler.makeBundle(entry.getFunction().getSymName(), entry.getArgumentNames(), "kernel.ptx");
  FailureOr<std::string> ptx = compiler.emitPtx();
  if (failed(bundle) || failed(ptx)) {
    return refuse();
  }
  auto result = load(std::move(*bundle), std::move(*ptx));
  if (result) {
    (*result)->times = compiler.getTimes().vec();
  }
  return result;
}

llvm::Expected<std::unique_ptr<SimulatedProgram>> SimulatedProgram::load(runtime::Bundle bundle,
                                                                         std::string ptx) {
  auto program = sim::Program::load(ptx);
  if (!program) {
    return program.takeError();
  }
  std::unique_ptr<SimulatedProgram> result(new SimulatedProgram());
  result->bundle = std::move(bundle);
  result->ptx = std::move(ptx);
  result->program = std::move(*program);
  return result;
}

llvm::Error SimulatedProgram::run(llvm::MutableArrayRef<Argument> arguments,
                                  const SimulationOptions &options) {
  sim::GlobalMemory memory(options.simulator.seed);
  runtime::Binding binding;
  binding.processors = options.processors;
  if (bundle.arguments.size() != arguments.size()) {
    return llvm::createStringError("expected " + llvm::Twine(bundle.arguments.size()) +
                                   " arguments, but got " + llvm::Twine(arguments.size()));
  }
  for (auto [declared, given] : llvm::zip_equal(bundle.arguments, arguments)) {
    if (auto *number = std::get_if<float>(&given)) {
      binding.floats[declared.name] = *number;
      continue;
    }
    if (auto *number = std::get_if<int32_t>(&given)) {
      binding.integers[declared.name] = *number;
      continue;
    }
    HostArray &array = *std::get<std::shared_ptr<HostArray>>(given);
    llvm::MutableArrayRef<uint8_t> span = array.getSpan();
    runtime::BoundTensor &tensor = binding.tensors[declared.name];
    tensor.address = memory.allocate(declared.name, std::max<uint64_t>(span.size(), 1),
                                     declared.access == runtime::Access::Read);
    if (declared.access != runtime::Access::Write) {
      memory.write(tensor.address, span);
    }
    tensor.type = declared.type;
    tensor.extents.assign(array.getShape().begin(), array.getShape().end());
    for (int64_t stride : array.getStrides()) {
      tensor.strides.push_back(stride * static_cast<int64_t>(runtime::elementBytes(declared.type)));
    }
  }
  sim::FaultLog log;
  if (llvm::Error error = runtime::runSimulated(bundle, binding, *program, memory,
                                                options.simulator, log, statistics)) {
    return error;
  }
  if (log.hasErrors() || log.has(sim::FaultId::Incomplete)) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    for (const sim::Fault &fault : log.take()) {
      sim::printFault(stream, fault);
    }
    return llvm::createStringError("expected the simulated kernels to run without a fault, but "
                                   "got:\n" +
                                   text);
  }
  for (auto [declared, given] : llvm::zip_equal(bundle.arguments, arguments)) {
    auto *array = std::get_if<std::shared_ptr<HostArray>>(&given);
    if (array && declared.access != runtime::Access::Read) {
      // A written array may have gaps that no kernel may touch: only elements move.
      std::vector<uint8_t> bytes((*array)->getSpan().size());
      memory.read(binding.tensors[declared.name].address, bytes);
      (*array)->copyElements(bytes);
    }
  }
  return llvm::Error::success();
}

} // namespace fa4::driver
