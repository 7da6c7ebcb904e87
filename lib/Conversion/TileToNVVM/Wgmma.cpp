//===- Wgmma.cpp - matrix products on fragments ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From issue to wait a product owns the registers of its fragments. LLVM does not
// know that, so it never gets between: all steps of a product are one PTX text, and
// the text of the wait takes the accumulators, and A's words, through itself. What
// is written to such registers before a product is fenced in the product's text.
//
//===----------------------------------------------------------------------===//

#include "Descriptors.h"
#include "ThreadLayout.h"
#include "Values.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace fa4::tile::gpu {

static bool isFragment(Value operand) { return operand && isa<FragType>(operand.getType()); }

bool fencesItself(IssueMmaOp op) { return isFragment(op.getA()) || isFragment(op.getAcc()); }

/// How wgmma spells an operand's type.
static StringRef spelling(Type type) {
  if (type.isBF16()) {
    return "bf16";
  }
  if (type.isF16()) {
    return "f16";
  }
  return isa<Float8E4M3FNType>(type) ? "e4m3" : "e5m2"; // checkControl: no other
}

/// "{$3, $4}" for the `count` operands from `first` on.
static std::string registers(int64_t first, int64_t count) {
  std::string list = "{";
  for (int64_t index = 0; index < count; ++index) {
    list += llvm::formatv("{0}${1}", index == 0 ? "" : ", ", first + index).str();
  }
  return list + "}";
}

namespace {
/// The text of one product and its operands.
class ProductText {
public:
  ProductText(ImplicitLocOpBuilder &b, const Lowering &lowering, IssueMmaOp op,
              IssueMmaOp::GenericAdaptor<ArrayRef<ValueRange>> in);

  /// The accumulators afterwards.
  Value emit();

private:
  /// Operand `$n` of an input.
  std::string addInput(Value value);
  void addA();
  void addStep(int64_t step);

  ImplicitLocOpBuilder &b;
  const Lowering &lowering;
  IssueMmaOp op;
  IssueMmaOp::GenericAdaptor<ArrayRef<ValueRange>> in;
  FragType result;
  int64_t lanes, steps;
  ViewOp bView;
  Type element;
  SharedOperand right;
  std::optional<SharedOperand> left;
  SmallVector<Value> inputs;
  std::string text, leftName, rightName;
  int64_t firstWord = 0;
};
} // namespace

static int64_t stepsOf(ViewOp right, int64_t kBytes) {
  FragType tile = right.getTileType();
  int64_t inner = isMnMajor(right) ? tile.getRows() : tile.getColumns();
  return inner * getElementBytes(tile.getElementType()) / kBytes;
}

ProductText::ProductText(ImplicitLocOpBuilder &b, const Lowering &lowering, IssueMmaOp op,
                         IssueMmaOp::GenericAdaptor<ArrayRef<ValueRange>> in)
    : b(b), lowering(lowering), op(op), in(in), result(tileOf(op.getResult())),
      lanes(ThreadLayout::of(result).lanes()), bView(lowering.view(op.getBViewAttr())),
      element(bView.getTileType().getElementType()),
      right(b, op.getLoc(), lowering, lowering.role(op),
            Place(op.getBViewAttr(), op.getB(), in.getB(), in.getBElement(),
                  op.getStaticBElementAttr())) {
  steps = stepsOf(bView, lowering.target().mmaKBytes);
}

std::string ProductText::addInput(Value value) {
  inputs.push_back(value);
  return "$" + std::to_string(2 * lanes + static_cast<int64_t>(inputs.size()) - 1);
}

void ProductText::addA() {
  if (!op.getAView()) {
    firstWord = 2 * lanes + static_cast<int64_t>(inputs.size());
    llvm::append_range(inputs, takeAllLanes(b, toWords(b, in.getA().front())));
    return;
  }
  left.emplace(
      b, op.getLoc(), lowering, lowering.role(op),
      Place(op.getAViewAttr(), op.getA(), in.getA(), in.getAElement(), op.getStaticAElementAttr()));
  leftName = addInput(left->base());
}

