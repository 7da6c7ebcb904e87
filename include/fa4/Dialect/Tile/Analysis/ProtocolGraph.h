//===- ProtocolGraph.h - happens-before of one run of a kernel -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For a given sequence of tiles every event of every actor is known, and with it
// who waits for which arrivals: one partial order. The edges of an event are its
// predecessor in its actor's program first, then the arrivals it waits for, or the
// operations whose completion it reports.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_PROTOCOLGRAPH_H
#define FA4_DIALECT_TILE_ANALYSIS_PROTOCOLGRAPH_H

#include "fa4/Dialect/Tile/Analysis/ProtocolModel.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fa4::tile {

using EventId = uint32_t;
constexpr EventId kNoEvent = ~0U;

enum class EventKind : uint8_t {
  Wait,      // for a phase of an object
  Arrive,    // of threads, at a phase of an object
  Access,    // synchronous
  Fence,     // see ProtocolEvent::fences
  Issue,     // of an asynchronous op; its accesses last until its Done
  Done,      // of an asynchronous op; a copy's arrives at a phase
  Commit,    // an engine's arrival, after the completions it reports
  GroupWait, // of an actor, for operations of a stream
  Free       // of tensor memory
};

/// How an access reaches memory, which decides the fences that order it.
enum class AccessKind : uint8_t { Generic, Async, Tmem };

struct MemoryAccess {
  unsigned region;
  unsigned footprint;
  AccessKind kind;
  bool reads;
  bool writes;
  /// The warp whose rows are touched; -1: all rows.
  int8_t warp;
};

struct ProtocolEvent {
  mlir::Operation *op;
  EventKind kind;
  uint8_t fences = 0;
  uint16_t actor = 0;
  /// -1 before and after the tile loop.
  int32_t tile = -1;
  /// The trip of the loop around it, the last one of it after it.
  int32_t trip = 0;
  /// Whether it stands in a loop of the tile, and so happens once per trip.
  bool perTrip = false;
  int32_t object = -1;
  /// Of the object; below 0 nothing is waited for.
  int32_t phase = 0;
  /// The stream of an asynchronous op, or of a GroupWait or Commit on it.
  int32_t stream = -1;
  /// Issue, Done: its number in the stream. Commit, GroupWait: how many of the
  /// stream are complete at least.
  uint32_t order = 0;
  uint32_t firstAccess = 0;
  uint32_t numAccesses = 0;
};

struct ProtocolPhase {
  llvm::SmallVector<EventId, 4> arrivals;
  llvm::SmallVector<EventId, 2> waits;
  /// Arrivals of all threads and engines, and bytes announced and brought.
  int64_t weight = 0;
  int64_t announced = 0;
  int64_t brought = 0;
};

/// What is waited for: an mbarrier, a named barrier or the meeting of a role at T2,
/// a half of a channel at T1.
struct ProtocolObject {
  enum class Kind : uint8_t { Mbarrier, Named, Meeting, Full, Empty };
  Kind kind;
  mlir::Operation *symbol;
  int64_t element;
  int64_t slot;
  int64_t cta;
  /// Weight that completes a phase; at T1 the same for all phases.
  int64_t count;
  /// Generations that are full at the start (T1).
  int64_t starts = 0;
  std::vector<ProtocolPhase> phases;
};

/// A row of asynchronous operations that complete together or in order.
struct ProtocolStream {
  enum class Kind : uint8_t { Mma, Wgmma, Bulk, Copy };
  Kind kind;
  unsigned actor;
  /// Done event of each operation.
  std::vector<EventId> done;
};

class ProtocolGraph {
public:
  /// Unrolls the run. Fails after an error if the kernel cannot be unrolled.
  /// Without `ordered`, order() and instances() know nothing.
  static mlir::FailureOr<ProtocolGraph> build(ProtocolModel &model, const ProtocolRun &run,
                                              bool ordered = true);

  ProtocolModel *model = nullptr;
  ProtocolRun run;
  std::vector<ProtocolEvent> events;
  std::vector<MemoryAccess> accesses;
  std::vector<ProtocolObject> objects;
  std::vector<ProtocolStream> streams;
  /// Events of actor a are [actorBegin[a], actorBegin[a + 1]).
  std::vector<EventId> actorBegin;
  /// First trip of each tile when trips are counted through, and one past the last.
  std::vector<int32_t> tileBegin;

