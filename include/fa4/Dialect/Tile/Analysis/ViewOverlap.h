//===- ViewOverlap.h - which views share memory -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hazards belong to regions, not to channels: two accesses can conflict exactly if
// their views share bytes or columns of one slot. Passes and the protocol proof ask
// here which views do.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_VIEWOVERLAP_H
#define FA4_DIALECT_TILE_ANALYSIS_VIEWOVERLAP_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace fa4::tile {

/// [begin, end) in bytes or columns, from the start of one region.
struct MemoryRange {
  int64_t begin;
  int64_t end;

  bool operator==(const MemoryRange &other) const {
    return begin == other.begin && end == other.end;
  }
  std::optional<MemoryRange> intersect(const MemoryRange &other) const;
};

/// Where a view lies: in which allocation, and at what range of each region.
struct ViewRegion {
  ViewOp view;
  llvm::StringRef alloc;
  Space space;
  /// One range per CTA rank; a single one unless the view moves with the rank.
  /// Of a view in panels, from its first byte to its last.
  llvm::SmallVector<MemoryRange, 2> ranges;
  /// How many pieces with gaps between them, and the distance between their starts.
  int64_t panels = 1;
  int64_t pitch = 0;

  const MemoryRange &rangeOf(int64_t rank) const { return ranges[ranges.size() == 1 ? 0 : rank]; }

  /// What `mine`, one of the ranges, and `theirs`, one of `other`'s, share: from the
  /// first common byte to the last; none if their pieces lie in each other's gaps.
  std::optional<MemoryRange> intersect(const MemoryRange &mine, const ViewRegion &other,
                                       const MemoryRange &theirs) const;
};

/// Two views and what they share.
struct ViewPair {
  const ViewRegion *first;
  const ViewRegion *second;
  MemoryRange shared;
};

/// An access by a view to one region of its family; an absent number is one that
/// is not known, and may be any.
struct SlotAccess {
  llvm::StringRef view;
  std::optional<int64_t> region;
};

/// The views of one kernel, at T1 or T2. Different allocations never overlap: at
/// T1 by definition, at T2 because tile-verify-t2 has shown it.
class ViewOverlap {
public:
  explicit ViewOverlap(KernelOp kernel);

  /// The region of the view called `name`; null if there is none.
  const ViewRegion *lookup(llvm::StringRef name) const;

  /// What the views share in one slot of one CTA, over all ranks; none if nothing.
  std::optional<MemoryRange> shared(llvm::StringRef first, llvm::StringRef second) const;

  /// Whether the two accesses may touch the same bytes or columns.
  bool mayConflict(const SlotAccess &first, const SlotAccess &second) const;

  /// All pairs of different views that share something, in the kernel's order.
  llvm::SmallVector<ViewPair> pairs() const;

private:
  llvm::MapVector<llvm::StringRef, ViewRegion> regions;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_VIEWOVERLAP_H
