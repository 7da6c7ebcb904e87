//===- Terms.h - what results are the sums of -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where terms cancel, a result is small and its own unit in the last place says
// nothing about the arithmetic: the terms' does. These are those of the float64
// reference, from whole rows.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_DRIVER_MATRIX_TERMS_H
#define FA4_TEST_UNIT_DRIVER_MATRIX_TERMS_H

#include "fa4/Driver/ReferenceAdapter.h"

namespace fa4::matrix {

class Terms {
public:
  static llvm::Expected<Terms> create(attn::ForwardOp op, driver::Binding bind);

  /// An element of o: the sum of its |p v|.
  double ofOutput(llvm::ArrayRef<int64_t> index) const;
  /// A row's lse: the largest of 1, its largest |score| and |ln| of its sum of exponentials, whose
  /// own error is one of that sum's units at 1.
  double ofLse(llvm::ArrayRef<int64_t> index) const;
  /// The largest scaled sum of |q k| in a row: what its scores are sums of.
  double ofScores(llvm::ArrayRef<int64_t> index) const;

  double exactOutput(llvm::ArrayRef<int64_t> index) const;
  double exactLse(llvm::ArrayRef<int64_t> index) const;

private:
  struct Row {
    int64_t b, h, i;
  };
  Row rowOfOutput(llvm::ArrayRef<int64_t> index) const;
  Row rowOfLse(llvm::ArrayRef<int64_t> index) const;

  attn::Layout layout = attn::Layout::BSHD;
  std::vector<int64_t> queryPrefix;
  ref::Results exact, magnitudes;
  /// `lse` of a row is the largest score, or sum of magnitudes, in it.
  ref::Results largestScore, largestProduct;
};

} // namespace fa4::matrix

#endif // FA4_TEST_UNIT_DRIVER_MATRIX_TERMS_H
