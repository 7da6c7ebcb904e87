//===- RegionInterpreter.cpp - score regions in float64 -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region is read once into a list of instructions on numbered slots, so that
// running it for millions of (row, key) pairs costs no lookup.
//
//===----------------------------------------------------------------------===//

#include "fa4/Driver/RegionInterpreter.h"

#include "fa4/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace fa4::driver {

using Instruction = RegionInterpreter::Instruction;

//===----------------------------------------------------------------------===//
// What operations do
//===----------------------------------------------------------------------===//

template <double (*F)(double)>
static void realUnary(const Instruction &i, RegionValue *slots) {
  slots[i.result].real = F(slots[i.operands[0]].real);
}
template <double (*F)(double, double)>
static void realBinary(const Instruction &i, RegionValue *slots) {
  slots[i.result].real = F(slots[i.operands[0]].real, slots[i.operands[1]].real);
}
/// Results wrap at the width in `detail`, and are kept sign-extended.
template <int64_t (*F)(int64_t, int64_t, unsigned)>
static void integerBinary(const Instruction &i, RegionValue *slots) {
  auto width = static_cast<unsigned>(i.detail);
  int64_t value = F(slots[i.operands[0]].integer, slots[i.operands[1]].integer, width);
  slots[i.result].integer = llvm::SignExtend64(static_cast<uint64_t>(value), width);
}

static uint64_t asUnsigned(int64_t value, unsigned width) {
  return static_cast<uint64_t>(value) & llvm::maskTrailingOnes<uint64_t>(width);
}

static double add(double x, double y) { return x + y; }
static double subtract(double x, double y) { return x - y; }
static double multiply(double x, double y) { return x * y; }
static double divide(double x, double y) { return x / y; }
static double negate(double x) { return -x; }
static double maximum(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? std::nan("") : std::fmax(x, y);
}
static double minimum(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? std::nan("") : std::fmin(x, y);
}
static double reciprocalRoot(double x) { return 1.0 / std::sqrt(x); }
static double same(double x) { return x; }

static int64_t add(int64_t x, int64_t y, unsigned) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
}
static int64_t subtract(int64_t x, int64_t y, unsigned) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
}
static int64_t multiply(int64_t x, int64_t y, unsigned) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}
/// Division by zero has no value in MLIR; the oracle says 0 and goes on.
static int64_t divide(int64_t x, int64_t y, unsigned w) {
  if (y == 0 || y == -1) {
    return y == 0 ? 0 : subtract(0, x, w);
  }
  return x / y;
}
static int64_t remainder(int64_t x, int64_t y, unsigned) { return y == 0 || y == -1 ? 0 : x % y; }
static int64_t divideUnsigned(int64_t x, int64_t y, unsigned w) {
  return y == 0 ? 0 : static_cast<int64_t>(asUnsigned(x, w) / asUnsigned(y, w));
}
static int64_t remainderUnsigned(int64_t x, int64_t y, unsigned w) {
  return y == 0 ? 0 : static_cast<int64_t>(asUnsigned(x, w) % asUnsigned(y, w));
}
static int64_t divideFloor(int64_t x, int64_t y, unsigned w) {
  int64_t quotient = divide(x, y, w);
  return y != 0 && x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
}
static int64_t divideCeil(int64_t x, int64_t y, unsigned w) {
  int64_t quotient = divide(x, y, w);
  return y != 0 && x % y != 0 && (x < 0) == (y < 0) ? quotient + 1 : quotient;
}
static int64_t both(int64_t x, int64_t y, unsigned) { return x & y; }
static int64_t either(int64_t x, int64_t y, unsigned) { return x | y; }
static int64_t differ(int64_t x, int64_t y, unsigned) { return x ^ y; }
static int64_t shiftLeft(int64_t x, int64_t y, unsigned w) {
  return asUnsigned(y, w) >= w ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) << y);
}
static int64_t shiftRight(int64_t x, int64_t y, unsigned w) {
  return asUnsigned(y, w) >= w ? (x < 0 ? -1 : 0) : x >> y;
}
static int64_t shiftRightUnsigned(int64_t x, int64_t y, unsigned w) {
  return asUnsigned(y, w) >= w ? 0 : static_cast<int64_t>(asUnsigned(x, w) >> y);
}
static int64_t larger(int64_t x, int64_t y, unsigned) { return std::max(x, y); }
static int64_t smaller(int64_t x, int64_t y, unsigned) { return std::min(x, y); }
static int64_t largerUnsigned(int64_t x, int64_t y, unsigned w) {
  return asUnsigned(x, w) > asUnsigned(y, w) ? x : y;
}
static int64_t smallerUnsigned(int64_t x, int64_t y, unsigned w) {
  return asUnsigned(x, w) < asUnsigned(y, w) ? x : y;
}

