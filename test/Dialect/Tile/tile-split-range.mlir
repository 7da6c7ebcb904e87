// RUN: fa4-opt %s --split-input-file --pass-pipeline="builtin.module(tile.kernel(tile-split-range),tile-verify-t1)" | FileCheck %s
// A second run changes nothing.
// RUN: fa4-opt %s --split-input-file --pass-pipeline="builtin.module(tile.kernel(tile-split-range))" -o %t.once
// RUN: fa4-opt %s --split-input-file --pass-pipeline="builtin.module(tile.kernel(tile-split-range,tile-split-range))" -o %t.twice
// RUN: diff %t.once %t.twice

// Masked blocks first, then those that no mask touches. 1 <= %ne <= %n: no clamping.
// CHECK-LABEL: tile.kernel @causal
// CHECK: tile.for_each_tile (%[[N:[a-z]+]], %[[NE:[a-z]+]]) in @work
// CHECK-NEXT: %[[M:.*]] = scf.for %[[I:arg[0-9]+]] = %c0_i32 to %[[NE]] step %c1_i32 iter_args(%[[A:arg[0-9]+]] = %{{.*}})
// CHECK-NOT: scf.if
// CHECK: %[[Y:.*]] = tile.mask %[[A]] block(%c0_i32, %[[I]])
// CHECK-NEXT: scf.yield %[[Y]]
// CHECK: scf.for %{{.*}} = %[[NE]] to %[[N]] step %c1_i32 iter_args(%[[B:arg[0-9]+]] = %[[M]])
// CHECK-NEXT: scf.yield %[[B]]
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
!S = !tile.frag<128x128xf32, #tile.spread<rows>>
!g = !tile.global<128x128xf32>
tile.kernel @causal(%nt: i32, %g: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n, %ne) facts(1 <= %n, 1 <= %ne, %ne <= %n) {
    tile.yield %t, %t : i32, i32
  }
  tile.role @softmax warps(4) uses(%g : !g) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %s = tile.splat %zero : f32 -> !S
    tile.for_each_tile (%n, %ne) in @work {
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %s) -> (!S) : i32 {
        %edge = arith.cmpi slt, %i, %ne : i32
        %x = scf.if %edge -> (!S) {
          %y = tile.mask %a block(%c0, %i) [#attn.causal] extents(%n, %n) : !S
          scf.yield %y : !S
        } else {
          scf.yield %a : !S
        }
        scf.yield %x : !S
      }
      tile.store %r to %g[%n] : !S, !g
    }
  }
}

// -----

// A window has a second bound: three loops, the outer two masked. The tests are of
// i - 1, whatever side they are written on.
// CHECK-LABEL: tile.kernel @window
// CHECK: tile.for_each_tile (%[[N:[a-z]+]], %[[NE:[a-z]+]], %[[NL:[a-z]+]]) in @work
// CHECK-NEXT: %[[M:.*]] = arith.addi %[[N]], %c1_i32
// CHECK-NEXT: %[[E:.*]] = arith.addi %[[NE]], %c1_i32
// CHECK-NEXT: %{{.*}} = scf.for %{{.*}} = %c1_i32 to %[[E]] step %c1_i32
// CHECK-NEXT: %{{.*}} = tile.mask
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: %[[L:.*]] = arith.addi %[[NL]], %c1_i32
// CHECK-NEXT: %{{.*}} = scf.for %{{.*}} = %[[E]] to %[[L]] step %c1_i32
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: %{{.*}} = scf.for %{{.*}} = %[[L]] to %[[M]] step %c1_i32
// CHECK-NEXT: tile.mask
// CHECK-NOT: scf.for
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
!S = !tile.frag<128x128xf32, #tile.spread<rows>>
!g = !tile.global<128x128xf32>
tile.kernel @window(%nt: i32, %g: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n, %ne, %nl) facts(1 <= %n, 1 <= %nl, %nl <= %n, 1 <= %ne, %ne <= %nl) {
    tile.yield %t, %t, %t : i32, i32, i32
  }
  tile.role @softmax warps(4) uses(%g : !g) {
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %s = tile.splat %zero : f32 -> !S
    tile.for_each_tile (%n, %ne, %nl) in @work {
      %m = arith.addi %n, %c1 : i32
      %r = scf.for %i = %c1 to %m step %c1 iter_args(%a = %s) -> (!S) : i32 {
        %b = arith.subi %i, %c1 : i32
        %edge = arith.cmpi sgt, %ne, %b : i32
        %left = arith.cmpi sle, %nl, %b : i32
        %any = arith.ori %edge, %left : i1
        %x = scf.if %any -> (!S) {
          %y = tile.mask %a block(%i, %i) [#attn.causal] extents(%n, %n) : !S
          scf.yield %y : !S
        } else {
          scf.yield %a : !S
        }
        scf.yield %x : !S
      }
      tile.store %r to %g[%n] : !S, !g
    }
  }
}

