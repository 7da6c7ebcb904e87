//===- AttnAttributes.h - layouts and masks -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_IR_ATTNATTRIBUTES_H
#define FA4_DIALECT_ATTN_IR_ATTNATTRIBUTES_H

#include "fa4/Dialect/Attn/IR/AttnDialect.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <cstdint>
#include <optional>

#include "fa4/Dialect/Attn/IR/AttnEnums.h.inc"

namespace fa4::attn {

/// Key j is kept for row i iff `aligned(i) + lower <= j <= aligned(i) + upper`;
/// an absent end does not bound.
struct MaskBounds {
  MaskAlignment alignment = MaskAlignment::BottomRight;
  std::optional<int64_t> lower;
  std::optional<int64_t> upper;

  /// Whether every key of every row is kept.
  bool isTrivial() const { return !lower && !upper; }
};

/// Where the dimensions of q, k, v and o are (S1); `thd` has no batch.
struct TensorDims {
  std::optional<unsigned> batch;
  unsigned sequence;
  unsigned head;
  unsigned depth;

  unsigned rank() const { return depth + 1; }
};
TensorDims getTensorDims(Layout layout);

/// Dimensions of operands that are one number.
using SharedExtent = llvm::SmallVector<std::pair<mlir::Value, unsigned>, 4>;

} // namespace fa4::attn

#include "fa4/Dialect/Attn/IR/AttnInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "fa4/Dialect/Attn/IR/AttnAttributes.h.inc"

#endif // FA4_DIALECT_ATTN_IR_ATTNATTRIBUTES_H
