// RUN: fa4-opt %s --split-input-file --pass-pipeline="builtin.module(tile.kernel(tile-partition-roles),tile-verify-t1)" | FileCheck %s
// Kernels of roles stay as they are.
// RUN: fa4-opt %s --split-input-file --pass-pipeline="builtin.module(tile.kernel(tile-partition-roles))" -o %t.once
// RUN: fa4-opt %s --split-input-file --pass-pipeline="builtin.module(tile.kernel(tile-partition-roles,tile-partition-roles))" -o %t.twice
// RUN: diff %t.once %t.twice

// Steps before and behind: the role's steps moved together by a trip, so its loop is
// plain, y before x; the other role's are not, and its loop stays rotated.
// CHECK-LABEL: tile.kernel @rotated
// CHECK: tile.role @b warps(1)
// CHECK-SAME: {
// CHECK-NEXT: arith.constant
// CHECK-NEXT: arith.constant
// CHECK-NEXT: tile.for_each_tile (%[[N:[a-z]+]]) in @work
// CHECK-NEXT: scf.for %[[J:[a-z0-9]+]] = %c0_i32 to %[[N]] step %c1_i32
// CHECK-NEXT: %[[T:.*]] = tile.acquire @c
// CHECK-NEXT: %[[E:.*]] = tile.async_load %{{.*}}[%[[J]]] to %[[T]] as @V
// CHECK-NEXT: tile.commit %[[T]] after(%[[E]])
// CHECK-NEXT: %[[W:.*]] = tile.wait @d
// CHECK-NEXT: tile.release %[[W]]
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK: tile.role @a warps(4)
// CHECK: tile.wait @c
// CHECK: scf.for %{{.*}} = %c1_i32 to
// CHECK: tile.acquire @d
// CHECK: tile.wait @c
// CHECK: }
// CHECK: tile.acquire @d
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {p, q} warps 4 at 0, b = {x, y} warps 1 at 4]>
!row = !tile.frag<128xf32>
!g = !tile.global<128xf32>
tile.kernel @rotated(%nt: i32, %g: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) facts(1 <= %n) {
    tile.yield %t : i32
  }
  tile.alloc @m : smem 512 bytes
  tile.view @V of @m : 128xf32, #tile.smem<linear>
  tile.channel @c depth(1) from(@b) to(@a) carries(@V)
  tile.channel @d depth(1) from(@a) to(@b)
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tile.for_each_tile (%n) in @work {
    %k0 = tile.inlined_step @y -> (!row) {
      %t = tile.acquire @c
      %v = tile.load %g[%c0] : !g -> !row
      %k = tile.keep %v in %t as @V : !row
      tile.commit %t
      tile.yield %k : !row
    }
    tile.inlined_step @p {
      %t = tile.wait @c
      %v = tile.use %k0 from %t as @V : !row
      tile.store %v to %g[%n] : !row, !g
      tile.release %t
    }
    scf.for %i = %c1 to %n step %c1 : i32 {
      tile.inlined_step @q {
        %t = tile.acquire @d
        tile.commit %t
      }
      tile.inlined_step @x {
        %t = tile.wait @d
        tile.release %t
      }
      %k = tile.inlined_step @y -> (!row) {
        %t = tile.acquire @c
        %v = tile.load %g[%i] : !g -> !row
        %k = tile.keep %v in %t as @V : !row
        tile.commit %t
        tile.yield %k : !row
      }
      tile.inlined_step @p {
        %t = tile.wait @c
        %v = tile.use %k from %t as @V : !row
        %w = tile.map (%e = %v) : (!row) -> !row {
          %f = arith.addf %e, %e : f32
          tile.yield %f : f32
        }
        tile.store %w to %g[%n] : !row, !g
        tile.release %t
      }
    }
    tile.inlined_step @q {
      %t = tile.acquire @d
      tile.commit %t
    }
    tile.inlined_step @x {
      %t = tile.wait @d
      tile.release %t
    }
  }
}

// -----

