//===- InlinePtx.cpp - the author's own instructions ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text and constraints reach the assembler as they are written. An elementwise
// text is a function of its operands and may be moved, a statement may not.
//
//===----------------------------------------------------------------------===//

#include "ThreadLayout.h"
#include "Values.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fa4::tile::gpu {

/// Inline PTX has registers of integers and of f32 and f64: floats of 16 bits
/// travel as their bits.
static Type getRegisterType(Type type) {
  return type.isF16() || type.isBF16() ? IntegerType::get(type.getContext(), 16) : type;
}

static Value toRegister(ImplicitLocOpBuilder &b, Value value) {
  Type type = getRegisterType(value.getType());
  return type == value.getType() ? value : arith::BitcastOp::create(b, type, value).getResult();
}

/// The text once, on scalars.
static SmallVector<Value> emitOnce(ImplicitLocOpBuilder &b, InlinePtxOp op, ValueRange inputs,
                                   ArrayRef<Type> results) {
  SmallVector<Value> operands =
      llvm::map_to_vector(inputs, [&](Value input) { return toRegister(b, input); });
  SmallVector<Type> registers = llvm::map_to_vector(results, getRegisterType);
  Type result = registers.size() == 1 ? registers.front()
                                      : LLVM::LLVMStructType::getLiteral(b.getContext(), registers);
  Value output = emitPtx(b, result, operands, op.getText(), op.getConstraints());
  SmallVector<Value> values;
  for (auto [index, type] : llvm::enumerate(results)) {
    Value value =
        results.size() == 1
            ? output
            : LLVM::ExtractValueOp::create(b, output, static_cast<int64_t>(index)).getResult();
    values.push_back(
        value.getType() == type ? value : arith::BitcastOp::create(b, type, value).getResult());
  }
  return values;
}

namespace {
struct InlinePtxLowering : LoweringPattern<InlinePtxOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(InlinePtxOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto elementOf = [](Type type) {
      auto tile = dyn_cast<FragType>(type);
      return tile ? tile.getElementType() : type;
    };
    SmallVector<Type> results = llvm::map_to_vector(op.getResultTypes(), elementOf);
    auto tile = dyn_cast<FragType>(op.getResult(0).getType());
    if (!tile || !isa<VectorType>(ThreadLayout::of(tile).registerType())) {
      rewriter.replaceOp(op, emitOnce(b, op, adaptor.getInputs(), results));
      return success();
    }
    SmallVector<SmallVector<Value>> lanes(results.size());
    for (int64_t lane = 0, end = ThreadLayout::of(tile).lanes(); lane < end; ++lane) {
      SmallVector<Value> inputs = llvm::map_to_vector(
          adaptor.getInputs(), [&](Value input) { return takeLane(b, input, lane); });
      for (auto [result, value] : llvm::zip_equal(lanes, emitOnce(b, op, inputs, results))) {
        result.push_back(value);
      }
    }
    SmallVector<Value> joined;
    for (auto [element, values] : llvm::zip_equal(results, lanes)) {
      joined.push_back(fromLanes(b, element, values));
    }
    rewriter.replaceOp(op, joined);
    return success();
  }
};

struct RunPtxLowering : LoweringPattern<RunPtxOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(RunPtxOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> operands =
        llvm::map_to_vector(adaptor.getInputs(), [&](Value input) { return toRegister(b, input); });
    std::string constraints = op.getConstraints().str();
    constraints += constraints.empty() ? "~{memory}" : ",~{memory}";
    emitPtx(b, Type(), operands, op.getText(), constraints, /*hasSideEffects=*/true);
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void populateInlinePtxPatterns(const TileToNVVMTypeConverter &converter,
                               RewritePatternSet &patterns, const Lowering &lowering) {
  patterns.add<InlinePtxLowering, RunPtxLowering>(converter, patterns.getContext(), lowering);
}

} // namespace fa4::tile::gpu
