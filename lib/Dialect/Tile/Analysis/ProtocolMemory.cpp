//===- ProtocolMemory.cpp - accesses to cells, in order -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A write that covers an access and always happens replaces it: what comes later is
// ordered after the write, and through it after the access.
//
//===----------------------------------------------------------------------===//

#include "ProtocolMemory.h"

#include "llvm/ADT/STLExtras.h"

using namespace fa4::tile;

ProtocolMemory::ProtocolMemory(const ProtocolGraph &graph) : graph(graph) {
  unsigned total = 0;
  for (const ProtocolAlloc &alloc : graph.model->allocs) {
    for (int64_t region = 0; region < alloc.family * graph.model->ctas; ++region) {
      firstCell.push_back(total);
      total += alloc.getNumCells();
    }
  }
  firstCell.push_back(total);
  cells.resize(total);
}

bool ProtocolMemory::overlapRows(const MemoryAccess &first, const MemoryAccess &second) const {
  if (first.warp < 0 || second.warp < 0) {
    return true;
  }
  if (first.kind == AccessKind::Tmem) {
    // Lanes: warps of equal number in their warpgroups.
    return first.warp % 4 == second.warp % 4;
  }
  const ProtocolFootprint &one = graph.model->getFootprint(first.footprint);
  const ProtocolFootprint &two = graph.model->getFootprint(second.footprint);
  return one.view != two.view || first.warp == second.warp;
}

bool ProtocolMemory::coversRows(const MemoryAccess &later, const MemoryAccess &earlier) const {
  if (later.warp < 0) {
    return true;
  }
  if (earlier.warp < 0) {
    return false;
  }
  if (later.kind == AccessKind::Tmem) {
    return later.warp % 4 == earlier.warp % 4;
  }
  const ProtocolFootprint &one = graph.model->getFootprint(later.footprint);
  const ProtocolFootprint &two = graph.model->getFootprint(earlier.footprint);
  return one.view == two.view && later.warp == earlier.warp;
}

void ProtocolMemory::add(const CellAccess &added,
                         llvm::function_ref<void(const CellAccess &, bool)> conflict,
                         llvm::function_ref<void()> missing,
                         llvm::function_ref<void(const CellAccess &)> foreign) {
  const MemoryAccess &access = added.access;
  bool everywhere = access.footprint == ~0U;
  unsigned first = firstCell[access.region];
  unsigned count = everywhere ? firstCell[access.region + 1] - first
                              : graph.model->getFootprint(access.footprint).cells.size();
  for (unsigned k = 0; k < count; ++k) {
    unsigned index = everywhere ? k : graph.model->getFootprint(access.footprint).cells[k];
    llvm::SmallVector<CellAccess, 4> &cell = cells[first + index];
    auto isRepeated = [&](const CellAccess &other) {
      return !other.access.writes && other.end.component == added.end.component &&
             other.access.warp == access.warp && other.access.footprint == access.footprint;
    };
    bool repeated = !access.writes && llvm::any_of(cell, isRepeated);
    const CellAccess *written = nullptr;
    for (const CellAccess &other : cell) {
      if (other.event == added.event || !overlapRows(access, other.access)) {
        continue;
      }
      written = other.access.writes ? &other : written;
      if (access.writes || other.access.writes) {
        conflict(other, !repeated);
      }
    }
    if (access.reads && !written) {
      missing();
    } else if (access.reads &&
               graph.events[written->event].tile != graph.events[added.event].tile) {
      foreign(*written);
    }
    llvm::erase_if(cell, [&](const CellAccess &other) {
      if (other.event == added.event) {
        return false;
      }
      if (access.writes) {
        return !added.optional && coversRows(access, other.access);
      }
      return isRepeated(other);
    });
    cell.push_back(added);
  }
}
