// RUN: fa4-opt %s --tile-lower-channels --tile-lower-async --split-input-file --verify-diagnostics

#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 64, stages = 1>

tile.kernel @unplaced(%nt: i32) target(#b200) schedule(#plan) { // expected-error {{expected memory to be placed before channels are lowered, but got 'tile.alloc'}}
  tile.work @work(%t) tiles(%nt : i32) -> (%q0) {
    tile.yield %t : i32
  }
  tile.alloc @m : smem 1024 bytes
  tile.role @a warps(1) at(0) regs(24) {
  }
}

// -----

#rows = #tile.spread<rows>
#lin = #tile.smem<linear>
!row = !tile.frag<128xf32, #rows>
#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 64, stages = 1>

// Two slots have two phases, a named barrier one.
tile.kernel @named(%c: f32, %nt: i32) target(#b200) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%q0) {
    tile.yield %t : i32
  }
  tile.placed_alloc @m[2] smem at 0 stride 512
  tile.view @A of @m : 128xf32, #lin
  // expected-error@below {{expected depth 1 of a channel by named barrier, but got 2}}
  tile.channel @a depth(2) from(@x) to(@y) carries(@A) full(named_per_warp)
  tile.role @x warps(4) at(0) regs(24) uses(%c : f32) {
    %v = tile.splat %c : f32 -> !row
    tile.for_each_tile (%q0) in @work {
      %t = tile.acquire @a
      tile.write %v to %t as @A : !row
      tile.commit %t
    }
  }
  tile.role @y warps(4) at(4) regs(24) {
    tile.for_each_tile (%q0) in @work {
      %t = tile.wait @a
      tile.release %t
    }
  }
}

// -----

#rows = #tile.spread<rows>
#lin = #tile.smem<linear>
!row = !tile.frag<128xf32, #rows>
#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 64, stages = 1>

tile.kernel @uneven(%c: f32, %nt: i32) target(#b200) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%q0) {
    tile.yield %t : i32
  }
  tile.placed_alloc @m smem at 0 stride 512
  tile.view @A of @m : 128xf32, #lin
  // expected-error@below {{expected as many warps at both ends of a named barrier per warp, but got 4 and 8}}
  tile.channel @a depth(1) from(@x) to(@y) carries(@A) full(named_per_warp)
  tile.role @x warps(4) at(0) regs(24) uses(%c : f32) {
    %v = tile.splat %c : f32 -> !row
    tile.for_each_tile (%q0) in @work {
      %t = tile.acquire @a
      tile.write %v to %t as @A : !row
      tile.commit %t
    }
  }
  tile.role @y warps(8) at(4) regs(24) {
    tile.for_each_tile (%q0) in @work {
      %t = tile.wait @a
      tile.release %t
    }
  }
}

// -----

#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 64, stages = 1>

tile.kernel @full(%nt: i32) target(#b200) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%q0) {
    tile.yield %t : i32
  }
  // expected-error@below {{expected a channel to start empty, but got 'starts'}}
  tile.channel @turn depth(1) from(@x) to(@y) starts(1)
  tile.role @x warps(1) at(0) regs(24) {
  }
  tile.role @y warps(1) at(1) regs(24) {
  }
}

// -----

#kmaj = #tile.smem<k_major, 128>
!gq = !tile.global<1x128x1x64xbf16>
#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 64, stages = 1>

// Completion that travels cannot be counted.
tile.kernel @travels(%O: !gq, %nt: i32) target(#b200) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%q0, %n) facts(1 <= %n) {
    tile.yield %t, %t : i32, i32
  }
  tile.placed_alloc @o_mem smem at 0 stride 16384
  tile.view @Out of @o_mem : 128x64xbf16, #kmaj
  tile.role @store warps(1) at(0) regs(24) uses(%O : !gq) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    tile.for_each_tile (%q0, %n) in @work {
      // expected-error@below {{expected the completion of a store to be awaited only, but got another use}}
      %a = tile.async_store @Out to %O[%c0, %q0] : !gq
      // expected-note@below {{the use is here}}
      %b = scf.for %i = %c0 to %n step %c1 iter_args(%last = %a) -> (!tile.async) : i32 {
        scf.yield %last : !tile.async
      }
    }
  }
}

// -----

#rows = #tile.spread<rows>
#lin = #tile.smem<linear>
#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 64, stages = 1>

// expected-note@below {{take fewer slots in the schedule's rings}}
tile.kernel @too_large(%nt: i32) target(#b200) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%q0) {
    tile.yield %t : i32
  }
  tile.placed_alloc @m smem at 0 stride 232448
  // expected-error@below {{expected tiles and barriers to fit into the 232448 bytes of shared memory of a CTA on sm_100a, but got 232464}}
  tile.channel @a depth(1) from(@x) to(@y)
  tile.role @x warps(1) at(0) regs(24) {
  }
  tile.role @y warps(1) at(1) regs(24) {
  }
}
