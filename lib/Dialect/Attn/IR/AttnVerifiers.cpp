//===- AttnVerifiers.cpp - the contract, checked --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each check carries the label of its rule in the op's description. What is
// dynamic in a type is the caller's promise and is not checked here.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/IR/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

namespace {

/// One extent that several operands share: the first static one decides, the
/// others must agree with it.
struct Extent {
  explicit Extent(StringLiteral what) : what(what) {}

  StringLiteral what;
  int64_t size = ShapedType::kDynamic;
  StringRef from;
  SharedExtent places;
};

/// Checks shapes against shared extents, with messages that name both parties.
class ShapeChecker {
public:
  explicit ShapeChecker(Operation *op) : op(op) {}

  LogicalResult checkRank(StringRef name, Value value, int64_t rank) {
    auto type = cast<ShapedType>(value.getType());
    if (type.getRank() != rank) { // S1
      return op->emitOpError("expected ")
             << name << " to be of rank " << rank << ", but got " << type;
    }
    return success();
  }

  LogicalResult checkElement(StringRef name, Value value, Type element) {
    Type actual = cast<ShapedType>(value.getType()).getElementType();
    if (actual != element) { // S1
      return op->emitOpError("expected elements of ")
             << name << " to be " << element << ", but got " << actual;
    }
    return success();
  }

  LogicalResult unify(StringRef name, Value value, unsigned dim, Extent &extent) {
    const int64_t size = cast<ShapedType>(value.getType()).getDimSize(dim);
    extent.places.emplace_back(value, dim);
    if (ShapedType::isDynamic(size)) {
      return success();
    }
    if (size > std::numeric_limits<int32_t>::max()) { // S4
      return op->emitOpError("expected ")
             << extent.what << " of " << name << " to fit 32 bits, but got " << size;
    }
    if (ShapedType::isDynamic(extent.size)) {
      extent.size = size;
      extent.from = name;
      return success();
    }
    if (size != extent.size) { // S1
      return op->emitOpError("expected ")
             << extent.what << " of " << name << " to be " << extent.size << " as in "
             << extent.from << ", but got " << size;
    }
    return success();
  }

  /// The whole shape at once: rank, element type, and one extent per dimension.
  LogicalResult check(StringRef name, Value value, Type element, ArrayRef<Extent *> extents) {
    if (failed(checkRank(name, value, extents.size())) ||
        failed(checkElement(name, value, element))) {
      return failure();
    }
    for (auto [dim, extent] : llvm::enumerate(extents)) {
      if (failed(unify(name, value, dim, *extent))) {
        return failure();
      }
    }
    return success();
  }

private:
  Operation *op;
};

/// Everything S1 lets operands agree on.
struct Extents {
  Extent batch{"the batch extent"};
  Extent queries{"the number of queries"};
  Extent keys{"the number of keys"};
  Extent queryHeads{"the number of query heads"};
  Extent keyHeads{"the number of key heads"};
  Extent queryKeyDim{"the head dim"};
  Extent valueDim{"the head dim"};
  Extent sequences{"the number of sequences"};
  Extent sums{"the number of prefix sums"};

  /// The extents of q, k, v or o in the order of `layout`.
  SmallVector<Extent *, 4> order(Layout layout, Extent &sequence, Extent &heads, Extent &depth) {
    switch (layout) {
    case Layout::BSHD:
      return {&batch, &sequence, &heads, &depth};
    case Layout::BHSD:
      return {&batch, &heads, &sequence, &depth};
    case Layout::THD:
      return {&sequence, &heads, &depth};
    }
    llvm_unreachable("all layouts are listed");
  }

  SmallVector<Extent *, 3> orderLse(Layout layout) {
    return layout == Layout::THD ? SmallVector<Extent *, 3>{&queryHeads, &queries}
                                 : SmallVector<Extent *, 3>{&batch, &queryHeads, &queries};
  }
};

} // namespace

/// The smallest stride and base that TMA and 16-byte vector accesses take:
/// CUDA driver API, cuTensorMapEncodeTiled, globalStrides and globalAddress.
static constexpr int64_t strideGranuleBytes = 16;

