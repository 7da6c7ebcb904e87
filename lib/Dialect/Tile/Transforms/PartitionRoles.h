//===- PartitionRoles.h - the parts of tile-partition-roles ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slice becomes a role, in four steps that each leave a right role behind: it
// is written out, its rotated loops become plain ones, equal replicas become one,
// and what completes is named where tokens end.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_PARTITIONROLES_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_PARTITIONROLES_H

#include "RoleSlice.h"
#include "fa4/Dialect/Tile/Analysis/LinearForm.h"
#include "mlir/IR/PatternMatch.h"

namespace fa4::tile {

/// Writes the slice as a role at the rewriter's place. Fails, with an error at the
/// op, where the role's threads cannot hold a tile.
mlir::FailureOr<RoleOp> emitRole(mlir::RewriterBase &rewriter, const RoleSlice &slice);

/// Awaits products on registers where their values are used, and gives back what they
/// read no sooner.
void placeAwaits(mlir::RewriterBase &rewriter, RoleOp role);

/// Turns `P Y, loop (X Y), X E` into `P, loop (Y X), E` wherever a loop of the role
/// has that form. Returns how often.
unsigned rerollLoops(mlir::RewriterBase &rewriter, RoleOp role, const WorkFacts &facts);

/// Makes the first role stand for all: elements and scalars that differ are taken by
/// its index. Fails, with an error at the op, where the replicas do different things.
mlir::LogicalResult mergeReplicas(mlir::RewriterBase &rewriter, llvm::ArrayRef<RoleOp> replicas,
                                  WorkOp work);

/// Names, at every commit and release, the asynchronous ops that used the token.
void nameCompletions(mlir::RewriterBase &rewriter, RoleOp role);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_PARTITIONROLES_H
