//===- Races.h - the race detector ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/Simulator-races.md says what each instruction adds to the order of events.
// The detector watches one run and reports every pair of conflicting accesses that
// this order leaves open, whether or not the run itself was unlucky. Lanes of a
// warp are one actor: what they do to each other is not judged.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_RACES_H
#define FA4_LIB_SIMULATOR_RACES_H

#include "Machine.h"
#include "RaceShadow.h"

#include "llvm/ADT/DenseSet.h"

namespace fa4::sim {

/// What an asynchronous operation knew when it was issued, and where it stands.
struct RaceTicket {
  Clock generic, shared, global, tensor;
  Clock handedOn; ///< by completion at an mbarrier
  Epoch read, write;
  RaceKind kind = RaceKind::Bulk;
  uint32_t tag = 0, serial = 0;
};

/// State of all clusters of a grid. They run on one host thread.
class GridRaces {
public:
  /// Messages in words of global memory, by host address.
  struct Word {
    ForeignClocks generic, shared, global, tensor, inits;
    uint8_t scope = 0;
  };

  RacePages &pagesOf(const Region &region) {
    std::unique_ptr<RacePages> &pages = memory[&region];
    if (!pages) {
      pages = std::make_unique<RacePages>();
    }
    return *pages;
  }
  /// True the first time.
  bool isNew(const Inst *now, const Inst *before) { return reported.insert({now, before}).second; }

  llvm::DenseMap<const void *, Word> words;
  size_t errors = 0; ///< reported so far

private:
  llvm::DenseMap<const Region *, std::unique_ptr<RacePages>> memory;
  llvm::DenseSet<std::pair<const Inst *, const Inst *>> reported;
};

class Races {
public:
  Races(Cluster &cluster, GridRaces &grid);
  ~Races();

  //===- Accesses ---------------------------------------------------------===//
  void access(Warp &w, const Inst &i, const Target &t, uint64_t bytes, Access kind, unsigned lane);
  /// What a strong access of the word acquires and releases.
  void order(Warp &w, const Inst &i, const Target &t, bool reads, bool writes);
  void access(AsyncOp &op, const Target &t, uint64_t bytes, bool write, bool strong = false);
  /// An operand of a tensor core, at an offset of the CTA's shared memory.
  void readOperand(AsyncOp &op, Cta &cta, uint64_t offset, uint64_t bytes);
  /// Lanes of one quarter of a column of tensor memory.
  void tensorAccess(AsyncOp &op, Cta &cta, unsigned column, unsigned quarter, uint32_t lanes,
                    bool write);
  /// tcgen05.ld and st: a new operation, then its columns.
  void beginTensorAccess(Warp &w, bool write);
  void tensorAccess(Warp &w, const Inst &i, unsigned column, uint32_t lanes, bool write);
  /// Counts as a write that is complete.
  void allocate(Warp &w, const Inst &i, unsigned column, unsigned columns);
  void deallocate(Warp &w, const Inst &i, unsigned column, unsigned columns);

  //===- Fences -----------------------------------------------------------===//
  void fence(Warp &w, bool acquires, bool releases);
  void fenceProxy(Warp &w, bool shared, bool global);
  void fenceInit(Warp &w);
  void fenceTensor(Warp &w, bool before);
  void waitTensor(Warp &w, bool stores);

  //===- Barriers ---------------------------------------------------------===//
  void initBarrier(Warp &w, Mbarrier &b);
  /// Whether the initialisation is ordered before what the warp does now; false once.
  bool sees(const Warp &w, const Mbarrier &b);
  /// Whether the asynchronous proxy sees the initialisation too; false once.
  bool copySees(const Warp &w, const Mbarrier &b);
  /// `wide`: at .cluster scope. `owner` is the CTA that has the mbarrier.
  void arrive(Warp &w, const Mbarrier &b, const Cta &owner, bool relaxed, bool wide);
  void wait(Warp &w, const Mbarrier &b, bool relaxed, bool wide);
  void phaseDone(const Mbarrier &b);
  void namedArrive(Warp &w, unsigned barrier, bool waits);
  void namedDone(const Cta &cta, unsigned barrier);
  void clusterArrive(Warp &w, bool relaxed);
  void clusterDone();
  void clusterWait(Warp &w);

