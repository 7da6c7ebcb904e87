//===- PtxParser.cpp - PTX text to syntax tree ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recursive-descent parser with two tokens of look-ahead. It stops at the
// first error. Nesting is bounded, so hostile text cannot exhaust the stack.
//
//===----------------------------------------------------------------------===//

#include "PtxLexer.h"
#include "fa4/Simulator/PtxAst.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstring>

using namespace llvm;
using namespace fa4::sim::ptx;

namespace {

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
  Error run();

private:
  void advance() {
    current = ahead;
    ahead = lexer.next();
  }
  bool fail(const Twine &what) {
    if (message.empty()) {
      StringRef got = current.kind == Token::Kind::End ? "end of text" : current.text;
      message =
          formatv("line {0}: expected {1}, but got '{2}'", current.line, what.str(), got).str();
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
  bool expectPunct(char c) { return acceptPunct(c) || fail("'" + Twine(c) + "'"); }
  bool acceptDotted(StringRef s) {
    if (!current.isDotted(s)) {
      return false;
    }
    advance();
    return true;
  }
  bool expectName(StringRef &out) {
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
  bool parseFunction(StringRef linkage, bool isEntry);
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

} // namespace

bool Parser::parseSignedOffset(int64_t &offset) {
  while (current.isPunct('+') || current.isPunct('-')) {
    bool minus = current.isPunct('-');
    advance();
    uint64_t value;
    if (!expectInteger(value)) {
      return false;
    }
    offset += minus ? 0 - value : value;
  }
  return true;
}

bool Parser::parseOperandList(std::vector<Operand> &out, char close, unsigned depth) {
  if (acceptPunct(close)) {
    return true;
  }
  do {
    out.emplace_back();
    if (!parseOperand(out.back(), depth)) {
      return false;
    }
  } while (acceptPunct(','));
  return expectPunct(close);
}

bool Parser::parseOperand(Operand &op, unsigned depth) {
  if (depth > 4) {
    return fail("operands to be nested at most four deep");
  }
  if (acceptPunct('!')) {
    op.negated = true;
  }
  bool negativeLiteral = false;
  if (current.isPunct('-')) {
    negativeLiteral = true;
    advance();
  }
  switch (current.kind) {
  case Token::Kind::Integer:
    op.kind = Operand::Kind::Integer;
    op.bits = negativeLiteral ? 0 - current.bits : current.bits;
    advance();
    // 1.0: the integer and the dotted digits are adjacent in the text.
    if (current.kind == Token::Kind::Dotted && all_of(current.text, isDigit)) {
      double value;
      StringRef digits = current.text;
      std::string text = std::to_string(op.bits) + "." + digits.str();
      if (negativeLiteral || StringRef(text).getAsDouble(value)) {
        return fail("a number");
      }
      op.kind = Operand::Kind::Double;
      std::memcpy(&op.bits, &value, sizeof(value));
      advance();
    }
    return true;
  case Token::Kind::Float:
  case Token::Kind::Double: {
    bool isDouble = current.kind == Token::Kind::Double;
    op.kind = isDouble ? Operand::Kind::Double : Operand::Kind::Float;
    op.bits = current.bits;
    if (negativeLiteral) {
      op.bits ^= isDouble ? uint64_t(1) << 63 : uint64_t(1) << 31;
    }
    advance();
    return true;
  }
  case Token::Kind::Name: {
    if (negativeLiteral) {
      return fail("a literal after '-'");
    }
    if (current.text == "_") {
      op.kind = Operand::Kind::Sink;
      advance();
    } else {
      op.kind = Operand::Kind::Name;
      op.name = current.text;
      advance();
      // %tid.x: the name and its component are adjacent in the text.
      if (current.kind == Token::Kind::Dotted && current.text.size() == 1 &&
          op.name.end() + 1 == current.text.begin()) {
        op.name = StringRef(op.name.data(), op.name.size() + 2);
        advance();
      }
      if (!parseSignedOffset(op.offset)) {
        return false;
      }
    }
    if (current.isPunct('|')) {
      advance();
      Operand pair;
      pair.kind = Operand::Kind::Pair;
      pair.elements.push_back(std::move(op));
      pair.elements.emplace_back();
      if (!parseOperand(pair.elements.back(), depth + 1)) {
        return false;
      }
      op = std::move(pair);
    }
    return true;
  }
  case Token::Kind::Punct:
    if (negativeLiteral) {
      return fail("a literal after '-'");
    }
    if (acceptPunct('[')) {
      op.kind = Operand::Kind::Address;
      if (!parseOperandList(op.elements, ']', depth + 1)) {
        return false;
      }
      if (op.elements.empty()) {
        return fail("an address between '[' and ']'");
      }
      op.offset = op.elements.front().offset;
      return true;
    }
    if (acceptPunct('{')) {
      op.kind = Operand::Kind::Vector;
      return parseOperandList(op.elements, '}', depth + 1);
    }
    if (acceptPunct('(')) {
      op.kind = Operand::Kind::Group;
      return parseOperandList(op.elements, ')', depth + 1);
    }
    break;
  default:
    break;
  }
  return fail("an operand");
}

bool Parser::parseInstruction(Instruction &inst) {
  inst.line = current.line;
  if (acceptPunct('@')) {
    inst.guardNegated = acceptPunct('!');
    if (!expectName(inst.guard)) {
      return false;
    }
    inst.line = current.line;
  }
  if (!expectName(inst.opcode)) {
    return false;
  }
  while (current.kind == Token::Kind::Dotted) {
    inst.modifiers.push_back(current.text);
    advance();
  }
  if (acceptPunct(';')) {
    return true;
  }
  do {
    inst.operands.emplace_back();
    if (!parseOperand(inst.operands.back(), 0)) {
      return false;
    }
  } while (acceptPunct(','));
  return expectPunct(';');
}

bool Parser::parseInitializer(Variable &v) {
  if (acceptPunct('{')) {
    if (acceptPunct('}')) {
      return true;
    }
    do {
      if (!parseInitializer(v)) {
        return false;
      }
    } while (acceptPunct(','));
    return expectPunct('}');
  }
  if (current.kind == Token::Kind::Name) {
    v.hasSymbolInitializer = true;
    advance();
    if (acceptPunct('(')) { // generic(symbol)
      StringRef ignored;
      if (!expectName(ignored) || !expectPunct(')')) {
        return false;
      }
    }
    int64_t ignoredOffset = 0;
    v.initializer.push_back(0);
    return parseSignedOffset(ignoredOffset);
  }
  if (current.kind == Token::Kind::Float || current.kind == Token::Kind::Double) {
    v.initializer.push_back(current.bits);
    advance();
    return true;
  }
  uint64_t value;
  if (!expectInteger(value)) {
    return false;
  }
  v.initializer.push_back(value);
  return true;
}

/// Parses what follows the state space. A list shares everything but the name.
bool Parser::parseVariable(Variable &v, bool allowList, std::vector<Variable> &out) {
  v.line = current.line;
  while (current.kind == Token::Kind::Dotted) {
    StringRef t = current.text;
    advance();
    uint64_t value;
    if (t == "align") {
      if (!expectInteger(value)) {
        return false;
      }
      if (value == 0 || value > 4096 || (value & (value - 1)) != 0) {
        return fail("an alignment that is a power of two up to 4096");
      }
      v.alignment = value;
    } else if (t == "v2" || t == "v4" || t == "v8") {
      v.vectorWidth = t[1] - '0';
    } else if (t == "ptr" || t == "global" || t == "shared" || t == "const" || t == "local" ||
               t == "param" || t == "noalias") {
      v.attributes.push_back(t);
    } else {
      v.type = t;
    }
  }
  if (v.type.empty()) {
    return fail("a type");
  }
  do {
    Variable one = v;
    if (!expectName(one.name)) {
      return false;
    }
    if (acceptPunct('<')) {
      uint64_t count;
      if (!expectInteger(count)) {
        return false;
      }
      if (count > uint64_t(maxRegisterRange)) {
        return fail("a register range of at most 2^20");
      }
      one.rangeCount = count;
      if (!expectPunct('>')) {
        return false;
      }
    }
    while (acceptPunct('[')) {
      uint64_t count = 0;
      if (!current.isPunct(']') && !expectInteger(count)) {
        return false;
      }
      if (count > (uint64_t(1) << 32)) {
        return fail("an array of at most 2^32 elements");
      }
      int64_t outer = one.arrayCount < 0 ? 1 : one.arrayCount;
      if (outer != 0 && count > (uint64_t(1) << 32) / outer) {
        return fail("an array of at most 2^32 elements");
      }
      one.arrayCount = outer * int64_t(count);
      if (!expectPunct(']')) {
        return false;
      }
    }
    if (acceptPunct('=') && !parseInitializer(one)) {
      return false;
    }
    out.push_back(std::move(one));
  } while (allowList && acceptPunct(','));
  return true;
}

bool Parser::parseLoc(Statement &s) {
  uint64_t file, line, column;
  if (!expectInteger(file) || !expectInteger(line) || !expectInteger(column)) {
    return false;
  }
  s.kind = Statement::Kind::Location;
  s.locFile = file;
  s.locLine = line;
  s.locColumn = column;
  // `, function_name $L, inlined_at f l c` names the caller; the innermost
  // position above is the one that is reported.
  while (acceptPunct(',')) {
    StringRef word;
    if (!expectName(word)) {
      return false;
    }
    if (word == "function_name") {
      int64_t ignored = 0;
      if (!expectName(word) || !parseSignedOffset(ignored)) {
        return false;
      }
    } else {
      uint64_t v;
      for (int i = 0; i < 3; ++i) {
        if (!expectInteger(v)) {
          return false;
        }
      }
    }
  }
  return true;
}

/// `name:` followed by nothing, `.branchtargets` or `.callprototype`.
bool Parser::parseLabelled(Block &out) {
  auto s = std::make_unique<Statement>();
  s->line = current.line;
  s->name = current.text;
  advance();
  advance();
  if (acceptDotted("branchtargets")) {
    s->kind = Statement::Kind::BranchTargets;
    do {
      StringRef target;
      if (!expectName(target)) {
        return false;
      }
      s->targets.push_back(target);
    } while (acceptPunct(','));
    if (!expectPunct(';')) {
      return false;
    }
  } else if (acceptDotted("callprototype")) {
    s->kind = Statement::Kind::CallPrototype;
    while (!current.isPunct(';')) {
      if (current.kind == Token::Kind::End) {
        return fail("';' after a call prototype");
      }
      advance();
    }
    advance();
  } else {
    s->kind = Statement::Kind::Label;
  }
  out.push_back(std::move(s));
  return true;
}

bool Parser::parseStatement(Block &out, unsigned depth) {
  if (current.kind == Token::Kind::Name && ahead.isPunct(':')) {
    return parseLabelled(out);
  }
  auto s = std::make_unique<Statement>();
  s->line = current.line;
  if (acceptPunct('{')) {
    if (depth >= maxNesting) {
      return fail("scopes to be nested at most 64 deep");
    }
    s->kind = Statement::Kind::Block;
    if (!parseBlock(s->block, depth + 1)) {
      return false;
    }
  } else if (current.kind == Token::Kind::Dotted) {
    StringRef directive = current.text;
    advance();
    if (directive == "loc") {
      if (!parseLoc(*s)) {
        return false;
      }
    } else if (directive == "pragma") {
      s->kind = Statement::Kind::Pragma;
      if (current.kind != Token::Kind::String) {
        return fail("a string after '.pragma'");
      }
      s->name = current.text;
      advance();
      if (!expectPunct(';')) {
        return false;
      }
    } else if (directive == "reg" || directive == "shared" || directive == "local" ||
               directive == "param" || directive == "global" || directive == "const") {
      s->kind = Statement::Kind::Variable;
      Variable v;
      v.space = directive;
      if (!parseVariable(v, /*allowList=*/true, s->variables) || !expectPunct(';')) {
        return false;
      }
    } else {
      return fail("a statement instead of '." + directive + "'");
    }
  } else {
    s->kind = Statement::Kind::Instruction;
    if (!parseInstruction(s->instruction)) {
      return false;
    }
    s->line = s->instruction.line;
  }
  out.push_back(std::move(s));
  return true;
}

bool Parser::parseBlock(Block &out, unsigned depth) {
  while (!acceptPunct('}')) {
    if (current.kind == Token::Kind::End) {
      return fail("'}'");
    }
    if (acceptPunct(';')) { // inline assembly leaves empty statements
      continue;
    }
    if (!parseStatement(out, depth)) {
      return false;
    }
  }
  return true;
}

bool Parser::parseParameterList(std::vector<Variable> &out) {
  if (acceptPunct(')')) {
    return true;
  }
  do {
    Variable v;
    if (current.isDotted("param") || current.isDotted("reg")) {
      v.space = current.text;
      advance();
    } else {
      return fail("'.param' or '.reg'");
    }
    if (!parseVariable(v, /*allowList=*/false, out)) {
      return false;
    }
  } while (acceptPunct(','));
  return expectPunct(')');
}

bool Parser::parseAttributes(Function &f) {
  while (current.kind == Token::Kind::Dotted) {
    Attribute a;
    a.name = current.text;
    advance();
    while (current.kind == Token::Kind::Integer) {
      uint64_t value;
      if (!expectInteger(value)) {
        return false;
      }
      a.values.push_back(value);
      if (!acceptPunct(',')) {
        break;
      }
    }
    if (a.name == "pragma") {
      if (current.kind != Token::Kind::String) {
        return fail("a string after '.pragma'");
      }
      advance();
      acceptPunct(';');
      continue;
    }
    f.attributes.push_back(std::move(a));
  }
  return true;
}

bool Parser::parseFunction(StringRef linkage, bool isEntry) {
  auto f = std::make_unique<Function>();
  f->line = current.line;
  f->isEntry = isEntry;
  f->linkage = linkage;
  if (!isEntry && acceptPunct('(') && !parseParameterList(f->results)) {
    return false;
  }
  if (!expectName(f->name)) {
    return false;
  }
  if (acceptPunct('(') && !parseParameterList(f->parameters)) {
    return false;
  }
  if (!parseAttributes(*f)) {
    return false;
  }
  if (acceptPunct('{')) {
    f->hasBody = true;
    if (!parseBlock(f->body, 1)) {
      return false;
    }
  } else if (!expectPunct(';')) {
    return false;
  }
  module.functions.push_back(std::move(f));
  return true;
}

bool Parser::parseVersion() {
  // "8.8" arrives as the integer 8 and the dotted word 8.
  uint64_t major;
  if (!expectInteger(major)) {
    return false;
  }
  unsigned minor;
  if (current.kind != Token::Kind::Dotted || current.text.getAsInteger(10, minor)) {
    return fail("a version such as 8.8");
  }
  advance();
  module.versionMajor = major;
  module.versionMinor = minor;
  return true;
}

bool Parser::parseTarget() {
  do {
    StringRef name;
    if (!expectName(name)) {
      return false;
    }
    module.targets.push_back(name);
  } while (acceptPunct(','));
  return true;
}

bool Parser::parseFile() {
  uint64_t index;
  if (!expectInteger(index)) {
    return false;
  }
  if (current.kind != Token::Kind::String) {
    return fail("a file name");
  }
  module.files.push_back({unsigned(index), current.text});
  advance();
  while (acceptPunct(',')) { // time stamp and size
    uint64_t ignored;
    if (!expectInteger(ignored)) {
      return false;
    }
  }
  return true;
}

/// Debug sections carry no meaning for execution.
bool Parser::parseSection() {
  while (!current.isPunct('{')) {
    if (current.kind == Token::Kind::End) {
      return fail("'{' after '.section'");
    }
    advance();
  }
  unsigned depth = 0;
  do {
    if (current.kind == Token::Kind::End) {
      return fail("'}' at the end of a section");
    }
    depth += current.isPunct('{');
    depth -= current.isPunct('}');
    advance();
  } while (depth != 0);
  return true;
}

bool Parser::parseTopLevel() {
  if (acceptPunct(';')) {
    return true;
  }
  if (current.kind != Token::Kind::Dotted) {
    return fail("a directive");
  }
  StringRef linkage;
  if (current.text == "visible" || current.text == "extern" || current.text == "weak" ||
      current.text == "common") {
    linkage = current.text;
    advance();
  }
  StringRef directive = current.text;
  if (current.kind != Token::Kind::Dotted) {
    return fail("a directive");
  }
  advance();
  if (directive == "version") {
    return parseVersion();
  }
  if (directive == "target") {
    return parseTarget();
  }
  if (directive == "address_size") {
    uint64_t size;
    if (!expectInteger(size)) {
      return false;
    }
    module.addressSize = size;
    return size == 64 || fail("64 as address size");
  }
  if (directive == "file") {
    return parseFile();
  }
  if (directive == "section") {
    return parseSection();
  }
  if (directive == "entry" || directive == "func") {
    return parseFunction(linkage, directive == "entry");
  }
  if (directive == "shared" || directive == "global" || directive == "const") {
    Variable v;
    v.space = directive;
    v.linkage = linkage;
    return parseVariable(v, /*allowList=*/true, module.variables) && expectPunct(';');
  }
  if (directive == "pragma") {
    advance();
    return expectPunct(';');
  }
  return fail("a directive of a module instead of '." + directive + "'");
}

Error Parser::run() {
  while (current.kind != Token::Kind::End) {
    if (!parseTopLevel()) {
      return createStringError(inconvertibleErrorCode(), message);
    }
  }
  return Error::success();
}

Expected<std::unique_ptr<Module>> fa4::sim::ptx::parseModule(StringRef text) {
  auto module = std::make_unique<Module>();
  module->text = text.str();
  Parser parser(*module);
  if (Error e = parser.run()) {
    return std::move(e);
  }
  return std::move(module);
}

const Function *Module::lookup(StringRef name) const {
  for (const auto &f : functions) {
    if (f->name == name && f->hasBody) {
      return f.get();
    }
  }
  return nullptr;
}
