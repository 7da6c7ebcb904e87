//===- Report.h - which rung objects to which edits -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table of classes by rungs in Markdown, and below it every edit that nobody
// objects to, with the reason why it breaks nothing or the lack of one.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_MUTATIONS_REPORT_H
#define FA4_TEST_MUTATIONS_REPORT_H

#include "Subject.h"

#include <map>
#include <set>

namespace fa4::mutations {

/// Why edits of one class break nothing at an op of T2, in words: for those that no rung
/// can see through. Stands in KERNEL.arguments, one a line: `class | text of the op | edits | why`.
/// The text stands on one line of T2; where others have it, too, `text (2 of 3)` says which is
/// meant, or `text (all 3)`. `edits` is how many edits it speaks of.
struct HandArgument {
  std::string kind, op, why;
  unsigned edits = 1;
  std::vector<unsigned> placedLines;
};
/// Those of `text`, at their lines of `placedText`.
llvm::Expected<std::vector<HandArgument>> parseArguments(llvm::StringRef text,
                                                         llvm::StringRef placedText);

class Report {
public:
  /// Placed edits come first. `canRun`: whether the simulator can be asked about this kernel at
  /// all.
  Report(bool canRun, llvm::StringRef placedText, llvm::ArrayRef<HandArgument> arguments);

  /// Whether a rung objects, or the edit is shown to break nothing.
  bool add(const PlacedEdit &edit, const Verdict &verdict);
  bool add(const PtxEdit &edit, const Verdict &verdict);
  /// After all edits: an argument that speaks of another number of edits than are left to
  /// it has failed.
  void checkArguments();

  void print(llvm::raw_ostream &os) const;

  /// How to read a page of such tables, which were made as `note` says.
  static void printPreface(llvm::raw_ostream &os, llvm::StringRef note);

  /// Edits that a rung objects to, or that are shown to break nothing.
  size_t getPassed() const { return passed; }
  size_t getFailed() const { return failed; }

private:
  struct Row {
    unsigned edits = 0, verifier = 0, proof = 0, simulated = 0, simulator = 0, both = 0,
             onlySimulator = 0, survivors = 0, harmless = 0, open = 0;
  };
  struct Line {
    std::string kind, place, text;
  };
  /// Counts the edit; returns whether a rung objects.
  bool count(Row &row, const Edit &edit, const Verdict &verdict);
  std::string reasonFor(const PtxEdit &edit);
  /// Whether verifiers and proof accept the edit of that kind at a line of T2.
  bool mayDo(unsigned placedLine, llvm::StringRef kind) const;
  void printReach(llvm::raw_ostream &os) const;
  void printTable(llvm::raw_ostream &os, const std::map<std::string, Row> &rows, bool ofPtx) const;

  bool canRun;
  std::vector<std::string> placedLines;
  std::vector<HandArgument> arguments;
  std::map<std::string, Row> placed, ptx;
  /// Edits of order that no rung refuses without a run, by line and kind.
  std::set<std::pair<unsigned, std::string>> accepted;
  /// How many edits each argument was needed for.
  std::vector<unsigned> uses;
  std::vector<Line> survivors, ptxSurvivors, unseen, idle;
  size_t passed = 0, failed = 0;
};

} // namespace fa4::mutations

#endif // FA4_TEST_MUTATIONS_REPORT_H
