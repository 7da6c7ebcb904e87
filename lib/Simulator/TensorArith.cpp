//===- TensorArith.cpp - how tensor cores add products ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fast path keeps each number as an f32 significand and an integer
// exponent. A product of significands has at most 22 bits, so it is exact in
// f32; scaling by a power of two is exact too, and converting to an integer
// cuts toward zero, which is the hardware's alignment step.
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/TensorArith.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cassert>
#include <cmath>

using namespace fa4::sim;

namespace {

/// Below the exponent of every product of two subnormals (2 * -126) there is
/// nothing to align to: an empty maximum starts here.
constexpr int32_t kLeastExponent = -252;
/// A zero has no exponent: it must never win the maximum.
constexpr int32_t kZeroExponent = -0x4000;
constexpr uint32_t kCanonicalNaN = 0x7FFFFFFF;

constexpr unsigned kLanes = 8;
// GNU vector types: the compiler splits them to whatever the host has.
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Ints = int32_t __attribute__((vector_size(kLanes * sizeof(int32_t))));
using Doubles = double __attribute__((vector_size(kLanes * sizeof(double))));
using Longs = int64_t __attribute__((vector_size(kLanes * sizeof(int64_t))));

template <typename Vector, typename Scalar>
inline Vector load(const Scalar *from) {
  Vector value;
  __builtin_memcpy(&value, from, sizeof(Vector));
  return value;
}

inline Ints larger(Ints a, Ints b) { return a > b ? a : b; }

uint32_t specialBits(ElementType result, NumberClass kind, bool negative) {
  bool half = result == ElementType::F16;
  if (kind == NumberClass::NaN) {
    return half ? 0x7FFF : kCanonicalNaN;
  }
  return half ? (negative ? 0xFC00 : 0x7C00) : (negative ? 0xFF800000 : 0x7F800000);
}

/// `value`, exact in double, to the instruction's output format. A result of
/// zero is +0, also when a negative sum vanished (measured on an H200).
uint32_t finishSum(const SumRule &rule, double value) {
  if (rule.result == ElementType::F16) {
    uint32_t half = roundToElement(ElementType::F16, value);
    return half == 0x8000 ? 0 : half;
  }
  double magnitude = std::fabs(value);
  uint32_t bits;
  if (magnitude < 0x1p-126) {
    // f32 subnormals count units of 2^-149.
    bits = uint32_t(magnitude * 0x1p149);
  } else {
    uint64_t cut = llvm::bit_cast<uint64_t>(magnitude) & ~((uint64_t(1) << 29) - 1);
    bits = llvm::bit_cast<uint32_t>(float(llvm::bit_cast<double>(cut)));
  }
  if (bits < 0x7F800000) {
    bits &= ~((1u << (23 - rule.resultBits)) - 1);
  }
  return bits == 0 ? 0 : bits | (std::signbit(value) ? 0x80000000 : 0);
}

} // namespace

SumRule fa4::sim::hopperSumRule(ElementType a, ElementType result) {
  bool narrow = a == ElementType::E4M3 || a == ElementType::E5M2;
  return {narrow ? 13u : 25u, narrow ? 13u : 23u, result};
}

SumRule fa4::sim::blackwellSumRule(ElementType result) { return {25, 23, result}; }

//===----------------------------------------------------------------------===//
// TensorPanel
//===----------------------------------------------------------------------===//

TensorPanel::TensorPanel(Role role, ElementType type, unsigned rows, unsigned depth)
    : role(role), type(type), numRows(rows), numDepth(depth), significand(size_t(rows) * depth),
      exponent(size_t(rows) * depth, kZeroExponent), raw(size_t(rows) * depth), special(rows) {}

namespace {
/// decodeElement of the formats that matter for speed, without branches; the
/// exponent of zero is `kZeroExponent`.
struct Start {
  float significand;
  int32_t exponent;
};
template <unsigned ExponentBits, unsigned MantissaBits>
Start decodeStart(uint32_t bits) {
  uint32_t mantissa = bits & ((1u << MantissaBits) - 1);
  int32_t biased = bits >> MantissaBits & ((1u << ExponentBits) - 1);
  float magnitude = llvm::bit_cast<float>(0x3F800000 | mantissa << (23 - MantissaBits));
  magnitude -= biased ? 0.0f : 1.0f;
  bool negative = bits >> (ExponentBits + MantissaBits) & 1;
  int32_t exponent = (biased ? biased : 1) - ((1 << (ExponentBits - 1)) - 1);
  return {negative ? -magnitude : magnitude, magnitude == 0.0f ? kZeroExponent : exponent};
}
} // namespace

