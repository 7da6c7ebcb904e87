//===- Svg.cpp - writing pictures that need nothing else ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Coordinates are printed with one decimal, so that files are small and equal on
// every machine.
//
//===----------------------------------------------------------------------===//

#include "fa4/Explain/Svg.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Format.h"

using namespace llvm;
using namespace fa4::explain;

/// Attributes give the light colours to viewers that ignore the dark ones.
static constexpr StringLiteral kStyle = R"(
svg { background: #ffffff; font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 12px; }
.back { fill: #ffffff; }
text { fill: #1d2430; }
.title { font-size: 15px; font-weight: 700; font-family: ui-sans-serif, "DejaVu Sans", system-ui, sans-serif; }
.note { font-family: ui-sans-serif, "DejaVu Sans", system-ui, sans-serif; font-size: 13px; }
.label { font-size: 10.5px; }
.faint { fill-opacity: 0.45; }
.small { font-size: 10.5px; fill: #5a6472; }
.strong { font-weight: 700; }
.halo { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round; }
.head { fill: #e8ecf2; stroke: #8a94a3; }
.life { stroke: #b9c0ca; stroke-dasharray: 3 4; }
.axis { stroke: #8a94a3; }
.grid { stroke: #e3e7ed; }
.plain { fill: #f7f8fa; stroke: #8a94a3; }
.good { fill: #e9f6ec; stroke: #3c8f55; }
.bad { fill: #fdeaea; stroke: #c62828; stroke-width: 1.6; }
.ghost { fill: #ffffff; stroke: #c62828; stroke-dasharray: 5 3; }
.idle { fill: #eef0f3; stroke: #cdd3db; }
.badge { fill: #c62828; }
.badgetext { fill: #ffffff; font-size: 10px; font-weight: 700; }
.alarm { fill: #b71c1c; font-weight: 700; }
.flow { fill: none; stroke: #3c8f55; stroke-width: 1.5; }
.stop { fill: none; stroke: #c62828; stroke-width: 2; stroke-dasharray: 6 4; }
.flowhead { fill: #3c8f55; }
.stophead { fill: #c62828; }
.hue0 { fill: #8ab4e8; stroke: #33639e; } .hue1 { fill: #f0b27a; stroke: #a8621c; }
.hue2 { fill: #9bd3a4; stroke: #38804a; } .hue3 { fill: #d5a6e0; stroke: #834a93; }
.hue4 { fill: #f2d16b; stroke: #957412; } .hue5 { fill: #8fd6d2; stroke: #2b7f7a; }
.hue6 { fill: #f3a3b1; stroke: #a6485b; } .hue7 { fill: #c3c9d2; stroke: #66707d; }
@media (prefers-color-scheme: dark) {
svg { background: #14181f; } .back { fill: #14181f; } text { fill: #e3e8ef; }
.small { fill: #9aa5b4; } .halo { stroke: #14181f; } .head { fill: #28303c; stroke: #66707d; }
.life { stroke: #4a5462; } .axis { stroke: #66707d; } .grid { stroke: #28303c; }
.plain { fill: #1e242e; stroke: #66707d; } .good { fill: #16301e; stroke: #58b374; }
.bad { fill: #3a181b; stroke: #ef6b6b; } .ghost { fill: #14181f; stroke: #ef6b6b; }
.idle { fill: #20262f; stroke: #39424f; } .badge { fill: #ef6b6b; } .badgetext { fill: #14181f; }
.alarm { fill: #ff8a8a; } .flow { stroke: #58b374; } .stop { stroke: #ef6b6b; }
.flowhead { fill: #58b374; } .stophead { fill: #ef6b6b; }
.hue0 { fill: #33639e; stroke: #8ab4e8; } .hue1 { fill: #8a5117; stroke: #f0b27a; }
.hue2 { fill: #2f6b3e; stroke: #9bd3a4; } .hue3 { fill: #6d3d7b; stroke: #d5a6e0; }
.hue4 { fill: #7a5f0f; stroke: #f2d16b; } .hue5 { fill: #246a66; stroke: #8fd6d2; }
.hue6 { fill: #8a3c4c; stroke: #f3a3b1; } .hue7 { fill: #4b5460; stroke: #c3c9d2; }
}
)";

void fa4::explain::beginPage(raw_ostream &os, StringRef title) {
  static constexpr StringLiteral kPage = R"(
body { background: #ffffff; color: #1d2430; margin: 24px; font: 14px/1.45 ui-sans-serif, system-ui, sans-serif; }
table { border-collapse: collapse; margin: 12px 0; }
th, td { border-bottom: 1px solid #d5dae1; padding: 4px 12px 4px 0; text-align: left; vertical-align: top; }
td, pre, code { font: 12px/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
details { border: 1px solid #d5dae1; border-radius: 6px; margin: 8px 0; padding: 4px 10px; }
summary { cursor: pointer; font-weight: 600; } summary span { font-weight: 400; color: #5a6472; }
pre { overflow-x: auto; margin: 8px 0; }
pre div { white-space: pre; } .add { background: #e2f5e6; } .del { background: #fde6e6; } .gap { color: #8a94a3; }
@media (prefers-color-scheme: dark) {
body { background: #14181f; color: #e3e8ef; } th, td, details { border-color: #39424f; }
summary span { color: #9aa5b4; } .add { background: #16361f; } .del { background: #44191c; }
}
)";
  os << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><title>"
     << escaped(title) << "</title><style>" << kPage << "</style></head>\n<body>\n";
}

void fa4::explain::endPage(raw_ostream &os) { os << "</body></html>\n"; }

std::string fa4::explain::escaped(StringRef text) {
  std::string result;
  for (char c : text) {
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      // XML 1.0 has no way to write the others.
      if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') {
        result += c;
      }
    }
  }
  return result;
}

std::vector<std::string> fa4::explain::wrapped(StringRef text, size_t columns) {
  std::vector<std::string> lines;
  SmallVector<StringRef, 32> words;
  text.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    if (lines.empty() || lines.back().size() + 1 + word.size() > columns) {
      lines.push_back(word.str());
    } else {
      lines.back() += " " + word.str();
    }
  }
  return lines;
}

static std::string number(double value) {
  std::string text;
  raw_string_ostream(text) << format("%.1f", value);
  return StringRef(text).ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

static std::string attribute(StringRef name, StringRef value) {
  return " " + name.str() + "=\"" + escaped(value) + "\"";
}

void Svg::rect(Point at, double width, double height, StringRef style, StringRef tip,
               double radius) {
  body += "<rect" + attribute("x", number(at.x)) + attribute("y", number(at.y)) +
          attribute("width", number(width)) + attribute("height", number(height)) +
          (radius != 0 ? attribute("rx", number(radius)) : "") + attribute("class", style);
  body += tip.empty() ? "/>\n" : "><title>" + escaped(tip) + "</title></rect>\n";
}

void Svg::circle(Point centre, double radius, StringRef style) {
  body += "<circle" + attribute("cx", number(centre.x)) + attribute("cy", number(centre.y)) +
          attribute("r", number(radius)) + attribute("class", style) + "/>\n";
}

void Svg::line(Point from, Point to, StringRef style) {
  body += "<line" + attribute("x1", number(from.x)) + attribute("y1", number(from.y)) +
          attribute("x2", number(to.x)) + attribute("y2", number(to.y)) +
          attribute("class", style) + "/>\n";
}

void Svg::arrow(ArrayRef<Point> corners, bool bad) {
  std::string path;
  for (const Point &corner : corners) {
    path += (path.empty() ? "M" : " L") + number(corner.x) + " " + number(corner.y);
  }
  body += "<path" + attribute("d", path) + attribute("class", bad ? "stop" : "flow") +
          attribute("marker-end", bad ? "url(#stophead)" : "url(#flowhead)") + "/>\n";
}

void Svg::text(Point at, StringRef text, StringRef style, Anchor anchor) {
  static constexpr StringLiteral kAnchors[] = {"start", "middle", "end"};
  body += "<text" + attribute("x", number(at.x)) + attribute("y", number(at.y)) +
          (anchor == Anchor::Start
               ? ""
               : attribute("text-anchor", kAnchors[static_cast<unsigned>(anchor)])) +
          attribute("class", style) + ">" + escaped(text) + "</text>\n";
}

void Svg::print(raw_ostream &os, double width, double height) const {
  os << "<svg xmlns=\"http://www.w3.org/2000/svg\"" << attribute("width", number(width))
     << attribute("height", number(height))
     << attribute("viewBox", "0 0 " + number(width) + " " + number(height)) << " role=\"img\""
     << attribute("aria-label", name) << ">\n<style>" << kStyle << "</style>\n<defs>";
  for (StringRef head : {"flowhead", "stophead"}) {
    os << "<marker" << attribute("id", head)
       << " viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"10\" markerHeight=\"10\""
          " markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 1 L9 5 L0 9 z\""
       << attribute("class", head) << "/></marker>";
  }
  os << "</defs>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n" << body << "</svg>\n";
}