/// S2, for the arrays that kernels read and write in tiles.
static LogicalResult verifyStrides(Operation *op, StringRef name, Value value, bool isDestination) {
  auto type = dyn_cast<MemRefType>(value.getType());
  if (!type) {
    return success();
  }
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(strides, offset))) {
    return op->emitOpError("expected ") << name << " to be strided, but got " << type;
  }
  // Unsigned, so that no stride overflows; the granule divides 2^64.
  const uint64_t bytes = type.getElementTypeBitWidth() / 8;
  auto inBytes = [&](int64_t elements) {
    return static_cast<int64_t>(static_cast<uint64_t>(elements) * bytes);
  };
  auto badGranule = [&](int64_t elements) {
    return ShapedType::isStatic(elements) && inBytes(elements) % strideGranuleBytes != 0;
  };
  if (badGranule(offset)) {
    return op->emitOpError("expected the offset of ")
           << name << " to be a multiple of " << strideGranuleBytes << " bytes, but got "
           << inBytes(offset);
  }
  for (auto [dim, stride] : llvm::enumerate(strides)) {
    const int64_t extent = type.getDimSize(dim);
    if (ShapedType::isDynamic(stride) || extent == 0 || extent == 1) {
      continue;
    }
    if (dim + 1 == strides.size()) {
      if (stride != 1) {
        return op->emitOpError("expected the innermost stride of ")
               << name << " to be 1, but got " << stride;
      }
    } else if (stride < 0 || badGranule(stride)) {
      return op->emitOpError("expected stride ")
             << dim << " of " << name << " to be a non-negative multiple of " << strideGranuleBytes
             << " bytes, but got " << inBytes(stride);
    } else if (stride == 0 && isDestination && ShapedType::isStatic(extent)) {
      return op->emitOpError("expected stride ")
             << dim << " of " << name << " to be positive, since it is written, but got 0";
    }
  }
  return success();
}

/// A destination-style op is on tensors or on memrefs, never on both.
static LogicalResult verifySameKind(Operation *op) {
  std::optional<bool> isTensor;
  for (Value operand : op->getOperands()) {
    if (!isa<ShapedType>(operand.getType())) {
      continue;
    }
    const bool operandIsTensor = isa<TensorType>(operand.getType());
    if (isTensor && *isTensor != operandIsTensor) { // S1
      return op->emitOpError("expected operands to be all tensors or all memrefs, but got ")
             << op->getOperand(0).getType() << " and " << operand.getType();
    }
    isTensor = operandIsTensor;
  }
  return success();
}

static LogicalResult verifyHeads(Operation *op, int64_t queryHeads, int64_t keyHeads) {
  if (queryHeads == 0 || keyHeads == 0) { // S3
    return op->emitOpError("expected the number of heads to be positive, but got ")
           << queryHeads << " query and " << keyHeads << " key heads";
  }
  if (ShapedType::isStatic(queryHeads) && ShapedType::isStatic(keyHeads) &&
      queryHeads % keyHeads != 0) { // S3
    return op->emitOpError("expected the number of query heads to be a multiple of the number of "
                           "key heads, ")
           << keyHeads << ", but got " << queryHeads;
  }
  return success();
}

