//===- Problem.cpp - sizes of an attention problem --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After `checkProblem` every index that evaluation forms is inside its vector.
//
//===----------------------------------------------------------------------===//

#include "fa4/Reference/Attention.h"
#include "llvm/ADT/Twine.h"
#include <cmath>
#include <limits>

namespace fa4::ref {

namespace {

int64_t extentOf(llvm::ArrayRef<int64_t> prefix, int64_t length, int64_t b) {
  return prefix.empty() ? length : prefix[b + 1] - prefix[b];
}

llvm::Error expected(const llvm::Twine &what, const llvm::Twine &rule, const llvm::Twine &value) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "expected " + what + " to be " + rule + ", but got " + value);
}

llvm::Error checkSize(llvm::StringRef what, size_t size, int64_t wanted) {
  if (size == 0 || size == static_cast<size_t>(wanted)) {
    return llvm::Error::success();
  }
  return expected("the number of " + what, llvm::Twine(wanted), llvm::Twine(size));
}

/// One side of S1: prefix sums and used lengths against each other.
llvm::Error checkLengths(llvm::StringRef side, int64_t batch, int64_t length,
                         llvm::ArrayRef<int64_t> prefix, llvm::ArrayRef<int64_t> used) {
  if (length < 0) {
    return expected(side + " length", "non-negative", llvm::Twine(length));
  }
  if (llvm::Error error = checkSize((side + " prefix sums").str(), prefix.size(), batch + 1)) {
    return error;
  }
  if (llvm::Error error = checkSize((side + " used lengths").str(), used.size(), batch)) {
    return error;
  }
  for (int64_t b = 0; b < batch; ++b) {
    // The difference of two non-negative numbers does not overflow.
    if (!prefix.empty() && (prefix[b] < 0 || prefix[b + 1] < prefix[b])) {
      return expected(side + " prefix sum " + llvm::Twine(b + 1),
                      "at least the one before it and that at least 0",
                      llvm::Twine(prefix[b + 1]) + " after " + llvm::Twine(prefix[b]));
    }
    int64_t extent = extentOf(prefix, length, b);
    if (!used.empty() && (used[b] < 0 || used[b] > extent)) {
      return expected(side + " used length " + llvm::Twine(b), "in 0 to " + llvm::Twine(extent),
                      llvm::Twine(used[b]));
    }
  }
  return llvm::Error::success();
}

} // namespace

int64_t Problem::queryExtent(int64_t b) const { return extentOf(queryPrefix, queryLength, b); }

int64_t Problem::keyExtent(int64_t b) const { return extentOf(keyPrefix, keyLength, b); }

int64_t Problem::usedQueries(int64_t b) const {
  return queryUsed.empty() ? queryExtent(b) : queryUsed[b];
}

int64_t Problem::usedKeys(int64_t b) const { return keyUsed.empty() ? keyExtent(b) : keyUsed[b]; }

llvm::Error checkProblem(const Problem &problem) {
  if (problem.batch < 0) {
    return expected("batch", "non-negative", llvm::Twine(problem.batch));
  }
  // S3
  if (problem.keyHeads < 1 || problem.queryHeads < 1 ||
      problem.queryHeads % problem.keyHeads != 0) {
    return expected("query heads",
                    "a positive multiple of " + llvm::Twine(problem.keyHeads) + " key heads",
                    llvm::Twine(problem.queryHeads));
  }
  if (problem.queryDim < 1 || problem.valueDim < 1) {
    return expected("head dimensions", "at least 1",
                    llvm::Twine(problem.queryDim) + " and " + llvm::Twine(problem.valueDim));
  }
  if (llvm::Error error = checkLengths("query", problem.batch, problem.queryLength,
                                       problem.queryPrefix, problem.queryUsed)) {
    return error;
  }
  if (llvm::Error error = checkLengths("key", problem.batch, problem.keyLength, problem.keyPrefix,
                                       problem.keyUsed)) {
    return error;
  }
  if (llvm::Error error =
          checkSize("position offsets", problem.positionOffsets.size(), problem.batch)) {
    return error;
  }
  if (llvm::Error error = checkSize("sinks", problem.sink.size(), problem.queryHeads)) {
    return error;
  }
  // M1
  if (!std::isfinite(problem.scale)) {
    return expected("scale", "finite", std::to_string(problem.scale));
  }
  if (!problem.query || !problem.key || !problem.value) {
    return expected("query, key and value", "given", "fewer");
  }
  if (static_cast<bool>(problem.queryDocument) != static_cast<bool>(problem.keyDocument)) {
    return expected("document ids", "given for queries and keys or for neither",
                    problem.queryDocument ? "queries only" : "keys only");
  }
  return llvm::Error::success();
}

Results::Results(const Problem &problem) : numHeads(problem.queryHeads), numDims(problem.valueDim) {
  for (int64_t b = 0; b < problem.batch; ++b) {
    firstRow.push_back(firstRow.back() + problem.queryExtent(b));
  }
  // R1 and S1: what no row writes is the empty result.
  auto count = static_cast<size_t>(firstRow.back() * numHeads);
  outputs.assign(count * static_cast<size_t>(numDims), 0.0);
  lses.assign(count, -std::numeric_limits<double>::infinity());
  seen.assign(count, 0);
}

} // namespace fa4::ref
