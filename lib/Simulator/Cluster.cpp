//===- Cluster.cpp - scheduling and address resolution ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One step gives every ready fragment a turn and, when no warp could go on (or
// at random), performs one asynchronous operation. A step in which nothing that
// a poll could see has changed counts as idle.
//
//===----------------------------------------------------------------------===//

#include "AsyncState.h"
#include "Machine.h"
#include "Races.h"
#include "TensorMemory.h"
#include "TimelineRecorder.h"
#include "fa4/Simulator/ExecutionCounts.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace fa4::sim;

/// Steps of polling without any visible change after which a cluster is idle.
/// Large, because programs also read much memory with strong loads.
static constexpr uint64_t idleRoundLimit = 1 << 17;
/// Time-outs of suspended waits without any visible change before giving up.
static constexpr uint64_t timeOutLimit = 64;

/// A cruel order: warps that are slow together, as those of a warpgroup mostly have one
/// role, and steps without any visible change after which they get a turn.
static constexpr unsigned kSlowWarps = 4;
static constexpr uint64_t slowPatience = 64;

Cta::Cta(Cluster &cluster, unsigned rank, const uint32_t (&ctaId)[3])
    : cluster(cluster), rank(rank), id{ctaId[0], ctaId[1], ctaId[2]} {}
Cta::~Cta() = default;

static void fillRegister(Warp &w, const WarpInit &init, Cta &cta) {
  Grid &g = *w.grid;
  const Dim3 &block = g.launch.block;
  const Dim3 &grid = g.launch.grid;
  const uint32_t *cs = g.clusterSize;
  for (unsigned lane = 0; lane < warpLanes; ++lane) {
    uint64_t thread = uint64_t(w.index) * warpLanes + lane;
    uint64_t v = 0;
    switch (init.what) {
    case SpecialReg::TidX:
      v = thread % block.x;
      break;
    case SpecialReg::TidY:
      v = thread / block.x % block.y;
      break;
    case SpecialReg::TidZ:
      v = thread / block.x / block.y;
      break;
    case SpecialReg::NtidX:
      v = block.x;
      break;
    case SpecialReg::NtidY:
      v = block.y;
      break;
    case SpecialReg::NtidZ:
      v = block.z;
      break;
    case SpecialReg::CtaidX:
      v = cta.id[0];
      break;
    case SpecialReg::CtaidY:
      v = cta.id[1];
      break;
    case SpecialReg::CtaidZ:
      v = cta.id[2];
      break;
    case SpecialReg::NctaidX:
      v = grid.x;
      break;
    case SpecialReg::NctaidY:
      v = grid.y;
      break;
    case SpecialReg::NctaidZ:
      v = grid.z;
      break;
    case SpecialReg::LaneId:
      v = lane;
      break;
    case SpecialReg::WarpId:
      v = w.index;
      break;
    case SpecialReg::NwarpId:
      v = divideCeil(block.count(), warpLanes);
      break;
    case SpecialReg::SmId:
      v = (cta.cluster.index + g.options.seed) % smCount;
      break;
    case SpecialReg::NsmId:
      v = smCount;
      break;
    case SpecialReg::GridId:
      v = 1;
      break;
    case SpecialReg::ClusterCtaidX:
      v = cta.id[0] % cs[0];
      break;
    case SpecialReg::ClusterCtaidY:
      v = cta.id[1] % cs[1];
      break;
    case SpecialReg::ClusterCtaidZ:
      v = cta.id[2] % cs[2];
      break;
    case SpecialReg::ClusterNctaidX:
      v = cs[0];
      break;
    case SpecialReg::ClusterNctaidY:
      v = cs[1];
      break;
    case SpecialReg::ClusterNctaidZ:
      v = cs[2];
      break;
    case SpecialReg::ClusterCtaRank:
      v = cta.rank;
      break;
    case SpecialReg::ClusterNctaRank:
      v = uint64_t(cs[0]) * cs[1] * cs[2];
      break;
    case SpecialReg::ClusterIdX:
      v = cta.id[0] / cs[0];
      break;
    case SpecialReg::ClusterIdY:
      v = cta.id[1] / cs[1];
      break;
    case SpecialReg::ClusterIdZ:
      v = cta.id[2] / cs[2];
      break;
    case SpecialReg::NclusterIdX:
      v = grid.x / cs[0];
      break;
    case SpecialReg::NclusterIdY:
      v = grid.y / cs[1];
      break;
    case SpecialReg::NclusterIdZ:
      v = grid.z / cs[2];
      break;
    case SpecialReg::LanemaskEq:
      v = 1u << lane;
      break;
    case SpecialReg::LanemaskLe:
      v = (2ull << lane) - 1;
      break;
    case SpecialReg::LanemaskLt:
      v = (1ull << lane) - 1;
      break;
    case SpecialReg::LanemaskGe:
      v = uint32_t(~((1ull << lane) - 1));
      break;
    case SpecialReg::LanemaskGt:
      v = uint32_t(~((2ull << lane) - 1));
      break;
    case SpecialReg::DynamicSmemSize:
      v = g.launch.dynamicSharedBytes;
      break;
    case SpecialReg::TotalSmemSize:
      v = g.sharedBytes + sharedDataStart;
      break;
    case SpecialReg::SharedBase:
      v = cta.sharedBase() + (init.index ? g.dynamicOffset : 0) + init.addend;
      break;
    case SpecialReg::GlobalBase:
      v = g.globalAddresses[init.index] + init.addend;
      break;
    }
    if (init.wide) {
      w.out<uint64_t>(init.reg)[lane] = v;
    } else {
      w.out<uint32_t>(init.reg)[lane] = v;
    }
  }
  w.setPoison(init.reg, allLanes, 0);
  if (init.wide) {
    w.setPoison(init.reg + slotBytes, allLanes, 0);
  }
}

