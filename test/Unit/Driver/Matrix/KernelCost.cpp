//===- KernelCost.cpp - what compiling a kernel takes ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCost.h"

#include "llvm/Support/Format.h"

using namespace fa4::driver;

namespace fa4::matrix {

llvm::Expected<KernelCost> compileKernel(mlir::ModuleOp module, const TargetInfo &target,
                                         DeviceOptions options) {
  DeviceCompiler compiler(module, target, options);
  if (failed(compiler.lowerTo(DeviceLevel::Machine))) {
    return llvm::createStringError("expected the kernel to be lowered, but got an error");
  }
  mlir::FailureOr<std::string> ptx = compiler.emitPtx();
  if (failed(ptx)) {
    return llvm::createStringError("expected the kernel to become PTX, but got an error");
  }
  KernelCost cost;
  if (std::optional<std::string> ptxas = findPtxas()) {
    llvm::Expected<Assembly> assembly = assembleText(*ptxas, target.chip, *ptx);
    if (!assembly) {
      return assembly.takeError();
    }
    compiler.addTime("ptxas", assembly->report.seconds);
    cost.assembled = std::move(assembly->report);
  }
  cost.times = compiler.getTimes().vec();
  cost.ptx = std::move(*ptx);
  return cost;
}

std::string KernelCost::complaint() const {
  if (!assembled) {
    return "";
  }
  std::string text;
  for (const KernelUsage &kernel : assembled->kernels) {
    if (kernel.stackBytes || kernel.spillStoreBytes || kernel.spillLoadBytes) {
      text += "expected no local memory, but got " + std::to_string(kernel.stackBytes) +
              " bytes of stack, " + std::to_string(kernel.spillStoreBytes) + " of spill stores, " +
              std::to_string(kernel.spillLoadBytes) + " of spill loads; ";
    }
  }
  for (const std::string &note : assembled->notes) {
    text += note + "; ";
  }
  return text;
}

void CostTable::add(size_t number, llvm::StringRef stage, double seconds) {
  auto found = llvm::find_if(stages, [&](const Stage &known) { return known.name == stage; });
  if (found == stages.end()) {
    found = stages.insert(found, {stage.str(), {}});
  }
  found->seconds.emplace_back(seconds, number);
}

void CostTable::add(size_t number, const KernelCost &cost) {
  double toPtx = 0.0, proofs = 0.0, ptxas = 0.0;
  for (const StageTime &time : cost.times) {
    add(number, time.stage, time.seconds);
    bool isProof = llvm::StringRef(time.stage).starts_with("proof");
    (isProof ? proofs : time.stage == "ptxas" ? ptxas : toPtx) += time.seconds;
  }
  add(number, "= proofs", proofs);
  add(number, "= to PTX without proofs", toPtx);
  add(number, "= to PTX", toPtx + proofs);
  add(number, "= to cubin", toPtx + proofs + ptxas);
}

void CostTable::print(llvm::raw_ostream &os) const {
  os << "processor seconds           median      most  of case\n";
  for (const Stage &stage : stages) {
    std::vector<std::pair<double, size_t>> sorted = stage.seconds;
    llvm::sort(sorted);
    os << llvm::format("%-24s %9.4f %9.4f  %zu\n", stage.name.c_str(),
                       sorted[sorted.size() / 2].first, sorted.back().first, sorted.back().second);
  }
}

} // namespace fa4::matrix
