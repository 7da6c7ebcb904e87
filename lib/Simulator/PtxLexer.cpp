//===- PtxLexer.cpp - tokens of PTX text ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modifiers such as `.shared::cluster`, `.2d` or `.32x32b` are one token each,
// so that a digit or a double colon inside them needs no grammar.
//
//===----------------------------------------------------------------------===//

#include "PtxLexer.h"

#include "llvm/ADT/StringExtras.h"

using namespace fa4::sim::ptx;

static bool isNameStart(char c) { return llvm::isAlpha(c) || c == '_' || c == '$' || c == '%'; }
static bool isNameBody(char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; }

void Lexer::skipBlanks() {
  while (pos < text.size()) {
    char c = text[pos];
    if (c == '\n') {
      ++line;
      ++pos;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++pos;
    } else if (c == '/' && text.substr(pos, 2) == "//") {
      while (pos < text.size() && text[pos] != '\n') {
        ++pos;
      }
    } else if (c == '/' && text.substr(pos, 2) == "/*") {
      pos += 2;
      while (pos < text.size() && text.substr(pos, 2) != "*/") {
        line += text[pos] == '\n';
        ++pos;
      }
      pos = std::min(text.size(), pos + 2);
    } else {
      return;
    }
  }
}

Token Lexer::number() {
  Token t;
  t.line = line;
  size_t start = pos;
  auto run = [&](auto ok) {
    size_t from = pos;
    while (pos < text.size() && ok(text[pos])) {
      ++pos;
    }
    return text.slice(from, pos);
  };
  auto isHex = [](char c) { return llvm::isHexDigit(c); };
  t.kind = Token::Kind::Integer;
  bool bad = false;
  llvm::StringRef prefix = text.substr(pos, 2);
  if (prefix == "0f" || prefix == "0F" || prefix == "0d" || prefix == "0D") {
    bool isDouble = llvm::toLower(prefix[1]) == 'd';
    pos += 2;
    llvm::StringRef digits = run(isHex);
    t.kind = isDouble ? Token::Kind::Double : Token::Kind::Float;
    bad = digits.size() != (isDouble ? 16u : 8u) || digits.getAsInteger(16, t.bits);
  } else if (prefix == "0x" || prefix == "0X") {
    pos += 2;
    bad = run(isHex).getAsInteger(16, t.bits);
  } else if ((prefix == "0b" || prefix == "0B") && pos + 2 < text.size() &&
             (text[pos + 2] == '0' || text[pos + 2] == '1')) {
    pos += 2;
    bad = run([](char c) { return c == '0' || c == '1'; }).getAsInteger(2, t.bits);
  } else {
    llvm::StringRef digits = run([](char c) { return llvm::isDigit(c); });
    bool octal = digits.size() > 1 && digits[0] == '0';
    bad = digits.getAsInteger(octal ? 8 : 10, t.bits);
  }
  if (pos < text.size() && text[pos] == 'U') {
    ++pos;
  }
  t.text = text.slice(start, pos);
  if (bad) {
    t.kind = Token::Kind::Error;
  }
  return t;
}

Token Lexer::next() {
  skipBlanks();
  Token t;
  t.line = line;
  if (pos >= text.size()) {
    return t;
  }
  char c = text[pos];
  size_t start = pos;
  if (llvm::isDigit(c)) {
    return number();
  }
  if (isNameStart(c)) {
    ++pos;
    while (pos < text.size() && isNameBody(text[pos])) {
      ++pos;
    }
    t.kind = Token::Kind::Name;
    t.text = text.slice(start, pos);
    return t;
  }
  if (c == '.' && pos + 1 < text.size() && isNameBody(text[pos + 1])) {
    ++pos;
    while (pos < text.size() &&
           (isNameBody(text[pos]) ||
            (text.substr(pos, 2) == "::" && pos + 2 < text.size() && isNameBody(text[pos + 2])))) {
      pos += text[pos] == ':' ? 2 : 1;
    }
    t.kind = Token::Kind::Dotted;
    t.text = text.slice(start + 1, pos);
    return t;
  }
  if (c == '"') {
    ++pos;
    while (pos < text.size() && text[pos] != '"' && text[pos] != '\n') {
      ++pos;
    }
    t.text = text.slice(start + 1, pos);
    bool closed = pos < text.size() && text[pos] == '"';
    t.kind = closed ? Token::Kind::String : Token::Kind::Error;
    pos += closed;
    return t;
  }
  ++pos;
  t.text = text.slice(start, pos);
  t.kind =
      llvm::StringRef("{}[]()<>,;:+-=@!|").contains(c) ? Token::Kind::Punct : Token::Kind::Error;
  return t;
}
