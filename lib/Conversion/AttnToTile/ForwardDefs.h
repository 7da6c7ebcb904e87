//===- ForwardDefs.h - the steps of a forward kernel ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A def is written when its first step is: the inputs of the two then agree by
// construction.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_FORWARDDEFS_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_FORWARDDEFS_H

#include "ForwardPlan.h"

namespace fa4 {

/// Inputs of @softmax that not every kernel has are null.
struct SoftmaxInputs {
  mlir::Value scores, reference, sum;
  mlir::Value queryBlock, keyBlock, queryLength, keyLength, isEdge;
  mlir::Value offset;
  mlir::Value batch, head, batchOrigin, headOrigin;
  mlir::Value queryDocuments, keyDocuments;
  llvm::SmallVector<mlir::Value> captured;

  template <class Fn>
  void forEach(Fn &&fn) {
    for (mlir::Value *value :
         {&scores, &reference, &sum, &queryBlock, &keyBlock, &queryLength, &keyLength, &isEdge,
          &offset, &batch, &head, &batchOrigin, &headOrigin, &queryDocuments, &keyDocuments}) {
      fn(*value);
    }
    for (mlir::Value &value : captured) {
      fn(value);
    }
  }
};

/// Inputs of @finish.
struct FinishInputs {
  mlir::Value output, reference, sum;
  mlir::Value lse, batch, head, queryBlock;
  /// Given where rows past a length are written.
  mlir::Value queryLength;
  mlir::Value sink;

  template <class Fn>
  void forEach(Fn &&fn) {
    for (mlir::Value *value :
         {&output, &reference, &sum, &lse, &batch, &head, &queryBlock, &queryLength, &sink}) {
      fn(*value);
    }
  }
};

/// The values that are there, in their order.
template <class Group>
llvm::SmallVector<mlir::Value> flatten(Group &group) {
  llvm::SmallVector<mlir::Value> values;
  group.forEach([&](mlir::Value value) {
    if (value) {
      values.push_back(value);
    }
  });
  return values;
}

/// A copy of `group` with `values` in the places that are taken.
template <class Group>
Group refill(Group group, mlir::ValueRange values) {
  auto next = values.begin();
  group.forEach([&](mlir::Value &value) {
    if (value) {
      value = *next++;
    }
  });
  return group;
}

/// Bodies of the two defs with arithmetic of their own; they end in tile.yield.
void emitSoftmax(mlir::OpBuilder &builder, const ForwardPlan &plan, SoftmaxInputs inputs);
void emitFinish(mlir::OpBuilder &builder, const ForwardPlan &plan, FinishInputs inputs);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_FORWARDDEFS_H
