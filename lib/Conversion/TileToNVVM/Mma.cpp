//===- Mma.cpp - matrix products on tensor memory -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is cut along k into instructions of 32 bytes of k. One thread of the role
// issues them; of a pair the leader's, with operands at the same places in both CTAs.
//
//===----------------------------------------------------------------------===//

#include "Descriptors.h"
#include "Lowering.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::gpu;

namespace {
struct IssueMmaLowering : LoweringPattern<IssueMmaOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(IssueMmaOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    if (!op.getAView() || !op.getAccView()) {
      return failure(); // a product of fragments is another machine's
    }
    emit(b, op, adaptor, lowering.role(op));
    b.eraseOp(op);
    return success();
  }

private:
  void emit(OpBuilder &b, IssueMmaOp op, OneToNOpAdaptor adaptor, RoleContext role) const {
    Location loc = op.getLoc();
    role.tmem = pinValue(b, loc, role.tmem);
    ViewOp aView = lowering.view(op.getAViewAttr()), bView = lowering.view(op.getBViewAttr());
    FragType acc = lowering.view(op.getAccViewAttr()).getTileType();
    Place aPlace(op.getAViewAttr(), op.getA(), adaptor.getA(), adaptor.getAElement(),
                 op.getStaticAElementAttr());
    Place bPlace(op.getBViewAttr(), op.getB(), adaptor.getB(), adaptor.getBElement(),
                 op.getStaticBElementAttr());
    Place accPlace(op.getAccViewAttr(), op.getAcc(), adaptor.getAcc(), adaptor.getAccElement(),
                   op.getStaticAccElementAttr());

    Type aType = aView.getTileType().getElementType(), bType = bView.getTileType().getElementType();
    int64_t elementBytes = bType.getIntOrFloatBitWidth() / 8;
    FragType bTile = bView.getTileType();
    int64_t inner = isMnMajor(bView) ? bTile.getRows() : bTile.getColumns();
    int64_t steps = inner * elementBytes / lowering.target().mmaKBytes;
    NVVM::Tcgen05MMAKind kind =
        elementBytes == 1 ? NVVM::Tcgen05MMAKind::F8F6F4 : NVVM::Tcgen05MMAKind::F16;
    Value descriptor = i32Constant(
        b, loc,
        instructionDescriptor(aType, bType, isMnMajor(aView), isMnMajor(bView),
                              acc.getRows() * (lowering.isPair() ? 2 : 1), acc.getColumns()));

    std::optional<SharedOperand> aShared;
    if (aView.getSpace() == Space::Smem) {
      aShared.emplace(b, loc, lowering, role, aPlace);
    }
    SharedOperand bShared(b, loc, lowering, role, bPlace);
    Value accumulator = lowering.tmemPointer(b, loc, role, accPlace, 0, /*ownLanes=*/false);
    Value yes = LLVM::ConstantOp::create(b, loc, b.getBoolAttr(true));
    Value accumulates = yes;
    if (op.getOverwrite()) {
      accumulates = LLVM::ConstantOp::create(b, loc, b.getBoolAttr(false));
    } else if (!adaptor.getUnless().empty()) {
      accumulates = LLVM::XOrOp::create(b, loc, adaptor.getUnless().front(), yes);
    }
    constexpr int64_t cellBytes = 4; // a column of tensor memory holds 32 bits
    // Pinned before the region of the one lane, where ptxas adds to 64-bit uniform
    // registers with one instruction.
    SmallVector<std::pair<Value, Value>> operands;
    for (int64_t step = 0; step < steps; ++step) {
      Value a = aShared ? pinValue(b, loc, aShared->descriptor(b, loc, step))
                        : lowering.tmemPointer(b, loc, role, aPlace,
                                               step * lowering.target().mmaKBytes / cellBytes,
                                               /*ownLanes=*/false);
      operands.emplace_back(a, pinValue(b, loc, bShared.descriptor(b, loc, step)));
    }
    lowering.emitByOne(b, loc, role, [&](OpBuilder &b) {
      for (auto [step, pair] : llvm::enumerate(operands)) {
        NVVM::Tcgen05MMAOp::create(b, loc, kind, ctaGroupOf(lowering),
                                   NVVM::Tcgen05MMACollectorOp::DISCARD, /*aShift=*/false,
                                   accumulator, pair.first, pair.second, descriptor,
                                   step == 0 ? accumulates : yes, Value(), Value());
      }
    });
  }
};
} // namespace

void fa4::tile::gpu::populateMmaPatterns(const TileToNVVMTypeConverter &converter,
                                         RewritePatternSet &patterns, const Lowering &lowering) {
  patterns.add<IssueMmaLowering>(converter, patterns.getContext(), lowering);
}
