//===- Machine.h - warps, CTAs, clusters, grid ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One worker thread runs all warps of a cluster, so nothing below Grid needs
// locks. An executor that cannot go on returns Step::Block and is executed again
// after the cluster's event counter moved; it keeps what it did already in the
// fragment's `stage`. Global memory is the only state that clusters share.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_MACHINE_H
#define FA4_LIB_SIMULATOR_MACHINE_H

#include "Barriers.h"
#include "Engine.h"
#include "fa4/Simulator/Simulator.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <random>

namespace fa4::sim {

class Cta;
class Cluster;
class Grid;
/// Alignment of register files and constants; one cache line, and enough for
/// the widest vector loads.
constexpr size_t laneAlignment = 64;
struct TensorMemory;
struct BulkGroups;
struct WarpgroupState;
class GridRaces;
class Races;
class TimelineRecorder;

/// Why a fragment waits; for the wait-for graph.
enum class WaitKind : uint8_t {
  None,
  Mbarrier,
  NamedBarrier,
  ClusterBarrier,
  WarpSync,
  BulkGroup,
  CopyGroup,
  Wgmma,
  TmemAlloc,
  TmemPair,
  RegisterPool,
  Poll
};

struct Wait {
  WaitKind kind = WaitKind::None;
  uint64_t object = 0; ///< address, barrier id, lane mask
  uint64_t wanted = 0; ///< phase, count
};

/// Lanes of one warp that share a program counter.
struct Fragment {
  enum class State : uint8_t { Ready, Waiting };
  uint32_t pc = 0;
  LaneMask mask = 0;
  int32_t join = -1; ///< innermost join these lanes owe, index into Warp::joins
  State state = State::Ready;
  bool timedOut = false;   ///< a suspended try_wait may give up now
  uint8_t stage = 0;       ///< progress inside a blocking instruction
  uint64_t ticket = 0;     ///< free for the blocking instruction
  uint64_t seenEvents = 0; ///< cluster events when it blocked
  uint32_t idlePolls = 0;
  LaneMask gatherMask = 0; ///< lanes waiting inside a warp-wide instruction
  Wait wait;
};

struct Join {
  uint32_t pc = 0;
  LaneMask expected = 0, arrived = 0;
  int32_t parent = -1;
  bool used = false;
};

class Warp {
public:
  // Hot state of the running fragment.
  uint8_t *registers = nullptr;
  const uint8_t *constants = nullptr;
  uint32_t *poison = nullptr; ///< one lane mask per slot
  LaneMask *preds = nullptr;
  LaneMask *predPoison = nullptr;
  LaneMask active = 0;
  uint32_t pc = 0;
  bool slow = false; ///< per-instruction checks are on

  Cta *cta = nullptr;
  Cluster *cluster = nullptr;
  Grid *grid = nullptr;
  const Kernel *kernel = nullptr;
  unsigned index = 0; ///< in the CTA
  LaneMask live = 0;  ///< lanes that have not exited
  llvm::SmallVector<Fragment, 2> fragments;
  llvm::SmallVector<Join, 4> joins;
  unsigned current = 0;
  uint64_t instructions = 0;
  std::vector<uint64_t> executed; ///< per instruction; empty unless counts are wanted
  uint32_t registerCount = 0;     ///< setmaxnreg state
  bool carry[warpLanes] = {};     ///< add.cc and friends
  const Inst *lastSetMaxReg = nullptr;
  uint32_t setMaxRegCount = 0;
  /// Cluster barrier generation after which each lane may pass; 0: it has not arrived
  /// since it last waited.
  uint64_t clusterArrived[warpLanes] = {};
  std::unique_ptr<BulkGroups> bulk;
  llvm::DenseMap<uint32_t, uint32_t> inFlight; ///< register slot -> owners
  /// Per register slot, what used it last since wgmma.fence; empty unless races are
  /// looked for in a kernel with wgmma.
  std::vector<const Inst *> unfenced;
  /// Per register slot, the tcgen05.ld that fills it and was not waited for; empty
  /// unless races are looked for. `loadingSlots` are those in use.
  std::vector<const Inst *> loading;
  llvm::SmallVector<uint32_t, 0> loadingSlots;
  Region *lastRegion = nullptr;
  uint64_t localStride = 0;

  Warp();
  Warp(Warp &&) noexcept;
  ~Warp();

  Fragment &fragment() { return fragments[current]; }

