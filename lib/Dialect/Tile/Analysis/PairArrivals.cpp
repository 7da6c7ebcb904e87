//===- PairArrivals.cpp - what a pair's threads tell the other CTA --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel's products are the only ones that reach into the memory of both CTAs.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/PairArrivals.h"

#include "fa4/Dialect/Tile/Analysis/ViewOverlap.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

PairArrivals::PairArrivals(KernelOp kernel) {
  SmallVector<StringRef> written, multiplied;
  kernel.walk([&](Operation *op) {
    if (auto arrive = dyn_cast<BarrierArriveOp>(op)) {
      if (arrive.getOnLeader()) {
        barriers.insert(arrive.getBarrierAttr().getAttr());
      }
    } else if (auto write = dyn_cast<WriteOp>(op)) {
      written.push_back(write.getView());
    } else if (auto product = dyn_cast<IssueMmaOp>(op)) {
      multiplied.push_back(product.getBView());
      if (std::optional<StringRef> left = product.getAView()) {
        multiplied.push_back(*left);
      }
    } else if (isa<IssueSendOp, RunPtxOp>(op)) {
      // What they read and write is not followed.
      relaxed = false;
    }
  });
  if (barriers.empty()) {
    return;
  }
  ViewOverlap overlap(kernel);
  auto isShared = [&](StringRef name) {
    const ViewRegion *region = overlap.lookup(name);
    return region && region->space == Space::Smem;
  };
  for (StringRef view : llvm::make_filter_range(written, isShared)) {
    relaxed &= llvm::none_of(multiplied, [&](StringRef operand) {
      return overlap.mayConflict({view, std::nullopt}, {operand, std::nullopt});
    });
  }
}
