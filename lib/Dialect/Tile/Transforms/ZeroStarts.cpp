//===- ZeroStarts.cpp - accumulators in registers start as tiles of zeros -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In memory an accumulator holds anything before its first product, which therefore
// must not add. In registers it is the value that the program says: where that is a
// tile of zeros whenever the product starts anew, adding it is starting anew, and
// the first trip is like all others.
//
//===----------------------------------------------------------------------===//

#include "HomePlan.h"
#include "TripWalk.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace fa4::tile;

namespace {
class ZeroStartWalk : public TripWalk {
public:
  /// Products that start anew onto something else, or perhaps do.
  llvm::SmallPtrSet<Operation *, 4> others;

private:
  static constexpr int64_t kZeros = 0;

  LogicalResult visit(Operation *op) override {
    if (auto splat = dyn_cast<SplatOp>(op);
        splat && matchPattern(splat.getValue(), m_PosZeroFloat())) {
      setLabel(splat.getResult(), kZeros);
    } else if (auto product = dyn_cast<MmaOp>(op); product && product.getUnless()) {
      std::optional<int64_t> startsAnew = getNumber(product.getUnless());
      if (!startsAnew || (*startsAnew != 0 && getLabel(product.getOnto()) != kZeros)) {
        others.insert(product);
      }
    }
    return success();
  }
};
} // namespace

LogicalResult fa4::tile::dropZeroStarts(KernelOp kernel) {
  ZeroStartWalk walk;
  // No loop around the products, one trip, and more.
  if (failed(walk.run(kernel, {1, 2, 3}))) {
    return failure();
  }
  kernel.walk([&](MmaOp product) {
    if (product.getUnless() && !walk.others.contains(product)) {
      product.getUnlessMutable().clear();
    }
  });
  return success();
}
