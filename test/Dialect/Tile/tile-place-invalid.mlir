// RUN: fa4-opt %s --tile-place-tmem --tile-place-smem --tile-assign-registers --split-input-file --verify-diagnostics

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, stages = 1, ctas = 1, work = static_persistent<longest_first>,
  roles = [p = {x} warps 1 at 0, c = {y} warps 4 at 4]>
// expected-error@+1 {{expected allocations to take at most the target's 232448 bytes of shared memory, but got 262144}}
tile.kernel @ring(%nt: i32) target(#t) schedule(#s) {
  tile.work @w(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  // expected-note@+1 {{'@m' takes 262144}}
  tile.alloc @m[8] : smem 32768 bytes
  tile.view @K of @m : 128x128xbf16, #tile.smem<k_major, 128>
  // expected-note@+1 {{a depth of 7 instead of 8 would leave room}}
  tile.channel @kv depth(8) from(@p) to(@c) carries(@K)
  tile.role @p warps(1) {
  }
  tile.role @c warps(4) {
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, stages = 1, ctas = 1, work = static_persistent<longest_first>>
// expected-error@+2 {{expected allocations to take at most the target's 512 columns of tensor memory, but got 640}}
// expected-note@+1 {{smaller tiles, or fewer stages of the schedule, would}}
tile.kernel @columns(%nt: i32) target(#t) schedule(#s) {
  tile.work @w(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  // expected-note@+1 {{'@a' takes 384}}
  tile.alloc @a[3] : tmem 128 columns
  // expected-note@+1 {{'@b' takes 256}}
  tile.alloc @b[2] : tmem 128 columns
}

// -----

#t = #fa4.target<"sm_90a">
#s = #fa4.schedule<forward, tile = 64 x 128, stages = 1, ctas = 1, work = static_persistent<longest_first>>
tile.kernel @none(%nt: i32) target(#t) schedule(#s) {
  tile.work @w(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  // expected-error@+1 {{expected no tensor memory on a target that has none; give the value a home in registers}}
  tile.alloc @a : tmem 128 columns
}

// -----

// The verifier, not the solver: no place of the allocation can help this view.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, stages = 1, ctas = 1, work = static_persistent<longest_first>>
tile.kernel @offset(%nt: i32) target(#t) schedule(#s) {
  tile.work @w(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.alloc @m : smem 32768 bytes
  // expected-error@+1 {{expected each element of a view with this layout to start at a multiple of 1024 bytes, but got 512 plus multiples of 32768}}
  tile.view @V of @m at byte 512 : 64x64xbf16, #tile.smem<k_major, 128>
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, stages = 1, ctas = 1, work = static_persistent<longest_first>,
  roles = [a = {x} warps 4 at 0 regs 64]>
tile.kernel @unknown(%nt: i32) target(#t) schedule(#s) {
  tile.work @w(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  // expected-error@+1 {{expected the schedule to say where a role's warps are, but it has no role 'b'}}
  tile.role @b warps(4) {
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, stages = 1, ctas = 1, work = static_persistent<longest_first>,
  roles = [a = {x} warps 4 x 2 at 0 regs 64]>
tile.kernel @warps(%nt: i32) target(#t) schedule(#s) {
  tile.work @w(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  // expected-error@+1 {{expected the schedule's 4 x 2 warps, but got 4 x 1}}
  tile.role @a warps(4) {
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, stages = 1, ctas = 1, work = static_persistent<longest_first>,
  roles = [a = {x} warps 4 x 2 at 0 regs 248, b = {y} warps 4 at 8]>
// expected-error@+1 {{expected the schedule to leave at least 24 registers to each thread of roles without `regs`, but got 16; give the other roles fewer}}
tile.kernel @greedy(%nt: i32) target(#t) schedule(#s) {
  tile.work @w(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.role @a warps(4) replicas(2) index(%r) {
  }
  tile.role @b warps(4) {
  }
}

// -----

// The idle warps of the last warpgroup count.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, stages = 1, ctas = 1, work = static_persistent<longest_first>,
  roles = [a = {x} warps 4 x 2 at 0 regs 200, b = {y} warps 4 at 8 regs 72, c = {z} warps 1 at 12 regs 56]>
tile.kernel @idle(%nt: i32) target(#t) schedule(#s) {
  tile.work @w(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.role @a warps(4) replicas(2) index(%r) {
  }
  tile.role @b warps(4) {
  }
  // expected-error@+1 {{expected the roles up to this one to take at most 65536 registers, but got 67584}}
  tile.role @c warps(1) {
  }
}
