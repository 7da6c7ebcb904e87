//===- RaceShadow.h - who touched which cells -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cell stands for 32 bytes of memory, or for the 32 lanes of one column of
// tensor memory that a warp reaches; a bit of a record's mask is a byte or lane. A
// cell keeps, per bit, the last write and the reads since, which is enough: who
// is ordered after the last write is ordered after what that was ordered after.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_RACESHADOW_H
#define FA4_LIB_SIMULATOR_RACESHADOW_H

#include "RaceClock.h"
#include "fa4/Simulator/Layouts.h"
#include "fa4/Simulator/Program.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace fa4::sim {

/// What made an access; decides which order it needs and which wait ends it.
enum class RaceKind : uint8_t {
  Thread,     ///< ld, st, atom, ldmatrix, …
  ThreadCopy, ///< cp.async: asynchronous, but in the generic proxy
  Bulk,       ///< bulk and tensor copies that end at an mbarrier
  Answer,     ///< clusterlaunchcontrol.try_cancel: the same, and reads must be fenced
  Remote,     ///< st.async, red.async: the same, in the generic proxy
  BulkGroup,  ///< those that end in a group of their thread
  Wgmma,
  Mma,       ///< tcgen05.mma and cp
  TmemLoad,  ///< tcgen05.ld
  TmemStore, ///< tcgen05.st
};

struct RaceRecord {
  const Inst *inst = nullptr;
  Epoch epoch;
  uint32_t mask = 0;
  uint32_t cluster = 0;
  uint32_t serial = 0; ///< of the issue of an asynchronous operation, 0 for others
  uint32_t tag = 0;    ///< accumulator and shape of an mma
  uint16_t warp = 0;   ///< numbered through the cluster
  RaceKind kind = RaceKind::Thread;
  bool write = false;
  bool strong = false; ///< atomic among other strong accesses
};

using RaceCell = llvm::SmallVector<RaceRecord, 2>;

constexpr unsigned kRaceCellBytes = 32;
/// Tag of tcgen05.cp; those of mma are even.
constexpr uint32_t kCopyTag = 1;
/// Tensor memory: lanes of one cell.
constexpr unsigned kRaceCellLanes = 32;
constexpr unsigned kRaceQuarters = kTmemLanes / kRaceCellLanes;

/// Cells of one buffer, made page by page.
class RacePages {
public:
  RaceCell &cell(uint64_t index) {
    uint64_t page = index / kPageCells;
    if (page >= pages.size()) {
      pages.resize(page + 1);
    }
    if (!pages[page]) {
      pages[page] = std::make_unique<RaceCell[]>(kPageCells);
    }
    return pages[page][index % kPageCells];
  }

private:
  static constexpr uint64_t kPageCells = 128;
  std::vector<std::unique_ptr<RaceCell[]>> pages;
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_RACESHADOW_H
