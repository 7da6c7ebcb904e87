//===- Random.cpp - counter-based numbers and test inputs -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox 4x32-10 after Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as
// easy as 1, 2, 3" (SC 2011), section 4 and table 2; its known answers are tested.
//
//===----------------------------------------------------------------------===//

#include "fa4/Numerics/Random.h"

#include <cmath>

namespace fa4::numerics {

namespace {

// Multipliers and key increments of the paper (the increments are the golden
// ratio and sqrt(3) - 1 as 32-bit fractions).
constexpr uint64_t kMultiplier0 = 0xD2511F53;
constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kKeyStep0 = 0x9E3779B9;
constexpr uint32_t kKeyStep1 = 0xBB67AE85;
constexpr int kRounds = 10;

constexpr double kPi = 3.14159265358979323846;

constexpr double kLargeMean = 4.0;
constexpr double kPeakedFactor = 8.0;
// 6e4 leaves 1e4 below -5e4 for the other dimensions' scores.
constexpr double kScoreOffset = 6e4;

struct NamedDistribution {
  InputDistribution distribution;
  std::string_view name;
};
constexpr NamedDistribution kDistributions[] = {
    {InputDistribution::Gaussian, "gaussian"},
    {InputDistribution::LargeMean, "large-mean"},
    {InputDistribution::Peaked, "peaked"},
    {InputDistribution::BelowMinus5e4, "below-minus-5e4"},
};

/// The middle of one of 2^32 equal parts of (0, 1).
double toUnit(uint32_t word) { return (word + 0.5) * 0x1p-32; }

} // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    uint64_t product0 = kMultiplier0 * counter[0];
    uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key = {key[0] + kKeyStep0, key[1] + kKeyStep1};
  }
  return counter;
}

std::array<uint32_t, 4> CounterRandom::block(uint64_t index) const {
  auto low = [](uint64_t word) { return static_cast<uint32_t>(word); };
  auto high = [](uint64_t word) { return static_cast<uint32_t>(word >> 32); };
  return philox4x32({low(index), high(index), low(stream), high(stream)}, {low(seed), high(seed)});
}

double CounterRandom::uniform(uint64_t index) const { return toUnit(block(index)[0]); }

double CounterRandom::gaussian(uint64_t index) const {
  std::array<uint32_t, 4> words = block(index);
  return std::sqrt(-2.0 * std::log(toUnit(words[0]))) * std::cos(2.0 * kPi * toUnit(words[1]));
}

uint64_t CounterRandom::below(uint64_t index, uint32_t bound) const {
  return (static_cast<uint64_t>(block(index)[0]) * bound) >> 32;
}

std::string_view inputDistributionName(InputDistribution distribution) {
  for (const NamedDistribution &entry : kDistributions) {
    if (entry.distribution == distribution) {
      return entry.name;
    }
  }
  return "";
}

std::optional<InputDistribution> parseInputDistribution(std::string_view name) {
  for (const NamedDistribution &entry : kDistributions) {
    if (entry.name == name) {
      return entry.distribution;
    }
  }
  return std::nullopt;
}

double InputGenerator::element(InputTensor tensor, uint64_t index, uint64_t position) const {
  double normal = CounterRandom(seed, static_cast<uint64_t>(tensor)).gaussian(index);
  switch (distribution) {
  case InputDistribution::Gaussian:
    return normal;
  case InputDistribution::LargeMean:
    return kLargeMean + normal;
  case InputDistribution::Peaked:
    return tensor == InputTensor::Query ? kPeakedFactor * normal : normal;
  case InputDistribution::BelowMinus5e4: {
    if (position != 0 || tensor == InputTensor::Value) {
      return normal;
    }
    double size = std::sqrt(kScoreOffset / std::fabs(scale));
    return tensor == InputTensor::Key && scale > 0 ? -size : size;
  }
  }
  return normal;
}

} // namespace fa4::numerics
