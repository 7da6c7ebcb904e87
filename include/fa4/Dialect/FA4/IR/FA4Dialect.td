//===- FA4Dialect.td - the fa4 dialect -------------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_FA4_IR_FA4DIALECT_TD
#define FA4_DIALECT_FA4_IR_FA4DIALECT_TD

include "mlir/IR/OpBase.td"

def FA4_Dialect : Dialect {
  let name = "fa4";
  let cppNamespace = "::fa4";
  let summary = "target facts and schedules, as attributes";
  let description = [{
    Attributes and no op: `#fa4.target`, the facts of a chip, `#fa4.schedule`, the
    plan of one kernel, and `#fa4.launch` and `#fa4.param`, how a finished kernel
    is launched. They stand below both other dialects, so that neither of those
    needs the other.

    The dialect's discardable attributes are `fa4.target` on a module, `fa4.launch`
    on a function and `fa4.param` on a function's arguments; any other `fa4.`
    attribute on an operation is an error, not a silent remark.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
}

#endif // FA4_DIALECT_FA4_IR_FA4DIALECT_TD