static LogicalResult verifyHeadDim(Operation *op, StringRef name, const Extent &extent) {
  // S6: what 16-byte rows of 16-bit elements and one tile of tensor memory allow.
  constexpr int64_t step = 8, limit = 256;
  if (ShapedType::isDynamic(extent.size)) {
    return op->emitOpError("expected the head dim of ")
           << name << " to be static, but got a dynamic extent";
  }
  if (extent.size < step || extent.size > limit || extent.size % step != 0) {
    return op->emitOpError("expected the head dim of ")
           << name << " to be a multiple of " << step << " from " << step << " to " << limit
           << ", but got " << extent.size;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ForwardOp
//===----------------------------------------------------------------------===//

/// Operands that come in pairs (of q and of k) and those that need a layout.
static LogicalResult verifyGroups(ForwardOp op) {
  const bool packed = op.getLayout() == Layout::THD;
  if (packed != static_cast<bool>(op.getQueryPrefixSums())) { // S1
    return op.emitOpError("expected prefix_sums to be given exactly with layout thd, but got ")
           << (packed ? "none" : "them") << " with layout " << stringifyLayout(op.getLayout());
  }
  if (op.getQueryUsedLengths() && !packed) { // S1
    return op.emitOpError("expected used_lengths to be given only with layout thd, but got them "
                          "with layout ")
           << stringifyLayout(op.getLayout());
  }
  for (auto [what, first, second] :
       {std::tuple<StringRef, Value, Value>{"document_ids", op.getQueryDocuments(),
                                            op.getKeyDocuments()},
        {"prefix_sums", op.getQueryPrefixSums(), op.getKeyPrefixSums()},
        {"used_lengths", op.getQueryUsedLengths(), op.getKeyUsedLengths()},
        {"origin", op.getBatchOrigin(), op.getHeadOrigin()}}) {
    if (static_cast<bool>(first) != static_cast<bool>(second)) {
      return op.emitOpError("expected ") << what << " to be given as a pair, but got one of two";
    }
  }
  if (op.getScoreCaptures().size() && !op.hasScoreRegion()) {
    return op.emitOpError("expected captures to have a score region, but got none");
  }
  if (op.getPredicateCaptures().size() && !op.hasPredicateRegion()) {
    return op.emitOpError("expected captures to have a predicate region, but got none");
  }
  return success();
}

static LogicalResult verifyShapes(ForwardOp op, Extents &extents) {
  ShapeChecker checker(op);
  const Layout layout = op.getLayout();
  Builder builder(op.getContext());
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();

  const int64_t rank = op.getTensorDims().rank();
  for (auto [name, value] : {std::pair<StringRef, Value>{"q", op.getQ()},
                             {"k", op.getK()},
                             {"v", op.getV()},
                             {"o", op.getO()}}) {
    if (failed(checker.checkRank(name, value, rank))) {
      return failure();
    }
  }
  Type element = cast<ShapedType>(op.getQ().getType()).getElementType();
  if (!element.isBF16() && !element.isF16()) { // S7
    return op.emitOpError("expected elements of q to be bf16 or f16, but got ") << element;
  }
  auto order = [&](Extent &sequence, Extent &heads, Extent &depth) {
    return extents.order(layout, sequence, heads, depth);
  };
  if (failed(checker.check("q", op.getQ(), element,
                           order(extents.queries, extents.queryHeads, extents.queryKeyDim))) ||
      failed(checker.check("k", op.getK(), element,
                           order(extents.keys, extents.keyHeads, extents.queryKeyDim))) ||
      failed(checker.check("v", op.getV(), element,
                           order(extents.keys, extents.keyHeads, extents.valueDim))) ||
      failed(verifyHeads(op, extents.queryHeads.size, extents.keyHeads.size)) ||
      failed(verifyHeadDim(op, "q and k", extents.queryKeyDim)) ||
      failed(verifyHeadDim(op, "v", extents.valueDim)) ||
      failed(checker.check("o", op.getO(), element,
                           order(extents.queries, extents.queryHeads, extents.valueDim)))) {
    return failure();
  }
  if (op.getLse() && failed(checker.check("lse", op.getLse(), f32, extents.orderLse(layout)))) {
    return failure();
  }
  if (op.getQueryPrefixSums()) { // S1
    if (failed(checker.check("prefix_sums of q", op.getQueryPrefixSums(), i32, {&extents.sums})) ||
        failed(checker.check("prefix_sums of k", op.getKeyPrefixSums(), i32, {&extents.sums}))) {
      return failure();
    }
    if (extents.sums.size == 0) {
      return op.emitOpError("expected the number of prefix sums to be positive, but got 0");
    }
    if (ShapedType::isStatic(extents.sums.size)) {
      extents.sequences.size = extents.sums.size - 1;
      extents.sequences.from = "prefix_sums";
    }
  }
  Extent &batch = layout == Layout::THD ? extents.sequences : extents.batch;
  auto documents = [&](Extent &sequence) {
    return layout == Layout::THD ? SmallVector<Extent *, 2>{&sequence}
                                 : SmallVector<Extent *, 2>{&extents.batch, &sequence};
  };
  struct Optional {
    StringRef name;
    Value value;
    Type element;
    SmallVector<Extent *, 2> extents;
  };
  for (const Optional &operand :
       {Optional{"used_lengths of q", op.getQueryUsedLengths(), i32, {&batch}},
        Optional{"used_lengths of k", op.getKeyUsedLengths(), i32, {&batch}},
        Optional{"document_ids of q", op.getQueryDocuments(), i32, documents(extents.queries)},
        Optional{"document_ids of k", op.getKeyDocuments(), i32, documents(extents.keys)},
        Optional{"position_offset", op.getPositionOffset(), i32, {&batch}}, // M3
        Optional{"sink", op.getSink(), f32, {&extents.queryHeads}}}) {      // M8
    if (operand.value &&
        failed(checker.check(operand.name, operand.value, operand.element, operand.extents))) {
      return failure();
    }
  }
  return success();
}

SmallVector<SharedExtent> ForwardOp::getSharedExtents() {
  Extents extents;
  [[maybe_unused]] LogicalResult verified = verifyShapes(*this, extents);
  assert(succeeded(verified) && "asked of a verified op");
  return {extents.batch.places,      extents.queries.places,   extents.keys.places,
          extents.queryHeads.places, extents.keyHeads.places,  extents.queryKeyDim.places,
          extents.valueDim.places,   extents.sequences.places, extents.sums.places};
}

LogicalResult ForwardOp::verify() {
  Extents extents;
  if (failed(verifySameKind(*this)) || failed(verifyGroups(*this)) ||
      failed(verifyShapes(*this, extents))) {
    return failure();
  }
  if (std::optional<APFloat> scale = getScale(); scale && !scale->isFinite()) { // M1
    SmallString<16> text;
    scale->toString(text);
    return emitOpError("expected scale to be finite, but got ") << text;
  }
  if (getScalePlacement() == ScalePlacement::InExp2) { // M1
    APFloat scale = getScaleOrDefault();
    if (scale.isZero() || scale.isNegative() || hasScoreRegion()) {
      SmallString<16> text;
      scale.toString(text);
      return emitOpError("expected scale_placement to be before_max where scale is not positive or "
                         "a score region follows, but got in_exp2 with scale ")
             << text;
    }
  }
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"q", getQ()}, {"k", getK()}, {"v", getV()}}) {
    if (failed(verifyStrides(*this, name, value, /*isDestination=*/false))) { // S2
      return failure();
    }
  }
  return verifyStrides(*this, "o", getO(), /*isDestination=*/true); // S2
}

