//===- HostFormula.cpp - host arithmetic as formulas ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers of the host are extents and what follows from them: never negative where
// an unsigned operation reads them.
//
//===----------------------------------------------------------------------===//

#include "HostFormula.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using fa4::runtime::Expr;

namespace fa4::driver {

std::optional<unsigned> HostFormula::getArgument(Value value) const {
  while (auto cast = value.getDefiningOp<memref::CastOp>()) {
    value = cast.getSource();
  }
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &function.getBody().front()) {
    return std::nullopt;
  }
  return argument.getArgNumber();
}

static Expr less(Expr a, Expr b) {
  return Expr::make(Expr::Op::Less, {std::move(a), std::move(b)});
}
static Expr negate(Expr condition) {
  return Expr::make(Expr::Op::Equal, {std::move(condition), 0});
}

/// The quotient rounded towards zero.
static Expr truncDiv(const Expr &a, const Expr &b) {
  Expr floor = Expr::make(Expr::Op::FloorDiv, {a, b});
  Expr sameSign = Expr::make(Expr::Op::Equal, {less(a, 0), less(b, 0)});
  return Expr::make(Expr::Op::Select, {sameSign, floor, ceilDiv(a, b)});
}

static FailureOr<Expr> compare(arith::CmpIPredicate predicate, Expr a, Expr b) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return Expr::make(Expr::Op::Equal, {std::move(a), std::move(b)});
  case arith::CmpIPredicate::ne:
    return negate(Expr::make(Expr::Op::Equal, {std::move(a), std::move(b)}));
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    return less(std::move(a), std::move(b));
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::ugt:
    return less(std::move(b), std::move(a));
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::uge:
    return negate(less(std::move(a), std::move(b)));
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
    return negate(less(std::move(b), std::move(a)));
  }
  return failure();
}

/// The operation of a formula that an op on integers is, if it is one of them.
static std::optional<Expr::Op> binaryOperation(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Expr::Op>>(op)
      .Case<arith::AddIOp>([](auto) { return Expr::Op::Add; })
      .Case<arith::SubIOp>([](auto) { return Expr::Op::Sub; })
      .Case<arith::MulIOp>([](auto) { return Expr::Op::Mul; })
      .Case<arith::MinSIOp, arith::MinUIOp>([](auto) { return Expr::Op::Min; })
      .Case<arith::MaxSIOp, arith::MaxUIOp>([](auto) { return Expr::Op::Max; })
      .Case<arith::FloorDivSIOp, arith::DivUIOp>([](auto) { return Expr::Op::FloorDiv; })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>([](auto) { return Expr::Op::CeilDiv; })
      .Case<arith::RemUIOp>([](auto) { return Expr::Op::Mod; })
      .Default(std::nullopt);
}

FailureOr<Expr> HostFormula::getInteger(Value value) const {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    return Expr(constant.getSExtValue());
  }
  if (std::optional<unsigned> argument = getArgument(value)) {
    return Expr::scalar(names[*argument]);
  }
  if (Operation *op = value.getDefiningOp()) {
    return getResult(op, value);
  }
  return emitError(value.getLoc(), "expected a number of a launch to be computed from the host "
                                   "function's arguments, but got a block argument");
}

FailureOr<Expr> HostFormula::getResult(Operation *op, Value value) const {
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp,
          arith::TruncIOp>(op)) {
    return getInteger(op->getOperand(0));
  }
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    std::optional<unsigned> argument = getArgument(dim.getSource());
    std::optional<int64_t> number = dim.getConstantIndex();
    if (argument && number) {
      return Expr::extent(names[*argument], static_cast<unsigned>(*number));
    }
  }
  std::optional<Expr::Op> operation = binaryOperation(op);
  if (operation || isa<arith::DivSIOp, arith::RemSIOp, arith::CmpIOp>(op)) {
    FailureOr<Expr> a = getInteger(op->getOperand(0));
    FailureOr<Expr> b = getInteger(op->getOperand(1));
    if (failed(a) || failed(b)) {
      return failure();
    }
    if (operation) {
      return Expr::make(*operation, {*a, *b});
    }
    if (auto comparison = dyn_cast<arith::CmpIOp>(op)) {
      return compare(comparison.getPredicate(), *a, *b);
    }
    Expr quotient = truncDiv(*a, *b);
    return isa<arith::DivSIOp>(op) ? quotient : *a - quotient * *b;
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    FailureOr<Expr> condition = getInteger(select.getCondition());
    FailureOr<Expr> a = getInteger(select.getTrueValue());
    FailureOr<Expr> b = getInteger(select.getFalseValue());
    if (failed(condition) || failed(a) || failed(b)) {
      return failure();
    }
    return Expr::make(Expr::Op::Select, {*condition, *a, *b});
  }
  return op->emitError("expected a number of a launch to be computed from extents and scalars of "
                       "the host function's arguments, but got '")
         << op->getName() << "'";
}

FailureOr<runtime::FloatParameter> HostFormula::getFloat(Value value) const {
  APFloat constant(0.0F);
  if (matchPattern(value, m_ConstantFloat(&constant))) {
    return runtime::FloatParameter{constant.convertToDouble(), ""};
  }
  if (std::optional<unsigned> argument = getArgument(value)) {
    return runtime::FloatParameter{1.0, names[*argument]};
  }
  return emitError(value.getLoc(), "expected an f32 of a launch to be a constant or an argument of "
                                   "the host function, but got something computed");
}

std::vector<runtime::Condition> HostFormula::getConditions(tile::LaunchOp launch) const {
  std::vector<runtime::Condition> conditions;
  if (!launch.getExtents()) {
    return conditions;
  }
  for (auto rule : launch.getExtentsAttr().getAsRange<ExtentRuleAttr>()) {
    std::optional<unsigned> argument = getArgument(launch.getInputs()[rule.getOperand()]);
    std::optional<unsigned> other = getArgument(launch.getInputs()[rule.getOtherOperand()]);
    if (!argument || !other) {
      continue;
    }
    Expr is = Expr::extent(names[*argument], rule.getDim());
    Expr base = Expr::extent(names[*other], rule.getOtherDim());
    // A remainder by nothing would be refused: without keys' heads nothing is asked.
    Expr rest = Expr::make(Expr::Op::Mod, {is, Expr::make(Expr::Op::Max, {base, 1})});
    Expr holds = rule.getMultiple() ? Expr::make(Expr::Op::Equal, {rest, 0})
                                    : Expr::make(Expr::Op::Equal, {is, base});
    llvm::StringRef relation = rule.getMultiple() ? "a multiple of " : "";
    conditions.push_back(
        {holds,
         ("extent " + llvm::Twine(rule.getDim()) + " of '" + names[*argument] + "' to be " +
          relation + "extent " + llvm::Twine(rule.getOtherDim()) + " of '" + names[*other] + "'")
             .str(),
         is});
  }
  return conditions;
}

} // namespace fa4::driver
