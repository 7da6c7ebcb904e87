// RUN: fa4-opt %s --tile-simplify-barriers=without=1,2,5 --split-input-file | FileCheck %s
// RUN: fa4-opt %s --tile-simplify-barriers=without=1,2,4,5 --split-input-file | FileCheck %s --check-prefix=NO4
// RUN: fa4-opt %s --tile-simplify-barriers=without=1,2,3,5 --split-input-file | FileCheck %s --check-prefix=NO3

// Rule R3 on protocols that are no attention, and one where each of its conditions fails.

// NO3-NOT: count(256)

// Two producers and one who waits for both, and lets both go on: one barrier counts both.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// CHECK-LABEL: @both
// CHECK: barrier @b1 depth(1) count(256)
// CHECK-NEXT: barrier @go
// CHECK: role @two
// CHECK: barrier.arrive @b1
// CHECK: role @hub
// CHECK: barrier.wait @b1
// CHECK-NEXT: barrier.arrive @go
tile.kernel @both(%n: i32, %l: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) uses(%l : i32) -> (%k) facts(1 <= %k) {
    tile.yield %l : i32
  }
  tile.barrier @b1 depth(1) count(128) at 0
  tile.barrier @b2 depth(1) count(128) at 8
  tile.barrier @go depth(1) count(128) at 16
  tile.setup {
    tile.role_sync
  }
  tile.role @one warps(4) at(0) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %g = tile.cursor credit : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%g0 = %g) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%g1 = %g0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @go at %g1 mod 1
        tile.barrier.arrive @b1 by(thread)
        %g2 = tile.advance %g1 : !tile.cursor<1>
        scf.yield %g2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
  tile.role @two warps(4) at(4) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %g = tile.cursor credit : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%g0 = %g) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%g1 = %g0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @go at %g1 mod 1
        tile.barrier.arrive @b2 by(thread)
        %g2 = tile.advance %g1 : !tile.cursor<1>
        scf.yield %g2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
  tile.role @hub warps(4) at(8) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = tile.cursor : !tile.cursor<1>
    %y = tile.cursor : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%x0 = %x, %y0 = %y) -> (!tile.cursor<1>, !tile.cursor<1>) {
      %r:2 = scf.for %i = %c0 to %k step %c1 iter_args(%x1 = %x0, %y1 = %y0) -> (!tile.cursor<1>, !tile.cursor<1>) : i32 {
        tile.barrier.wait @b1 at %x1 mod 1
        tile.barrier.wait @b2 at %y1 mod 1
        tile.barrier.arrive @go by(thread)
        %x2 = tile.advance %x1 : !tile.cursor<1>
        %y2 = tile.advance %y1 : !tile.cursor<1>
        scf.yield %x2, %y2 : !tile.cursor<1>, !tile.cursor<1>
      }
      tile.yield %r#0, %r#1 : !tile.cursor<1>, !tile.cursor<1>
    }
  }
}

// -----

// (i) Something happens between the waits.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// CHECK-LABEL: @apart
// CHECK: barrier @b1 depth(1) count(128)
// CHECK: barrier @b2 depth(1) count(128)
tile.kernel @apart(%n: i32, %l: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) uses(%l : i32) -> (%k) facts(1 <= %k) {
    tile.yield %l : i32
  }
  tile.barrier @b1 depth(1) count(128) at 0
  tile.barrier @b2 depth(1) count(128) at 8
  tile.barrier @go depth(1) count(128) at 16
  tile.barrier @side depth(1) count(128) at 24
  tile.setup {
    tile.role_sync
  }
  tile.role @one warps(4) at(0) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %g = tile.cursor credit : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%g0 = %g) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%g1 = %g0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @go at %g1 mod 1
        tile.barrier.arrive @b1 by(thread)
        %g2 = tile.advance %g1 : !tile.cursor<1>
        scf.yield %g2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
  tile.role @two warps(4) at(4) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %g = tile.cursor credit : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%g0 = %g) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%g1 = %g0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @go at %g1 mod 1
        tile.barrier.arrive @b2 by(thread)
        %g2 = tile.advance %g1 : !tile.cursor<1>
        scf.yield %g2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
  tile.role @hub warps(4) at(8) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = tile.cursor : !tile.cursor<1>
    %y = tile.cursor : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%x0 = %x, %y0 = %y) -> (!tile.cursor<1>, !tile.cursor<1>) {
      %r:2 = scf.for %i = %c0 to %k step %c1 iter_args(%x1 = %x0, %y1 = %y0) -> (!tile.cursor<1>, !tile.cursor<1>) : i32 {
        tile.barrier.wait @b1 at %x1 mod 1
        tile.barrier.arrive @side by(thread)
        tile.barrier.wait @b2 at %y1 mod 1
        tile.barrier.arrive @go by(thread)
        %x2 = tile.advance %x1 : !tile.cursor<1>
        %y2 = tile.advance %y1 : !tile.cursor<1>
        scf.yield %x2, %y2 : !tile.cursor<1>, !tile.cursor<1>
      }
      tile.yield %r#0, %r#1 : !tile.cursor<1>, !tile.cursor<1>
    }
  }
  tile.role @third warps(4) at(12) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %q = tile.cursor : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%q0 = %q) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%q1 = %q0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @side at %q1 mod 1
        %q2 = tile.advance %q1 : !tile.cursor<1>
        scf.yield %q2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
}

