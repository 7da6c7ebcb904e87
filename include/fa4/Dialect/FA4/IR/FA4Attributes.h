//===- FA4Attributes.h - targets, schedules, launches as attributes --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_FA4_IR_FA4ATTRIBUTES_H
#define FA4_DIALECT_FA4_IR_FA4ATTRIBUTES_H

#include "fa4/Dialect/FA4/IR/FA4Dialect.h"
#include "fa4/Dialect/FA4/IR/Schedule.h"
#include "fa4/Target/TargetInfo.h"
#include "mlir/IR/Attributes.h"

namespace mlir {
class Operation;
} // namespace mlir

#include "fa4/Dialect/FA4/IR/FA4Enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "fa4/Dialect/FA4/IR/FA4Attributes.h.inc"

namespace fa4 {

/// The name under which a module carries its target.
inline constexpr llvm::StringLiteral targetAttrName = "fa4.target";

/// The name under which a kernel in the machine's dialects carries a `LaunchAttr`,
/// and its parameters a `ParamAttr`.
inline constexpr llvm::StringLiteral launchAttrName = "fa4.launch";
inline constexpr llvm::StringLiteral paramAttrName = "fa4.param";

/// The target of the closest module around `op`, or null.
TargetAttr lookupTargetAttr(mlir::Operation *op);

} // namespace fa4

#endif // FA4_DIALECT_FA4_IR_FA4ATTRIBUTES_H