// -----

// The first trip stands in front, since the facts promise one.
// CHECK-LABEL: tile.kernel @first
// CHECK: tile.for_each_tile (%[[N:[a-z]+]]) in @work
// CHECK-NEXT: %[[T:.*]] = tile.wait @c
// CHECK-NEXT: tile.release %[[T]]
// CHECK-NEXT: scf.for %{{.*}} = %c1_i32 to %[[N]] step %c1_i32
// CHECK-NEXT: tile.wait @c
// CHECK-NEXT: tile.read
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.release
// CHECK-NEXT: }
// CHECK-NEXT: }
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
!row = !tile.frag<128xf32, #tile.spread<rows>>
!g = !tile.global<128xf32>
tile.kernel @first(%nt: i32, %g: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) facts(1 <= %n) {
    tile.yield %t : i32
  }
  tile.alloc @m : smem 512 bytes
  tile.view @V of @m : 128xf32, #tile.smem<linear>
  tile.channel @c depth(1) from(@a) to(@b) carries(@V)
  tile.role @a warps(4) {
    %zero = arith.constant 0.0 : f32
    %s = tile.splat %zero : f32 -> !row
    %t = tile.acquire @c
    tile.write %s to %t as @V : !row
    tile.commit %t
  }
  tile.role @b warps(4) uses(%g : !g) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    tile.for_each_tile (%n) in @work {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %first = arith.cmpi eq, %i, %c0 : i32
        %t = tile.wait @c
        scf.if %first {
        } else {
          %x = tile.read %t as @V : !row
          tile.store %x to %g[%i] : !row, !g
        }
        tile.release %t
      }
    }
  }
}

// -----

// Without facts every part may be empty, and every number may lie outside.
// CHECK-LABEL: tile.kernel @no_facts
// CHECK: %[[FILL:.*]] = tile.splat
// CHECK: tile.for_each_tile (%[[N:[a-z]+]], %[[P:[a-z]+]]) in @work
// CHECK-NEXT: %[[END:.*]] = arith.minsi %[[P]], %[[N]]
// CHECK-NEXT: %[[START:.*]] = arith.maxsi %[[P]], %c0_i32
// CHECK-NEXT: scf.for %{{.*}} = %c0_i32 to %[[END]] step %c1_i32
// CHECK: tile.store
// CHECK: scf.for %{{.*}} = %[[START]] to %[[N]] step %c1_i32
// CHECK-NEXT: tile.store %[[FILL]] to %{{.*}}[%[[N]]]
// CHECK-NEXT: }
// A part without an op is not written.
// CHECK-NEXT: %[[ONE:.*]] = arith.minsi %c1_i32, %[[N]]
// CHECK-NEXT: scf.for %{{.*}} = %c0_i32 to %[[ONE]] step %c1_i32
// CHECK-NEXT: tile.store
// CHECK-NEXT: }
// CHECK-NEXT: }
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
!row = !tile.frag<128xf32, #tile.spread<rows>>
!g = !tile.global<128xf32>
tile.kernel @no_facts(%nt: i32, %g: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n, %p) {
    tile.yield %t, %t : i32, i32
  }
  tile.role @a warps(4) uses(%g : !g) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %s = tile.splat %zero : f32 -> !row
    tile.for_each_tile (%n, %p) in @work {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %before = arith.cmpi slt, %i, %p : i32
        scf.if %before {
          tile.store %s to %g[%i] : !row, !g
        } else {
          tile.store %s to %g[%n] : !row, !g
        }
      }
      scf.for %i = %c0 to %n step %c1 : i32 {
        %later = arith.cmpi ne, %i, %c0 : i32
        scf.if %later {
        } else {
          tile.store %s to %g[%i] : !row, !g
        }
      }
    }
  }
}

