//===- PtxParser.cpp - modules, functions, variables ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything outside of function bodies.
//
//===----------------------------------------------------------------------===//

#include "PtxParser.h"

using namespace llvm;
using namespace fa4::sim::ptx;

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
