//===- PtxPrinter.cpp - syntax tree to PTX text -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One spelling per construct: print ∘ parse is the identity on printed text,
// which is what the round-trip tests and the mutators rely on.
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/PtxAst.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

using namespace llvm;
using namespace fa4::sim::ptx;

static void printOperand(raw_ostream &os, const Operand &op) {
  if (op.negated) {
    os << '!';
  }
  auto list = [&](char open, char close) {
    os << open;
    interleaveComma(op.elements, os, [&](const Operand &e) { printOperand(os, e); });
    os << close;
  };
  switch (op.kind) {
  case Operand::Kind::Name:
    os << op.name;
    if (op.offset != 0) {
      os << '+' << op.offset;
    }
    return;
  case Operand::Kind::Integer:
    os << int64_t(op.bits);
    return;
  case Operand::Kind::Float:
    os << "0f" << format_hex_no_prefix(op.bits, 8, /*Upper=*/true);
    return;
  case Operand::Kind::Double:
    os << "0d" << format_hex_no_prefix(op.bits, 16, /*Upper=*/true);
    return;
  case Operand::Kind::Address:
    return list('[', ']');
  case Operand::Kind::Vector:
    return list('{', '}');
  case Operand::Kind::Group:
    return list('(', ')');
  case Operand::Kind::Pair:
    printOperand(os, op.elements[0]);
    os << '|';
    printOperand(os, op.elements[1]);
    return;
  case Operand::Kind::Sink:
    os << '_';
    return;
  }
}

void fa4::sim::ptx::printInstruction(raw_ostream &os, const Instruction &inst) {
  if (!inst.guard.empty()) {
    os << '@' << (inst.guardNegated ? "!" : "") << inst.guard << ' ';
  }
  os << inst.opcode;
  for (StringRef m : inst.modifiers) {
    os << '.' << m;
  }
  const char *separator = " ";
  for (const Operand &op : inst.operands) {
    os << separator;
    printOperand(os, op);
    separator = ", ";
  }
  os << ';';
}

static void printVariable(raw_ostream &os, const Variable &v) {
  if (!v.linkage.empty()) {
    os << '.' << v.linkage << ' ';
  }
  os << '.' << v.space;
  // A pointer's alignment is that of its target and stands behind the type.
  bool ofTarget = !v.attributes.empty();
  if (!ofTarget && v.alignment != 0) {
    os << " .align " << v.alignment;
  }
  if (v.vectorWidth > 1) {
    os << " .v" << v.vectorWidth;
  }
  os << " ." << v.type;
  for (StringRef a : v.attributes) {
    os << " ." << a;
  }
  if (ofTarget && v.alignment != 0) {
    os << " .align " << v.alignment;
  }
  os << ' ' << v.name;
  if (v.rangeCount >= 0) {
    os << '<' << v.rangeCount << '>';
  }
  if (v.arrayCount >= 0) {
    os << '[';
    if (v.arrayCount > 0) {
      os << v.arrayCount;
    }
    os << ']';
  }
  if (!v.initializer.empty()) {
    bool isFloat = v.type == "f32", isDouble = v.type == "f64";
    bool list = v.arrayCount >= 0 || v.initializer.size() != 1;
    os << " = " << (list ? "{" : "");
    interleaveComma(v.initializer, os, [&](uint64_t x) {
      if (isFloat) {
        os << "0f" << format_hex_no_prefix(x, 8, true);
      } else if (isDouble) {
        os << "0d" << format_hex_no_prefix(x, 16, true);
      } else {
        os << int64_t(x);
      }
    });
    os << (list ? "}" : "");
  }
}

static void printBlock(raw_ostream &os, const Block &block, unsigned indent) {
  for (const auto &s : block) {
    os.indent(s->kind == Statement::Kind::Label ? 0 : indent);
    switch (s->kind) {
    case Statement::Kind::Instruction:
      printInstruction(os, s->instruction);
      break;
    case Statement::Kind::Label:
      os << s->name << ':';
      break;
    case Statement::Kind::Variable:
      for (const Variable &v : s->variables) {
        if (&v != &s->variables.front()) {
          os << '\n';
          os.indent(indent);
        }
        printVariable(os, v);
        os << ';';
      }
      break;
    case Statement::Kind::Block:
      os << "{\n";
      printBlock(os, s->block, indent + 2);
      os.indent(indent) << '}';
      break;
    case Statement::Kind::Location:
      os << ".loc " << s->locFile << ' ' << s->locLine << ' ' << s->locColumn;
      break;
    case Statement::Kind::Pragma:
      os << ".pragma \"" << s->name << "\";";
      break;
    case Statement::Kind::BranchTargets:
      os << s->name << ": .branchtargets ";
      interleaveComma(s->targets, os);
      os << ';';
      break;
    case Statement::Kind::CallPrototype:
      os << s->name << ": .callprototype;";
      break;
    }
    os << '\n';
  }
}

static void printParameters(raw_ostream &os, const std::vector<Variable> &list) {
  os << '(';
  interleaveComma(list, os, [&](const Variable &v) { printVariable(os, v); });
  os << ')';
}

void fa4::sim::ptx::printModule(raw_ostream &os, const Module &module) {
  os << ".version " << module.versionMajor << '.' << module.versionMinor << '\n';
  if (!module.targets.empty()) {
    os << ".target ";
    interleaveComma(module.targets, os);
    os << '\n';
  }
  os << ".address_size " << module.addressSize << '\n';
  for (const auto &[index, name] : module.files) {
    os << ".file " << index << " \"" << name << "\"\n";
  }
  for (const Variable &v : module.variables) {
    printVariable(os, v);
    os << ";\n";
  }
  for (const auto &f : module.functions) {
    os << '\n';
    if (!f->linkage.empty()) {
      os << '.' << f->linkage << ' ';
    }
    os << (f->isEntry ? ".entry " : ".func ");
    if (!f->results.empty()) {
      printParameters(os, f->results);
      os << ' ';
    }
    os << f->name;
    printParameters(os, f->parameters);
    for (const Attribute &a : f->attributes) {
      os << "\n." << a.name << ' ';
      interleaveComma(a.values, os);
    }
    if (!f->hasBody) {
      os << ";\n";
      continue;
    }
    os << "\n{\n";
    printBlock(os, f->body, 2);
    os << "}\n";
  }
}
