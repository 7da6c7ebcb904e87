//===- BundleLaunch.cpp - running a bundle's launches -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory that a kernel only reads is not writable for it.
//
//===----------------------------------------------------------------------===//

#include "BundleLaunch.h"

#include "fa4/Simulator/SimulatedRuntime.h"

using namespace llvm;
using namespace fa4;
using namespace fa4::tool;

Error BundleRun::bind(StringRef spec) {
  Expected<GivenArgument> given = parseArgument(bundle, spec, seed);
  if (!given) {
    return given.takeError();
  }
  const runtime::Argument &declared = *given->declared;
  if (!declared.isTensor) {
    if (declared.type == runtime::ElementType::F32) {
      binding.floats[declared.name] = given->number;
    } else {
      binding.integers[declared.name] = given->integer;
    }
    return Error::success();
  }
  uint64_t address = memory.allocate(declared.name, std::max<uint64_t>(given->tensorBytes(), 1),
                                     declared.access == runtime::Access::Read);
  binding.tensors[declared.name] = runtime::bindDense(address, declared.type, given->shape);
  if (!given->isEmpty) {
    memory.write(address, ArrayRef(reinterpret_cast<const uint8_t *>(given->bytes.data()),
                                   given->bytes.size()));
  }
  return Error::success();
}

Error BundleRun::run(sim::Program &program, const sim::Options &options, sim::FaultLog &log,
                     sim::Statistics &statistics) {
  return runtime::runSimulated(bundle, binding, program, memory, options, log, statistics);
}

Error BundleRun::save(StringRef spec) const {
  auto [name, path] = spec.split('=');
  auto found = binding.tensors.find(name);
  std::optional<fa4::support::NpyType> type =
      found == binding.tensors.end() ? std::nullopt : npyTypeOf(found->second.type);
  if (!type || path.empty()) {
    return createStringError("expected NAME=PATH.npy with a tensor of the bundle, but got '" +
                             spec + "'");
  }
  fa4::support::NpyArray array(*type, found->second.extents);
  memory.read(found->second.address,
              MutableArrayRef(reinterpret_cast<uint8_t *>(array.data.data()), array.data.size()));
  return fa4::support::writeNpy(path, array);
}
