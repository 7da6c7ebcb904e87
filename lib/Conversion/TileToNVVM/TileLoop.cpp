//===- TileLoop.cpp - which tiles a CTA computes --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All roles of a CTA must see the same tiles in the same order: each computes the
// work from the same tile number, clamped by its facts, at the head of its loop. Both
// CTAs of a pair have the number of their cluster.
//
//===----------------------------------------------------------------------===//

#include "Frame.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace fa4::tile::gpu {

/// Makes one fact true of `results`.
static void applyFact(OpBuilder &b, Location loc, FactAttr fact, MutableArrayRef<Value> results) {
  auto constant = [&]() -> Value {
    return arith::ConstantOp::create(b, loc,
                                     b.getI32IntegerAttr(static_cast<int32_t>(fact.getConstant())));
  };
  if (fact.isConstantLower()) {
    Value &raised = results[fact.getUpper()];
    raised = arith::MaxSIOp::create(b, loc, raised, constant());
    return;
  }
  Value bound = fact.isConstantUpper() ? constant() : results[fact.getUpper()];
  Value &lowered = results[fact.getLower()];
  lowered = arith::MinSIOp::create(b, loc, lowered, bound);
}

/// The results of `work` for `tile`.
static SmallVector<Value> emitWork(OpBuilder &b, WorkOp work, Value tile,
                                   ArrayRef<Value> arguments) {
  IRMapping mapping;
  mapping.map(work.getBody().getArgument(0), tile);
  for (auto [inner, use] :
       llvm::zip_equal(work.getBody().getArguments().drop_front(), work.getUses())) {
    mapping.map(inner, arguments[kernelArgumentOf(use)]);
  }
  for (Operation &op : work.getBody().front().without_terminator()) {
    b.clone(op, mapping);
  }
  SmallVector<Value> results;
  for (Value value : work.getYield().getValues()) {
    results.push_back(mapping.lookup(value));
  }
  for (auto fact : work.getFacts().getAsRange<FactAttr>()) {
    applyFact(b, work.getLoc(), fact, results);
  }
  return results;
}

/// Moves the body of `loop` to the builder's position, for the tile and carried
/// values of `values`. Returns what it yields.
static SmallVector<Value> emitBody(RewriterBase &b, ForEachTileOp loop, ArrayRef<Value> values) {
  Block *body = &loop.getBody().front();
  YieldOp yield = loop.getYield();
  b.inlineBlockBefore(body, b.getInsertionBlock(), b.getInsertionPoint(), values);
  SmallVector<Value> results(yield.getValues());
  b.eraseOp(yield);
  return results;
}

namespace {
/// The tiles of one CTA or pair, for one role's loop. The work's computation is the same
/// whoever draws.
class TileLoop {
public:
  TileLoop(ForEachTileOp loop, WorkOp work, ArrayRef<Value> arguments, bool ofPair, RewriterBase &b)
      : loop(loop), work(work), arguments(arguments), ofPair(ofPair), b(b), loc(loop.getLoc()) {}

  void lower(WorkKind draw) {
    b.setInsertionPoint(loop);
    Type type = b.getI32Type();
    first = ofPair ? NVVM::ClusterIdXOp::create(b, loc, type).getResult()
                   : NVVM::BlockIdXOp::create(b, loc, type).getResult();
    switch (draw) {
    case WorkKind::OnePerCluster:
      return lowerOne();
    case WorkKind::StaticPersistent:
      return lowerStrided();
    case WorkKind::Dynamic:
      return lowerDrawn();
    }
  }

private:
  void lowerOne();
  void lowerStrided();
  void lowerDrawn();
  /// One tile at the builder's position; what its body yields.
  SmallVector<Value> emitTile(Value number, ValueRange carried) {
    SmallVector<Value> values = emitWork(b, work, number, arguments);
    llvm::append_range(values, carried);
    return emitBody(b, loop, values);
  }

  ForEachTileOp loop;
  WorkOp work;
  ArrayRef<Value> arguments;
  bool ofPair;
  RewriterBase &b;
  Location loc;
  /// The number of this CTA, or pair.
  Value first;
};
} // namespace

void TileLoop::lowerOne() { b.replaceOp(loop, emitTile(first, loop.getInits())); }

void TileLoop::lowerStrided() {
  Type type = b.getI32Type();
  Value step = ofPair ? NVVM::ClusterDimXOp::create(b, loc, type).getResult()
                      : NVVM::GridDimXOp::create(b, loc, type).getResult();
  Value tiles = arguments[kernelArgumentOf(work.getTiles())];
  auto tileLoop = scf::ForOp::create(b, loc, first, tiles, step, loop.getInits(),
                                     [](OpBuilder &, Location, Value, ValueRange) {});
  b.setInsertionPointToEnd(tileLoop.getBody());
  SmallVector<Value> results = emitTile(tileLoop.getInductionVar(), tileLoop.getRegionIterArgs());
  b.setInsertionPointToEnd(tileLoop.getBody());
  scf::YieldOp::create(b, loc, results);
  b.replaceOp(loop, tileLoop.getResults());
}

/// The grid has a CTA for each tile: the first is this CTA's own, the others are those
/// whose CTAs were cancelled in its favour.
void TileLoop::lowerDrawn() {
  SmallVector<Value> inits{first};
  llvm::append_range(inits, loop.getInits());
  auto next = *loop.getBody().front().getOps<NextTileOp>().begin();
  Value number = next.getNumber();
  b.eraseOp(next);
  auto tileLoop = scf::WhileOp::create(
      b, loc, ValueRange(inits).getTypes(), inits,
      [&](OpBuilder &before, Location, ValueRange state) {
        Value zero = arith::ConstantOp::create(before, loc, before.getI32IntegerAttr(0));
        Value isTile =
            arith::CmpIOp::create(before, loc, arith::CmpIPredicate::sge, state[0], zero);
        scf::ConditionOp::create(before, loc, isTile, state);
      },
      [](OpBuilder &, Location, ValueRange) {});
  Block *body = tileLoop.getAfterBody();
  b.setInsertionPointToEnd(body);
  SmallVector<Value> results = emitTile(body->getArgument(0), body->getArguments().drop_front());
  b.setInsertionPointToEnd(body);
  results.insert(results.begin(), number);
  scf::YieldOp::create(b, loc, results);
  b.replaceOp(loop, tileLoop.getResults().drop_front());
}

void lowerTileLoop(ForEachTileOp loop, WorkOp work, ArrayRef<Value> arguments, WorkKind draw,
                   bool ofPair, RewriterBase &b) {
  TileLoop(loop, work, arguments, ofPair, b).lower(draw);
}

} // namespace fa4::tile::gpu
