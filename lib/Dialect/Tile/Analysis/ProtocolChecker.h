//===- ProtocolChecker.h - one run, with clocks -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Actors run one after the other until each waits; the order of events is the same
// for every schedule, so one schedule shows it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_ANALYSIS_PROTOCOLCHECKER_H
#define FA4_LIB_DIALECT_TILE_ANALYSIS_PROTOCOLCHECKER_H

#include "ProtocolMemory.h"

#include "fa4/Dialect/Tile/Analysis/ProtocolProof.h"

#include "llvm/ADT/DenseSet.h"

namespace fa4::tile {

class ProtocolChecker {
public:
  ProtocolChecker(const ProtocolGraph &graph, bool wantsPairs);
  ProtocolReport check();

private:
  /// What a phase's waits learn, and what its next arrivals must know.
  struct PhaseState {
    std::unique_ptr<Knowledge> message;
    unsigned arrived = 0;
    unsigned waited = 0;
  };
  struct Actor {
    explicit Actor(size_t size) : known(kNumKnown, size), startAsync(size, 0), startTmem(size, 0) {}
    Knowledge known;
    /// What the last product that was issued was ordered after.
    Clock startAsync;
    Clock startTmem;
    EventId next = 0;
    EventId end = 0;
    uint32_t time = 0;
    uint32_t loads = 0;
    uint32_t stores = 0;
  };

  void checkCounts();
  bool isReady(const ProtocolEvent &event) const;
  void step(EventId id);
  void doWait(EventId id, Actor &actor);
  void doArrive(EventId id, Actor &actor);
  void doCommit(EventId id, Actor &actor);
  void doCopyDone(EventId id, Actor &actor);
  void doGroupWait(EventId id, Actor &actor);
  void doFence(const ProtocolEvent &event, Actor &actor);
  /// How many kinds of knowledge an arrival or a wait carries beside that of tensor
  /// memory: time comes first.
  unsigned memoryKinds(const ProtocolEvent &event) const;
  void doAccesses(EventId id, Actor &actor);
  void doOptionalAccesses(EventId id, Actor &actor);
  void checkPair(const CellAccess &before, const CellAccess &after, bool adjacent,
                 const Actor &actor);
  void checkFree(const CellAccess &before, EventId id, const Actor &actor);
  void checkSeen(EventId id, ClockRef time);
  void addPair(EventId first, EventId second) {
    if (wantsPairs) {
      result.pairs.push_back({first, second});
    }
  }
  void checkParity(const ProtocolEvent &event);
  void reportRace(const CellAccess &before, const CellAccess &after, bool samePipe);
  void reportFence(const CellAccess &before, const CellAccess &after, Known needed);
  void reportUnwritten(const CellAccess &access);
  void reportForeign(const CellAccess &before, const CellAccess &after);
  void checkDeadlock();
  void checkExit();
  void checkSetup();
  void checkRegisters();

  PhaseState &phaseState(int32_t object, int32_t phase);
  Stamp endOf(EventId id, const MemoryAccess &access, const Actor &actor) const;
  const llvm::SmallVector<EventId, 2> &waitsOf(int32_t object, int32_t phase) const;
  ProtocolFinding &report(mlir::Operation *op, std::string text,
                          ProtocolFinding::Kind kind = ProtocolFinding::Kind::Other);
  void note(ProtocolFinding &finding, EventId id, const llvm::Twine &text);
  std::string accessText(const CellAccess &access) const;
  bool arrivalKnown(EventId arrival, ClockRef time) const;

  const ProtocolGraph &graph;
  const bool wantsPairs;
  const ProtocolModel &model;
  ClockLayout layout;
  ProtocolMemory memory;
  std::vector<Actor> actors;
  std::vector<std::vector<PhaseState>> phases;
  /// Messages that all waits of their phases have read.
  std::vector<std::unique_ptr<Knowledge>> spareMessages;
  /// Waits for the phase before the first, which pass at once.
  std::vector<llvm::SmallVector<EventId, 2>> initialWaits;
  /// Phases of each object at which engines arrive, plus one.
  std::vector<uint32_t> enginePhases;
  /// Local time of program events; the phase at which a copy's Done arrives, at T1.
  std::vector<uint32_t> times;
  /// Objects whose arrivals and waits order tensor memory alone.
  std::vector<bool> relaxed;
  llvm::DenseMap<EventId, Stamp> copyEnds;
  llvm::DenseSet<std::pair<mlir::Operation *, mlir::Operation *>> leanSeen;
  ProtocolReport result;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_ANALYSIS_PROTOCOLCHECKER_H