// -----

// The last trip; and a number that the facts put behind the loop cuts nothing.
// CHECK-LABEL: tile.kernel @last
// CHECK: tile.for_each_tile (%[[N:[a-z]+]], %[[P:[a-z]+]]) in @work
// CHECK-NEXT: %[[LAST:.*]] = arith.subi %[[N]], %c1_i32
// CHECK-NEXT: scf.for %[[I:arg[0-9]+]] = %c0_i32 to %[[LAST]] step %c1_i32
// CHECK-NEXT: tile.store %{{.*}} to %{{.*}}[%[[I]]]
// CHECK-NEXT: }
// CHECK-NEXT: tile.store %{{.*}} to %{{.*}}[%[[LAST]]]
// CHECK-NEXT: tile.store %{{.*}} to %{{.*}}[%c0_i32]
// CHECK-NEXT: }
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
!row = !tile.frag<128xf32, #tile.spread<rows>>
!g = !tile.global<128xf32>
tile.kernel @last(%nt: i32, %g: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n, %p) facts(1 <= %p, 1 <= %n, %n <= %p) {
    tile.yield %t, %t : i32, i32
  }
  tile.role @a warps(4) uses(%g : !g) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %s = tile.splat %zero : f32 -> !row
    tile.for_each_tile (%n, %p) in @work {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %next = arith.addi %i, %c1 : i32
        %last = arith.cmpi eq, %next, %n : i32
        %behind = arith.cmpi sge, %i, %p : i32
        scf.if %behind {
          tile.store %s to %g[%n] : !row, !g
        }
        tile.store %s to %g[%i] : !row, !g
        scf.if %last {
          tile.store %s to %g[%c0] : !row, !g
        }
      }
    }
  }
}

// -----

// What no range decides stays: another trip, an unsigned order, a stride.
// CHECK-LABEL: tile.kernel @stays
// CHECK-COUNT-3: scf.if
// CHECK-NOT: scf.if
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
!row = !tile.frag<128xf32, #tile.spread<rows>>
!g = !tile.global<128xf32>
tile.kernel @stays(%nt: i32, %g: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n, %p) facts(1 <= %n) {
    tile.yield %t, %t : i32, i32
  }
  tile.role @a warps(4) uses(%g : !g) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %zero = arith.constant 0.0 : f32
    %s = tile.splat %zero : f32 -> !row
    tile.for_each_tile (%n, %p) in @work {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %other = arith.cmpi eq, %i, %p : i32
        scf.if %other {
          tile.store %s to %g[%i] : !row, !g
        }
        %unsigned = arith.cmpi ult, %i, %p : i32
        scf.if %unsigned {
          tile.store %s to %g[%i] : !row, !g
        }
      }
      scf.for %i = %c0 to %n step %c2 : i32 {
        %before = arith.cmpi slt, %i, %p : i32
        scf.if %before {
          tile.store %s to %g[%i] : !row, !g
        }
      }
    }
  }
}

// -----

