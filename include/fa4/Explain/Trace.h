//===- Trace.h - a simulated run, as a picture ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads what `fa4-sim --timeline` writes. Any trace of complete events with integer
// times is taken, whatever made it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_EXPLAIN_TRACE_H
#define FA4_EXPLAIN_TRACE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace fa4::explain {

struct Trace {
  struct Span {
    int64_t start = 0, end = 0;
    std::string name, category;
    int64_t line = 0;
  };
  struct Mark {
    int64_t time = 0;
    std::string name;
  };
  struct Track {
    int64_t process = 0, thread = 0;
    std::string name;
    std::vector<Span> spans; ///< by start
    std::vector<Mark> marks;
  };
  struct Process {
    int64_t id = 0;
    std::string name;
  };
  std::vector<Process> processes;
  std::vector<Track> tracks; ///< by process and thread
  std::string unit;
  int64_t end = 0;

  static llvm::Expected<Trace> parse(llvm::StringRef json);

  /// Leaves out the processes after the first `count`, and what is not in the steps.
  void keep(size_t count, int64_t from, int64_t to);

  /// Per track: how long it runs, and what it waits for most.
  void printText(llvm::raw_ostream &os) const;
  void printSvg(llvm::raw_ostream &os) const;
};

} // namespace fa4::explain

#endif // FA4_EXPLAIN_TRACE_H
