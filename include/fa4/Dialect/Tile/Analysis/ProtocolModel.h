//===- ProtocolModel.h - actors and memory of a kernel's protocol -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the happens-before graphs of all runs of one kernel share: who acts, which
// cells each view covers, and which results of the work steer control flow. Roles
// make no choices of their own, so those results fix every event.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_PROTOCOLMODEL_H
#define FA4_DIALECT_TILE_ANALYSIS_PROTOCOLMODEL_H

#include "fa4/Dialect/Tile/Analysis/PairArrivals.h"
#include "fa4/Dialect/Tile/Analysis/ViewOverlap.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <vector>

namespace fa4::tile {

/// The results of the work for one tile; those that steer nothing are 0.
using TileNumbers = llvm::SmallVector<int64_t, 8>;
/// The tiles of one CTA, or pair, in order.
using ProtocolRun = std::vector<TileNumbers>;

/// One warp of a role, or at T1 a replica. Warps of a role that own the same kind
/// of cells behave alike; of each kind one acts, and of the first kind two, so that
/// an order missing between equals shows.
struct ProtocolActor {
  RoleOp role;
  int64_t replica = 0;
  int64_t cta = 0;
  int64_t warp = 0;
  /// Only there to free tensor memory where its role does not run.
  bool onlyFrees = false;
};

/// The cells of one region that an access by a view touches.
struct ProtocolFootprint {
  ViewOp view;
  unsigned alloc;
  llvm::SmallVector<unsigned, 4> cells;
};

struct ProtocolAlloc {
  mlir::Operation *op;
  llvm::StringRef name;
  Space space;
  int64_t family;
  /// Regions of CTA c are firstRegion + c * family + 0 .. family - 1.
  unsigned firstRegion;
  /// Ascending; cell k is [bounds[k], bounds[k + 1]).
  llvm::SmallVector<int64_t, 8> bounds;
  unsigned getNumCells() const { return bounds.size() - 1; }
};

class ProtocolModel {
public:
  /// Reads the kernel, at T1 or T2; null after an error if control flow around
  /// protocol ops follows from more than the work's results.
  static std::unique_ptr<ProtocolModel> create(KernelOp kernel);

  KernelOp kernel;
  bool placed = false;
  int64_t ctas = 1;
  std::vector<ProtocolActor> actors;
  std::vector<ProtocolAlloc> allocs;
  unsigned numRegions = 0;
  /// Of a placed kernel.
  PairArrivals pairArrivals;
  llvm::DenseMap<mlir::StringAttr, mlir::Operation *> symbols;
  /// Numbers of the work's results that control flow around protocol ops uses.
  llvm::SetVector<unsigned> control;
  /// The ops of a block that matter, in order.
  llvm::DenseMap<mlir::Block *, llvm::SmallVector<mlir::Operation *>> steps;

  const TargetInfo &target() { return kernel.getTarget().getInfo(); }
  template <typename OpTy>
  OpTy lookup(mlir::StringAttr name) const {
    return llvm::dyn_cast_or_null<OpTy>(symbols.lookup(name));
  }
  template <typename OpTy>
  OpTy lookup(mlir::FlatSymbolRefAttr name) const {
    return lookup<OpTy>(name.getAttr());
  }

  /// The footprint of an access to `view` by the CTA of rank `cta`. With a spread
  /// over several warpgroups the access is that of `warpgroup` alone; else pass -1.
  unsigned footprint(llvm::StringRef view, int64_t cta, int64_t warpgroup, FragType spread);
  const ProtocolFootprint &getFootprint(unsigned index) const { return footprints[index]; }

  /// Whether a CTA, or a pair, may work on more than one tile.
  bool hasManyTiles();
  /// The slots of the ring that has most, of memory or of barriers.
  int64_t largestRing();

  /// All tiles that differ in control flow and make at most `maxTrips` trips,
  /// clamped as the work's facts say.
  std::vector<TileNumbers> tiles(int64_t maxTrips);

  /// "role @softmax[1], warp 4" with only as much as tells actors apart.
  std::string describe(const ProtocolActor &actor) const;

private:
  bool addActors();
  void addMemory();
  mlir::LogicalResult addSteps();

  std::vector<ProtocolFootprint> footprints;
  llvm::DenseMap<std::pair<const void *, int64_t>, unsigned> footprintIndex;
  std::unique_ptr<ViewOverlap> views;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_PROTOCOLMODEL_H
