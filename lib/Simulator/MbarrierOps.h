//===- MbarrierOps.h - effects on mbarriers ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What instructions and engines do to mbarriers. All functions report faults in
// the name of a warp and instruction (for engines: those that issued the
// operation) and return false when the run must stop.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_MBARRIEROPS_H
#define FA4_LIB_SIMULATOR_MBARRIEROPS_H

#include "Machine.h"

namespace fa4::sim {

/// In whose name something happens.
struct Actor {
  Warp *warp;
  const Inst *inst;
  LaneMask lane;
};

/// The barrier at a shared address (window or generic); null after a fault.
/// `ownOnly` refuses barriers of other CTAs.
Mbarrier *findMbarrier(const Actor &actor, uint64_t address, bool ownOnly, Cta **owner = nullptr);

bool mbarrierArrive(const Actor &actor, uint64_t address, uint32_t count, bool ownOnly = false,
                    uint64_t *stateBefore = nullptr, bool noComplete = false);
bool mbarrierExpectTx(const Actor &actor, uint64_t address, uint64_t bytes);
bool mbarrierCompleteTx(const Actor &actor, uint64_t address, uint64_t bytes);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_MBARRIEROPS_H
