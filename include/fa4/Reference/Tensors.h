//===- Tensors.h - strided memory as logical tensors ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Readers that hide element type, layout and strides (S1, S2) from the oracle.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_REFERENCE_TENSORS_H
#define FA4_REFERENCE_TENSORS_H

#include "fa4/Reference/Attention.h"

namespace fa4::ref {

enum class ElementType : uint8_t { BF16, F16, F32, F64 };

/// Dimension orders of S1: [B, S, H, D], [B, H, S, D] and [T, H, D].
enum class Layout : uint8_t { BSHD, BHSD, THD };

/// Reads one element; `index` counts elements of the type.
double loadElement(const void *data, ElementType type, int64_t index);

/// A tensor in memory that the caller keeps alive. `strides` are in elements, one
/// per dimension of the layout, and may be anything. `prefix` is the tensor's
/// prefix sums for THD (kept as a copy) and unused otherwise.
ElementAt stridedTensor(const void *data, ElementType type, Layout layout,
                        llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> prefix = {});

} // namespace fa4::ref

#endif // FA4_REFERENCE_TENSORS_H
