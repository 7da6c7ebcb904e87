//===- Differences.h - two results, element by element ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How what a GPU computed differs from what the simulator did.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_DRIVER_MATRIX_DIFFERENCES_H
#define FA4_TEST_UNIT_DRIVER_MATRIX_DIFFERENCES_H

#include "fa4/Driver/HostArray.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>
#include <string>

namespace fa4::matrix {

struct Difference {
  size_t elements = 0, others = 0;
  /// The largest distance, in units in the last place of the array's type.
  double units = 0;

  void add(const Difference &more);
  void print(llvm::raw_ostream &os) const;
};

/// Elements whose bits differ.
Difference findDifference(const driver::HostArray &a, const driver::HostArray &b);

/// Over all cases, from several threads.
class Differences {
public:
  /// With a name, prints what differs in that case.
  void add(const Difference &output, const Difference &logits, const std::string &name);
  void print(llvm::raw_ostream &os) const;

private:
  std::mutex mutex;
  size_t cases = 0, equalCases = 0;
  Difference allOutput, allLogits;
};

} // namespace fa4::matrix

#endif // FA4_TEST_UNIT_DRIVER_MATRIX_DIFFERENCES_H
