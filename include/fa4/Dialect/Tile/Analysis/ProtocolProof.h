//===- ProtocolProof.h - what must hold of every run -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pass over a run with a clock per actor and engine: what each event knows has
// happened before it, and which of that its fences carry to it. The checks are P.1
// to P.9 of docs/Dialects/Tile/Protocol.md.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_PROTOCOLPROOF_H
#define FA4_DIALECT_TILE_ANALYSIS_PROTOCOLPROOF_H

#include "fa4/Dialect/Tile/Analysis/ProtocolGraph.h"

#include <map>

namespace fa4::tile {

struct ProtocolNote {
  mlir::Operation *op;
  std::string text;
  /// The event that the note speaks of, if it is one.
  EventId event = kNoEvent;
};

/// A counterexample: where it shows, and the order of events that leads there.
struct ProtocolFinding {
  enum class Kind : uint8_t {
    Other,
    Unordered, ///< notes 0 and 1 (if one: it and `event`) lack an order, or a fence
    Cycle,     ///< notes 2k wait for notes 2k + 1
    Count      ///< the wait of note 0 gets a wrong number of arrivals
  };
  mlir::Operation *op = nullptr;
  std::string text;
  std::vector<ProtocolNote> notes;
  Kind kind = Kind::Other;
  /// Of `op`, where it is known.
  EventId event = kNoEvent;
};

/// Two matrix products that only the target's issue order keeps apart.
struct ProtocolLean {
  mlir::Operation *first;
  mlir::Operation *second;
  bool operator==(const ProtocolLean &other) const {
    return first == other.first && second == other.second;
  }
};

/// Two events whose order was shown: adjacent accesses to a cell, or a wait and an
/// arrival of the phase after or before.
struct ProtocolPair {
  EventId first;
  EventId second;
};

struct ProtocolReport {
  std::optional<ProtocolFinding> finding;
  std::vector<ProtocolLean> leans;
  /// All of the run, if asked for.
  std::vector<ProtocolPair> pairs;
};

/// Checks one run; the report holds the first thing that is wrong.
ProtocolReport checkRun(const ProtocolGraph &graph, bool wantsPairs = false);

/// The loops of a kernel, folded to one trip: an edge weighs the trips that it goes
/// forward. In a cycle of weight 0 or less an event would wait for itself.
class ProtocolLoopGraph {
public:
  /// Takes in the edges between events of loops of a run of one tile.
  void add(const ProtocolGraph &graph);
  /// The ops of a cycle of weight 0 or less, or none.
  llvm::SmallVector<mlir::Operation *> findTokenlessCycle() const;

private:
  unsigned nodeOf(const ProtocolGraph &graph, const ProtocolEvent &event);

  std::map<std::tuple<mlir::Operation *, EventKind, unsigned, int64_t>, unsigned> index;
  std::vector<mlir::Operation *> ops;
  std::map<std::pair<unsigned, unsigned>, int64_t> edges;
};

/// How many trips before and after its first access, or wait, the edges between actors
/// in the certificates of pairs touch.
class CertificateReach {
public:
  /// Makes room for a certificate of each pair of the run.
  void add(const ProtocolGraph &graph, llvm::ArrayRef<ProtocolPair> pairs);
  /// Trips around one that decide the pairs of an event in it, beside its own.
  int64_t getSpan() const;
  /// Tiles from the first to the second of what happens once per tile, at most.
  int64_t getTileDistance() const { return tileDistance; }

private:
  struct Reach {
    int32_t back = 0;
    int32_t ahead = 0;
  };
  llvm::DenseMap<mlir::Operation *, Reach> reaches;
  int64_t tileDistance = 0;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_PROTOCOLPROOF_H
