//===- Races.cpp - what orders events ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The edges of docs/Simulator-races.md. A message is what its sender knew, so every
// edge is a join, and clocks only grow.
//
//===----------------------------------------------------------------------===//

#include "Races.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

Races::Races(Cluster &cluster, GridRaces &grid)
    : cluster(cluster), grid(grid), warpsPerCta(unsigned(cluster.ctas.front()->warps.size())) {
  size_t count = cluster.ctas.size() * warpsPerCta;
  warps.resize(count);
  channels = Channel(count);
  for (WarpClocks &c : warps) {
    c.loadChannel = newChannels(3);
    c.storeChannel = c.loadChannel + 1;
    c.copyChannel = c.loadChannel + 2;
  }
  ctas.resize(cluster.ctas.size());
  for (auto [shadow, cta] : zip_equal(ctas, cluster.ctas)) {
    shadow.shared.resize(cta->shared.size() / kRaceCellBytes + 1);
  }
  named.resize(cluster.ctas.size() * namedBarrierCount);
}

Races::~Races() = default;

Channel Races::newChannels(unsigned count) {
  Channel first = channels;
  channels += count;
  return first;
}

/// The warp's present clock. Accesses between two publications share one.
uint32_t Races::tick(Warp &w) {
  WarpClocks &c = clocks(w);
  Channel own = number(w);
  if (c.bump) {
    c.views.generic.raise(own, c.views.generic.get(own) + 1);
    c.bump = false;
  }
  return c.views.generic.get(own);
}

void Races::release(Warp &w, Views &to, bool relaxed) {
  WarpClocks &c = clocks(w);
  if (!cluster.grid.options.strictTensor) {
    c.views.tensor.join(c.tensor);
  }
  if (relaxed) {
    to.tensor.join(c.views.tensor);
    to.inits.join(c.views.inits);
    if (c.hasFenced) {
      to.join(c.fenced);
    }
    return;
  }
  to.join(c.views);
  c.bump = true;
  c.published = c.views.generic.get(number(w));
}

/// Order of tcgen05 operations goes on only with the warp's own fences.
void Races::acquireAll(WarpClocks &c, const Views &from) {
  c.views.generic.join(from.generic);
  c.views.shared.join(from.shared);
  c.views.global.join(from.global);
  c.views.inits.join(from.inits);
  import(c, from.tensor);
}

/// Where fences are not asked for, an import is usable at once.
void Races::import(WarpClocks &c, const Clock &tensor) {
  (cluster.grid.options.strictTensor ? c.imported : c.tensor).join(tensor);
}

void Races::acquire(Warp &w, const Views &from, bool relaxed) {
  WarpClocks &c = clocks(w);
  if (relaxed) {
    import(c, from.tensor);
    c.unfenced.join(from);
    return;
  }
  acquireAll(c, from);
}

//===----------------------------------------------------------------------===//
// Fences
//===----------------------------------------------------------------------===//

void Races::fence(Warp &w, bool acquires, bool releases) {
  WarpClocks &c = clocks(w);
  if (acquires) {
    acquireAll(c, c.unfenced);
    c.unfenced.clear();
  }
  if (releases) {
    c.fenced = c.views;
    c.hasFenced = true;
    c.bump = true;
    c.published = c.views.generic.get(number(w));
  }
}

void Races::fenceProxy(Warp &w, bool shared, bool global) {
  WarpClocks &c = clocks(w);
  if (shared) {
    c.views.shared.join(c.views.generic);
  }
  if (global) {
    c.views.global.join(c.views.generic);
  }
  c.bump = true;
}

void Races::fenceInit(Warp &w) {
  WarpClocks &c = clocks(w);
  c.views.inits.join(c.views.generic);
  c.bump = true;
}

void Races::fenceTensor(Warp &w, bool before) {
  WarpClocks &c = clocks(w);
  if (before) {
    c.views.tensor.join(c.tensor);
  } else {
    c.tensor.join(c.imported);
  }
}

