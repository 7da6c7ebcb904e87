//===- LaunchNumbers.cpp - what a launch fixes ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every role decodes its tile's number before it can do anything else, and a chip
// has no instruction that divides: a chain of quotients is a thousand clocks in
// which the tile's first copies wait. Quotients of a launch's scalars become
// scalars of the launch. A tile's number is divided by one of them through its
// reciprocal, which the host computes exactly enough for all 32-bit numbers.
//
//===----------------------------------------------------------------------===//

#include "LaunchNumbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

#include <limits>

using namespace mlir;

namespace fa4::tile::gpu {

static bool isQuotient(Operation *op) {
  return isa<arith::DivUIOp, arith::RemUIOp, arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp,
             arith::CeilDivSIOp>(op);
}

/// Whether the host's formulas know `op` and compute what the kernel would.
static bool isHostOp(Operation *op) {
  return isQuotient(op) || isa<arith::ConstantOp, arith::AddIOp, arith::SubIOp, arith::MulIOp,
                               arith::MinSIOp, arith::MaxSIOp, arith::ExtSIOp, arith::TruncIOp>(op);
}

namespace {
class Hoister {
public:
  Hoister(KernelOp kernel, ArrayRef<LaunchOp> launches)
      : work(kernel.getWork()), body(work.getBody().front()), kernel(kernel), launches(launches),
        b(kernel.getContext()) {}

  void run();

private:
  /// Finds what the launch fixes, and which of it takes quotients.
  void classify();
  void hoist(Value value);
  /// Replaces `op`, which divides by what a launch fixes.
  void multiply(Operation *op);
  Value getReciprocal(Value divisor);
  /// A new scalar of the work; `compute` gives it at each launch.
  Value addScalar(Type type, llvm::function_ref<Value(OpBuilder &, LaunchOp)> compute);
  Value emitOnHost(OpBuilder &host, LaunchOp launch, Value value);
  bool isNumber(Value value) { return matchPattern(value, m_Constant()); }

  WorkOp work;
  Block &body;
  KernelOp kernel;
  ArrayRef<LaunchOp> launches;
  OpBuilder b;
  llvm::DenseSet<Value> fixed, costly;
  llvm::DenseMap<Value, Value> reciprocals;
  llvm::DenseMap<std::pair<Value, Value>, Value> quotients;
  /// By launch, what stands for values of the work.
  llvm::DenseMap<Operation *, IRMapping> onHost;
};
} // namespace

void Hoister::classify() {
  for (auto [argument, use] : llvm::zip_equal(body.getArguments().drop_front(), work.getUses())) {
    if (argument.getType().isInteger(32) && isa<BlockArgument>(use)) {
      fixed.insert(argument);
      for (LaunchOp launch : launches) {
        unsigned number = cast<BlockArgument>(use).getArgNumber();
        onHost[launch].map(argument, launch.getInputs()[number]);
      }
    }
  }
  for (Operation &op : body.without_terminator()) {
    if (!isHostOp(&op) ||
        !llvm::all_of(op.getOperands(), [&](Value v) { return fixed.contains(v); })) {
      continue;
    }
    fixed.insert(op.getResult(0));
    if (isQuotient(&op) ||
        llvm::any_of(op.getOperands(), [&](Value v) { return costly.contains(v); })) {
      costly.insert(op.getResult(0));
    }
  }
}

Value Hoister::emitOnHost(OpBuilder &host, LaunchOp launch, Value value) {
  IRMapping &mapping = onHost[launch];
  if (Value known = mapping.lookupOrNull(value)) {
    return known;
  }
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands()) {
    emitOnHost(host, launch, operand);
  }
  return host.clone(*op, mapping)->getResult(0);
}

Value Hoister::addScalar(Type type, llvm::function_ref<Value(OpBuilder &, LaunchOp)> compute) {
  for (LaunchOp launch : launches) {
    OpBuilder host(launch);
    Value scalar = compute(host, launch);
    launch.getInputsMutable().append(scalar);
  }
  work.getUsesMutable().append(kernel.getEntry()->addArgument(type, work.getLoc()));
  return body.addArgument(type, work.getLoc());
}

