// RUN: fa4-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-skip-hidden))' --mlir-print-local-scope | FileCheck %s

// A replica's block at the edge of a tile: no probabilities if none of its rows sees a
// key of it, no mask if all of them see all.

#plan = #fa4.schedule<forward, tile = 64 x 32, stages = 2>
#acc = #tile.spread<acc>
!S = !tile.frag<64x32xf32, #acc>
!P = !tile.frag<64x32xbf16, #acc>
!row = !tile.frag<64xf32, #tile.spread<quad>>
!gl = !tile.global<64xf32>

// CHECK-LABEL: tile.kernel @edge(
tile.kernel @edge(%c: f32, %i: i32, %j: i32, %sq: i32, %sk: i32, %L: !gl, %nt: i32) target(#fa4.target<"sm_90a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%b) { tile.yield %t : i32 }
  tile.placed_alloc @m smem at 0 stride 8192
  tile.view @X of @m : 64x32xf32, #tile.smem<linear>
  tile.view @Y of @m : 64x32xbf16, #tile.smem<linear>
  tile.role @a warps(4) at(0) regs(128) uses(%c, %i, %j, %sq, %sk, %L : f32, i32, i32, i32, i32, !gl) {
    %x = tile.read @X : !S
    %d = tile.splat %c : f32 -> !row
    %l = tile.splat %c : f32 -> !row
    // The last row is 64 i + 63, keys of the block are 32 j to 32 j + 31. Aligned to the
    // bottom right a row counts sk - sq more.
    // CHECK-DAG: %[[ROW:.+]] = arith.muli %{{.+}}, %c64_i64
    // CHECK-DAG: %[[KEY:.+]] = arith.muli %{{.+}}, %c32_i64
    // CHECK-DAG: %[[LASTROW:.+]] = arith.addi %[[ROW]], %c63_i64
    // CHECK-DAG: %[[LASTKEY:.+]] = arith.addi %[[KEY]], %c31_i64
    // CHECK-DAG: arith.cmpi sge, %[[KEY]], %c0_i64
    // CHECK-DAG: arith.cmpi slt, %[[KEY]], %[[SK:.+]] : i64
    // CHECK-DAG: arith.cmpi slt, %[[LASTKEY]], %[[SK]] : i64
    // CHECK-DAG: arith.cmpi slt, %[[ROW]], %[[SQ:.+]] : i64
    // CHECK-DAG: arith.cmpi slt, %[[LASTROW]], %[[SQ]] : i64
    // CHECK-DAG: %[[DIFFERENCE:.+]] = arith.subi %[[SK]], %[[SQ]] : i64
    // CHECK: %[[FARTHEST:.+]] = arith.addi %{{.+}}, %c0_i64
    // CHECK: arith.cmpi sle, %[[KEY]], %[[FARTHEST]]
    // CHECK: %[[SOME:.+]] = arith.andi
    // CHECK: %[[NEAREST:.+]] = arith.addi %{{.+}}, %c0_i64
    // CHECK: arith.cmpi sle, %[[LASTKEY]], %[[NEAREST]]
    // CHECK: %[[ALL:.+]] = arith.andi
    // CHECK: %[[IF:.+]]:3 = scf.if %[[SOME]] ->
    // CHECK:   %[[S:.+]] = scf.if %[[ALL]] ->
    // CHECK:     scf.yield %[[X:.+]] :
    // CHECK:   } else {
    // CHECK:     tile.mask %[[X]]
    // CHECK:   tile.row_max %[[S]]
    // CHECK:   %[[D:.+]], %[[USE:.+]], %[[F:.+]] = tile.online_max
    // CHECK:   tile.map (%{{.+}} = %[[S]], %{{.+}} = %[[USE]])
    // CHECK:   %[[P:.+]] = tile.exp2
    // CHECK:   scf.yield %[[D]], %[[F]], %[[P]]
    // CHECK: } else {
    // CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00
    // CHECK-DAG: %[[ONES:.+]] = tile.splat %[[ONE]]
    // CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00
    // CHECK-DAG: %[[ZEROS:.+]] = tile.splat %[[ZERO]]
    // CHECK:   scf.yield %{{.+}}, %[[ONES]], %[[ZEROS]]
    // CHECK: tile.row_sum %[[IF]]#2
    // CHECK: tile.cast %[[IF]]#2
    // CHECK: tile.store %{{.+}} to
    // CHECK: tile.store %[[IF]]#0 to
    %s = tile.mask %x block(%i, %j) [#attn.causal] extents(%sq, %sk) : !S
    %none = arith.constant 0xFF800000 : f32
    %least = tile.splat %none : f32 -> !row
    %top = tile.row_max %s init(%least) : !S -> !row
    %scale = arith.constant 0.125 : f32
    %d1, %use, %factor = tile.online_max %top from(%d) scale(%scale) lag(8.0) : !row
    %e = tile.map (%v = %s, %o = %use) : (!S, !row) -> !S {
      %y = math.fma %v, %scale, %o : f32
      tile.yield %y : f32
    }
    %p = tile.exp2 %e : !S
    %l1 = tile.map (%v = %l, %a = %factor) : (!row, !row) -> !row {
      %y = arith.mulf %v, %a : f32
      tile.yield %y : f32
    }
    %sum = tile.row_sum %p init(%l1) : !S -> !row
    %pb = tile.cast %p : !S -> !P
    tile.write %pb to @Y : !P
    tile.store %sum to %L[] : !row, !gl
    tile.store %d1 to %L[] : !row, !gl
  }
}

// -----

// Masked scores that something else reads, too; a maximum that starts elsewhere; an
// offset that is not the statistic's: left alone.

#plan = #fa4.schedule<forward, tile = 64 x 32, stages = 2>
#acc = #tile.spread<acc>
!S = !tile.frag<64x32xf32, #acc>
!row = !tile.frag<64xf32, #tile.spread<quad>>

// CHECK-LABEL: tile.kernel @others(
// CHECK-NOT: scf.if
tile.kernel @others(%c: f32, %i: i32, %j: i32, %nt: i32) target(#fa4.target<"sm_90a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%b) { tile.yield %t : i32 }
  tile.placed_alloc @m smem at 0 stride 8192
  tile.view @X of @m : 64x32xf32, #tile.smem<linear>
  tile.role @a warps(4) at(0) regs(128) uses(%c, %i, %j : f32, i32, i32) {
    %x = tile.read @X : !S
    %d = tile.splat %c : f32 -> !row
    %none = arith.constant 0xFF800000 : f32
    %least = tile.splat %none : f32 -> !row
    %scale = arith.constant 0.125 : f32
    %s0 = tile.mask %x block(%i, %j) [#attn.causal] extents(%i, %j) : !S
    %top0 = tile.row_max %s0 init(%least) : !S -> !row
    %d0, %use0, %f0 = tile.online_max %top0 from(%d) scale(%scale) : !row
    %e0 = tile.map (%v = %s0, %o = %use0) : (!S, !row) -> !S {
      %y = math.fma %v, %scale, %o : f32
      tile.yield %y : f32
    }
    %p0 = tile.exp2 %e0 : !S
    %also = tile.row_sum %s0 init(%d) : !S -> !row
    %s1 = tile.mask %x block(%i, %j) [#attn.causal] extents(%i, %j) : !S
    %top1 = tile.row_max %s1 init(%also) : !S -> !row
    %d1, %use1, %f1 = tile.online_max %top1 from(%d) scale(%scale) : !row
    %e1 = tile.map (%v = %s1, %o = %use1) : (!S, !row) -> !S {
      %y = math.fma %v, %scale, %o : f32
      tile.yield %y : f32
    }
    %p1 = tile.exp2 %e1 : !S
    %s2 = tile.mask %x block(%i, %j) [#attn.causal] extents(%i, %j) : !S
    %top2 = tile.row_max %s2 init(%least) : !S -> !row
    %d2, %use2, %f2 = tile.online_max %top2 from(%d) scale(%scale) : !row
    %e2 = tile.map (%v = %s2, %o = %d2) : (!S, !row) -> !S {
      %y = math.fma %v, %scale, %o : f32
      tile.yield %y : f32
    }
    %p2 = tile.exp2 %e2 : !S
    %r0 = tile.row_sum %p0 init(%d) : !S -> !row
    %r1 = tile.row_sum %p1 init(%r0) : !S -> !row
    %r2 = tile.row_sum %p2 init(%r1) : !S -> !row
    tile.write %p2 to @X : !S
  }
}
