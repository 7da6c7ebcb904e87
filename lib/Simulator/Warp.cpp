//===- Warp.cpp - the dispatch loop and lane divergence ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp is a set of fragments, lanes that share a program counter. Fragments
// make progress independently; lanes that owe a join wait there for the others.
// Invariant: the masks of fragments and of arrived joins partition `live`.
//
//===----------------------------------------------------------------------===//

#include "AsyncState.h"
#include "Machine.h"
#include "Races.h"
#include "TimelineRecorder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

/// Instructions a fragment may run before others get a turn. Large, because
/// polls and blocking instructions give way on their own.
static constexpr uint64_t quantum = 1 << 16;

Warp::Warp() = default;
Warp::Warp(Warp &&) noexcept = default;
Warp::~Warp() = default;

void Warp::start(Cta &owner, unsigned warpIndex, uint8_t *registerFile, uint32_t *poisonFile,
                 LaneMask *predicateFile) {
  cta = &owner;
  cluster = &owner.cluster;
  grid = &cluster->grid;
  kernel = &grid->kernel;
  index = warpIndex;
  registers = registerFile;
  constants = grid->constants;
  poison = poisonFile;
  preds = predicateFile;
  predPoison = predicateFile + kernel->predicates;
  uint64_t threads = grid->launch.block.count();
  uint64_t mine = std::min<uint64_t>(warpLanes, threads - uint64_t(warpIndex) * warpLanes);
  live = mine == warpLanes ? allLanes : (LaneMask(1) << mine) - 1;
  registerCount = grid->launchRegisters;
  if (grid->options.counts) {
    executed.resize(kernel->code.size());
  }
  if (grid->races && kernel->usesWgmma) {
    unfenced.resize(kernel->registerBytes / slotBytes);
  }
  if (grid->races && grid->options.strictTensor && kernel->tcgen05Group != 0) {
    loading.resize(kernel->registerBytes / slotBytes);
  }
  resetSlow();
  Fragment f;
  f.mask = live;
  fragments.push_back(f);
  // Registers start without a value; slot 0 and the sinks are never judged.
  uint32_t slots = kernel->registerBytes / slotBytes;
  std::fill(poison, poison + slots, allLanes);
  std::fill(poison, poison + firstFreeSlot, 0);
  std::fill(preds, preds + kernel->predicates, 0);
  std::fill(predPoison, predPoison + kernel->predicates, allLanes);
  preds[predTrue] = allLanes;
  std::fill(predPoison, predPoison + firstFreePred, 0);
  if (kernel->explicitClusterPred != 0) {
    setPred(kernel->explicitClusterPred, allLanes, grid->explicitCluster ? allLanes : 0);
  }
}

void Warp::save() {
  Fragment &f = fragments[current];
  f.pc = pc;
  f.mask = active;
}

void Warp::removeFragment(unsigned i) {
  fragments[i] = fragments.back();
  fragments.pop_back();
}

unsigned Warp::firstReady() const {
  for (unsigned i = 0; i < fragments.size(); ++i) {
    const Fragment &f = fragments[i];
    if (f.state == Fragment::State::Ready || f.seenEvents != cluster->events) {
      return i;
    }
  }
  return fragments.size();
}

void Warp::resetSlow() {
  slow = grid->options.policy == Policy::Random || !inFlight.empty() || !unfenced.empty() ||
         !loadingSlots.empty();
}

bool Warp::checkLoaded(const Inst &i) {
  for (const RegUse &use : ArrayRef(kernel->uses).slice(i.useBegin, i.useCount)) {
    for (uint32_t s = use.slot; s < use.slot + use.slots; ++s) {
      if (const Inst *load = loading[s]) {
        fault(FaultId::RaceReg, i, active,
              "expected tcgen05.wait::ld between a load and other uses of its registers, but got "
              "none after PTX line " +
                  Twine(load->source->line));
        return false;
      }
    }
  }
  return true;
}

bool Warp::slowChecks(const Inst &i) {
  if (!unfenced.empty()) {
    for (const RegUse &use : ArrayRef(kernel->uses).slice(i.useBegin, i.useCount)) {
      if (!mayTouchInFlight(i, use)) {
        std::fill_n(unfenced.begin() + use.slot, use.slots, &i);
      }
    }
  }
  if (!loadingSlots.empty() && !checkLoaded(i)) {
    return false;
  }
  if (inFlight.empty()) {
    return true;
  }
  for (uint32_t u = i.useBegin; u < i.useBegin + i.useCount; ++u) {
    const RegUse &use = kernel->uses[u];
    for (uint32_t s = use.slot; s < use.slot + use.slots; ++s) {
      auto it = inFlight.find(s);
      if (it != inFlight.end() && !mayTouchInFlight(i, use)) {
        fault(FaultId::WgReg, i, active,
              "expected registers of an unfinished wgmma to be left alone until wgmma.wait_group, "
              "but got " +
                  Twine(use.write ? "a write" : "a read"));
        return false;
      }
    }
  }
  return true;
}

