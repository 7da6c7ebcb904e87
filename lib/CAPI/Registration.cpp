//===- Registration.cpp - FA4 for clients of MLIR's C API -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4-c/Registration.h"

#include "fa4/Pipelines/Registration.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"

void fa4RegisterAllDialects(MlirDialectRegistry registry) {
  fa4::registerAllDialects(*unwrap(registry));
}

void fa4RegisterAllPasses(void) { fa4::registerAllPasses(); }

MlirStringRef fa4GetVersion(void) { return wrap(llvm::StringRef(FA4_VERSION)); }
