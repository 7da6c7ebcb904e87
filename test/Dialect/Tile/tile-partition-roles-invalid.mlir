// RUN: fa4-opt %s --pass-pipeline="builtin.module(tile.kernel(tile-partition-roles))" --split-input-file --verify-diagnostics

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {one} warps 4 at 0]>
tile.kernel @no_role(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    // expected-error @+1 {{expected a role of the schedule to list step 'two', but got none}}
    tile.inlined_step @two {
    }
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, stages = 2, roles = [a = {one} warps 4 x 2 at 0]>
tile.kernel @no_replica(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    // expected-error @+1 {{expected a step of role 'a' to have the number of one of its 2 replicas as index, but got 'one[2]'}}
    tile.inlined_step @one[2] {
    }
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {one} warps 4 at 0]>
tile.def @one(%i: i32) {
}
tile.kernel @not_inlined(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    // expected-error @+1 {{expected steps to be inlined; run tile-assign-memory first}}
    tile.step @one(%n) : (i32) -> ()
  }
}

// -----

// A tile that crosses without a channel.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {one} warps 4 at 0, b = {two} warps 4 at 4]>
!row = !tile.frag<128xf32>
!g = !tile.global<128xf32>
tile.kernel @crosses(%nt: i32, %g: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    // expected-note @+1 {{another role computes it here}}
    %x = tile.inlined_step @one -> (!row) {
      %y = tile.load %g[%n] : !g -> !row
      tile.yield %y : !row
    }
    tile.inlined_step @two {
      // expected-error @+1 {{expected what crosses roles to go through a channel, but got a value that role 'b' does not compute}}
      tile.store %x to %g[%n] : !row, !g
    }
  }
}

// -----

// Rule W: a trip count that a role reads for itself.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {one} warps 4 at 0, b = {two} warps 4 at 4]>
!gn = !tile.global<1xi32>
tile.kernel @own_count(%nt: i32, %counts: !gn) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.channel @c depth(1) from(@a) to(@b)
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tile.for_each_tile (%n) in @work {
    // expected-note @+1 {{it is computed here}}
    %m = tile.fetch %counts[%n] : !gn -> i32
    // expected-error @+1 {{expected what decides about channel ops to be computed from the tile's scalars and the trip, so that all roles count alike, but got}}
    scf.for %i = %c0 to %m step %c1 : i32 {
      tile.inlined_step @one {
        %t = tile.acquire @c
        tile.commit %t
      }
      tile.inlined_step @two {
        %t = tile.wait @c
        tile.release %t
      }
    }
  }
}

// -----

// Rule W: a condition that the trips before have computed.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {one} warps 4 at 0, b = {two} warps 4 at 4]>
tile.kernel @own_condition(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.channel @c depth(1) from(@a) to(@b)
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tile.for_each_tile (%n) in @work {
    // expected-note @+1 {{it is computed here}}
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%count = %c0) -> (i32) : i32 {
      %few = arith.cmpi slt, %count, %n : i32
      // expected-error @+1 {{expected what decides about channel ops to be computed from the tile's scalars and the trip}}
      tile.inlined_step @one unless(%few) passing() {
        %t = tile.acquire @c
        tile.commit %t
      }
      tile.inlined_step @two {
        %t = tile.wait @c
        tile.release %t
      }
      %more = arith.addi %count, %i : i32
      scf.yield %more : i32
    }
  }
}

// -----

// Tiles in a role of one warp.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {one} warps 1 at 0]>
!row = !tile.frag<128xf32>
!g = !tile.global<128xf32>
tile.kernel @too_few(%nt: i32, %g: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    tile.inlined_step @one {
      // expected-error @+1 {{expected role 'a' to have a thread for each of 128 rows, that is 4 warps, but got 1; give the step to another role, or the role more warps}}
      %y = tile.load %g[%n] : !g -> !row
      tile.store %y to %g[%n] : !row, !g
    }
  }
}

// -----