/// One block, the scalars, then the captures; pure; one yield of `result`.
static LogicalResult verifyRegion(ForwardOp op, Region &region, StringRef name,
                                  ArrayRef<Type> scalars, ValueRange captures, Type result) {
  if (region.empty()) {
    return success();
  }
  if (!region.hasOneBlock()) {
    return op.emitOpError("expected the ")
           << name << " region to be one block, but got " << region.getBlocks().size();
  }
  SmallVector<Type> expected(scalars);
  llvm::append_range(expected, captures.getTypes());
  if (!llvm::equal(region.getArgumentTypes(), expected)) { // M1, M5
    InFlightDiagnostic diag = op.emitOpError("expected the arguments of the ")
                              << name << " region to be (";
    llvm::interleaveComma(expected, diag);
    diag << "), but got (";
    llvm::interleaveComma(region.getArgumentTypes(), diag);
    return diag << ")";
  }
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield || yield.getValue().getType() != result) { // M1, M5
    InFlightDiagnostic diag = op.emitOpError("expected the ")
                              << name << " region to yield " << result << ", but got ";
    if (yield) {
      return diag << yield.getValue().getType();
    }
    return diag << "'" << region.front().getTerminator()->getName() << "'";
  }
  WalkResult walked = region.walk([&](Operation *inner) {
    if (!isa<FetchOp>(inner) && !isMemoryEffectFree(inner)) { // M1
      InFlightDiagnostic diag = inner->emitOpError("expected operations of the ")
                                << name << " region to have no memory effect";
      diag.attachNote(op.getLoc()) << "in the region of this operation";
      return WalkResult::interrupt();
    }
    if (auto divide = dyn_cast<arith::DivFOp>(inner);
        divide && matchPattern(divide.getRhs(), m_AnyZeroFloat())) { // M1
      inner->emitOpError("expected the divisor (of a softcap) to be nonzero, but got 0");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult ForwardOp::verifyRegions() {
  Builder builder(getContext());
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  if (failed(verifyRegion(*this, getScore(), "score", {f32, i32, i32, i32, i32}, getScoreCaptures(),
                          f32))) {
    return failure();
  }
  return verifyRegion(*this, getPredicate(), "predicate", {i32, i32, i32, i32},
                      getPredicateCaptures(), builder.getI1Type());
}

//===----------------------------------------------------------------------===//
// MergeOp
//===----------------------------------------------------------------------===//

LogicalResult MergeOp::verify() {
  if (failed(verifySameKind(*this))) {
    return failure();
  }
  ShapeChecker checker(*this);
  Extents extents;
  Type f32 = Builder(getContext()).getF32Type();
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"o1", getO1()}, {"o2", getO2()}, {"o", getO()}}) {
    Type element = cast<ShapedType>(value.getType()).getElementType();
    if (!element.isF32() && !element.isBF16() && !element.isF16()) { // S1
      return emitOpError("expected elements of ")
             << name << " to be f32, bf16 or f16, but got " << element;
    }
    if (failed(checker.check(
            name, value, element,
            extents.order(getLayout(), extents.queries, extents.queryHeads, extents.valueDim)))) {
      return failure();
    }
  }
  for (auto [name, value] :
       {std::pair<StringRef, Value>{"lse1", getLse1()}, {"lse2", getLse2()}, {"lse", getLse()}}) {
    if (value && failed(checker.check(name, value, f32, extents.orderLse(getLayout())))) { // S1
      return failure();
    }
  }
  return success();
}
