//===- DoubleMath.h - f64 in PTX's four roundings ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// There is no wider type to round from, so the host's own unit is asked, in the
// rounding wanted. NaNs are the host's: callers replace them.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_DOUBLEMATH_H
#define FA4_LIB_SIMULATOR_DOUBLEMATH_H

#include "FloatMath.h"

namespace fa4::sim {

double addRounded(Rounding rounding, double a, double b);
double multiplyRounded(Rounding rounding, double a, double b);
double fmaRounded(Rounding rounding, double a, double b, double c);
double divideRounded(Rounding rounding, double a, double b);
double rootRounded(Rounding rounding, double a);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_DOUBLEMATH_H
