//===- ViewOverlap.cpp - which views share memory -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranges are relative to one region of the family; the slot decides whether two
// accesses are in the same one.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ViewOverlap.h"

#include <algorithm>

using namespace mlir;
using namespace fa4::tile;

std::optional<MemoryRange> MemoryRange::intersect(const MemoryRange &other) const {
  MemoryRange common{std::max(begin, other.begin), std::min(end, other.end)};
  if (common.begin >= common.end) {
    return std::nullopt;
  }
  return common;
}

static std::optional<MemoryRange> hullOf(std::optional<MemoryRange> left,
                                         std::optional<MemoryRange> right) {
  if (!left || !right) {
    return left ? left : right;
  }
  return MemoryRange{std::min(left->begin, right->begin), std::max(left->end, right->end)};
}

std::optional<MemoryRange> ViewRegion::intersect(const MemoryRange &mine, const ViewRegion &other,
                                                 const MemoryRange &theirs) const {
  auto pieceOf = [](const ViewRegion &region, const MemoryRange &range, int64_t number) {
    int64_t begin = range.begin + number * region.pitch;
    return MemoryRange{begin, begin + range.end - range.begin - (region.panels - 1) * region.pitch};
  };
  std::optional<MemoryRange> hull;
  for (int64_t a = 0; a < panels; ++a) {
    for (int64_t b = 0; b < other.panels; ++b) {
      hull = hullOf(hull, pieceOf(*this, mine, a).intersect(pieceOf(other, theirs, b)));
    }
  }
  return hull;
}

ViewOverlap::ViewOverlap(KernelOp kernel) {
  for (auto view : kernel.getBody().getOps<ViewOp>()) {
    auto begin = static_cast<int64_t>(view.getOffset());
    auto stride = static_cast<int64_t>(view.getRankStride());
    int64_t extent = view.getExtent();
    ViewRegion region{view,
                      view.getAlloc(),
                      view.getSpace(),
                      {{begin, begin + extent}},
                      view.getPanels(),
                      view.getPanelPitch()};
    if (stride != 0) {
      region.ranges.push_back({begin + stride, begin + stride + extent});
    }
    regions.insert({view.getSymName(), std::move(region)});
  }
}

const ViewRegion *ViewOverlap::lookup(StringRef name) const {
  auto *found = regions.find(name);
  return found == regions.end() ? nullptr : &found->second;
}

std::optional<MemoryRange> ViewOverlap::shared(StringRef first, StringRef second) const {
  const ViewRegion *left = lookup(first), *right = lookup(second);
  if (!left || !right || left->alloc != right->alloc) {
    return std::nullopt;
  }
  // A copy from the peer writes at the peer's rank: every pair of ranks may meet.
  std::optional<MemoryRange> hull;
  for (const MemoryRange &a : left->ranges) {
    for (const MemoryRange &b : right->ranges) {
      hull = hullOf(hull, left->intersect(a, *right, b));
    }
  }
  return hull;
}

bool ViewOverlap::mayConflict(const SlotAccess &first, const SlotAccess &second) const {
  bool sameSlot = !first.region || !second.region || *first.region == *second.region;
  return sameSlot && shared(first.view, second.view).has_value();
}

SmallVector<ViewPair> ViewOverlap::pairs() const {
  SmallVector<ViewPair> result;
  for (auto left = regions.begin(); left != regions.end(); ++left) {
    for (auto right = std::next(left); right != regions.end(); ++right) {
      if (std::optional<MemoryRange> range = shared(left->first, right->first)) {
        result.push_back({&left->second, &right->second, *range});
      }
    }
  }
  return result;
}
