//===- NextTile.cpp - tiles by cluster launch control ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A request cancels a CTA that has not started and brings its number. That number
// may be asked for only if there is one, so both questions are one text, which no
// optimisation takes apart.
//
//===----------------------------------------------------------------------===//

#include "Frame.h"
#include "Values.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::gpu;

namespace {
struct IssueNextLowering : LoweringPattern<IssueNextOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(IssueNextOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    const RoleContext &role = lowering.role(op);
    Place answer(op.getViewAttr(), op.getSlot(), adaptor.getSlot(), adaptor.getViewElement(),
                 op.getStaticViewElementAttr());
    Place signal(op.getBarrierAttr(), op.getCursor(), adaptor.getCursor(), adaptor.getElement(),
                 op.getStaticElementAttr());
    lowering.emitByOne(b, loc, role, [&](OpBuilder &b) {
      NVVM::ClusterLaunchControlTryCancelOp::create(b, loc, /*multicast=*/UnitAttr(),
                                                    lowering.smemPointer(b, loc, role, answer),
                                                    lowering.barrierPointer(b, loc, role, signal));
    });
    b.eraseOp(op);
    return success();
  }
};
} // namespace

Value fa4::tile::gpu::readTileNumber(ImplicitLocOpBuilder &b, const Lowering &lowering,
                                     const RoleContext &role, const Place &place) {
  constexpr unsigned alignment = 16; // PTX ISA, clusterlaunchcontrol.try_cancel: natural
  Value pointer = lowering.smemPointer(b, b.getLoc(), role, place);
  Value words = LLVM::LoadOp::create(b, VectorType::get({2}, b.getI64Type()), pointer, alignment);
  auto word = [&](int64_t index) {
    return LLVM::ExtractElementOp::create(b, words, i64Constant(b, b.getLoc(), index)).getResult();
  };
  Value number = emitPtx(
      b, b.getI32Type(), {word(0), word(1)},
      "{ .reg .pred got; .reg .b128 answer; mov.b128 answer, {$1, $2}; "
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 got, answer; mov.b32 $0, -1; "
      "@got clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 $0, answer; }",
      "=r,l,l", /*hasSideEffects=*/false);
  // All lanes hold the same; only so does ptxas know it.
  auto i32 = [&](int64_t value) { return i32Constant(b, b.getLoc(), value); };
  constexpr int64_t lastLane = 31;
  return NVVM::ShflOp::create(b, b.getI32Type(), i32(kAllLanes), number, i32(0), i32(lastLane),
                              NVVM::ShflKind::idx, UnitAttr());
}

void fa4::tile::gpu::populateNextTilePatterns(const TileToNVVMTypeConverter &converter,
                                              RewritePatternSet &patterns,
                                              const Lowering &lowering) {
  patterns.add<IssueNextLowering>(converter, patterns.getContext(), lowering);
}
