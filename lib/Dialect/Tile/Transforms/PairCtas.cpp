//===- PairCtas.cpp - tile-pair-ctas ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program of a pair, one logical thread, becomes that of each of its CTAs. What has
// a row per query lies by halves of the rows; what products take as second operand by
// halves of the product's columns, which the matrix unit reads from both. Everything
// else is computed twice. Only positions tell the two apart: half `rank` of tile i is
// tile 2 i + rank of a grid of halves.
//
//===----------------------------------------------------------------------===//

#include "StepSources.h"

#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILEPAIRCTAS
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

static constexpr int64_t kCtas = 2;

namespace {
class Pairing {
public:
  Pairing(KernelOp kernel, int64_t rows) : kernel(kernel), builder(kernel), rows(rows) {}

  LogicalResult run();

private:
  /// A second operand of a product, or a value that it is made of.
  LogicalResult shareOperand(Value value, unsigned dim);
  LogicalResult shareSource(Value value, unsigned dim);
  bool isSplit(Value value) const {
    auto tile = dyn_cast<FragType>(value.getType());
    return tile && tile.getShape()[0] == rows && !shared.contains(value);
  }
  void splitRows();
  LogicalResult placeOps();
  LogicalResult placeCopy(Operation *op, Value global, MutableOperandRange coordinates,
                          unsigned tileDim);
  LogicalResult seeHalves(Value global, unsigned dim, Operation *op);
  void placeMask(MaskOp mask);
  void placeMap(MapOp map);
  void updateTypes();
  /// The rank, as an argument of the def in which `op` stands.
  Value rankAt(Operation *op);
  Value half(Value index, Operation *op);
  Value constant(int64_t value) {
    return arith::ConstantOp::create(builder, kernel.getLoc(), builder.getI32IntegerAttr(value));
  }

  KernelOp kernel;
  OpBuilder builder;
  int64_t rows;
  /// Values of which each CTA holds half of the given dimension.
  llvm::MapVector<Value, unsigned> shared;
  /// The dimension along which a tensor is seen by halves.
  DenseMap<Value, unsigned> halved;
  DenseMap<Operation *, Value> ranks;
};
} // namespace

/// `type` with half of dimension `dim`.
static FragType halve(FragType type, unsigned dim) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= kCtas;
  return FragType::get(type.getContext(), shape, type.getElementType());
}

//===----------------------------------------------------------------------===//
// Second operands
//===----------------------------------------------------------------------===//

LogicalResult Pairing::shareOperand(Value value, unsigned dim) {
  for (Value source : getSources(value, kernel)) {
    auto [known, isNew] = shared.insert({source, dim});
    if (known->second != dim) {
      return emitError(source.getLoc(), "expected an operand of products of a pair to be split "
                                        "along one dimension, but got both");
    }
    if (isNew && failed(shareSource(source, dim))) {
      return failure();
    }
  }
  return success();
}

