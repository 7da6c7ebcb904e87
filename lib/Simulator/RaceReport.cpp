//===- RaceReport.cpp - what a race says ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A report names both accesses, the cells, and the edge that is missing: whatever
// part of the chain the clocks show to be there is not asked for again.
//
//===----------------------------------------------------------------------===//

#include "Races.h"
#include "TimelineRecorder.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

/// Distinct pairs of instructions after which a run stops.
static constexpr size_t kMaxReports = 16;

/// An order that is there but for the scope of its signal.
static constexpr const char *kWiderScope =
    ".cluster scope at both the arrival and the wait of the mbarrier between the two CTAs";

static bool isGenericProxy(RaceKind kind) {
  return kind == RaceKind::Thread || kind == RaceKind::ThreadCopy;
}

/// Only the order in which the hardware performs matrix operations separates them.
bool Races::onlyPipe(const Current &now, const RaceRecord &r) const {
  return now.tensor && r.kind == RaceKind::Mma && now.record.kind == RaceKind::Mma &&
         now.tensor->get(r.epoch.channel + 1) >= r.epoch.clock;
}

FaultId Races::classify(const Current &now, const RaceRecord &r) const {
  if (onlyPipe(now, r)) {
    return FaultId::RacePipe;
  }
  if (now.tensor || r.kind == RaceKind::TmemLoad || r.kind == RaceKind::TmemStore) {
    return FaultId::RaceTmem;
  }
  if (needsProxyFence(now, r) && knows(*now.generic, r)) {
    return FaultId::RaceProxy;
  }
  if (!now.record.write) {
    return FaultId::RaceRw;
  }
  return r.write ? FaultId::RaceWw : FaultId::RaceWr;
}

std::string Races::missingTensor(const Current &now, const RaceRecord &r) const {
  const WarpClocks &mine = warps[number(*now.warp)];
  const WarpClocks &theirs = warps[r.warp];
  bool own = r.warp == number(*now.warp);
  std::string wait = r.kind == RaceKind::TmemLoad    ? "tcgen05.wait::ld"
                     : r.kind == RaceKind::TmemStore ? "tcgen05.wait::st"
                                                     : "";
  if (!wait.empty() && !knows(theirs.views.generic, r)) {
    return wait + (own ? " before this access" : " by the earlier warp before it signals");
  }
  if (onlyPipe(now, r)) {
    return "tcgen05.commit and a wait on its mbarrier: only the pipe's order, which PTX does not "
           "promise for different accumulators, separates the two";
  }
  if (knows(mine.outside.tensor, r)) {
    return kWiderScope;
  }
  if (!knows(*now.generic, r)) {
    if (now.record.kind == RaceKind::Mma && r.kind != RaceKind::Mma) {
      return "barrier before this operation's issue, or tcgen05.commit and a wait on its mbarrier "
             "before the other access";
    }
    return r.kind == RaceKind::Mma ? "tcgen05.commit after the earlier operation and a wait on its "
                                     "mbarrier before this access"
                                   : "barrier or mbarrier between the two warps";
  }
  if (knows(mine.imported, r)) {
    return "tcgen05.fence::after_thread_sync behind the wait that ordered this warp";
  }
  return "tcgen05.fence::before_thread_sync in the earlier warp, between its wait and its signal";
}

