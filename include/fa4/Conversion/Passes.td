//===- Passes.td - conversions between levels ------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_CONVERSION_PASSES_TD
#define FA4_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertAttnToTile : Pass<"convert-attn-to-tile", "::mlir::ModuleOp"> {
  let summary = "attention ops as T0 kernels and launches";
  let description = [{
    Every `attn.forward` becomes a `tile.kernel` of steps on tiles, called
    `<function>_attn<number>`, and a `tile.launch`; every `attn.merge` becomes
    loops. A CTA's tile is the schedule's stages times its rows; the steps are
    `load_q`, `load_k`, `load_v`, `qk`, `softmax`, `rescale`, `pv`, `finish` and
    `store`. The kernel serves all extents, strides and batches.

    Its arguments, in this order and only as far as the op has them: q, k, v, o,
    lse, document ids of q and k, position offset, prefix sums of q and k, used
    lengths of q and k, sink, captures of the score region, captures of the
    predicate, origin of batch and head, extents of q and k (not when packed),
    batches (when packed or longest tiles come first), query heads, query heads
    per kv head, number of tiles. Arrays are `!tile.global`s, numbers are i32.

    Requires: memrefs (after one-shot-bufferize), a schedule on the op (after
    attn-select-schedule) and a `fa4.target` on the module.

    Ensures: no op of `attn` is left; kernels are T0. Key blocks that no row of a
    tile can see are not read; the mask of lengths and intervals is applied only
    where a block needs it.

    Fails when: one of the requirements does not hold.
  }];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "attn.forward ops converted">,
    Statistic<"numMerges", "num-merges", "attn.merge ops converted">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::fa4::tile::TileDialect",
  ];
}

def ConvertTileToCPU : Pass<"convert-tile-to-cpu", "::mlir::ModuleOp"> {
  let summary = "T0 kernels as host functions on upstream dialects";
  let description = [{
    Turns every `tile.kernel` into a function over memrefs and every
    `tile.launch` into a call. Tiles become buffers in one arena per thread,
    their ops become loops over strips of 16 columns, the tile loop becomes an
    `scf.parallel` of `workers` iterations to which the tiles are dealt in turn.

    Requires: kernels at T0, before any pass of T1.

    Ensures: no op or type of `tile` is left; only `arith`, `func`, `math`,
    `memref`, `scf` and `vector`. Results do not depend on `workers`, `mma-rows` or
    the host. Accesses outside a tensor do not happen.

    Fails when: a kernel has an op of another phase or inline PTX, a tile loop
    carries values, or a tile has an element type that no host buffer holds.
  }];
  let options = [
    Option<"workers", "workers", "int64_t", "8",
           "iterations of scf.parallel that the tiles of a kernel are dealt to">,
    Option<"mmaRows", "mma-rows", "int64_t", "8",
           "rows of the register block of a matrix product">,
  ];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "kernels converted">,
    Statistic<"numSteps", "num-steps", "steps inlined">,
    Statistic<"arenaBytes", "arena-bytes", "bytes of the largest arena">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
  ];
}

def ConvertTileToNVVM : Pass<"convert-tile-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "T2 kernels as functions of nvvm and llvm";
  let description = [{
    Every `tile.kernel` becomes an `llvm.func` of the same name: set-up, a switch
    on the warp, one block per role, tear-down. A role of one lane runs on one
    elected lane. Thread r of a role holds row r of its tiles. The threads of a CTA
    are those of the roles, filled up to whole warpgroups; idle warps give their
    registers back and leave.

    Parameters stand in the order of the kernel's arguments, as far as they are
    used: of a global one tensor map per box and swizzle, then, if threads access
    it, pointer, strides and extents. `fa4.param` on each and `fa4.launch` on the
    function say what the host has to give.

    Requires: kernels at T2 (after tile-verify-t2).

    Ensures: no op or type of `tile` is left in the kernels; only `llvm` and `nvvm`.
    Launches (`tile.launch`) stay.

    Both CTAs of a pair run one kernel on one tile's number; the leader's roles, and
    what it announces for both, ask for its rank.

    Fails when: a kernel has an op, a layout or a type without a lowering: copies to
    a peer, dynamic work, tiles spread otherwise than by rows or as fragments.
  }];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "kernels converted">,
  ];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::ub::UBDialect", "::mlir::vector::VectorDialect",
  ];
}

#endif // FA4_CONVERSION_PASSES_TD
