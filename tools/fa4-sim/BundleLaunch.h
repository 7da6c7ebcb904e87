//===- BundleLaunch.h - running a bundle's launches -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Binds arguments (tools/common/BundleArguments.h) to simulated memory and runs the
// launches of a bundle in order. Reading memory that holds nothing yet is a fault.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_SIM_BUNDLELAUNCH_H
#define FA4_TOOLS_FA4_SIM_BUNDLELAUNCH_H

#include "BundleArguments.h"
#include "fa4/Runtime/Resolve.h"
#include "fa4/Simulator/Simulator.h"

namespace fa4::tool {

class BundleRun {
public:
  BundleRun(const runtime::Bundle &bundle, uint64_t seed, unsigned processors)
      : bundle(bundle), memory(seed), seed(seed) {
    binding.processors = processors;
  }

  /// Takes one `NAME=VALUE`.
  llvm::Error bind(llvm::StringRef spec);
  /// Makes the workspaces and runs every launch until one reports an error.
  llvm::Error run(sim::Program &program, const sim::Options &options, sim::FaultLog &log,
                  sim::Statistics &statistics);
  /// Writes a tensor as `NAME=PATH.npy` says.
  llvm::Error save(llvm::StringRef spec) const;

private:
  const runtime::Bundle &bundle;
  runtime::Binding binding;
  sim::GlobalMemory memory;
  uint64_t seed;
};

} // namespace fa4::tool

#endif // FA4_TOOLS_FA4_SIM_BUNDLELAUNCH_H
