//===- MeasuredTiles.cpp - the fastest tiles of measured chips --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows are measurements; when the kernels change they are taken anew.
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/MeasuredTiles.h"

#include "llvm/ADT/STLExtras.h"

using namespace fa4;

namespace {
struct Row {
  llvm::StringLiteral chip;
  int64_t headDim;
  bool unevenTiles;
  MeasuredTile tile;
};
} // namespace

static constexpr Row rows[] = {
#include "MeasuredTiles.inc"
};

std::optional<MeasuredTile> fa4::lookupMeasuredTile(const TargetInfo &target, int64_t headDim,
                                                    bool unevenTiles) {
  const Row *row = llvm::find_if(rows, [&](const Row &row) {
    return row.headDim == headDim && row.unevenTiles == unevenTiles &&
           target == *lookupTarget(row.chip);
  });
  return row == std::end(rows) ? std::nullopt : std::optional(row->tile);
}
