//===- Timeline.h - what happened in a run, step by step --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Spans of warps, engines and memories. Time is counted in steps of a cluster's
// scheduler, in which every warp that can go on has a turn: an order of events, and
// no measure of time on a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_TIMELINE_H
#define FA4_SIMULATOR_TIMELINE_H

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fa4::sim {

struct TimelineSpan {
  /// Rows of a CTA, in this order.
  enum class Track : uint8_t { Warp, CopyIn, CopyOut, Tensor, TensorMemory, SharedMemory };
  uint32_t cta = 0; ///< of TimelineLaunch::ctas
  Track track = Track::Warp;
  uint32_t warp = 0; ///< whose turn, or who issued
  bool isWait = false;
  uint64_t start = 0, end = 0;
  std::string name;
  unsigned line = 0; ///< in the PTX; 0: none
};

struct TimelineFault {
  uint32_t cta = 0, warp = 0;
  uint64_t time = 0;
  std::string text;
};

struct TimelineLaunch {
  std::string kernel;
  unsigned warps = 0; ///< per CTA
  std::vector<std::string> ctas;
  std::vector<TimelineSpan> spans;
  std::vector<TimelineFault> faults;
};

/// What a kernel's warps and barriers are called.
struct TimelineNames {
  struct Role {
    std::string name;
    unsigned firstWarp = 0, warps = 0, replicas = 1;
  };
  /// mbarriers of 8 bytes at `start`, an offset into dynamic shared memory.
  struct Barrier {
    std::string name;
    uint64_t start = 0;
    unsigned slots = 0;
  };
  std::string kernel;
  std::vector<Role> roles;
  std::vector<Barrier> barriers;

  /// "mma", "softmax[1]", or empty.
  std::string roleOf(unsigned warp) const;
  /// "kv.full[2]", or empty.
  std::string barrierAt(uint64_t offset) const;
};

/// Filled by runGrid, one launch after the other.
class Timeline {
public:
  explicit Timeline(std::vector<TimelineNames> names = {}, size_t limit = size_t(1) << 20)
      : names(std::move(names)), limit(limit) {}

  void startLaunch(llvm::StringRef kernel, unsigned warps);
  TimelineLaunch &lastLaunch() { return launches.back(); }
  /// The names of a kernel, or none.
  const TimelineNames *namesOf(llvm::StringRef kernel) const;
  /// Takes the span unless there are too many.
  void add(TimelineSpan span);
  /// Takes the fault unless the warp has shown the same one before.
  void add(TimelineFault fault);

  const std::vector<TimelineLaunch> &getLaunches() const { return launches; }
  uint64_t getLeftOut() const { return leftOut; }

  /// Trace events as Chrome and Perfetto read them: a process per CTA, a thread per
  /// track, a microsecond per step.
  void writeJson(llvm::raw_ostream &os) const;

private:
  std::vector<TimelineNames> names;
  std::vector<TimelineLaunch> launches;
  size_t limit, count = 0;
  uint64_t leftOut = 0;
};

} // namespace fa4::sim

#endif // FA4_SIMULATOR_TIMELINE_H
