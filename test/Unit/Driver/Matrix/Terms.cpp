//===- Terms.cpp - what results are the sums of ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference is asked again with magnitudes instead of numbers; what it
// computes on the way is seen through the score function, which it calls for every
// key that a row keeps.
//
//===----------------------------------------------------------------------===//

#include "Terms.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using fa4::ref::Results;

namespace fa4::matrix {

/// `tensor` with the magnitudes of its elements.
static ref::ElementAt magnitudesOf(ref::ElementAt tensor) {
  return [tensor = std::move(tensor)](int64_t b, int64_t s, int64_t h, int64_t d) {
    return std::fabs(tensor(b, s, h, d));
  };
}

/// Evaluates `problem` and puts the largest |score| of each row into `largest`.
static llvm::Expected<Results> evaluateAndWatch(ref::Problem problem, Results &largest) {
  largest = Results(problem);
  problem.score = [&largest, score = problem.score](double s, int64_t b, int64_t h, int64_t i,
                                                    int64_t j) {
    double value = score ? score(s, b, h, i, j) : s;
    if (std::isfinite(value)) {
      double &most = largest.lse(b, h, i);
      most = std::max(most, std::fabs(value));
    }
    return value;
  };
  return ref::evaluate(problem, /*threads=*/1);
}

llvm::Expected<Terms> Terms::create(attn::ForwardOp op, driver::Binding bind) {
  llvm::Expected<ref::Problem> problem = driver::buildProblem(op, bind);
  if (!problem) {
    return problem.takeError();
  }
  Terms terms;
  terms.layout = op.getLayout();
  terms.queryPrefix = problem->queryPrefix;
  llvm::Expected<Results> exact = evaluateAndWatch(*problem, terms.largestScore);
  if (!exact) {
    return exact.takeError();
  }
  terms.exact = std::move(*exact);
  problem->value = magnitudesOf(problem->value);
  llvm::Expected<Results> magnitudes = ref::evaluate(*problem, /*threads=*/1);
  if (!magnitudes) {
    return magnitudes.takeError();
  }
  terms.magnitudes = std::move(*magnitudes);
  problem->query = magnitudesOf(problem->query);
  problem->key = magnitudesOf(problem->key);
  problem->scale = std::fabs(problem->scale);
  problem->score = nullptr;
  llvm::Expected<Results> products = evaluateAndWatch(*problem, terms.largestProduct);
  if (!products) {
    return products.takeError();
  }
  return terms;
}

Terms::Row Terms::rowOfOutput(llvm::ArrayRef<int64_t> index) const {
  switch (layout) {
  case attn::Layout::BSHD:
    return {index[0], index[2], index[1]};
  case attn::Layout::BHSD:
    return {index[0], index[1], index[2]};
  case attn::Layout::THD:
    return rowOfLse({index[1], index[0]});
  }
  llvm_unreachable("all layouts are handled");
}

Terms::Row Terms::rowOfLse(llvm::ArrayRef<int64_t> index) const {
  if (queryPrefix.empty()) {
    return {index[0], index[1], index[2]};
  }
  // The last sequence that starts at the token or before it: empty ones start there too.
  int64_t b = llvm::upper_bound(queryPrefix, index[1]) - queryPrefix.begin() - 1;
  return {b, index[0], index[1] - queryPrefix[b]};
}

double Terms::ofOutput(llvm::ArrayRef<int64_t> index) const {
  Row row = rowOfOutput(index);
  return magnitudes.output(row.b, row.h, row.i)[index.back()];
}

double Terms::exactOutput(llvm::ArrayRef<int64_t> index) const {
  Row row = rowOfOutput(index);
  return exact.output(row.b, row.h, row.i)[index.back()];
}

double Terms::ofLse(llvm::ArrayRef<int64_t> index) const {
  Row row = rowOfLse(index);
  double score = std::max(largestScore.lse(row.b, row.h, row.i), 0.0);
  return std::max({1.0, score, std::fabs(exactLse(index) - score)});
}

double Terms::ofScores(llvm::ArrayRef<int64_t> index) const {
  Row row = rowOfLse(index);
  return largestProduct.lse(row.b, row.h, row.i);
}

double Terms::exactLse(llvm::ArrayRef<int64_t> index) const {
  Row row = rowOfLse(index);
  return exact.lse(row.b, row.h, row.i);
}

} // namespace fa4::matrix
