//===- Copies.cpp - tensor copies -----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The copy engine swizzles rows no wider than the swizzle, so a tile travels in
// panels: boxes beside each other along the innermost dimension, one map for all.
//
//===----------------------------------------------------------------------===//

#include "Frame.h"
#include "Values.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::gpu;

namespace {
/// The panels of one copy.
class PanelCopy {
public:
  PanelCopy(const Lowering &lowering, ViewOp view, Value global, ValueRange coordinates)
      : view(view), type(cast<GlobalType>(global.getType())), box(tensorBoxOf(view, type)),
        isStreamed(lowering.global(global).isStreamed), coordinates(coordinates),
        range(lowering.global(global).range) {
    int64_t cutDim = range ? range->dim : -1;
    for (const TensorMap &candidate : lowering.global(global).maps) {
      if (candidate.box == box.box && candidate.swizzle == box.swizzle &&
          candidate.cutDim == cutDim) {
        map = candidate.pointer;
      }
    }
  }

  int64_t count() const { return box.panels; }
  int64_t byteOffset(int64_t panel) const { return panel == 0 ? 0 : panel * getPanelPitch(view); }

  /// The first element of a panel, innermost dimension first; two numbers for the
  /// dimension of a range.
  SmallVector<Value> start(OpBuilder &b, Location loc, int64_t panel) const {
    SmallVector<Value> elements;
    for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
      if (range && dim == range->dim) {
        appendRange(b, loc, coordinates[dim], elements);
        continue;
      }
      Value element;
      if (dim < static_cast<int64_t>(coordinates.size())) {
        element = coordinates[dim];
        int64_t extent = type.getBox()[dim];
        if (extent != 1) {
          element = LLVM::MulOp::create(b, loc, element, i32Constant(b, loc, extent));
        }
      }
      int64_t inside = dim == type.getRank() - 1 ? panel * box.box.back() : 0;
      if (!element) {
        element = i32Constant(b, loc, inside);
      } else if (inside != 0) {
        element = LLVM::AddOp::create(b, loc, element, i32Constant(b, loc, inside));
      }
      elements.push_back(element);
    }
    return elements;
  }

  /// The second-level cache's policy for what is copied: what other tiles read again
  /// outlives what one tile reads or writes once.
  Value policy(OpBuilder &b, Location loc) const {
    ImplicitLocOpBuilder builder(loc, b);
    StringRef text = isStreamed ? "createpolicy.fractional.L2::evict_last.b64 $0, 0f3F800000;"
                                : "createpolicy.fractional.L2::evict_first.b64 $0, 0f3F800000;";
    return emitPtx(builder, b.getI64Type(), {}, text, "=l");
  }

  /// `fa4.param` says what the two numbers of a map of ranges mean. A box in front of
  /// the range has no element in it.
  void appendRange(OpBuilder &b, Location loc, Value coordinate,
                   SmallVectorImpl<Value> &elements) const {
    Value rows = i32Constant(b, loc, type.getBox()[range->dim]), zero = i32Constant(b, loc, 0);
    Value first =
        LLVM::AddOp::create(b, loc, range->start, LLVM::MulOp::create(b, loc, coordinate, rows));
    Value left = LLVM::SubOp::create(b, loc, range->end, first);
    Value count = LLVM::SMaxOp::create(b, loc, LLVM::SMinOp::create(b, loc, left, rows), zero);
    Value isBefore = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::slt, coordinate, zero);
    count = LLVM::SelectOp::create(b, loc, isBefore, zero, count);
    elements.push_back(LLVM::SubOp::create(b, loc, rows, count));
    elements.push_back(LLVM::AddOp::create(b, loc, first, count));
  }

  ViewOp view;
  GlobalType type;
  TensorBox box;
  bool isStreamed;
  ValueRange coordinates;
  std::optional<RangeOfDim> range;
  Value map;
};

SmallVector<Value> flatten(ArrayRef<ValueRange> ranges) {
  SmallVector<Value> values;
  for (ValueRange range : ranges) {
    llvm::append_range(values, range);
  }
  return values;
}

