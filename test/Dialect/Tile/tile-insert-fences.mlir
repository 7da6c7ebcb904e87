// RUN: fa4-opt %s --tile-insert-fences | FileCheck %s
// RUN: fa4-opt %s --tile-insert-fences --tile-insert-fences | FileCheck %s

// What each kind of hand-over owes, on kernels of two or three roles that are no attention.

#rows  = #tile.spread<rows>
#rows2 = #tile.spread<rows2>
#lanes = #tile.tmem<lanes>
#lin   = #tile.smem<linear>
#kmaj  = #tile.smem<k_major, 128>
!A = !tile.frag<128x32xf32, #rows>
!W = !tile.frag<128x64xf32, #rows2>
!v = !tile.frag<128xf32, #rows>
!g = !tile.global<128x32xf32>

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>

// One writes tensor memory, the other reads it: both sides of the hop, nothing else.
// CHECK-LABEL: @pair
tile.kernel @pair(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.placed_alloc @m tmem at 0 stride 32
  tile.view @V of @m : 128x32xf32, #lanes
  tile.barrier @full depth(1) count(128) at 0
  tile.setup {
    // CHECK: tile.setup
    // CHECK-NEXT: fence [init]
    // CHECK-NEXT: role_sync
    tile.role_sync
  }
  // CHECK: role @writer
  tile.role @writer warps(4) at(0) regs(64) {
    %z = arith.constant 0.0 : f32
    %x = tile.splat %z : f32 -> !A
    // CHECK: write
    // CHECK-NEXT: fence [tmem_stores, before]
    // CHECK-NEXT: arrive @full
    // CHECK-NOT: fence
    tile.write %x to @V : !A
    tile.barrier.arrive @full by(thread)
  }
  // CHECK: role @reader
  tile.role @reader warps(4) at(4) regs(64) {
    %c = tile.cursor : !tile.cursor<1>
    // CHECK: barrier.wait @full
    // CHECK-NEXT: fence [after]
    // CHECK-NEXT: read @V
    // CHECK-NOT: fence
    tile.barrier.wait @full at %c mod 1
    %y = tile.read @V : !A
  }
}

// Order that travels over a role which touches nothing of it: that role takes it up
// and passes it on. The hand-over that does not lead to the reader is left alone.
// CHECK-LABEL: @relayed
tile.kernel @relayed(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.placed_alloc @m tmem at 0 stride 32
  tile.view @V of @m : 128x32xf32, #lanes
  tile.barrier @first depth(1) count(128) at 0
  tile.barrier @second depth(1) count(32) at 8
  tile.barrier @aside depth(1) count(32) at 16
  tile.setup {
    tile.role_sync
  }
  tile.role @writer warps(4) at(0) regs(64) {
    %z = arith.constant 0.0 : f32
    %x = tile.splat %z : f32 -> !A
    tile.write %x to @V : !A
    tile.barrier.arrive @first by(thread)
  }
  // CHECK: role @between
  // CHECK: arrive @aside
  // CHECK-NEXT: wait @first
  // CHECK-NEXT: fence [after]
  // CHECK-NEXT: fence [before]
  // CHECK-NEXT: arrive @second
  tile.role @between warps(1) at(8) regs(64) {
    %c = tile.cursor : !tile.cursor<1>
    tile.barrier.arrive @aside by(thread)
    tile.barrier.wait @first at %c mod 1
    tile.barrier.arrive @second by(thread)
  }
  tile.role @reader warps(4) at(4) regs(64) {
    %c = tile.cursor : !tile.cursor<1>
    tile.barrier.wait @second at %c mod 1
    %y = tile.read @V : !A
  }
  // CHECK: role @other
  // CHECK-NOT: fence
  tile.role @other warps(1) at(9) regs(64) {
    %c = tile.cursor : !tile.cursor<1>
    tile.barrier.wait @aside at %c mod 1
  }
}