Warp::RunResult Warp::run(unsigned fragmentIndex) {
  current = fragmentIndex;
  const Inst *code = kernel->code.data();
  const bool randomly = grid->options.policy == Policy::Random;
  uint64_t *counts = executed.empty() ? nullptr : executed.data();
  bool resumed;
  {
    Fragment &f = fragments[current];
    pc = f.pc;
    active = f.mask;
    resumed = f.state == Fragment::State::Waiting;
    f.state = Fragment::State::Ready;
  }
  const uint64_t first = instructions;
  for (;;) {
    const Inst &i = code[pc];
    LaneMask lanes = active;
    if (i.guard != noGuard) {
      Pred p = i.guard >> 1;
      lanes &= (i.guard & 1) ? ~preds[p] : preds[p];
      if (__builtin_expect(predPoison[p] & active, 0)) {
        fault(FaultId::UninitReg, i, predPoison[p] & active,
              "expected the guard to hold a value, but got an uninitialised predicate");
        return RunResult::Stopped;
      }
      if (lanes == 0) {
        if (counts) {
          ++counts[pc];
        }
        ++pc;
        ++instructions;
        continue;
      }
    }
    if (__builtin_expect(slow, 0)) {
      if (!slowChecks(i)) {
        return RunResult::Stopped;
      }
      if (randomly && (i.flags & SwitchPoint) && !resumed && instructions != first &&
          (cluster->random() & 3) == 0) {
        save();
        return RunResult::Switched;
      }
    }
    ++instructions;
    if (__builtin_expect(counts != nullptr, 0)) {
      ++counts[pc];
    }
    Step step = i.exec(*this, i, lanes);
    if (__builtin_expect(resumed, 0)) {
      resumed = false;
      if (step != Step::Block && step != Step::Reschedule) {
        Fragment &f = fragments[current];
        f.stage = 0;
        f.ticket = 0;
        f.timedOut = false;
        f.wait = Wait();
      }
    }
    if (__builtin_expect(step == Step::Next, 1)) {
      ++pc;
      continue;
    }
    switch (step) {
    case Step::Next:
      break;
    case Step::Jump:
      if (instructions - first > quantum) {
        save();
        return RunResult::Switched;
      }
      continue;
    case Step::Block: {
      --instructions;
      if (counts) {
        --counts[pc];
      }
      bool ranBefore = instructions != first;
      save();
      Fragment &f = fragments[current];
      f.state = Fragment::State::Waiting;
      f.seenEvents = cluster->events;
      return ranBefore ? RunResult::Switched : RunResult::Blocked;
    }
    case Step::Yield:
      ++pc;
      save();
      return RunResult::Polled;
    case Step::Reschedule:
      return fragments.empty() ? RunResult::Done : RunResult::Switched;
    case Step::Stop:
      return RunResult::Stopped;
    }
  }
}

//===----------------------------------------------------------------------===//
// Divergence
//===----------------------------------------------------------------------===//

int32_t Warp::newJoin(uint32_t joinPc, LaneMask expected, int32_t parent) {
  Join j;
  j.pc = joinPc;
  j.expected = expected;
  j.parent = parent;
  j.used = true;
  for (size_t i = 0; i < joins.size(); ++i) {
    if (!joins[i].used) {
      joins[i] = j;
      return i;
    }
  }
  joins.push_back(j);
  return joins.size() - 1;
}

Step Warp::branch(const Inst &i, LaneMask taken) {
  if (taken == active) {
    pc = i.target;
    return Step::Jump;
  }
  std::pair<uint32_t, LaneMask> ways[] = {{i.target, taken}, {pc + 1, active & ~taken}};
  return branchMany(i, ways);
}

