//===- ExecutionCounts.cpp - how often each instruction ran ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the decoder puts before an instruction (a join) carries its line: the last of
// those that follow each other is the instruction itself.
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/ExecutionCounts.h"

using namespace llvm;
using namespace fa4::sim;

static std::string spell(const ptx::Instruction &instruction) {
  std::string text = instruction.opcode.str();
  for (StringRef modifier : instruction.modifiers) {
    text += ("." + modifier).str();
  }
  return text;
}

void ExecutionCounts::add(const Kernel &kernel, unsigned rank, unsigned warp,
                          ArrayRef<uint64_t> executed) {
  std::lock_guard<std::mutex> lock(mutex);
  Warps &sum = warps[{kernel.name, rank, warp}];
  sum.kernel = &kernel;
  sum.executed.resize(executed.size());
  for (size_t k = 0; k < executed.size(); ++k) {
    sum.executed[k] += executed[k];
  }
}

void ExecutionCounts::writeCsv(raw_ostream &os) const {
  os << "kernel,rank,warp,line,opcode,executed\n";
  for (const auto &[key, sum] : warps) {
    const auto &[name, rank, warp] = key;
    const std::vector<Inst> &code = sum.kernel->code;
    for (size_t k = 0; k < code.size(); ++k) {
      const ptx::Instruction *source = code[k].source;
      bool isLast = k + 1 == code.size() || code[k + 1].source != source;
      if (source && isLast && sum.executed[k] != 0) {
        os << name << ',' << rank << ',' << warp << ',' << source->line << ',' << spell(*source)
           << ',' << sum.executed[k] << '\n';
      }
    }
  }
}
