//===- DeviceCompiler.h - from attention to PTX and a bundle ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module enters at any level and leaves at any later one. What a level's
// pipeline does not bring to its level is an error, whatever the passes said.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DRIVER_DEVICECOMPILER_H
#define FA4_DRIVER_DEVICECOMPILER_H

#include "fa4/Driver/KernelReport.h"
#include "fa4/Runtime/Bundle.h"
#include "fa4/Target/TargetInfo.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace mlir {
class PassManager;
} // namespace mlir

namespace fa4::driver {

/// The levels of the device path, in their order. `Barriers` is T2 before what is
/// implied was dropped.
enum class DeviceLevel { Attn, T0, T1, Barriers, T2, Machine };

/// The lowest level of any kernel or attention in `module`.
DeviceLevel levelOf(mlir::ModuleOp module);

/// Processor time of this process so far: on a shared machine a clock on the wall
/// measures the others too.
double processorSeconds();

struct StageTime {
  std::string stage;
  double seconds = 0.0;
};

struct DeviceOptions {
  /// Prove the protocol of every kernel, at T1 and at T2.
  bool prove = true;
  /// Called with every pass manager before it runs.
  std::function<void(mlir::PassManager &)> instrument = {};
};

class DeviceCompiler {
public:
  /// Works on `module` in place.
  DeviceCompiler(mlir::ModuleOp module, TargetInfo target, DeviceOptions options = {})
      : module(module), target(std::move(target)), options(options) {}

  mlir::LogicalResult lowerTo(DeviceLevel level);

  /// The rest of the way, from wherever the module is.
  mlir::FailureOr<std::string> emitLLVM(bool optimized);
  mlir::FailureOr<std::string> emitPtx();
  /// How `entry`, whose arguments are called `names`, launches its kernels; the module
  /// is in the machine's dialects.
  mlir::FailureOr<runtime::Bundle>
  makeBundle(llvm::StringRef entry, llvm::ArrayRef<std::string> names, llvm::StringRef ptxFile);

  /// Processor time. Proofs are stages of their own: `proof-t1`, `proof-t2`.
  llvm::ArrayRef<StageTime> getTimes() const { return times; }
  llvm::ArrayRef<KernelReport> getKernels() const { return kernels; }
  /// Adds a stage that happened elsewhere.
  void addTime(llvm::StringRef stage, double seconds) { times.push_back({stage.str(), seconds}); }

private:
  void addTimeSince(llvm::StringRef stage, double start);

  mlir::ModuleOp module;
  TargetInfo target;
  DeviceOptions options;
  std::vector<StageTime> times;
  std::vector<KernelReport> kernels;
  llvm::StringMap<llvm::SmallVector<runtime::Access>> access;
};

} // namespace fa4::driver

#endif // FA4_DRIVER_DEVICECOMPILER_H
