//===- DoubleMath.cpp - f64 in PTX's four roundings -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled with -frounding-math, so that no operation moves across a change of the
// rounding. The rounding of the calling thread is the same before and after.
//
//===----------------------------------------------------------------------===//

#include "DoubleMath.h"

#include <cfenv>
#include <cmath>

using namespace fa4::sim;

namespace {
class HostRounding {
public:
  explicit HostRounding(Rounding rounding) : before(std::fegetround()) {
    std::fesetround(rounding == Rounding::Zero   ? FE_TOWARDZERO
                    : rounding == Rounding::Down ? FE_DOWNWARD
                    : rounding == Rounding::Up   ? FE_UPWARD
                                                 : FE_TONEAREST);
  }
  HostRounding(const HostRounding &) = delete;
  HostRounding &operator=(const HostRounding &) = delete;
  ~HostRounding() { std::fesetround(before); }

private:
  int before;
};
} // namespace

double fa4::sim::addRounded(Rounding rounding, double a, double b) {
  HostRounding scope(rounding);
  return a + b;
}

double fa4::sim::multiplyRounded(Rounding rounding, double a, double b) {
  HostRounding scope(rounding);
  return a * b;
}

double fa4::sim::fmaRounded(Rounding rounding, double a, double b, double c) {
  HostRounding scope(rounding);
  return std::fma(a, b, c);
}

double fa4::sim::divideRounded(Rounding rounding, double a, double b) {
  HostRounding scope(rounding);
  return a / b;
}

double fa4::sim::rootRounded(Rounding rounding, double a) {
  HostRounding scope(rounding);
  return std::sqrt(a);
}
