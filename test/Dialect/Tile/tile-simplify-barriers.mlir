// RUN: fa4-opt %s --tile-simplify-barriers --split-input-file | FileCheck %s
// RUN: fa4-opt %s --tile-simplify-barriers=without=1,2,3,4,5 --split-input-file | FileCheck %s --check-prefix=NONE

// The rules on protocols that are no attention: one producer, one consumer, and what
// they say to each other.

// R1: that the slot is empty is said before @ack, which is waited for anyway. With the
// wait go the arrivals, the barrier and the cursor.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// CHECK-LABEL: @implied
// CHECK: barrier @full depth(1)
// CHECK-NOT: @empty
// CHECK: role @producer
// CHECK: cursor : !tile.cursor<1>
// CHECK-NOT: cursor credit
// CHECK: role @consumer
// CHECK: barrier.wait @full
// CHECK-NOT: @empty
// NONE-LABEL: @implied
// NONE: barrier @empty
// NONE: barrier.wait @empty
tile.kernel @implied(%n: i32, %l: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) uses(%l : i32) -> (%k) facts(1 <= %k) {
    tile.yield %l : i32
  }
  tile.barrier @full depth(1) count(128) at 0
  tile.barrier @empty depth(1) count(128) at 8
  tile.barrier @ack depth(1) count(128) at 16
  tile.setup {
    tile.role_sync
  }
  tile.role @producer warps(4) at(0) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %e = tile.cursor credit : !tile.cursor<1>
    %a = tile.cursor : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%e0 = %e, %a0 = %a) -> (!tile.cursor<1>, !tile.cursor<1>) {
      %r:2 = scf.for %i = %c0 to %k step %c1 iter_args(%e1 = %e0, %a1 = %a0) -> (!tile.cursor<1>, !tile.cursor<1>) : i32 {
        tile.barrier.wait @empty at %e1 mod 1
        tile.barrier.arrive @full by(thread)
        tile.barrier.wait @ack at %a1 mod 1
        %e2 = tile.advance %e1 : !tile.cursor<1>
        %a2 = tile.advance %a1 : !tile.cursor<1>
        scf.yield %e2, %a2 : !tile.cursor<1>, !tile.cursor<1>
      }
      tile.yield %r#0, %r#1 : !tile.cursor<1>, !tile.cursor<1>
    }
  }
  tile.role @consumer warps(4) at(4) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %f = tile.cursor : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%f0 = %f) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%f1 = %f0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @full at %f1 mod 1
        tile.barrier.arrive @empty by(thread)
        tile.barrier.arrive @ack by(thread)
        %f2 = tile.advance %f1 : !tile.cursor<1>
        scf.yield %f2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
}

// -----

// The other way round it is not implied: the slot is read after @ack.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
#lin = #tile.smem<linear>
!v = !tile.frag<128xf32, #tile.spread<rows>>
// CHECK-LABEL: @late
// CHECK: barrier @empty
// CHECK: barrier.wait @empty
tile.kernel @late(%n: i32, %l: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) uses(%l : i32) -> (%k) facts(1 <= %k) {
    tile.yield %l : i32
  }
  tile.placed_alloc @m smem at 1024 stride 512
  tile.view @V of @m : 128xf32, #lin
  tile.barrier @full depth(1) count(128) at 0
  tile.barrier @empty depth(1) count(128) at 8
  tile.barrier @ack depth(1) count(128) at 16
  tile.setup {
    tile.role_sync
  }
  tile.role @producer warps(4) at(0) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %z = arith.constant 0.0 : f32
    %x = tile.splat %z : f32 -> !v
    %e = tile.cursor credit : !tile.cursor<1>
    %a = tile.cursor : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%e0 = %e, %a0 = %a) -> (!tile.cursor<1>, !tile.cursor<1>) {
      %r:2 = scf.for %i = %c0 to %k step %c1 iter_args(%e1 = %e0, %a1 = %a0) -> (!tile.cursor<1>, !tile.cursor<1>) : i32 {
        tile.barrier.wait @empty at %e1 mod 1
        tile.write %x to @V : !v
        tile.barrier.arrive @full by(thread)
        tile.barrier.wait @ack at %a1 mod 1
        %e2 = tile.advance %e1 : !tile.cursor<1>
        %a2 = tile.advance %a1 : !tile.cursor<1>
        scf.yield %e2, %a2 : !tile.cursor<1>, !tile.cursor<1>
      }
      tile.yield %r#0, %r#1 : !tile.cursor<1>, !tile.cursor<1>
    }
  }
  tile.role @consumer warps(4) at(4) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %f = tile.cursor : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%f0 = %f) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%f1 = %f0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @full at %f1 mod 1
        tile.barrier.arrive @ack by(thread)
        %y = tile.read @V : !v
        tile.barrier.arrive @empty by(thread)
        %f2 = tile.advance %f1 : !tile.cursor<1>
        scf.yield %f2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
}

// -----