// A token that the first trip does not have goes with it, and a product that starts
// from zero there overwrites: in the trips behind it adds.
// CHECK-LABEL: tile.kernel @first_product
// CHECK: tile.role @a
// CHECK: tile.for_each_tile (%[[N:[a-z]+]]) in @work
// CHECK-NEXT: %[[T0:.*]] = tile.acquire @s
// CHECK-NEXT: %[[W0:.*]] = tile.wait @k
// CHECK-NEXT: tile.async_mma a(%[[W0]] as @K) b(%[[W0]] as @K) into(%[[T0]] as @S){{$}}
// CHECK-NEXT: tile.commit %[[T0]]
// CHECK-NEXT: %[[HELD:.*]] = scf.for %{{.*}} = %c1_i32 to %[[N]] step %c1_i32 iter_args(%[[PREV:.*]] = %[[W0]])
// CHECK-NEXT: tile.release %[[PREV]]
// CHECK-NEXT: %[[T:.*]] = tile.acquire @s
// CHECK-NEXT: %[[W:.*]] = tile.wait @k
// CHECK-NEXT: tile.async_mma a(%[[W]] as @K) b(%[[W]] as @K) onto(%[[T]] as @S){{$}}
// CHECK: scf.yield %[[W]]
// CHECK: tile.release %[[HELD]]
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @first_product(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) facts(1 <= %n) {
    tile.yield %t : i32
  }
  tile.alloc @sm : tmem 128 columns
  tile.view @S of @sm : 128x128xf32, #tile.tmem<lanes>
  tile.alloc @km[2] : smem 32768 bytes
  tile.view @K of @km : 128x128xbf16, #tile.smem<k_major, 128>
  tile.channel @s depth(1) from(@a) to(@b) carries(@S)
  tile.channel @k depth(2) from(@b) to(@a) carries(@K)
  tile.role @a warps(1) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    tile.for_each_tile (%n) in @work {
      %none = tile.no_token
      %held = scf.for %i = %c0 to %n step %c1 iter_args(%prev = %none) -> (!tile.token<read>) : i32 {
        tile.release %prev
        %first = arith.cmpi eq, %i, %c0 : i32
        %t = tile.acquire @s
        %w = tile.wait @k
        %e = tile.async_mma a(%w as @K) b(%w as @K) onto(%t as @S) unless(%first)
        tile.commit %t after(%e)
        scf.yield %w : !tile.token<read>
      }
      tile.release %held after(all)
    }
  }
  tile.role @b warps(4) {
    %t = tile.acquire @k
    tile.commit %t
    %u = tile.wait @s
    tile.release %u
  }
}

// -----

// Nothing keeps %ne from below: lowered to %nl it may be negative, and then the loop's
// second part starts below its first.
// CHECK-LABEL: tile.kernel @unbounded_split
// CHECK: tile.for_each_tile (%[[N:[a-z]+]], %[[NE:[a-z]+]], %[[NL:[a-z]+]]) in @work
// CHECK-NEXT: %[[START:.*]] = arith.maxsi %[[NE]], %c0_i32
// CHECK: scf.for %{{.*}} = %c0_i32 to %[[NE]] step
// CHECK: scf.for %{{.*}} = %[[START]] to %[[N]] step
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
!row = !tile.frag<128xf32, #tile.spread<rows>>
!g = !tile.global<128xf32>
tile.kernel @unbounded_split(%nt: i32, %g: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n, %ne, %nl) facts(1 <= %n, %ne <= %n, %ne <= %nl) {
    tile.yield %t, %t, %t : i32, i32, i32
  }
  tile.role @a warps(4) uses(%g : !g) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %s = tile.splat %zero : f32 -> !row
    tile.for_each_tile (%n, %ne, %nl) in @work {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %before = arith.cmpi slt, %i, %ne : i32
        scf.if %before {
          tile.store %s to %g[%i] : !row, !g
        } else {
          tile.store %s to %g[%n] : !row, !g
        }
      }
    }
  }
}
