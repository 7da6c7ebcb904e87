//===- ProtocolMemory.h - accesses to cells, in order -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of every cell the accesses that a later one must still be ordered after: the
// last writes, and the reads since, one per actor and engine.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_ANALYSIS_PROTOCOLMEMORY_H
#define FA4_LIB_DIALECT_TILE_ANALYSIS_PROTOCOLMEMORY_H

#include "ProtocolClocks.h"

namespace fa4::tile {

struct CellAccess {
  EventId event;
  MemoryAccess access;
  Stamp end;
  /// It may not happen, so that it stands for no earlier one.
  bool optional = false;
};

class ProtocolMemory {
public:
  explicit ProtocolMemory(const ProtocolGraph &graph);

  /// Calls `conflict` for every access that `access` must come after (adjacent unless
  /// its own engine or actor read the same since), `missing` if
  /// it reads a cell that nobody wrote, and `foreign` if the last write is of
  /// another tile; then records it.
  void add(const CellAccess &access,
           llvm::function_ref<void(const CellAccess &, bool adjacent)> conflict,
           llvm::function_ref<void()> missing,
           llvm::function_ref<void(const CellAccess &)> foreign);

private:
  bool overlapRows(const MemoryAccess &first, const MemoryAccess &second) const;
  bool coversRows(const MemoryAccess &later, const MemoryAccess &earlier) const;

  const ProtocolGraph &graph;
  std::vector<unsigned> firstCell;
  std::vector<llvm::SmallVector<CellAccess, 4>> cells;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_ANALYSIS_PROTOCOLMEMORY_H