static void multiplyAdd(const Instruction &i, RegionValue *slots) {
  slots[i.result].real =
      std::fma(slots[i.operands[0]].real, slots[i.operands[1]].real, slots[i.operands[2]].real);
}
static void selectValue(const Instruction &i, RegionValue *slots) {
  slots[i.result] = slots[i.operands[0]].integer ? slots[i.operands[1]] : slots[i.operands[2]];
}
static void narrowInteger(const Instruction &i, RegionValue *slots) {
  slots[i.result].integer = llvm::SignExtend64(static_cast<uint64_t>(slots[i.operands[0]].integer),
                                               static_cast<unsigned>(i.detail));
}
static void widenUnsigned(const Instruction &i, RegionValue *slots) {
  slots[i.result].integer = static_cast<int64_t>(
      asUnsigned(slots[i.operands[0]].integer, static_cast<unsigned>(i.detail)));
}
static void integerToReal(const Instruction &i, RegionValue *slots) {
  slots[i.result].real = static_cast<double>(slots[i.operands[0]].integer);
}
static void unsignedToReal(const Instruction &i, RegionValue *slots) {
  slots[i.result].real = static_cast<double>(
      asUnsigned(slots[i.operands[0]].integer, static_cast<unsigned>(i.detail)));
}
static void realToInteger(const Instruction &i, RegionValue *slots) {
  slots[i.result].integer = static_cast<int64_t>(slots[i.operands[0]].real);
}

static void compareReals(const Instruction &i, RegionValue *slots) {
  double x = slots[i.operands[0]].real;
  double y = slots[i.operands[1]].real;
  bool unordered = std::isnan(x) || std::isnan(y);
  auto decide = [&]() -> bool {
    switch (static_cast<arith::CmpFPredicate>(i.detail)) {
    case arith::CmpFPredicate::AlwaysFalse:
      return false;
    case arith::CmpFPredicate::AlwaysTrue:
      return true;
    case arith::CmpFPredicate::OEQ:
      return x == y;
    case arith::CmpFPredicate::OGT:
      return x > y;
    case arith::CmpFPredicate::OGE:
      return x >= y;
    case arith::CmpFPredicate::OLT:
      return x < y;
    case arith::CmpFPredicate::OLE:
      return x <= y;
    case arith::CmpFPredicate::ONE:
      return !unordered && x != y;
    case arith::CmpFPredicate::ORD:
      return !unordered;
    case arith::CmpFPredicate::UEQ:
      return unordered || x == y;
    case arith::CmpFPredicate::UGT:
      return unordered || x > y;
    case arith::CmpFPredicate::UGE:
      return unordered || x >= y;
    case arith::CmpFPredicate::ULT:
      return unordered || x < y;
    case arith::CmpFPredicate::ULE:
      return unordered || x <= y;
    case arith::CmpFPredicate::UNE:
      return x != y;
    case arith::CmpFPredicate::UNO:
      return unordered;
    }
    llvm_unreachable("all predicates are handled");
  };
  slots[i.result].integer = decide() ? -1 : 0;
}