void TensorPanel::set(unsigned row, unsigned k, uint32_t bits) {
  size_t at = index(row, k);
  raw[at] = bits;
  if (type == ElementType::BF16 || type == ElementType::F16) {
    bool bf = type == ElementType::BF16;
    Start number = bf ? decodeStart<8, 7>(bits) : decodeStart<5, 10>(bits);
    significand[at] = negated ? -number.significand : number.significand;
    exponent[at] = number.exponent;
    uint32_t top = bf ? 0x7F80 : 0x7C00; // infinity or NaN
    special[row] |= (bits & top) == top;
    return;
  }
  Decoded number = decodeElement(type, bits);
  significand[at] = negated ? -number.significand : number.significand;
  exponent[at] = number.significand == 0 ? kZeroExponent : number.exponent;
  special[row] |= number.kind != NumberClass::Finite;
}

void TensorPanel::negate() {
  negated = !negated;
  for (float &number : significand) {
    number = -number;
  }
}

//===----------------------------------------------------------------------===//
// One output, by the definition
//===----------------------------------------------------------------------===//

uint32_t fa4::sim::fusedSum(const SumRule &rule, ElementType aType, ElementType bType,
                            llvm::ArrayRef<uint32_t> a, llvm::ArrayRef<uint32_t> b,
                            bool negateProducts, uint32_t c, unsigned cShift) {
  // Significands as integers: 23 fraction bits hold every format.
  constexpr int kFraction = 23;
  struct Term {
    __int128 magnitude;
    int exponent;
    int fraction;
    bool negative;
  };
  llvm::SmallVector<Term, 33> terms;
  bool seenNaN = false, seenInfinity[2] = {false, false};
  int largest = kLeastExponent;
  auto add = [&](double magnitude, int exponent, int fraction, bool negative) {
    if (magnitude != 0) {
      largest = std::max(largest, exponent);
      terms.push_back({__int128(magnitude), exponent, fraction, negative});
    }
  };

  for (auto [aBits, bBits] : llvm::zip_equal(a, b)) {
    Decoded x = decodeElement(aType, aBits), y = decodeElement(bType, bBits);
    bool negative = (x.negative != y.negative) != negateProducts;
    if (x.kind == NumberClass::NaN || y.kind == NumberClass::NaN) {
      seenNaN = true;
    } else if (x.kind == NumberClass::Infinity || y.kind == NumberClass::Infinity) {
      bool zero = (x.kind == NumberClass::Finite && x.significand == 0) ||
                  (y.kind == NumberClass::Finite && y.significand == 0);
      seenNaN |= zero;
      seenInfinity[negative] |= !zero;
    } else {
      double product = std::fabs(double(x.significand) * double(y.significand));
      add(std::ldexp(product, 2 * kFraction), x.exponent + y.exponent, 2 * kFraction, negative);
    }
  }
  Decoded start = decodeElement(rule.result, c);
  if (start.kind == NumberClass::NaN) {
    seenNaN = true;
  } else if (start.kind == NumberClass::Infinity) {
    seenInfinity[start.negative] = true;
  } else {
    add(std::ldexp(std::fabs(double(start.significand)), kFraction), start.exponent - int(cShift),
        kFraction, start.negative);
  }
  if (seenNaN || (seenInfinity[0] && seenInfinity[1])) {
    return specialBits(rule.result, NumberClass::NaN, false);
  }
  if (seenInfinity[0] || seenInfinity[1]) {
    return specialBits(rule.result, NumberClass::Infinity, seenInfinity[1]);
  }

  __int128 total = 0;
  for (const Term &term : terms) {
    // A unit of the sum is 2^(largest - f); shifting a magnitude cuts it.
    int shift = int(rule.fractionBits) - term.fraction - (largest - term.exponent);
    __int128 cut = shift >= 0     ? term.magnitude << shift
                   : shift > -127 ? term.magnitude >> -shift
                                  : 0;
    total += term.negative ? -cut : cut;
  }
  // f + log2(4 * 33) bits fit a double.
  return finishSum(rule, std::ldexp(double(total), largest - int(rule.fractionBits)));
}

