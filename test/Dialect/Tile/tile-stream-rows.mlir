// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-stream-rows))' | FileCheck %s

// Between a read of tensor memory and the write that it goes to stands no hand-over.

#rows = #tile.spread<rows>
#kmaj = #tile.smem<k_major, 128>
#lanes = #tile.tmem<lanes>
!S = !tile.frag<128x64xf32, #rows>
!T = !tile.frag<128x64xbf16, #rows>
!row = !tile.frag<128xf32, #rows>

tile.kernel @k(%nt: i32, %lse: !tile.global<128xf32>, %res: !tile.global<128x64xbf16>) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 128 x 64>) {
  tile.work @work(%t) tiles(%nt : i32) uses(%nt : i32) -> (%n) { tile.yield %t : i32 }
  tile.alloc @o_mem : tmem 64 columns
  tile.alloc @out_mem : smem 16384 bytes
  tile.alloc @lin_mem : smem 512 bytes
  tile.view @O of @o_mem : 128x64xf32, #lanes
  tile.view @Out of @out_mem : 128x64xbf16, #kmaj
  tile.view @L of @lin_mem : 128xf32, #tile.smem<linear>
  tile.channel @o depth(1) from(@mma) to(@finish) carries(@O)
  tile.channel @out depth(1) from(@finish) to(@store) carries(@Out)
  tile.channel @l depth(1) from(@finish) to(@store) carries(@L)
  tile.role @mma warps(1) { }
  tile.role @store warps(1) { }
  // CHECK-LABEL: tile.role @finish
  tile.role @finish warps(4) uses(%lse, %res : !tile.global<128xf32>, !tile.global<128x64xbf16>) {
    %zero = arith.constant 0 : i32
    %half = arith.constant 0.5 : f32
    %f = tile.splat %half : f32 -> !row
    // CHECK: %[[O:.*]] = tile.wait @o
    // CHECK-NEXT: %[[OUT:.*]] = tile.acquire @out
    // CHECK-NEXT: %[[X:.*]] = tile.read %[[O]] as @O
    // CHECK-NEXT: %[[Y:.*]] = tile.scale_rows %[[X]]
    // CHECK-NEXT: %[[Z:.*]] = tile.cast %[[Y]]
    // CHECK-NEXT: tile.write %[[Z]] to %[[OUT]] as @Out
    // CHECK-NEXT: tile.release %[[O]]
    // CHECK-NEXT: tile.commit %[[OUT]]
    %o = tile.wait @o
    %x = tile.read %o as @O : !S
    tile.release %o
    %y = tile.scale_rows %x by %f : !S, !row
    %z = tile.cast %y : !S -> !T
    %s = tile.acquire @out
    tile.write %z to %s as @Out : !T
    tile.commit %s
    // A hand-over of something else stays where it is, and so does all of it.
    // CHECK: %[[O2:.*]] = tile.wait @o
    // CHECK-NEXT: %[[X2:.*]] = tile.read %[[O2]] as @O
    // CHECK-NEXT: tile.release %[[O2]]
    // CHECK-NEXT: %[[L:.*]] = tile.acquire @l
    // CHECK: tile.acquire @out
    %o2 = tile.wait @o
    %x2 = tile.read %o2 as @O : !S
    tile.release %o2
    %l = tile.acquire @l
    tile.write %f to %l as @L : !row
    tile.commit %l
    %z2 = tile.cast %x2 : !S -> !T
    %s2 = tile.acquire @out
    tile.write %z2 to %s2 as @Out : !T
    tile.commit %s2
    // A store needs no acquire, and a store of something else may stand between.
    // CHECK: %[[O3:.*]] = tile.wait @o
    // CHECK-NEXT: %[[X3:.*]] = tile.read %[[O3]] as @O
    // CHECK-NEXT: tile.store %{{.*}} to %{{.*}}[%{{.*}}] : !tile.frag<128xf32
    // CHECK-NEXT: %[[Z3:.*]] = tile.cast %[[X3]]
    // CHECK-NEXT: tile.store %[[Z3]]
    // CHECK-NEXT: tile.release %[[O3]]
    %o3 = tile.wait @o
    %x3 = tile.read %o3 as @O : !S
    tile.release %o3
    tile.store %f to %lse[%zero] : !row, !tile.global<128xf32>
    %z3 = tile.cast %x3 : !S -> !T
    tile.store %z3 to %res[%zero] : !T, !tile.global<128x64xbf16>
  }
}