std::string Races::missing(const Current &now, const RaceRecord &r) const {
  bool own = r.warp == number(*now.warp) && r.cluster == cluster.index;
  if (!knows(*now.generic, r) && knows(warps[number(*now.warp)].outside.generic, r)) {
    return kWiderScope;
  }
  if (now.async && own && isGenericProxy(r.kind) && !knows(*now.generic, r)) {
    // The access followed the issue and did not wait for the operation's end.
    switch (now.record.kind) {
    case RaceKind::BulkGroup:
      return now.record.write ? "cp.async.bulk.wait_group before the other access"
                              : "cp.async.bulk.wait_group.read before the other access";
    case RaceKind::Bulk:
    case RaceKind::Answer:
      return "wait on the mbarrier of this operation before the other access";
    case RaceKind::Wgmma:
      return "wgmma.wait_group before the other access";
    default:
      return "tcgen05.commit and a wait on its mbarrier before the other access";
    }
  }
  switch (r.kind) {
  case RaceKind::Thread:
  case RaceKind::ThreadCopy:
    if (needsProxyFence(now, r) && knows(*now.generic, r)) {
      return std::string("fence.proxy.async between the ") + (r.write ? "write" : "read") +
             " and this operation";
    }
    return r.kind == RaceKind::ThreadCopy
               ? "cp.async.wait_group by the copying thread, then a barrier"
               : "barrier, mbarrier or release and acquire between the two warps";
  case RaceKind::Bulk:
  case RaceKind::Answer:
  case RaceKind::Remote:
    return "wait on the mbarrier of the earlier operation, by this warp or one that it is "
           "ordered after";
  case RaceKind::BulkGroup:
    return r.write ? "cp.async.bulk.wait_group (not .read) by the thread that issued the earlier "
                     "operation, then a barrier"
                   : "cp.async.bulk.wait_group.read by the thread that issued the earlier "
                     "operation, then a barrier";
  case RaceKind::Wgmma:
    return "wgmma.wait_group by the warps of the earlier operation, then a barrier";
  case RaceKind::Mma:
    return "tcgen05.commit after the earlier operation and a wait on its mbarrier";
  case RaceKind::TmemLoad:
    return "tcgen05.wait::ld by the earlier warp, then a barrier";
  case RaceKind::TmemStore:
    return "tcgen05.wait::st by the earlier warp, then a barrier";
  }
  return "";
}

static StringRef verb(const RaceRecord &r) { return r.write ? "write" : "read"; }

std::string Races::describeWarp(const RaceRecord &r) const {
  std::string text = formatv("warp {0}", r.warp % warpsPerCta).str();
  unsigned rank = r.warp / warpsPerCta;
  if (r.cluster != cluster.index) {
    text += formatv(" of rank {0} of cluster {1}", rank, r.cluster).str();
  } else if (cluster.ctas.size() > 1) {
    text += formatv(" of rank {0}", rank).str();
  }
  return text;
}

std::string Races::describePlace(const Place &place, uint32_t mask) const {
  unsigned first = unsigned(countr_zero(mask)), last = 31 - unsigned(countl_zero(mask));
  if (place.tensor) {
    unsigned lane = unsigned(place.at % kRaceQuarters) * kRaceCellLanes;
    return formatv("tensor memory of rank {0}, column {1}, lanes {2} to {3}", place.cta->rank,
                   place.at / kRaceQuarters, lane + first, lane + last)
        .str();
  }
  if (place.region) {
    return formatv("global memory '{0}', bytes {1} to {2}", place.region->name, place.at + first,
                   place.at + last)
        .str();
  }
  uint64_t base = sharedDataStart + place.at;
  return formatv("shared memory of rank {0}, bytes {1:x} to {2:x} (data + {3})", place.cta->rank,
                 base + first, base + last, place.at + first)
      .str();
}

void Races::report(const Current &now, const RaceRecord &r, const Place &place) {
  if (!grid.isNew(now.record.inst, r.inst)) {
    return;
  }
  Fault f;
  f.id = classify(now, r);
  std::string needed = missing(now, r);
  if (now.tensor) {
    needed = missingTensor(now, r);
  }
  f.message = formatv("expected this {0} to be ordered after the {1} by {2} at PTX line {3}, but "
                      "got no {4}",
                      verb(now.record), verb(r), describeWarp(r), r.inst->source->line, needed)
                  .str();
  f.site = now.warp->site(*now.record.inst, now.lanes);
  f.notes.push_back("cells: " + describePlace(place, r.mask & now.record.mask));
  std::string earlier;
  raw_string_ostream os(earlier);
  os << "other access, PTX line " << r.inst->source->line << ": ";
  ptx::printInstruction(os, *r.inst->source);
  const SourceLocation &at = now.warp->kernel->locations[r.inst->location];
  if (at.line != 0) {
    os << ", from " << now.warp->kernel->fileName(at.file) << ':' << at.line;
  }
  f.notes.push_back(earlier);
  if (cluster.timeline) {
    cluster.timeline->fault(*now.warp, f);
  }
  // Races change no value here, so the run goes on and finds further ones.
  if (cluster.grid.log.report(std::move(f)) && ++grid.errors >= kMaxReports) {
    cluster.grid.stop = true;
  }
}
