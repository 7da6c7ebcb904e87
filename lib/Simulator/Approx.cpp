//===- Approx.cpp - the approximate functions -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Approx.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/ErrorHandling.h"
#include <cmath>
#include <optional>

using namespace fa4::sim;

namespace {

constexpr uint32_t kSign = 0x80000000, kInfinity = 0x7F800000, kNaN = 0x7FFFFFFF;

bool isSubnormal(uint32_t bits) { return (bits & kInfinity) == 0 && (bits & ~kSign) != 0; }

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): every input bit reaches
/// every output bit.
uint64_t mix(uint64_t value) {
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
  value = (value ^ value >> 27) * 0x94D049BB133111EB;
  return value ^ value >> 31;
}

/// The results that the PTX ISA fixes, instruction by instruction.
std::optional<uint32_t> fixedResult(ApproxOp op, bool ftz, uint32_t x) {
  uint32_t sign = x & kSign, magnitude = x & ~kSign;
  if (magnitude > kInfinity) {
    return kNaN;
  }
  bool zero = magnitude == 0, infinite = magnitude == kInfinity, negative = sign != 0;
  switch (op) {
  case ApproxOp::Ex2:
    return zero ? std::optional(0x3F800000u)
                : (infinite ? std::optional(negative ? 0u : kInfinity) : std::nullopt);
  case ApproxOp::Lg2:
    if (zero) {
      return kSign | kInfinity;
    }
    return negative ? std::optional(kNaN) : (infinite ? std::optional(kInfinity) : std::nullopt);
  case ApproxOp::Rcp:
    if (zero) {
      return sign | kInfinity;
    }
    // Above 2^126 the result is subnormal (measured on an H200: 2^126 itself
    // still gives the smallest normal number).
    return infinite || (ftz && magnitude > 0x7E800000) ? std::optional(sign) : std::nullopt;
  case ApproxOp::Rsqrt:
    if (zero) {
      return sign | kInfinity;
    }
    return negative ? std::optional(kNaN) : (infinite ? std::optional(0u) : std::nullopt);
  case ApproxOp::Sqrt:
    if (zero) {
      return x;
    }
    return negative ? std::optional(kNaN) : (infinite ? std::optional(kInfinity) : std::nullopt);
  case ApproxOp::Tanh:
    return zero ? std::optional(x) : (infinite ? std::optional(sign | 0x3F800000) : std::nullopt);
  case ApproxOp::Sin:
    return zero ? std::optional(x) : (infinite ? std::optional(kNaN) : std::nullopt);
  case ApproxOp::Cos:
    return zero ? std::optional(0x3F800000u) : (infinite ? std::optional(kNaN) : std::nullopt);
  }
  llvm_unreachable("every function is listed");
}

double exactly(ApproxOp op, double x) {
  switch (op) {
  case ApproxOp::Ex2:
    return std::exp2(x);
  case ApproxOp::Lg2:
    return std::log2(x);
  case ApproxOp::Rcp:
    return 1 / x;
  case ApproxOp::Rsqrt:
    return 1 / std::sqrt(x);
  case ApproxOp::Sqrt:
    return std::sqrt(x);
  case ApproxOp::Tanh:
    return std::tanh(x);
  case ApproxOp::Sin:
    return std::sin(x);
  case ApproxOp::Cos:
    return std::cos(x);
  }
  llvm_unreachable("every function is listed");
}

double ulpOf(double value) {
  int exponent = value == 0 ? -126 : std::max(std::ilogb(value), -126);
  return std::ldexp(1.0, exponent - 23);
}

/// The largest error that the PTX ISA allows at `x` for result `value`.
double allowedError(ApproxOp op, double x, double value) {
  switch (op) {
  case ApproxOp::Ex2:
    return 2 * ulpOf(value);
  case ApproxOp::Lg2:
    return x > 0.5 && x < 2 ? 0x1p-22 : std::fabs(value) * 0x1p-22;
  case ApproxOp::Rcp:
    return ulpOf(value);
  case ApproxOp::Rsqrt:
    return std::fabs(value) * std::exp2(-22.9);
  case ApproxOp::Sqrt:
    return std::fabs(value) * 0x1p-23;
  case ApproxOp::Tanh:
    return std::fabs(value) * 0x1p-11;
  case ApproxOp::Sin:
  case ApproxOp::Cos:
    // Stated for one period and for fifty; nothing is promised beyond.
    return std::exp2(std::fabs(x) <= 2 * M_PI ? -20.5 : -14.7);
  }
  llvm_unreachable("every function is listed");
}

