//===- FenceNeeds.h - which hand-overs must carry which order -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two accesses conflict if they may touch the same columns or bytes and one of them
// writes. Order between them may travel over any path of hops that visits no actor
// twice: what an actor gave away it knows already.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_FENCENEEDS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_FENCENEEDS_H

#include "HandOvers.h"

#include "fa4/Dialect/Tile/Analysis/ViewOverlap.h"

namespace fa4::tile {

/// One op's access to one view.
struct Access {
  enum Kind {
    /// tcgen05.ld and st, that the accessing threads wait for.
    TmemThread,
    /// tcgen05.mma, that a commit reports.
    TmemMatrix,
    /// Shared memory by loads and stores of threads.
    SmemThread,
    /// Shared memory by an engine, through the async proxy.
    SmemEngine,
    /// By the engine that answers a request for a tile, which reads must have left behind
    /// for the async proxy, too (CUDA programming guide, cluster launch control).
    SmemAnswer,
  };
  Kind kind;
  unsigned actor;
  llvm::StringRef view;
  std::optional<int64_t> region;
  bool reads;
  bool writes;
  /// The CTA whose memory it is; none if it may be both.
  std::optional<int64_t> rank;

  bool isTmem() const { return kind == TmemThread || kind == TmemMatrix; }
  bool operator==(const Access &other) const;
};

class FenceNeeds {
public:
  explicit FenceNeeds(KernelOp kernel);

  const HandOvers &getHandOvers() const { return handOvers; }
  const Access &get(unsigned access) const { return accesses[access]; }
  unsigned size() const { return accesses.size(); }
  /// Numbers of the accesses that `op` makes as part of `actor`.
  llvm::SmallVector<unsigned> accessesOf(mlir::Operation *op, unsigned actor) const;

  bool mayConflict(unsigned left, unsigned right) const;
  /// Whether a proxy fence must stand between access `left` of threads and `right`.
  bool needsProxy(unsigned left, unsigned right) const;
  /// Whether two warps of the actor may make both accesses to one cell.
  bool mayCrossWarps(unsigned left, unsigned right) const;

  /// Whether order behind `access` may be needed past a hop to `receiver`.
  bool isOwed(unsigned access, unsigned receiver) const;
  /// Whether `access` may need what a hop from `sender` brings.
  bool isAwaited(unsigned access, unsigned sender) const;
  /// Whether `actor` may have to pass on to `receiver` what `sender` brings.
  bool isPassedOn(unsigned actor, unsigned sender, unsigned receiver) const;

private:
  void collect(mlir::Operation *op, unsigned actor, llvm::SmallVectorImpl<Access> &found) const;
  bool conflict(const Access &left, const Access &right) const;
  static bool crossesProxies(const Access &left, const Access &right);

  HandOvers handOvers;
  ViewOverlap overlap;
  llvm::SmallVector<Access> accesses;
  /// Per access, the other actors that make a conflicting one which needs a fence.
  llvm::SmallVector<llvm::BitVector> opponents;
  /// Per actor, those whose tensor memory accesses conflict with its own.
  llvm::SmallVector<llvm::BitVector> tmemOpponents;
};

/// Drops those fences without which every run holds: the order that they pass on comes
/// another way too. Where the runs cannot be judged all stay. Returns how many went.
unsigned dropNeedlessFences(KernelOp kernel, llvm::ArrayRef<FenceOp> doubtful);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_FENCENEEDS_H
