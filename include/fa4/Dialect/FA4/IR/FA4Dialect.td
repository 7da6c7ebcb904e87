//===- FA4Dialect.td - the fa4 dialect -----------------------*- tablegen -*-===//
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
}

#endif // FA4_DIALECT_FA4_IR_FA4DIALECT_TD
