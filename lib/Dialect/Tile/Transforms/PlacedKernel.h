//===- PlacedKernel.h - a kernel at T2, for its verifier -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The symbols of a placed kernel, and the three groups of checks that together
// make tile-verify-t2.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_PLACEDKERNEL_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_PLACEDKERNEL_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "llvm/ADT/StringMap.h"

namespace fa4::tile {

/// Four warps, from a multiple of four on, change their registers together (PTX
/// ISA, setmaxnreg and wgmma).
inline constexpr int64_t kWarpsPerWarpgroup = 4;

struct PlacedKernel {
  explicit PlacedKernel(KernelOp kernel);

  const TargetInfo &target() { return kernel.getTarget().getInfo(); }
  ViewOp view(mlir::FlatSymbolRefAttr name) const { return views.lookup(name.getValue()); }
  BarrierOp barrier(mlir::FlatSymbolRefAttr name) const { return barriers.lookup(name.getValue()); }

  KernelOp kernel;
  llvm::StringMap<PlacedAllocOp> allocs;
  llvm::StringMap<ViewOp> views;
  llvm::StringMap<BarrierOp> barriers;
  llvm::StringMap<NamedBarrierOp> namedBarriers;
};

/// The bytes that a view of shared memory must start at a multiple of.
int64_t getSmemAlignment(ViewOp view);

/// T2.D, of what is placed: everything lies on its alignment, and nothing on
/// anything else.
mlir::LogicalResult verifyPlacedMemory(PlacedKernel &placed);

/// T2.W: warps and registers.
mlir::LogicalResult verifyPlacedRoles(PlacedKernel &placed);

/// T2.D, T2.W and T2.T: memory, warps, registers and tensor memory.
mlir::LogicalResult verifyPlacement(PlacedKernel &placed);

/// T2.B, T2.C, T2.X, T2.S, T2.N and T2.G: who arrives where, and how often.
mlir::LogicalResult verifyBarriers(PlacedKernel &placed);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_PLACEDKERNEL_H