/// The place in shared memory that a copy names.
template <typename OpTy, typename AdaptorTy>
Place viewPlaceOf(OpTy op, AdaptorTy adaptor) {
  return Place(op.getViewAttr(), op.getSlot(), adaptor.getSlot(), adaptor.getViewElement(),
               op.getStaticViewElementAttr());
}

struct IssueLoadLowering : LoweringPattern<IssueLoadOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(IssueLoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    const RoleContext &role = lowering.role(op);
    SmallVector<Value> coordinates = flatten(adaptor.getCoordinates());
    PanelCopy copy(lowering, lowering.view(op.getViewAttr()), op.getGlobal(), coordinates);
    Place place = viewPlaceOf(op, adaptor);
    Place signal(op.getBarrierAttr(), op.getCursor(), adaptor.getCursor(), adaptor.getElement(),
                 op.getStaticElementAttr());
    lowering.emitByOne(b, loc, role, [&](OpBuilder &b) {
      Value barrier = lowering.barrierPointer(b, loc, role, signal);
      NVVM::CTAGroupKindAttr group;
      if (op.getOnLeader()) {
        // A copy of a pair takes either CTA's barrier by its number in the cluster.
        group = NVVM::CTAGroupKindAttr::get(b.getContext(), NVVM::CTAGroupKind::CTA_2);
        Value number = LLVM::PtrToIntOp::create(
            b, loc, b.getI32Type(), lowering.leaderBarrierPointer(b, loc, role, signal));
        barrier = LLVM::IntToPtrOp::create(b, loc, barrier.getType(), number);
      }
      // PTX ISA: `.shared::cta` as a destination came with 8.6; before, an address of
      // one's own CTA in the cluster's window does the same.
      constexpr int64_t ownDestination = 86;
      bool isCtaOnly = !group && lowering.target().ptxVersion >= ownDestination;
      Value policy = copy.policy(b, loc);
      for (int64_t panel = 0; panel < copy.count(); ++panel) {
        Value target = lowering.smemPointer(b, loc, role, place, copy.byteOffset(panel));
        if (!isCtaOnly) {
          target = LLVM::AddrSpaceCastOp::create(
              b, loc, LLVM::LLVMPointerType::get(b.getContext(), kClusterSpace), target);
        }
        NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
            b, loc, target, copy.map, copy.start(b, loc, panel), barrier, ValueRange(), Value(),
            policy, NVVM::TMALoadMode::TILE, isCtaOnly, group, Value());
      }
    });
    b.eraseOp(op);
    return success();
  }
};

struct IssueStoreLowering : LoweringPattern<IssueStoreOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(IssueStoreOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    const RoleContext &role = lowering.role(op);
    SmallVector<Value> coordinates = flatten(adaptor.getCoordinates());
    PanelCopy copy(lowering, lowering.view(op.getViewAttr()), op.getGlobal(), coordinates);
    Place place = viewPlaceOf(op, adaptor);
    lowering.emitByOne(b, loc, role, [&](OpBuilder &b) {
      Value policy = copy.policy(b, loc);
      for (int64_t panel = 0; panel < copy.count(); ++panel) {
        Value source = lowering.smemPointer(b, loc, role, place, copy.byteOffset(panel));
        SmallVector<Value> start = copy.start(b, loc, panel);
        if (op.getAdd()) {
          NVVM::CpAsyncBulkTensorReduceOp::create(b, loc, copy.map, source, NVVM::TMAReduxKind::ADD,
                                                  NVVM::TMAStoreMode::TILE, start, policy);
        } else {
          NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
              b, loc, copy.map, source, start, policy, NVVM::TMAStoreMode::TILE, Value());
        }
      }
    });
    b.eraseOp(op);
    return success();
  }
};
} // namespace

void fa4::tile::gpu::populateCopyPatterns(const TileToNVVMTypeConverter &converter,
                                          RewritePatternSet &patterns, const Lowering &lowering) {
  patterns.add<IssueLoadLowering, IssueStoreLowering>(converter, patterns.getContext(), lowering);
}