// Without the fact a loop without a trip would do less than its rotated form.
// CHECK-LABEL: tile.kernel @may_be_empty
// CHECK: tile.role @a
// CHECK: scf.for
// CHECK: }
// CHECK: tile.store
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {x} warps 4 at 0]>
!row = !tile.frag<128xf32>
!g = !tile.global<128xf32>
tile.kernel @may_be_empty(%nt: i32, %g: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  tile.for_each_tile (%n) in @work {
    %z = tile.splat %zero : f32 -> !row
    scf.for %i = %c1 to %n step %c1 : i32 {
      tile.inlined_step @x {
        tile.store %z to %g[%i] : !row, !g
      }
    }
    tile.inlined_step @x {
      tile.store %z to %g[%n] : !row, !g
    }
  }
}

// -----

// Replicas: an affine pair of coordinates is a sum with the number, any other pair a
// choice by it. The role has no carried value that only the other role's steps use,
// and no argument that it does not need.
// CHECK-LABEL: tile.kernel @replicas
// CHECK: tile.role @a warps(4) replicas(2) index(%[[R:.*]]) uses(%arg1 : !tile.global<128xf32>)
// CHECK: tile.for_each_tile (%[[Q0:[a-z0-9]+]], %[[Q1:[a-z0-9]+]], %[[N:[a-z]+]], %[[M:[a-z]+]]) in @work
// CHECK-DAG: %[[Q:.*]] = arith.addi %[[Q0]], %[[R]]
// CHECK-DAG: scf.for %{{.*}} = %{{.*}} to %[[N]] step %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (!tile.frag<128xf32, #rows>)
// CHECK: %[[IS1:.*]] = arith.cmpi eq, %[[R]], %c1_i32
// CHECK: %[[NM:.*]] = arith.select %[[IS1]], %[[M]], %[[N]]
// CHECK: tile.store %{{.*}} to %arg1[%[[NM]]]
// CHECK: tile.load %arg1[%[[Q]]]
// CHECK: tile.acquire @c[%[[R]]]
// CHECK: tile.write
// CHECK: tile.role @b warps(4) uses(%arg2 : !tile.global<128xf32>)
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} : i32 {
// CHECK: tile.wait @c[0]
// CHECK: tile.wait @c[1]
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, stages = 2, roles = [a = {x} warps 4 x 2 at 0, b = {y} warps 4 at 8]>
!row = !tile.frag<128xf32>
!g = !tile.global<128xf32>
tile.kernel @replicas(%nt: i32, %g: !g, %o: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%q0, %q1, %n, %m) facts(1 <= %n, 1 <= %m) {
    %c1 = arith.constant 1 : i32
    %q1 = arith.addi %t, %c1 : i32
    tile.yield %t, %q1, %t, %q1 : i32, i32, i32, i32
  }
  tile.alloc @m[2] : smem 512 bytes
  tile.view @V of @m : 128xf32, #tile.smem<linear>
  tile.channel @c[2] depth(1) from(@a each) to(@b) carries(@V)
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  tile.for_each_tile (%q0, %q1, %n, %m) in @work {
    %z = tile.splat %zero : f32 -> !row
    %ra, %rb = scf.for %i = %c0 to %n step %c1 iter_args(%sa = %z, %sb = %z) -> (!row, !row) : i32 {
      %ka, %na = tile.inlined_step @x[0] -> (!row, !row) {
        tile.store %sa to %g[%n] : !row, !g
        %v = tile.load %g[%q0] : !g -> !row
        %t = tile.acquire @c[0]
        %k = tile.keep %v in %t as @V : !row
        tile.commit %t
        tile.yield %k, %v : !row, !row
      }
      %kb, %nb = tile.inlined_step @x[1] -> (!row, !row) {
        tile.store %sb to %g[%m] : !row, !g
        %v = tile.load %g[%q1] : !g -> !row
        %t = tile.acquire @c[1]
        %k = tile.keep %v in %t as @V : !row
        tile.commit %t
        tile.yield %k, %v : !row, !row
      }
      tile.inlined_step @y[0] {
        %t = tile.wait @c[0]
        %v = tile.use %ka from %t as @V : !row
        %w = tile.map (%e = %v) : (!row) -> !row {
          %f = arith.addf %e, %e : f32
          tile.yield %f : f32
        }
        tile.store %w to %o[%i] : !row, !g
        tile.release %t
      }
      tile.inlined_step @y[1] {
        %t = tile.wait @c[1]
        %v = tile.use %kb from %t as @V : !row
        %w = tile.map (%e = %v) : (!row) -> !row {
          %f = arith.addf %e, %e : f32
          tile.yield %f : f32
        }
        tile.store %w to %o[%i] : !row, !g
        tile.release %t
      }
      scf.yield %na, %nb : !row, !row
    }
  }
}

