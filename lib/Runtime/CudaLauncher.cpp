//===- CudaLauncher.cpp - running a bundle on a GPU -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is prepared was checked: a launch can fail only for what the driver alone
// knows (a lost device, a stream of another one).
//
//===----------------------------------------------------------------------===//

#include "fa4/Runtime/CudaLauncher.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <cstring>

namespace fa4::runtime {

using llvm::Twine;

namespace {

// CUDA driver API, cuTensorMapEncodeTiled: the address and the strides are multiples
// of 16 bytes.
constexpr uint64_t kMapAlignment = 16;
// CUDA programming guide, thread block clusters: up to 8 CTAs are portable.
constexpr uint32_t kPortableCluster = 8;

/// CUtensorMapDataType, by its place in the enumeration.
int mapDataType(ElementType type) {
  switch (type) {
  case ElementType::U8:
  case ElementType::E4M3: // copied as bytes
  case ElementType::E5M2:
    return 0;
  case ElementType::U16:
    return 1;
  case ElementType::U32:
    return 2;
  case ElementType::I32:
    return 3;
  case ElementType::U64:
    return 4;
  case ElementType::I64:
    return 5;
  case ElementType::F16:
    return 6;
  case ElementType::F32:
    return 7;
  case ElementType::F64:
    return 8;
  case ElementType::BF16:
    return 9;
  case ElementType::TF32:
    return 11;
  }
  return 0;
}

llvm::Error checkMap(const ResolvedTensorMap &map) {
  if (map.address % kMapAlignment != 0) {
    return llvm::createStringError(
        "expected the address of '" + map.tensor + "' to be a multiple of " + Twine(kMapAlignment) +
        " bytes, but got a remainder of " + Twine(map.address % kMapAlignment));
  }
  for (uint64_t stride : map.strides) {
    if (stride % kMapAlignment != 0) {
      return llvm::createStringError("expected the strides of '" + map.tensor +
                                     "' to be multiples of " + Twine(kMapAlignment) +
                                     " bytes, but got " + Twine(stride));
    }
  }
  return llvm::Error::success();
}

/// Writes the driver's form of `map` to `bytes`.
llvm::Error encodeMap(const CudaDevice &device, const ResolvedTensorMap &map,
                      llvm::MutableArrayRef<uint8_t> bytes) {
  if (llvm::Error e = checkMap(map)) {
    return e;
  }
  cuda::TensorMap encoded;
  static_assert(sizeof(encoded) == kTensorMapBytes, "size of CUtensorMap");
  cuda::Result result = device.getDriver().tensorMapEncodeTiled(
      &encoded, mapDataType(map.type), uint32_t(map.extents.size()),
      reinterpret_cast<void *>(map.address), map.extents.data(), map.strides.data(), map.box.data(),
      map.elementStrides.data(), /*interleave=*/0, int(map.swizzle), int(map.promotion),
      int(map.fill));
  if (llvm::Error e =
          device.check(result, "expected a tensor map of '" + map.tensor + "' to be encoded")) {
    return e;
  }
  std::memcpy(bytes.data(), &encoded, sizeof(encoded));
  return llvm::Error::success();
}

std::string loadMessage(const CudaDevice &device, llvm::StringRef chip, llvm::StringRef log) {
  std::string message = "expected device " + std::to_string(device.getOrdinal()) +
                        " to load code for '" + chip.str() + "'";
  if (!log.trim().empty()) {
    message += " (" + log.trim().str() + ")";
  }
  return message;
}

} // namespace

llvm::Error PreparedLaunch::launch(cuda::Stream stream) const {
  const cuda::Driver &driver = device->getDriver();
  CudaScope scope(*device);
  for (const Clear &clear : clears) {
    if (llvm::Error e = device->check(driver.memsetD8Async(clear.address, 0, clear.bytes, stream),
                                      "expected a workspace to be cleared")) {
      return e;
    }
  }
  for (const Step &step : steps) {
    cuda::LaunchConfig config = step.config;
    config.stream = stream;
    cuda::Result result = driver.launchKernelEx(&config, step.function,
                                                const_cast<void **>(step.pointers.data()), nullptr);
    if (result != cuda::kSuccess) {
      return device->check(result, "expected '" + step.entry + "' to start on device " +
                                       Twine(device->getOrdinal()));
    }
  }
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<CudaProgram>>
CudaProgram::load(std::shared_ptr<const CudaDevice> device, Bundle bundle, llvm::StringRef image) {
  if (llvm::Error e = device->checkChip(bundle.target)) {
    return std::move(e);
  }
  std::unique_ptr<CudaProgram> program(new CudaProgram(std::move(device), std::move(bundle)));
  const CudaDevice &gpu = *program->device;
  CudaScope scope(gpu);
  std::string terminated = image.str(); // PTX has to end in a NUL
  std::string log(4096, '\0');
  int options[] = {cuda::kErrorLogBuffer, cuda::kErrorLogBufferBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  cuda::Result result =
      gpu.getDriver().moduleLoadDataEx(&program->module, terminated.c_str(), 2, options, values);
  if (llvm::Error e = gpu.check(result, loadMessage(gpu, program->bundle.target, log.c_str()))) {
    return std::move(e);
  }
  for (const Launch &launch : program->bundle.launches) {
    if (llvm::Error e = program->findEntry(launch.entry, launch.parameters.size())) {
      return std::move(e);
    }
  }
  return program;
}

CudaProgram::~CudaProgram() {
  if (module) {
    CudaScope scope(*device);
    device->getDriver().moduleUnload(module);
  }
}

llvm::Error CudaProgram::findEntry(const std::string &name, size_t parameters) {
  auto [found, isNew] = entries.try_emplace(name);
  Entry &entry = found->second;
  const cuda::Driver &driver = device->getDriver();
  if (isNew) {
    if (llvm::Error e =
            device->check(driver.moduleGetFunction(&entry.function, module, name.c_str()),
                          "expected the code to have an entry '" + name + "'")) {
      return e;
    }
  }
  entry.hasParameterInfo = driver.functionGetParamInfo != nullptr;
  // No more than the bundle has: to ask past the end is an error for the tools that
  // watch the driver's calls.
  size_t offset = 0, bytes = 0;
  while (entry.hasParameterInfo && entry.parameterBytes.size() < parameters &&
         driver.functionGetParamInfo(entry.function, entry.parameterBytes.size(), &offset,
                                     &bytes) == cuda::kSuccess) {
    entry.parameterBytes.push_back(bytes);
  }
  return llvm::Error::success();
}

llvm::Error CudaProgram::checkPlace(const std::string &name, const BoundTensor &tensor) const {
  std::string place = "memory of device " + std::to_string(device->getOrdinal());
  if (tensor.address == 0 && llvm::is_contained(tensor.extents, 0)) {
    return llvm::Error::success(); // frameworks have no address for no elements
  }
  const cuda::Driver &driver = device->getDriver();
  unsigned kind = 0;
  int ordinal = 0;
  if (driver.pointerGetAttribute(&kind, cuda::kMemoryType, tensor.address) != cuda::kSuccess ||
      kind == cuda::kHostMemory) {
    return llvm::createStringError("expected '" + name + "' to be in " + place +
                                   ", but got memory of the host");
  }
  if (driver.pointerGetAttribute(&ordinal, cuda::kDeviceOrdinal, tensor.address) ==
          cuda::kSuccess &&
      ordinal != device->getOrdinal()) {
    return llvm::createStringError("expected '" + name + "' to be in " + place +
                                   ", but got memory of device " + Twine(ordinal));
  }
  return llvm::Error::success();
}

llvm::Error CudaProgram::reserveShared(const std::string &name, uint32_t bytes, bool wideCluster) {
  if (bytes > uint32_t(device->getMaxSharedBytes())) {
    return llvm::createStringError("expected the dynamic shared memory of '" + name +
                                   "' to be at most the " + Twine(device->getMaxSharedBytes()) +
                                   " bytes of device " + Twine(device->getOrdinal()) +
                                   ", but got " + Twine(bytes));
  }
  const cuda::Driver &driver = device->getDriver();
  std::lock_guard<std::mutex> lock(mutex);
  Entry &entry = entries[name];
  if (wideCluster) {
    if (llvm::Error e = device->check(
            driver.functionSetAttribute(entry.function, cuda::kNonPortableClusterSizeAllowed, 1),
            "expected '" + name + "' to take a cluster of more than " + Twine(kPortableCluster))) {
      return e;
    }
  }
  // Never lowered: an earlier prepared launch may need what it has.
  if (int(bytes) <= entry.dynamicSharedBytes) {
    return llvm::Error::success();
  }
  entry.dynamicSharedBytes = int(bytes);
  return device->check(
      driver.functionSetAttribute(entry.function, cuda::kMaxDynamicSharedBytes, int(bytes)),
      "expected " + Twine(bytes) + " bytes of shared memory for '" + name + "'");
}

llvm::Expected<PreparedLaunch::Step> CudaProgram::prepareStep(const ResolvedLaunch &resolved) {
  PreparedLaunch::Step step;
  step.entry = resolved.entry;
  step.config.grid = resolved.grid;
  step.config.block = resolved.block;
  step.config.sharedBytes = resolved.dynamicSharedBytes;
  uint32_t ctas = 1;
  if (resolved.cluster) {
    cuda::LaunchAttribute attribute;
    attribute.id = cuda::kClusterDimension;
    llvm::copy(*resolved.cluster, attribute.value.begin());
    step.attributes.push_back(attribute);
    ctas = (*resolved.cluster)[0] * (*resolved.cluster)[1] * (*resolved.cluster)[2];
  }
  if (resolved.programmaticDependence) {
    cuda::LaunchAttribute attribute;
    attribute.id = cuda::kProgrammaticStreamSerialization;
    attribute.value[0] = 1;
    step.attributes.push_back(attribute);
  }
  step.config.attributes = step.attributes.data();
  step.config.numAttributes = uint32_t(step.attributes.size());
  if (llvm::Error e =
          reserveShared(resolved.entry, resolved.dynamicSharedBytes, ctas > kPortableCluster)) {
    return std::move(e);
  }
  const Entry &entry = entries[resolved.entry];
  step.function = entry.function;
  if (entry.hasParameterInfo && entry.parameterBytes.size() < resolved.parameters.size()) {
    return llvm::createStringError(
        "expected entry '" + resolved.entry + "' to have " + Twine(resolved.parameters.size()) +
        " parameters as in the bundle, but got " + Twine(entry.parameterBytes.size()));
  }
  for (auto [index, given] : llvm::enumerate(resolved.parameters)) {
    if (entry.hasParameterInfo && entry.parameterBytes[index] != given.bytes.size()) {
      return llvm::createStringError(
          "expected parameter " + Twine(index) + " of '" + resolved.entry + "' to have " +
          Twine(entry.parameterBytes[index]) + " bytes, but got " + Twine(given.bytes.size()));
    }
    std::vector<uint8_t> bytes = given.bytes;
    for (const auto &[offset, map] : given.maps) {
      if (llvm::Error e = encodeMap(*device, map,
                                    llvm::MutableArrayRef(bytes).slice(offset, kTensorMapBytes))) {
        return std::move(e);
      }
    }
    step.parameters.push_back(std::move(bytes));
  }
  for (std::vector<uint8_t> &bytes : step.parameters) {
    step.pointers.push_back(bytes.data());
  }
  return step;
}

llvm::Expected<std::vector<uint64_t>> CudaProgram::getWorkspaceBytes(Binding binding) const {
  binding.processors = device->getProcessors();
  if (llvm::Error e = checkBinding(bundle, binding)) {
    return std::move(e);
  }
  return workspaceBytes(bundle, binding);
}

llvm::Expected<PreparedLaunch> CudaProgram::prepare(Binding binding) {
  llvm::Expected<std::vector<uint64_t>> sizes = getWorkspaceBytes(binding);
  if (!sizes) {
    return sizes.takeError();
  }
  binding.processors = device->getProcessors();
  CudaScope scope(*device);
  for (const Argument &argument : bundle.arguments) {
    if (!argument.isTensor) {
      continue;
    }
    if (llvm::Error e = checkPlace(argument.name, binding.tensors[argument.name])) {
      return std::move(e);
    }
  }
  PreparedLaunch prepared;
  prepared.device = device;
  for (auto [workspace, bytes] : llvm::zip_equal(bundle.workspaces, *sizes)) {
    auto bound = binding.tensors.find(workspace.name);
    if (bound == binding.tensors.end()) {
      return llvm::createStringError("expected the workspace '" + workspace.name + "' of " +
                                     Twine(bytes) + " bytes to be bound, but got nothing");
    }
    if (llvm::Error e = checkPlace(workspace.name, bound->second)) {
      return std::move(e);
    }
    if (workspace.zero) {
      prepared.clears.push_back({bound->second.address, bytes});
    }
  }
  for (const Launch &launch : bundle.launches) {
    llvm::Expected<ResolvedLaunch> resolved = resolveLaunch(launch, binding);
    if (!resolved) {
      return resolved.takeError();
    }
    if (resolved->isEmpty()) {
      continue;
    }
    llvm::Expected<PreparedLaunch::Step> step = prepareStep(*resolved);
    if (!step) {
      return llvm::createStringError("launch of '" + launch.entry +
                                     "': " + llvm::toString(step.takeError()));
    }
    prepared.steps.push_back(std::move(*step));
  }
  return prepared;
}

} // namespace fa4::runtime
