//===- TimelineRecorder.cpp - a cluster's part of a timeline --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a warp does in a step is one thing: it runs if any of its lanes executed
// something, else it waits for what its first fragment waits for.
//
//===----------------------------------------------------------------------===//

#include "TimelineRecorder.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

using Track = TimelineSpan::Track;

TimelineRecorder::TimelineRecorder(Cluster &cluster, Timeline &timeline)
    : cluster(cluster), timeline(timeline), names(timeline.namesOf(cluster.grid.kernel.name)),
      tensorEnd(cluster.ctas.size(), 0), columns(cluster.ctas.size()) {
  // Launches start with the first cluster that records.
  TimelineLaunch &launch = timeline.lastLaunch();
  firstCta = launch.ctas.size();
  for (const auto &cta : cluster.ctas) {
    launch.ctas.push_back(formatv("({0}, {1}, {2})", cta->id[0], cta->id[1], cta->id[2]));
    turns.emplace_back(cta->warps.size());
  }
}

std::string TimelineRecorder::describeWait(Warp &warp, const Fragment &fragment) const {
  const Wait &wait = fragment.wait;
  switch (wait.kind) {
  case WaitKind::None:
  case WaitKind::Poll:
    return "poll";
  case WaitKind::Mbarrier: {
    uint64_t offset = 0;
    const Cta *owner = cluster.sharedOwner(*warp.cta, wait.object, offset);
    uint64_t start = cluster.grid.dynamicOffset;
    std::string name = names && offset >= start ? names->barrierAt(offset - start) : "";
    if (name.empty()) {
      name = formatv("mbarrier {0:x}", offset);
    }
    std::string peer = owner && owner != warp.cta ? formatv(" of rank {0}", owner->rank).str() : "";
    return formatv("wait {0}{1} phase {2}", name, peer, wait.wanted);
  }
  case WaitKind::NamedBarrier:
    return formatv("wait named barrier {0}", wait.object);
  case WaitKind::ClusterBarrier:
    return "wait for the cluster";
  case WaitKind::WarpSync:
    return "wait for other lanes";
  case WaitKind::BulkGroup:
    return "wait for bulk groups";
  case WaitKind::CopyGroup:
    return "wait for cp.async groups";
  case WaitKind::Wgmma:
    return "wait for wgmma";
  case WaitKind::TmemAlloc:
    return "wait for tensor memory";
  case WaitKind::TmemPair:
    return "wait for the peer's tcgen05.alloc";
  case WaitKind::RegisterPool:
    return "wait for registers";
  }
  return "";
}

void TimelineRecorder::close(TimelineSpan &span, uint64_t end) {
  if (!span.name.empty()) {
    span.end = end;
    timeline.add(std::move(span));
  }
  span = TimelineSpan();
}

void TimelineRecorder::turn(Warp &warp, bool ran) {
  TimelineSpan next;
  next.cta = process(*warp.cta);
  next.warp = warp.index;
  next.start = now;
  if (ran) {
    next.name = "run";
  } else if (!warp.fragments.empty()) {
    const Fragment &fragment = warp.fragments.front();
    next.name = describeWait(warp, fragment);
    next.isWait = true;
    next.line = warp.kernel->code[fragment.pc].source->line;
  }
  TimelineSpan &open = turns[warp.cta->rank][warp.index];
  if (open.name != next.name || open.line != next.line) {
    close(open, now);
    open = std::move(next);
  }
  if (warp.fragments.empty() && warp.live == 0) {
    close(open, now + 1);
  }
}

/// The row of what an engine does, from what it does to shared memory.
static Track trackOf(const AsyncOp &op) {
  StringRef what = op.describe();
  if (what.starts_with("tcgen05") || what.starts_with("wgmma")) {
    return Track::Tensor;
  }
  return op.readsShared() ? Track::CopyOut : Track::CopyIn;
}

void TimelineRecorder::issue(const AsyncOp &op) {
  TimelineSpan span;
  span.cta = process(*op.issuer->cta);
  span.track = trackOf(op);
  span.warp = op.issuer->index;
  span.start = now;
  span.name = op.describe();
  span.line = op.inst->source->line;
  engines[&op] = std::move(span);
}

void TimelineRecorder::complete(const AsyncOp &op) {
  auto found = engines.find(&op);
  if (found != engines.end()) {
    TimelineSpan &span = found->second;
    // It took the step in which it was performed. What a tensor core is given waits its
    // turn first.
    if (span.track == Track::Tensor) {
      uint64_t &last = tensorEnd[span.cta - firstCta];
      span.start = std::max(span.start, last);
      last = now + 1;
    }
    close(span, now + 1);
    engines.erase(found);
  }
}

void TimelineRecorder::allocate(Warp &warp, const Inst &inst, uint32_t column, uint32_t count) {
  TimelineSpan span;
  span.cta = process(*warp.cta);
  span.track = Track::TensorMemory;
  span.warp = warp.index;
  span.start = now;
  span.name = formatv("columns {0} to {1}", column, column + count);
  span.line = inst.source->line;
  columns[warp.cta->rank][column] = std::move(span);
}

void TimelineRecorder::deallocate(Warp &warp, uint32_t column) {
  close(columns[warp.cta->rank][column], now + 1);
  columns[warp.cta->rank].erase(column);
}

void TimelineRecorder::fault(const Warp &warp, const Fault &fault) {
  timeline.add(TimelineFault{process(*warp.cta), warp.index, now,
                             (faultName(fault.id) + ": " + fault.message).str()});
}

void TimelineRecorder::stop() {
  for (auto &cta : cluster.ctas) {
    if (!cta->exited) {
      finish(*cta);
    }
  }
  for (auto &[op, span] : engines) {
    span.name += ", unfinished";
    close(span, now + 1);
  }
}

void TimelineRecorder::finish(Cta &cta) {
  for (TimelineSpan &span : turns[cta.rank]) {
    close(span, now + 1);
  }
  for (auto &[column, span] : columns[cta.rank]) {
    close(span, now + 1);
  }
  columns[cta.rank].clear();
  if (cluster.grid.sharedBytes != 0) {
    TimelineSpan span;
    span.cta = process(cta);
    span.track = Track::SharedMemory;
    span.name = formatv("{0} bytes", cluster.grid.sharedBytes);
    close(span, now + 1);
  }
}
