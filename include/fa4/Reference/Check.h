//===- Check.h - judging a kernel's results ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R1, R2 and R7 as one verdict with figures. A NaN never passes, on either side,
// and neither does an infinity where the oracle is finite.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_REFERENCE_CHECK_H
#define FA4_REFERENCE_CHECK_H

#include "fa4/Reference/Attention.h"

#include <string>

namespace fa4::ref {

struct CheckOptions {
  numerics::HalfKind outputType = numerics::HalfKind::BF16;
  /// Relative error of the exp2 polynomial and the share of columns that use it
  /// (R2); 0 without emulation.
  double exp2Error = 0.0;
  double exp2Share = 0.0;
};

/// A row, and for o the element in it.
struct Position {
  int64_t b = 0, h = 0, i = 0, d = 0;
};

struct CheckReport {
  bool passed = false;
  /// R7: largest |o - exact| over all elements, and what it may be.
  double outputError = 0.0, outputBound = 0.0;
  /// The plain f32 computation's own largest error.
  double plainError = 0.0;
  Position worstOutput;
  /// R2: the row whose |lse - exact| comes closest to (or passes) its bound.
  double lseError = 0.0, lseBound = 0.0;
  Position worstLse;
  /// One line per broken rule; empty if passed.
  std::string message;
};

/// Value of lse for a row.
using LseAt = std::function<double(int64_t b, int64_t h, int64_t i)>;

/// Judges `output` and, if given, `lse`. `exact` and `plain` come from the same
/// problem.
CheckReport checkResults(const Results &exact, const Results &plain, const ElementAt &output,
                         const LseAt &lse, const CheckOptions &options);

/// The bound of R2 for one row.
double lseBound(double exactLse, const CheckOptions &options);

} // namespace fa4::ref

#endif // FA4_REFERENCE_CHECK_H
