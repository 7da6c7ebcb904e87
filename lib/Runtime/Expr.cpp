//===- Expr.cpp - formulas of a bundle --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reader, writer and evaluator share one table of operators, so that what is
// written is what is read.
//
//===----------------------------------------------------------------------===//

#include "fa4/Runtime/Expr.h"

#include "JsonReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

namespace fa4::runtime {

namespace {

using Op = Expr::Op;

struct OpRow {
  Op op;
  llvm::StringLiteral name;
  unsigned minOperands, maxOperands;
};

// The most operands that `+` and its like take: a bound for the reader only.
constexpr unsigned kMany = 16;

constexpr OpRow kCalls[] = {
    {Op::Add, "+", 2, kMany},       {Op::Sub, "-", 2, 2},
    {Op::Mul, "*", 2, kMany},       {Op::FloorDiv, "floordiv", 2, 2},
    {Op::CeilDiv, "ceildiv", 2, 2}, {Op::Mod, "mod", 2, 2},
    {Op::Min, "min", 2, kMany},     {Op::Max, "max", 2, kMany},
    {Op::AlignUp, "align", 2, 2},   {Op::Less, "<", 2, 2},
    {Op::Equal, "==", 2, 2},        {Op::Select, "select", 3, 3},
};

const OpRow *callNamed(llvm::StringRef name) {
  for (const OpRow &row : kCalls) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

llvm::StringRef callName(Op op) {
  return llvm::find_if(kCalls, [&](const OpRow &row) { return row.op == op; })->name;
}

llvm::Error error(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Error overflow(Op op, int64_t a, int64_t b) {
  return error("expected the result of '" + callName(op) +
               "' to fit in 64 bits, but got operands " + llvm::Twine(a) + " and " +
               llvm::Twine(b));
}

/// One step of a fold, or of an operator of two operands.
llvm::Expected<int64_t> combine(Op op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
  case Op::Add:
    if (llvm::AddOverflow(a, b, result)) {
      return overflow(op, a, b);
    }
    return result;
  case Op::Sub:
    if (llvm::SubOverflow(a, b, result)) {
      return overflow(op, a, b);
    }
    return result;
  case Op::Mul:
    if (llvm::MulOverflow(a, b, result)) {
      return overflow(op, a, b);
    }
    return result;
  case Op::Min:
    return std::min(a, b);
  case Op::Max:
    return std::max(a, b);
  case Op::Less:
    return a < b;
  case Op::Equal:
    return a == b;
  default:
    break;
  }
  if (b == 0) {
    return error("expected the divisor of '" + callName(op) + "' to be other than 0, but got " +
                 llvm::Twine(a) + " and 0");
  }
  if (a == std::numeric_limits<int64_t>::min() && b == -1) {
    return overflow(op, a, b);
  }
  bool exact = a % b == 0, negative = (a < 0) != (b < 0);
  int64_t floor = a / b - (!exact && negative), ceil = a / b + (!exact && !negative);
  switch (op) {
  case Op::FloorDiv:
    return floor;
  case Op::CeilDiv:
    return ceil;
  case Op::Mod:
    return a - floor * b;
  default: // AlignUp
    if (llvm::MulOverflow(ceil, b, result)) {
      return overflow(op, a, b);
    }
    return result;
  }
}

} // namespace

Expr Expr::extent(llvm::StringRef tensor, unsigned dim) {
  Expr expr(dim);
  expr.op = Op::Extent;
  expr.name = tensor.str();
  return expr;
}

Expr Expr::stride(llvm::StringRef tensor, unsigned dim) {
  Expr expr = extent(tensor, dim);
  expr.op = Op::Stride;
  return expr;
}

Expr Expr::scalar(llvm::StringRef name) {
  Expr expr;
  expr.op = Op::Scalar;
  expr.name = name.str();
  return expr;
}

Expr Expr::processors() {
  Expr expr;
  expr.op = Op::Processors;
  return expr;
}

Expr Expr::make(Op op, std::vector<Expr> operands) {
  Expr expr;
  expr.op = op;
  expr.operands = std::move(operands);
  return expr;
}

Expr Expr::read(JsonReader &reader) {
  if (reader.isInteger()) {
    return Expr(reader.integer("a literal", std::numeric_limits<int64_t>::min(),
                               std::numeric_limits<int64_t>::max()));
  }
  if (!reader.isArray() || reader.size() == 0) {
    reader.fail("a formula to be an integer or [operator, operand, …]");
    return {};
  }
  JsonReader head = reader.at(0);
  std::string name = head.string("an operator");
  size_t count = reader.size() - 1;
  // The largest rank of a tensor map (CUDA driver API) is 5; tensors of more
  // dimensions are given as fewer.
  constexpr int64_t maxDimension = 7;
  if (name == "extent" || name == "stride") {
    if (count != 2) {
      reader.fail("'" + name + "' to have a tensor and a dimension");
      return {};
    }
    std::string tensor = reader.at(1).string("a tensor");
    unsigned dim = reader.at(2).integer("a dimension", 0, maxDimension);
    return name == "extent" ? extent(tensor, dim) : stride(tensor, dim);
  }
  if (name == "scalar") {
    if (count != 1) {
      reader.fail("'scalar' to have one name");
      return {};
    }
    return scalar(reader.at(1).string("a scalar"));
  }
  if (name == "device") {
    if (count != 1 || reader.at(1).string("a number of the device") != "processors") {
      reader.fail("'device' to have the one operand \"processors\"");
      return {};
    }
    return processors();
  }
  const OpRow *row = callNamed(name);
  if (!row) {
    std::string names;
    for (const OpRow &known : kCalls) {
      names += ", " + known.name.str();
    }
    head.fail("an operator to be one of extent, stride, scalar, device" + names);
    return {};
  }
  if (count < row->minOperands || count > row->maxOperands) {
    reader.failWith("'" + name + "' to have " + llvm::Twine(row->minOperands) +
                        (row->minOperands == row->maxOperands ? llvm::Twine(" operands")
                                                              : llvm::Twine(" or more operands")),
                    llvm::Twine(count));
    return {};
  }
  std::vector<Expr> operands;
  for (size_t i = 1; i <= count && !reader.failed(); ++i) {
    JsonReader operand = reader.at(i);
    operands.push_back(read(operand));
  }
  return make(row->op, std::move(operands));
}

void Expr::write(llvm::json::OStream &json) const {
  switch (op) {
  case Op::Literal:
    json.value(literal);
    return;
  case Op::Extent:
  case Op::Stride:
    json.array([&] {
      json.value(op == Op::Extent ? "extent" : "stride");
      json.value(name);
      json.value(literal);
    });
    return;
  case Op::Scalar:
    json.array([&] {
      json.value("scalar");
      json.value(name);
    });
    return;
  case Op::Processors:
    json.array([&] {
      json.value("device");
      json.value("processors");
    });
    return;
  default:
    json.array([&] {
      json.value(callName(op));
      for (const Expr &operand : operands) {
        operand.write(json);
      }
    });
  }
}

void Expr::forEachName(llvm::function_ref<void(llvm::StringRef, Op, int64_t dim)> visit) const {
  if (op == Op::Extent || op == Op::Stride || op == Op::Scalar) {
    visit(name, op, literal);
  }
  for (const Expr &operand : operands) {
    operand.forEachName(visit);
  }
}

llvm::Expected<int64_t> Expr::evaluate(const Binding &binding) const {
  switch (op) {
  case Op::Literal:
    return literal;
  case Op::Scalar: {
    auto found = binding.integers.find(name);
    if (found == binding.integers.end()) {
      return error("expected the scalar '" + name + "' to be bound to an integer, but got nothing");
    }
    return found->second;
  }
  case Op::Processors:
    if (binding.processors <= 0) {
      return error("expected the device's number of processors to be bound, but got " +
                   llvm::Twine(binding.processors));
    }
    return binding.processors;
  case Op::Extent:
  case Op::Stride: {
    auto found = binding.tensors.find(name);
    if (found == binding.tensors.end()) {
      return error("expected the tensor '" + name + "' to be bound, but got nothing");
    }
    const std::vector<int64_t> &numbers =
        op == Op::Extent ? found->second.extents : found->second.strides;
    if (uint64_t(literal) >= numbers.size()) {
      return error("expected a dimension of '" + name + "' to be less than " +
                   llvm::Twine(numbers.size()) + ", but got " + llvm::Twine(literal));
    }
    return numbers[literal];
  }
  default:
    return evaluateCall(binding);
  }
}

llvm::Expected<int64_t> Expr::evaluateCall(const Binding &binding) const {
  llvm::Expected<int64_t> first = operands.front().evaluate(binding);
  if (!first) {
    return first.takeError();
  }
  if (op == Op::Select) {
    return operands[*first ? 1 : 2].evaluate(binding);
  }
  int64_t result = *first;
  for (const Expr &operand : llvm::ArrayRef(operands).drop_front()) {
    llvm::Expected<int64_t> next = operand.evaluate(binding);
    if (!next) {
      return next.takeError();
    }
    llvm::Expected<int64_t> combined = combine(op, result, *next);
    if (!combined) {
      return combined.takeError();
    }
    result = *combined;
  }
  return result;
}

} // namespace fa4::runtime
