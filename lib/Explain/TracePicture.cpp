//===- TracePicture.cpp - a simulated run, drawn --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Spans too narrow to be seen apart are drawn as one, so a picture's size does not
// grow with the run's.
//
//===----------------------------------------------------------------------===//

#include "fa4/Explain/Svg.h"
#include "fa4/Explain/Trace.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::explain;

namespace {
constexpr double kMargin = 24, kLabels = 190, kPlot = 960, kBar = 18, kRow = 23, kLetters = 10.5;

class TraceDrawing {
public:
  explicit TraceDrawing(const Trace &trace)
      : trace(trace), svg("timeline"), scale(kPlot / std::max<int64_t>(trace.end, 1)) {}
  void draw(raw_ostream &os);

private:
  double x(int64_t time) const { return kMargin + kLabels + double(time) * scale; }
  void drawAxis(double top, double bottom);
  void drawTrack(const Trace::Track &track, double y);
  std::string styleOf(const Trace::Span &span, const Trace::Track &track);
  void drawBar(const Trace::Span &span, int64_t start, int64_t end, StringRef style, double y,
               unsigned merged);

  const Trace &trace;
  Svg svg;
  double scale;
  StringMap<unsigned> hues;
};
} // namespace

/// A round number of steps, so that about ten lines fit.
static int64_t gridStep(int64_t end) {
  int64_t step = 1;
  while (end / step > 12) {
    // 1, 2, 5, 10, …
    std::string digits = itostr(step);
    step = digits[0] == '2' ? step / 2 * 5 : step * 2;
  }
  return step;
}

void TraceDrawing::drawAxis(double top, double bottom) {
  int64_t step = gridStep(trace.end);
  for (int64_t time = 0; time <= trace.end; time += step) {
    svg.line({x(time), top}, {x(time), bottom}, "grid");
    svg.text({x(time), top - 4}, itostr(time), "small", Svg::Anchor::Middle);
  }
}

std::string TraceDrawing::styleOf(const Trace::Span &span, const Trace::Track &track) {
  if (span.category == "wait") {
    return "idle";
  }
  // Warps of one role look alike, and so do operations of one kind.
  StringRef key = span.category == "run" ? StringRef(track.name).rsplit(": ").second : span.name;
  if (key.empty()) {
    key = track.name;
  }
  unsigned hue = hues.insert({key, static_cast<unsigned>(hues.size())}).first->second;
  return "hue" + utostr(hue % kNumHues);
}

void TraceDrawing::drawBar(const Trace::Span &span, int64_t start, int64_t end, StringRef style,
                           double y, unsigned merged) {
  constexpr double kLeastWidth = 0.8;
  double width = std::max(double(end - start) * scale, kLeastWidth);
  std::string tip = merged > 1 ? formatv("{0} spans such as {1}", merged, span.name).str()
                               : formatv("{0}: steps {1} to {2}", span.name, start, end).str();
  if (merged == 1 && span.line != 0) {
    tip += formatv(", PTX line {0}", span.line);
  }
  svg.rect({x(start), y}, width, kBar, style, tip);
  StringRef label = span.name;
  label.consume_front("wait ");
  if (merged == 1 && Svg::textWidth(label.size(), kLetters) + 6 < width) {
    svg.text({x(start) + 3, y + kBar - 5.5}, label, style == "idle" ? "small" : "label");
  }
}

void TraceDrawing::drawTrack(const Trace::Track &track, double y) {
  svg.text({kMargin, y + kBar - 5}, track.name, "label");
  constexpr double kApart = 1.2; // pixels
  for (size_t first = 0; first < track.spans.size();) {
    const Trace::Span &span = track.spans[first];
    std::string style = styleOf(span, track);
    int64_t end = span.end;
    size_t next = first + 1;
    // What follows within a pixel or so belongs to the same bar.
    if (double(end - span.start) * scale < kApart) {
      while (next < track.spans.size() &&
             double(track.spans[next].end - span.start) * scale < kApart) {
        end = std::max(end, track.spans[next++].end);
      }
    }
    drawBar(span, span.start, end, style, y, next - first);
    first = next;
  }
  for (const Trace::Mark &mark : track.marks) {
    svg.line({x(mark.time), y - 2}, {x(mark.time), y + kBar + 2}, "stop");
    svg.circle({x(mark.time), y + kBar / 2}, 4, "badge");
  }
}

void TraceDrawing::draw(raw_ostream &os) {
  double y = 34;
  svg.text({kMargin, y}, "What each warp and engine does, step by step", "title");
  y += 20;
  for (const std::string &line : wrapped(trace.unit, 150)) {
    svg.text({kMargin, y}, line, "small");
    y += 15;
  }
  for (const Trace::Process &process : trace.processes) {
    std::vector<const Trace::Track *> shown;
    for (const Trace::Track &track : trace.tracks) {
      if (track.process == process.id && (!track.spans.empty() || !track.marks.empty())) {
        shown.push_back(&track);
      }
    }
    y += 16;
    svg.text({kMargin, y}, process.name, "strong");
    y += 24;
    drawAxis(y, y + shown.size() * kRow);
    y += 3;
    std::vector<std::string> faults;
    for (const Trace::Track *track : shown) {
      drawTrack(*track, y);
      for (const Trace::Mark &mark : track->marks) {
        faults.push_back(formatv("step {0}, {1}: {2}", mark.time, track->name, mark.name));
      }
      y += kRow;
    }
    for (const std::string &fault : faults) {
      for (const std::string &line : wrapped(fault, 150)) {
        y += 16;
        svg.text({kMargin, y}, line, "alarm");
      }
    }
    y += 8;
  }
  svg.print(os, kMargin + kLabels + kPlot + kMargin, y + 8);
}

void Trace::printSvg(raw_ostream &os) const { TraceDrawing(*this).draw(os); }
