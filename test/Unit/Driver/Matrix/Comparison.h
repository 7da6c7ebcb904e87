//===- Comparison.h - a GPU's results beside the simulator's ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_DRIVER_MATRIX_COMPARISON_H
#define FA4_TEST_UNIT_DRIVER_MATRIX_COMPARISON_H

#include "Differences.h"
#include "Terms.h"

namespace fa4::matrix {

/// What a run of a kernel gave.
struct Outputs {
  const driver::HostArray &output, &lse;
};

struct Comparison {
  CaseDifference output, logits;
  /// A line for each array that differs by more than functions do: its worst element beside
  /// the exact one, and what both may be off.
  std::string worst;
};

/// Asks for the terms, which take time, only where elements differ by more than functions do.
llvm::Expected<Comparison> compareOutputs(Outputs here, Outputs simulated, double outputBound,
                                          llvm::function_ref<llvm::Expected<Terms>()> makeTerms);

} // namespace fa4::matrix

#endif // FA4_TEST_UNIT_DRIVER_MATRIX_COMPARISON_H
