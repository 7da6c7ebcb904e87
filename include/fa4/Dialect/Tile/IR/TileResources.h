//===- TileResources.h - memory resources -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memories ops have effects on. A tile value is no memory; a view of an
// allocation is.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILERESOURCES_H
#define FA4_DIALECT_TILE_IR_TILERESOURCES_H

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fa4::tile {

/// Global memory, behind `!tile.global`.
struct GmemResource : mlir::SideEffects::Resource::Base<GmemResource> {
  mlir::StringRef getName() final { return "Gmem"; }
};

/// Shared memory of a CTA or CTA pair.
struct SmemResource : mlir::SideEffects::Resource::Base<SmemResource> {
  mlir::StringRef getName() final { return "Smem"; }
};

/// Tensor memory.
struct TmemResource : mlir::SideEffects::Resource::Base<TmemResource> {
  mlir::StringRef getName() final { return "Tmem"; }
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_IR_TILERESOURCES_H
