//===- KernelCost.h - what compiling a kernel takes -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles kernels for a chip without running them: the time of each stage, and
// what the assembler says about the result.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_DRIVER_MATRIX_KERNELCOST_H
#define FA4_TEST_UNIT_DRIVER_MATRIX_KERNELCOST_H

#include "fa4/Driver/DeviceCompiler.h"
#include "fa4/Driver/Ptxas.h"

namespace fa4::matrix {

struct KernelCost {
  std::vector<driver::StageTime> times;
  std::string ptx;
  /// Of `ptxas`, where there is one.
  std::optional<driver::PtxasReport> assembled;

  /// What is wrong with the machine code: spills, local memory, notes of `ptxas`;
  /// empty if nothing is.
  std::string complaint() const;
};

/// Compiles the kernel of `module` in place.
llvm::Expected<KernelCost> compileKernel(mlir::ModuleOp module, const TargetInfo &target,
                                         driver::DeviceOptions options);

/// The costs of many kernels.
class CostTable {
public:
  void add(size_t number, const KernelCost &cost);
  /// Per stage, and of the ways through several: median, most, and of which case.
  void print(llvm::raw_ostream &os) const;

private:
  struct Stage {
    std::string name;
    std::vector<std::pair<double, size_t>> seconds;
  };
  void add(size_t number, llvm::StringRef stage, double seconds);
  std::vector<Stage> stages;
};

} // namespace fa4::matrix

#endif // FA4_TEST_UNIT_DRIVER_MATRIX_KERNELCOST_H
