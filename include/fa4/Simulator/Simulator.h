//===- Simulator.h - launching kernels in the simulator ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface that tools and tests use: load a program, allocate global
// memory, launch. A run never aborts the process; everything that goes wrong is
// a fault in the log, and what was not modelled is never reported as clean.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_SIMULATOR_H
#define FA4_SIMULATOR_SIMULATOR_H

#include "fa4/Simulator/Approx.h"
#include "fa4/Simulator/Fault.h"
#include "fa4/Simulator/Memory.h"
#include "fa4/Simulator/Program.h"
#include "fa4/Simulator/TensorArith.h"
#include "fa4/Simulator/Timeline.h"

#include <functional>

namespace fa4::sim {

class ExecutionCounts;

/// How warps and engines are interleaved.
enum class Policy : uint8_t {
  RunToBlock, ///< a warp runs until it must wait; engines when nothing else can
  Random      ///< seeded switches at every synchronising or memory instruction
};

struct Options {
  uint64_t seed = 1;
  unsigned threads = 0; ///< worker threads; 0 = host cores
  Policy policy = Policy::RunToBlock;
  TensorMode mma = TensorMode::Exact;
  ApproxMode approx = ApproxMode::Nearest;
  /// Bound of executed warp instructions per cluster; beyond it the run is INCOMPLETE.
  uint64_t instructionBudget = uint64_t(1) << 36;
  /// Clusters that one worker may keep in flight when all of its others wait.
  unsigned resident = 8;
  bool tmemBaseZero = false;         ///< allocations start at column 0 when they can
  bool spuriousTryWait = false;      ///< try_wait may fail although the phase is complete
  bool pipeIsa = false;              ///< only the ISA's pairs of tcgen05 operations are ordered
  bool strictTensor = true;          ///< races: tcgen05 takes its fences and wait::ld
  bool strictScope = true;           ///< races: mbarriers between CTAs take .cluster scope
  bool races = false;                ///< look for unordered accesses; one worker thread
  Timeline *timeline = nullptr;      ///< gets what happens, if there is one; one worker thread
  ExecutionCounts *counts = nullptr; ///< gets how often each instruction ran, if there is one
  /// Called from worker threads with finished and total clusters.
  std::function<void(uint64_t, uint64_t)> progress;
};

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

struct Launch {
  Dim3 grid, block, cluster;
  bool hasCluster = false; ///< cluster given by the launch
  uint32_t dynamicSharedBytes = 0;
  std::vector<uint8_t> params; ///< laid out as Kernel::params
  /// Registers per thread, when known from elsewhere (ptxas); 0 = from the entry.
  uint32_t registers = 0;
};

struct Statistics {
  uint64_t warpInstructions = 0;
  uint64_t mmaFlops = 0; ///< multiply-adds × 2 of tensor-core instructions
  uint64_t clusters = 0;
};

/// Runs one grid to completion or to the first error. Faults go to `log`.
/// Returns true if no fault of severity Error was reported.
bool runGrid(const Kernel &kernel, const Launch &launch, GlobalMemory &memory,
             const Options &options, FaultLog &log, Statistics *statistics = nullptr);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_SIMULATOR_H