  //===- Asynchronous operations ------------------------------------------===//
  /// Called before an operation is handed to the engine.
  void issue(AsyncOp &op, RaceKind kind);
  /// What an operation of a tensor pipe is ordered with: see RaceRecord::tag.
  static void tag(AsyncOp &op, uint32_t tag) { op.races->tag = tag; }
  /// A further warp takes part in it: only what all of them know is ordered before it.
  void joinIssue(AsyncOp &op, Warp &w);
  /// The operation is about to complete in the present phase of this mbarrier.
  void completesAt(AsyncOp &op, const Mbarrier &b);
  void commitBulk(Warp &w, unsigned lane);
  void waitBulk(Warp &w, unsigned lane, uint64_t allowed, bool readsOnly);
  void commitCopies(Warp &w);
  void waitCopies(Warp &w, uint64_t allowed);
  void waitAllCopies(Warp &w);
  /// cp.async.mbarrier.arrive: what the thread has copied so far arrives.
  uint32_t copiesSoFar(const Warp &w);
  void copiesArrive(const Warp &w, const Mbarrier &b, uint32_t copies);
  /// tcgen05.commit: what the thread has issued so far arrives.
  uint32_t issuedSoFar(const Warp &w, unsigned lane);
  void commitArrive(const Warp &w, unsigned lane, const Mbarrier &b, uint32_t issued);
  void waitWgmma(Warp &w, uint64_t performed);

private:
  struct WarpClocks {
    Views views;    ///< `tensor` is what may be exported
    Clock tensor;   ///< ordered before the next tcgen05 operation
    Clock imported; ///< the same, but for a fence::after_thread_sync
    Views unfenced; ///< read by relaxed loads: a fence is missing
    Views outside;  ///< of other CTAs' arrivals that a scope kept away
    Views fenced;   ///< what relaxed stores publish
    bool hasFenced = false;
    bool bump = true; ///< the clock was published: the next access is later
    uint32_t loads = 0, stores = 0, copies = 0; ///< issued
    uint32_t published = 0;                     ///< own clock when it was last released
    std::vector<uint32_t> copyMarks;            ///< cp.async issued when each group was committed
    Channel loadChannel = 0, storeChannel = 0, copyChannel = 0;
  };
  /// Bulk groups of one thread.
  struct Queue {
    Channel reads = 0, writes = 0;
    uint32_t issued = 0;
    std::vector<uint32_t> marks; ///< issued when each group was committed
  };
  /// Matrix operations of one thread, or warpgroup. For tcgen05 the channel after
  /// `done` says what was issued.
  struct Pipe {
    Channel done = 0;
    uint32_t issued = 0;
    Clock generic, tensor; ///< what the newest operation hands on at its commit
  };
  /// What arrivals hand on, by how far: all waits are in the CTA of the mbarrier.
  struct Arrivals {
    Views near;          ///< from that CTA, or at the end of an asynchronous operation
    Views far;           ///< from another CTA at .cluster scope
    Views narrow;        ///< from another CTA at .cta scope, which does not reach
    bool remote = false; ///< the last two hold something
  };
  struct Barrier {
    Arrivals arriving, done;
    Channel channel = 0;
    uint32_t phases = 0;
    Epoch init;
    bool judged = false, copyJudged = false;
  };
  struct Named {
    Views arriving;
    llvm::SmallVector<Warp *, 16> waiting;
  };
  struct Word {
    Views message;
    uint8_t scope = 0;
    unsigned rank = 0;
  };
  struct CtaShadow {
    std::vector<RaceCell> shared;
    std::vector<RaceCell> tensor; ///< column by column; made when needed
  };
  /// An access that is being checked.
  struct Current {
    RaceRecord record;
    const Clock *generic = nullptr;
    const Clock *async = nullptr;  ///< operations of the async proxy
    const Clock *tensor = nullptr; ///< accesses of tensor memory
    const Warp *warp = nullptr;
    LaneMask lanes = 0;
  };
  struct Place {
    const Cta *cta = nullptr; ///< of shared or tensor memory
    const Region *region = nullptr;
    uint64_t at = 0; ///< byte offset, or number of a cell of tensor memory
    bool tensor = false;
  };

  unsigned number(const Warp &w) const { return w.cta->rank * warpsPerCta + w.index; }
  WarpClocks &clocks(const Warp &w) { return warps[number(w)]; }
  uint32_t tick(Warp &w);
  Channel newChannels(unsigned count);
  void release(Warp &w, Views &to, bool relaxed);
  void acquire(Warp &w, const Views &from, bool relaxed);
  void acquireAll(WarpClocks &c, const Views &from);
  void import(WarpClocks &c, const Clock &tensor);
  Clock handedOn(const Warp &w, Clock known);
  Queue &queue(const Warp &w, unsigned lane);
  Pipe &pipe(const Warp &w, unsigned lane);
  Pipe &wgmmaPipe(const Warp &w);

  bool knows(const Clock &clock, const RaceRecord &r) const;
  bool ordered(const Current &now, const RaceRecord &r) const;
  static bool needsProxyFence(const Current &now, const RaceRecord &r);
  void check(RaceCell &cell, const Current &now, const Place &place);
  void checkBytes(Place place, uint64_t bytes, Current &now);
  static bool placeOf(const Target &t, Place &place);
  RaceCell &tensorCell(const Cta &cta, unsigned column, unsigned quarter);
  Current currentOf(const AsyncOp &op, bool write, bool global) const;

  // RaceReport.cpp
  void report(const Current &now, const RaceRecord &r, const Place &place);
  bool onlyPipe(const Current &now, const RaceRecord &r) const;
  FaultId classify(const Current &now, const RaceRecord &r) const;
  std::string missing(const Current &now, const RaceRecord &r) const;
  std::string missingTensor(const Current &now, const RaceRecord &r) const;
  std::string describeWarp(const RaceRecord &r) const;
  std::string describePlace(const Place &place, uint32_t mask) const;

  Cluster &cluster;
  GridRaces &grid;
  unsigned warpsPerCta;
  Channel channels = 0;
  std::vector<WarpClocks> warps;
  std::vector<CtaShadow> ctas;
  std::vector<std::unique_ptr<Barrier>> barriers;
  std::vector<Named> named; ///< sixteen per CTA
  Views clusterArriving, clusterMessage;
  llvm::DenseMap<unsigned, Queue> queues;    ///< by thread of the cluster
  llvm::DenseMap<unsigned, Pipe> pipes;      ///< by thread of the cluster
  llvm::DenseMap<unsigned, Pipe> wgmmaPipes; ///< by warpgroup
  llvm::DenseMap<const void *, Word> words;  ///< of shared memory
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_RACES_H
