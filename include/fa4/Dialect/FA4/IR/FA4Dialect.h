//===- FA4Dialect.h - the fa4 dialect ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_FA4_IR_FA4DIALECT_H
#define FA4_DIALECT_FA4_IR_FA4DIALECT_H

#include "mlir/IR/Dialect.h"

#include "fa4/Dialect/FA4/IR/FA4Dialect.h.inc"

#endif // FA4_DIALECT_FA4_IR_FA4DIALECT_H
