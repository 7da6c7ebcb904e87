//===- Sequence.h - who does what, in order ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes side by side, one event per row: a row belongs to one lane, so arrows have
// room beside it and nothing overlaps.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_EXPLAIN_SEQUENCE_H
#define FA4_EXPLAIN_SEQUENCE_H

#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace fa4::explain {

struct Sequence {
  /// Ghosts are what would have to happen, but does not.
  enum class Tone : uint8_t { Plain, Bad, Ghost };
  struct Row {
    unsigned lane = 0;
    std::string what, where;
    Tone tone = Tone::Plain;
    /// Of the note that speaks of it, from 1; 0 if none does.
    unsigned note = 0;
  };
  /// From row to row; a bad one is what is missing.
  struct Arrow {
    unsigned from = 0, to = 0;
    bool bad = false;
    std::string label;
  };

  std::string title;
  /// In small letters below the title.
  std::string subtitle;
  std::vector<std::string> lanes;
  std::vector<Row> rows;
  std::vector<Arrow> arrows;
  std::vector<std::string> notes;

  void printText(llvm::raw_ostream &os) const;
  void printSvg(llvm::raw_ostream &os) const;
};

} // namespace fa4::explain

#endif // FA4_EXPLAIN_SEQUENCE_H
