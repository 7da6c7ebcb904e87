//===- AttnDialect.h - the attn dialect ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_IR_ATTNDIALECT_H
#define FA4_DIALECT_ATTN_IR_ATTNDIALECT_H

#include "mlir/IR/Dialect.h"

#include "fa4/Dialect/Attn/IR/AttnDialect.h.inc"

#endif // FA4_DIALECT_ATTN_IR_ATTNDIALECT_H