// -----

// (ii) The waits are for the same trip, but one of them is a generation ahead.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// CHECK-LABEL: @other_generation
// CHECK: barrier @b1 depth(1) count(128)
// CHECK: barrier @b2 depth(1) count(128)
tile.kernel @other_generation(%n: i32, %l: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) uses(%l : i32) -> (%k) facts(1 <= %k) {
    tile.yield %l : i32
  }
  tile.barrier @b1 depth(1) count(128) at 0
  tile.barrier @b2 depth(1) count(128) at 8
  tile.barrier @go depth(1) count(128) at 16
  tile.setup {
    tile.role_sync
  }
  tile.role @one warps(4) at(0) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %g = tile.cursor credit : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%g0 = %g) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%g1 = %g0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @go at %g1 mod 1
        tile.barrier.arrive @b1 by(thread)
        %g2 = tile.advance %g1 : !tile.cursor<1>
        scf.yield %g2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
  tile.role @two warps(4) at(4) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %g = tile.cursor credit : !tile.cursor<1>
    tile.barrier.arrive @b2 by(thread)
    tile.for_each_tile (%k) in @work iter_args(%g0 = %g) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%g1 = %g0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @go at %g1 mod 1
        tile.barrier.arrive @b2 by(thread)
        %g2 = tile.advance %g1 : !tile.cursor<1>
        scf.yield %g2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
  tile.role @hub warps(4) at(8) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = tile.cursor : !tile.cursor<1>
    %y = tile.cursor : !tile.cursor<1>
    %y_s = tile.advance %y : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%x0 = %x, %y0 = %y_s) -> (!tile.cursor<1>, !tile.cursor<1>) {
      %r:2 = scf.for %i = %c0 to %k step %c1 iter_args(%x1 = %x0, %y1 = %y0) -> (!tile.cursor<1>, !tile.cursor<1>) : i32 {
        tile.barrier.wait @b1 at %x1 mod 1
        tile.barrier.wait @b2 at %y1 mod 1
        tile.barrier.arrive @go by(thread)
        %x2 = tile.advance %x1 : !tile.cursor<1>
        %y2 = tile.advance %y1 : !tile.cursor<1>
        scf.yield %x2, %y2 : !tile.cursor<1>, !tile.cursor<1>
      }
      tile.yield %r#0, %r#1 : !tile.cursor<1>, !tile.cursor<1>
    }
  }
}

// -----

// (iii) Bytes arrive at one of them: their count would mix with the threads'.
#t = #fa4.target<"sm_100a">
!g = !tile.global<128xf32>
#s = #fa4.schedule<forward, tile = 128 x 128>
// CHECK-LABEL: @engine
// CHECK: barrier @b1 depth(1) count(128)
// CHECK: barrier @b2 depth(1) count(1)
tile.kernel @engine(%n: i32, %l: i32, %G: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) uses(%l : i32) -> (%k) facts(1 <= %k) {
    tile.yield %l : i32
  }
  tile.placed_alloc @m smem at 1024 stride 512
  tile.view @V of @m : 128xf32, #tile.smem<linear>
  tile.barrier @b1 depth(1) count(128) at 0
  tile.barrier @b2 depth(1) count(1) at 8
  tile.barrier @go depth(1) count(128) at 16
  tile.setup {
    tile.role_sync
  }
  tile.role @one warps(4) at(0) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %g = tile.cursor credit : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%g0 = %g) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%g1 = %g0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @go at %g1 mod 1
        tile.barrier.arrive @b1 by(thread)
        %g2 = tile.advance %g1 : !tile.cursor<1>
        scf.yield %g2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
  tile.role @two warps(1) at(4) one_lane regs(64) uses(%G : !g) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %g = tile.cursor credit : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%g0 = %g) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%g1 = %g0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @go at %g1 mod 1
        tile.barrier.expect @b2 bytes(512)
        tile.issue_load %G[%c0] to(@V) signals(@b2) : !g
        %g2 = tile.advance %g1 : !tile.cursor<1>
        scf.yield %g2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
  tile.role @hub warps(4) at(8) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = tile.cursor : !tile.cursor<1>
    %y = tile.cursor : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%x0 = %x, %y0 = %y) -> (!tile.cursor<1>, !tile.cursor<1>) {
      %r:2 = scf.for %i = %c0 to %k step %c1 iter_args(%x1 = %x0, %y1 = %y0) -> (!tile.cursor<1>, !tile.cursor<1>) : i32 {
        tile.barrier.wait @b1 at %x1 mod 1
        tile.barrier.wait @b2 at %y1 mod 1
        tile.barrier.arrive @go by(thread)
        %x2 = tile.advance %x1 : !tile.cursor<1>
        %y2 = tile.advance %y1 : !tile.cursor<1>
        scf.yield %x2, %y2 : !tile.cursor<1>, !tile.cursor<1>
      }
      tile.yield %r#0, %r#1 : !tile.cursor<1>, !tile.cursor<1>
    }
  }
}

