//===- Case.h - one point of the feature matrix -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A case is one level per factor. Factors that choose the kernel come first: all
// cases that agree in them run one compiled kernel, whatever their extents,
// strides and data.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_DRIVER_MATRIX_CASE_H
#define FA4_TEST_UNIT_DRIVER_MATRIX_CASE_H

#include <array>
#include <string>
#include <vector>

namespace fa4::matrix {

enum Factor : unsigned {
  ElementType,
  HeadDim,
  Mask,
  Score,
  Sink,
  LayoutKind,
  Exp2Polynomial,
  LazyRescale,
  PositionOffset,
  Scheduler,
  // From here on: what one kernel serves.
  QueryLength,
  KeyLength,
  Ratio,
  Strides,
  Inputs,
  NumFactors
};
constexpr unsigned kNumKernelFactors = QueryLength;

struct FactorInfo {
  const char *name;
  std::vector<std::string> levels;
};

/// The factors in the order of the enumeration.
const std::vector<FactorInfo> &factors();

/// The levels that a walk takes, by number.
using Levels = std::array<std::vector<unsigned>, NumFactors>;

Levels allLevels();
/// What the kernels of a chip reach so far: with `pairs`, those of two CTAs to a tile.
Levels deviceLevels(bool hasLaunchControl, bool pairs = false);

/// The level of each factor.
using Case = std::array<unsigned, NumFactors>;

inline const std::string &levelName(const Case &point, Factor factor) {
  return factors()[factor].levels[point[factor]];
}

/// `element=bf16 head_dim=64 ...`, to print and to find a case again.
std::string describe(const Case &point);

/// The module of a case, without schedule; equal for equal kernel factors.
std::string moduleText(const Case &point);

} // namespace fa4::matrix

#endif // FA4_TEST_UNIT_DRIVER_MATRIX_CASE_H
