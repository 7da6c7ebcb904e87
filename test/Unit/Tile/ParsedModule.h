//===- ParsedModule.h - IR text for unit tests ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One context with FA4's dialects and the module parsed from a text.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_TILE_PARSEDMODULE_H
#define FA4_TEST_UNIT_TILE_PARSEDMODULE_H

#include "fa4/Pipelines/Registration.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

struct ParsedModule {
  explicit ParsedModule(llvm::StringRef text) {
    mlir::DialectRegistry registry;
    registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::math::MathDialect,
                    mlir::memref::MemRefDialect, mlir::scf::SCFDialect>();
    fa4::registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  template <typename OpTy>
  OpTy first() {
    OpTy found;
    module->walk([&](OpTy op) {
      found = op;
      return mlir::WalkResult::interrupt();
    });
    return found;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

#endif // FA4_TEST_UNIT_TILE_PARSEDMODULE_H
