//===- HostRun.h - run module text in a unit test ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_DRIVER_HOSTRUN_H
#define FA4_TEST_UNIT_DRIVER_HOSTRUN_H

#include "fa4/Driver/HostProgram.h"
#include "fa4/Pipelines/Registration.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace fa4::driver {

/// A context with everything that our modules use.
inline mlir::MLIRContext &testContext() {
  static mlir::MLIRContext context([] {
    mlir::DialectRegistry registry;
    mlir::registerAllDialects(registry);
    mlir::registerAllExtensions(registry);
    fa4::registerAllDialects(registry);
    return registry;
  }());
  return context;
}

inline std::unique_ptr<HostProgram> compileText(llvm::StringRef text) {
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text, &testContext());
  EXPECT_TRUE(module) << text.str();
  if (!module) {
    return nullptr;
  }
  auto program = HostProgram::create(*module, Threading::Caller);
  if (!program) {
    ADD_FAILURE() << llvm::toString(program.takeError());
    return nullptr;
  }
  return std::move(*program);
}

inline std::shared_ptr<HostArray> makeArray(support::NpyType type, llvm::ArrayRef<int64_t> shape) {
  return std::make_shared<HostArray>(type, shape);
}

inline void runMain(HostProgram &program, std::vector<Argument> arguments) {
  auto results = program.run("main", arguments);
  if (!results) {
    ADD_FAILURE() << llvm::toString(results.takeError());
  }
}

} // namespace fa4::driver

#endif // FA4_TEST_UNIT_DRIVER_HOSTRUN_H
