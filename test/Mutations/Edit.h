//===- Edit.h - one fault in a correct kernel -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An edit belongs to a class (what kind of op or instruction, what is done to it)
// and stands at a place. Edits are found from what a kernel contains; nothing here
// knows a kernel.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_MUTATIONS_EDIT_H
#define FA4_TEST_MUTATIONS_EDIT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <string>
#include <vector>

namespace fa4::mutations {

/// What an edit can break, and so whose word is enough when nobody objects.
enum class Concern {
  /// Who waits for whom: the proof's.
  Order,
  /// Places, sizes, threads and registers: rules of the placed program.
  Resource,
  /// Which numbers are read and written: only numbers show it.
  Value
};

struct Edit {
  std::string kind;
  std::string place;
  Concern concern = Concern::Order;
  /// The line of T2 that it stands on, or that its instruction comes from.
  unsigned placedLine = 0;
};

/// An edit of the op with that number, in pre-order, of a module.
struct PlacedEdit : Edit {
  unsigned op = 0;
  std::function<void(mlir::Operation *)> apply;
};

/// Every edit of the kernels in `module`, which is at T2.
std::vector<PlacedEdit> findPlacedEdits(mlir::ModuleOp module);

/// A copy of `module` with the edit.
mlir::OwningOpRef<mlir::ModuleOp> applyEdit(mlir::ModuleOp module, const PlacedEdit &edit);

/// Lines of PTX in place of others, by number from 1.
struct PtxEdit : Edit {
  std::vector<std::pair<unsigned, std::string>> lines;
  /// Why it breaks nothing, where the instructions around it say so; believed only if
  /// no run objects.
  std::string argument;
  /// Deletes, changes or moves a tcgen05.fence, or something over one.
  bool fencesTensors = false;
};

/// `ptx` with one statement a line, as the simulator's printer has it.
llvm::Expected<std::string> spreadPtx(llvm::StringRef ptx);

/// Every edit of what waits, signals, orders and copies in `ptx`, which is spread.
llvm::Expected<std::vector<PtxEdit>> findPtxEdits(llvm::StringRef ptx);

std::string applyEdit(llvm::StringRef ptx, const PtxEdit &edit);

} // namespace fa4::mutations

#endif // FA4_TEST_MUTATIONS_EDIT_H