//===----------------------------------------------------------------------===//
// Whole matrices
//===----------------------------------------------------------------------===//

namespace fa4::sim {

/// The three ways of computing a whole instruction; a class only to see into
/// the panels.
class FusedSum {
public:
  FusedSum(const SumRule &rule, const TensorPanel &a, const TensorPanel &b,
           llvm::ArrayRef<uint32_t> c, llvm::MutableArrayRef<uint32_t> d, unsigned cShift)
      : rule(rule), a(a), b(b), c(c), d(d), cShift(cShift) {}

  void runExact();
  template <typename Number>
  void runInOrder();

private:
  /// The sums of `kLanes` neighbouring columns, as exact doubles.
  void exactBlock(unsigned row, unsigned column, double *sums) const;
  uint32_t slowOutput(unsigned row, unsigned column) const;
  /// C of one output, or +0 where D starts from the products alone.
  uint32_t startBits(size_t at) const { return c.empty() ? 0 : c[at]; }
  double startValue(size_t at) const;

  const SumRule &rule;
  const TensorPanel &a, &b;
  llvm::ArrayRef<uint32_t> c;
  llvm::MutableArrayRef<uint32_t> d;
  unsigned cShift;
};

} // namespace fa4::sim

uint32_t FusedSum::slowOutput(unsigned row, unsigned column) const {
  llvm::SmallVector<uint32_t, 32> left, right;
  for (unsigned k = 0; k < a.numDepth; ++k) {
    left.push_back(a.raw[a.index(row, k)]);
    right.push_back(b.raw[b.index(column, k)]);
  }
  return fusedSum(rule, a.type, b.type, left, right, a.negated != b.negated,
                  startBits(size_t(row) * b.numRows + column), cShift);
}

namespace {
/// What the sums of `kLanes` neighbouring columns of one row are made of; numbers of
/// column c and depth k are at k * width + c.
struct BlockTerms {
  const float *aSignificand, *bSignificand;
  const int32_t *aExponent, *bExponent;
  unsigned depth, width;
  int32_t fraction;
  float cSignificand[kLanes];
  int32_t cExponent[kLanes];
};
} // namespace

// The interpreter spends most of its time here; the vectors above are one register
// of AVX2 and several of what every x86-64 has.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define FA4_WIDE_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define FA4_WIDE_VECTORS
#endif

/// The sums as exact doubles.
FA4_WIDE_VECTORS static void sumBlock(const BlockTerms &terms, double *sums) {
  const size_t width = terms.width;
  Ints least = Ints{} + kLeastExponent;
  Ints largest = larger(load<Ints>(terms.cExponent), least);
  for (unsigned k = 0; k < terms.depth; ++k) {
    largest = larger(largest, load<Ints>(terms.bExponent + k * width) + terms.aExponent[k]);
  }

  // Exponent field of the f32 that scales a term: 127 + f - (largest - own).
  // Terms that far below vanish, so clamping keeps the field a normal number.
  Ints base = 127 + terms.fraction - largest;
  Ints floor = Ints{} + 1;
  auto cut = [&](Floats significand, Ints exponent) {
    Ints field = larger(base + exponent, floor) << 23;
    return __builtin_convertvector(significand * (Floats)field, Ints);
  };

  Doubles total = __builtin_convertvector(
      cut(load<Floats>(terms.cSignificand), load<Ints>(terms.cExponent)), Doubles);
  // Each cut term is below 2^27, so eight of them fit 32 bits.
  for (unsigned first = 0; first < terms.depth; first += 8) {
    Ints partial = {};
    for (unsigned k = first, end = std::min(first + 8, terms.depth); k < end; ++k) {
      Floats product = load<Floats>(terms.bSignificand + k * width) * terms.aSignificand[k];
      partial += cut(product, load<Ints>(terms.bExponent + k * width) + terms.aExponent[k]);
    }
    total += __builtin_convertvector(partial, Doubles);
  }
  Longs scale = (__builtin_convertvector(largest - terms.fraction, Longs) + 1023) << 52;
  total *= (Doubles)scale;
  __builtin_memcpy(sums, &total, sizeof(total));
}

