//===- CoveringArray.cpp - cases that cover every pair of levels ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Greedy: of some random completions the one that covers most open pairs. A
// kernel that is already compiled is tried first, since a case of its own is
// cheap for it. Where compiling costs more than a case, all kernels get equally many.
//
//===----------------------------------------------------------------------===//

#include "CoveringArray.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>
#include <random>

namespace fa4::matrix {

namespace {
class PairSet {
public:
  explicit PairSet(const Levels &levels) {
    for (const FactorInfo &factor : factors()) {
      offsets.push_back(total);
      total += factor.levels.size();
    }
    open.assign(total * total, false);
    for (unsigned first = 0; first < NumFactors; ++first) {
      for (unsigned second = first + 1; second < NumFactors; ++second) {
        for (unsigned a : levels[first]) {
          for (unsigned b : levels[second]) {
            open[index(first, a, second, b)] = true;
            ++numOpen;
          }
        }
      }
    }
  }
  size_t size() const { return numOpen; }
  bool isOpen(unsigned first, unsigned a, unsigned second, unsigned b) const {
    return first < second ? open[index(first, a, second, b)] : open[index(second, b, first, a)];
  }
  /// Open pairs of `level` with the factors that `fixed` has.
  size_t gain(const Case &point, const std::array<bool, NumFactors> &fixed, unsigned factor,
              unsigned level) const {
    size_t count = 0;
    for (unsigned other = 0; other < NumFactors; ++other) {
      count += other != factor && fixed[other] && isOpen(factor, level, other, point[other]);
    }
    return count;
  }
  size_t gain(const Case &point) const {
    size_t count = 0;
    for (unsigned first = 0; first < NumFactors; ++first) {
      for (unsigned second = first + 1; second < NumFactors; ++second) {
        count += isOpen(first, point[first], second, point[second]);
      }
    }
    return count;
  }
  void cover(const Case &point) {
    for (unsigned first = 0; first < NumFactors; ++first) {
      for (unsigned second = first + 1; second < NumFactors; ++second) {
        size_t pair = index(first, point[first], second, point[second]);
        numOpen -= open[pair];
        open[pair] = false;
      }
    }
  }

private:
  size_t index(unsigned first, unsigned a, unsigned second, unsigned b) const {
    return (offsets[first] + a) * total + offsets[second] + b;
  }
  std::vector<size_t> offsets;
  size_t total = 0;
  std::vector<bool> open;
  size_t numOpen = 0;
};
} // namespace

/// Fills the factors that are not `fixed`, in random order, each with a level of
/// the largest gain.
static Case complete(const Levels &levels, const PairSet &pairs, Case point,
                     std::array<bool, NumFactors> fixed, std::mt19937_64 &random) {
  std::vector<unsigned> order;
  for (unsigned factor = 0; factor < NumFactors; ++factor) {
    if (!fixed[factor]) {
      order.push_back(factor);
    }
  }
  std::shuffle(order.begin(), order.end(), random);
  for (unsigned factor : order) {
    std::vector<unsigned> best;
    size_t bestGain = 0;
    for (unsigned level : levels[factor]) {
      size_t gain = pairs.gain(point, fixed, factor, level);
      if (best.empty() || gain > bestGain) {
        best.clear();
        bestGain = gain;
      }
      if (gain == bestGain) {
        best.push_back(level);
      }
    }
    point[factor] = best[random() % best.size()];
    fixed[factor] = true;
  }
  return point;
}

std::vector<Case> makeCoveringArray(const Levels &levels, uint64_t seed, size_t minimum,
                                    size_t casesPerKernel) {
  // Completions tried per case, and the gain from which on a case for a known
  // kernel is taken: pairs among runtime factors and across are 60 of 105.
  constexpr unsigned attempts = 40;
  constexpr size_t worthwhileGain = 8;
  std::mt19937_64 random(seed);
  PairSet pairs(levels);
  std::vector<Case> cases;
  auto bestOf = [&](const Case &start, const std::array<bool, NumFactors> &fixed) {
    Case best = start;
    size_t bestGain = 0;
    for (unsigned attempt = 0; attempt < attempts; ++attempt) {
      Case candidate = complete(levels, pairs, start, fixed, random);
      size_t gain = pairs.gain(candidate);
      if (attempt == 0 || gain > bestGain) {
        best = candidate;
        bestGain = gain;
      }
    }
    return std::pair(best, bestGain);
  };
  size_t ofKernel = 0;
  std::array<bool, NumFactors> nothing{};
  std::array<bool, NumFactors> kernel{};
  std::fill_n(kernel.begin(), kNumKernelFactors, true);
  while (pairs.size() > 0 || cases.size() < minimum) {
    if (ofKernel > 0) {
      auto [again, gain] = bestOf(cases.back(), kernel);
      if (casesPerKernel ? ofKernel < casesPerKernel : gain >= worthwhileGain) {
        pairs.cover(again);
        cases.push_back(again);
        ++ofKernel;
        continue;
      }
    }
    auto [fresh, gain] = bestOf(Case{}, nothing);
    pairs.cover(fresh);
    cases.push_back(fresh);
    ofKernel = 1;
  }
  return cases;
}

std::vector<Case> makeMaskProduct(const Levels &levels, uint64_t seed, size_t casesPerKernel) {
  std::mt19937_64 random(seed);
  auto draw = [&](Case &point, unsigned from, unsigned to) {
    for (unsigned factor = from; factor < to; ++factor) {
      point[factor] = levels[factor][random() % levels[factor].size()];
    }
  };
  std::vector<Case> cases;
  for (unsigned element : levels[ElementType]) {
    for (unsigned headDim : levels[HeadDim]) {
      for (unsigned mask : levels[Mask]) {
        Case point{};
        draw(point, 0, kNumKernelFactors);
        point[ElementType] = element;
        point[HeadDim] = headDim;
        point[Mask] = mask;
        for (size_t number = 0; number < casesPerKernel; ++number) {
          draw(point, kNumKernelFactors, NumFactors);
          cases.push_back(point);
        }
      }
    }
  }
  return cases;
}

size_t countMissingPairs(const Levels &levels, const std::vector<Case> &cases) {
  PairSet pairs(levels);
  for (const Case &point : cases) {
    pairs.cover(point);
  }
  return pairs.size();
}

uint64_t productSize(const Levels &levels) {
  uint64_t size = 1;
  for (const std::vector<unsigned> &factor : levels) {
    size *= factor.size();
  }
  return size;
}

Case productCase(const Levels &levels, uint64_t seed, uint64_t number) {
  // number -> number * step + start modulo the size is a permutation if step and
  // size have no common divisor; a step near size / golden ratio spreads.
  uint64_t numCases = productSize(levels);
  auto step = static_cast<uint64_t>(static_cast<double>(numCases) * 0.6180339887498949);
  while (std::gcd(step, numCases) != 1) {
    ++step;
  }
  uint64_t rest = (number % numCases * step + seed % numCases) % numCases;
  Case point{};
  for (unsigned factor = 0; factor < NumFactors; ++factor) {
    uint64_t size = levels[factor].size();
    point[factor] = levels[factor][rest % size];
    rest /= size;
  }
  return point;
}

} // namespace fa4::matrix