void Hoister::hoist(Value value) {
  Value scalar = addScalar(value.getType(), [&](OpBuilder &host, LaunchOp launch) {
    return emitOnHost(host, launch, value);
  });
  // Other numbers of the launch still come from what it replaces here.
  for (LaunchOp launch : launches) {
    onHost[launch].map(scalar, onHost[launch].lookup(value));
  }
  fixed.insert(scalar);
  value.replaceAllUsesWith(scalar);
}

Value Hoister::getReciprocal(Value divisor) {
  Value &known = reciprocals[divisor];
  if (!known) {
    // ceil(2^63 / d) less one, so that it fits a signed number even where d is 1.
    Type wide = b.getI64Type();
    Value scalar = addScalar(wide, [&](OpBuilder &host, LaunchOp launch) {
      Location loc = launch.getLoc();
      auto number = [&](IntegerAttr value) { return arith::ConstantOp::create(host, loc, value); };
      Value d = emitOnHost(host, launch, divisor);
      d = arith::MaxSIOp::create(host, loc, d, number(host.getI32IntegerAttr(1)));
      d = arith::ExtSIOp::create(host, loc, wide, d);
      constexpr int64_t most = std::numeric_limits<int64_t>::max();
      return arith::DivUIOp::create(host, loc, number(host.getI64IntegerAttr(most)), d).getResult();
    });
    b.setInsertionPointToStart(&body);
    Value one = arith::ConstantOp::create(b, work.getLoc(), b.getI64IntegerAttr(1));
    known = arith::AddIOp::create(b, work.getLoc(), scalar, one);
  }
  return known;
}

/// With r = ceil(2^63 / d), n r / 2^63 is n / d and an error of at most n / 2^63: too
/// little to reach the next integer, for n < 2^32 and d < 2^31.
void Hoister::multiply(Operation *op) {
  Location loc = op->getLoc();
  Value dividend = op->getOperand(0), divisor = op->getOperand(1);
  Value &quotient = quotients[{dividend, divisor}];
  if (!quotient) {
    Value reciprocal = getReciprocal(divisor);
    b.setInsertionPoint(op);
    Type wide = b.getI64Type();
    Value one = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(1));
    Value twice =
        arith::ShLIOp::create(b, loc, arith::ExtUIOp::create(b, loc, wide, dividend), one);
    auto product = arith::MulUIExtendedOp::create(b, loc, twice, reciprocal);
    quotient = arith::TruncIOp::create(b, loc, b.getI32Type(), product.getHigh());
  }
  Value result = quotient;
  if (isa<arith::RemUIOp>(op)) {
    b.setInsertionPoint(op);
    result =
        arith::SubIOp::create(b, loc, dividend, arith::MulIOp::create(b, loc, quotient, divisor));
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

void Hoister::run() {
  classify();
  llvm::SetVector<Value> leaving;
  SmallVector<Operation *> divisions;
  for (Operation &op : body) {
    if (op.getNumResults() == 1 && fixed.contains(op.getResult(0))) {
      continue;
    }
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        if (costly.contains(operand)) {
          leaving.insert(operand);
        }
      }
    });
    if (isa<arith::DivUIOp, arith::RemUIOp>(op) && op.getResult(0).getType().isInteger(32) &&
        fixed.contains(op.getOperand(1)) && !isNumber(op.getOperand(1))) {
      divisions.push_back(&op);
    }
  }
  for (Value value : leaving) {
    hoist(value);
  }
  for (Operation *op : divisions) {
    multiply(op);
  }
}

void hoistLaunchNumbers(KernelOp kernel, ArrayRef<LaunchOp> launches) {
  if (!launches.empty()) {
    Hoister(kernel, launches).run();
  }
}

} // namespace fa4::tile::gpu
