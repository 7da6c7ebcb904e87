//===- Legalize.cpp - explicit defaults, simple masks ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Afterwards nothing about an attention is implied: the lowering reads the scale
// and where it goes, and at most one interval of keys per alignment.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/IR/AttnOps.h"
#include "fa4/Dialect/Attn/Transforms/Passes.h"
#include "mlir/IR/Matchers.h"

namespace fa4::attn {
#define GEN_PASS_DEF_ATTNLEGALIZE
#include "fa4/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace fa4::attn

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

/// The keys that both keep (M5).
static void intersect(MaskBounds &bounds, const MaskBounds &other) {
  if (other.lower) {
    bounds.lower = bounds.lower ? std::max(*bounds.lower, *other.lower) : other.lower;
  }
  if (other.upper) {
    bounds.upper = bounds.upper ? std::min(*bounds.upper, *other.upper) : other.upper;
  }
}

/// The lengths of one sequence, where they are all that rows and keys have.
struct StaticLengths {
  int64_t queries, keys;
};
static std::optional<StaticLengths> getStaticLengths(ForwardOp op) {
  const TensorDims dims = op.getTensorDims();
  if (!dims.batch) {
    return std::nullopt;
  }
  const int64_t queries = cast<ShapedType>(op.getQ().getType()).getDimSize(dims.sequence);
  const int64_t keys = cast<ShapedType>(op.getK().getType()).getDimSize(dims.sequence);
  if (ShapedType::isDynamic(queries) || ShapedType::isDynamic(keys)) {
    return std::nullopt;
  }
  return StaticLengths{queries, keys};
}

/// Drops the ends that no row of the static extents reaches. A position offset
/// moves the rows, so then nothing is known.
static void dropUnreached(ForwardOp op, MaskBounds &bounds) {
  std::optional<StaticLengths> lengths = getStaticLengths(op);
  if (!lengths || op.getPositionOffset()) {
    return;
  }
  const int64_t first =
      bounds.alignment == MaskAlignment::BottomRight ? lengths->keys - lengths->queries : 0;
  const int64_t last = first + lengths->queries - 1;
  if (bounds.upper && first + *bounds.upper >= lengths->keys - 1) {
    bounds.upper.reset();
  }
  if (bounds.lower && last + *bounds.lower <= 0) {
    bounds.lower.reset();
  }
}

static AttnMaskInterface makeMask(MLIRContext *context, const MaskBounds &bounds) {
  if (!bounds.lower && bounds.upper == 0) {
    return CausalAttr::get(context, bounds.alignment);
  }
  std::optional<int64_t> left;
  if (bounds.lower) {
    left = -*bounds.lower;
  }
  return WindowAttr::get(context, left, bounds.upper, bounds.alignment);
}

/// The fewest masks that keep the same keys. Rank of the result: bottom-right
/// before top-left, so that a second run finds the same list.
static SmallVector<AttnMaskInterface> simplifyMasks(ForwardOp op) {
  std::optional<StaticLengths> lengths = getStaticLengths(op);
  const bool oneAlignment = lengths && lengths->queries == lengths->keys;
  MaskBounds perAlignment[] = {{MaskAlignment::BottomRight, {}, {}},
                               {MaskAlignment::TopLeft, {}, {}}};
  for (AttnMaskInterface mask : op.getMaskList()) {
    const MaskBounds bounds = mask.getBounds();
    const bool topLeft = bounds.alignment == MaskAlignment::TopLeft && !oneAlignment;
    intersect(perAlignment[topLeft ? 1 : 0], bounds);
  }
  SmallVector<AttnMaskInterface> masks;
  for (MaskBounds &bounds : perAlignment) {
    dropUnreached(op, bounds);
    if (!bounds.isTrivial()) {
      masks.push_back(makeMask(op.getContext(), bounds));
    }
  }
  return masks;
}

static bool isIdentityScore(ForwardOp op) {
  if (!op.hasScoreRegion()) {
    return false;
  }
  auto yield = cast<YieldOp>(op.getScore().front().getTerminator());
  return yield.getValue() == op.getScore().getArgument(0);
}

static bool isTruePredicate(ForwardOp op) {
  return op.hasPredicateRegion() &&
         matchPattern(cast<YieldOp>(op.getPredicate().front().getTerminator()).getValue(),
                      m_NonZero());
}

/// Empties a region and what it captured.
static void dropRegion(Region &region, MutableOperandRange captures) {
  region.getBlocks().clear();
  captures.clear();
}

namespace {
struct LegalizePass : public fa4::attn::impl::AttnLegalizeBase<LegalizePass> {
  void runOnOperation() override {
    getOperation().walk([&](ForwardOp op) { legalize(op); });
  }

  void legalize(ForwardOp op) {
    bool changed = false;
    if (isIdentityScore(op)) {
      dropRegion(op.getScore(), op.getScoreCapturesMutable());
      changed = true;
    }
    if (isTruePredicate(op)) {
      dropRegion(op.getPredicate(), op.getPredicateCapturesMutable());
      changed = true;
    }
    // A placement that is there may be the slower, always right one; it stays.
    if (!op.getScale()) {
      op.setScale(op.getScaleOrDefault());
      changed = true;
    }
    if (!op.getScalePlacement()) {
      op.setScalePlacement(op.getScalePlacementOrDefault());
      changed = true;
    }
    SmallVector<AttnMaskInterface> before = op.getMaskList(), after = simplifyMasks(op);
    if (before != after || (op.getMasks() && after.empty())) {
      numMasksRemoved += before.size() - after.size();
      SmallVector<Attribute> attributes(after.begin(), after.end());
      op.setMasksAttr(after.empty() ? ArrayAttr() : ArrayAttr::get(&getContext(), attributes));
      changed = true;
    }
    numLegalized += changed;
  }
};
} // namespace