// -----

// In shared memory rows are scaled on the way through registers; a copy may add; a
// home that no channel reaches leaves its value in registers, and is gone; a step that is left out
// leaves out what it does to channels.
// CHECK-LABEL: tile.kernel @forms
// CHECK-NOT: tile.{{alloc|view}} @{{own|Own}}
// CHECK: tile.role @a warps(4)
// CHECK: tile.for_each_tile (%[[N:[a-z]+]], %[[P:[a-z]+]]) in @work
// CHECK: %[[X:.*]] = tile.load
// CHECK-NOT: tile.write {{.*}} @Own
// CHECK: tile.store %[[X]] to
// CHECK: tile.write %{{.*}} to %{{.*}} as @V
// CHECK: tile.role @b warps(4)
// CHECK: %[[SKIP:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}}
// CHECK: scf.if %[[SKIP]] {
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[T:.*]] = tile.wait @c
// CHECK-NEXT: %[[V:.*]] = tile.read %[[T]] as @V
// CHECK: %[[S:.*]] = tile.scale_rows %[[V]] by
// CHECK-NEXT: tile.write %[[S]] over %[[T]] as @V
// CHECK-NEXT: %[[E:.*]] = tile.async_store add %[[T]] as @V to
// CHECK-NEXT: tile.release %[[T]] after(%[[E]])
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {x} warps 4 at 0, b = {y} warps 4 at 4]>
!row = !tile.frag<128xf32>
!T = !tile.frag<128x32xf32>
!g = !tile.global<128x32xf32>
tile.kernel @forms(%nt: i32, %g: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n, %p) {
    tile.yield %t, %t : i32, i32
  }
  tile.alloc @m : smem 16384 bytes
  tile.view @V of @m : 128x32xf32, #tile.smem<linear>
  tile.alloc @own : smem 16384 bytes
  tile.view @Own of @own : 128x32xf32, #tile.smem<linear>
  tile.channel @c depth(1) from(@a) to(@b) carries(@V)
  %one = arith.constant 1.0 : f32
  tile.for_each_tile (%n, %p) in @work {
    %skip = arith.cmpi eq, %n, %p : i32
    %zero = tile.splat %one : f32 -> !T
    %k = tile.inlined_step @x unless(%skip) passing(%zero : !T) -> (!T) {
      %v = tile.load %g[%n] : !g -> !T
      %own = tile.keep %v in @Own[0] : !T
      tile.store %own to %g[%p] : !T, !g
      %t = tile.acquire @c
      %w = tile.map (%e = %own) : (!T) -> !T {
        %f = arith.addf %e, %e : f32
        tile.yield %f : f32
      }
      %k = tile.keep %w in %t as @V : !T
      tile.commit %t
      tile.yield %k : !T
    }
    tile.inlined_step @y unless(%skip) passing() {
      %t = tile.wait @c
      %u = tile.use %k from %t as @V : !T
      %a = tile.splat %one : f32 -> !row
      %s = tile.scale_rows %u by %a : !T, !row
      %kept = tile.keep %s in over %t as @V : !T
      %v = tile.use %kept from %t as @V : !T
      tile.store add %v to %g[%n] : !T, !g
      tile.release %t
    }
  }
}