// A rescale that mostly does nothing has its fences in the branch that scales: who was
// told of the memory by its writer needs none around it ...
// CHECK-LABEL: @mostly_told
tile.kernel @mostly_told(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.placed_alloc @m tmem at 0 stride 32
  tile.view @V of @m : 128x32xf32, #lanes
  tile.barrier @first depth(1) count(128) at 0
  tile.barrier @second depth(1) count(256) at 8
  tile.setup {
    tile.role_sync
  }
  tile.role @writer warps(4) at(0) regs(64) {
    %z = arith.constant 0.0 : f32
    %x = tile.splat %z : f32 -> !A
    tile.write %x to @V : !A
    tile.barrier.arrive @first by(thread)
    tile.barrier.arrive @second by(thread)
  }
  // CHECK: role @between
  // CHECK: wait @first
  // CHECK-NEXT: rescale @V
  // CHECK-NEXT: arrive @second
  tile.role @between warps(4) at(8) regs(64) {
    %h = arith.constant 0.5 : f32
    %a = tile.splat %h : f32 -> !v
    %c = tile.cursor : !tile.cursor<1>
    tile.barrier.wait @first at %c mod 1
    tile.rescale @V by %a likely_one : !v
    tile.barrier.arrive @second by(thread)
  }
  // CHECK: wait @second
  // CHECK-NEXT: fence [after]
  // CHECK-NEXT: read @V
  tile.role @reader warps(4) at(4) regs(64) {
    %c = tile.cursor : !tile.cursor<1>
    tile.barrier.wait @second at %c mod 1
    %y = tile.read @V : !A
  }
}

// ... but where it is the only way from the writer to the reader, order is passed on
// whether it scales or not.
// CHECK-LABEL: @mostly_passed_on
tile.kernel @mostly_passed_on(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.placed_alloc @m tmem at 0 stride 32
  tile.view @V of @m : 128x32xf32, #lanes
  tile.barrier @first depth(1) count(128) at 0
  tile.barrier @second depth(1) count(128) at 8
  tile.setup {
    tile.role_sync
  }
  tile.role @writer warps(4) at(0) regs(64) {
    %z = arith.constant 0.0 : f32
    %x = tile.splat %z : f32 -> !A
    tile.write %x to @V : !A
    tile.barrier.arrive @first by(thread)
  }
  // CHECK: role @between
  // CHECK: wait @first
  // CHECK-NEXT: fence [after]
  // CHECK-NEXT: rescale @V
  // CHECK-NEXT: fence [before]
  // CHECK-NEXT: arrive @second
  tile.role @between warps(4) at(8) regs(64) {
    %h = arith.constant 0.5 : f32
    %a = tile.splat %h : f32 -> !v
    %c = tile.cursor : !tile.cursor<1>
    tile.barrier.wait @first at %c mod 1
    tile.rescale @V by %a likely_one : !v
    tile.barrier.arrive @second by(thread)
  }
  tile.role @reader warps(4) at(4) regs(64) {
    %c = tile.cursor : !tile.cursor<1>
    tile.barrier.wait @second at %c mod 1
    %y = tile.read @V : !A
  }
}

// One thread's own columns: no hand-over, but its loads and stores are not in order.
// CHECK-LABEL: @alone
// CHECK: %[[X:.*]] = tile.read @V
// CHECK-NEXT: fence [tmem_loads]
// CHECK-NEXT: write %[[X]] to @V
// CHECK-NEXT: fence [tmem_stores]
// CHECK-NEXT: read @V
// CHECK-NEXT: write %{{.*}} to @Other
// CHECK-NOT: fence
tile.kernel @alone(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.placed_alloc @m[2] tmem at 0 stride 32
  tile.view @V of @m : 128x32xf32, #lanes
  tile.placed_alloc @o tmem at 64 stride 32
  tile.view @Other of @o : 128x32xf32, #lanes
  tile.role @r warps(4) at(0) regs(64) {
    %x = tile.read @V[0] : !A
    tile.write %x to @V[0] : !A
    %y = tile.read @V[0] : !A
    tile.write %y to @Other : !A
    %z = tile.read @V[1] : !A
  }
}

