//===- AttnInterfaces.td - what a mask must answer -------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_IR_ATTNINTERFACES_TD
#define FA4_DIALECT_ATTN_IR_ATTNINTERFACES_TD

include "mlir/IR/OpBase.td"

def Attn_MaskInterface : AttrInterface<"AttnMaskInterface"> {
  let cppNamespace = "::fa4::attn";
  let description = [{
    A mask whose kept keys are one interval per query row, so that whole blocks
    can be skipped, or left unmasked, by comparing two numbers. What is not an
    interval (documents, user predicates) is an operand or a region of the op.
  }];
  let methods = [
    InterfaceMethod<[{
      Key j is kept for row i iff `aligned(i) + lower <= j <= aligned(i) + upper`,
      where an absent end means no bound and `aligned` follows M3.
    }], "::fa4::attn::MaskBounds", "getBounds">
  ];
}

#endif // FA4_DIALECT_ATTN_IR_ATTNINTERFACES_TD