void FusedSum::exactBlock(unsigned row, unsigned column, double *sums) const {
  BlockTerms terms{&a.significand[a.index(row, 0)],
                   &b.significand[column],
                   &a.exponent[a.index(row, 0)],
                   &b.exponent[column],
                   a.numDepth,
                   b.numRows,
                   int32_t(rule.fractionBits),
                   {},
                   {}};
  std::fill_n(terms.cExponent, kLanes, kZeroExponent);
  if (!c.empty()) {
    const uint32_t *start = &c[size_t(row) * b.numRows + column];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      Start one = rule.result == ElementType::F32 ? decodeStart<8, 23>(start[lane])
                                                  : decodeStart<5, 10>(start[lane]);
      terms.cSignificand[lane] = one.significand;
      terms.cExponent[lane] = one.exponent - (one.exponent == kZeroExponent ? 0 : int(cShift));
    }
  }
  sumBlock(terms, sums);
}

void FusedSum::runExact() {
  const unsigned width = b.numRows;
  // The fast path's 32-bit terms hold f up to 25; all widths are multiples of 8.
  const bool fast = rule.fractionBits <= 25 && width % kLanes == 0;
  // All ones in the exponent: infinity or NaN.
  const uint32_t top = rule.result == ElementType::F32 ? 0x7F800000 : 0x7C00;
  auto isSpecialC = [&](uint32_t bits) { return (bits & top) == top; };
  for (unsigned row = 0; row < a.numRows; ++row) {
    for (unsigned column = 0; column < width; column += kLanes) {
      unsigned lanes = std::min(kLanes, width - column);
      double sums[kLanes];
      if (fast) {
        exactBlock(row, column, sums);
      }
      for (unsigned lane = 0; lane < lanes; ++lane) {
        size_t at = size_t(row) * width + column + lane;
        bool special =
            a.special[row] || b.special[column + lane] || (!c.empty() && isSpecialC(c[at]));
        d[at] = fast && !special ? finishSum(rule, sums[lane]) : slowOutput(row, column + lane);
      }
    }
  }
}

double FusedSum::startValue(size_t at) const {
  return c.empty() ? 0 : elementToDouble(rule.result, c[at]) * std::ldexp(1.0, -int(cShift));
}

/// Sums in K order, all columns of a row side by side, in `Number` arithmetic.
/// In f32 this is the chain of fused multiply-adds, because products of these
/// formats are exact there.
template <typename Number>
void FusedSum::runInOrder() {
  const unsigned width = b.numRows;
  std::vector<float> right(b.raw.size());
  for (size_t at = 0; at < right.size(); ++at) {
    right[at] = float(elementToDouble(b.type, b.raw[at]));
  }
  std::vector<Number> sums(width);
  for (unsigned row = 0; row < a.numRows; ++row) {
    size_t out = size_t(row) * width;
    for (unsigned column = 0; column < width; ++column) {
      sums[column] = Number(startValue(out + column));
    }
    for (unsigned k = 0; k < a.numDepth; ++k) {
      Number left = Number(elementToDouble(a.type, a.raw[a.index(row, k)]));
      left = a.negated != b.negated ? -left : left;
      const float *line = &right[b.index(0, k)];
      for (unsigned column = 0; column < width; ++column) {
        sums[column] += left * Number(line[column]);
      }
    }
    for (unsigned column = 0; column < width; ++column) {
      d[out + column] = roundToElement(rule.result, sums[column]);
    }
  }
}

void fa4::sim::multiplyAccumulate(const SumRule &rule, TensorMode mode, const TensorPanel &a,
                                  const TensorPanel &b, llvm::ArrayRef<uint32_t> c,
                                  llvm::MutableArrayRef<uint32_t> d, unsigned cShift) {
  assert(a.depth() == b.depth() && d.size() == size_t(a.rows()) * b.rows() &&
         (c.empty() || c.size() == d.size()) && "shapes agree");
  FusedSum sum(rule, a, b, c, d, cShift);
  switch (mode) {
  case TensorMode::Exact:
    return sum.runExact();
  case TensorMode::F32Fma:
    return sum.runInOrder<float>();
  case TensorMode::F64:
    return sum.runInOrder<double>();
  }
}