  template <typename T>
  const T *in(Reg r) const {
    const uint8_t *p = r >= 0 ? registers + r : constants - r;
    return reinterpret_cast<const T *>(__builtin_assume_aligned(p, laneAlignment));
  }
  template <typename T>
  T *out(Reg r) {
    return reinterpret_cast<T *>(__builtin_assume_aligned(registers + r, laneAlignment));
  }
  LaneMask poisonIn(Reg r) const { return r >= 0 ? poison[uint32_t(r) / slotBytes] : 0; }
  /// Poison of both halves of a 64-bit register.
  LaneMask poisonWide(Reg r) const {
    return r >= 0 ? poison[uint32_t(r) / slotBytes] | poison[uint32_t(r) / slotBytes + 1] : 0;
  }
  void setPoison(Reg r, LaneMask lanes, LaneMask value) {
    uint32_t &p = poison[uint32_t(r) / slotBytes];
    p = (p & ~lanes) | (value & lanes);
  }
  void setPoisonWide(Reg r, LaneMask lanes, LaneMask value) {
    setPoison(r, lanes, value);
    setPoison(r + slotBytes, lanes, value);
  }
  void setPred(Pred p, LaneMask lanes, LaneMask value, LaneMask poisonValue = 0) {
    preds[p] = (preds[p] & ~lanes) | (value & lanes);
    predPoison[p] = (predPoison[p] & ~lanes) | (poisonValue & lanes);
  }

  /// Lane addresses of `[a+imm]`. Reports poisoned addresses; false = stop.
  bool addresses(const Inst &i, LaneMask lanes, uint64_t (&out)[warpLanes]);
  bool addresses(const Inst &i, Reg base, bool narrow, int64_t offset, LaneMask lanes,
                 uint64_t (&out)[warpLanes]);
  /// A 32- or 64-bit operand that is used by value; reports poison.
  bool checkUsed(const Inst &i, Reg r, bool wide, LaneMask lanes, const char *what);

  /// Host bytes of one access of this warp's lane, or null after a fault.
  uint8_t *access(const Inst &i, Space space, uint64_t address, unsigned bytes, Access kind,
                  unsigned lane, uint8_t *&shadow);

  /// Warp-wide instructions. True: execute now for `group`. False: return `step`.
  bool gather(const Inst &i, LaneMask lanes, LaneMask members, LaneMask &group, Step &step);
  /// `.aligned` instructions: all live lanes of the warp.
  bool gatherAll(const Inst &i, LaneMask lanes, Step &step);

  Step block(WaitKind kind, uint64_t object = 0, uint64_t wanted = 0) {
    fragment().wait = {kind, object, wanted};
    return Step::Block;
  }
  /// A poll that found nothing: let others run.
  Step poll() { return Step::Yield; }

  // Control flow.
  Step branch(const Inst &i, LaneMask taken);
  Step branchMany(const Inst &i, llvm::ArrayRef<std::pair<uint32_t, LaneMask>> ways);
  Step exitLanes(LaneMask lanes);
  Step reachJoin();

  /// Reports; Step::Stop for errors, Step::Next for warnings.
  Step fault(FaultId id, const Inst &i, LaneMask lanes, const llvm::Twine &message);
  Site site(const Inst &i, LaneMask lanes) const;

  /// Polled: gave way after looking at something. Switched: gave way for no
  /// reason of its own.
  enum class RunResult : uint8_t { Blocked, Polled, Switched, Done, Stopped };
  /// Runs one ready fragment.
  RunResult run(unsigned fragmentIndex);

  unsigned firstReady() const;
  void resetSlow(); ///< after a change of what per-instruction checks look at
  void start(Cta &owner, unsigned warpIndex, uint8_t *registerFile, uint32_t *poisonFile,
             LaneMask *predicateFile);

private:
  void save();
  void removeFragment(unsigned index);
  void settleJoins();
  void mergeGathered();
  bool slowChecks(const Inst &i);
  bool checkLoaded(const Inst &i);
  int32_t newJoin(uint32_t pc, LaneMask expected, int32_t parent);
};

class Cta {
public:
  Cluster &cluster;
  unsigned rank;
  uint32_t id[3];
  Storage shared; ///< byte 0 is window offset 0x400
  Storage local;
  std::vector<Warp> warps;
  NamedBarrier barriers[namedBarrierCount];
  MbarrierTable mbarriers;
  std::unique_ptr<TensorMemory> tmem;
  std::vector<std::unique_ptr<WarpgroupState>> warpgroups;
  uint64_t registerPool = 0; ///< registers freed by setmaxnreg.dec
  unsigned liveWarps = 0;
  bool exited = false;

