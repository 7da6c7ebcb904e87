//===- HomedOps.cpp - values with homes -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inlined steps give what they yield or pass on; kept and used values have the
// tile of their view.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

//===----------------------------------------------------------------------===//
// InlinedStepOp
//===----------------------------------------------------------------------===//

YieldOp InlinedStepOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

std::string InlinedStepOp::getStepName() {
  std::string name = getStep().str();
  if (std::optional<uint64_t> index = getIndex()) {
    name += "[" + std::to_string(*index) + "]";
  }
  return name;
}

LogicalResult InlinedStepOp::verify() {
  if (IntegerAttr index = getIndexAttr()) {
    if (index.getInt() < 0) { // inlined_step C3
      return emitOpError() << "expected index to be at least 0, but got " << index.getInt();
    }
  }
  TypeRange wanted = getUnless() ? TypeRange(getOutputs().getTypes()) : TypeRange();
  if (getPassed().getTypes() != wanted) { // inlined_step C2
    return emitOpError() << "expected passed values to have the types of the results under "
                            "'unless', and none without, but got "
                         << getPassed().getTypes() << " for " << getOutputs().getTypes();
  }
  return success();
}

OperandRange InlinedStepOp::getEntrySuccessorOperands(RegionSuccessor successor) {
  return successor.isParent() ? OperandRange(getPassed()) : getPassed().take_front(0);
}

void InlinedStepOp::getSuccessorRegions(RegionBranchPoint point,
                                        SmallVectorImpl<RegionSuccessor> &regions) {
  if (point.isParent()) {
    regions.push_back(RegionSuccessor(&getBody()));
  }
  if (!point.isParent() || getUnless()) {
    regions.push_back(RegionSuccessor(getOperation(), getResults()));
  }
}

//===----------------------------------------------------------------------===//
// KeepOp, UseOp
//===----------------------------------------------------------------------===//

LogicalResult KeepOp::verify() {
  IntegerAttr element = getElementAttr();
  if (!element) {
    return success();
  }
  if (getHandle()) { // keep C1
    return emitOpError() << "expected no element where a token names the slot, but got "
                         << element.getInt();
  }
  if (element.getInt() < 0) { // keep C1
    return emitOpError() << "expected element to be at least 0, but got " << element.getInt();
  }
  return success();
}

static LogicalResult verifyTile(Operation *op, FlatSymbolRefAttr name, FragType tile, bool mayTurn,
                                SymbolTableCollection &tables) {
  auto view = tables.lookupNearestSymbolFrom<ViewOp>(op, name);
  if (!view) { // keep C2, use C1
    return op->emitOpError() << "expected a view of the kernel, but got '" << name << "'";
  }
  FragType held = view.getTileType();
  bool agrees = tile.getShape() == held.getShape() ||
                (mayTurn && llvm::equal(llvm::reverse(tile.getShape()), held.getShape()));
  if (agrees && tile.getElementType() == held.getElementType()) {
    return success();
  }
  InFlightDiagnostic diag = op->emitOpError() << "expected the tile of view '" << name << "', "
                                              << held << ", but got " << tile;
  diag.attachNote(view.getLoc()) << "the view is here";
  return diag;
}

LogicalResult KeepOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyTile(*this, getViewAttr(), cast<FragType>(getValue().getType()), /*mayTurn=*/false,
                    tables);
}

LogicalResult UseOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyTile(*this, getViewAttr(), cast<FragType>(getValue().getType()), /*mayTurn=*/true,
                    tables);
}