void ProductText::addStep(int64_t step) {
  constexpr int64_t wordsPerStep = 4; // PTX ISA, wgmma: A in registers
  int64_t elementBytes = getElementBytes(element);
  std::string a = "a";
  if (left) {
    text += llvm::formatv(" add.s64 a, {0}, {1};\n", leftName, left->offset(step)).str();
  } else {
    a = registers(firstWord + step * wordsPerStep, wordsPerStep);
  }
  text += llvm::formatv(" add.s64 b, {0}, {1};\n", rightName, right.offset(step)).str();
  Type aElement = left ? lowering.view(op.getAViewAttr()).getTileType().getElementType()
                       : tileOf(op.getA()).getElementType();
  text += llvm::formatv(" wgmma.mma_async.sync.aligned.m{0}n{1}k{2}.f32.{3}.{4} {5}, {6}, b, {7}, "
                        "1, 1",
                        result.getRows(), result.getColumns(),
                        lowering.target().mmaKBytes / elementBytes, spelling(aElement),
                        spelling(element), registers(0, lanes), a, step == 0 ? "first" : "more")
              .str();
  if (elementBytes == 2) {
    // Which operands are mn-major; A in registers has no choice.
    text += left ? (isMnMajor(lowering.view(op.getAViewAttr())) ? ", 1" : ", 0") : "";
    text += isMnMajor(bView) ? ", 1" : ", 0";
  }
  text += ";\n";
}

Value ProductText::emit() {
  SmallVector<Value> accumulators;
  std::string adds = "1";
  if (isFragment(op.getAcc())) {
    accumulators = takeAllLanes(b, in.getAcc().front());
  } else {
    accumulators.assign(lanes, LLVM::PoisonOp::create(b, b.getF32Type()));
  }
  addA();
  rightName = addInput(right.base());
  if (op.getOverwrite() || !isFragment(op.getAcc())) {
    adds = "0";
  } else if (!in.getUnless().empty()) {
    Value skip = LLVM::ZExtOp::create(b, b.getI32Type(), in.getUnless().front());
    adds = addInput(LLVM::XOrOp::create(b, skip, intConstant(b, b.getI32Type(), 1)));
  }
  text = llvm::formatv("{{\n .reg .pred first, more;\n .reg .b64 a, b;\n setp.ne.b32 first, {0}, "
                       "0;\n setp.ne.b32 more, 1, 0;\n",
                       adds)
             .str();
  if (fencesItself(op)) {
    text += " wgmma.fence.sync.aligned;\n";
  }
  for (int64_t step = 0; step < steps; ++step) {
    addStep(step);
  }
  text += " }";
  return fromLanes(b, b.getF32Type(),
                   emitPtxOnLanes(b, accumulators, inputs, text, /*clobbersMemory=*/true));
}

namespace {
struct IssueWgmmaLowering : LoweringPattern<IssueMmaOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(IssueMmaOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getResult()) {
      return failure(); // a product on tensor memory is another machine's
    }
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, ProductText(b, lowering, op, adaptor).emit());
    return success();
  }
};

struct WgmmaCommitLowering : LoweringPattern<GroupCommitOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(GroupCommitOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    if (op.getKind() != Group::Wgmma) {
      return failure();
    }
    b.replaceOpWithNewOp<NVVM::WgmmaGroupSyncAlignedOp>(op);
    return success();
  }
};

struct WgmmaWaitLowering : LoweringPattern<GroupWaitOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(GroupWaitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getKind() != Group::Wgmma) {
      return failure();
    }
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> lanes, inputs;
    for (auto [value, converted] : llvm::zip_equal(op.getValues(), adaptor.getValues())) {
      llvm::append_range(lanes, takeAllLanes(b, converted));
      // A's registers are the product's until here: nothing else is put there.
      auto product = value.getDefiningOp<IssueMmaOp>();
      if (product && isFragment(product.getA())) {
        Value a = rewriter.getRemappedValue(product.getA());
        llvm::append_range(inputs, takeAllLanes(b, toWords(b, a)));
      }
    }
    std::string text = llvm::formatv("wgmma.wait_group.sync.aligned {0};", op.getPending()).str();
    if (lanes.empty()) {
      NVVM::WgmmaWaitGroupSyncOp::create(b, static_cast<uint64_t>(op.getPending()));
    } else {
      lanes = emitPtxOnLanes(b, lanes, inputs, text, /*clobbersMemory=*/true);
    }
    SmallVector<Value> results;
    ArrayRef<Value> rest(lanes);
    for (Value value : op.getValues()) {
      auto count = static_cast<size_t>(ThreadLayout::of(value).lanes());
      results.push_back(fromLanes(b, tileOf(value).getElementType(), rest.take_front(count)));
      rest = rest.drop_front(count);
    }
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

void populateWgmmaPatterns(const TileToNVVMTypeConverter &converter, RewritePatternSet &patterns,
                           const Lowering &lowering) {
  patterns.add<IssueWgmmaLowering, WgmmaCommitLowering, WgmmaWaitLowering>(
      converter, patterns.getContext(), lowering);
}

} // namespace fa4::tile::gpu
