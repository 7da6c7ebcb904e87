//===- PrintLaunch.h - a launch as numbers ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_RUN_PRINTLAUNCH_H
#define FA4_TOOLS_FA4_RUN_PRINTLAUNCH_H

#include "BundleArguments.h"
#include "fa4/Runtime/Resolve.h"

#include "llvm/Support/raw_ostream.h"

namespace fa4::tool {

/// Writes what would be launched as JSON: grids, sizes, parameters as hexadecimal
/// bytes, tensor maps before their encoding. Tensor number i of the bundle stands at
/// (i + 1) * 2^32, its workspaces behind its arguments.
llvm::Error printLaunches(llvm::raw_ostream &os, const runtime::Bundle &bundle,
                          llvm::ArrayRef<GivenArgument> arguments, int64_t processors);

} // namespace fa4::tool

#endif // FA4_TOOLS_FA4_RUN_PRINTLAUNCH_H
