//===- Math.cpp - functions of one number on the machine ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// There is no library on the device. A function of `math` is one of: an
// instruction that is accurate enough (M1: 4 ulp of f32), a formula of this file
// over such instructions, upstream's polynomial where a test found it accurate
// enough; or it is refused. With `afn` on the op (attn's `fast`), the machine's
// own approximation where it has one. docs/Numerics.md has the bounds.
//
//===----------------------------------------------------------------------===//

#include "Values.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

using namespace mlir;

namespace fa4::tile::gpu {

/// log2(e) as a sum of two f32.
static constexpr double kLog2E = 1.442695021629333;
static constexpr double kLog2ERest = 1.925963033500e-8;
static constexpr double kLn2 = 0.6931471805599453;

/// Below it tanh is an odd polynomial; above, 1 - 2 / (e^2x + 1) loses less than
/// the error of its exponential.
static constexpr double kTanhSmall = 0.55;
/// (tanh(x) / x - 1) / x^2 in powers of x^2, for |x| < 0.5568: interpolation at
/// Chebyshev's points, relative error of tanh 2^-27.
static constexpr double kTanhCoefficients[] = {-0.333333313, 0.133330926, -0.0539053604,
                                               0.0212847237, -0.00656439550};

static bool isFast(Operation *op) {
  auto math = dyn_cast<arith::ArithFastMathInterface>(op);
  arith::FastMathFlagsAttr flags = math ? math.getFastMathFlagsAttr() : nullptr;
  return flags && bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::afn);
}

static bool isInstruction(Operation *op) {
  return isa<math::FmaOp, math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::TruncOp,
             math::RoundEvenOp, math::CopySignOp, math::SqrtOp, math::Exp2Op>(op);
}

bool isFormula(Operation *op) {
  return isa<math::ExpOp, math::TanhOp, math::RsqrtOp>(op) ||
         (isFast(op) && isa<math::LogOp, math::Log2Op, math::SinOp, math::CosOp>(op));
}

static bool isUpstreamPolynomial(Operation *op) {
  return isa<math::LogOp, math::Log2Op, math::Log1pOp, math::ExpM1Op>(op);
}

LogicalResult checkMath(Operation *op) {
  if (!isInstruction(op) && !isFormula(op) && !isUpstreamPolynomial(op)) {
    return op->emitOpError("expected a function that the device has to 4 ulp, as fma, exp, exp2, "
                           "log, log2, tanh, sqrt or rsqrt, but got ")
           << op->getName() << "; tile.inline_ptx gives any instruction";
  }
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (!element.isF32() && !isa<math::AbsIOp>(op)) {
    return op->emitOpError("expected a function of f32, but got ") << element;
  }
  return success();
}

namespace {
/// Formulas on f32 and vectors of it.
class MathEmitter {
public:
  MathEmitter(ImplicitLocOpBuilder &b, Type type) : b(b), type(type) {}

  Value emit(Operation *op, Value x);
  /// x / y within 2 ulp: what PTX calls full range.
  Value divide(Value x, Value y);
  /// x / y within 2 ulp for 2^-126 <= |y| <= 2^126.
  Value divideApproximately(Value x, Value y);

private:
  Value constant(double value) { return floatConstant(b, type, value); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
  Value abs(Value x) { return math::AbsFOp::create(b, x); }
  Value isBelow(Value x, Value y) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value exp2(Value x) { return emitExp2(b, x); }
  /// An instruction that takes one scalar.
  Value perLane(Value x, llvm::function_ref<Value(Value)> instruction);
  Value ptx(Value x, StringRef name);
  Value reciprocal(Value x);
  Value exp(Value x);
  Value tanh(Value x);

  ImplicitLocOpBuilder &b;
  Type type;
};
} // namespace

Value MathEmitter::perLane(Value x, llvm::function_ref<Value(Value)> instruction) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector) {
    return instruction(x);
  }
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < vector.getDimSize(0); ++lane) {
    lanes.push_back(instruction(takeLane(b, x, lane)));
  }
  return fromLanes(b, vector.getElementType(), lanes);
}

Value MathEmitter::ptx(Value x, StringRef name) {
  std::string text = (name + " $0, $1;").str();
  return perLane(x, [&](Value lane) { return emitPtx(b, b.getF32Type(), lane, text, "=f,f"); });
}

Value MathEmitter::reciprocal(Value x) {
  return perLane(x, [&](Value lane) -> Value {
    return NVVM::RcpApproxFtzF32Op::create(b, b.getF32Type(), lane);
  });
}

/// 2^(x log2 e) with the product's rounding error put back: near the ends of the
/// range it is 2^7 half units of the result's last place.
Value MathEmitter::exp(Value x) {
  Value log2E = constant(kLog2E);
  Value exponent = mul(x, log2E);
  Value rest = fma(x, log2E, arith::NegFOp::create(b, exponent));
  rest = fma(x, constant(kLog2ERest), rest);
  Value power = exp2(exponent);
  Value corrected = fma(power, mul(rest, constant(kLn2)), power);
  // Outside of this range the power is 0 or infinite, the rest may be a NaN; a NaN
  // stays one.
  return select(isBelow(abs(exponent), constant(128.0)), corrected, power);
}

