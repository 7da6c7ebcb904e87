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
  // expected-error@below {{expected the producer of slots that are full at the start to acquire some, but got none in '@x'}}
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

// -----

// wgmma signals no barrier.
#kmaj = #tile.smem<k_major, 128>
!S = !tile.frag<64x64xf32, #tile.spread<acc>>
#h200 = #fa4.target<"sm_90a">
#plan = #fa4.schedule<forward, tile = 64 x 64, stages = 1>

tile.kernel @unawaited(%nt: i32) target(#h200) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%q0) {
    tile.yield %t : i32
  }
  tile.placed_alloc @q_mem smem at 0 stride 8192
  tile.view @Q of @q_mem : 64x64xbf16, #kmaj
  tile.channel @q depth(1) from(@load) to(@mma) carries(@Q)
  tile.role @load warps(1) at(0) regs(24) {
  }
  tile.role @mma warps(4) at(4) regs(240) {
    tile.for_each_tile (%q0) in @work {
      %q = tile.wait @q
      %e = tile.async_mma a(%q as @Q) b(%q as @Q) : !tile.async<!S>
      // expected-error@below {{expected products of this target to be awaited before their slot is handed over, but got one after them}}
      tile.release %q after(all)
      %s = tile.await %e : !S
    }
  }
}

// -----

// A named barrier does not reach the peer.
#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 64, stages = 1>

tile.kernel @across(%nt: i32) target(#b200) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%q0) {
    tile.yield %t : i32
  }
  // expected-error@below {{expected a named barrier to join roles of one CTA, but got '@y' of a pair's leader}}
  tile.channel @c depth(1) from(@x) to(@y) full(named)
  tile.role @x warps(4) at(0) ctas(both) regs(24) {
    %t = tile.acquire @c
    tile.commit %t
  }
  tile.role @y warps(4) at(4) ctas(leader) regs(24) {
  }
}

// -----

// An element that only a loop knows has no cursor at the head.
#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 64, stages = 1>

tile.kernel @moving(%nt: i32) target(#b200) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%q0) {
    tile.yield %t : i32
  }
  tile.channel @c[2] depth(1) from(@x) to(@y)
  tile.role @x warps(1) at(0) regs(24) {
    tile.for_each_tile (%q0) in @work {
      // expected-error@below {{expected an element of '@c' to be known at the head of the role, but got one of a loop}}
      %t = tile.acquire @c[%q0]
      tile.commit %t
    }
  }
  tile.role @y warps(1) at(1) regs(24) {
  }
}
