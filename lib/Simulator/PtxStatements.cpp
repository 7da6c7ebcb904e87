//===- PtxStatements.cpp - bodies of functions ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions and their operands, labels, nested scopes.
//
//===----------------------------------------------------------------------===//

#include "PtxParser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cstring>

using namespace llvm;
using namespace fa4::sim::ptx;

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
