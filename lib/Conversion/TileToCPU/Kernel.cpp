//===- Kernel.cpp - kernels and their tile loops on the host --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel becomes a function. Its tiles are dealt in turn to a fixed number of
// iterations of one scf.parallel, each with an arena of its own, so no tile
// waits for memory and no result depends on who computes it. A tile loop that
// carries values runs in order.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fa4::tile::cpu {

MemRefType getGlobalArgumentType(GlobalType type, bool unitInner) {
  SmallVector<int64_t> shape(type.getRank(), ShapedType::kDynamic);
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  if (unitInner) {
    strides.back() = 1;
  }
  return MemRefType::get(
      shape, type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), /*offset=*/ShapedType::kDynamic, strides));
}

static GlobalView viewOf(ImplicitLocOpBuilder &b, Value memref) {
  GlobalView view{memref, {}};
  Value zero = indexConstant(b, 0);
  for (int64_t dim = 0; dim < cast<MemRefType>(memref.getType()).getRank(); ++dim) {
    view.dims.push_back(
        GlobalDim{zero, zero, memref::DimOp::create(b, memref, indexConstant(b, dim))});
  }
  return view;
}

/// Makes one fact true of `results`.
static void applyFact(ImplicitLocOpBuilder &b, FactAttr fact, MutableArrayRef<Value> results) {
  auto constant = [&]() -> Value {
    return arith::ConstantOp::create(b,
                                     b.getI32IntegerAttr(static_cast<int32_t>(fact.getConstant())));
  };
  if (fact.isConstantLower()) {
    Value &raised = results[fact.getUpper()];
    raised = arith::MaxSIOp::create(b, raised, constant());
    return;
  }
  Value bound = fact.isConstantUpper() ? constant() : results[fact.getUpper()];
  Value &lowered = results[fact.getLower()];
  lowered = arith::MinSIOp::create(b, lowered, bound);
}

/// The work's results for tile `index` (i32).
static FailureOr<SmallVector<Value>> emitWork(Lowering &lowering, WorkOp work, Value index) {
  Block &body = work.getBody().front();
  lowering.bind(body.getArgument(0), index);
  for (auto [use, argument] : llvm::zip_equal(work.getUses(), body.getArguments().drop_front())) {
    lowering.alias(use, argument);
  }
  if (failed(lowering.lowerBlock(body))) {
    return failure();
  }
  SmallVector<Value> results = llvm::map_to_vector(
      work.getYield().getValues(), [&](Value value) { return lowering.lookup(value); });
  ImplicitLocOpBuilder b = lowering.at(work.getLoc());
  for (FactAttr fact : work.getFacts().getAsRange<FactAttr>()) {
    applyFact(b, fact, results);
  }
  return results;
}

/// One tile: its work, then its body.
static LogicalResult emitTile(Lowering &lowering, ForEachTileOp loop, WorkOp work, Value index) {
  ImplicitLocOpBuilder b = lowering.at(loop.getLoc());
  Value number = arith::IndexCastOp::create(b, b.getI32Type(), index);
  FailureOr<SmallVector<Value>> results = emitWork(lowering, work, number);
  if (failed(results)) {
    return failure();
  }
  for (auto [argument, result] : llvm::zip_equal(loop.getTileArgs(), *results)) {
    lowering.bind(argument, result);
  }
  return lowering.lowerBlock(loop.getBody().front());
}

static LogicalResult lowerTileLoop(Lowering &lowering, ForEachTileOp loop, WorkOp work,
                                   int64_t &arenaBytes) {
  if (!loop.getInits().empty()) {
    return loop.emitOpError("expected a tile loop on the host to carry no values, but got ")
           << loop.getInits().size();
  }
  ImplicitLocOpBuilder b = lowering.at(loop.getLoc());
  Value zero = indexConstant(b, 0);
  Value one = indexConstant(b, 1);
  Value tiles = arith::IndexCastOp::create(b, b.getIndexType(), lowering.lookup(work.getTiles()));
  tiles = arith::MaxSIOp::create(b, tiles, zero);
  Value workers = arith::MinSIOp::create(b, tiles, indexConstant(b, lowering.options.workers));
  auto parallel =
      scf::ParallelOp::create(b, ValueRange{zero}, ValueRange{workers}, ValueRange{one});
  ImplicitLocOpBuilder inner(loop.getLoc(), b.getContext());
  inner.setInsertionPointToStart(parallel.getBody());
  auto arena = memref::AllocOp::create(inner, MemRefType::get({1}, inner.getI8Type()));
  arena.setAlignment(64);
  auto tileLoop = scf::ForOp::create(inner, parallel.getInductionVars().front(), tiles, workers);
  memref::DeallocOp::create(inner, arena);

  lowering.builder.setInsertionPointToStart(tileLoop.getBody());
  size_t firstBuffer = lowering.getBuffers().size();
  if (failed(emitTile(lowering, loop, work, tileLoop.getInductionVar()))) {
    return failure();
  }
  int64_t bytes = placeBuffers(*tileLoop.getBody(), arena.getResult(),
                               lowering.getBuffers().drop_front(firstBuffer));
  arena.getResult().setType(MemRefType::get({bytes}, inner.getI8Type()));
  arenaBytes = std::max(arenaBytes, bytes);
  lowering.builder.setInsertionPointAfter(parallel);
  return success();
}

LogicalResult lowerKernel(KernelOp kernel, ArrayRef<bool> unitInner, bool isPrivate,
                          const Options &options, int64_t &numSteps, int64_t &arenaBytes) {
  OpBuilder builder(kernel);
  SmallVector<Type> types;
  for (auto [argument, unit] : llvm::zip_equal(kernel.getEntry()->getArguments(), unitInner)) {
    auto global = dyn_cast<GlobalType>(argument.getType());
    types.push_back(global ? getGlobalArgumentType(global, unit) : argument.getType());
  }
  auto function = func::FuncOp::create(builder, kernel.getLoc(), kernel.getSymName(),
                                       builder.getFunctionType(types, {}));
  if (isPrivate) {
    function.setPrivate();
  }
  builder.setInsertionPointToStart(function.addEntryBlock());
  Lowering lowering(builder, options);
  for (auto [from, to] :
       llvm::zip_equal(kernel.getEntry()->getArguments(), function.getArguments())) {
    if (isa<GlobalType>(from.getType())) {
      ImplicitLocOpBuilder b = lowering.at(kernel.getLoc());
      lowering.bindGlobal(from, viewOf(b, to));
    } else {
      lowering.bind(from, to);
    }
  }
  for (Operation &op : *kernel.getEntry()) {
    if (isa<WorkOp, DefOp, AllocOp, ViewOp, ChannelOp>(op)) {
      continue;
    }
    if (auto loop = dyn_cast<ForEachTileOp>(op)) {
      if (failed(lowerTileLoop(lowering, loop, kernel.getWork(), arenaBytes))) {
        return failure();
      }
      continue;
    }
    if (llvm::any_of(op.getResultTypes(), [](Type type) { return isa<FragType>(type); })) {
      return op.emitOpError(
          "expected tiles to be made inside the tile loop, but got one before it");
    }
    if (failed(lowering.lowerOp(&op))) {
      return failure();
    }
  }
  func::ReturnOp::create(builder, kernel.getLoc());
  numSteps += lowering.numSteps;
  kernel.erase();
  return success();
}

} // namespace fa4::tile::cpu
