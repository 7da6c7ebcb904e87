//===- CoveringArray.h - cases that cover every pair of levels --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every two levels of every two factors stand together in some case. The array
// is a function of the seed.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_DRIVER_MATRIX_COVERINGARRAY_H
#define FA4_TEST_UNIT_DRIVER_MATRIX_COVERINGARRAY_H

#include "Case.h"

#include <cstdint>

namespace fa4::matrix {

/// At least `minimum` cases, grouped by kernel: so many of each or, with 0, as many as
/// cover much that is open.
std::vector<Case> makeCoveringArray(const Levels &levels, uint64_t seed, size_t minimum,
                                    size_t casesPerKernel = 0);

/// Every element type with every head dim and every mask, `casesPerKernel` of each; the
/// levels of the other factors are drawn.
std::vector<Case> makeMaskProduct(const Levels &levels, uint64_t seed, size_t casesPerKernel);

/// How many pairs of `levels` no case covers.
size_t countMissingPairs(const Levels &levels, const std::vector<Case> &cases);

/// Case number `number` of the full product, in an order that is a permutation
/// fixed by the seed. Equal kernels are not neighbours in it.
Case productCase(const Levels &levels, uint64_t seed, uint64_t number);
uint64_t productSize(const Levels &levels);

} // namespace fa4::matrix

#endif // FA4_TEST_UNIT_DRIVER_MATRIX_COVERINGARRAY_H