Value MathEmitter::tanh(Value x) {
  Value square = mul(x, x);
  Value series = constant(*std::rbegin(kTanhCoefficients));
  for (double coefficient : llvm::drop_begin(llvm::reverse(kTanhCoefficients))) {
    series = fma(series, square, constant(coefficient));
  }
  Value small = fma(mul(x, square), series, x);
  Value size = abs(x);
  Value power = exp2(mul(size, constant(2 * kLog2E)));
  Value inverse = reciprocal(arith::AddFOp::create(b, power, constant(1.0)));
  Value large = fma(inverse, constant(-2.0), constant(1.0));
  large = math::CopySignOp::create(b, large, x);
  return select(isBelow(size, constant(kTanhSmall)), small, large);
}

Value MathEmitter::emit(Operation *op, Value x) {
  bool fast = isFast(op);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return fast ? exp2(mul(x, constant(kLog2E))) : exp(x); })
      .Case([&](math::TanhOp) { return fast ? ptx(x, "tanh.approx.f32") : tanh(x); })
      .Case([&](math::RsqrtOp) { return ptx(x, "rsqrt.approx.ftz.f32"); })
      .Case([&](math::LogOp) { return mul(ptx(x, "lg2.approx.ftz.f32"), constant(kLn2)); })
      .Case([&](math::Log2Op) { return ptx(x, "lg2.approx.ftz.f32"); })
      .Case([&](math::SinOp) { return ptx(x, "sin.approx.ftz.f32"); })
      .Case([&](math::CosOp) { return ptx(x, "cos.approx.ftz.f32"); });
}

Value MathEmitter::divide(Value x, Value y) {
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < cast<VectorType>(type).getDimSize(0); ++lane) {
    lanes.push_back(emitPtx(b, b.getF32Type(), {takeLane(b, x, lane), takeLane(b, y, lane)},
                            "div.full.ftz.f32 $0, $1, $2;", "=f,f,f"));
  }
  return fromLanes(b, b.getF32Type(), lanes);
}

Value MathEmitter::divideApproximately(Value x, Value y) {
  Value inverse = reciprocal(y);
  return matchPattern(x, m_OneFloat()) ? inverse : mul(x, inverse);
}

/// A factor instead of a divisor that all lanes share: two roundings, as long as
/// neither number is close to the ends of the range.
static std::optional<double> findInverse(Value divisor) {
  if (auto broadcast = divisor.getDefiningOp<vector::BroadcastOp>()) {
    divisor = broadcast.getSource();
  }
  Attribute constant;
  if (!matchPattern(divisor, m_Constant(&constant))) {
    return std::nullopt;
  }
  if (auto splat = dyn_cast<SplatElementsAttr>(constant)) {
    constant = splat.getSplatValue<Attribute>();
  }
  auto number = dyn_cast<FloatAttr>(constant);
  double inverse = number ? 1.0 / number.getValueAsDouble() : 0.0;
  constexpr double far = 0x1p100;
  if (std::fabs(inverse) < 1.0 / far || std::fabs(inverse) > far) {
    return std::nullopt;
  }
  return inverse;
}

/// A division that is a formula: of a row's columns, as the correctly rounded one is a
/// subroutine, or one that says so.
static bool isFormulaOfDivision(Operation *op) {
  return isa<arith::DivFOp>(op) && (isFast(op) || isa<VectorType>(op->getResult(0).getType())) &&
         getElementTypeOrSelf(op->getResult(0).getType()).isF32();
}

static Value emitFormula(ImplicitLocOpBuilder &b, Operation *op) {
  Value x = op->getOperand(0);
  MathEmitter emitter(b, x.getType());
  if (!isFormulaOfDivision(op)) {
    return emitter.emit(op, x);
  }
  Value y = op->getOperand(1);
  if (std::optional<double> inverse = findInverse(y)) {
    return arith::MulFOp::create(b, x, floatConstant(b, x.getType(), *inverse));
  }
  return isFast(op) ? emitter.divideApproximately(x, y) : emitter.divide(x, y);
}

static void emitFormulas(Operation *root) {
  SmallVector<Operation *> formulas;
  root->walk([&](Operation *op) {
    if (isFormula(op) || isFormulaOfDivision(op)) {
      formulas.push_back(op);
    }
  });
  for (Operation *op : formulas) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    op->getResult(0).replaceAllUsesWith(emitFormula(b, op));
    op->erase();
  }
}

LogicalResult expandMath(Operation *root) {
  emitFormulas(root);
  SmallVector<Operation *> polynomials;
  root->walk([&](Operation *op) {
    if (isUpstreamPolynomial(op)) {
      polynomials.push_back(op);
    }
  });
  if (polynomials.empty()) {
    return success();
  }
  RewritePatternSet patterns(root->getContext());
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained({math::LogOp::getOperationName(), math::Log2Op::getOperationName(),
                               math::Log1pOp::getOperationName(),
                               math::ExpM1Op::getOperationName()},
                              name);
  });
  // Of a kernel of thousands of ops only these and what they become.
  GreedyRewriteConfig few;
  few.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  if (failed(applyOpPatternsGreedily(polynomials, std::move(patterns), few))) {
    return failure();
  }
  // expm1 is made of others.
  emitFormulas(root);
  return success();
}

} // namespace fa4::tile::gpu
