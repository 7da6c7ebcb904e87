//===- FunctionDecoder.h - scopes, registers, control flow ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the body of an entry into the flat instruction array. Functions that it
// calls are inlined with fresh registers. Register names are resolved through
// nested scopes; storage is given on first use.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_FUNCTIONDECODER_H
#define FA4_LIB_SIMULATOR_FUNCTIONDECODER_H

#include "Opcodes.h"
#include "fa4/Simulator/Fault.h"

#include <map>

namespace fa4::sim {

struct Symbol {
  enum class Kind { Register, Predicate, Shared, Global, Local, Param, CallParam };
  Kind kind = Kind::Register;
  unsigned bits = 0;
  Reg reg = 0; ///< or predicate index
  uint64_t offset = 0;
  uint32_t index = 0; ///< Global: index into Kernel::globals
};

class FunctionDecoder {
public:
  FunctionDecoder(Kernel &kernel, const ptx::Module &module) : kernel(kernel), module(module) {}

  /// Decodes the entry; problems are appended to `errors`.
  void decodeEntry(const ptx::Function &entry);

  std::vector<std::string> errors;

  // For Decoder.
  const Symbol *lookup(llvm::StringRef name);
  Reg constant(uint64_t lo, uint64_t hi, unsigned bits);
  Reg special(SpecialReg what, bool wide, uint64_t addend, uint32_t index = 0);
  uint32_t labelNamed(llvm::StringRef name);
  const ptx::Statement *branchTargets(llvm::StringRef name);
  Reg newRegister(unsigned bits);
  Pred newPredicate() { return kernel.predicates++; }
  void emit(Inst inst, llvm::ArrayRef<RegUse> uses);
  void error(unsigned line, const llvm::Twine &what, FaultId id = FaultId::Unsupported);
  /// Inlines a call; false if the callee is unknown.
  void inlineCall(Decoder &decoder);
  /// Label after the inlined body, or noTarget in the entry itself.
  uint32_t returnLabel() const { return returnLabels.empty() ? noTarget : returnLabels.back(); }

private:
  struct Range {
    llvm::StringRef prefix;
    int64_t count;
    llvm::StringRef type;
  };
  struct Scope {
    llvm::StringMap<Symbol> names;
    llvm::StringMap<uint32_t> labels;
    llvm::StringMap<const ptx::Statement *> targetLists;
    std::vector<Range> ranges;
    bool opaque = false; ///< a function body: outer registers are not visible
  };

  void declareModuleVariables();
  void declareParams(const ptx::Function &entry);
  void readAttributes(const ptx::Function &entry);
  void declareVariable(const ptx::Variable &v);
  Symbol makeRegister(llvm::StringRef type);
  void decodeBlock(const ptx::Block &block);
  void decodeInstruction(const ptx::Instruction &inst);
  void bindLabel(uint32_t label);
  void resolveLabels();

  Kernel &kernel;
  const ptx::Module &module;
  std::vector<Scope> scopes;
  std::vector<uint32_t> labelTargets;
  std::vector<uint32_t> returnLabels;
  std::map<std::pair<uint64_t, std::pair<uint64_t, unsigned>>, Reg> constantIndex;
  std::map<std::pair<std::pair<SpecialReg, bool>, std::pair<uint64_t, uint32_t>>, Reg> specialIndex;
  int32_t nextSlot = firstFreeSlot;
  uint32_t currentLocation = 0;
  uint64_t sharedTop = 0;
  unsigned inlineDepth = 0;
};

/// Inserts join points at immediate post-dominators of branches that can diverge.
void insertJoins(Kernel &kernel);

/// Variable bytes: element size times vector width times array count.
uint64_t variableBytes(const ptx::Variable &v);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_FUNCTIONDECODER_H
