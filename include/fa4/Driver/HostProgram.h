//===- HostProgram.h - run a module's functions on this host ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a module with attention or T0 kernels to calls on arrays. The module that
// is given stays as it is.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DRIVER_HOSTPROGRAM_H
#define FA4_DRIVER_HOSTPROGRAM_H

#include "fa4/Driver/HostArray.h"
#include "fa4/Driver/Jit.h"
#include "fa4/Runtime/Bundle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fa4::driver {

/// How far `lowerForHost` goes.
enum class HostStage {
  /// `attn` with schedules chosen.
  Attn,
  /// T0.
  Tile,
  /// Upstream dialects.
  Upstream,
};

/// Brings `module` to `stage`; what is already further stays.
llvm::LogicalResult lowerForHost(mlir::ModuleOp module, HostStage stage);

/// The element type of arrays of `type`, if there is one.
std::optional<support::NpyType> getArrayType(mlir::Type type);

class HostProgram {
public:
  /// Lowers a copy of `module` and compiles it.
  static llvm::Expected<std::unique_ptr<HostProgram>> create(mlir::ModuleOp module,
                                                             Threading threading);
  /// Compiles a module that is at `HostStage::Upstream`.
  static llvm::Expected<std::unique_ptr<HostProgram>> compileLowered(mlir::ModuleOp module,
                                                                     Threading threading);

  /// Calls `entry`, whose arguments are tensors, memrefs, f32 or i32 scalars.
  /// Returns the arrays that it returns.
  llvm::Expected<std::vector<HostArray>> run(llvm::StringRef entry,
                                             llvm::MutableArrayRef<Argument> arguments);

private:
  struct Signature {
    llvm::SmallVector<mlir::Type> inputs, results;
  };
  /// What a kernel takes for granted of extents that the types leave open: it reads one
  /// of those that belong together.
  struct Extents {
    llvm::SmallVector<std::string> names; ///< of the arguments
    std::vector<runtime::Condition> conditions;
  };
  HostProgram() = default;
  std::unique_ptr<CompiledModule> compiled;
  llvm::StringMap<Signature> signatures;
  llvm::StringMap<Extents> extents;
};

} // namespace fa4::driver

#endif // FA4_DRIVER_HOSTPROGRAM_H
