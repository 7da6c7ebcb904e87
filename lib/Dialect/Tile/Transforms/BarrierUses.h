//===- BarrierUses.h - ops that name an mbarrier ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Waits, arrivals of threads and of engines, seen alike.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_BARRIERUSES_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_BARRIERUSES_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "llvm/ADT/TypeSwitch.h"

namespace fa4::tile {

/// Which element of a barrier an op means: a number, a value of its role, or the
/// only one.
struct BarrierElement {
  mlir::Value value;
  mlir::IntegerAttr fixed;

  bool operator==(const BarrierElement &other) const {
    return value == other.value && fixed == other.fixed;
  }
};

/// Calls `visit` with `op` as what it is, if it names an mbarrier.
template <typename FnTy>
bool visitBarrierUse(mlir::Operation *op, FnTy visit) {
  bool found = false;
  llvm::TypeSwitch<mlir::Operation *>(op)
      .Case<BarrierWaitOp, BarrierArriveOp, BarrierExpectOp, BarrierCommitOp, IssueLoadOp,
            IssueSendOp, IssueNextOp>([&](auto use) {
        found = true;
        visit(use);
      });
  return found;
}

/// The barrier that `op` names; empty if it names none.
inline llvm::StringRef getBarrierName(mlir::Operation *op) {
  llvm::StringRef name;
  visitBarrierUse(op, [&](auto use) { name = use.getBarrier(); });
  return name;
}

inline BarrierElement getBarrierElement(mlir::Operation *op) {
  BarrierElement element;
  visitBarrierUse(op, [&](auto use) { element = {use.getElement(), use.getStaticElementAttr()}; });
  return element;
}

/// All ops of `kernel` that name `barrier`, in the order of the text.
inline llvm::SmallVector<mlir::Operation *> usesOf(BarrierOp barrier) {
  llvm::SmallVector<mlir::Operation *> uses;
  barrier->getParentOfType<KernelOp>().walk([&](mlir::Operation *op) {
    if (getBarrierName(op) == barrier.getSymName()) {
      uses.push_back(op);
    }
  });
  return uses;
}

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_BARRIERUSES_H
