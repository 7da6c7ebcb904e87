//===- PtxLexer.h - tokens of PTX text --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lexer never looks behind the end of the text and always makes progress:
// an unknown byte is an Error token, not a stop.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_PTXLEXER_H
#define FA4_LIB_SIMULATOR_PTXLEXER_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace fa4::sim::ptx {

struct Token {
  enum class Kind { End, Name, Dotted, Integer, Float, Double, String, Punct, Error };
  Kind kind = Kind::End;
  llvm::StringRef text; ///< Dotted: without the dot; String: without quotes
  uint64_t bits = 0;
  unsigned line = 1;

  bool isPunct(char c) const { return kind == Kind::Punct && text.size() == 1 && text[0] == c; }
  bool isDotted(llvm::StringRef s) const { return kind == Kind::Dotted && text == s; }
};

class Lexer {
public:
  explicit Lexer(llvm::StringRef text) : text(text) {}
  Token next();

private:
  void skipBlanks();
  Token number();

  llvm::StringRef text;
  size_t pos = 0;
  unsigned line = 1;
};

} // namespace fa4::sim::ptx

#endif // FA4_LIB_SIMULATOR_PTXLEXER_H
