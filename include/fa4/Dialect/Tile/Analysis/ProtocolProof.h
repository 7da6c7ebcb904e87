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
};

/// A counterexample: where it shows, and the order of events that leads there.
struct ProtocolFinding {
  mlir::Operation *op = nullptr;
  std::string text;
  std::vector<ProtocolNote> notes;
};

/// Two matrix products that only the target's issue order keeps apart.
struct ProtocolLean {
  mlir::Operation *first;
  mlir::Operation *second;
  bool operator==(const ProtocolLean &other) const {
    return first == other.first && second == other.second;
  }
};

/// Two adjacent accesses to a cell whose order was shown.
struct ProtocolPair {
  EventId first;
  EventId second;
};

struct ProtocolReport {
  std::optional<ProtocolFinding> finding;
  std::vector<ProtocolLean> leans;
  /// One pair of each class (op, op, distance in trips).
  std::vector<ProtocolPair> pairs;
};

/// Checks one run; the report holds the first thing that is wrong.
ProtocolReport checkRun(const ProtocolGraph &graph);

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

/// The largest number of trips that the shortest certificates of the pairs span.
int64_t certificateSpan(const ProtocolGraph &graph, llvm::ArrayRef<ProtocolPair> pairs);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_PROTOCOLPROOF_H
