//===- Sums.cpp - sums that threads of a row carry apart ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum that a loop carries, scaled and added to, is needed as one number only where
// something else reads it. Until then each thread carries what its columns add up to:
// a tile of one group of columns in place of a number. The sum is that of another
// association, which tile.row_sum leaves to the target.
//
//===----------------------------------------------------------------------===//

#include "ThreadLayout.h"
#include "Values.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fa4::tile::gpu {

/// Whether `map` gives the product of its two inputs, and nothing else.
static bool isProduct(MapOp map) {
  if (map.getInputs().size() != 2 || map.getNumResults() != 1 || map.hasPosition()) {
    return false;
  }
  Block &body = map.getBody().front();
  auto product = map.getYield().getValues().front().getDefiningOp<arith::MulFOp>();
  return product && product->getBlock() == &body && body.getOperations().size() == 2 &&
         llvm::all_of(body.getArguments(), [&](BlockArgument argument) {
           return llvm::is_contained(product->getOperands(), argument);
         });
}

/// A number of each row as a tile of one group of columns.
static FragType apartType(Value numbers) {
  constexpr int64_t columns = 8; // ThreadLayout: a group
  FragType type = tileOf(numbers);
  return FragType::get(type.getContext(), ArrayRef<int64_t>{type.getRows(), columns},
                       type.getElementType(), SpreadAttr::get(type.getContext(), Spread::Acc));
}

namespace {
/// Numbers of rows that are sums in the making, closed under where they come from.
class SumWeb {
public:
  /// Adds `value` and all it comes from; false, and nothing is added, if one of these
  /// is no such sum.
  bool add(Value value);
  bool contains(Value value) const { return values.contains(value); }
  /// Whether a loop carries a sum, and no sum is a factor of another.
  bool isWorthwhile() const;
  void rewrite(RewriterBase &rewriter);

private:
  bool addSources(Value value);
  bool addCarried(scf::ForOp loop, unsigned number);
  Value apartOf(Value value) const { return apart.lookup(value); }
  /// What `op`, whose result is in the web, is with sums apart, of type `tile`.
  Value rewriteOp(RewriterBase &b, Operation *op, FragType tile) const;
  Value rewriteSum(RewriterBase &b, RowSumOp op, FragType tile) const;
  /// Whether `use` stays in the web.
  bool isInside(OpOperand &use) const;
  /// Gives the number itself to `uses` of a sum.
  void join(RewriterBase &b, Value sums, FragType type, ArrayRef<OpOperand *> uses) const;

  llvm::SetVector<Value> values;
  /// The number of the operand of a product that is the sum.
  llvm::DenseMap<Operation *, unsigned> summands;
  llvm::SetVector<std::pair<Operation *, unsigned>> loops;
  llvm::DenseMap<Value, Value> apart;
};
} // namespace

bool SumWeb::add(Value value) {
  if (values.contains(value)) {
    return true;
  }
  auto savedValues = values;
  auto savedSummands = summands;
  auto savedLoops = loops;
  values.insert(value);
  if (addSources(value)) {
    return true;
  }
  values = std::move(savedValues);
  summands = std::move(savedSummands);
  loops = std::move(savedLoops);
  return false;
}

bool SumWeb::isWorthwhile() const {
  return !loops.empty() && llvm::none_of(summands, [&](auto entry) {
    return contains(cast<MapOp>(entry.first).getInputs()[1 - entry.second]);
  });
}

bool SumWeb::addCarried(scf::ForOp loop, unsigned number) {
  loops.insert({loop, number});
  values.insert(loop.getRegionIterArg(number));
  values.insert(loop.getResult(number));
  return add(loop.getInitArgs()[number]) && add(loop.getYieldedValues()[number]);
}

bool SumWeb::addSources(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument.getArgNumber() > 0 && addCarried(loop, argument.getArgNumber() - 1);
  }
  return llvm::TypeSwitch<Operation *, bool>(value.getDefiningOp())
      .Case([&](scf::ForOp loop) {
        return addCarried(loop, cast<OpResult>(value).getResultNumber());
      })
      .Case([&](SplatOp splat) { return matchPattern(splat.getValue(), m_PosZeroFloat()); })
      .Case([&](RowSumOp sum) {
        return ThreadLayout::of(sum.getOperand()).threadsPerRow() > 1 && add(sum.getInit());
      })
      .Case([&](MapOp map) {
        for (unsigned number = 0; isProduct(map) && number < 2; ++number) {
          if (add(map.getInputs()[number])) {
            summands[map] = number;
            return true;
          }
        }
        return false;
      })
      .Default(false);
}

Value SumWeb::rewriteSum(RewriterBase &b, RowSumOp op, FragType type) const {
  Value sums = apartOf(op.getInit());
  int64_t step = type.getColumns();
  for (int64_t column = 0; column < tileOf(op.getOperand()).getColumns(); column += step) {
    Value group = SliceOp::create(b, op.getLoc(), type, op.getOperand(), Axis::Columns, column,
                                  column + step);
    sums = MapOp::create(b, op.getLoc(), TypeRange{type}, ValueRange{sums, group}, Value(), Value(),
                         [](OpBuilder &inner, Location loc, ValueRange elements) {
                           Value sum = arith::AddFOp::create(inner, loc, elements[0], elements[1]);
                           YieldOp::create(inner, loc, sum);
                         })
               .getResult(0);
  }
  return sums;
}

