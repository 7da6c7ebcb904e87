//===- SimulatedProgram.h - run compiled kernels without a GPU --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The device's counterpart of HostProgram: compiles a module to PTX and a bundle,
// and runs both in the simulator on the arrays of this host.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DRIVER_SIMULATEDPROGRAM_H
#define FA4_DRIVER_SIMULATEDPROGRAM_H

#include "fa4/Driver/DeviceCompiler.h"
#include "fa4/Driver/Entry.h"
#include "fa4/Simulator/Simulator.h"

namespace fa4::driver {

struct SimulationOptions {
  sim::Options simulator;
  /// Multiprocessors of the device: how many CTAs a persistent kernel gets.
  int64_t processors = 4;
};

class SimulatedProgram {
public:
  /// Compiles a copy of `module`, whose entry is `entry`, for the chip of `target`.
  static llvm::Expected<std::unique_ptr<SimulatedProgram>> create(mlir::ModuleOp module,
                                                                  const Entry &entry,
                                                                  const TargetInfo &target,
                                                                  DeviceOptions options = {});

  /// Takes PTX that somebody else made, or changed, for the launches of `bundle`.
  static llvm::Expected<std::unique_ptr<SimulatedProgram>> load(runtime::Bundle bundle,
                                                                std::string ptx);

  /// Runs the launches; what kernels write arrives in `arguments`. An error names the
  /// first fault.
  llvm::Error run(llvm::MutableArrayRef<Argument> arguments, const SimulationOptions &options);

  const runtime::Bundle &getBundle() const { return bundle; }
  llvm::StringRef getPtx() const { return ptx; }
  /// Of all runs.
  const sim::Statistics &getStatistics() const { return statistics; }
  llvm::ArrayRef<StageTime> getTimes() const { return times; }

private:
  SimulatedProgram() = default;
  runtime::Bundle bundle;
  std::string ptx;
  std::unique_ptr<sim::Program> program;
  sim::Statistics statistics;
  std::vector<StageTime> times;
};

} // namespace fa4::driver

#endif // FA4_DRIVER_SIMULATEDPROGRAM_H