// Of two waits for what one arriver says the second goes, not both.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// CHECK-LABEL: @mutual
// CHECK: barrier @full
// CHECK-NEXT: barrier @empty
// CHECK-NOT: @other
// CHECK: barrier.wait @empty
// CHECK-NOT: @other
tile.kernel @mutual(%n: i32, %l: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) uses(%l : i32) -> (%k) facts(1 <= %k) {
    tile.yield %l : i32
  }
  tile.barrier @full depth(1) count(128) at 0
  tile.barrier @empty depth(1) count(128) at 8
  tile.barrier @other depth(1) count(4) at 16
  tile.setup {
    tile.role_sync
  }
  tile.role @producer warps(4) at(0) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %e = tile.cursor credit : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%e0 = %e) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%e1 = %e0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @empty at %e1 mod 1
        tile.barrier.wait @other at %e1 mod 1
        tile.barrier.arrive @full by(thread)
        %e2 = tile.advance %e1 : !tile.cursor<1>
        scf.yield %e2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
  tile.role @consumer warps(4) at(4) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %f = tile.cursor : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%f0 = %f) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%f1 = %f0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @full at %f1 mod 1
        tile.barrier.arrive @empty by(thread)
        tile.barrier.arrive @other by(warp)
        %f2 = tile.advance %f1 : !tile.cursor<1>
        scf.yield %f2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
}

// -----

// R2: nobody waits for what @news says in the first trip of a tile: the arrival says
// so, and the waiter counts the others.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// CHECK-LABEL: @first_trip
// CHECK: role @producer
// CHECK: scf.for %[[I:.*]] = %[[LB:.*]] to
// CHECK: %[[W:.*]] = arith.cmpi ne, %[[I]], %[[LB]]
// CHECK: barrier.arrive @news by(thread) when(%[[W]])
// CHECK: role @consumer
// CHECK: for_each_tile
// CHECK-NOT: advance
// CHECK: scf.for
// CHECK: barrier.wait @news
// CHECK-NEXT: advance
// NONE-LABEL: @first_trip
// NONE-NOT: when
tile.kernel @first_trip(%n: i32, %l: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) uses(%l : i32) -> (%k) facts(1 <= %k) {
    tile.yield %l : i32
  }
  tile.barrier @news depth(1) count(128) at 0
  tile.barrier @ack depth(1) count(128) at 8
  tile.setup {
    tile.role_sync
  }
  tile.role @producer warps(4) at(0) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a = tile.cursor credit : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%a0 = %a) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%a1 = %a0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @ack at %a1 mod 1
        tile.barrier.arrive @news by(thread)
        %a2 = tile.advance %a1 : !tile.cursor<1>
        scf.yield %a2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
  tile.role @consumer warps(4) at(4) regs(64) {
    %c1 = arith.constant 1 : i32
    %f = tile.cursor : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%f0 = %f) -> (!tile.cursor<1>) {
      tile.barrier.arrive @ack by(thread)
      %f1 = tile.advance %f0 : !tile.cursor<1>
      %r = scf.for %i = %c1 to %k step %c1 iter_args(%f2 = %f1) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @news at %f2 mod 1
        tile.barrier.arrive @ack by(thread)
        %f3 = tile.advance %f2 : !tile.cursor<1>
        scf.yield %f3 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
}

// -----

// R5: two barriers that speak in turn become one, on both sides.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// CHECK-LABEL: @in_turn
// CHECK: barrier @question depth(1) count(128)
// CHECK-NEXT: barrier @answer depth(1) count(128)
// CHECK-NOT: tile.barrier @
// CHECK: role @asker
// CHECK: scf.for
// CHECK: barrier.arrive @question
// CHECK-NEXT: barrier.wait @answer
// CHECK-NEXT: %[[A:.*]] = tile.advance
// CHECK-NEXT: barrier.arrive @question
// CHECK-NEXT: barrier.wait @answer at %[[A]]
// CHECK-NEXT: advance %[[A]]
// NONE-LABEL: @in_turn
// NONE: barrier @thanks
tile.kernel @in_turn(%n: i32, %l: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) uses(%l : i32) -> (%k) facts(1 <= %k) {
    tile.yield %l : i32
  }
  tile.barrier @question depth(1) count(128) at 0
  tile.barrier @answer depth(1) count(128) at 8
  tile.barrier @thanks depth(1) count(128) at 16
  tile.barrier @welcome depth(1) count(128) at 24
  tile.setup {
    tile.role_sync
  }
  tile.role @asker warps(4) at(0) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a = tile.cursor : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%a0 = %a) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%a1 = %a0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.arrive @question by(thread)
        tile.barrier.wait @answer at %a1 mod 1
        tile.barrier.arrive @thanks by(thread)
        tile.barrier.wait @welcome at %a1 mod 1
        %a2 = tile.advance %a1 : !tile.cursor<1>
        scf.yield %a2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
  tile.role @other warps(4) at(4) regs(64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a = tile.cursor : !tile.cursor<1>
    tile.for_each_tile (%k) in @work iter_args(%a0 = %a) -> (!tile.cursor<1>) {
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%a1 = %a0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @question at %a1 mod 1
        tile.barrier.arrive @answer by(thread)
        tile.barrier.wait @thanks at %a1 mod 1
        tile.barrier.arrive @welcome by(thread)
        %a2 = tile.advance %a1 : !tile.cursor<1>
        scf.yield %a2 : !tile.cursor<1>
      }
      tile.yield %r : !tile.cursor<1>
    }
  }
}