Value SumWeb::rewriteOp(RewriterBase &b, Operation *op, FragType tile) const {
  b.setInsertionPoint(op);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](SplatOp splat) -> Value {
        return SplatOp::create(b, splat.getLoc(), tile, splat.getValue());
      })
      .Case([&](RowSumOp sum) { return rewriteSum(b, sum, tile); })
      .Case([&](MapOp map) -> Value {
        unsigned summand = summands.lookup(map);
        return ScaleRowsOp::create(b, map.getLoc(), tile, apartOf(map.getInputs()[summand]),
                                   map.getInputs()[1 - summand], /*likely_one=*/false);
      });
}

bool SumWeb::isInside(OpOperand &use) const {
  return llvm::TypeSwitch<Operation *, bool>(use.getOwner())
      .Case([&](RowSumOp sum) { return values.contains(sum.getResult()); })
      .Case([&](MapOp map) {
        auto summand = summands.find(map);
        return summand != summands.end() && summand->second == use.getOperandNumber();
      })
      .Case([&](scf::ForOp loop) {
        OpResult result = loop.getTiedLoopResult(&use);
        return values.contains(result);
      })
      .Case([&](scf::YieldOp yield) {
        auto loop = dyn_cast<scf::ForOp>(yield->getParentOp());
        return loop && values.contains(loop.getResult(use.getOperandNumber()));
      })
      .Default(false);
}

void SumWeb::join(RewriterBase &b, Value sums, FragType type, ArrayRef<OpOperand *> uses) const {
  if (uses.empty()) {
    return;
  }
  b.setInsertionPointAfterValue(sums);
  Location loc = sums.getLoc();
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0.0F));
  Value none = SplatOp::create(b, loc, type, zero);
  Value joined = RowSumOp::create(b, loc, type, sums, none);
  for (OpOperand *use : uses) {
    use->set(joined);
  }
}

void SumWeb::rewrite(RewriterBase &b) {
  FragType type = tileOf(values.front());
  SmallVector<std::pair<Value, SmallVector<OpOperand *>>> outside;
  llvm::DenseSet<Operation *> old;
  for (Value value : values) {
    Operation *op = value.getDefiningOp();
    if (op && !isa<scf::ForOp>(op)) {
      old.insert(op);
    }
    if (isa_and_present<SplatOp>(op)) {
      continue; // stays for its other uses
    }
    auto &uses = outside.emplace_back(value, SmallVector<OpOperand *>()).second;
    for (OpOperand &use : value.getUses()) {
      if (!isInside(use)) {
        uses.push_back(&use);
      }
    }
  }
  // In program order: what no loop carries comes before what is made of it.
  SmallVector<Operation *> order;
  Value any = values.front();
  any.getParentRegion()->getParentOfType<LLVM::LLVMFuncOp>().walk<WalkOrder::PreOrder>(
      [&](Operation *op) {
        if (old.contains(op)) {
          order.push_back(op);
        }
      });
  for (auto [op, number] : loops) {
    auto loop = cast<scf::ForOp>(op);
    for (Value carried : {Value(loop.getRegionIterArg(number)), Value(loop.getResult(number))}) {
      apart[carried] = carried;
    }
  }
  FragType tile = apartType(values.front());
  for (Operation *op : order) {
    apart[op->getResult(0)] = rewriteOp(b, op, tile);
  }
  for (auto [op, number] : loops) {
    auto loop = cast<scf::ForOp>(op);
    loop.getRegionIterArg(number).setType(tile);
    loop.getResult(number).setType(tile);
    loop.getInitArgsMutable()[number].set(apartOf(loop.getInitArgs()[number]));
    OpOperand &yielded = loop.getBody()->getTerminator()->getOpOperand(number);
    yielded.set(apartOf(yielded.get()));
  }
  for (auto &[value, uses] : outside) {
    join(b, apartOf(value), type, uses);
  }
  for (Operation *op : llvm::reverse(order)) {
    if (op->use_empty()) {
      b.eraseOp(op);
    }
  }
}

void carrySumsApart(Lowering &lowering, RewriterBase &rewriter) {
  SmallVector<RowSumOp> sums;
  lowering.function.walk([&](RowSumOp sum) { sums.push_back(sum); });
  llvm::DenseSet<Operation *> done;
  // From the last one: what it comes from holds those before.
  for (RowSumOp sum : llvm::reverse(sums)) {
    SumWeb web;
    if (done.contains(sum) || !web.add(sum.getResult()) || !web.isWorthwhile()) {
      continue;
    }
    for (RowSumOp other : sums) {
      if (!done.contains(other) && web.contains(other.getResult())) {
        done.insert(other);
      }
    }
    web.rewrite(rewriter);
  }
}

} // namespace fa4::tile::gpu