LogicalResult Pairing::shareSource(Value value, unsigned dim) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<StepOp>(op)) {
    return success(); // one of the sources, which are all visited
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    return shareOperand(transpose.getOperand(), 1 - dim);
  }
  constexpr unsigned rowDim = 0, columnDim = 1;
  if (auto slice = dyn_cast<SliceOp>(op);
      slice && dim == (slice.getAxis() == Axis::Rows ? columnDim : rowDim)) {
    return shareOperand(slice.getOperand(), dim);
  }
  auto load = dyn_cast<LoadOp>(op);
  if (!load) {
    return op->emitOpError("expected what products of a pair take as second operand to be loaded, "
                           "of which each CTA can load half, but got a computed tile");
  }
  int64_t extent = cast<FragType>(value.getType()).getShape()[dim];
  if (extent % kCtas != 0) {
    return op->emitOpError("expected an even extent to share between the CTAs of a pair, but got ")
           << extent;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Value Pairing::rankAt(Operation *op) {
  auto def = op->getParentOfType<DefOp>();
  Operation *scope = def ? def.getOperation() : kernel.getOperation();
  Value &rank = ranks[scope];
  if (!rank && def) {
    rank = def.getBody().addArgument(builder.getI32Type(), def.getLoc());
    for (StepOp step : getCalls(def, kernel)) {
      step.getInputsMutable().append(rankAt(step));
    }
    return ranks[scope];
  }
  if (!rank) {
    auto tiles = *kernel.getBody().getOps<ForEachTileOp>().begin();
    OpBuilder atStart = OpBuilder::atBlockBegin(&tiles.getBody().front());
    rank = CtaRankOp::create(atStart, tiles.getLoc(), builder.getI32Type());
  }
  return rank;
}

/// The number of this CTA's half of `index`, in front of `op`.
Value Pairing::half(Value index, Operation *op) {
  Value rank = rankAt(op);
  builder.setInsertionPoint(op);
  Value doubled = arith::MulIOp::create(builder, op->getLoc(), index, constant(kCtas));
  return arith::AddIOp::create(builder, op->getLoc(), doubled, rank);
}

/// Lets everyone see the tensor by halves of `dim`.
LogicalResult Pairing::seeHalves(Value global, unsigned dim, Operation *op) {
  for (Value source : getSources(global, kernel)) {
    if (!isa<BlockArgument>(source)) {
      return op->emitOpError("expected a copy of a CTA pair to see a whole tensor, but got part of "
                             "one: packed sequences and used lengths take ctas = 1");
    }
    auto [known, isNew] = halved.try_emplace(source, dim);
    if (!isNew && known->second != dim) {
      return op->emitOpError("expected each tensor to be split along one dimension, but got ")
             << known->second << " and " << dim;
    }
  }
  return success();
}

LogicalResult Pairing::placeCopy(Operation *op, Value global, MutableOperandRange coordinates,
                                 unsigned tileDim) {
  unsigned dim = cast<GlobalType>(global.getType()).getTileDims()[tileDim];
  if (failed(seeHalves(global, dim, op))) {
    return failure();
  }
  if (dim < coordinates.size()) {
    Value index = half(coordinates[dim].get(), op);
    coordinates[dim].set(index);
    return success();
  }
  // Coordinates that are left out are 0.
  SmallVector<Value> added;
  Value rank = rankAt(op);
  builder.setInsertionPoint(op);
  for (unsigned place = coordinates.size(); place < dim; ++place) {
    added.push_back(constant(0));
  }
  added.push_back(rank);
  coordinates.append(added);
  return success();
}

void Pairing::placeMask(MaskOp mask) {
  Value block = half(mask.getRowBlock(), mask);
  mask.getRowBlockMutable().assign(block);
}

void Pairing::placeMap(MapOp map) {
  Value rank = rankAt(map);
  builder.setInsertionPoint(map);
  Value offset = arith::MulIOp::create(builder, map.getLoc(), rank, constant(rows / kCtas));
  Value base = arith::AddIOp::create(builder, map.getLoc(), map.getRowBase(), offset);
  map.getRowBaseMutable().assign(base);
}

LogicalResult Pairing::placeOps() {
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    LogicalResult placed = success();
    if (auto load = dyn_cast<LoadOp>(op)) {
      auto known = shared.find(load.getResult());
      if (known != shared.end()) {
        placed = placeCopy(op, load.getGlobal(), load.getCoordinatesMutable(), known->second);
      } else if (isSplit(load.getResult())) {
        placed = placeCopy(op, load.getGlobal(), load.getCoordinatesMutable(), 0);
      }
    } else if (auto store = dyn_cast<StoreOp>(op); store && isSplit(store.getValue())) {
      placed = placeCopy(op, store.getGlobal(), store.getCoordinatesMutable(), 0);
    } else if (auto mask = dyn_cast<MaskOp>(op); mask && isSplit(mask.getResult())) {
      placeMask(mask);
    } else if (auto map = dyn_cast<MapOp>(op);
               map && map.hasPosition() && isSplit(map.getResult(0))) {
      placeMap(map);
    } else if (auto product = dyn_cast<MmaOp>(op)) {
      product.setPair(true);
    }
    if (failed(placed)) {
      return failure();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

void Pairing::splitRows() {
  SmallVector<Value> split;
  auto collect = [&](ValueRange values) {
    for (Value value : values) {
      if (isSplit(value)) {
        split.push_back(value);
      }
    }
  };
  kernel.walk([&](Operation *op) {
    collect(op->getResults());
    for (Region &region : op->getRegions()) {
      for (Block &block : region) {
        collect(block.getArguments());
      }
    }
  });
  for (Value value : split) {
    value.setType(halve(cast<FragType>(value.getType()), 0));
  }
}

void Pairing::updateTypes() {
  splitRows();
  for (auto [value, dim] : shared) {
    value.setType(halve(cast<FragType>(value.getType()), dim));
  }
  for (auto [value, dim] : halved) {
    auto type = cast<GlobalType>(value.getType());
    SmallVector<int64_t> box(type.getBox());
    box[dim] /= kCtas;
    value.setType(GlobalType::get(type.getContext(), box, type.getElementType()));
  }
  for (auto def : kernel.getBody().getOps<DefOp>()) {
    def.setFunctionType(builder.getFunctionType(def.getBody().getArgumentTypes(),
                                                def.getYield().getValues().getTypes()));
  }
}

LogicalResult Pairing::run() {
  SmallVector<MmaOp> products;
  kernel.walk([&](MmaOp product) { products.push_back(product); });
  for (MmaOp product : products) {
    if (!isSplit(product.getResult())) {
      return product.emitOpError("expected a product of a pair to have ")
             << rows << " rows, " << kCtas << " times those of the schedule's tile, but got "
             << product.getResult().getType();
    }
  }
  for (MmaOp product : products) {
    if (failed(shareOperand(product.getB(), 1))) {
      return failure();
    }
  }
  if (failed(placeOps())) {
    return failure();
  }
  updateTypes();
  return success();
}

namespace {
struct TilePairCtas : public fa4::tile::impl::TilePairCtasBase<TilePairCtas> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    const Schedule &plan = kernel.getSchedule().getPlan();
    bool isDone = kernel.walk([](CtaRankOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (plan.ctas != kCtas || isDone || !kernel.getBody().getOps<RoleOp>().empty()) {
      return;
    }
    if (kernel.getBody().getOps<ForEachTileOp>().empty()) {
      return;
    }
    if (failed(requireOwnDefs(kernel)) || failed(Pairing(kernel, plan.tileRows * kCtas).run())) {
      return signalPassFailure();
    }
    ++numKernels;
  }
};
} // namespace
