//===- ViewParts.cpp - where a part of a tile lies in memory --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parts are cut where the layout repeats: tensor memory by cells, swizzled shared
// memory by patterns of rows and by panels of columns.
//
//===----------------------------------------------------------------------===//

#include "ViewParts.h"

using namespace mlir;
using namespace fa4::tile;

/// PTX ISA, tensor memory: a cell is 32 bits.
static constexpr int64_t kCellBits = 32;
/// PTX ISA, matrix descriptors: rows of a swizzle pattern.
static constexpr int64_t kPatternRows = 8;

namespace {
struct Cut {
  int64_t begin, end, extent;

  bool isWhole() const { return begin == 0 && end == extent; }
  void slice(SliceOp op) {
    end = begin + static_cast<int64_t>(op.getEnd());
    begin += static_cast<int64_t>(op.getBegin());
  }
};
} // namespace

FailureOr<ViewPlace> fa4::tile::getPlaceOfPart(const ViewPlace &whole, const OperandChain &chain,
                                               StringRef name) {
  FragType tile = whole.tile;
  Cut rows{0, tile.getRows(), tile.getRows()}, columns{0, tile.getColumns(), tile.getColumns()};
  bool turned = false;
  for (Operation *op : chain.layout) {
    if (auto slice = dyn_cast<SliceOp>(op)) {
      bool isOfRows = (slice.getAxis() == Axis::Rows) != turned;
      (isOfRows ? rows : columns).slice(slice);
    } else {
      turned = !turned;
    }
  }
  if (rows.isWhole() && columns.isWhole()) {
    return whole;
  }
  auto refuse = [&](StringRef rule, const Cut &cut) -> LogicalResult {
    return emitError(chain.use->getOwner()->getLoc())
           << "expected a part of '" << name << "' in memory to be " << rule << ", but got "
           << cut.begin << " to " << cut.end << " of " << cut.extent;
  };
  if (!rows.isWhole() && !columns.isWhole()) {
    return refuse("all rows of some columns, or some whole rows", rows);
  }
  int64_t bits = tile.getElementType().getIntOrFloatBitWidth();
  auto part = FragType::get(tile.getContext(), {rows.end - rows.begin, columns.end - columns.begin},
                            tile.getElementType());
  auto smem = dyn_cast<SmemLayoutAttr>(whole.layout);
  if (!smem) {
    if (!rows.isWhole() || columns.begin * bits % kCellBits != 0) {
      return refuse("columns of whole cells of tensor memory", rows.isWhole() ? columns : rows);
    }
    return ViewPlace{whole.offset + columns.begin * bits / kCellBits, part, whole.layout};
  }
  int64_t swizzle = smem.getSwizzle(), panel = tile.getRows() * swizzle;
  if (!rows.isWhole()) {
    if (rows.begin % kPatternRows != 0) {
      return refuse("rows of whole patterns of 8", rows);
    }
    bool isOnePanel = tile.getColumns() * bits / 8 <= swizzle;
    auto layout =
        SmemLayoutAttr::get(tile.getContext(), smem.getMajor(), swizzle, isOnePanel ? 0 : panel);
    return ViewPlace{whole.offset + rows.begin * swizzle, part, layout};
  }
  int64_t begin = columns.begin * bits / 8, end = columns.end * bits / 8;
  if (begin % swizzle != 0 || end % swizzle != 0) {
    return refuse("columns of whole panels of " + std::to_string(swizzle) + " bytes", columns);
  }
  return ViewPlace{whole.offset + begin / swizzle * panel, part, whole.layout};
}