/// `operands[2]` holds the operands' width, `detail` the predicate.
static void compareIntegers(const Instruction &i, RegionValue *slots) {
  int64_t x = slots[i.operands[0]].integer;
  int64_t y = slots[i.operands[1]].integer;
  uint64_t ux = asUnsigned(x, i.operands[2]);
  uint64_t uy = asUnsigned(y, i.operands[2]);
  auto decide = [&]() -> bool {
    switch (static_cast<arith::CmpIPredicate>(i.detail)) {
    case arith::CmpIPredicate::eq:
      return x == y;
    case arith::CmpIPredicate::ne:
      return x != y;
    case arith::CmpIPredicate::slt:
      return x < y;
    case arith::CmpIPredicate::sle:
      return x <= y;
    case arith::CmpIPredicate::sgt:
      return x > y;
    case arith::CmpIPredicate::sge:
      return x >= y;
    case arith::CmpIPredicate::ult:
      return ux < uy;
    case arith::CmpIPredicate::ule:
      return ux <= uy;
    case arith::CmpIPredicate::ugt:
      return ux > uy;
    case arith::CmpIPredicate::uge:
      return ux >= uy;
    }
    llvm_unreachable("all predicates are handled");
  };
  slots[i.result].integer = decide() ? -1 : 0;
}

/// Outside the array reads zero.
static bool locate(const Instruction &i, const RegionValue *slots, int64_t &position) {
  llvm::SmallVector<int64_t, 4> index;
  for (auto [slot, extent] : llvm::zip_equal(i.coordinates, i.array->getShape())) {
    int64_t coordinate = slots[slot].integer;
    if (coordinate < 0 || coordinate >= extent) {
      return false;
    }
    index.push_back(coordinate);
  }
  position = i.array->positionOf(index);
  return true;
}
static void fetchReal(const Instruction &i, RegionValue *slots) {
  int64_t position;
  slots[i.result].real = locate(i, slots, position) ? i.array->getAt(position) : 0.0;
}
static void fetchInteger(const Instruction &i, RegionValue *slots) {
  int64_t position;
  slots[i.result].integer =
      locate(i, slots, position) ? static_cast<int64_t>(i.array->getAt(position)) : 0;
}

static void branch(const Instruction &i, RegionValue *slots) {
  bool taken = slots[i.operands[0]].integer != 0;
  for (const Instruction &inner : taken ? i.thenPart : i.elsePart) {
    inner.execute(inner, slots);
  }
  for (auto [from, to] : llvm::zip_equal(taken ? i.thenYields : i.elseYields, i.results)) {
    slots[to] = slots[from];
  }
}

using Execute = void (*)(const Instruction &, RegionValue *);

/// Operations whose result depends on the values of the operands alone.
static Execute lookupPlain(StringRef name) {
  static const llvm::StringMap<Execute> table = {
      {"arith.addf", realBinary<add>},
      {"arith.subf", realBinary<subtract>},
      {"arith.mulf", realBinary<multiply>},
      {"arith.divf", realBinary<divide>},
      {"arith.remf", realBinary<std::fmod>},
      {"arith.negf", realUnary<negate>},
      {"arith.maximumf", realBinary<maximum>},
      {"arith.minimumf", realBinary<minimum>},
      {"arith.maxnumf", realBinary<std::fmax>},
      {"arith.minnumf", realBinary<std::fmin>},
      {"arith.extf", realUnary<same>},
      {"arith.truncf", realUnary<same>},
      {"arith.select", selectValue},
      {"arith.sitofp", integerToReal},
      {"arith.fptosi", realToInteger},
      {"arith.addi", integerBinary<add>},
      {"arith.subi", integerBinary<subtract>},
      {"arith.muli", integerBinary<multiply>},
      {"arith.divsi", integerBinary<divide>},
      {"arith.remsi", integerBinary<remainder>},
      {"arith.divui", integerBinary<divideUnsigned>},
      {"arith.remui", integerBinary<remainderUnsigned>},
      {"arith.floordivsi", integerBinary<divideFloor>},
      {"arith.ceildivsi", integerBinary<divideCeil>},
      {"arith.andi", integerBinary<both>},
      {"arith.ori", integerBinary<either>},
      {"arith.xori", integerBinary<differ>},
      {"arith.shli", integerBinary<shiftLeft>},
      {"arith.shrsi", integerBinary<shiftRight>},
      {"arith.shrui", integerBinary<shiftRightUnsigned>},
      {"arith.maxsi", integerBinary<larger>},
      {"arith.minsi", integerBinary<smaller>},
      {"arith.maxui", integerBinary<largerUnsigned>},
      {"arith.minui", integerBinary<smallerUnsigned>},
      {"math.absf", realUnary<std::fabs>},
      {"math.ceil", realUnary<std::ceil>},
      {"math.floor", realUnary<std::floor>},
      {"math.round", realUnary<std::round>},
      {"math.roundeven", realUnary<std::nearbyint>},
      {"math.trunc", realUnary<std::trunc>},
      {"math.copysign", realBinary<std::copysign>},
      {"math.powf", realBinary<std::pow>},
      {"math.exp", realUnary<std::exp>},
      {"math.exp2", realUnary<std::exp2>},
      {"math.expm1", realUnary<std::expm1>},
      {"math.log", realUnary<std::log>},
      {"math.log2", realUnary<std::log2>},
      {"math.log1p", realUnary<std::log1p>},
      {"math.sqrt", realUnary<std::sqrt>},
      {"math.rsqrt", realUnary<reciprocalRoot>},
      {"math.sin", realUnary<std::sin>},
      {"math.cos", realUnary<std::cos>},
      {"math.atan", realUnary<std::atan>},
      {"math.tanh", realUnary<std::tanh>},
      {"math.erf", realUnary<std::erf>},
      {"math.fma", multiplyAdd},
  };
  return table.lookup(name);
}

