//===- TensorArith.h - how tensor cores add products ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One matrix instruction computes each output as ONE fused sum: products are
// exact, every term is cut to a multiple of 2^(e - f) where e is the largest
// exponent among the terms, the cut terms are added exactly and the result is
// rounded once. Products are not renormalised before e is taken. The model was
// measured on an H200 for wgmma and mma.sync; for tcgen05 it is believed.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_TENSORARITH_H
#define FA4_SIMULATOR_TENSORARITH_H

#include "fa4/Simulator/ElementTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace fa4::sim {

/// How sums are computed: as the hardware does, as a chain of f32 fused
/// multiply-adds in K order, or in f64 with one rounding at the end.
enum class TensorMode : uint8_t { Exact, F32Fma, F64 };

/// The parameters of one instruction's sum.
struct SumRule {
  unsigned fractionBits; ///< f above
  unsigned resultBits;   ///< significand bits kept of an f32 result
  ElementType result;    ///< F32 (rounded toward zero) or F16 (to nearest even)
};

/// wgmma and Hopper's mma.sync: e4m3 and e5m2 keep 13 bits, all else 25.
SumRule hopperSumRule(ElementType a, ElementType result);
/// tcgen05.mma of kinds f16, tf32, f8f6f4: 25 bits for every type.
SumRule blackwellSumRule(ElementType result);

/// A matrix operand unpacked for the sum: `rows` of M or N, `depth` of K.
class TensorPanel {
public:
  /// Panels of A are walked one row at a time, panels of B all rows at once.
  enum class Role : uint8_t { A, B };

  TensorPanel(Role role, ElementType type, unsigned rows, unsigned depth);

  unsigned rows() const { return numRows; }
  unsigned depth() const { return numDepth; }
  ElementType elementType() const { return type; }

  void set(unsigned row, unsigned k, uint32_t bits);
  /// Changes the sign of every element (imm-scale -1 and the negate bits).
  void negate();

private:
  friend class FusedSum;
  size_t index(unsigned row, unsigned k) const {
    return role == Role::A ? size_t(row) * numDepth + k : size_t(k) * numRows + row;
  }

  Role role;
  ElementType type;
  unsigned numRows, numDepth;
  std::vector<float> significand;
  std::vector<int32_t> exponent;
  std::vector<uint32_t> raw;
  std::vector<uint8_t> special; ///< per row: holds an infinity or a NaN
  bool negated = false;
};

/// D = A * B + C * 2^-cShift with C and D as raw bits of `rule.result`, row
/// major M x N. An empty `c` means that D starts from the products alone.
/// `d` may alias `c`.
void multiplyAccumulate(const SumRule &rule, TensorMode mode, const TensorPanel &a,
                        const TensorPanel &b, llvm::ArrayRef<uint32_t> c,
                        llvm::MutableArrayRef<uint32_t> d, unsigned cShift = 0);

/// One output by the definition above, term by term in 128-bit integers: the
/// path for infinities and NaNs, and the reference of the fast path's test.
uint32_t fusedSum(const SumRule &rule, ElementType aType, ElementType bType,
                  llvm::ArrayRef<uint32_t> a, llvm::ArrayRef<uint32_t> b, bool negateProducts,
                  uint32_t c, unsigned cShift = 0);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_TENSORARITH_H
