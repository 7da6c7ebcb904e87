//===- Approx.h - the approximate functions ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX bounds the error of these functions and fixes their special values; the
// bits in between belong to the chip. A kernel is right only if it is right
// for every choice inside the bound, so there are four ways of choosing, all
// reproducible: the same mode, seed, site and input give the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_APPROX_H
#define FA4_SIMULATOR_APPROX_H

#include "fa4/Simulator/ElementTypes.h"
#include <cstdint>

namespace fa4::sim {

enum class ApproxOp : uint8_t { Ex2, Lg2, Rcp, Rsqrt, Sqrt, Tanh, Sin, Cos };

enum class ApproxMode : uint8_t {
  Nearest, ///< the f64 value rounded to nearest
  Low,     ///< as the hardware leans: ex2 one ulp low at fractions below -1
  Jitter,  ///< anywhere inside the bound, drawn per site and input
  Edge     ///< at the bound, on the side that the seed says
};

struct ApproxPolicy {
  ApproxMode mode = ApproxMode::Nearest;
  uint64_t seed = 0;
};

/// `op` of an f32; `ftz` flushes subnormal inputs and results. `site` is any
/// number that tells apart the instructions of a program.
uint32_t approximate(ApproxOp op, bool ftz, uint32_t bits, const ApproxPolicy &policy,
                     uint32_t site);

/// The 16-bit forms: ex2 and tanh of F16 or BF16.
uint16_t approximateHalf(ApproxOp op, ElementType type, bool ftz, uint16_t bits,
                         const ApproxPolicy &policy, uint32_t site);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_APPROX_H
