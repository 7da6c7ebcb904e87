//===- Tensors.cpp - strided memory as logical tensors ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every index is 64-bit (S5), and only here does a layout decide anything.
//
//===----------------------------------------------------------------------===//

#include "fa4/Reference/Tensors.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/ErrorHandling.h"
#include <cassert>

namespace fa4::ref {

double loadElement(const void *data, ElementType type, int64_t index) {
  switch (type) {
  case ElementType::BF16:
    return numerics::bf16ToFloat(static_cast<const uint16_t *>(data)[index]);
  case ElementType::F16:
    return numerics::f16ToFloat(static_cast<const uint16_t *>(data)[index]);
  case ElementType::F32:
    return static_cast<const float *>(data)[index];
  case ElementType::F64:
    return static_cast<const double *>(data)[index];
  }
  llvm_unreachable("a case per type");
}

ElementAt stridedTensor(const void *data, ElementType type, Layout layout,
                        llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> prefix) {
  if (layout == Layout::THD) {
    assert(strides.size() == 3 && "one stride per dimension");
    llvm::SmallVector<int64_t> first(prefix);
    return [=, s0 = strides[0], s1 = strides[1], s2 = strides[2],
            first = std::move(first)](int64_t b, int64_t s, int64_t h, int64_t d) {
      return loadElement(data, type, (first[b] + s) * s0 + h * s1 + d * s2);
    };
  }
  assert(strides.size() == 4 && "one stride per dimension");
  bool sequenceFirst = layout == Layout::BSHD;
  int64_t sequence = strides[sequenceFirst ? 1 : 2], head = strides[sequenceFirst ? 2 : 1];
  return [=, batch = strides[0], dim = strides[3]](int64_t b, int64_t s, int64_t h, int64_t d) {
    return loadElement(data, type, b * batch + s * sequence + h * head + d * dim);
  };
}

} // namespace fa4::ref
