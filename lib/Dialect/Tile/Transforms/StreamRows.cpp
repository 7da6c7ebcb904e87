//===- StreamRows.cpp - tile-stream-rows ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between the read of a chain and its end nothing waits and nothing is given
// back: what a write needs is acquired before, what was read is released after.
// Both only hold memory longer, so no race appears; that no role waits for another
// in a circle is the protocol proof's to say, as for every order of hand-overs.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/RowChain.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILESTREAMROWS
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

/// Whether `op` stands between the read and the end of the chain.
static bool isBetween(Operation *op, RowChain &chain) {
  return op && op->getBlock() == chain.end->getBlock() && chain.read->isBeforeInBlock(op) &&
         op->isBeforeInBlock(chain.end);
}

/// The release of the token that was read, and the acquire of the one written, if
/// they stand between and are all that has an effect there.
static bool collectHandOvers(RowChain &chain, SmallVectorImpl<Operation *> &acquires,
                             SmallVectorImpl<Operation *> &releases) {
  auto write = dyn_cast<WriteOp>(chain.end);
  for (Operation *op = chain.read->getNextNode(); op != chain.end; op = op->getNextNode()) {
    if (auto acquire = dyn_cast<AcquireOp>(op)) {
      if (!write || acquire.getResult() != write.getHandle()) {
        return false;
      }
      acquires.push_back(op);
    } else if (auto release = dyn_cast<ReleaseOp>(op)) {
      if (release.getToken() != chain.read.getHandle()) {
        return false;
      }
      releases.push_back(op);
    } else if (!mayStandInChain(op)) {
      return false;
    }
  }
  return llvm::all_of(acquires, [&](Operation *op) {
    return llvm::all_of(op->getOperands(),
                        [&](Value value) { return !isBetween(value.getDefiningOp(), chain); });
  });
}

namespace {
struct TileStreamRows : fa4::tile::impl::TileStreamRowsBase<TileStreamRows> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    SymbolTable symbols(kernel);
    kernel.walk([&](Operation *end) {
      std::optional<RowChain> chain = findRowChain(end);
      SmallVector<Operation *> acquires, releases;
      if (!chain || !isTensorMemory(symbols, chain->read) ||
          !collectHandOvers(*chain, acquires, releases)) {
        return;
      }
      for (Operation *acquire : acquires) {
        acquire->moveBefore(chain->read);
      }
      for (Operation *release : releases) {
        release->moveAfter(end);
      }
    });
  }

private:
  static bool isTensorMemory(SymbolTable &symbols, ReadOp read) {
    auto view = symbols.lookup<ViewOp>(read.getView());
    return view && view.getSpace() == Space::Tmem;
  }
};
} // namespace
