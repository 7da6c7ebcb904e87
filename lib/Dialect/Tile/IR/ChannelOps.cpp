//===- ChannelOps.cpp - allocations, views, channels, tokens -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Allocations hold their views; channels join roles that exist; what a token may
// do is decided by tile-verify-t1, which follows it along every path.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

/// Regions of tensor memory are cut in pieces of 16 columns, the unit in which
/// accumulators are read and rescaled (fa4-algorithm 2.5, 2.7).
static constexpr int64_t kTmemColumnStep = 16;
/// PTX ISA, tensor memory: a cell is 32 bits.
static constexpr int64_t kTmemCellBits = 32;

static LogicalResult verifyPositive(Operation *op, StringRef what, int64_t value) {
  if (value <= 0) {
    return op->emitOpError() << "expected " << what << " to be positive, but got " << value;
  }
  return success();
}

LogicalResult AllocOp::verify() {
  auto size = static_cast<int64_t>(getSize());
  if (failed(verifyPositive(*this, "family", getFamily())) ||
      failed(verifyPositive(*this, "size", size))) { // alloc C1
    return failure();
  }
  if (getSpace() == Space::Tmem && size % kTmemColumnStep != 0) { // alloc C2
    return emitOpError() << "expected columns to be a multiple of " << kTmemColumnStep
                         << ", but got " << size;
  }
  return success();
}

LogicalResult PlacedAllocOp::verify() {
  auto start = static_cast<int64_t>(getStart()), stride = static_cast<int64_t>(getStride());
  if (failed(verifyPositive(*this, "family", getFamily())) ||
      failed(verifyPositive(*this, "stride", stride))) { // placed_alloc C1
    return failure();
  }
  if (start < 0) { // placed_alloc C1
    return emitOpError() << "expected start to be at least 0, but got " << start;
  }
  if (getSpace() == Space::Tmem &&
      (start % kTmemColumnStep != 0 || stride % kTmemColumnStep != 0)) { // placed_alloc C2
    return emitOpError() << "expected start and stride to be multiples of " << kTmemColumnStep
                         << " columns, but got " << start << " and " << stride;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ViewOp
//===----------------------------------------------------------------------===//

int64_t ViewOp::getBytes() {
  FragType tile = getTileType();
  int64_t bits = tile.getElementType().getIntOrFloatBitWidth() * tile.getRows() * tile.getColumns();
  return llvm::divideCeil(bits, 8);
}

int64_t ViewOp::getPanelPitch() {
  auto smem = dyn_cast<SmemLayoutAttr>(getLayout());
  return smem ? smem.getPanel() : 0;
}

int64_t ViewOp::getPanels() {
  if (getPanelPitch() == 0) {
    return 1;
  }
  int64_t swizzle = cast<SmemLayoutAttr>(getLayout()).getSwizzle();
  return getBytes() / (getTileType().getRows() * swizzle);
}

int64_t ViewOp::getExtent() {
  auto tmem = dyn_cast<TmemLayoutAttr>(getLayout());
  if (!tmem) {
    int64_t panels = getPanels();
    return (panels - 1) * getPanelPitch() + getBytes() / panels;
  }
  FragType tile = getTileType();
  int64_t bits = tile.getElementType().getIntOrFloatBitWidth() * tile.getColumns();
  int64_t columns = llvm::divideCeil(bits, kTmemCellBits);
  return tmem.getForm() == TmemForm::Fold ? llvm::divideCeil(columns, 2) : columns;
}

ParseResult ViewOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  FlatSymbolRefAttr alloc;
  int64_t offset = 0, rankStride = 0;
  StringRef unit;
  SMLoc unitLoc;
  SmallVector<int64_t> shape;
  Type element;
  Attribute layout;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name), result.attributes) ||
      parser.parseKeyword("of") || parser.parseAttribute(alloc)) {
    return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("at"))) {
    unitLoc = parser.getCurrentLocation();
    if (parser.parseOptionalKeyword(&unit, {"byte", "column"})) {
      return parser.emitError(unitLoc) << "expected 'byte' or 'column' after 'at'";
    }
    if (parser.parseInteger(offset)) {
      return failure();
    }
  }
  if (succeeded(parser.parseOptionalKeyword("plus")) &&
      (parser.parseKeyword("rank") || parser.parseStar() || parser.parseInteger(rankStride))) {
    return failure();
  }
  SMLoc typeLoc;
  if (parser.parseColon() || parser.getCurrentLocation(&typeLoc) ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element) ||
      parser.parseComma() || parser.parseAttribute(layout) ||
      parser.parseOptionalAttrDict(result.attributes)) {
    return failure();
  }
  StringRef wanted = isa<TmemLayoutAttr>(layout) ? "column" : "byte";
  if (!unit.empty() && unit != wanted) {
    return parser.emitError(unitLoc) << "expected the offset of a view with this layout to be in "
                                     << wanted << "s, but got " << unit << "s";
  }
  auto tile = FragType::getChecked([&] { return parser.emitError(typeLoc); }, builder.getContext(),
                                   ArrayRef<int64_t>(shape), element, Attribute());
  if (!tile) {
    return failure();
  }
  result.addAttribute(getAllocAttrName(result.name), alloc);
  result.addAttribute(getOffsetAttrName(result.name), builder.getI64IntegerAttr(offset));
  result.addAttribute(getRankStrideAttrName(result.name), builder.getI64IntegerAttr(rankStride));
  result.addAttribute(getTileAttrName(result.name), TypeAttr::get(tile));
  result.addAttribute(getLayoutAttrName(result.name), layout);
  return success();
}

void ViewOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << " of " << getAllocAttr();
  if (getOffset() != 0) {
    printer << " at " << (getSpace() == Space::Tmem ? "column " : "byte ") << getOffset();
  }
  if (getRankStride() != 0) {
    printer << " plus rank * " << getRankStride();
  }
  printer << " : ";
  for (int64_t extent : getTileType().getShape()) {
    printer << extent << 'x';
  }
  printer << getTileType().getElementType() << ", " << getLayout();
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getSymNameAttrName(), getAllocAttrName(), getOffsetAttrName(),
                                 getRankStrideAttrName(), getTileAttrName(), getLayoutAttrName()});
}

LogicalResult ViewOp::verify() {
  if (!isa<SmemLayoutAttr, TmemLayoutAttr>(getLayout())) { // view C1
    return emitOpError() << "expected layout of a view to be a #tile.smem or #tile.tmem, but got "
                         << getLayout();
  }
  auto offset = static_cast<int64_t>(getOffset());
  if (offset < 0) { // view C1
    return emitOpError() << "expected offset to be at least 0, but got " << offset;
  }
  if (getSpace() == Space::Tmem && getTileType().getRank() != 2) { // view C4
    return emitOpError() << "expected a view of tensor memory to have rank 2, but got "
                         << getTileType();
  }
  if (int64_t pitch = getPanelPitch()) {
    FragType tile = getTileType();
    int64_t panel = tile.getRows() * cast<SmemLayoutAttr>(getLayout()).getSwizzle();
    if (tile.getRank() != 2 || getBytes() % panel != 0) { // view C5
      return emitOpError() << "expected a view with a panel pitch to be of whole panels of "
                           << panel << " bytes, but got " << getBytes() << " bytes";
    }
    if (pitch < panel) { // view C5
      return emitOpError() << "expected the panel pitch to be at least the " << panel
                           << " bytes of a panel, but got " << pitch;
    }
  }
  return success();
}