  /// Program predecessor first (kNoEvent if none), then the others.
  llvm::ArrayRef<EventId> edges(EventId event) const {
    return llvm::ArrayRef<EventId>(edgePool).slice(edgeBegin[event],
                                                   edgeBegin[event + 1] - edgeBegin[event]);
  }
  llvm::ArrayRef<MemoryAccess> accessesOf(const ProtocolEvent &event) const {
    return llvm::ArrayRef<MemoryAccess>(accesses).slice(event.firstAccess, event.numAccesses);
  }
  /// An order of all events that respects the edges; fewer events if there is none.
  llvm::ArrayRef<EventId> order() const { return topological; }
  /// The other direction: events with an edge from event e are
  /// targets[begin[e] .. begin[e + 1] - 1].
  struct Followers {
    std::vector<uint32_t> begin;
    std::vector<EventId> targets;
    llvm::ArrayRef<EventId> of(EventId event) const {
      return llvm::ArrayRef<EventId>(targets).slice(begin[event], begin[event + 1] - begin[event]);
    }
  };
  Followers followers() const;
  bool hasCycle() const { return topological.size() != events.size(); }

  /// The events of `op`, by actor and then in program order.
  llvm::ArrayRef<EventId> instances(mlir::Operation *op) const;

  /// What an arrival reports: all that its thread did before, the completions a
  /// commit stands for, a copy's own completion. Thread arrivals are themselves the
  /// last of what they report.
  llvm::SmallVector<EventId> reportedBy(EventId arrival) const;

  /// Rule R1 on this run: with the edges into the waits of all `ops` removed, still
  /// everything that their awaited arrivals report precedes them. `firstMissing`
  /// gets a wait for which it does not. True if none of `ops` occurs.
  bool isImplied(llvm::ArrayRef<mlir::Operation *> ops, EventId *firstMissing = nullptr) const;

  /// Rule R3 (iv) on this run: every wait for phase g of one of `objects` precedes
  /// every arrival at phase g + 1 of each of them.
  bool hasNoEarlyArrival(llvm::ArrayRef<unsigned> objects) const;

  /// Indices of the objects of `symbol`, an op of the kernel.
  llvm::SmallVector<unsigned> objectsOf(mlir::Operation *symbol) const;

  /// Whether all arrivals and bytes of the phase come.
  bool isComplete(const ProtocolObject &object, int64_t phase) const;

  /// Trips counted through all tiles; before the first tile -1.
  int32_t position(const ProtocolEvent &event) const {
    return event.tile < 0 ? -1 : tileBegin[event.tile] + event.trip;
  }

  /// "tile 0, trip 2: role @mma" of the event, for notes.
  std::string describe(EventId event) const;
  std::string describe(const ProtocolObject &object) const;
  /// "@S[1]": view and element.
  std::string describe(const MemoryAccess &access) const;

private:
  friend class ProtocolUnroller;
  void addEdges();
  void sort();

  /// Edges that the unrolling knows besides those of phases and streams.
  std::vector<std::pair<EventId, EventId>> extraEdges;
  std::vector<EventId> previous;
  std::vector<uint32_t> edgeBegin;
  std::vector<EventId> edgePool;
  std::vector<EventId> topological;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<EventId>> byOp;
};

/// Which events precede which, with some edges left out.
class ProtocolClosure {
public:
  /// Edges into the waits of `without` are left out, their program edges kept.
  explicit ProtocolClosure(const ProtocolGraph &graph,
                           llvm::ArrayRef<mlir::Operation *> without = {});
  /// Whether `first` happens before `second`; an event does not precede itself.
  bool precedes(EventId first, EventId second) const {
    return first != second && (row(second)[first / 64] >> (first % 64) & 1);
  }

private:
  const uint64_t *row(EventId event) const { return bits.get() + size_t(event) * words; }
  size_t words;
  /// A row per event; not zeroed, since each row starts as a copy.
  std::unique_ptr<uint64_t[]> bits;
};

/// Tiles that make the same events, but for the ops behind them.
struct ProtocolLetter {
  int64_t trips;
  std::vector<TileNumbers> tiles;
};

/// All letters of at most `trips` trips.
mlir::FailureOr<std::vector<ProtocolLetter>> protocolLetters(ProtocolModel &model, int64_t trips);

/// Runs that show how a kernel's events lie to each other, though not for all lengths:
/// every word of up to 5 trips and every tile of up to 3; the letters of `trips` trips,
/// and words of about as many in few or in equal tiles. None after an error.
std::vector<ProtocolRun> protocolRuns(ProtocolModel &model, int64_t trips);

/// The words over `letters` with `least` to `trips` trips in total, the letters, and the
/// empty word, shortest first; of one letter if a CTA has one tile. Stops after more
/// than `limit`.
std::vector<ProtocolRun> protocolWords(ProtocolModel &model, llvm::ArrayRef<ProtocolLetter> letters,
                                       int64_t trips, size_t limit = 100000, int64_t least = 2);

/// A few long runs in which every word of `trips` trips occurs, over all letters of up to
/// one trip more; none if tiles of equal length make different events, or a CTA has
/// one tile.
std::vector<ProtocolRun> protocolLongRuns(ProtocolModel &model,
                                          llvm::ArrayRef<ProtocolLetter> letters, int64_t trips);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_PROTOCOLGRAPH_H
