//===- Svg.h - writing pictures that need nothing else ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A picture is one file: its style is inside, its fonts are the reader's, and its
// text is escaped. Light or dark follows the reader's setting.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_EXPLAIN_SVG_H
#define FA4_EXPLAIN_SVG_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace fa4::explain {

/// `text` with what XML and HTML give a meaning escaped, and without control characters.
std::string escaped(llvm::StringRef text);

/// Cuts `text` at spaces into lines of at most `columns` characters; longer words stay.
std::vector<std::string> wrapped(llvm::StringRef text, size_t columns);

/// Colours that roles and engines take in turn.
constexpr unsigned kNumHues = 8;

/// Shapes are drawn in the order of calls. A style is a list of the classes that
/// stand in Svg.cpp: a tone (plain, bad, ghost, good), a hue (hue0 to hue7), or what
/// a thing is (title, small, life, …).
class Svg {
public:
  struct Point {
    double x, y;
  };
  enum class Anchor : uint8_t { Start, Middle, End };

  /// `name` is what a screen reader says.
  explicit Svg(llvm::StringRef name) : name(name.str()) {}

  /// A nonempty `tip` shows when the pointer rests on the shape.
  void rect(Point at, double width, double height, llvm::StringRef style, llvm::StringRef tip = "",
            double radius = 0);
  void circle(Point centre, double radius, llvm::StringRef style);
  void line(Point from, Point to, llvm::StringRef style);
  /// Corners from the tail to the head.
  void arrow(llvm::ArrayRef<Point> corners, bool bad);
  void text(Point at, llvm::StringRef text, llvm::StringRef style, Anchor anchor = Anchor::Start);

  /// Without kXmlDeclaration, which a file begins with and a page has no place for.
  void print(llvm::raw_ostream &os, double width, double height) const;

  /// Width of `characters` of the monospaced text that all labels are set in.
  static double textWidth(size_t characters, double size = 12) { return characters * size * 0.605; }

private:
  std::string name;
  std::string body;
};

constexpr llvm::StringLiteral kXmlDeclaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// An HTML page around what is written in between.
void beginPage(llvm::raw_ostream &os, llvm::StringRef title);
void endPage(llvm::raw_ostream &os);

} // namespace fa4::explain

#endif // FA4_EXPLAIN_SVG_H
