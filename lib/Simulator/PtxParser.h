//===- PtxParser.h - the recursive-descent parser ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two tokens of look-ahead; the first error stops. Nesting is bounded, so hostile
// text cannot exhaust the stack. Modules and variables are parsed in
// PtxParser.cpp, bodies of functions in PtxStatements.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_PTXPARSER_H
#define FA4_LIB_SIMULATOR_PTXPARSER_H

#include "PtxLexer.h"
#include "fa4/Simulator/PtxAst.h"

#include "llvm/Support/FormatVariadic.h"

namespace fa4::sim::ptx {

/// Producers nest scopes two or three deep; the bound only stops hostile text.
constexpr unsigned maxNesting = 64;
/// Far above any register range seen; larger ones are typing errors.
constexpr int64_t maxRegisterRange = 1 << 20;

class Parser {
public:
  Parser(Module &module) : module(module), lexer(module.text) {
    current = lexer.next();
    ahead = lexer.next();
  }
  llvm::Error run();

private:
  void advance() {
    current = ahead;
    ahead = lexer.next();
  }
  bool fail(const llvm::Twine &what) {
    if (message.empty()) {
      llvm::StringRef got = current.kind == Token::Kind::End ? "end of text" : current.text;
      message =
          llvm::formatv("line {0}: expected {1}, but got '{2}'", current.line, what.str(), got)
              .str();
    }
    return false;
  }
  bool acceptPunct(char c) {
    if (!current.isPunct(c)) {
      return false;
    }
    advance();
    return true;
  }
  bool expectPunct(char c) { return acceptPunct(c) || fail("'" + llvm::Twine(c) + "'"); }
  bool acceptDotted(llvm::StringRef s) {
    if (!current.isDotted(s)) {
      return false;
    }
    advance();
    return true;
  }
  bool expectName(llvm::StringRef &out) {
    if (current.kind != Token::Kind::Name) {
      return fail("a name");
    }
    out = current.text;
    advance();
    return true;
  }
  bool expectInteger(uint64_t &out) {
    bool negative = acceptPunct('-');
    if (current.kind != Token::Kind::Integer) {
      return fail("an integer");
    }
    out = negative ? 0 - current.bits : current.bits;
    advance();
    return true;
  }

  bool parseTopLevel();
  bool parseVersion();
  bool parseTarget();
  bool parseFile();
  bool parseSection();
  bool parseFunction(llvm::StringRef linkage, bool isEntry);
  bool parseAttributes(Function &f);
  bool parseParameterList(std::vector<Variable> &out);
  bool parseVariable(Variable &v, bool allowList, std::vector<Variable> &out);
  bool parseInitializer(Variable &v);
  bool parseBlock(Block &out, unsigned depth);
  bool parseStatement(Block &out, unsigned depth);
  bool parseLoc(Statement &s);
  bool parseLabelled(Block &out);
  bool parseInstruction(Instruction &inst);
  bool parseOperand(Operand &op, unsigned depth);
  bool parseOperandList(std::vector<Operand> &out, char close, unsigned depth);
  bool parseSignedOffset(int64_t &offset);

  Module &module;
  Lexer lexer;
  Token current, ahead;
  std::string message;
};

} // namespace fa4::sim::ptx

#endif // FA4_LIB_SIMULATOR_PTXPARSER_H
