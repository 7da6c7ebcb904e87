//===- RoleOwners.h - which role runs which op -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a sequential kernel with channels: a step belongs to the role that lists it,
// and to the replica of its index; what stands between steps is about tokens, and
// belongs to the end of the channel that such a token comes from. Pure ops between
// steps belong to nobody: whoever needs one has it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLEOWNERS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLEOWNERS_H

#include "fa4/Dialect/FA4/IR/Schedule.h"
#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "llvm/ADT/SetVector.h"

namespace fa4::tile {

/// One replica of a role.
struct RoleCopy {
  const fa4::Role *role;
  int64_t replica;
};

/// The acquires and waits that `token` can come from, through loops, conditionals
/// and steps.
llvm::SetVector<mlir::Operation *> findTokenStarts(mlir::Value token);

class RoleOwners {
public:
  /// Fails, with an error at the op, where an op has no owner or two.
  static mlir::FailureOr<RoleOwners> create(KernelOp kernel);

  /// The roles that run a step, in the order of their first.
  llvm::ArrayRef<const fa4::Role *> getRoles() const { return roles.getArrayRef(); }
  bool runs(const RoleCopy &copy, mlir::Operation *op) const;

private:
  struct Owner {
    const fa4::Role *role = nullptr;
    /// Absent: every replica.
    std::optional<int64_t> replica;
  };

  explicit RoleOwners(KernelOp kernel) : kernel(kernel) {}

  mlir::LogicalResult addStep(InlinedStepOp step);
  mlir::LogicalResult addTokenOp(mlir::Operation *op, mlir::Operation *start);

  KernelOp kernel;
  llvm::DenseMap<mlir::Operation *, Owner> owners;
  llvm::SetVector<const fa4::Role *> roles;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLEOWNERS_H
