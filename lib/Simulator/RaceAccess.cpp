//===- RaceAccess.cpp - checks of accesses ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An access is compared with the records of its cells and then becomes one. An
// asynchronous operation is compared by what its thread knew at issue, whenever
// the engine performs it.
//
//===----------------------------------------------------------------------===//

#include "Races.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fa4::sim;

/// Records of one cell; beyond it the oldest reader is forgotten.
static constexpr size_t kMaxRecords = 48;

bool Races::knows(const Clock &clock, const RaceRecord &r) const {
  uint32_t known = r.cluster == cluster.index ? clock.get(r.epoch.channel)
                                              : clock.getForeign(r.cluster, r.epoch.channel);
  return known >= r.epoch.clock;
}

/// Operations of one pipe that are performed in the order of their issue.
static bool inOrder(const RaceRecord &first, const RaceRecord &then, bool isaOnly) {
  if (!isaOnly) {
    return true;
  }
  // PTX ISA, "Pipelined tcgen05 instructions": cp then mma, and mma then mma of the
  // same accumulator and shape.
  return then.tag != kCopyTag && (first.tag == kCopyTag || first.tag == then.tag);
}

bool Races::needsProxyFence(const Current &now, const RaceRecord &r) {
  bool generic = r.kind == RaceKind::Thread || r.kind == RaceKind::ThreadCopy;
  // A copy over what threads have read is ordered by the barrier that says so, as CUTLASS
  // has it; for an answer the CUDA programming guide (cluster launch control) and CUTLASS
  // hand the reads over to the async proxy.
  return now.async && generic && (r.write || now.record.kind == RaceKind::Answer);
}

bool Races::ordered(const Current &now, const RaceRecord &r) const {
  if (now.tensor) {
    if (knows(*now.tensor, r)) {
      return true;
    }
    return r.kind == RaceKind::Mma && now.record.kind == RaceKind::Mma &&
           inOrder(r, now.record, cluster.grid.options.pipeIsa) &&
           now.tensor->get(r.epoch.channel + 1) >= r.epoch.clock;
  }
  if (needsProxyFence(now, r)) {
    return knows(*now.async, r);
  }
  return knows(*now.generic, r) || (now.async && knows(*now.async, r));
}

static bool sameSource(const RaceRecord &a, const RaceRecord &b) {
  return a.epoch.channel == b.epoch.channel && a.cluster == b.cluster && a.kind == b.kind &&
         a.write == b.write && a.strong == b.strong;
}

void Races::check(RaceCell &cell, const Current &now, const Place &place) {
  const RaceRecord &n = now.record;
  RaceRecord *mine = nullptr;
  for (RaceRecord &r : cell) {
    bool same = sameSource(r, n) && r.epoch.clock == n.epoch.clock && r.inst == n.inst &&
                r.serial == n.serial;
    if (same) {
      mine = &r;
      // Whoever touched the cell since would have taken the bits from a write, but
      // other reads leave it alone.
      if ((r.mask & n.mask) == n.mask && (!n.write || cell.size() == 1)) {
        return;
      }
      continue;
    }
    if (n.serial != 0 && n.serial == r.serial && n.cluster == r.cluster) {
      continue;
    }
    if (!(r.mask & n.mask) || !(r.write || n.write) || (r.strong && n.strong) || ordered(now, r)) {
      continue;
    }
    report(now, r, place);
  }
  if (n.write || cell.size() > 1) {
    // A write replaces everything, a read the same channel's earlier reads.
    for (RaceRecord &r : cell) {
      if (&r != mine && (n.write || sameSource(r, n))) {
        r.mask &= ~n.mask;
      }
    }
  } else if (cell.size() == 1 && &cell.front() != mine && sameSource(cell.front(), n)) {
    cell.front().mask &= ~n.mask;
  }
  if (mine) {
    mine->mask |= n.mask;
  }
  llvm::erase_if(cell, [](const RaceRecord &r) { return r.mask == 0; });
  if (mine) {
    return;
  }
  if (cell.size() >= kMaxRecords) {
    auto *oldest = find_if(cell, [](const RaceRecord &r) { return !r.write; });
    cell.erase(oldest == cell.end() ? cell.begin() : oldest);
  }
  cell.push_back(n);
}

void Races::checkBytes(Place place, uint64_t bytes, Current &now) {
  RacePages *pages = place.region ? &grid.pagesOf(*place.region) : nullptr;
  std::vector<RaceCell> *cells = pages ? nullptr : &ctas[place.cta->rank].shared;
  uint64_t at = place.at, end = at + bytes;
  while (at < end) {
    uint64_t number = at / kRaceCellBytes, first = at % kRaceCellBytes;
    uint64_t count = std::min(kRaceCellBytes - first, end - at);
    now.record.mask = uint32_t(((uint64_t(1) << count) - 1) << first);
    place.at = number * kRaceCellBytes;
    check(pages ? pages->cell(number) : (*cells)[number], now, place);
    at += count;
  }
}

bool Races::placeOf(const Target &t, Place &place) {
  if (t.owner) {
    place.cta = t.owner;
    place.at = uint64_t(t.data - t.owner->shared.data());
    return true;
  }
  if (t.region) {
    place.region = t.region;
    place.at = uint64_t(t.data - t.region->storage.data());
    return true;
  }
  return false;
}

