//===- fa4-plugin.cpp - FA4 inside a stock mlir-opt -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two entry points that an MLIR host looks up after loading this module.
// All code lives in libFA4, which the host's own tools share: a second copy of
// a dialect in one process would be refused.
//
//===----------------------------------------------------------------------===//

#include "fa4/Pipelines/Registration.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "FA4", FA4_VERSION,
          [](mlir::DialectRegistry *registry) { fa4::registerAllDialects(*registry); }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "FA4", FA4_VERSION, []() { fa4::registerAllPasses(); }};
}
