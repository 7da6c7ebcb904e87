//===- Entry.h - the function that is run, and its arguments ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names for the arguments of an entry: what attn.forward calls them (q, k, v, o,
// lse, sink, ...), or `argN`. MLIR keeps no names of its own.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DRIVER_ENTRY_H
#define FA4_DRIVER_ENTRY_H

#include "fa4/Dialect/Attn/IR/AttnOps.h"
#include "fa4/Driver/HostArray.h"
#include "fa4/Numerics/Random.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace fa4::driver {

/// What the command line says about the arguments.
struct InputOptions {
  /// Arrays from files, by argument name.
  llvm::StringMap<std::string> files;
  /// Elements of one-dimensional arrays of integers.
  llvm::StringMap<llvm::SmallVector<int64_t>> integers;
  /// Extents of arrays whose type leaves them open.
  llvm::StringMap<llvm::SmallVector<int64_t>> shapes;
  llvm::StringMap<double> scalars;
  /// How arrays that are not given are made.
  numerics::InputGenerator random;
};

class Entry {
public:
  /// The public function `name`, or the only one if `name` is empty.
  static llvm::Expected<Entry> find(mlir::ModuleOp module, llvm::StringRef name);

  mlir::func::FuncOp getFunction() const { return function; }
  /// The attention of the entry; null if it has none.
  attn::ForwardOp getForward() const { return forward; }
  unsigned getNumArguments() const { return static_cast<unsigned>(names.size()); }
  llvm::StringRef getArgumentName(unsigned number) const { return names[number]; }
  llvm::ArrayRef<std::string> getArgumentNames() const { return names; }

  /// An array or scalar for every argument.
  llvm::Expected<std::vector<Argument>> makeArguments(const InputOptions &options) const;

  /// What an operand of the entry's ops is: an argument or a constant.
  llvm::Expected<Argument> bind(mlir::Value operand, llvm::ArrayRef<Argument> arguments) const;

  /// The array called `name` after a run: what the function returned, or the
  /// destination it wrote. Null if there is none.
  const HostArray *findOutput(llvm::StringRef name, llvm::ArrayRef<Argument> arguments,
                              llvm::ArrayRef<HostArray> results) const;

private:
  llvm::Expected<Argument> makeArgument(unsigned number, const InputOptions &options) const;
  bool isDestination(unsigned number) const;

  // Handles: MLIR has no const ones.
  mutable mlir::func::FuncOp function;
  mutable attn::ForwardOp forward;
  llvm::SmallVector<std::string> names;
};

} // namespace fa4::driver

#endif // FA4_DRIVER_ENTRY_H
