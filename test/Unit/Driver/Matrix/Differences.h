//===- Differences.h - two results, element by element ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How what a GPU computed differs from what the simulator did. Where it does by more than
// its functions may, the question is whether an element is small because its terms cancel.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_DRIVER_MATRIX_DIFFERENCES_H
#define FA4_TEST_UNIT_DRIVER_MATRIX_DIFFERENCES_H

#include "fa4/Driver/HostArray.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>
#include <string>

namespace fa4::matrix {

/// Approximate functions are this many units from the simulator's at most.
constexpr double kUnitsOfFunctions = 2.0;

struct Difference {
  size_t elements = 0, others = 0;
  /// The largest distance, in units in the last place of the array's type.
  double units = 0;
  /// Where that is.
  llvm::SmallVector<int64_t, 4> worst;

  void add(const Difference &more);
  void print(llvm::raw_ostream &os) const;
};

/// The size of what an element is the sum of.
using SizeAt = llvm::function_ref<double(llvm::ArrayRef<int64_t> index)>;

/// Elements whose bits differ. With `sizeAt`, units are those at the larger of an element and
/// its terms.
Difference findDifference(const driver::HostArray &a, const driver::HostArray &b,
                          SizeAt sizeAt = nullptr);

/// How an array of a case differs.
struct CaseDifference {
  /// In units of the elements, and of their terms, which are only looked at where the first
  /// is not small.
  Difference plain, ofTerms;
};

/// Over all cases, from several threads.
class Differences {
public:
  /// With text, prints what differs in that case and the text.
  void add(const CaseDifference &output, const CaseDifference &logits, const std::string &text);
  void print(llvm::raw_ostream &os) const;

private:
  std::mutex mutex;
  size_t cases = 0, equalCases = 0, nearCases = 0;
  CaseDifference allOutput, allLogits;
};

} // namespace fa4::matrix

#endif // FA4_TEST_UNIT_DRIVER_MATRIX_DIFFERENCES_H
