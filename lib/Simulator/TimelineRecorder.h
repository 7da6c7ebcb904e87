//===- TimelineRecorder.h - a cluster's part of a timeline ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns of the scheduler become spans: one for as long as a warp runs, one for as
// long as it waits for one thing, one from issue to completion of what an engine does.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_TIMELINERECORDER_H
#define FA4_LIB_SIMULATOR_TIMELINERECORDER_H

#include "Machine.h"
#include "fa4/Simulator/Timeline.h"

namespace fa4::sim {

class TimelineRecorder {
public:
  TimelineRecorder(Cluster &cluster, Timeline &timeline);

  void nextStep() { ++now; }
  /// After a warp's turn; `ran` if it executed something.
  void turn(Warp &warp, bool ran);
  void issue(const AsyncOp &op);
  void complete(const AsyncOp &op);
  void allocate(Warp &warp, const Inst &inst, uint32_t column, uint32_t columns);
  void deallocate(Warp &warp, uint32_t column);
  void fault(const Warp &warp, const Fault &fault);
  /// Ends what is open when the CTA exits.
  void finish(Cta &cta);
  /// Ends all that is open when the run stops.
  void stop();

private:
  std::string describeWait(Warp &warp, const Fragment &fragment) const;
  uint32_t process(const Cta &cta) const { return firstCta + cta.rank; }
  void close(TimelineSpan &span, uint64_t end);

  Cluster &cluster;
  Timeline &timeline;
  const TimelineNames *names;
  uint32_t firstCta;
  uint64_t now = 0;
  /// By CTA and warp; a span without an end, or without a name if there is none.
  std::vector<std::vector<TimelineSpan>> turns;
  llvm::DenseMap<const AsyncOp *, TimelineSpan> engines;
  /// Per CTA: when the tensor core did the last thing.
  std::vector<uint64_t> tensorEnd;
  std::vector<llvm::DenseMap<uint32_t, TimelineSpan>> columns;
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_TIMELINERECORDER_H
