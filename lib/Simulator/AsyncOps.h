//===- AsyncOps.h - parts of asynchronous copies ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What bulk copies, tensor copies and remote stores have in common: where data
// comes from and goes to, how completion is announced, how elements are reduced.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_ASYNCOPS_H
#define FA4_LIB_SIMULATOR_ASYNCOPS_H

#include "AsyncState.h"
#include "MbarrierOps.h"
#include "MemoryOps.h"
#include "RaceShadow.h"

namespace fa4::sim {

/// An operation that announces itself at an mbarrier or in a group.
class CopyOp : public AsyncOp {
public:
  /// For completion by mbarrier: its address, else 0 with a group.
  uint64_t mbarrier = 0;
  bool hasMbarrier = false;
  std::shared_ptr<AsyncGroup> group;

  bool readsShared() const override { return sourceShared; }
  bool sourceShared = false;

protected:
  Actor actor() const { return {issuer, inst, lane}; }
  /// Source read: it may change, for which `.read` waits.
  void finishReads() {
    sourceShared = false;
    if (group) {
      --group->pendingReads;
    }
  }
  void finishWrites() {
    if (group) {
      --group->pendingWrites;
    }
  }
  /// Between two steps: whether other work may come between them.
  bool pause(Cluster &cluster) {
    unfinished = cluster.grid.options.policy == Policy::Random;
    return unfinished;
  }
  /// For the race detector: the operation touches these bytes now, or is about to
  /// complete at an mbarrier (false after a fault).
  void touch(Cluster &cluster, const Target &target, uint64_t bytes, bool write,
             bool atomic = false);
  bool completesAt(Cluster &cluster, uint64_t address);
  /// Resolves `bytes` at a shared (window) or global address; reports failures.
  bool resolve(Cluster &cluster, Space space, uint64_t address, uint64_t bytes, Target &out);
  /// Copies values and their shadow. Poison may be copied to shared memory, but
  /// not to global memory, where it would be output.
  bool move(const Target &to, const Target &from, uint64_t bytes, bool toGlobal);
};

/// Tells the race detector, if there is one, and hands the operation over.
void issueCopy(Warp &w, std::unique_ptr<CopyOp> op, RaceKind kind);

/// How cp.reduce combines; the type decides about floats.
enum class ReduceOp : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor, Invalid };
ReduceOp parseReduce(const Decoder &d);

/// dst = op(dst, src), atomically among host threads. Measured on an H200: f32
/// addition flushes subnormals in tensor reductions, not in bulk ones.
void reduceElement(ReduceOp op, Type type, uint8_t *dst, const uint8_t *src, bool flush);

/// Registers the operation in the open bulk group of its thread.
std::shared_ptr<AsyncGroup> joinBulkGroup(Warp &w, unsigned lane);

/// A uniform or per-lane 16-bit CTA mask operand.
inline uint16_t maskOperand(Warp &w, Reg r, unsigned lane) {
  return uint16_t(w.in<uint32_t>(r)[lane]);
}

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_ASYNCOPS_H
