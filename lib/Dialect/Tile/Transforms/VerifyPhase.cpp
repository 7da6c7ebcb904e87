//===- VerifyPhase.cpp - checks common to the phase verifiers -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One definition of what scalar code a kernel may hold and of where layouts are.
//
//===----------------------------------------------------------------------===//

#include "VerifyPhase.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4::tile;

bool fa4::tile::isScalarDialectOp(Operation *op) {
  return isa_and_present<arith::ArithDialect, math::MathDialect, scf::SCFDialect>(op->getDialect());
}

static LogicalResult verifyLayout(Operation *op, Type type, bool wanted, StringRef phase) {
  auto frag = dyn_cast<fa4::tile::FragType>(type);
  if (!frag || static_cast<bool>(frag.getLayout()) == wanted) {
    return success();
  }
  return op->emitOpError() << "expected tiles to have " << (wanted ? "a" : "no") << " layout at "
                           << phase << ", but got " << frag;
}

LogicalResult fa4::tile::verifyLayouts(Operation *op, bool wanted, StringRef phase) {
  for (Type type : op->getResultTypes()) {
    if (failed(verifyLayout(op, type, wanted, phase))) {
      return failure();
    }
  }
  for (Region &region : op->getRegions()) {
    for (Type type : region.getArgumentTypes()) {
      if (failed(verifyLayout(op, type, wanted, phase))) {
        return failure();
      }
    }
  }
  return success();
}

/// Extents without the unit ones, so that 1x128 and 128 are alike.
static SmallVector<int64_t> squeeze(ArrayRef<int64_t> shape) {
  return llvm::filter_to_vector(shape, [](int64_t extent) { return extent != 1; });
}

LogicalResult fa4::tile::verifyTileOfView(Operation *op, ViewOp view, Type type) {
  FragType held = view.getTileType();
  if (isa<IntegerType>(type)) {
    constexpr int64_t answer = 16; // PTX ISA, clusterlaunchcontrol.try_cancel: bytes written
    if (view.getSpace() != Space::Smem || view.getBytes() != answer) {
      return op->emitOpError() << "expected the number of a tile to be read from a view of "
                               << answer << " bytes of shared memory, but got " << held;
    }
    return success();
  }
  SmallVector<int64_t> given;
  Type element;
  if (auto frag = dyn_cast<FragType>(type)) {
    given = squeeze(frag.getShape());
    element = frag.getElementType();
  } else {
    auto global = cast<GlobalType>(type);
    given = global.getTileShape();
    element = global.getElementType();
  }
  SmallVector<int64_t> wanted = squeeze(held.getShape());
  SmallVector<int64_t> turned(llvm::reverse(given));
  auto smem = dyn_cast<SmemLayoutAttr>(view.getLayout());
  bool mayTurn = smem && smem.getMajor() == Major::MnMajor;
  bool agrees = given == wanted || (mayTurn && turned == wanted);
  if (agrees && element == held.getElementType()) {
    return success();
  }
  InFlightDiagnostic diag = op->emitOpError() << "expected the tile of view '@" << view.getSymName()
                                              << "', " << held << ", but got " << type;
  diag.attachNote(view.getLoc()) << "the view is here";
  return diag;
}

LogicalResult fa4::tile::verifyProductExtents(Operation *op, RoleOp role, FragType a, ViewOp b,
                                              FragType acc) {
  auto layout = dyn_cast<SmemLayoutAttr>(b.getLayout());
  if (!layout || layout.getMajor() == Major::Linear) {
    return op->emitOpError() << "expected 'b' to have an operand layout in smem, but got "
                             << b.getLayout();
  }
  FragType tile = b.getTileType();
  bool kMajor = layout.getMajor() == Major::KMajor;
  int64_t inner = kMajor ? tile.getColumns() : tile.getRows();
  if (a.getColumns() != inner) {
    return op->emitOpError() << "expected columns of 'a' to be the inner extent of 'b', " << inner
                             << ", but got " << a.getColumns();
  }
  // Of a pair's product each CTA holds half of the columns of b, and of the rows of a.
  int64_t ctas = role.getCtas() == Ctas::Leader ? 2 : 1;
  int64_t columns = (kMajor ? tile.getRows() : tile.getColumns()) * ctas;
  if (acc.getRows() != a.getRows() || acc.getColumns() != columns) {
    return op->emitOpError() << "expected the accumulator to be " << a.getRows() << "x" << columns
                             << ", but got " << acc.getRows() << "x" << acc.getColumns();
  }
  return success();
}
