//===- embed-fa4.cpp - another compiler that uses FA4 ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a module, runs a pass pipeline over it and prints what came out:
//   embed-fa4 FILE.mlir PIPELINE
// The pipeline runs on the module and may name FA4's passes and MLIR's; an embedder would have
// dialects and passes of its own beside them.
//
//===----------------------------------------------------------------------===//

#include "fa4/Pipelines/Registration.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: embed-fa4 FILE.mlir PIPELINE\n";
    return 2;
  }
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  fa4::registerAllDialects(registry);
  fa4::registerAllPasses();

  mlir::MLIRContext context(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module) {
    return 1;
  }
  mlir::PassManager manager(&context);
  if (mlir::failed(mlir::parsePassPipeline(argv[2], manager)) ||
      mlir::failed(manager.run(*module))) {
    return 1;
  }
  module->print(llvm::outs());
  return 0;
}
