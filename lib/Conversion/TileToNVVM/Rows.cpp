//===- Rows.cpp - a thread's columns, piece by piece ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one loop over the pieces of a row that is in registers, and the one place of
// the boundaries between them. A chain is emitted where its last op stands; the ops
// before it become nothing.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include "ThreadLayout.h"

#include "fa4/Dialect/Tile/Analysis/RowChain.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fa4::tile::gpu {

/// Registers that the columns of a piece may take together. A role of rows has 192
/// (makeTmemForward), of which a row of 128 columns and what ScheduleCheck counts
/// beside it leave these where one tensor at most is loaded from.
static constexpr int64_t kPieceRegisters = 38;
/// Pieces are whole quads of columns.
static constexpr int64_t kColumnStep = 4;

static bool isPieceOp(Operation *op) {
  auto map = dyn_cast<MapOp>(op);
  return isa<MaskOp>(op) || (map && map.getCommonShape().size() == 2);
}

/// Whether `op`, which at most reads what the kernel does not write, may be computed
/// where `last` stands.
static bool canMoveTo(Operation *op, Operation *last) {
  for (Operation *between = op; between != last; between = between->getNextNode()) {
    if (!isMemoryEffectFree(between) && !isa<LoadOp, FetchOp, MapOp>(between)) {
      return false;
    }
  }
  return true;
}

void findPieceChains(Lowering &lowering) {
  lowering.function.walk([&](Operation *op) {
    if (!isPieceOp(op)) {
      return;
    }
    SmallVector<Operation *> chain;
    auto mask = dyn_cast<MaskOp>(op);
    Value operand = mask ? mask.getScores() : getColumnOperand(op);
    Operation *before = operand ? operand.getDefiningOp() : nullptr;
    if (lowering.target().hasTensorMemory() && before && before->getBlock() == op->getBlock() &&
        operand.hasOneUse() && isPieceOp(before) && before->getNumResults() == 1 &&
        canMoveTo(before, op)) {
      chain = std::move(lowering.pieceChains[before]);
      lowering.pieceChains.erase(before);
    }
    chain.push_back(op);
    lowering.pieceChains[op] = std::move(chain);
  });
}

void endPiece(ImplicitLocOpBuilder &b, Operation *op, Value piece, const Lowering &lowering) {
  if (lowering.target().hasTensorMemory() && getElementTypeOrSelf(piece).isF32()) {
    orderBehind(b, takeAllLanes(b, piece), lowering.role(op).smem, lowering);
  }
}

namespace {
/// The ops of one chain.
class ChainEmitter {
public:
  ChainEmitter(ImplicitLocOpBuilder &b, ConversionPatternRewriter &rewriter,
               ArrayRef<Operation *> chain, const Lowering &lowering)
      : b(b), lowering(lowering), last(chain.back()),
        lanes(ThreadLayout::of(last->getResult(0)).lanes()) {
    for (Operation *op : chain) {
      SmallVector<Value> operands = llvm::map_to_vector(
          op->getOperands(), [&](Value value) { return rewriter.getRemappedValue(value); });
      if (auto map = dyn_cast<MapOp>(op)) {
        emitters.push_back(makeMapEmitter(b, map, operands, lowering));
      } else {
        emitters.push_back(makeMaskEmitter(b, cast<MaskOp>(op), operands, lowering));
      }
    }
  }

  SmallVector<Value> run();

private:
  int64_t pieceWidth() const;
  SmallVector<Value> emitPiece(int64_t begin, int64_t width);

  ImplicitLocOpBuilder &b;
  const Lowering &lowering;
  Operation *last;
  int64_t lanes;
  SmallVector<std::unique_ptr<PieceEmitter>> emitters;
};
} // namespace

int64_t ChainEmitter::pieceWidth() const {
  // One op works at a time, but what others load may be on its way.
  int64_t registers = 0, loads = 0, ownLoads = 0, shared = 0;
  for (const std::unique_ptr<PieceEmitter> &emitter : emitters) {
    PieceCost cost = emitter->costPerLane();
    loads += cost.loads;
    shared += cost.shared;
    if (cost.registers > registers) {
      registers = cost.registers;
      ownLoads = cost.loads;
    }
  }
  if (registers == 0) {
    return lanes;
  }
  if (!lowering.target().hasTensorMemory()) {
    return kPieceColumns;
  }
  int64_t left = kPieceRegisters - std::max<int64_t>(shared - kTensorRegisters, 0);
  int64_t fitting = left / (registers + loads - ownLoads);
  return std::clamp(fitting / kColumnStep * kColumnStep, kColumnStep, kPieceColumns);
}

SmallVector<Value> ChainEmitter::emitPiece(int64_t begin, int64_t width) {
  SmallVector<Value> piece;
  for (const std::unique_ptr<PieceEmitter> &emitter : emitters) {
    piece = emitter->emit(begin, width, piece.empty() ? Value() : piece.front());
  }
  return piece;
}

SmallVector<Value> ChainEmitter::run() {
  for (const std::unique_ptr<PieceEmitter> &emitter : emitters) {
    emitter->prepare();
  }
  SmallVector<SmallVector<Value>> results(last->getNumResults());
  int64_t width = pieceWidth();
  for (int64_t begin = 0; begin < lanes; begin += width) {
    int64_t length = std::min(width, lanes - begin);
    bool isLast = begin + length == lanes;
    for (auto [result, piece] : llvm::zip_equal(results, emitPiece(begin, length))) {
      if (!isLast) {
        endPiece(b, last, piece, lowering);
      }
      result.push_back(piece);
    }
  }
  return llvm::map_to_vector(results, [&](ArrayRef<Value> pieces) { return joinLanes(b, pieces); });
}

namespace {
template <typename OpTy>
struct PieceLowering : LoweringPattern<OpTy> {
  using LoweringPattern<OpTy>::LoweringPattern;
  using LoweringPattern<OpTy>::lowering;

  LogicalResult matchAndRewrite(OpTy op, typename OpTy::Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!isPieceOp(op)) {
      return failure();
    }
    auto chain = lowering.pieceChains.find(op.getOperation());
    if (chain == lowering.pieceChains.end()) {
      // The chain's last op computes it.
      Type type = ThreadLayout::of(op->getResult(0)).registerType();
      rewriter.replaceOpWithNewOp<LLVM::PoisonOp>(op, type);
      return success();
    }
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, ChainEmitter(b, rewriter, chain->second, lowering).run());
    return success();
  }
};
} // namespace

void populateRowPatterns(const TileToNVVMTypeConverter &converter, RewritePatternSet &patterns,
                         const Lowering &lowering) {
  patterns.add<PieceLowering<MapOp>, PieceLowering<MaskOp>>(converter, patterns.getContext(),
                                                            lowering);
}

} // namespace fa4::tile::gpu
