//===- HandOvers.h - who hands over to whom in a placed kernel -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The barriers of a T2 kernel as a graph of actors: an arrival of one and a wait
// of another at the same barrier are a hop on which order may travel. Times and
// generations are left out, so that a path here is one that order may take, and
// where there is none no order can come that way.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_HANDOVERS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_HANDOVERS_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "llvm/ADT/BitVector.h"

#include <map>
#include <optional>
#include <tuple>

namespace fa4::tile {

/// One replica of a role in one CTA.
struct Actor {
  RoleOp role;
  int64_t replica;
  int64_t rank;
};

class HandOvers {
public:
  explicit HandOvers(KernelOp kernel);

  llvm::ArrayRef<Actor> getActors() const { return actors; }
  unsigned size() const { return actors.size(); }

  /// The number that `value` is for an actor, as far as replica, rank and
  /// constants decide it.
  std::optional<int64_t> evaluate(mlir::Value value, unsigned actor) const;
  /// The element that an op names; none if it is not known, or there is one only.
  std::optional<int64_t> elementOf(mlir::Value element, mlir::IntegerAttr fixed,
                                   unsigned actor) const;

  /// The actors that wait for what `op` of `actor` arrives at.
  llvm::BitVector receiversOf(mlir::Operation *op, unsigned actor) const;
  /// The actors that arrive at what `op` of `actor` waits for.
  llvm::BitVector sendersOf(mlir::Operation *op, unsigned actor) const;

  /// Whether a path of hops leads `from` one actor `to` another around those in
  /// `avoid`. An actor reaches itself, unless it is to be avoided.
  bool reaches(unsigned from, unsigned to, std::initializer_list<unsigned> avoid) const;

private:
  /// A barrier's element in one CTA.
  using Instance = std::tuple<mlir::Operation *, int64_t, int64_t>;
  struct Ends {
    llvm::BitVector arrivers;
    llvm::BitVector waiters;
  };

  mlir::Operation *lookup(llvm::StringRef name) const;
  void addElements(llvm::SmallVectorImpl<Instance> &instances, llvm::StringRef barrier,
                   int64_t home, std::optional<int64_t> element) const;
  llvm::SmallVector<Instance> arrivalsOf(mlir::Operation *op, unsigned actor) const;
  llvm::SmallVector<Instance> waitsOf(mlir::Operation *op, unsigned actor) const;
  void addEnds(mlir::Operation *op, unsigned actor);

  KernelOp kernel;
  int64_t homes = 1;
  llvm::SmallVector<Actor> actors;
  std::map<Instance, Ends> ends;
  llvm::SmallVector<llvm::BitVector> hops;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_HANDOVERS_H