// -----

// (iv) @two may arrive for the next trip as soon as @third has heard of it, before @hub has seen this one.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// CHECK-LABEL: @early
// CHECK: barrier @b1 depth(1) count(128)
// CHECK: barrier @b2 depth(1) count(128)
tile.kernel @early(%n: i32, %l: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) uses(%l : i32) -> (%k) facts(1 <= %k) {
    tile.yield %l : i32
  }
  tile.barrier @b1 depth(1) count(128) at 0
  tile.barrier @b2 depth(1) count(128) at 8
  tile.barrier @go depth(1) count(128) at 16
  tile.barrier @tell depth(1) count(128) at 24
  tile.barrier @on depth(1) count(128) at 32
  tile.setup {
    tile.role_sync
  }
  tile.role @one warps(4) at(0) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %g = tile.cursor credit : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%g0 = %g) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%g1 = %g0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @go at %g1 mod 1
        tile.barrier.arrive @b1 by(thread)
        %g2 = tile.advance %g1 : !tile.cursor<1>
        scf.yield %g2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
  tile.role @two warps(4) at(4) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %g = tile.cursor credit : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%g0 = %g) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%g1 = %g0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @on at %g1 mod 1
        tile.barrier.arrive @b2 by(thread)
        tile.barrier.arrive @tell by(thread)
        %g2 = tile.advance %g1 : !tile.cursor<1>
        scf.yield %g2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
  tile.role @hub warps(4) at(8) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = tile.cursor : !tile.cursor<1>
    %y = tile.cursor : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%x0 = %x, %y0 = %y) -> (!tile.cursor<1>, !tile.cursor<1>) {
      %r:2 = scf.for %i = %c0 to %k step %c1 iter_args(%x1 = %x0, %y1 = %y0) -> (!tile.cursor<1>, !tile.cursor<1>) : i32 {
        tile.barrier.wait @b2 at %y1 mod 1
        tile.barrier.wait @b1 at %x1 mod 1
        tile.barrier.arrive @go by(thread)
        %x2 = tile.advance %x1 : !tile.cursor<1>
        %y2 = tile.advance %y1 : !tile.cursor<1>
        scf.yield %x2, %y2 : !tile.cursor<1>, !tile.cursor<1>
      }
      tile.yield %r#0, %r#1 : !tile.cursor<1>, !tile.cursor<1>
    }
  }
  tile.role @third warps(4) at(12) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %q = tile.cursor : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%q0 = %q) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%q1 = %q0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @tell at %q1 mod 1
        tile.barrier.arrive @on by(thread)
        %q2 = tile.advance %q1 : !tile.cursor<1>
        scf.yield %q2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
}

// -----

