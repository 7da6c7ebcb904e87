//===- Ptxas.h - from PTX to machine code -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVIDIA's assembler is a program that may or may not be on this machine. What it
// says about each kernel is read here and nowhere else.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DRIVER_PTXAS_H
#define FA4_DRIVER_PTXAS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace fa4::driver {

/// What `ptxas -v` says about one kernel.
struct KernelUsage {
  std::string name;
  unsigned registers = 0;
  unsigned stackBytes = 0;
  unsigned spillStoreBytes = 0;
  unsigned spillLoadBytes = 0;
};

struct PtxasReport {
  std::vector<KernelUsage> kernels;
  /// Warnings, and notes with a number such as C7508, which says that a
  /// `setmaxnreg` was dropped.
  std::vector<std::string> notes;
  /// Processor time of ptxas.
  double seconds = 0.0;
};

struct Assembly {
  std::string cubin;
  PtxasReport report;
};

/// `given`, or the first of: `ptxas` on PATH, in CUDA's usual folder, in the Python
/// package nvidia-cuda-nvcc of the `python3` on PATH.
std::optional<std::string> findPtxas(llvm::StringRef given = "");

/// Reads what `ptxas -v` printed.
PtxasReport parsePtxasLog(llvm::StringRef log);

/// Assembles the file `ptx` for `chip` into the file `cubin`.
llvm::Expected<PtxasReport> assemble(llvm::StringRef ptxas, llvm::StringRef chip,
                                     llvm::StringRef ptx, llvm::StringRef cubin);

/// Assembles PTX that is in no file.
llvm::Expected<Assembly> assembleText(llvm::StringRef ptxas, llvm::StringRef chip,
                                      llvm::StringRef ptx);

} // namespace fa4::driver

#endif // FA4_DRIVER_PTXAS_H