Step Warp::branchMany(const Inst &i, ArrayRef<std::pair<uint32_t, LaneMask>> ways) {
  int32_t join = fragment().join;
  if (i.reconverge != noTarget && (join < 0 || joins[join].pc != i.reconverge)) {
    join = newJoin(i.reconverge, active, join);
  }
  SmallVector<std::pair<uint32_t, LaneMask>, 4> going;
  for (const auto &way : ways) {
    if (way.second == 0) {
      continue;
    }
    // A way that leads straight to the join has arrived.
    if (way.first == i.reconverge && ways.size() > 1) {
      joins[join].arrived |= way.second;
    } else {
      going.push_back(way);
    }
  }
  if (going.empty()) {
    pc = i.reconverge;
    fragment().join = join;
    joins[join].arrived &= ~active;
    return Step::Jump;
  }
  for (const auto &way : drop_begin(going)) {
    Fragment f;
    f.pc = way.first;
    f.mask = way.second;
    f.join = join;
    fragments.push_back(f);
  }
  Fragment &mine = fragment();
  mine.pc = pc = going.front().first;
  mine.mask = active = going.front().second;
  mine.join = join;
  return Step::Jump;
}

Step Warp::reachJoin() {
  Fragment &f = fragment();
  if (f.join < 0 || joins[f.join].pc != pc) {
    return Step::Next;
  }
  Join &j = joins[f.join];
  j.arrived |= active;
  if ((j.arrived & j.expected & live) != (j.expected & live)) {
    removeFragment(current);
    return Step::Reschedule;
  }
  active = j.expected & live;
  f.mask = active;
  f.join = j.parent;
  j.used = false;
  return Step::Jump; // the parent may join at the same place
}

Step Warp::exitLanes(LaneMask lanes) {
  live &= ~lanes;
  active &= ~lanes;
  cluster->event();
  bool gone = active == 0;
  if (gone) {
    removeFragment(current);
  } else {
    fragment().mask = active;
  }
  settleJoins();
  return gone ? Step::Reschedule : Step::Next;
}

/// Lets lanes go on that wait at a join for nobody any more.
void Warp::settleJoins() {
  for (size_t k = 0; k < joins.size(); ++k) {
    Join &j = joins[k];
    LaneMask expected = j.expected & live, here = j.arrived & expected;
    if (!j.used || here != expected) {
      continue;
    }
    j.used = false;
    if (here != 0) {
      Fragment f;
      f.pc = j.pc;
      f.mask = here;
      f.join = j.parent;
      fragments.push_back(f);
    }
  }
}

/// Joins all fragments that wait inside the instruction at `pc` into the current
/// one. Joins that only some of them owe are cancelled for the merged lanes: they
/// have met here instead.
void Warp::mergeGathered() {
  SmallVector<Fragment, 2> rest;
  SmallVector<int32_t, 4> chains;
  Fragment merged = fragment();
  for (unsigned k = 0; k < fragments.size(); ++k) {
    const Fragment &f = fragments[k];
    bool meets =
        k == current || (f.state == Fragment::State::Waiting && f.pc == pc && f.gatherMask != 0);
    if (!meets) {
      rest.push_back(f);
      continue;
    }
    merged.mask |= f.mask;
    chains.push_back(f.join);
  }
  auto owes = [&](int32_t chain, int32_t join) {
    for (; chain >= 0; chain = joins[chain].parent) {
      if (chain == join) {
        return true;
      }
    }
    return false;
  };
  int32_t common = merged.join;
  while (common >= 0 && !all_of(chains, [&](int32_t c) { return owes(c, common); })) {
    common = joins[common].parent;
  }
  for (int32_t chain : chains) {
    for (int32_t j = chain; j != common; j = joins[j].parent) {
      joins[j].expected &= ~merged.mask;
    }
  }
  merged.join = common;
  merged.gatherMask = 0;
  fragments.assign(1, merged);
  fragments.append(rest.begin(), rest.end());
  current = 0;
  active = merged.mask;
  settleJoins();
}

bool Warp::gather(const Inst &i, LaneMask lanes, LaneMask members, LaneMask &group, Step &step) {
  if (lanes & ~members) {
    step = fault(FaultId::MaskLane, i, lanes & ~members,
                 "expected executing lanes to be in the member mask " +
                     Twine(formatv("{0:x8}", members).str()) + ", but got lanes " +
                     formatv("{0:x8}", lanes & ~members).str());
    return false;
  }
  members &= live;
  if ((members & ~lanes) == 0) {
    group = lanes;
    return true;
  }
  if (members & active & ~lanes) {
    step = fault(FaultId::Diverge, i, lanes,
                 "expected all lanes of the member mask to execute the instruction, but its guard "
                 "excludes lanes " +
                     formatv("{0:x8}", members & active & ~lanes).str());
    return false;
  }
  LaneMask here = lanes;
  fragment().gatherMask = lanes;
  for (const Fragment &f : fragments) {
    if (f.state == Fragment::State::Waiting && f.pc == pc) {
      here |= f.gatherMask;
    }
  }
  if (members & ~here) {
    step = block(WaitKind::WarpSync, members, members & ~here);
    return false;
  }
  mergeGathered();
  group = here;
  return true;
}