// R4: one of them starts with credit: its releaser arrives once at its head instead.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// CHECK-LABEL: @credit
// CHECK: barrier @b1 depth(1) count(256)
// CHECK-NEXT: barrier @go
// CHECK: role @two
// CHECK-NEXT: barrier.arrive @b1 by(thread)
// CHECK: for_each_tile
// CHECK: role @hub
// CHECK-NOT: credit
// CHECK: barrier.wait @b1
// NO4-LABEL: @credit
// NO4: barrier @b2
// NO4: role @two
// NO4-NEXT: arith.constant
tile.kernel @credit(%n: i32, %l: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) uses(%l : i32) -> (%k) facts(1 <= %k) {
    tile.yield %l : i32
  }
  tile.barrier @b1 depth(1) count(128) at 0
  tile.barrier @b2 depth(1) count(128) at 8
  tile.barrier @go depth(1) count(128) at 16
  tile.setup {
    tile.role_sync
  }
  tile.role @one warps(4) at(0) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %g = tile.cursor credit : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%g0 = %g) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%g1 = %g0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @go at %g1 mod 1
        tile.barrier.arrive @b1 by(thread)
        %g2 = tile.advance %g1 : !tile.cursor<1>
        scf.yield %g2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
  tile.role @two warps(4) at(4) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %g = tile.cursor : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%g0 = %g) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%g1 = %g0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @go at %g1 mod 1
        tile.barrier.arrive @b2 by(thread)
        %g2 = tile.advance %g1 : !tile.cursor<1>
        scf.yield %g2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
  tile.role @hub warps(4) at(8) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = tile.cursor : !tile.cursor<1>
    %y = tile.cursor credit : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%x0 = %x, %y0 = %y) -> (!tile.cursor<1>, !tile.cursor<1>) {
      %r:2 = scf.for %i = %c0 to %k step %c1 iter_args(%x1 = %x0, %y1 = %y0) -> (!tile.cursor<1>, !tile.cursor<1>) : i32 {
        tile.barrier.wait @b1 at %x1 mod 1
        tile.barrier.wait @b2 at %y1 mod 1
        tile.barrier.arrive @go by(thread)
        %x2 = tile.advance %x1 : !tile.cursor<1>
        %y2 = tile.advance %y1 : !tile.cursor<1>
        scf.yield %x2, %y2 : !tile.cursor<1>, !tile.cursor<1>
      }
      tile.yield %r#0, %r#1 : !tile.cursor<1>, !tile.cursor<1>
    }
  }
}

// -----

// R4 for more than one credit would arrive early.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// CHECK-LABEL: @ring
// CHECK: barrier @b1 depth(2) count(128)
// CHECK: barrier @b2 depth(2) count(128)
tile.kernel @ring(%n: i32, %l: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) uses(%l : i32) -> (%k) facts(1 <= %k) {
    tile.yield %l : i32
  }
  tile.barrier @b1 depth(2) count(128) at 0
  tile.barrier @b2 depth(2) count(128) at 16
  tile.barrier @go depth(2) count(128) at 32
  tile.setup {
    tile.role_sync
  }
  tile.role @one warps(4) at(0) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %g = tile.cursor credit : !tile.cursor<2>
    tile.for_each_tile (%k) in @work iter_args(%g0 = %g) -> (!tile.cursor<2>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%g1 = %g0) -> (!tile.cursor<2>) : i32 {
        tile.barrier.wait @go at %g1 mod 2
        tile.barrier.arrive @b1 at %g1 mod 2 by(thread)
        %g2 = tile.advance %g1 : !tile.cursor<2>
        scf.yield %g2 : !tile.cursor<2>
      }
      tile.yield %r : !tile.cursor<2>
    }
  }
  tile.role @two warps(4) at(4) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %g = tile.cursor : !tile.cursor<2>
    tile.for_each_tile (%k) in @work iter_args(%g0 = %g) -> (!tile.cursor<2>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%g1 = %g0) -> (!tile.cursor<2>) : i32 {
        tile.barrier.wait @go at %g1 mod 2
        tile.barrier.arrive @b2 at %g1 mod 2 by(thread)
        %g2 = tile.advance %g1 : !tile.cursor<2>
        scf.yield %g2 : !tile.cursor<2>
      }
      tile.yield %r : !tile.cursor<2>
    }
  }
  tile.role @hub warps(4) at(8) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = tile.cursor : !tile.cursor<2>
    %y = tile.cursor credit : !tile.cursor<2>
    tile.for_each_tile (%k) in @work iter_args(%x0 = %x, %y0 = %y) -> (!tile.cursor<2>, !tile.cursor<2>) {
      %r:2 = scf.for %i = %c0 to %k step %c1 iter_args(%x1 = %x0, %y1 = %y0) -> (!tile.cursor<2>, !tile.cursor<2>) : i32 {
        tile.barrier.wait @b1 at %x1 mod 2
        tile.barrier.wait @b2 at %y1 mod 2
        tile.barrier.arrive @go at %x1 mod 2 by(thread)
        %x2 = tile.advance %x1 : !tile.cursor<2>
        %y2 = tile.advance %y1 : !tile.cursor<2>
        scf.yield %x2, %y2 : !tile.cursor<2>, !tile.cursor<2>
      }
      tile.yield %r#0, %r#1 : !tile.cursor<2>, !tile.cursor<2>
    }
  }
}
