//===- SimulatedRuntime.h - running a bundle in the simulator ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The simulator's counterpart of a CUDA launcher. Whoever binds the arguments owns
// the memory and reads the results from it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_SIMULATEDRUNTIME_H
#define FA4_SIMULATOR_SIMULATEDRUNTIME_H

#include "fa4/Runtime/Resolve.h"
#include "fa4/Simulator/Simulator.h"

namespace fa4::runtime {

/// Makes the workspaces in `memory`, adds them to `binding`, and runs every launch
/// until one reports a fault that is no race.
llvm::Error runSimulated(const Bundle &bundle, Binding &binding, sim::Program &program,
                         sim::GlobalMemory &memory, const sim::Options &options, sim::FaultLog &log,
                         sim::Statistics &statistics);

} // namespace fa4::runtime

#endif // FA4_SIMULATOR_SIMULATEDRUNTIME_H