// More warps than lanes: two of them share rows, and meet in between.
// CHECK-LABEL: @two_groups
// CHECK: read @V
// CHECK-NEXT: fence [tmem_loads, before]
// CHECK-NEXT: role_sync
// CHECK-NEXT: fence [after]
// CHECK-NEXT: write
tile.kernel @two_groups(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.placed_alloc @m tmem at 0 stride 64
  tile.view @V of @m : 128x64xf32, #lanes
  tile.role @r warps(8) at(0) regs(64) {
    %x = tile.read @V : !W
    tile.role_sync
    tile.write %x to @V : !W
  }
}

// Shared memory: only what an engine touches needs the proxy fence, once, by the
// writer, before it hands over. One fence serves arrivals that stand together.
// CHECK-LABEL: @staged
// CHECK: role @writer
// CHECK: write %{{.*}} to @Plain
// CHECK-NEXT: arrive @plain
// CHECK-NEXT: write %{{.*}} to @Out
// CHECK-NEXT: fence [proxy]
// CHECK-NEXT: arrive @plain
// CHECK-NEXT: arrive @out
// CHECK-NOT: fence
tile.kernel @staged(%n: i32, %G: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.placed_alloc @out_mem smem at 1024 stride 16384
  tile.view @Out of @out_mem : 128x32xf32, #kmaj
  tile.placed_alloc @plain_mem smem at 32768 stride 512
  tile.view @Plain of @plain_mem : 128xf32, #lin
  tile.barrier @plain depth(1) count(128) at 0
  tile.barrier @out depth(1) count(128) at 8
  tile.setup {
    tile.role_sync
  }
  tile.role @writer warps(4) at(0) regs(64) {
    %z = arith.constant 0.0 : f32
    %x = tile.splat %z : f32 -> !v
    %y = tile.splat %z : f32 -> !A
    tile.write %x to @Plain : !v
    tile.barrier.arrive @plain by(thread)
    tile.write %y to @Out : !A
    tile.barrier.arrive @plain by(thread)
    tile.barrier.arrive @out by(thread)
  }
  tile.role @store warps(1) at(4) one_lane regs(64) uses(%G : !g) {
    %c0 = arith.constant 0 : i32
    %c = tile.cursor : !tile.cursor<1>
    tile.barrier.wait @plain at %c mod 1
    tile.barrier.wait @out at %c mod 1
    tile.issue_store @Out to %G[%c0, %c0] : !g
  }
}

// Order that only comes around a loop is taken up in it.
// CHECK-LABEL: @around
// CHECK: role @reader
// CHECK: scf.for
// CHECK-NEXT: fence [after]
// CHECK-NEXT: read @V
// CHECK-NEXT: barrier.wait @full
// CHECK-NOT: fence
// CHECK: role @writer
tile.kernel @around(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.placed_alloc @m tmem at 0 stride 32
  tile.view @V of @m : 128x32xf32, #lanes
  tile.barrier @full depth(1) count(128) at 0
  tile.setup {
    tile.role_sync
  }
  tile.role @reader warps(4) at(4) regs(64) uses(%n : i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c = tile.cursor : !tile.cursor<1>
    %e = scf.for %i = %c0 to %n step %c1 iter_args(%u = %c) -> (!tile.cursor<1>) : i32 {
      %y = tile.read @V : !A
      tile.barrier.wait @full at %u mod 1
      %w = tile.advance %u : !tile.cursor<1>
      scf.yield %w : !tile.cursor<1>
    }
  }
  tile.role @writer warps(4) at(0) regs(64) uses(%n : i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %z = arith.constant 0.0 : f32
    %x = tile.splat %z : f32 -> !A
    scf.for %i = %c0 to %n step %c1 : i32 {
      tile.write %x to @V : !A
      tile.barrier.arrive @full by(thread)
    }
  }
}