Cluster::Cluster(Grid &grid, uint64_t index)
    : grid(grid), index(index), random(grid.options.seed * 0x9e3779b97f4a7c15ull + index) {
  const uint32_t *cs = grid.clusterSize;
  uint64_t nx = grid.launch.grid.x / cs[0], ny = grid.launch.grid.y / cs[1];
  uint32_t origin[3] = {uint32_t(index % nx * cs[0]), uint32_t(index / nx % ny * cs[1]),
                        uint32_t(index / nx / ny * cs[2])};
  const Kernel &k = grid.kernel;
  unsigned ctaCount = cs[0] * cs[1] * cs[2];
  uint64_t threads = grid.launch.block.count();
  unsigned warpCount = divideCeil(threads, warpLanes);
  uint32_t slots = k.registerBytes / slotBytes;
  size_t total = size_t(ctaCount) * warpCount;
  registerStorage.resize(total * k.registerBytes + laneAlignment);
  poisonStorage.resize(total * slots);
  predStorage.resize(total * 2 * k.predicates);
  uint8_t *registers =
      reinterpret_cast<uint8_t *>(alignTo(uintptr_t(registerStorage.data()), laneAlignment));
  for (unsigned rank = 0; rank < ctaCount; ++rank) {
    uint32_t id[3] = {origin[0] + rank % cs[0], origin[1] + rank / cs[0] % cs[1],
                      origin[2] + rank / cs[0] / cs[1]};
    ctas.push_back(std::make_unique<Cta>(*this, rank, id));
    Cta &cta = *ctas.back();
    cta.shared = Storage(grid.sharedBytes);
    cta.local = Storage(uint64_t(k.localBytes) * warpCount * warpLanes);
    cta.warps.resize(warpCount);
    cta.liveWarps = warpCount;
    for (unsigned w = 0; w < warpCount; ++w) {
      size_t at = size_t(rank) * warpCount + w;
      cta.warps[w].start(cta, w, registers + at * k.registerBytes, &poisonStorage[at * slots],
                         &predStorage[at * 2 * k.predicates]);
      for (const WarpInit &init : k.warpInits) {
        fillRegister(cta.warps[w], init, cta);
      }
    }
    cta.warpgroups.resize(divideCeil(warpCount, 4u));
  }
  cruelty = chooseCruelty();
  if (grid.races) {
    races = std::make_unique<Races>(*this, *grid.races);
  }
  if (grid.options.timeline) {
    timeline = std::make_unique<TimelineRecorder>(*this, *grid.options.timeline);
  }
}

Cluster::~Cluster() {
  if (timeline) {
    timeline->stop();
  }
}

Cta *Cluster::sharedOwner(Cta &self, uint64_t address, uint64_t &offset) {
  if (address - sharedWindow < windowSize) {
    address -= sharedWindow;
  }
  uint64_t rank = address >> sharedRankShift;
  if (rank >= ctas.size()) {
    return nullptr;
  }
  offset = (address & ((uint64_t(1) << sharedRankShift) - 1)) - sharedDataStart;
  return ctas[rank].get();
}

