//===- AttnToTilePass.cpp - convert-attn-to-tile --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After the pass no op of the attn dialect is left: each forward is a kernel of
// steps on tiles and a launch, each merge a loop.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "fa4/Conversion/AttnToTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4;

namespace fa4 {
#define GEN_PASS_DEF_CONVERTATTNTOTILE
#include "fa4/Conversion/Passes.h.inc"
} // namespace fa4

namespace {
struct ConvertAttnToTile : public fa4::impl::ConvertAttnToTileBase<ConvertAttnToTile> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<attn::ForwardOp> forwards;
    SmallVector<attn::MergeOp> merges;
    getOperation().walk([&](Operation *op) {
      if (auto forward = dyn_cast<attn::ForwardOp>(op)) {
        forwards.push_back(forward);
      } else if (auto merge = dyn_cast<attn::MergeOp>(op)) {
        merges.push_back(merge);
      }
    });
    for (attn::ForwardOp op : forwards) {
      if (failed(lowerForward(op))) {
        return signalPassFailure();
      }
      ++numKernels;
    }
    for (attn::MergeOp op : merges) {
      if (failed(lowerMerge(op))) {
        return signalPassFailure();
      }
      ++numMerges;
    }
  }
};
} // namespace
