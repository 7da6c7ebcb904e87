//===- Passes.td - passes on the tile dialect ------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define FA4_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Phase verifiers. They stand on any op and look at every kernel and def below
// it, so one may follow each pass of a pipeline.
//===----------------------------------------------------------------------===//

def TileVerifyT0 : Pass<"tile-verify-t0"> {
  let summary = "Check that kernels are single-threaded programs of tile values";
  let description = [{
    *Requires* nothing. *Ensures*, for every kernel and def below:

    * (V1) only T0 ops, `arith`, `math` and `scf` stand in it;
    * (V2) no tile has a layout;
    * (V3) one tile loop, directly in the kernel, over the kernel's work;
    * (V4) steps, loads and stores of a kernel stand in its tile loop.

    *Fails when* one of these does not hold, with an error at the op.
  }];
}

#endif // FA4_DIALECT_TILE_TRANSFORMS_PASSES_TD