void Races::waitTensor(Warp &w, bool stores) {
  WarpClocks &c = clocks(w);
  Channel channel = stores ? c.storeChannel : c.loadChannel;
  uint32_t done = stores ? c.stores : c.loads;
  c.tensor.raise(channel, done);
  // Deallocation and whatever reuses the registers need no tcgen05 fence.
  c.views.generic.raise(channel, done);
}

//===----------------------------------------------------------------------===//
// Strong accesses
//===----------------------------------------------------------------------===//

void Races::order(Warp &w, const Inst &i, const Target &t, bool reads, bool writes) {
  bool acquires = i.flags & OrderAcquire, releases = i.flags & OrderRelease;
  uint8_t scope = (i.flags & OrderScope) / OrderScopeUnit;
  if (t.owner) {
    Word &word = words[t.data];
    bool near = word.rank == w.cta->rank;
    if (reads && std::min(scope, word.scope) >= (near ? 0 : 1)) {
      acquire(w, word.message, !acquires);
    }
    if (!writes) {
      return;
    }
    if (!reads) {
      word.message.clear();
    }
    release(w, word.message, !releases);
    word.scope = scope;
    word.rank = w.cta->rank;
    return;
  }
  GridRaces::Word &word = grid.words[t.data];
  uint32_t own = uint32_t(cluster.index);
  if (reads) {
    constexpr uint8_t kGpuScope = 2;
    Views message;
    bool wide = std::min(scope, word.scope) >= kGpuScope;
    auto take = [&](Clock &to, const ForeignClocks &from) {
      if (wide) {
        to.importFrom(from, own);
      } else if (auto mine = from.find(own); mine != from.end()) {
        to.importFrom({*mine}, own);
      }
    };
    take(message.generic, word.generic);
    take(message.shared, word.shared);
    take(message.global, word.global);
    take(message.tensor, word.tensor);
    take(message.inits, word.inits);
    acquire(w, message, !acquires);
  }
  if (!writes) {
    return;
  }
  if (!reads) {
    word = GridRaces::Word();
  }
  Views message;
  release(w, message, !releases);
  message.generic.exportTo(word.generic, own);
  message.shared.exportTo(word.shared, own);
  message.global.exportTo(word.global, own);
  message.tensor.exportTo(word.tensor, own);
  message.inits.exportTo(word.inits, own);
  word.scope = scope;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void Races::initBarrier(Warp &w, Mbarrier &b) {
  auto state = std::make_unique<Barrier>();
  state->channel = newChannels(1);
  state->init = {number(w), tick(w)};
  b.race = uint32_t(barriers.size());
  barriers.push_back(std::move(state));
}

bool Races::sees(const Warp &w, const Mbarrier &b) {
  Barrier &state = *barriers[b.race];
  const Views &v = clocks(w).views;
  if (state.judged || v.generic.get(state.init.channel) >= state.init.clock ||
      v.inits.get(state.init.channel) >= state.init.clock) {
    return true;
  }
  state.judged = true; // once per barrier is enough
  return false;
}

bool Races::copySees(const Warp &w, const Mbarrier &b) {
  Barrier &state = *barriers[b.race];
  const Views &v = clocks(w).views;
  if (state.copyJudged || v.shared.get(state.init.channel) >= state.init.clock ||
      v.inits.get(state.init.channel) >= state.init.clock) {
    return true;
  }
  state.copyJudged = true;
  return false;
}

void Races::arrive(Warp &w, const Mbarrier &b, const Cta &owner, bool relaxed, bool wide) {
  Arrivals &to = barriers[b.race]->arriving;
  const bool remote = &owner != w.cta && cluster.grid.options.strictScope;
  to.remote |= remote;
  release(w, !remote ? to.near : wide ? to.far : to.narrow, relaxed);
}

/// Two operations order threads of different CTAs only if the scope of each contains
/// the other's thread (PTX ISA 8.5: morally strong).
void Races::wait(Warp &w, const Mbarrier &b, bool relaxed, bool wide) {
  const Arrivals &from = barriers[b.race]->done;
  acquire(w, from.near, relaxed);
  if (!from.remote) {
    return;
  }
  Views &outside = clocks(w).outside;
  outside.join(from.narrow);
  if (wide) {
    acquire(w, from.far, relaxed);
  } else {
    outside.join(from.far);
  }
}

void Races::phaseDone(const Mbarrier &b) {
  Barrier &state = *barriers[b.race];
  ++state.phases;
  state.done.near.join(state.arriving.near);
  state.arriving.near.clear();
  state.done.near.generic.raise(state.channel, state.phases);
  if (state.arriving.remote) {
    state.done.far.join(state.arriving.far);
    state.done.narrow.join(state.arriving.narrow);
    state.done.remote = true;
    state.arriving = Arrivals();
  }
}

void Races::namedArrive(Warp &w, unsigned barrier, bool waits) {
  Named &n = named[w.cta->rank * namedBarrierCount + barrier];
  release(w, n.arriving, false);
  if (waits) {
    n.waiting.push_back(&w);
  }
}

void Races::namedDone(const Cta &cta, unsigned barrier) {
  Named &n = named[cta.rank * namedBarrierCount + barrier];
  for (Warp *w : n.waiting) {
    acquire(*w, n.arriving, false);
  }
  n.waiting.clear();
  n.arriving.clear();
}

void Races::clusterArrive(Warp &w, bool relaxed) { release(w, clusterArriving, relaxed); }

void Races::clusterDone() {
  clusterMessage = clusterArriving;
  clusterArriving.clear();
}

void Races::clusterWait(Warp &w) { acquire(w, clusterMessage, false); }

//===----------------------------------------------------------------------===//
// Asynchronous operations
//===----------------------------------------------------------------------===//

Races::Queue &Races::queue(const Warp &w, unsigned lane) {
  auto [it, isNew] = queues.try_emplace(number(w) * warpLanes + lane);
  if (isNew) {
    it->second.reads = newChannels(2);
    it->second.writes = it->second.reads + 1;
  }
  return it->second;
}

Races::Pipe &Races::pipe(const Warp &w, unsigned lane) {
  auto [it, isNew] = pipes.try_emplace(number(w) * warpLanes + lane);
  if (isNew) {
    it->second.done = newChannels(2);
  }
  return it->second;
}

Races::Pipe &Races::wgmmaPipe(const Warp &w) {
  constexpr unsigned kWarpsPerGroup = 4;
  unsigned group = w.cta->rank * warpsPerCta + w.index / kWarpsPerGroup;
  auto [it, isNew] = wgmmaPipes.try_emplace(group);
  if (isNew) {
    it->second.done = newChannels(1);
  }
  return it->second;
}

/// What the end of an asynchronous operation hands on of what its thread knew at
/// issue: the order of other accesses, but of the warp's own only what it has
/// published itself. PTX ISA 8.9.1.1: completion does not publish the issuer's
/// earlier writes.
Clock Races::handedOn(const Warp &w, Clock known) {
  known.lower(number(w), clocks(w).published);
  return known;
}

void Races::issue(AsyncOp &op, RaceKind kind) {
  Warp &w = *op.issuer;
  WarpClocks &c = clocks(w);
  op.races = std::make_unique<RaceTicket>();
  RaceTicket &ticket = *op.races;
  ticket.kind = kind;
  // Lanes that issue in one instruction are one actor.
  ticket.serial = uint32_t(w.instructions * warps.size() + number(w)) + 1;
  ticket.generic = c.views.generic;
  ticket.shared = c.views.shared;
  ticket.global = c.views.global;
  c.bump = true; // what follows in the warp is not ordered before the operation
  unsigned lane = countr_zero(op.lane);
  switch (kind) {
  case RaceKind::BulkGroup: {
    Queue &q = queue(w, lane);
    ++q.issued;
    ticket.read = {q.reads, q.issued};
    ticket.write = {q.writes, q.issued};
    break;
  }
  case RaceKind::ThreadCopy:
    ticket.read = ticket.write = {c.copyChannel, ++c.copies};
    break;
  case RaceKind::Wgmma: {
    Pipe &p = wgmmaPipe(w);
    ticket.read = ticket.write = {p.done, ++p.issued};
    break;
  }
  case RaceKind::Mma: {
    Pipe &p = pipe(w, lane);
    ticket.tensor = c.tensor;
    ticket.read = ticket.write = {p.done, ++p.issued};
    c.tensor.raise(p.done + 1, p.issued);
    p.generic = handedOn(w, ticket.generic);
    p.tensor = ticket.tensor;
    break;
  }
  case RaceKind::Bulk:
  case RaceKind::Answer:
  case RaceKind::Remote:
    ticket.handedOn = handedOn(w, ticket.generic);
    break;
  case RaceKind::Thread:
  case RaceKind::TmemLoad:
  case RaceKind::TmemStore:
    break;
  }
}

void Races::joinIssue(AsyncOp &op, Warp &w) {
  WarpClocks &c = clocks(w);
  op.races->generic.meet(c.views.generic);
  op.races->shared.meet(c.views.shared);
  c.bump = true;
}

void Races::completesAt(AsyncOp &op, const Mbarrier &b) {
  Barrier &state = *barriers[b.race];
  op.races->read = op.races->write = {state.channel, state.phases + 1};
  state.arriving.near.generic.join(op.races->handedOn);
}

void Races::commitBulk(Warp &w, unsigned lane) {
  Queue &q = queue(w, lane);
  q.marks.push_back(q.issued);
}

void Races::waitBulk(Warp &w, unsigned lane, uint64_t allowed, bool readsOnly) {
  Queue &q = queue(w, lane);
  if (q.marks.size() <= allowed) {
    return;
  }
  uint32_t done = q.marks[q.marks.size() - 1 - allowed];
  Clock &known = clocks(w).views.generic;
  known.raise(q.reads, done);
  if (!readsOnly) {
    known.raise(q.writes, done);
  }
}

void Races::commitCopies(Warp &w) {
  WarpClocks &c = clocks(w);
  c.copyMarks.push_back(c.copies);
}

void Races::waitCopies(Warp &w, uint64_t allowed) {
  WarpClocks &c = clocks(w);
  if (c.copyMarks.size() > allowed) {
    c.views.generic.raise(c.copyChannel, c.copyMarks[c.copyMarks.size() - 1 - allowed]);
  }
}

void Races::waitAllCopies(Warp &w) {
  WarpClocks &c = clocks(w);
  c.views.generic.raise(c.copyChannel, c.copies);
}

uint32_t Races::copiesSoFar(const Warp &w) { return clocks(w).copies; }

void Races::copiesArrive(const Warp &w, const Mbarrier &b, uint32_t copies) {
  barriers[b.race]->arriving.near.generic.raise(clocks(w).copyChannel, copies);
}

uint32_t Races::issuedSoFar(const Warp &w, unsigned lane) { return pipe(w, lane).issued; }

void Races::commitArrive(const Warp &w, unsigned lane, const Mbarrier &b, uint32_t issued) {
  const Pipe &p = pipe(w, lane);
  Views &to = barriers[b.race]->arriving.near;
  to.generic.join(p.generic);
  to.tensor.join(p.tensor);
  to.generic.raise(p.done, issued);
  to.tensor.raise(p.done, issued);
  to.tensor.raise(p.done + 1, issued);
}

void Races::waitWgmma(Warp &w, uint64_t performed) {
  clocks(w).views.generic.raise(wgmmaPipe(w).done, uint32_t(performed));
}
