//===- SkipHidden.cpp - tile-skip-hidden ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The trips of a tile are counted for all of its rows, but a role's replica has only
// some of them: of the blocks at the edge it sees some whole and others not at all.
// A block without a visible key makes each probability exp2(-inf) = 0, the factor 1
// and leaves the reference (online_max), so it need not be computed; a block without
// a hidden one need not be masked. Both are questions about whole blocks, with one
// answer for all threads of a role. What is handed over does not change.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/IR/AttnAttributes.h"
#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace fa4::tile {
#define GEN_PASS_DEF_TILESKIPHIDDEN
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using Predicate = arith::CmpIPredicate;

namespace {
/// The ops from masked scores to probabilities, in order.
struct ScoreChain {
  MaskOp mask;
  RowMaxOp top;
  OnlineMaxOp statistic;
  MapOp exponents;
  Exp2Op probabilities;

  SmallVector<Operation *> ops() const { return {mask, top, statistic, exponents, probabilities}; }
};

/// Whether a block has a key that one of its rows sees, and whether every row sees
/// every key; i1.
struct Visibility {
  Value some;
  Value all;
};

class VisibilityEmitter {
public:
  VisibilityEmitter(ImplicitLocOpBuilder &b, MaskOp mask) : b(b), mask(mask) {}
  Visibility run();

private:
  Value wide(Value value) { return arith::ExtSIOp::create(b, b.getI64Type(), value); }
  Value wide(int64_t value) { return arith::ConstantIntOp::create(b, value, 64); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value compare(Predicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, predicate, x, y);
  }
  void require(Value &condition, Value term) {
    condition = condition ? arith::AndIOp::create(b, condition, term).getResult() : term;
  }

  ImplicitLocOpBuilder &b;
  MaskOp mask;
};
} // namespace

Visibility VisibilityEmitter::run() {
  auto type = cast<FragType>(mask.getScores().getType());
  // 64 bits: a position and the bounds of a mask each fit 32.
  Value rows = wide(mask.getRows()), columns = wide(mask.getColumns());
  Value firstRow = arith::MulIOp::create(b, wide(mask.getRowBlock()), wide(type.getRows()));
  Value lastRow = add(firstRow, wide(type.getRows() - 1));
  Value firstKey = arith::MulIOp::create(b, wide(mask.getColumnBlock()), wide(type.getColumns()));
  Value lastKey = add(firstKey, wide(type.getColumns() - 1));
  Visibility result;
  require(result.some, compare(Predicate::sge, firstKey, wide(0)));
  require(result.some, compare(Predicate::slt, firstKey, columns));
  require(result.some, compare(Predicate::slt, firstRow, rows));
  require(result.all, compare(Predicate::sge, firstKey, wide(0)));
  require(result.all, compare(Predicate::slt, lastKey, columns));
  require(result.all, compare(Predicate::slt, lastRow, rows));
  for (Attribute attribute : mask.getMasks()) {
    attn::MaskBounds bounds = cast<attn::AttnMaskInterface>(attribute).getBounds();
    Value shift = mask.getOffset() ? wide(mask.getOffset()) : wide(0);
    if (bounds.alignment == attn::MaskAlignment::BottomRight) {
      shift = add(shift, arith::SubIOp::create(b, columns, rows));
    }
    Value firstAligned = add(firstRow, shift), lastAligned = add(lastRow, shift);
    // The ends rise with the row: the last row sees farthest up, the first farthest down.
    if (bounds.upper) {
      Value upper = wide(*bounds.upper);
      require(result.some, compare(Predicate::sle, firstKey, add(lastAligned, upper)));
      require(result.all, compare(Predicate::sle, lastKey, add(firstAligned, upper)));
    }
    if (bounds.lower) {
      Value lower = wide(*bounds.lower);
      require(result.some, compare(Predicate::sge, lastKey, add(firstAligned, lower)));
      require(result.all, compare(Predicate::sge, firstKey, add(lastAligned, lower)));
    }
  }
  return result;
}

/// Whether `map` gives x * c + offset for a number c > 0 and the two values.
static bool isScaledDifference(MapOp map, Value scores, Value offset) {
  if (map.getInputs().size() != 2 || map.getNumResults() != 1 || map.hasPosition() ||
      map.getInputs()[0] != scores || map.getInputs()[1] != offset) {
    return false;
  }
  Block &body = map.getBody().front();
  auto fma = map.getYield().getValues().front().getDefiningOp<math::FmaOp>();
  FloatAttr scale;
  return fma && fma.getA() == body.getArgument(0) && fma.getC() == body.getArgument(1) &&
         matchPattern(fma.getB(), m_Constant(&scale)) && !scale.getValue().isNegative() &&
         scale.getValue().isFiniteNonZero();
}

static bool isMinusInfinity(Value numbers) {
  auto splat = numbers.getDefiningOp<SplatOp>();
  return splat && matchPattern(splat.getValue(), m_NegInfFloat());
}

