//===- Passes.h - passes on attn ------------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_TRANSFORMS_PASSES_H
#define FA4_DIALECT_ATTN_TRANSFORMS_PASSES_H

#include "fa4/Dialect/Attn/IR/AttnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace fa4::attn {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "fa4/Dialect/Attn/Transforms/Passes.h.inc"

} // namespace fa4::attn

#endif // FA4_DIALECT_ATTN_TRANSFORMS_PASSES_H
