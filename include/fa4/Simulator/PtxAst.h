//===- PtxAst.h - syntax tree of a PTX module -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tree keeps what the text says and nothing that it means: modifiers are an
// ordered list (producers disagree about the order, so the decoder treats them
// as a set), names are unresolved, scopes are nested as written. All names
// point into the text owned by the module.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_PTXAST_H
#define FA4_SIMULATOR_PTXAST_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fa4::sim::ptx {

/// One operand as written.
struct Operand {
  enum class Kind {
    Name,    ///< register, symbol, label, special register; `offset` may follow
    Integer, ///< any integer literal, two's complement in `bits`
    Float,   ///< 0f… (32 bits in `bits`)
    Double,  ///< 0d… (64 bits in `bits`)
    Address, ///< [ elements ]; the first one carries the offset
    Vector,  ///< { elements }
    Pair,    ///< d|p
    Group,   ///< ( elements ) of a call
    Sink     ///< _
  };
  Kind kind = Kind::Sink;
  bool negated = false; ///< !p
  llvm::StringRef name;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::vector<Operand> elements;
};

/// One instruction. `opcode` is the part before the first dot.
struct Instruction {
  llvm::StringRef opcode;
  llvm::SmallVector<llvm::StringRef, 8> modifiers;
  llvm::StringRef guard; ///< empty when unguarded
  bool guardNegated = false;
  std::vector<Operand> operands;
  unsigned line = 0;

  bool hasModifier(llvm::StringRef m) const {
    for (llvm::StringRef x : modifiers) {
      if (x == m) {
        return true;
      }
    }
    return false;
  }
};

/// A variable: .reg, .shared, .global, .const, .local or .param.
struct Variable {
  llvm::StringRef space;
  llvm::StringRef linkage; ///< visible, extern, weak, common or empty
  llvm::StringRef type;    ///< b32, f32, pred, …
  llvm::StringRef name;
  unsigned alignment = 0;   ///< 0 = natural
  unsigned vectorWidth = 1; ///< .v2, .v4
  int64_t rangeCount = -1;  ///< %r<N>
  int64_t arrayCount = -1;  ///< name[N]; 0 = name[]
  std::vector<uint64_t> initializer;
  bool hasSymbolInitializer = false;
  llvm::SmallVector<llvm::StringRef, 2> attributes; ///< ptr, global, …
  unsigned line = 0;
};

struct Statement;
using Block = std::vector<std::unique_ptr<Statement>>;

/// One statement of a function body.
struct Statement {
  enum class Kind {
    Instruction,
    Label,
    Variable,
    Block,
    Location,      ///< .loc file line column
    Pragma,        ///< .pragma "…"
    BranchTargets, ///< name: .branchtargets a, b;
    CallPrototype  ///< name: .callprototype …;  (text kept)
  };
  Kind kind;
  unsigned line = 0;
  Instruction instruction;
  llvm::StringRef name; ///< label, or the text of a pragma / prototype
  std::vector<Variable> variables;
  Block block;
  unsigned locFile = 0, locLine = 0, locColumn = 0;
  llvm::SmallVector<llvm::StringRef, 4> targets;
};

/// .reqntid 384, .maxnreg 168, …
struct Attribute {
  llvm::StringRef name;
  llvm::SmallVector<uint64_t, 3> values;
};

struct Function {
  bool isEntry = false;
  bool hasBody = false;
  llvm::StringRef linkage;
  llvm::StringRef name;
  std::vector<Variable> results;
  std::vector<Variable> parameters;
  std::vector<Attribute> attributes;
  Block body;
  unsigned line = 0;
};

struct Module {
  std::string text;
  unsigned versionMajor = 0, versionMinor = 0;
  std::vector<llvm::StringRef> targets;
  unsigned addressSize = 64;
  std::vector<Variable> variables;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<std::pair<unsigned, llvm::StringRef>> files;

  const Function *lookup(llvm::StringRef name) const;
};

/// Parses PTX text. Errors read `line N: expected … but got …`.
llvm::Expected<std::unique_ptr<Module>> parseModule(llvm::StringRef text);

/// Prints the tree in one canonical spelling; printing what was parsed from a
/// printed module gives the same text.
void printModule(llvm::raw_ostream &os, const Module &module);
void printInstruction(llvm::raw_ostream &os, const Instruction &inst);

} // namespace fa4::sim::ptx

#endif // FA4_SIMULATOR_PTXAST_H
