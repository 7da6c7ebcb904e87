//===- KernelReport.h - what became of a schedule ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel at T2 read back: roles, maps of shared and tensor memory, barriers, and
// the clocks that its schedule should take.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DRIVER_KERNELREPORT_H
#define FA4_DRIVER_KERNELREPORT_H

#include "fa4/Planning/CostModel.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace fa4::driver {

struct BarrierCounts {
  unsigned barriers = 0;      ///< mbarriers, slot by slot
  unsigned namedBarriers = 0; ///< ids
  unsigned waits = 0;         ///< ops, named ones too
  unsigned arrivals = 0;      ///< ops: arrive, expect, commit, named ones
};

struct KernelReport {
  struct Role {
    std::string name;
    int64_t warps = 0, replicas = 1, firstWarp = 0, registers = 0;
  };
  struct Allocation {
    std::string name;
    bool isTensorMemory = false;
    int64_t start = 0, end = 0, elements = 1;
  };
  struct Barrier {
    std::string name;
    int64_t slots = 0, count = 0, start = 0;
  };

  std::string name;
  /// Who draws tiles, and in which order.
  std::string draw, order;
  std::vector<Role> roles;
  std::vector<Allocation> allocations;
  std::vector<Barrier> barriers;
  BarrierCounts before, after;
  /// What the cost model expects, of kernels with a softmax.
  std::optional<BlockCost> block;
  /// And of a launch of them, unless their masks have a lower bound: its name, and what
  /// becomes of the clocks of all SMs.
  std::string launchName;
  GridCost launch;

  void print(llvm::raw_ostream &os) const;
};

/// The kernels of `module`, which are at T2; `before` keeps what `earlier` says
/// about the kernel of the same name.
std::vector<KernelReport> reportKernels(mlir::ModuleOp module,
                                        llvm::ArrayRef<KernelReport> earlier = {});

} // namespace fa4::driver

#endif // FA4_DRIVER_KERNELREPORT_H
