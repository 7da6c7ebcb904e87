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

void lowerTileLoop(ForEachTileOp loop, WorkOp work, ArrayRef<Value> arguments, bool persistent,
                   bool ofPair, RewriterBase &b) {
  Location loc = loop.getLoc();
  b.setInsertionPoint(loop);
  Type type = b.getI32Type();
  Value first = ofPair ? NVVM::ClusterIdXOp::create(b, loc, type).getResult()
                       : NVVM::BlockIdXOp::create(b, loc, type).getResult();
  if (!persistent) {
    SmallVector<Value> values = emitWork(b, work, first, arguments);
    llvm::append_range(values, loop.getInits());
    b.replaceOp(loop, emitBody(b, loop, values));
    return;
  }
  Value step = ofPair ? NVVM::ClusterDimXOp::create(b, loc, type).getResult()
                      : NVVM::GridDimXOp::create(b, loc, type).getResult();
  Value tiles = arguments[kernelArgumentOf(work.getTiles())];
  auto tileLoop = scf::ForOp::create(b, loc, first, tiles, step, loop.getInits(),
                                     [](OpBuilder &, Location, Value, ValueRange) {});
  b.setInsertionPointToEnd(tileLoop.getBody());
  SmallVector<Value> values = emitWork(b, work, tileLoop.getInductionVar(), arguments);
  llvm::append_range(values, tileLoop.getRegionIterArgs());
  SmallVector<Value> results = emitBody(b, loop, values);
  b.setInsertionPointToEnd(tileLoop.getBody());
  scf::YieldOp::create(b, loc, results);
  b.replaceOp(loop, tileLoop.getResults());
}

} // namespace fa4::tile::gpu
