//===- MeasuredTiles.h - the fastest tiles of measured chips ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a machine said where the planner's rule ranks by rates alone. A chip with
// any number changed was not measured.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TARGET_MEASUREDTILES_H
#define FA4_TARGET_MEASUREDTILES_H

#include "fa4/Target/TargetInfo.h"

#include <optional>

namespace fa4 {

struct MeasuredTile {
  int64_t rows, columns, stages;
};

/// The fastest tile of forward attention without edits of scores, for equal padded head
/// dims of q, k and v, on tiles of equal or unequal length; none of what was not measured.
std::optional<MeasuredTile> lookupMeasuredTile(const TargetInfo &target, int64_t headDim,
                                               bool unevenTiles);

} // namespace fa4

#endif // FA4_TARGET_MEASUREDTILES_H