Target Cluster::resolve(Cta &self, Space space, uint64_t address, uint64_t bytes, unsigned thread,
                        Region **cache) {
  Target t;
  if (space == Space::Generic) {
    if (address - sharedWindow < windowSize) {
      address -= sharedWindow;
      space = Space::SharedCluster;
    } else if (address - localWindow < windowSize) {
      address -= localWindow;
      space = Space::Local;
    } else if (address - paramWindow < windowSize) {
      address -= paramWindow;
      space = Space::Param;
    } else {
      space = Space::Global;
    }
  }
  switch (space) {
  case Space::Shared:
  case Space::SharedCluster: {
    uint64_t offset = 0;
    Cta *owner = sharedOwner(self, address, offset);
    bool own = owner == &self;
    t.fault = own || space == Space::Shared ? FaultId::OobSmem : FaultId::OobDsmem;
    if (!owner) {
      t.fault = FaultId::CtaRange;
      return t;
    }
    if ((!own && space == Space::Shared) || offset > owner->shared.size() ||
        bytes > owner->shared.size() - offset) {
      return t;
    }
    if (owner->exited) {
      t.fault = FaultId::ClusterExit;
      return t;
    }
    t.owner = owner;
    t.data = owner->shared.data() + offset;
    t.shadow = owner->shared.shadow() + offset;
    return t;
  }
  case Space::Local: {
    uint64_t size = grid.kernel.localBytes;
    t.fault = FaultId::OobLocal;
    if (address > size || bytes > size - address) {
      return t;
    }
    uint64_t at = uint64_t(thread) * size + address;
    t.data = self.local.data() + at;
    t.shadow = self.local.shadow() + at;
    return t;
  }
  case Space::Param:
    t.fault = FaultId::OobParam;
    if (address > grid.params.size() || bytes > grid.params.size() - address) {
      return t;
    }
    t.data = grid.params.data() + address;
    t.shadow = grid.params.shadow() + address;
    t.readOnly = true;
    return t;
  case Space::Generic:
  case Space::Global:
    break;
  }
  Region *r = cache ? *cache : nullptr;
  if (!r || address - r->base >= r->storage.size()) {
    r = grid.memory.find(address);
    if (cache && r) {
      *cache = r;
    }
  }
  t.fault = FaultId::OobGlobal;
  if (!r || bytes > r->storage.size() - (address - r->base)) {
    return t;
  }
  t.data = r->storage.data() + (address - r->base);
  t.shadow = r->storage.shadow() + (address - r->base);
  t.region = r;
  t.readOnly = r->readOnly;
  return t;
}

/// Runs each ready fragment of a warp once; false = stop.
bool Cluster::runWarp(Warp &w) {
  unsigned turns = w.fragments.size(), first = w.current + 1;
  bool executed = false;
  for (unsigned k = 0; k < turns; ++k) {
    if (w.fragments.empty()) {
      break;
    }
    // Rotating over the fragments lets each side of a divergence progress.
    unsigned f = (first + k) % w.fragments.size();
    Fragment &fragment = w.fragments[f];
    if (fragment.state != Fragment::State::Ready && fragment.seenEvents == events) {
      continue;
    }
    switch (w.run(f)) {
    case Warp::RunResult::Stopped:
      return false;
    case Warp::RunResult::Blocked:
      break;
    case Warp::RunResult::Done:
    case Warp::RunResult::Switched:
      ran = switched = executed = true;
      break;
    case Warp::RunResult::Polled:
      ran = executed = true;
      break;
    }
  }
  if (timeline) {
    timeline->turn(w, executed);
  }
  if (w.fragments.empty() && w.live == 0) {
    Cta &cta = *w.cta;
    if (--cta.liveWarps == 0) {
      return finishCta(cta);
    }
  }
  return true;
}

/// The seed numbers them: one for every role, that is a group of warps in each CTA, in a
/// cluster then one for every CTA, all of whose warps are slow; then again with engines last.
Cluster::Cruelty Cluster::chooseCruelty() const {
  constexpr unsigned kOneSeedIn = 4;
  const Options &options = grid.options;
  Cruelty c;
  c.on = options.policy == Policy::Random && options.seed % kOneSeedIn == kOneSeedIn - 1;
  uint64_t number = options.seed / kOneSeedIn;
  size_t groups = divideCeil(ctas.front()->warps.size(), size_t(kSlowWarps));
  size_t roles = groups > 1 ? groups : 0, sets = roles + (ctas.size() > 1 ? ctas.size() : 0);
  if (!c.on || sets == 0) {
    return c;
  }
  c.starves = true;
  c.byCta = number % sets >= roles;
  c.which = c.byCta ? number % sets - roles : number % sets;
  c.enginesLast = number / sets % 2 == 1;
  return c;
}

bool Cluster::isSlow(const Warp &w) const {
  return cruelty.starves && (cruelty.byCta ? w.cta->rank : w.index / kSlowWarps) == cruelty.which;
}

