//===- Values.cpp - tile values in registers ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which ops on tile values a kernel may hold, and the patterns that lower them.
// What passes the check here is lowered without a failure afterwards.
//
//===----------------------------------------------------------------------===//

#include "Values.h"

#include "Rows.h"
#include "ThreadLayout.h"

#include "fa4/Numerics/Exp2.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace fa4::tile::gpu {

static LogicalResult checkSlice(SliceOp op) {
  if (op.getAxis() == Axis::Rows && tileOf(op.getOperand()) != tileOf(op.getResult())) {
    return op.emitOpError(
               "expected a slice of a tile spread by rows to take columns, but got rows ")
           << op.getBegin() << " to " << op.getEnd();
  }
  std::optional<ThreadLayout> layout = ThreadLayout::find(tileOf(op.getOperand()));
  int64_t step = layout ? layout->columnStep() : 1;
  if (op.getAxis() == Axis::Columns && (op.getBegin() % step != 0 || op.getEnd() % step != 0)) {
    return op.emitOpError("expected a slice of a fragment to take groups of ")
           << step << " columns, but got columns " << op.getBegin() << " to " << op.getEnd();
  }
  return success();
}

static LogicalResult checkCast(CastOp op) {
  for (FragType type : {tileOf(op.getOperand()), tileOf(op.getResult())}) {
    Type element = type.getElementType();
    if (!element.isF32() && !element.isF16() && !element.isBF16()) {
      return op.emitOpError("expected a cast to be between f32, f16 and bf16, but got ") << element;
    }
  }
  return success();
}

static LogicalResult checkExp2(Exp2Op op) {
  auto share = op.getShare();
  if (share && !numerics::lookupExp2Row(static_cast<unsigned>(share->getDegree()))) {
    return op.emitOpError("expected the degree of the exp2 polynomial to be from ")
           << numerics::minExp2Degree << " to " << numerics::maxExp2Degree << ", but got "
           << share->getDegree();
  }
  return success();
}

/// Elements that threads move between registers and memory.
static LogicalResult checkElement(Operation *op, Type element) {
  unsigned width = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  bool hasRegister = width == 32 || width == 64 || element.isF16() || element.isBF16();
  if (!hasRegister) {
    return op->emitOpError("expected threads to move elements of 32 or 64 bits, f16 or bf16, "
                           "but got ")
           << element;
  }
  return success();
}

/// `tile` is read from, written to or rescaled in the view.
static LogicalResult checkView(Operation *op, ViewOp view, FragType tile) {
  if (failed(checkElement(op, tile.getElementType()))) {
    return failure();
  }
  if (auto layout = dyn_cast<TmemLayoutAttr>(view.getLayout())) {
    int64_t bytes = tile.getColumns() * getElementBytes(tile.getElementType());
    std::optional<ThreadLayout> own = ThreadLayout::find(tile);
    if (layout.getForm() != TmemForm::Lanes || tile.isRow() || (own && own->rows() != 1) ||
        bytes % kWordBytes != 0) {
      return op->emitOpError("expected a tile in tensor memory to have a row on each lane, of "
                             "whole 32-bit columns, but got ")
             << tile << " in " << layout;
    }
    return success();
  }
  auto layout = cast<SmemLayoutAttr>(view.getLayout());
  if (layout.getMajor() == Major::MnMajor) {
    return op->emitOpError("expected threads to access shared memory row by row, but got a view "
                           "of layout ")
           << layout;
  }
  int64_t bytes = tile.getColumns() * getElementBytes(tile.getElementType());
  if (layout.getSwizzle() != 0 && bytes % kChunkBytes != 0) {
    return op->emitOpError("expected rows of a swizzled view to be whole chunks of ")
           << kChunkBytes << " bytes, but got " << tile;
  }
  return success();
}

static LogicalResult checkOp(Operation *op, const Lowering &lowering) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](SliceOp slice) { return checkSlice(slice); })
      .Case([](CastOp cast) { return checkCast(cast); })
      .Case([](Exp2Op exp2) { return checkExp2(exp2); })
      .Case([&](ReadOp read) {
        if (!read.getFragType()) {
          return success();
        }
        return checkView(read, lowering.view(read.getViewAttr()), tileOf(read.getResult()));
      })
      .Case([&](WriteOp write) {
        return checkView(write, lowering.view(write.getViewAttr()), tileOf(write.getValue()));
      })
      .Case([&](RescaleOp rescale) {
        ViewOp view = lowering.view(rescale.getViewAttr());
        return checkView(rescale, view, view.getTileType());
      })
      .Case<LoadOp, StoreOp, FetchOp>([](auto access) {
        return checkElement(access, gridOf(access.getGlobal()).getElementType());
      })
      .Case<PartOp, RedistributeOp>([](Operation *unknown) {
        return unknown->emitOpError("expected an op that convert-tile-to-nvvm lowers, but got one "
                                    "of pairs of CTAs");
      })
      .Default([](Operation *other) {
        return isa<math::MathDialect>(other->getDialect()) ? checkMath(other) : success();
      });
}

LogicalResult checkValues(KernelOp kernel) {
  Lowering lowering(kernel);
  WalkResult result = kernel.walk([&](Operation *op) { return WalkResult(checkOp(op, lowering)); });
  return failure(result.wasInterrupted());
}

void populateValuePatterns(const TileToNVVMTypeConverter &converter, RewritePatternSet &patterns,
                           const Lowering &lowering) {
  populateElementwisePatterns(converter, patterns, lowering);
  populateReductionPatterns(converter, patterns, lowering);
  populateOnlineMaxPatterns(converter, patterns, lowering);
  populateRowPatterns(converter, patterns, lowering);
  populateMapPatterns(converter, patterns, lowering);
  populateTensorMemoryPatterns(converter, patterns, lowering);
  populateViewPatterns(converter, patterns, lowering);
  populateGlobalMemoryPatterns(converter, patterns, lowering);
  populateInlinePtxPatterns(converter, patterns, lowering);
}

} // namespace fa4::tile::gpu
