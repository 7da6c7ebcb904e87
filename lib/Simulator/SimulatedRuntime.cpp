//===- SimulatedRuntime.cpp - running a bundle in the simulator -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch reaches the simulator only if its parameters are, one by one, as many
// bytes as the entry declares.
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/SimulatedRuntime.h"

#include "fa4/Simulator/TensorMap.h"

#include "llvm/ADT/STLExtras.h"

namespace fa4::runtime {

static llvm::Error error(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static sim::MapElement mapElementOf(ElementType type) {
  switch (type) {
  case ElementType::U8:
  case ElementType::E4M3: // copied as bytes: the map only zero-fills
  case ElementType::E5M2:
    return sim::MapElement::U8;
  case ElementType::U16:
    return sim::MapElement::U16;
  case ElementType::U32:
    return sim::MapElement::U32;
  case ElementType::I32:
    return sim::MapElement::S32;
  case ElementType::U64:
    return sim::MapElement::U64;
  case ElementType::I64:
    return sim::MapElement::S64;
  case ElementType::F16:
    return sim::MapElement::F16;
  case ElementType::BF16:
    return sim::MapElement::BF16;
  case ElementType::F32:
    return sim::MapElement::F32;
  case ElementType::F64:
    return sim::MapElement::F64;
  case ElementType::TF32:
    return sim::MapElement::TF32;
  }
  return sim::MapElement::U8;
}

static sim::Swizzle swizzleOf(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::None:
    return sim::Swizzle::None;
  case Swizzle::Bytes32:
    return sim::Swizzle::B32;
  case Swizzle::Bytes64:
    return sim::Swizzle::B64;
  case Swizzle::Bytes128:
    return sim::Swizzle::B128;
  }
  return sim::Swizzle::None;
}

static llvm::Error encodeMap(const ResolvedTensorMap &map, llvm::MutableArrayRef<uint8_t> bytes) {
  sim::TensorMap result;
  result.type = mapElementOf(map.type);
  result.rank = unsigned(map.extents.size());
  result.swizzle = swizzleOf(map.swizzle);
  result.nanFill = map.fill == OutsideFill::NaN;
  result.base = map.address;
  for (size_t d = 0; d < map.extents.size(); ++d) {
    result.sizes[d] = map.extents[d];
    result.strides[d] = d == 0 ? elementBytes(map.type) : map.strides[d - 1];
    result.box[d] = map.box[d];
    result.elementStrides[d] = map.elementStrides[d];
  }
  if (llvm::Error e = result.verify()) {
    return e;
  }
  result.encode(bytes);
  return llvm::Error::success();
}

/// Lays the parameters out as the entry declares them.
static llvm::Expected<sim::Launch> makeLaunch(const ResolvedLaunch &resolved,
                                              const sim::Kernel &kernel) {
  sim::Launch launch;
  auto dims = [](const std::array<uint32_t, 3> &d) { return sim::Dim3{d[0], d[1], d[2]}; };
  launch.grid = dims(resolved.grid);
  launch.block = dims(resolved.block);
  if (resolved.cluster) {
    launch.cluster = dims(*resolved.cluster);
    launch.hasCluster = true;
  }
  launch.dynamicSharedBytes = resolved.dynamicSharedBytes;
  launch.params.assign(kernel.paramBytes, 0);
  if (kernel.params.size() != resolved.parameters.size()) {
    return error("expected entry '" + kernel.name + "' to have " +
                 llvm::Twine(resolved.parameters.size()) +
                 " parameters as in the bundle, but got " + llvm::Twine(kernel.params.size()));
  }
  for (auto [index, declared, given] : llvm::enumerate(kernel.params, resolved.parameters)) {
    if (declared.size != given.bytes.size()) {
      return error("expected parameter " + llvm::Twine(index) + " of '" + kernel.name +
                   "' to have " + llvm::Twine(declared.size) + " bytes, but got " +
                   llvm::Twine(given.bytes.size()));
    }
    llvm::MutableArrayRef<uint8_t> bytes =
        llvm::MutableArrayRef(launch.params).slice(declared.offset, declared.size);
    llvm::copy(given.bytes, bytes.begin());
    for (const auto &[offset, map] : given.maps) {
      if (llvm::Error e = encodeMap(map, bytes.slice(offset, kTensorMapBytes))) {
        return std::move(e);
      }
    }
  }
  return launch;
}

llvm::Error runSimulated(const Bundle &bundle, Binding &binding, sim::Program &program,
                         sim::GlobalMemory &memory, const sim::Options &options, sim::FaultLog &log,
                         sim::Statistics &statistics) {
  if (llvm::Error e = checkBinding(bundle, binding)) {
    return e;
  }
  llvm::Expected<std::vector<uint64_t>> sizes = workspaceBytes(bundle, binding);
  if (!sizes) {
    return sizes.takeError();
  }
  for (auto [workspace, bytes] : llvm::zip_equal(bundle.workspaces, *sizes)) {
    uint64_t address = memory.allocate(workspace.name, bytes);
    if (workspace.zero) {
      memory.write(address, std::vector<uint8_t>(bytes));
    }
    binding.tensors[workspace.name] = bindDense(address, ElementType::U8, {});
  }
  for (const Launch &description : bundle.launches) {
    llvm::Expected<ResolvedLaunch> resolved = resolveLaunch(description, binding);
    if (!resolved) {
      return resolved.takeError();
    }
    if (resolved->isEmpty()) {
      continue;
    }
    llvm::Expected<const sim::Kernel *> kernel = program.kernel(resolved->entry);
    if (!kernel) {
      return kernel.takeError();
    }
    llvm::Expected<sim::Launch> launch = makeLaunch(*resolved, **kernel);
    if (!launch) {
      return launch.takeError();
    }
    sim::Statistics part;
    sim::runGrid(**kernel, *launch, memory, options, log, &part);
    statistics.warpInstructions += part.warpInstructions;
    statistics.mmaFlops += part.mmaFlops;
    statistics.clusters += part.clusters;
    if (log.hasBroken()) {
      break;
    }
  }
  return llvm::Error::success();
}

} // namespace fa4::runtime
