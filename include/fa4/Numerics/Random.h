//===- Random.h - counter-based numbers and test inputs ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox 4x32-10: a number is a function of (seed, stream, index), so an element
// does not depend on how many were drawn before it, nor on layout or strides. The
// same generator is named by semantics.md D1.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_NUMERICS_RANDOM_H
#define FA4_NUMERICS_RANDOM_H

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fa4::numerics {

/// One block of Philox 4x32 with ten rounds.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Random access to independent streams of numbers.
class CounterRandom {
public:
  CounterRandom(uint64_t seed, uint64_t stream) : seed(seed), stream(stream) {}

  /// Uniform in (0, 1), both ends excluded, with 32 bits.
  double uniform(uint64_t index) const;
  /// Standard normal by Box and Muller, from the block of this index.
  double gaussian(uint64_t index) const;
  /// Uniform in [0, bound) for bound >= 1; the bias of at most bound / 2^32 is
  /// accepted.
  uint64_t below(uint64_t index, uint32_t bound) const;

private:
  std::array<uint32_t, 4> block(uint64_t index) const;

  uint64_t seed, stream;
};

/// The input families of semantics.md R7. N is standard normal.
enum class InputDistribution : uint8_t {
  /// q, k, v = N.
  Gaussian,
  /// q, k, v = 4 + N: scores share an offset that the row maximum has to take out,
  /// outputs lie far from 0.
  LargeMean,
  /// q = 8 N, k, v = N: with the default scale scores spread by 8, so a few keys
  /// hold nearly all of a row's weight.
  Peaked,
  /// As Gaussian, but in dimension 0 q = a and k = -a, a = sqrt(6e4 / |scale|) (k = a
  /// for a negative scale): every score is 6e4 lower, hence below -5e4.
  BelowMinus5e4,
};

std::string_view inputDistributionName(InputDistribution distribution);
/// The distribution of a name (`gaussian`, `large-mean`, `peaked`, `below-minus-5e4`).
std::optional<InputDistribution> parseInputDistribution(std::string_view name);

enum class InputTensor : uint8_t { Query, Key, Value };

/// Seeded q, k and v before rounding to their type.
struct InputGenerator {
  uint64_t seed = 0;
  InputDistribution distribution = InputDistribution::Gaussian;
  /// The problem's scale; only BelowMinus5e4 uses it.
  double scale = 1.0;

  /// Element number `index` of the logical tensor (counted in the layout's
  /// dimension order, as if packed), at `position` within its head dimension.
  double element(InputTensor tensor, uint64_t index, uint64_t position) const;
};

} // namespace fa4::numerics

#endif // FA4_NUMERICS_RANDOM_H
