//===- RoleSlice.h - what one role needs of a sequential kernel --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A backward slice from what the role does to channels and globals. It is cut at
// kept and used values: those travel through memory. Loops and conditionals are in
// it exactly if something inside is, carried values exactly if something uses them.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLESLICE_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLESLICE_H

#include "RoleOwners.h"

namespace fa4::tile {

/// What a kept value becomes.
enum class KeepForm {
  /// A product that the matrix unit writes there.
  Product,
  /// A tile that is copied there.
  Load,
  /// Rows scaled where they are.
  Rescale,
  /// A fragment written there.
  Write,
  /// Nothing: no other role takes it from there.
  Stay,
};

KeepForm getKeepForm(KeepOp keep);

/// The use that gives `value` to an op that takes places; null if it is a fragment.
UseOp getPlace(mlir::Value value);

/// Whether `store` copies a view instead of writing a fragment.
bool copiesView(StoreOp store);

class RoleSlice {
public:
  /// Fails, with an error at the op, where a value would cross roles other than
  /// through a channel, or two roles could count a loop's trips differently.
  static mlir::FailureOr<RoleSlice> create(KernelOp kernel, const RoleOwners &owners,
                                           RoleCopy copy);

  bool holds(mlir::Operation *op) const { return ops.contains(op); }
  bool holds(mlir::Value value) const { return values.contains(value); }
  /// The kernel's arguments that the role uses, in order.
  llvm::SmallVector<mlir::BlockArgument> getUses() const;
  const RoleCopy &getCopy() const { return copy; }
  KernelOp getKernel() const { return kernel; }

private:
  RoleSlice(KernelOp kernel, const RoleOwners &owners, RoleCopy copy)
      : kernel(kernel), owners(&owners), copy(copy) {}

  mlir::LogicalResult run();
  mlir::LogicalResult addOp(mlir::Operation *op);
  /// Adds `op` and what it stands in, with what decides whether they run.
  mlir::LogicalResult addNest(mlir::Operation *op);
  mlir::LogicalResult addOperands(mlir::Operation *op);
  mlir::LogicalResult addKept(KeepOp keep);
  mlir::LogicalResult addProduct(MmaOp product);
  mlir::LogicalResult addFragmentProduct(MmaOp product);
  mlir::LogicalResult addValue(mlir::Value value, mlir::Operation *user);
  void addArgument(mlir::BlockArgument argument);
  mlir::LogicalResult addResult(mlir::OpResult result, mlir::Operation *user);
  void need(mlir::Value value, mlir::Operation *user) { pending.push_back({value, user}); }
  void needAll(mlir::ValueRange values, mlir::Operation *user) {
    for (mlir::Value value : values) {
      need(value, user);
    }
  }
  mlir::LogicalResult verifyControl(mlir::Operation *op, mlir::ValueRange controls) const;

  KernelOp kernel;
  const RoleOwners *owners;
  RoleCopy copy;
  llvm::DenseSet<mlir::Operation *> ops;
  llvm::DenseSet<mlir::Value> values;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Operation *>> pending;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLESLICE_H
