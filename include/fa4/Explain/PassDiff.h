//===- PassDiff.h - what each pass does to a kernel -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of a module after every pass, line by line beside the text before it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_EXPLAIN_PASSDIFF_H
#define FA4_EXPLAIN_PASSDIFF_H

#include "mlir/Pass/PassInstrumentation.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>
#include <vector>

namespace fa4::explain {

struct DiffLine {
  enum class Kind : uint8_t { Same, Added, Removed };
  Kind kind = Kind::Same;
  std::string text;
};

/// A shortest way from the lines of one text to those of another; texts too large to
/// compare are all removed and all added.
std::vector<DiffLine> diffLines(llvm::StringRef before, llvm::StringRef after);

struct PassDiff {
  struct Step {
    std::string pass;
    unsigned added = 0, removed = 0;
    std::vector<DiffLine> lines;
  };
  std::string input;
  std::vector<Step> steps;

  /// Adds a step after each pass that runs; for one thread, and no longer than this.
  std::unique_ptr<mlir::PassInstrumentation> recorder();

  /// The changed lines of each step.
  void printText(llvm::raw_ostream &os) const;
  /// A page with all of every text; what a pass leaves alone is folded.
  void printHtml(llvm::raw_ostream &os) const;

private:
  friend class PassDiffRecorder;
  std::string last;
};

} // namespace fa4::explain

#endif // FA4_EXPLAIN_PASSDIFF_H