/// Where in [-1, 1] of the allowed error a result lies.
double errorFraction(const ApproxPolicy &policy, ApproxOp op, uint32_t bits, uint32_t site) {
  uint64_t seed = mix(policy.seed + 0x9E3779B97F4A7C15 * (uint64_t(op) + 1));
  if (policy.mode == ApproxMode::Edge) {
    return seed & 1 ? 1 : -1;
  }
  uint64_t drawn = mix(seed ^ (uint64_t(site) << 32 | bits));
  return double(int64_t(drawn)) * 0x1p-63;
}

/// `value` moved by `error` and rounded back toward `value`, so that the f32
/// stays inside the bound.
float moved(double value, double error) {
  double target = value + error;
  float result = float(target);
  if (std::fabs(double(result) - value) > std::fabs(error)) {
    result = std::nextafterf(result, float(value));
  }
  // The nearest number is allowed even where the bound is narrower than an ulp.
  return std::fabs(double(result) - value) > std::fabs(error) ? float(value) : result;
}

uint32_t bitsOf(float value) { return std::isnan(value) ? kNaN : llvm::bit_cast<uint32_t>(value); }

} // namespace

uint32_t fa4::sim::approximate(ApproxOp op, bool ftz, uint32_t bits, const ApproxPolicy &policy,
                               uint32_t site) {
  if (ftz && isSubnormal(bits)) {
    bits &= kSign;
  }
  if (std::optional<uint32_t> fixed = fixedResult(op, ftz, bits)) {
    return *fixed;
  }
  double x = llvm::bit_cast<float>(bits);
  double value = exactly(op, x);
  uint32_t result = 0;
  switch (policy.mode) {
  case ApproxMode::Nearest:
    result = bitsOf(float(value));
    break;
  case ApproxMode::Low:
    result = bitsOf(float(value));
    if (op == ApproxOp::Ex2 && x <= -1 && x != std::floor(x) && result != 0) {
      --result;
    }
    break;
  case ApproxMode::Jitter:
  case ApproxMode::Edge:
    result =
        bitsOf(moved(value, errorFraction(policy, op, bits, site) * allowedError(op, x, value)));
    break;
  }
  return ftz && isSubnormal(result) ? result & kSign : result;
}

uint16_t fa4::sim::approximateHalf(ApproxOp op, ElementType type, bool ftz, uint16_t bits,
                                   const ApproxPolicy &policy, uint32_t site) {
  double x = elementToDouble(type, bits);
  bool isBFloat = type == ElementType::BF16;
  if (ftz && isBFloat && std::fabs(x) < 0x1p-126) {
    x = std::copysign(0.0, x);
  }
  uint32_t wide = bitsOf(float(x));
  std::optional<uint32_t> fixed = fixedResult(op, /*ftz=*/false, wide);
  double value = fixed ? elementToDouble(ElementType::F32, *fixed) : exactly(op, x);
  uint16_t nearest = uint16_t(roundToElement(type, value));
  if (fixed || policy.mode == ApproxMode::Nearest || policy.mode == ApproxMode::Low) {
    bool flush = ftz && isBFloat && (nearest & 0x7F80) == 0;
    return flush ? nearest & 0x8000 : nearest;
  }
  // PTX ISA: ex2 is bounded relative to its result, tanh absolutely.
  double bound = op == ApproxOp::Ex2 ? value * std::exp2(isBFloat ? -7 : -9.9)
                                     : std::exp2(isBFloat ? -8 : -10.987);
  double error = errorFraction(policy, op, wide, site) * bound;
  uint16_t result = uint16_t(roundToElement(type, value + error));
  bool inside = std::fabs(elementToDouble(type, result) - value) <= bound;
  result = inside ? result : nearest;
  bool flush = ftz && isBFloat && (result & 0x7F80) == 0;
  return flush ? result & 0x8000 : result;
}
