//===- TargetArgument.h - the chip to compile for ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_COMMON_TARGETARGUMENT_H
#define FA4_TOOLS_COMMON_TARGETARGUMENT_H

#include "fa4/Target/TargetInfo.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace fa4::tool {

/// The target that `module` states; one that states none gets the table's row for
/// `chip`.
llvm::Expected<TargetInfo> settleTarget(mlir::ModuleOp module, const std::string &chip);

} // namespace fa4::tool

#endif // FA4_TOOLS_COMMON_TARGETARGUMENT_H
