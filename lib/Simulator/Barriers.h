//===- Barriers.h - named barriers, mbarriers, cluster barrier --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// State of the synchronisation objects, without knowledge of instructions.
// An mbarrier keeps its full phase counter: parities alone cannot tell a wait
// for the right phase from one that is two phases off.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_BARRIERS_H
#define FA4_LIB_SIMULATOR_BARRIERS_H

#include "llvm/ADT/DenseMap.h"

#include <cstdint>

namespace fa4::sim {

/// PTX ISA 9.7.13.1: sixteen per CTA.
constexpr unsigned namedBarrierCount = 16;

struct NamedBarrier {
  uint32_t expected = 0; ///< threads; 0 = idle
  uint32_t arrived = 0;
  uint64_t generation = 0;
  uint64_t warps = 0;   ///< bit per warp that has arrived in this generation
  uint64_t waiting = 0; ///< of them, those that wait
  bool reduces = false; ///< bar.red
  uint32_t popCount = 0;
  bool andAll = true, orAny = false;
  // Results of the generation that completed last.
  uint32_t resultPop = 0;
  bool resultAnd = false, resultOr = false;
};

/// barrier.cluster: one per cluster, counts threads.
struct ClusterBarrier {
  uint64_t generation = 0;
  uint64_t arrived = 0;
};

/// One thing that happened to an mbarrier, for reports.
struct MbarrierEvent {
  enum Kind : uint8_t { Init, Arrive, ExpectTx, CompleteTx, Wait } kind;
  uint8_t rank, warp;
  unsigned line;
  int64_t amount;
  uint64_t phase;
};
constexpr unsigned mbarrierHistory = 16;

struct Mbarrier {
  uint64_t phase = 0;
  uint32_t expected = 0; ///< arrivals per phase
  uint32_t pending = 0;
  int64_t tx = 0;       ///< bytes; below zero while data came before the expectation
  bool observed = true; ///< some wait saw the phase before this one
  uint64_t expectedBytes = 0, receivedBytes = 0; ///< of this phase, for reports
  MbarrierEvent events[mbarrierHistory];
  uint64_t eventCount = 0;
  uint32_t race = 0; ///< its number in the race detector

  void record(const MbarrierEvent &e) { events[eventCount++ % mbarrierHistory] = e; }
};

/// PTX ISA 9.7.13.15.1: ranges of the counts.
constexpr uint32_t mbarrierMaxCount = (1u << 20) - 1;
/// A state, opaque to programs, is the phase above the pending count in these bits.
constexpr unsigned kPendingBits = 20;
class MbarrierTable {
public:
  Mbarrier *find(uint64_t offset) {
    auto it = live.find(offset);
    return it == live.end() ? nullptr : &it->second;
  }
  Mbarrier &create(uint64_t offset) { return live[offset]; }
  void erase(uint64_t offset) { live.erase(offset); }
  llvm::DenseMap<uint64_t, Mbarrier> &all() { return live; }

private:
  llvm::DenseMap<uint64_t, Mbarrier> live;
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_BARRIERS_H
