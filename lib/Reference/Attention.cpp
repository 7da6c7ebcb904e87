//===- Attention.cpp - attention in double precision ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row is computed in one piece: all its scores, their maximum, their sum. A key
// that is masked is never multiplied with anything that reaches a result, so its
// K and V may hold anything (M7).
//
// Only the dot products are blocked, four rows by kKeyBlock keys, with the keys
// innermost: each score is still one sum in the order of the dimension.
//
//===----------------------------------------------------------------------===//

#include "fa4/Reference/Attention.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

namespace fa4::ref {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Four rows of 128 double sums stay in a 32 KiB first-level cache beside the keys.
constexpr int64_t kRowBlock = 4;
constexpr int64_t kKeyBlock = 128;

int64_t saturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (!llvm::AddOverflow(a, b, sum)) {
    return sum;
  }
  return b > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

/// Keys [first, last) of a row.
struct KeyRange {
  int64_t first, last;
};

/// M3, M4 and M5 for the masks that bound a range. Keys past the used length never
/// belong to it (S1, M7).
KeyRange keyRange(const Problem &problem, int64_t b, int64_t i) {
  KeyRange range = {0, problem.usedKeys(b)};
  for (const PositionMask &mask : problem.masks) {
    int64_t aligned = i;
    if (mask.alignment == Alignment::BottomRight) {
      aligned += problem.usedKeys(b) - problem.usedQueries(b);
    }
    if (!problem.positionOffsets.empty()) {
      aligned = saturatingAdd(aligned, problem.positionOffsets[b]);
    }
    auto keepUpTo = [&](int64_t last) {
      range.last = std::min(range.last, saturatingAdd(last, 1));
    };
    if (mask.causal) {
      keepUpTo(aligned);
    }
    if (mask.right) {
      keepUpTo(saturatingAdd(aligned, *mask.right));
    }
    if (mask.left) {
      // -INT64_MIN does not exist; so negative a bound empties the row anyway.
      int64_t left = std::max(*mask.left, -std::numeric_limits<int64_t>::max());
      range.first = std::max(range.first, saturatingAdd(aligned, -left));
    }
  }
  return range;
}

/// The masks that say nothing about ranges.
bool keeps(const Problem &problem, int64_t b, int64_t h, int64_t i, int64_t j) {
  if (problem.queryDocument && problem.queryDocument(b, i) != problem.keyDocument(b, j)) {
    return false;
  }
  return !problem.predicate || problem.predicate(b, h, i, j);
}

/// Evaluates heads in one arithmetic. Real is double for the oracle and float
/// for the plain computation, where `probabilityType` is the input type of R7.
template <typename Real>
class HeadEvaluator {
public:
  HeadEvaluator(const Problem &problem, std::optional<numerics::HalfKind> probabilityType,
                Results &results)
      : problem(problem), probabilityType(probabilityType), results(results) {}

  void evaluateHead(int64_t b, int64_t h) {
    int64_t usedQueries = problem.usedQueries(b);
    if (usedQueries == 0) {
      return;
    }
    loadKeyHead(b, h);
    for (int64_t row = 0; row < usedQueries; row += kRowBlock) {
      int64_t count = std::min(kRowBlock, usedQueries - row);
      KeyRange all = {usedKeys, 0};
      KeyRange ranges[kRowBlock];
      for (int64_t r = 0; r < count; ++r) {
        ranges[r] = keyRange(problem, b, row + r);
        if (ranges[r].first < ranges[r].last) {
          all.first = std::min(all.first, ranges[r].first);
          all.last = std::max(all.last, ranges[r].last);
        }
      }
      multiplyKeys(b, h, row, count, all);
      for (int64_t r = 0; r < count; ++r) {
        finishRow(b, h, row + r, ranges[r], dots.data() + r * paddedKeys);
      }
    }
  }

private:
  /// K as [d][j] and V as [j][c] of the head that query head h reads (S3).
  void loadKeyHead(int64_t b, int64_t h) {
    int64_t keyHead = h / (problem.queryHeads / problem.keyHeads);
    usedKeys = problem.usedKeys(b);
    paddedKeys = llvm::alignTo(usedKeys, kKeyBlock);
    keys.assign(problem.queryDim * paddedKeys, Real(0));
    values.resize(usedKeys * problem.valueDim);
    dots.assign(kRowBlock * paddedKeys, Real(0));
    queries.resize(kRowBlock * problem.queryDim);
    for (int64_t j = 0; j < usedKeys; ++j) {
      for (int64_t d = 0; d < problem.queryDim; ++d) {
        keys[d * paddedKeys + j] = static_cast<Real>(problem.key(b, j, keyHead, d));
      }
      for (int64_t c = 0; c < problem.valueDim; ++c) {
        values[j * problem.valueDim + c] = static_cast<Real>(problem.value(b, j, keyHead, c));
      }
    }
  }