void Races::access(Warp &w, const Inst &i, const Target &t, uint64_t bytes, Access kind,
                   unsigned lane) {
  Place place;
  bool write = kind != Access::Read;
  if (kind == Access::Hint || (t.readOnly && !write) || !placeOf(t, place)) {
    return;
  }
  Current now;
  now.record.inst = &i;
  now.record.epoch = {number(w), tick(w)};
  now.record.cluster = uint32_t(cluster.index);
  now.record.warp = uint16_t(number(w));
  now.record.write = write;
  now.record.strong = kind == Access::Atomic || (i.flags & OrderStrong);
  now.generic = &clocks(w).views.generic;
  now.warp = &w;
  now.lanes = LaneMask(1) << lane;
  checkBytes(place, bytes, now);
}

Races::Current Races::currentOf(const AsyncOp &op, bool write, bool global) const {
  const RaceTicket &ticket = *op.races;
  Current now;
  now.record.inst = op.inst;
  now.record.epoch = write ? ticket.write : ticket.read;
  now.record.cluster = uint32_t(cluster.index);
  now.record.serial = ticket.serial;
  now.record.tag = ticket.tag;
  now.record.warp = uint16_t(number(*op.issuer));
  now.record.kind = ticket.kind;
  now.record.write = write;
  now.generic = &ticket.generic;
  bool generic = ticket.kind == RaceKind::ThreadCopy || ticket.kind == RaceKind::Remote;
  now.async = generic ? nullptr : global ? &ticket.global : &ticket.shared;
  now.warp = op.issuer;
  now.lanes = op.lane;
  return now;
}

void Races::access(AsyncOp &op, const Target &t, uint64_t bytes, bool write, bool strong) {
  Place place;
  if ((t.readOnly && !write) || !placeOf(t, place)) {
    return;
  }
  Current now = currentOf(op, write, place.region != nullptr);
  now.record.strong = strong;
  checkBytes(place, bytes, now);
}

void Races::readOperand(AsyncOp &op, Cta &cta, uint64_t offset, uint64_t bytes) {
  Place place;
  place.cta = &cta;
  place.at = offset;
  Current now = currentOf(op, /*write=*/false, /*global=*/false);
  checkBytes(place, bytes, now);
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

RaceCell &Races::tensorCell(const Cta &cta, unsigned column, unsigned quarter) {
  std::vector<RaceCell> &cells = ctas[cta.rank].tensor;
  if (cells.empty()) {
    cells.resize(size_t(kTmemColumns) * kRaceQuarters);
  }
  return cells[column * kRaceQuarters + quarter];
}

void Races::tensorAccess(AsyncOp &op, Cta &cta, unsigned column, unsigned quarter, uint32_t lanes,
                         bool write) {
  if (lanes == 0) {
    return;
  }
  Current now = currentOf(op, write, /*global=*/false);
  now.tensor = &op.races->tensor;
  now.record.mask = lanes;
  Place place;
  place.cta = &cta;
  place.at = column * kRaceQuarters + quarter;
  place.tensor = true;
  check(tensorCell(cta, column, quarter), now, place);
}

void Races::beginTensorAccess(Warp &w, bool write) {
  WarpClocks &c = clocks(w);
  ++(write ? c.stores : c.loads);
}

void Races::tensorAccess(Warp &w, const Inst &i, unsigned column, uint32_t lanes, bool write) {
  WarpClocks &c = clocks(w);
  Current now;
  now.record.inst = &i;
  now.record.epoch = write ? Epoch{c.storeChannel, c.stores} : Epoch{c.loadChannel, c.loads};
  now.record.mask = lanes;
  now.record.cluster = uint32_t(cluster.index);
  now.record.warp = uint16_t(number(w));
  now.record.kind = write ? RaceKind::TmemStore : RaceKind::TmemLoad;
  now.record.write = write;
  now.generic = &c.views.generic;
  now.tensor = &c.tensor;
  now.warp = &w;
  now.lanes = w.live;
  unsigned quarter = w.index % kRaceQuarters;
  Place place;
  place.cta = w.cta;
  place.at = column * kRaceQuarters + quarter;
  place.tensor = true;
  check(tensorCell(*w.cta, column, quarter), now, place);
}

void Races::allocate(Warp &w, const Inst &i, unsigned column, unsigned columns) {
  beginTensorAccess(w, /*write=*/true);
  waitTensor(w, /*stores=*/true);
  const WarpClocks &c = clocks(w);
  RaceRecord record;
  record.inst = &i;
  record.epoch = {c.storeChannel, c.stores};
  record.mask = allLanes;
  record.cluster = uint32_t(cluster.index);
  record.warp = uint16_t(number(w));
  record.kind = RaceKind::TmemStore;
  record.write = true;
  for (unsigned at = column; at < column + columns; ++at) {
    for (unsigned quarter = 0; quarter < kRaceQuarters; ++quarter) {
      tensorCell(*w.cta, at, quarter).assign(1, record);
    }
  }
}

void Races::deallocate(Warp &w, const Inst &i, unsigned column, unsigned columns) {
  Current now;
  now.record.inst = &i;
  now.record.write = true;
  now.record.warp = uint16_t(number(w));
  now.generic = &clocks(w).views.generic;
  now.warp = &w;
  now.lanes = w.live;
  for (unsigned c = column; c < column + columns; ++c) {
    for (unsigned quarter = 0; quarter < kRaceQuarters; ++quarter) {
      RaceCell &cell = tensorCell(*w.cta, c, quarter);
      Place place;
      place.cta = w.cta;
      place.at = c * kRaceQuarters + quarter;
      place.tensor = true;
      for (const RaceRecord &r : cell) {
        // It is a synchronous instruction: completion and any order will do.
        if (!knows(*now.generic, r)) {
          now.record.mask = r.mask;
          report(now, r, place);
        }
      }
      cell.clear();
    }
  }
}