/// The only user of `value` besides `other`, if of this kind.
template <typename OpTy>
static OpTy onlyUser(Value value, Operation *other = nullptr) {
  Operation *found = nullptr;
  for (Operation *user : value.getUsers()) {
    if (user == other || user == found) {
      continue;
    }
    if (found) {
      return {};
    }
    found = user;
  }
  return dyn_cast_or_null<OpTy>(found);
}

/// What follows `mask`, if that is all its scores are for.
static std::optional<ScoreChain> findChain(MaskOp mask) {
  ScoreChain chain;
  chain.mask = mask;
  for (Operation *user : mask->getUsers()) {
    if (auto top = dyn_cast<RowMaxOp>(user)) {
      chain.top = top;
    }
  }
  if (!chain.top || !isMinusInfinity(chain.top.getInit())) {
    return std::nullopt;
  }
  chain.exponents = onlyUser<MapOp>(mask.getResult(), chain.top);
  chain.statistic = onlyUser<OnlineMaxOp>(chain.top.getResult());
  if (!chain.exponents || !chain.statistic || chain.statistic.getTop() != chain.top.getResult() ||
      !isScaledDifference(chain.exponents, mask.getResult(), chain.statistic.getOffset()) ||
      !chain.statistic.getOffset().hasOneUse()) {
    return std::nullopt;
  }
  chain.probabilities = onlyUser<Exp2Op>(chain.exponents.getResult(0));
  Block *block = mask->getBlock();
  // A polynomial clamps its argument, so its least value is no zero.
  if (!chain.probabilities || chain.probabilities.getShare() ||
      llvm::any_of(chain.ops(), [&](Operation *op) { return op->getBlock() != block; })) {
    return std::nullopt;
  }
  // The branch takes the place of the last of them.
  for (Value value : {chain.statistic.getNextReference(), chain.statistic.getFactor()}) {
    for (Operation *user : value.getUsers()) {
      Operation *here = block->findAncestorOpInBlock(*user);
      if (!here || here->isBeforeInBlock(chain.probabilities)) {
        return std::nullopt;
      }
    }
  }
  return chain;
}

static Value splat(ImplicitLocOpBuilder &b, double number, Value like) {
  auto type = cast<FragType>(like.getType());
  Value scalar = arith::ConstantOp::create(b, b.getFloatAttr(type.getElementType(), number));
  return SplatOp::create(b, type, scalar);
}

static void skipHidden(ScoreChain chain) {
  ImplicitLocOpBuilder b(chain.mask.getLoc(), chain.probabilities);
  MaskOp mask = chain.mask;
  OnlineMaxOp statistic = chain.statistic;
  Exp2Op probabilities = chain.probabilities;
  SmallVector<Value> results = {statistic.getNextReference(), statistic.getFactor(),
                                probabilities.getResult()};
  Visibility visible = VisibilityEmitter(b, mask).run();
  auto branch = scf::IfOp::create(b, ValueRange(results).getTypes(), visible.some,
                                  /*withElseRegion=*/true);
  for (auto [result, value] : llvm::zip_equal(results, branch.getResults())) {
    result.replaceAllUsesWith(value);
  }
  b.setInsertionPointToStart(branch.elseBlock());
  // A statement keeps the branch: LLVM would set all zeros before it, beside the scores.
  RunPtxOp::create(b, b.getLoc(), "// no key is visible", "", ValueRange(), b.getArrayAttr({}),
                   b.getArrayAttr({}));
  scf::YieldOp::create(b, ValueRange{statistic.getReference(), splat(b, 1.0, results[1]),
                                     splat(b, 0.0, results[2])});
  b.setInsertionPointToStart(branch.thenBlock());
  auto masked = scf::IfOp::create(b, mask.getType(), visible.all, /*withElseRegion=*/true);
  mask.getResult().replaceAllUsesWith(masked.getResult(0));
  for (Operation *op : chain.ops()) {
    op->moveBefore(branch.thenBlock(), branch.thenBlock()->end());
  }
  scf::YieldOp::create(b, results);
  branch.thenBlock()->back().moveAfter(probabilities);
  b.setInsertionPointToStart(masked.thenBlock());
  scf::YieldOp::create(b, mask.getScores());
  b.setInsertionPointToStart(masked.elseBlock());
  auto yield = scf::YieldOp::create(b, mask.getResult());
  mask->moveBefore(yield);
}

namespace {
struct TileSkipHidden : fa4::tile::impl::TileSkipHiddenBase<TileSkipHidden> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getTarget().getInfo().hasTensorMemory()) {
      return;
    }
    SmallVector<ScoreChain> chains;
    kernel.walk([&](MaskOp mask) {
      if (std::optional<ScoreChain> chain = findChain(mask)) {
        chains.push_back(*chain);
      }
    });
    for (const ScoreChain &chain : chains) {
      skipHidden(chain);
    }
  }
};
} // namespace
