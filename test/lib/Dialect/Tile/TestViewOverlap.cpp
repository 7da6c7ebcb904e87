//===- TestViewOverlap.cpp - test-print-view-overlap -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints what the analysis says, so that lit can check it on whole kernels.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ViewOverlap.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace fa4::tile;

namespace {
struct TestViewOverlap : public PassWrapper<TestViewOverlap, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestViewOverlap)

  StringRef getArgument() const final { return "test-print-view-overlap"; }
  StringRef getDescription() const final { return "Print which views share memory"; }

  void runOnOperation() override {
    getOperation().walk([](KernelOp kernel) {
      llvm::outs() << "kernel @" << kernel.getSymName() << "\n";
      ViewOverlap overlap(kernel);
      for (const ViewPair &pair : overlap.pairs()) {
        ViewOp first = pair.first->view, second = pair.second->view;
        llvm::outs() << "  @" << first.getSymName() << " and @" << second.getSymName() << " of @"
                     << first.getAlloc() << ": "
                     << (pair.first->space == Space::Smem ? "bytes" : "columns") << " ["
                     << pair.shared.begin << ", " << pair.shared.end << ")\n";
      }
    });
    markAllAnalysesPreserved();
  }
};
} // namespace

namespace fa4::test {
void registerTestViewOverlapPass() { PassRegistration<TestViewOverlap>(); }
} // namespace fa4::test