LogicalResult ViewOp::verifySymbolUses(SymbolTableCollection &tables) {
  Operation *symbol = tables.lookupNearestSymbolFrom(*this, getAllocAttr());
  Space space = Space::Smem;
  int64_t size = 0;
  if (auto alloc = dyn_cast_or_null<AllocOp>(symbol)) {
    space = alloc.getSpace();
    size = static_cast<int64_t>(alloc.getSize());
  } else if (auto placed = dyn_cast_or_null<PlacedAllocOp>(symbol)) {
    space = placed.getSpace();
    size = static_cast<int64_t>(placed.getStride());
  } else { // view C2
    return emitOpError() << "expected a view to be of an allocation, but got '" << getAllocAttr()
                         << "'";
  }
  if (space != getSpace()) { // view C2
    InFlightDiagnostic diag = emitOpError()
                              << "expected layout to be one of " << stringifySpace(space)
                              << ", where the allocation is, but got " << getLayout();
    diag.attachNote(symbol->getLoc()) << "the allocation is here";
    return diag;
  }
  int64_t end =
      static_cast<int64_t>(getOffset()) + static_cast<int64_t>(getRankStride()) + getExtent();
  if (end > size) { // view C3
    InFlightDiagnostic diag =
        emitOpError() << "expected the view to end within the region's " << size
                      << (space == Space::Smem ? " bytes" : " columns") << ", but got " << end;
    diag.attachNote(symbol->getLoc()) << "the allocation is here";
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ChannelOp
//===----------------------------------------------------------------------===//

EndAttr ChannelOp::findEnd(bool producer, StringRef role) {
  for (auto end : (producer ? getFrom() : getTo()).getAsRange<EndAttr>()) {
    if (end.getRole().getValue() == role) {
      return end;
    }
  }
  return EndAttr();
}

bool ChannelOp::doesCarry(StringRef view) {
  return getCarries() &&
         llvm::any_of(getCarries()->getAsRange<FlatSymbolRefAttr>(),
                      [&](FlatSymbolRefAttr ref) { return ref.getValue() == view; });
}

LogicalResult ChannelOp::verify() {
  auto family = static_cast<int64_t>(getFamily()), depth = static_cast<int64_t>(getDepth());
  if (failed(verifyPositive(*this, "family", family)) ||
      failed(verifyPositive(*this, "depth", depth))) { // channel C1
    return failure();
  }
  if (getFrom().empty() || getTo().empty()) { // channel C2
    return emitOpError() << "expected a role on each side, but got " << getFrom().size() << " and "
                         << getTo().size();
  }
  if (std::optional<ArrayRef<int64_t>> starts = getStarts()) {
    if (static_cast<int64_t>(starts->size()) != family) { // channel C3
      return emitOpError() << "expected one start for each of " << family << " elements, but got "
                           << starts->size();
    }
    for (int64_t start : *starts) {
      if (start < 0 || start > depth) { // channel C3
        return emitOpError() << "expected starts to be from 0 to the depth " << depth
                             << ", but got " << start;
      }
    }
  }
  return success();
}

/// The replicas of the role at an end. While the kernel is still one thread, its
/// roles are those of its schedule.
static std::optional<int64_t> replicasOf(ChannelOp channel, EndAttr end,
                                         SymbolTableCollection &tables) {
  if (auto role = tables.lookupNearestSymbolFrom<RoleOp>(channel, end.getRole())) {
    return static_cast<int64_t>(role.getReplicas());
  }
  auto kernel = channel->getParentOfType<KernelOp>();
  if (!kernel.getBody().getOps<RoleOp>().empty()) {
    return std::nullopt;
  }
  for (const fa4::Role &role : kernel.getSchedule().getPlan().roles) {
    if (role.name == end.getRole().getValue()) {
      return role.replicas;
    }
  }
  return std::nullopt;
}

static LogicalResult verifyEnd(ChannelOp channel, EndAttr end, SymbolTableCollection &tables) {
  std::optional<int64_t> replicas = replicasOf(channel, end, tables);
  if (!replicas) { // channel C4
    return channel.emitOpError() << "expected the ends of a channel to be roles, but got '"
                                 << end.getRole() << "'";
  }
  auto family = static_cast<int64_t>(channel.getFamily());
  if (end.getTie() != Tie::All && *replicas != family) { // channel C4
    InFlightDiagnostic diag = channel.emitOpError()
                              << "expected as many replicas of a tied role as elements, but got "
                              << *replicas << " and " << family;
    if (auto role = tables.lookupNearestSymbolFrom<RoleOp>(channel, end.getRole())) {
      diag.attachNote(role.getLoc()) << "the role is here";
    }
    return diag;
  }
  return success();
}

LogicalResult ChannelOp::verifySymbolUses(SymbolTableCollection &tables) {
  for (ArrayAttr side : {getFrom(), getTo()}) {
    for (auto end : side.getAsRange<EndAttr>()) {
      if (failed(verifyEnd(*this, end, tables))) {
        return failure();
      }
    }
  }
  FlatSymbolRefAttr common;
  if (std::optional<ArrayAttr> carries = getCarries()) {
    for (auto ref : carries->getAsRange<FlatSymbolRefAttr>()) {
      auto view = tables.lookupNearestSymbolFrom<ViewOp>(*this, ref);
      if (!view) { // channel C5
        return emitOpError() << "expected a channel to carry views, but got '" << ref << "'";
      }
      if (common && common != view.getAllocAttr()) { // channel C5
        return emitOpError() << "expected carried views to lie in one allocation, but got '"
                             << common << "' and '" << view.getAllocAttr() << "'";
      }
      common = view.getAllocAttr();
    }
  }
  if (!common) {
    return success();
  }
  Operation *memory = tables.lookupNearestSymbolFrom(*this, common);
  auto alloc = dyn_cast_or_null<AllocOp>(memory);
  auto placed = dyn_cast_or_null<PlacedAllocOp>(memory);
  uint64_t regions = getFamily() * getDepth();
  uint64_t family = alloc ? alloc.getFamily() : placed ? placed.getFamily() : regions;
  if (family != regions) { // channel C5
    InFlightDiagnostic diag = emitOpError()
                              << "expected family times depth, " << regions
                              << ", to be the regions of the allocation, but got " << family;
    diag.attachNote(memory->getLoc()) << "the allocation is here";
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

static LogicalResult verifyAfter(Operation *op, bool all, ValueRange after) {
  if (all && !after.empty()) { // commit C1, release C1
    return op->emitOpError() << "expected 'after(all)' to name no op besides, but got "
                             << after.size();
  }
  return success();
}

LogicalResult CommitOp::verify() { return verifyAfter(*this, getAfterAll(), getAfter()); }

LogicalResult ReleaseOp::verify() { return verifyAfter(*this, getAfterAll(), getAfter()); }
