//===- Jit.h - host code from a lowered module ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream dialects (func, scf, vector, memref, arith, math) to machine code of
// this host. No fast-math and no contraction anywhere: what the IR says is what
// is computed, whatever the host's vector width.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DRIVER_JIT_H
#define FA4_DRIVER_JIT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace mlir {
class ExecutionEngine;
class OpPassManager;
} // namespace mlir

namespace fa4::driver {

/// How `scf.parallel` runs: by the threads of MLIR's async runtime, or in order
/// by the calling thread.
enum class Threading { Pool, Caller };

/// Upstream passes only: from what `convert-tile-to-cpu` leaves to the llvm dialect.
void buildHostToLLVMPipeline(mlir::OpPassManager &pm, Threading threading);

/// One memref argument as the C interface passes it: base, data, offset, then
/// sizes and strides in elements.
class MemRefDescriptor {
public:
  MemRefDescriptor(void *data, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides,
                   int64_t offset = 0);
  void *get() { return words.data(); }

private:
  std::vector<int64_t> words;
};

/// Must die before `exit` runs: the engine compiles the module's destructors when
/// it dies, and needs LLVM's own static objects for that.
class CompiledModule {
public:
  /// Lowers a copy of `module` and compiles it for this host.
  static llvm::Expected<std::unique_ptr<CompiledModule>> compile(mlir::ModuleOp module,
                                                                 Threading threading);
  ~CompiledModule();

  /// Calls a public function that carries `llvm.emit_c_interface`. Each element
  /// of `arguments` is the address of a scalar or of a descriptor pointer.
  llvm::Error invoke(llvm::StringRef name, llvm::MutableArrayRef<void *> arguments);

private:
  CompiledModule(std::unique_ptr<mlir::ExecutionEngine> engine, Threading threading);
  std::unique_ptr<mlir::ExecutionEngine> engine;
  Threading threading;
};

/// Marks every public function of `module` as callable by `invoke`.
void exposeEntries(mlir::ModuleOp module);

/// `module` after `buildHostToLLVMPipeline`, as text of LLVM IR; for dumps.
llvm::Expected<std::string> printLLVMIR(mlir::ModuleOp module, Threading threading);

} // namespace fa4::driver

#endif // FA4_DRIVER_JIT_H