bool Warp::gatherAll(const Inst &i, LaneMask lanes, Step &step) {
  LaneMask group;
  return lanes == live || gather(i, lanes, allLanes, group, step);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

bool Warp::checkUsed(const Inst &i, Reg r, bool wide, LaneMask lanes, const char *what) {
  LaneMask bad = (wide ? poisonWide(r) : poisonIn(r)) & lanes;
  if (__builtin_expect(bad == 0, 1)) {
    return true;
  }
  fault(FaultId::UninitReg, i, bad,
        Twine("expected ") + what + " to hold a value, but got an uninitialised register");
  return false;
}

bool Warp::addresses(const Inst &i, Reg base, bool narrow, int64_t offset, LaneMask lanes,
                     uint64_t (&result)[warpLanes]) {
  if (!checkUsed(i, base, !narrow, lanes, "the address")) {
    return false;
  }
  if (narrow) {
    const uint32_t *p = in<uint32_t>(base);
    for (unsigned l = 0; l < warpLanes; ++l) {
      result[l] = uint32_t(p[l] + uint32_t(offset));
    }
  } else {
    const uint64_t *p = in<uint64_t>(base);
    for (unsigned l = 0; l < warpLanes; ++l) {
      result[l] = p[l] + uint64_t(offset);
    }
  }
  return true;
}

bool Warp::addresses(const Inst &i, LaneMask lanes, uint64_t (&result)[warpLanes]) {
  return addresses(i, i.a, i.flags & NarrowAddress, int64_t(i.imm), lanes, result);
}

uint8_t *Warp::access(const Inst &i, Space space, uint64_t address, unsigned bytes, Access kind,
                      unsigned lane, uint8_t *&shadow) {
  LaneMask bit = LaneMask(1) << lane;
  if (address & (bytes - 1)) {
    fault(FaultId::Align, i, bit,
          formatv("expected the address to be a multiple of {0}, but got {1:x}", bytes, address)
              .str());
    return nullptr;
  }
  Target t = cluster->resolve(*cta, space, address, bytes, index * warpLanes + lane, &lastRegion);
  if (!t.data) {
    std::string place = t.fault == FaultId::OobGlobal ? grid->memory.describe(address)
                                                      : formatv("{0:x}", address).str();
    fault(
        t.fault, i, bit,
        formatv("expected {0} bytes to lie inside an allocation, but got {1}", bytes, place).str());
    return nullptr;
  }
  if (t.readOnly && (kind == Access::Write || kind == Access::Atomic)) {
    fault(FaultId::ReadOnly, i, bit,
          formatv("expected the destination to be writable, but got {0:x}", address).str());
    return nullptr;
  }
  shadow = t.shadow;
  if (Races *races = cluster->races.get()) {
    races->access(*this, i, t, bytes, kind, lane);
    if (i.flags & OrderStrong) {
      races->order(*this, i, t, kind != Access::Write, kind != Access::Read);
    }
  }
  return t.data;
}

Site Warp::site(const Inst &i, LaneMask lanes) const {
  Site s;
  s.kernel = kernel->name;
  std::copy(std::begin(cta->id), std::end(cta->id), std::begin(s.cta));
  s.warp = index;
  s.lanes = lanes;
  s.line = i.source->line;
  raw_string_ostream text(s.text);
  ptx::printInstruction(text, *i.source);
  const SourceLocation &loc = kernel->locations[i.location];
  if (loc.line != 0) {
    s.sourceFile = kernel->fileName(loc.file).str();
    s.sourceLine = loc.line;
  }
  // Long register lists say nothing.
  constexpr size_t shown = 200;
  if (s.text.size() > shown) {
    s.text.resize(shown);
    s.text += " …";
  }
  return s;
}

Step Warp::fault(FaultId id, const Inst &i, LaneMask lanes, const Twine &message) {
  Fault f;
  f.id = id;
  f.message = message.str();
  f.site = site(i, lanes);
  if (TimelineRecorder *timeline = cluster->timeline.get()) {
    timeline->fault(*this, f);
  }
  if (grid->log.report(std::move(f))) {
    grid->stop = true;
    return Step::Stop;
  }
  return Step::Next;
}
