//===- BundleBuilder.h - from host code to a bundle -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host function of a compiled module is a list of launches, and what they are
// given is arithmetic on extents and scalars of its arguments: formulas that any
// launcher can evaluate.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DRIVER_BUNDLEBUILDER_H
#define FA4_DRIVER_BUNDLEBUILDER_H

#include "fa4/Runtime/Bundle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace fa4::driver {

/// What each kernel does to its arguments, by kernel name and argument number.
using KernelAccess = llvm::StringMap<llvm::SmallVector<runtime::Access>>;

/// Reads the `tile.kernel`s of `module`, which have roles or one thread.
KernelAccess findKernelAccess(mlir::ModuleOp module);

/// The launches of `function`, whose kernels are functions with `fa4.launch`. Its
/// arguments are called `names`. What `access` does not know is read and written.
mlir::FailureOr<runtime::Bundle> buildBundle(mlir::func::FuncOp function,
                                             llvm::ArrayRef<std::string> names,
                                             const KernelAccess &access, llvm::StringRef chip,
                                             llvm::StringRef ptxFile);

} // namespace fa4::driver

#endif // FA4_DRIVER_BUNDLEBUILDER_H