//===----------------------------------------------------------------------===//
// Reading a region
//===----------------------------------------------------------------------===//

class RegionInterpreter::Reader {
public:
  explicit Reader(RegionInterpreter &into) : into(into) {}

  unsigned newSlot(Value value) {
    unsigned slot = static_cast<unsigned>(into.initial.size());
    into.initial.push_back(RegionValue{});
    slots[value] = slot;
    return slot;
  }
  void bindArray(Value value, const HostArray &array) { arrays[value] = &array; }
  unsigned lookup(Value value) const { return slots.lookup(value); }

  llvm::Error read(Block &block, std::vector<Instruction> &program) {
    for (Operation &op : block.without_terminator()) {
      if (llvm::Error error = readOp(op, program)) {
        return error;
      }
    }
    return llvm::Error::success();
  }

private:
  static unsigned widthOf(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }
  llvm::Error readConstant(arith::ConstantOp op) {
    RegionValue &value = into.initial[newSlot(op.getResult())];
    if (auto real = dyn_cast<FloatAttr>(op.getValue())) {
      value.real = real.getValueAsDouble();
      return llvm::Error::success();
    }
    if (auto integer = dyn_cast<IntegerAttr>(op.getValue())) {
      value.integer = integer.getValue().getSExtValue();
      return llvm::Error::success();
    }
    return refuse(op);
  }
  static llvm::Error refuse(Operation *op) {
    return llvm::createStringError("expected the region's operations to be ones that the reference "
                                   "evaluates, but got '" +
                                   op->getName().getStringRef() + "'");
  }
  llvm::Error readOp(Operation &op, std::vector<Instruction> &program) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      return readConstant(constant);
    }
    if (auto branches = dyn_cast<scf::IfOp>(op)) {
      return readIf(branches, program);
    }
    Instruction instruction{};
    if (auto fetch = dyn_cast<attn::FetchOp>(op)) {
      instruction.array = arrays.lookup(fetch.getSource());
      for (Value index : fetch.getIndices()) {
        instruction.coordinates.push_back(lookup(index));
      }
      instruction.execute = isa<FloatType>(fetch.getType()) ? fetchReal : fetchInteger;
      instruction.result = newSlot(fetch.getResult());
      program.push_back(std::move(instruction));
      return llvm::Error::success();
    }
    constexpr unsigned maxOperands = 3;
    if (op.getNumResults() != 1 || op.getNumOperands() > maxOperands) {
      return refuse(&op);
    }
    for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
      instruction.operands[index] = lookup(operand);
    }
    Type result = op.getResult(0).getType();
    if (!result.isIntOrIndexOrFloat()) {
      return refuse(&op);
    }
    instruction.detail = widthOf(result);
    if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
      instruction.execute = compareReals;
      instruction.detail = static_cast<int64_t>(compare.getPredicate());
    } else if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      instruction.execute = compareIntegers;
      instruction.detail = static_cast<int64_t>(compare.getPredicate());
      instruction.operands[2] = widthOf(compare.getLhs().getType());
    } else if (isa<arith::ExtUIOp, arith::UIToFPOp, arith::IndexCastUIOp>(op)) {
      instruction.execute = isa<arith::UIToFPOp>(op) ? unsignedToReal : widenUnsigned;
      instruction.detail = widthOf(op.getOperand(0).getType());
    } else if (isa<arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp>(op)) {
      instruction.execute = narrowInteger;
    } else {
      instruction.execute = lookupPlain(op.getName().getStringRef());
    }
    if (!instruction.execute) {
      return refuse(&op);
    }
    instruction.result = newSlot(op.getResult(0));
    program.push_back(std::move(instruction));
    return llvm::Error::success();
  }
  llvm::Error readIf(scf::IfOp op, std::vector<Instruction> &program) {
    Instruction instruction{};
    instruction.execute = branch;
    instruction.operands[0] = lookup(op.getCondition());
    auto readPart = [&](Block *block, std::vector<Instruction> &part,
                        llvm::SmallVectorImpl<unsigned> &yields) -> llvm::Error {
      if (!block) {
        return llvm::Error::success();
      }
      if (llvm::Error error = read(*block, part)) {
        return error;
      }
      for (Value value : block->getTerminator()->getOperands()) {
        yields.push_back(lookup(value));
      }
      return llvm::Error::success();
    };
    if (llvm::Error error =
            readPart(op.thenBlock(), instruction.thenPart, instruction.thenYields)) {
      return error;
    }
    if (llvm::Error error =
            readPart(op.elseBlock(), instruction.elsePart, instruction.elseYields)) {
      return error;
    }
    for (Value result : op.getResults()) {
      instruction.results.push_back(newSlot(result));
    }
    program.push_back(std::move(instruction));
    return llvm::Error::success();
  }

  RegionInterpreter &into;
  llvm::DenseMap<Value, unsigned> slots;
  llvm::DenseMap<Value, const HostArray *> arrays;
};

