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
  let description = [{
    What to compute and nothing about how: no hardware word stands in this
    dialect. One op per direction, on tensors or memrefs, with masks as
    attributes and operands, and the score modification as a region.

    Labels such as S3 or M7 name rules of the contract in
    `docs/Dialects/Attn/Rationale.md`; verifier checks and tests carry them.
  }];
  let dependentDialects = ["::fa4::FA4Dialect"];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerOps();
  }];
}

#endif // FA4_DIALECT_ATTN_IR_ATTNDIALECT_TD
