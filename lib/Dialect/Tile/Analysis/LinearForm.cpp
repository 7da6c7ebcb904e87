//===- LinearForm.cpp - integers as sums of values --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums wrap as the integers do; only the orders that WorkFacts gives assume that
// trip counts and coordinates stay far from the ends of their type.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/LinearForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa4::tile;

//===----------------------------------------------------------------------===//
// LinearForm
//===----------------------------------------------------------------------===//

LinearForm LinearForm::get(Value value) {
  if (std::optional<int64_t> number = getConstantIntValue(value)) {
    return LinearForm(*number);
  }
  if (auto sum = value.getDefiningOp<arith::AddIOp>()) {
    return get(sum.getLhs()).add(get(sum.getRhs()));
  }
  if (auto difference = value.getDefiningOp<arith::SubIOp>()) {
    return get(difference.getLhs()).minus(get(difference.getRhs()));
  }
  if (auto product = value.getDefiningOp<arith::MulIOp>()) {
    for (auto [factor, other] : {std::pair(product.getLhs(), product.getRhs()),
                                 std::pair(product.getRhs(), product.getLhs())}) {
      if (std::optional<int64_t> number = getConstantIntValue(factor)) {
        return LinearForm().add(get(other), *number);
      }
    }
  }
  LinearForm form;
  form.terms.push_back({value, 1});
  return form;
}

LinearForm &LinearForm::add(const LinearForm &other, int64_t factor) {
  for (const Term &added : other.terms) {
    auto *term = llvm::find_if(terms, [&](const Term &term) { return term.first == added.first; });
    if (term == terms.end()) {
      terms.push_back({added.first, added.second * factor});
    } else {
      term->second += added.second * factor;
    }
  }
  llvm::erase_if(terms, [](const Term &term) { return term.second == 0; });
  constant += other.constant * factor;
  return *this;
}

LinearForm LinearForm::plus(int64_t addend) const {
  LinearForm form = *this;
  form.constant += addend;
  return form;
}

LinearForm LinearForm::minus(const LinearForm &other) const {
  LinearForm form = *this;
  return form.add(other, -1);
}

LinearForm LinearForm::replace(Value value, const LinearForm &form) const {
  int64_t coefficient = getCoefficient(value);
  LinearForm result = *this;
  llvm::erase_if(result.terms, [&](const Term &term) { return term.first == value; });
  return result.add(form, coefficient);
}

int64_t LinearForm::getCoefficient(Value value) const {
  for (auto [known, coefficient] : terms) {
    if (known == value) {
      return coefficient;
    }
  }
  return 0;
}

bool LinearForm::operator==(const LinearForm &other) const {
  LinearForm difference = minus(other);
  return difference.isConstant() && difference.constant == 0;
}

Value LinearForm::materialize(OpBuilder &builder, Location loc,
                              function_ref<Value(int64_t)> getConstantValue) const {
  Value sum;
  auto append = [&](Value value, bool negative) {
    if (!sum) {
      sum = negative ? arith::SubIOp::create(builder, loc, getConstantValue(0), value) : value;
    } else if (negative) {
      sum = arith::SubIOp::create(builder, loc, sum, value);
    } else {
      sum = arith::AddIOp::create(builder, loc, sum, value);
    }
  };
  // What is added first: a difference needs something to be taken from.
  for (bool negative : {false, true}) {
    for (auto [value, coefficient] : terms) {
      if ((coefficient < 0) != negative) {
        continue;
      }
      int64_t times = std::abs(coefficient);
      Value product = value;
      if (times != 1) {
        product = arith::MulIOp::create(builder, loc, value, getConstantValue(times));
      }
      append(product, negative);
    }
  }
  if (!sum) {
    return getConstantValue(constant);
  }
  if (constant != 0) {
    append(getConstantValue(std::abs(constant)), constant < 0);
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// WorkFacts
//===----------------------------------------------------------------------===//

WorkFacts::WorkFacts(WorkOp work)
    : numResults(work.getNumWorkResults()), name(work.getSymNameAttr()) {
  unsigned zero = numResults;
  bounds.assign(zero + 1, SmallVector<std::optional<int64_t>>(zero + 1));
  auto raise = [&](unsigned upper, unsigned lower, int64_t bound) {
    std::optional<int64_t> &known = bounds[upper][lower];
    known = known ? std::max(*known, bound) : bound;
  };
  auto close = [&] {
    for (unsigned via = 0; via <= zero; ++via) {
      for (unsigned upper = 0; upper <= zero; ++upper) {
        for (unsigned lower = 0; lower <= zero; ++lower) {
          if (bounds[upper][via] && bounds[via][lower]) {
            raise(upper, lower, *bounds[upper][via] + *bounds[via][lower]);
          }
        }
      }
    }
  };
  for (unsigned result = 0; result <= zero; ++result) {
    raise(result, result, 0);
  }
  // A clamp moves one number: what was known of its other side holds only as far as
  // it holds of the bound.
  auto weaken = [&](std::optional<int64_t> &known, std::optional<int64_t> ofBound, int64_t offset) {
    if (known) {
      known = ofBound ? std::optional(std::min(*known, *ofBound + offset)) : std::nullopt;
    }
  };
  for (auto fact : work.getFacts().getAsRange<FactAttr>()) {
    bool isRaised = fact.isConstantLower();
    unsigned moved = isRaised ? fact.getUpper() : fact.getLower();
    unsigned bound = isRaised || fact.isConstantUpper() ? zero : fact.getUpper();
    int64_t constant = bound == zero ? fact.getConstant() : 0;
    for (unsigned other = 0; other <= zero; ++other) {
      if (other == moved) {
        continue;
      }
      if (isRaised) {
        weaken(bounds[other][moved], bounds[other][bound], -constant);
      } else {
        weaken(bounds[moved][other], bounds[bound][other], constant);
      }
    }
    if (isRaised) {
      raise(moved, bound, constant);
    } else {
      raise(bound, moved, -constant);
    }
    close();
  }
}

std::optional<unsigned> WorkFacts::findResult(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument) {
    return std::nullopt;
  }
  auto tiles = dyn_cast<ForEachTileOp>(argument.getOwner()->getParentOp());
  if (!tiles || tiles.getSourceAttr().getAttr() != name || argument.getArgNumber() >= numResults) {
    return std::nullopt;
  }
  return argument.getArgNumber();
}

bool WorkFacts::impliesNotNegative(const LinearForm &form) const {
  unsigned upper = numResults, lower = numResults;
  for (auto [value, coefficient] : form.getTerms()) {
    std::optional<unsigned> result = findResult(value);
    if (!result || std::abs(coefficient) != 1) {
      return false;
    }
    unsigned &side = coefficient > 0 ? upper : lower;
    if (side != numResults) {
      return false;
    }
    side = *result;
  }
  std::optional<int64_t> bound = bounds[upper][lower];
  return bound && *bound + form.getConstant() >= 0;
}
