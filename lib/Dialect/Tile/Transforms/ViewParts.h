//===- ViewParts.h - where a part of a tile lies in memory ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product that takes a slice of a kept tile takes a view inside the tile's view.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_VIEWPARTS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_VIEWPARTS_H

#include "ValueFlow.h"

namespace fa4::tile {

/// A view without its name: offset in bytes or columns, tile and layout.
struct ViewPlace {
  int64_t offset;
  FragType tile;
  mlir::Attribute layout;

  bool operator==(const ViewPlace &other) const {
    return offset == other.offset && tile == other.tile && layout == other.layout;
  }
};

/// Where the part of `whole` lies that `chain` slices off; `whole` itself if the
/// chain does not slice. Emits an error where no view can be the part.
mlir::FailureOr<ViewPlace> getPlaceOfPart(const ViewPlace &whole, const OperandChain &chain,
                                          llvm::StringRef name);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_VIEWPARTS_H
