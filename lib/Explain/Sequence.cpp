//===- Sequence.cpp - who does what, in order -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An arrow leaves its row sideways, where no other box is, and goes up or down in
// the gutter beside its target's lane.
//
//===----------------------------------------------------------------------===//

#include "fa4/Explain/Sequence.h"

#include "fa4/Explain/Svg.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace llvm;
using namespace fa4::explain;

void Sequence::printText(raw_ostream &os) const {
  os << title << '\n' << subtitle << "\n\n";
  constexpr size_t kIndent = 6;
  size_t width = 0;
  for (const Row &row : rows) {
    width = std::max(width, row.what.size());
  }
  os << "     ";
  for (const std::string &lane : lanes) {
    os << left_justify(lane, kIndent + 2) << ' ';
  }
  os << '\n';
  for (auto [index, row] : enumerate(rows)) {
    static constexpr StringLiteral kMarks[] = {"o", "!", "x"};
    os << right_justify(utostr(index + 1), 3) << "  ";
    for (unsigned lane = 0; lane < lanes.size(); ++lane) {
      size_t column = std::max(lanes[lane].size(), kIndent + 2);
      StringRef mark = lane == row.lane ? StringRef(kMarks[static_cast<unsigned>(row.tone)]) : "|";
      os << left_justify(mark, column) << ' ';
    }
    os << left_justify(row.what, width) << "  " << row.where;
    if (row.note != 0) {
      os << "  (" << row.note << ')';
    }
    os << '\n';
  }
  os << '\n';
  for (const Arrow &arrow : arrows) {
    os << formatv("  {0} {1} {2}{3}{4}\n", arrow.from + 1, arrow.bad ? "-x->" : "--->",
                  arrow.to + 1, arrow.label.empty() ? "" : ": ", arrow.label);
  }
  for (auto [index, note] : enumerate(notes)) {
    os << formatv("  ({0}) {1}\n", index + 1, note);
  }
}

namespace {
constexpr double kMargin = 24, kGutter = 64, kRow = 50, kBox = 38, kHead = 26;

class SequenceDrawing {
public:
  explicit SequenceDrawing(const Sequence &sequence) : sequence(sequence), svg(sequence.title) {}
  void draw(raw_ostream &os);

private:
  void layOut();
  double drawHeading();
  void drawRow(unsigned index);
  void drawArrow(const Sequence::Arrow &arrow, unsigned track);
  double middle(unsigned row) const { return top + row * kRow + kRow / 2; }

  const Sequence &sequence;
  Svg svg;
  std::vector<double> left, width;
  double total = 0, top = 0;
};
} // namespace

void SequenceDrawing::layOut() {
  double x = kMargin + kGutter / 2;
  for (auto [lane, name] : enumerate(sequence.lanes)) {
    double needed = Svg::textWidth(name.size()) + 24;
    for (const Sequence::Row &row : sequence.rows) {
      if (row.lane == lane) {
        needed = std::max({needed, Svg::textWidth(row.what.size()) + 28,
                           Svg::textWidth(row.where.size(), 10.5) + 28});
      }
    }
    left.push_back(x);
    width.push_back(needed);
    x += needed + kGutter;
  }
  total = std::max(x + kMargin, 720.0);
}

double SequenceDrawing::drawHeading() {
  double y = 34;
  // Sans-serif letters of 15 px are about 8.6 px wide.
  for (const std::string &line : wrapped(sequence.title, (total - 2 * kMargin) / 8.6)) {
    svg.text({kMargin, y}, line, "title");
    y += 20;
  }
  svg.text({kMargin, y}, sequence.subtitle, "small");
  return y + 20;
}

void SequenceDrawing::drawRow(unsigned index) {
  const Sequence::Row &row = sequence.rows[index];
  static constexpr StringLiteral kStyles[] = {"plain", "bad", "ghost"};
  double x = left[row.lane], y = middle(index) - kBox / 2;
  svg.rect({x, y}, width[row.lane], kBox, kStyles[static_cast<unsigned>(row.tone)], row.where, 5);
  svg.text({x + 14, y + 16}, row.what, row.tone == Sequence::Tone::Plain ? "" : "strong");
  svg.text({x + 14, y + 30}, row.where, "small");
  if (row.note != 0) {
    svg.circle({x, y}, 8, "badge");
    svg.text({x, y + 3.5}, utostr(row.note), "badgetext", Svg::Anchor::Middle);
  }
}

void SequenceDrawing::drawArrow(const Sequence::Arrow &arrow, unsigned track) {
  unsigned from = sequence.rows[arrow.from].lane, to = sequence.rows[arrow.to].lane;
  double y0 = middle(arrow.from), y1 = middle(arrow.to);
  // Into the side of the target that looks at the source.
  bool rightwards = from < to;
  double start = rightwards ? left[from] + width[from] : left[from];
  double end = rightwards ? left[to] : left[to] + width[to];
  if (from == to) {
    rightwards = true;
    start = end = left[to] + width[to];
  }
  double offset = 14 + 9.0 * (track % 4);
  double gutter = rightwards && from != to ? end - offset : end + offset;
  svg.arrow({{start, y0}, {gutter, y0}, {gutter, y1}, {end, y1}}, arrow.bad);
  if (!arrow.label.empty()) {
    svg.text({gutter + (rightwards ? 7 : -7), y0 + (y1 > y0 ? 1 : -1) * (kRow / 2 - 6) + 4},
             arrow.label, "alarm halo", rightwards ? Svg::Anchor::Start : Svg::Anchor::End);
  }
}

void SequenceDrawing::draw(raw_ostream &os) {
  layOut();
  double y = drawHeading();
  top = y + kHead + 6;
  double bottom = top + sequence.rows.size() * kRow;
  for (auto [lane, name] : enumerate(sequence.lanes)) {
    double centre = left[lane] + width[lane] / 2;
    svg.line({centre, y + kHead}, {centre, bottom}, "life");
    svg.rect({left[lane], y}, width[lane], kHead, "head", "", 5);
    svg.text({centre, y + 17}, name, "strong", Svg::Anchor::Middle);
  }
  for (unsigned index = 0; index < sequence.rows.size(); ++index) {
    drawRow(index);
  }
  // Labels over every line.
  for (auto [track, arrow] : enumerate(sequence.arrows)) {
    drawArrow(arrow, track);
  }
  y = bottom + 24;
  for (auto [index, note] : enumerate(sequence.notes)) {
    svg.circle({kMargin + 8, y - 4}, 8, "badge");
    svg.text({kMargin + 8, y - 0.5}, utostr(index + 1), "badgetext", Svg::Anchor::Middle);
    for (const std::string &line : wrapped(note, (total - 2 * kMargin - 30) / 7.2)) {
      svg.text({kMargin + 26, y}, line, "note");
      y += 19;
    }
    y += 3;
  }
  svg.print(os, total, y + 6);
}

void Sequence::printSvg(raw_ostream &os) const { SequenceDrawing(*this).draw(os); }
