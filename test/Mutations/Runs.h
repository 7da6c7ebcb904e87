//===- Runs.h - inputs that the simulator runs a kernel on ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fault at a ring's slot shows only if the run has the op there. A run may
// therefore state a step of an extent, and then stands for as many runs as the
// deepest ring has slots, each a step longer: every slot is the last one in some run.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_MUTATIONS_RUNS_H
#define FA4_TEST_MUTATIONS_RUNS_H

#include "fa4/Driver/Entry.h"
#include "llvm/Support/Error.h"

#include <map>

namespace fa4::mutations {

struct Run {
  /// Which kernel has these inputs; empty: all that have no inputs of their own.
  std::string kernel;
  driver::InputOptions options;
  /// What the next run has more of each extent, by argument; empty: one run.
  std::map<std::string, std::vector<int64_t>> steps;

  bool isLadder() const { return !steps.empty(); }
  /// The inputs of all runs for a kernel whose deepest ring has `slots` slots.
  std::vector<driver::InputOptions> unroll(int64_t slots) const;
};

/// `[KERNEL:]DISTRIBUTION,ARGUMENT=EXTENTxEXTENT,...,SCALAR=1.5`; an extent is `60`, or `60+128`
/// where it grows by 128.
llvm::Expected<Run> parseRun(llvm::StringRef text);

/// Those of the kernel with that name.
std::vector<Run> selectRuns(llvm::ArrayRef<Run> runs, llvm::StringRef kernel);

} // namespace fa4::mutations

#endif // FA4_TEST_MUTATIONS_RUNS_H
