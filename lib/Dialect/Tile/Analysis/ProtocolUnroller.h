//===- ProtocolUnroller.h - from roles to events -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Control flow is the same at T1 and T2; which events an op makes is not.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_ANALYSIS_PROTOCOLUNROLLER_H
#define FA4_LIB_DIALECT_TILE_ANALYSIS_PROTOCOLUNROLLER_H

#include "fa4/Dialect/Tile/Analysis/ProtocolGraph.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <map>
#include <tuple>

namespace fa4::tile {

/// What the unrolling knows of a value: an integer; a cursor that was advanced
/// `number` times; a token of generation `number`; the Done event of an async.
struct ProtocolValue {
  int64_t number = 0;
  bool credit = false;
  /// Of a token.
  ChannelOp channel = {};
  int64_t element = 0;
};

class ProtocolUnroller {
public:
  ProtocolUnroller(ProtocolModel &model, ProtocolGraph &graph, bool &failed)
      : model(model), graph(graph), failed(failed) {}
  virtual ~ProtocolUnroller() = default;

  void run();

protected:
  /// Makes the events of one op.
  virtual void visit(mlir::Operation *op) = 0;
  /// After the program of each actor, and after all of them.
  virtual void finishActor() {}
  virtual void finishAll() {}

  const ProtocolActor &actor() const { return model.actors[current]; }
  /// Whether this actor does what one warp of its role does.
  bool isFirstWarp() const { return actor().warp == 0; }

  std::optional<ProtocolValue> get(mlir::Value value) const;
  void set(mlir::Value value, ProtocolValue known) { values[value] = known; }
  /// An integer that must be known; 0 after an error if it is not.
  int64_t require(mlir::Operation *op, mlir::Value value, llvm::StringRef what);

  EventId addEvent(mlir::Operation *op, EventKind kind);
  /// An event of an engine, after `before`, not in the actor's program.
  EventId addEngineEvent(mlir::Operation *op, EventKind kind, EventId before);
  void addEdge(EventId from, EventId to) { graph.extraEdges.emplace_back(from, to); }
  void addAccess(EventId event, const MemoryAccess &access);
  unsigned object(ProtocolObject::Kind kind, mlir::Operation *symbol, int64_t element, int64_t slot,
                  int64_t cta, int64_t count);
  void arrive(EventId event, unsigned object, int64_t phase, int64_t weight);
  void waitFor(EventId event, unsigned object, int64_t phase);
  unsigned stream(ProtocolStream::Kind kind) { return stream(kind, current); }
  unsigned stream(ProtocolStream::Kind kind, unsigned owner);
  ProtocolPhase &phaseOf(unsigned object, int64_t phase);
  /// The end of what `issue` started, as the next in the order of `stream`.
  EventId addDone(mlir::Operation *op, EventId issue, unsigned stream);
  /// Whether a product starts from zero. Not known: it does not, and so reads and
  /// writes, which conflicts with everything.
  bool startsFromZero(bool overwrite, mlir::Value unless) const;
  /// The CTAs whose memories the actor's products read and write.
  llvm::SmallVector<int64_t, 2> homesOfProducts() const;

  ProtocolModel &model;
  ProtocolGraph &graph;
  bool &failed;
  unsigned current = 0;
  int32_t tile = -1;
  int32_t trip = 0;
  int loopDepth = 0;
  EventId last = kNoEvent;

private:
  void walk(mlir::Block *block);
  void walkFor(mlir::scf::ForOp loop);
  void walkIf(mlir::scf::IfOp branch);
  void walkTiles(ForEachTileOp tiles);
  void copy(mlir::ValueRange from, mlir::ValueRange to);

  llvm::DenseMap<mlir::Value, ProtocolValue> values;
  llvm::DenseMap<std::tuple<mlir::Operation *, int64_t, int64_t, int64_t, int>, unsigned>
      objectIndex;
  llvm::DenseMap<std::pair<unsigned, int>, unsigned> streamIndex;
};

std::unique_ptr<ProtocolUnroller> createPlacedUnroller(ProtocolModel &model, ProtocolGraph &graph,
                                                       bool &failed);
std::unique_ptr<ProtocolUnroller> createChannelUnroller(ProtocolModel &model, ProtocolGraph &graph,
                                                        bool &failed);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_ANALYSIS_PROTOCOLUNROLLER_H
