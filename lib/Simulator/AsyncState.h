//===- AsyncState.h - per-warp state of asynchronous work -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Groups complete in commit order. A group is shared between the thread that
// committed it and the operations inside, so that it outlives both.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_ASYNCSTATE_H
#define FA4_LIB_SIMULATOR_ASYNCSTATE_H

#include "fa4/Simulator/Program.h"

#include <deque>
#include <memory>

namespace fa4::sim {

/// Operations of one commit_group.
struct AsyncGroup {
  uint32_t pendingReads = 0;  ///< sources not read yet
  uint32_t pendingWrites = 0; ///< not completed yet
};

/// The groups of one kind of one thread.
struct GroupQueue {
  std::shared_ptr<AsyncGroup> open;
  std::deque<std::shared_ptr<AsyncGroup>> committed;

  std::shared_ptr<AsyncGroup> current() {
    if (!open) {
      open = std::make_shared<AsyncGroup>();
    }
    return open;
  }
  void commit() {
    committed.push_back(current());
    open.reset();
  }
  /// Whether all but the `allowed` newest groups are done (or only read).
  bool done(uint64_t allowed, bool readsOnly) {
    while (!committed.empty() && committed.front()->pendingWrites == 0) {
      committed.pop_front();
    }
    if (committed.size() <= allowed) {
      return true;
    }
    for (size_t i = 0; i + allowed < committed.size(); ++i) {
      const AsyncGroup &g = *committed[i];
      if (readsOnly ? g.pendingReads != 0 : g.pendingWrites != 0) {
        return false;
      }
    }
    return true;
  }
  bool idle() { return done(0, false) && (!open || open->pendingWrites == 0); }
};

/// cp.async.bulk groups and cp.async groups of the 32 threads of a warp.
struct BulkGroups {
  GroupQueue bulk[warpLanes];
  GroupQueue copy[warpLanes];
};

class WgmmaOp;

/// One wgmma whose registers a warp may not touch yet.
struct WgmmaInFlight {
  uint64_t index;
  const Inst *inst;
};

/// wgmma of one aligned group of four warps. The n-th instruction of each warp
/// together make operation n.
struct WarpgroupState {
  uint64_t issued[4] = {};       ///< per warp
  uint64_t formed = 0;           ///< operations that at least one warp issued
  uint64_t performed = 0;        ///< they are performed in order
  std::deque<WgmmaOp *> forming; ///< the newest of them that lack a warp
  /// Per warp: operations issued when each group was committed.
  std::deque<uint64_t> committed[4];
  std::deque<WgmmaInFlight> inFlight[4];
  bool fenced[4] = {}; ///< since the last wait
  bool everFenced[4] = {};
};

/// wgmma on the accumulators of an earlier one is the one legal second use of
/// registers in flight; the family itself checks shapes.
bool mayTouchInFlight(const Inst &i, const RegUse &use);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_ASYNCSTATE_H