/// Gives those warps a turn; false = stop.
bool Cluster::runWarps(bool slowOnes) {
  const bool randomly = grid.options.policy == Policy::Random;
  for (auto &cta : ctas) {
    if (cta->exited) {
      continue;
    }
    size_t n = cta->warps.size();
    size_t first = randomly ? random() % n : 0;
    for (size_t k = 0; k < n; ++k) {
      Warp &w = cta->warps[(first + k) % n];
      if (isSlow(w) == slowOnes && !w.fragments.empty() && !runWarp(w)) {
        return false;
      }
    }
  }
  return true;
}

Cluster::Progress Cluster::step() {
  if (grid.stop) {
    return Progress::Stopped;
  }
  const bool randomly = grid.options.policy == Policy::Random;
  uint64_t changesBefore = changes;
  ran = switched = false;
  if (timeline) {
    timeline->nextStep();
  }
  if (!runWarps(/*slowOnes=*/false)) {
    return Progress::Stopped;
  }
  // Others may poll for ever.
  quietSteps = changes != changesBefore ? 0 : quietSteps + 1;
  const bool stuck = !ran || quietSteps > slowPatience;
  if (cruelty.starves && cruelty.enginesLast && stuck && !runWarps(/*slowOnes=*/true)) {
    return Progress::Stopped;
  }
  auto isEnginesTurn = [&] {
    if (!cruelty.on) {
      return !ran || changes == changesBefore || (randomly && (random() & 1));
    }
    return cruelty.starves && !cruelty.enginesLast ? stuck : !ran || idleRounds > slowPatience;
  };
  bool performed = false;
  if (!engine.empty() && isEnginesTurn()) {
    switch (engine.performOne(*this, randomly, cruelty.on)) {
    case Engine::Result::Stopped:
      return Progress::Stopped;
    case Engine::Result::Performed:
      ran = performed = true;
      break;
    case Engine::Result::None:
      break;
    }
  }
  if (cruelty.starves && !cruelty.enginesLast && stuck && !performed &&
      !runWarps(/*slowOnes=*/true)) {
    return Progress::Stopped;
  }
  bool alive = any_of(ctas, [](const auto &cta) { return !cta->exited; });
  if (!alive && engine.empty()) {
    return Progress::Done;
  }
  if (changes != changesBefore) {
    idleRounds = 0;
    grid.globalChanges.fetch_add(1, std::memory_order_relaxed);
  }
  if (instructionCount() > grid.options.instructionBudget) {
    grid.fault(FaultId::Incomplete, "expected the kernel to finish within " +
                                        Twine(grid.options.instructionBudget) +
                                        " warp instructions per cluster, but got more");
    return Progress::Stopped;
  }
  uint64_t global = grid.globalChanges.load(std::memory_order_relaxed);
  if (global != pollChanges) {
    pollChanges = global;
    idleRounds = 0;
  }
  if (!ran) {
    return Progress::Idle;
  }
  bool onlyPolls = changes == changesBefore && !switched;
  return onlyPolls && ++idleRounds > idleRoundLimit ? Progress::Idle : Progress::Ran;
}

bool Cluster::timeOutWaits() {
  if (changes == timeOutChanges && timeOuts > timeOutLimit) {
    return false;
  }
  timeOuts = changes == timeOutChanges ? timeOuts + 1 : 0;
  timeOutChanges = changes;
  bool any = false;
  for (auto &cta : ctas) {
    for (Warp &w : cta->warps) {
      for (Fragment &f : w.fragments) {
        if (f.state == Fragment::State::Waiting && f.wait.kind == WaitKind::Mbarrier) {
          f.timedOut = true;
          f.seenEvents = 0;
          any = true;
        }
      }
    }
  }
  return any;
}

uint64_t Cluster::instructionCount() const {
  uint64_t n = 0;
  for (const auto &cta : ctas) {
    for (const Warp &w : cta->warps) {
      n += w.instructions;
    }
  }
  return n;
}

/// Checks at the end of a CTA: nothing may still read its memory.
bool Cluster::finishCta(Cta &cta) {
  cta.exited = true;
  event();
  if (timeline) {
    timeline->finish(cta);
  }
  if (ExecutionCounts *counts = grid.options.counts) {
    for (const Warp &w : cta.warps) {
      counts->add(*w.kernel, cta.rank, w.index, w.executed);
    }
  }
  for (const auto &op : engine.ops()) {
    if (op->issuer->cta == &cta && op->readsShared()) {
      op->issuer->fault(FaultId::ExitPending, *op->inst, op->lane,
                        Twine("expected shared memory to be read before the CTA exits, but got a "
                              "pending ") +
                            op->describe());
      return false;
    }
  }
  if (cta.tmem && !cta.tmem->checkExit(cta)) {
    return false;
  }
  return true;
}
