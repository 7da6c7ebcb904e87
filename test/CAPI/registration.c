//===- registration.c - dialects and passes reached from C ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: fa4-capi-test 2>&1 | FileCheck %s

#include "fa4-c/Registration.h"
#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"
#include "mlir-c/RegisterEverything.h"

#include <stdio.h>
#include <string.h>

static void print(MlirStringRef text, void *stream) {
  fwrite(text.data, 1, text.length, (FILE *)stream);
}

static MlirStringRef text(const char *string) {
  return mlirStringRefCreate(string, strlen(string));
}

static int reportDialect(MlirContext context, const char *name) {
  MlirDialect dialect = mlirContextGetOrLoadDialect(context, text(name));
  printf("%s: %s\n", name, mlirDialectIsNull(dialect) ? "missing" : "loaded");
  return mlirDialectIsNull(dialect);
}

static int runPipeline(MlirContext context, MlirModule module, const char *pipeline) {
  MlirPassManager manager = mlirPassManagerCreate(context);
  MlirLogicalResult result = mlirParsePassPipeline(mlirPassManagerGetAsOpPassManager(manager),
                                                   text(pipeline), print, stdout);
  if (mlirLogicalResultIsSuccess(result)) {
    result = mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module));
  }
  mlirPassManagerDestroy(manager);
  return mlirLogicalResultIsFailure(result);
}

static const char *const source =
    "module attributes {fa4.target = #fa4.target<\"sm_100a\">} {\n"
    "  func.func @forward(%q: memref<1x256x2x64xbf16>, %o: memref<1x256x2x64xbf16>) {\n"
    "    attn.forward ins(%q, %q, %q : memref<1x256x2x64xbf16>, memref<1x256x2x64xbf16>,\n"
    "                     memref<1x256x2x64xbf16>)\n"
    "        outs(%o : memref<1x256x2x64xbf16>) mask [#attn.causal]\n"
    "    return\n"
    "  }\n"
    "}\n";

int main(void) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  fa4RegisterAllDialects(registry);
  mlirRegisterAllPasses();
  fa4RegisterAllPasses();
  fa4RegisterAllPasses();
  MlirContext context = mlirContextCreateWithRegistry(registry, /*threadingEnabled=*/false);
  mlirDialectRegistryDestroy(registry);

  MlirStringRef version = fa4GetVersion();
  // CHECK: version 0.
  printf("version %.*s\n", (int)version.length, version.data);

  // CHECK-NEXT: attn: loaded
  // CHECK-NEXT: tile: loaded
  // CHECK-NEXT: fa4: loaded
  int failed = reportDialect(context, "attn");
  failed |= reportDialect(context, "tile");
  failed |= reportDialect(context, "fa4");

  MlirModule module = mlirModuleCreateParse(context, text(source));
  failed |= mlirModuleIsNull(module) ||
            runPipeline(context, module,
                        "builtin.module(func.func(attn-legalize,attn-select-schedule),"
                        "convert-attn-to-tile,canonicalize)");
  // CHECK: tile.kernel @forward_attn0(
  // CHECK: tile.launch @forward_attn0(
  mlirOperationPrint(mlirModuleGetOperation(module), print, stdout);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);

  // CHECK: result 0
  printf("result %d\n", failed);
  return failed;
}