  /// q·k of `count` rows over the blocks that hold `range`.
  void multiplyKeys(int64_t b, int64_t h, int64_t row, int64_t count, KeyRange range) {
    std::fill(queries.begin(), queries.end(), Real(0));
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t d = 0; d < problem.queryDim; ++d) {
        queries[r * problem.queryDim + d] = static_cast<Real>(problem.query(b, row + r, h, d));
      }
    }
    for (int64_t first = range.first / kKeyBlock * kKeyBlock; first < range.last;
         first += kKeyBlock) {
      Real sums[kRowBlock][kKeyBlock] = {};
      for (int64_t d = 0; d < problem.queryDim; ++d) {
        const Real *column = keys.data() + d * paddedKeys + first;
        for (int64_t r = 0; r < kRowBlock; ++r) {
          Real query = queries[r * problem.queryDim + d];
          for (int64_t j = 0; j < kKeyBlock; ++j) {
            sums[r][j] += query * column[j];
          }
        }
      }
      for (int64_t r = 0; r < kRowBlock; ++r) {
        std::copy_n(sums[r], kKeyBlock, dots.data() + r * paddedKeys + first);
      }
    }
  }

  /// P as the matrix unit would read it.
  Real roundProbability(Real p) const {
    if (!probabilityType) {
      return p;
    }
    return numerics::halfToFloat(*probabilityType, numerics::doubleToHalf(*probabilityType, p));
  }

  /// Scores, mask, softmax and P·V of one row from its dot products.
  void finishRow(int64_t b, int64_t h, int64_t i, KeyRange range, const Real *dot) {
    auto scale = static_cast<Real>(problem.scale);
    visible.clear();
    auto maximum = static_cast<Real>(-kInfinity);
    for (int64_t j = range.first; j < range.last; ++j) {
      if (!keeps(problem, b, h, i, j)) {
        continue;
      }
      Real s = scale * dot[j];
      if (problem.score) {
        s = static_cast<Real>(problem.score(s, b, h, i, j));
      }
      // M1: a score of -inf hides the key.
      if (s == static_cast<Real>(-kInfinity)) {
        continue;
      }
      visible.push_back({j, s});
      maximum = std::max(maximum, s);
    }
    results.seenKeys(b, h, i) = static_cast<int64_t>(visible.size());
    Real sink =
        problem.sink.empty() ? static_cast<Real>(-kInfinity) : static_cast<Real>(problem.sink[h]);
    if (visible.empty()) {
      // R1
      results.lse(b, h, i) = sink;
      return;
    }
    maximum = std::max(maximum, sink);

    Real sum = 0;
    accumulator.assign(problem.valueDim, Real(0));
    Real *weighted = accumulator.data();
    for (const auto &[j, s] : visible) {
      Real p = std::exp(s - maximum);
      sum += p;
      p = roundProbability(p);
      const Real *value = values.data() + j * problem.valueDim;
      for (int64_t c = 0; c < problem.valueDim; ++c) {
        weighted[c] += p * value[c];
      }
    }
    // M8
    sum += std::exp(sink - maximum);
    double *output = results.output(b, h, i);
    for (int64_t c = 0; c < problem.valueDim; ++c) {
      output[c] = weighted[c] / sum;
    }
    results.lse(b, h, i) = maximum + std::log(sum);
  }

  struct VisibleKey {
    int64_t j;
    Real score;
  };

  const Problem &problem;
  std::optional<numerics::HalfKind> probabilityType;
  Results &results;
  int64_t usedKeys = 0, paddedKeys = 0;
  std::vector<Real> keys, values, queries, dots, accumulator;
  std::vector<VisibleKey> visible;
};

/// Runs every (b, h) on `threads` threads; heads write disjoint rows.
template <typename Real>
llvm::Expected<Results> evaluateIn(const Problem &problem,
                                   std::optional<numerics::HalfKind> probabilityType,
                                   unsigned threads) {
  if (llvm::Error error = checkProblem(problem)) {
    return std::move(error);
  }
  Results results(problem);
  int64_t heads = problem.batch * problem.queryHeads;
  std::atomic<int64_t> next = 0;
  auto work = [&] {
    HeadEvaluator<Real> evaluator(problem, probabilityType, results);
    for (int64_t head = next++; head < heads; head = next++) {
      evaluator.evaluateHead(head / problem.queryHeads, head % problem.queryHeads);
    }
  };
  if (threads == 0) {
    threads = std::max(1U, std::thread::hardware_concurrency());
  }
  std::vector<std::thread> others;
  for (int64_t t = 1; t < std::min<int64_t>(threads, heads); ++t) {
    others.emplace_back(work);
  }
  work();
  for (std::thread &thread : others) {
    thread.join();
  }
  return results;
}

} // namespace

llvm::Expected<Results> evaluate(const Problem &problem, unsigned threads) {
  return evaluateIn<double>(problem, std::nullopt, threads);
}

llvm::Expected<Results> evaluatePlainF32(const Problem &problem, numerics::HalfKind inputType,
                                         unsigned threads) {
  return evaluateIn<float>(problem, inputType, threads);
}

double mergeRow(llvm::ArrayRef<double> output1, double lse1, llvm::ArrayRef<double> output2,
                double lse2, llvm::MutableArrayRef<double> output) {
  double maximum = std::max(lse1, lse2);
  if (maximum == -kInfinity) {
    std::fill(output.begin(), output.end(), 0.0);
    return -kInfinity;
  }
  double weight1 = std::exp(lse1 - maximum), weight2 = std::exp(lse2 - maximum);
  double sum = weight1 + weight2;
  for (size_t c = 0; c < output.size(); ++c) {
    output[c] = (weight1 * output1[c] + weight2 * output2[c]) / sum;
  }
  return maximum + std::log(sum);
}

} // namespace fa4::ref
