//===- AttnDialect.td - the attn dialect -----------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_IR_ATTNDIALECT_TD
#define FA4_DIALECT_ATTN_IR_ATTNDIALECT_TD

include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::fa4::attn";
  let summary = "attention as one op: what to compute";
}

#endif // FA4_DIALECT_ATTN_IR_ATTNDIALECT_TD