llvm::Expected<RegionInterpreter> RegionInterpreter::create(Region &region,
                                                            llvm::ArrayRef<Argument> captures) {
  RegionInterpreter interpreter;
  Block &block = region.front();
  interpreter.numScalars = block.getNumArguments() - static_cast<unsigned>(captures.size());
  Reader reader(interpreter);
  for (Value scalar : block.getArguments().take_front(interpreter.numScalars)) {
    reader.newSlot(scalar);
  }
  for (auto [value, capture] :
       llvm::zip_equal(block.getArguments().drop_front(interpreter.numScalars), captures)) {
    if (auto *array = std::get_if<std::shared_ptr<HostArray>>(&capture)) {
      reader.bindArray(value, **array);
    } else if (auto *real = std::get_if<float>(&capture)) {
      unsigned slot = reader.newSlot(value);
      interpreter.initial[slot].real = *real;
    } else {
      unsigned slot = reader.newSlot(value);
      interpreter.initial[slot].integer = std::get<int32_t>(capture);
    }
  }
  if (llvm::Error error = reader.read(block, interpreter.program)) {
    return error;
  }
  interpreter.yielded = reader.lookup(block.getTerminator()->getOperand(0));
  return interpreter;
}

RegionValue RegionInterpreter::run(llvm::ArrayRef<RegionValue> scalars) const {
  llvm::SmallVector<RegionValue, 64> slots(initial.begin(), initial.end());
  std::copy(scalars.begin(), scalars.end(), slots.begin());
  for (const Instruction &instruction : program) {
    instruction.execute(instruction, slots.data());
  }
  return slots[yielded];
}

} // namespace fa4::driver