  Cta(Cluster &cluster, unsigned rank, const uint32_t (&id)[3]);
  ~Cta();
  uint64_t sharedBase() const { return (uint64_t(rank) << sharedRankShift) + sharedDataStart; }
};

/// SMs of the modelled part (H200: 132); only %nsmid shows it.
constexpr unsigned smCount = 132;

/// Where an address leads.
struct Target {
  uint8_t *data = nullptr;
  uint8_t *shadow = nullptr;
  Cta *owner = nullptr;           ///< shared memory: whose
  const Region *region = nullptr; ///< global memory
  bool readOnly = false;
  FaultId fault = FaultId::OobGlobal; ///< when data is null
};

class Cluster {
public:
  Grid &grid;
  uint64_t index;
  std::vector<std::unique_ptr<Cta>> ctas;
  Engine engine;
  uint64_t events = 1;  ///< moves when a blocked fragment may go on
  uint64_t changes = 1; ///< moves when any state that a poll can see changes
  std::mt19937_64 random;
  ClusterBarrier barrier;
  bool cancelSeen = false;                    ///< a failed cluster launch request was observed
  std::unique_ptr<Races> races;               ///< null unless races are looked for
  std::unique_ptr<TimelineRecorder> timeline; ///< null unless one is wanted

  Cluster(Grid &grid, uint64_t index);
  ~Cluster();

  void event() {
    ++events;
    ++changes;
  }
  /// Resolves an address as seen from `self`; `bytes` must fit inside.
  Target resolve(Cta &self, Space space, uint64_t address, uint64_t bytes, unsigned thread,
                 Region **cache = nullptr);
  /// CTA and window offset of a shared address (window or generic), or null.
  Cta *sharedOwner(Cta &self, uint64_t address, uint64_t &offset);

  enum class Progress : uint8_t { Ran, Idle, Done, Stopped };
  /// Runs every ready fragment once and some engine work.
  Progress step();
  /// Lets suspended waits give up. False if there are none.
  bool timeOutWaits();
  void reportDeadlock();
  uint64_t instructionCount() const;

private:
  /// An order of extremes: some warps run only when no other can, what is asynchronous
  /// happens only when no warp can go on (or none but those), and signals last of all.
  struct Cruelty {
    bool on = false;
    bool starves = false;     ///< whether any warp is slow
    bool byCta = false;       ///< all warps of one CTA, rather than one role of each
    uint64_t which = 0;       ///< the CTA or the role
    bool enginesLast = false; ///< what is asynchronous comes after the slow warps
  };
  Cruelty chooseCruelty() const;
  bool isSlow(const Warp &w) const;
  bool runWarps(bool slowOnes);
  bool runWarp(Warp &w);
  bool finishCta(Cta &cta);
  std::vector<uint8_t> registerStorage;
  std::vector<uint32_t> poisonStorage;
  std::vector<LaneMask> predStorage;
  bool ran = false;      ///< some fragment executed something in this step
  bool switched = false; ///< and gave way although it could go on
  uint64_t pollChanges = 0;
  uint64_t idleRounds = 0;
  uint64_t quietSteps = 0; ///< since a change that a poll can see
  Cruelty cruelty;
  uint64_t timeOuts = 0, timeOutChanges = 0;
};

class Grid {
public:
  const Kernel &kernel;
  Launch launch;
  const Options &options;
  GlobalMemory &memory;
  FaultLog &log;
  Storage params;
  const uint8_t *constants = nullptr;    ///< the kernel's pool, aligned for vector loads
  std::vector<uint64_t> globalAddresses; ///< of Kernel::globals
  std::atomic<uint64_t> globalChanges{1};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> finished{0};
  std::atomic<uint64_t> instructions{0}, flops{0};
  uint64_t clusterCount = 0;
  uint32_t clusterSize[3] = {1, 1, 1};
  bool explicitCluster = false;
  uint64_t sharedBytes = 0;     ///< static + dynamic, from the data start
  uint64_t dynamicOffset = 0;   ///< of dynamic memory
  uint32_t launchRegisters = 0; ///< per thread, 0 = unknown
  std::unique_ptr<GridRaces> races;

  Grid(const Kernel &kernel, const Launch &launch, GlobalMemory &memory, const Options &options,
       FaultLog &log);
  ~Grid();

  /// The next cluster to start, if there is one.
  std::optional<uint64_t> takeCluster();
  /// One that has not started and now never will. Other processors may have started some
  /// before the request got through, as on a machine with many; those run later.
  std::optional<uint64_t> cancelCluster(std::mt19937_64 &random);
  /// Checks the launch and lays memory out; reports and returns false if illegal.
  bool prepare();
  void fault(FaultId id, const llvm::Twine &message);

private:
  std::vector<uint8_t> constantStorage;
  std::mutex queue; ///< guards what follows
  uint64_t nextCluster = 0;
  std::deque<uint64_t> startedElsewhere;
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_MACHINE_H
