//===- Attention.h - attention in double precision --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle: attention as docs and labels S1 to M8, R1 to R3 define it, in
// float64 and from whole rows of scores. It shares nothing with any lowering: no
// tiling, no running maximum, no base 2.
//
// The same rows in f32 (`evaluatePlainF32`) are the yardstick of R7.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_REFERENCE_ATTENTION_H
#define FA4_REFERENCE_ATTENTION_H

#include "fa4/Numerics/Float16.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace fa4::ref {

/// Element of a tensor: sequence b, position s inside it, head h, dimension d.
/// Layout, strides, and packing are the business of who makes one (Tensors.h).
using ElementAt = std::function<double(int64_t b, int64_t s, int64_t h, int64_t d)>;

/// Where query position i of a sequence stands among its keys (M3).
enum class Alignment : uint8_t { BottomRight, TopLeft };

/// A causal bound, a window, or both, under one alignment (M3, M4). An absent
/// bound is unbounded; a negative one is that number.
struct PositionMask {
  Alignment alignment = Alignment::BottomRight;
  bool causal = false;
  std::optional<int64_t> left, right;
};

/// One attention problem.
struct Problem {
  int64_t batch = 1;
  int64_t queryHeads = 1, keyHeads = 1;
  int64_t queryDim = 0, valueDim = 0;

  /// Sq and Sk; ignored for a tensor that has prefix sums.
  int64_t queryLength = 0, keyLength = 0;
  /// Prefix sums [B+1] of packed sequences, or empty (S1).
  std::vector<int64_t> queryPrefix, keyPrefix;
  /// Used lengths [B], or empty for whole sequences (S1).
  std::vector<int64_t> queryUsed, keyUsed;

  ElementAt query, key, value;

  double scale = 1.0;
  /// Score region: (scaled score, b, h, i, j) to score, or none (M1).
  std::function<double(double s, int64_t b, int64_t h, int64_t i, int64_t j)> score;

  /// A key must be kept by all of these and by everything below (M5).
  std::vector<PositionMask> masks;
  /// Added to the aligned position of each sequence [B], or empty (M3).
  std::vector<int64_t> positionOffsets;
  /// Document ids of queries and keys, both or neither.
  std::function<int64_t(int64_t b, int64_t i)> queryDocument, keyDocument;
  std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)> predicate;

  /// One logit per query head in the denominator, or empty (M8).
  std::vector<double> sink;

  /// Rows that sequence b has in q and o, and those of them that are used.
  int64_t queryExtent(int64_t b) const;
  int64_t keyExtent(int64_t b) const;
  int64_t usedQueries(int64_t b) const;
  int64_t usedKeys(int64_t b) const;
};

/// o and lse of a problem, in double.
class Results {
public:
  Results() = default;
  explicit Results(const Problem &problem);

  int64_t batch() const { return static_cast<int64_t>(firstRow.size()) - 1; }
  int64_t heads() const { return numHeads; }
  int64_t dim() const { return numDims; }
  /// Rows of a sequence.
  int64_t rows(int64_t b) const { return firstRow[b + 1] - firstRow[b]; }

  double *output(int64_t b, int64_t h, int64_t i) {
    return outputs.data() + rowIndex(b, h, i) * numDims;
  }
  const double *output(int64_t b, int64_t h, int64_t i) const {
    return outputs.data() + rowIndex(b, h, i) * numDims;
  }
  double &lse(int64_t b, int64_t h, int64_t i) { return lses[rowIndex(b, h, i)]; }
  double lse(int64_t b, int64_t h, int64_t i) const { return lses[rowIndex(b, h, i)]; }
  /// Keys that a row saw: 0 makes it a row of R1.
  int64_t &seenKeys(int64_t b, int64_t h, int64_t i) { return seen[rowIndex(b, h, i)]; }
  int64_t seenKeys(int64_t b, int64_t h, int64_t i) const { return seen[rowIndex(b, h, i)]; }

private:
  int64_t rowIndex(int64_t b, int64_t h, int64_t i) const {
    return (firstRow[b] + i) * numHeads + h;
  }

  int64_t numHeads = 0, numDims = 0;
  std::vector<int64_t> firstRow = {0};
  std::vector<double> outputs, lses;
  std::vector<int64_t> seen;
};

/// Says what is wrong with a problem's sizes, if anything.
llvm::Error checkProblem(const Problem &problem);

/// Evaluates in double. `threads` 0 takes one per processor.
llvm::Expected<Results> evaluate(const Problem &problem, unsigned threads = 0);

/// The plain computation of R7: f32 dot products in the order of the dimension,
/// f32 scale, softmax and sums; exp(s - max) is rounded to `inputType` before it
/// multiplies V, but not in the sum. The output stays unrounded, since R7 grants
/// its rounding apart.
llvm::Expected<Results> evaluatePlainF32(const Problem &problem, numerics::HalfKind inputType,
                                         unsigned threads = 0);

/// Merges two partial results of one row (R3): `output` of the same length as
/// the two inputs gets the merged row. Returns the merged lse.
double mergeRow(llvm::ArrayRef<double> output1, double lse1, llvm::ArrayRef<double> output2,
                double lse2, llvm::MutableArrayRef<double> output);

} // namespace fa4::ref

#endif // FA4_REFERENCE_ATTENTION_H
