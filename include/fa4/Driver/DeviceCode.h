//===- DeviceCode.h - kernels from the nvvm dialect to PTX ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `fa4-to-ptx`: LLVM IR, its passes and the NVPTX back end, in this process. The
// same module gives the same bytes.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DRIVER_DEVICECODE_H
#define FA4_DRIVER_DEVICECODE_H

#include "fa4/Target/TargetInfo.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace fa4::driver {

class DeviceCode {
public:
  /// Translates the `llvm.func`s of `module`, which stays as it is; functions of the
  /// host are left out.
  static llvm::Expected<DeviceCode> translate(mlir::ModuleOp module, const TargetInfo &target);
  DeviceCode(DeviceCode &&) noexcept;
  ~DeviceCode();

  void print(llvm::raw_ostream &os) const;
  void optimize();
  llvm::Expected<std::string> emitPtx();

private:
  DeviceCode();
  // In the order in which they need each other.
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> code;
};

/// Whether LLVM's back end can be called for `target` at all: it ends the process
/// on chips and feature levels that it does not know.
llvm::Error checkBackEnd(const TargetInfo &target);

} // namespace fa4::driver

#endif // FA4_DRIVER_DEVICECODE_H