// A product that nothing keeps, and operands that lie nowhere.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {one} warps 4 at 0]>
!T = !tile.frag<128x128xbf16>
!S = !tile.frag<128x128xf32>
!g = !tile.global<128x128xbf16>
!o = !tile.global<128x128xf32>
tile.kernel @no_home(%nt: i32, %g: !g, %o: !o) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    tile.inlined_step @one {
      %x = tile.load %g[%n] : !g -> !T
      // expected-error @+1 {{expected a product to be kept in a view, but got a use of its value}}
      %y = tile.mma a(%x) b(%x) : (!T, !T) -> !S
      tile.store %y to %o[%n] : !S, !o
    }
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {one} warps 4 at 0, b = {two} warps 4 at 4]>
!T = !tile.frag<128x128xbf16>
!S = !tile.frag<128x128xf32>
!g = !tile.global<128x128xbf16>
!o = !tile.global<128x128xf32>
tile.kernel @fragments(%nt: i32, %g: !g, %o: !o) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.alloc @m : tmem 128 columns
  tile.view @S of @m : 128x128xf32, #tile.tmem<lanes>
  tile.channel @c depth(1) from(@a) to(@b) carries(@S)
  tile.for_each_tile (%n) in @work {
    %s = tile.inlined_step @one -> (!S) {
      %t = tile.acquire @c
      %x = tile.load %g[%n] : !g -> !T
      // expected-error @+1 {{expected operand 'a' of a product to be used from a view, but got a fragment}}
      %y = tile.mma a(%x) b(%x) : (!T, !T) -> !S
      %k = tile.keep %y in %t as @S : !S
      tile.commit %t
      tile.yield %k : !S
    }
    tile.inlined_step @two {
      %t = tile.wait @c
      %u = tile.use %s from %t as @S : !S
      tile.release %t
      tile.store %u to %o[%n] : !S, !o
    }
  }
}

// -----

// Replicas that differ in what they do.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, stages = 2, roles = [a = {one} warps 4 x 2 at 0]>
!row = !tile.frag<128xf32>
!g = !tile.global<128xf32>
tile.kernel @differ(%nt: i32, %g: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    tile.inlined_step @one[0] {
      %y = tile.load %g[%n] : !g -> !row
      // expected-error @+1 {{expected the replicas of role 'a' to do the same, but got 'tile.store' in replica 0 and 'tile.map' in replica 1; give their steps to roles of their own}}
      tile.store %y to %g[%n] : !row, !g
    }
    tile.inlined_step @one[1] {
      %y = tile.load %g[%n] : !g -> !row
      // expected-note @+1 {{replica 1 differs here}}
      %z = tile.map (%e = %y) : (!row) -> !row {
        %f = arith.addf %e, %e : f32
        tile.yield %f : f32
      }
      tile.store %z to %g[%n] : !row, !g
    }
  }
}

// -----

// A replica that takes the element of another.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, stages = 2, roles = [a = {one} warps 4 x 2 at 0, b = {two} warps 4 at 8]>
tile.kernel @wrong_element(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.channel @c[2] depth(1) from(@a each) to(@b)
  tile.for_each_tile (%n) in @work {
    tile.inlined_step @one[0] {
      %t = tile.acquire @c[0]
      tile.commit %t
    }
    tile.inlined_step @one[1] {
      // expected-error @+1 {{expected replica 1 of role 'a' to take the element of its number, as its end is tied, but got another}}
      %t = tile.acquire @c[0]
      tile.commit %t
    }
    tile.inlined_step @two {
      %t = tile.wait @c[0]
      tile.release %t
    }
  }
}

// -----

// An op between steps that two roles could run.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {one} warps 4 at 0, b = {two} warps 4 at 8]>
tile.kernel @two_ends(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.channel @c depth(1) from(@a, @b) to(@b)
  tile.for_each_tile (%n) in @work {
    // expected-error @+1 {{expected an op between steps to be at an end with one role, but got 2 roles; put it into the step that it serves}}
    %t = tile.acquire @c
    tile.commit %t
  }
}

// -----

// The leader computes for both CTAs: nothing in it may depend on which one it is.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, ctas = 2, roles = [a = {one} warps 4 at 0 ctas leader]>
!g = !tile.global<1x1x128xf32>
tile.kernel @pair(%L: !g, %nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    // expected-error @+1 {{expected a role that asks which CTA it runs in to run in both, but got 'a'; let the schedule give its steps to a role with ctas both}}
    %rank = tile.cta_rank : i32
    tile.inlined_step @one {
      %one = arith.constant 1.0 : f32
      %row = tile.splat %one : f32 -> !tile.frag<128xf32>
      tile.store %row to %L[%n, %n, %rank] : !tile.frag<128xf32>, !g
    }
  }
}
