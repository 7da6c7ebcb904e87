// RUN: fa4-opt %s --convert-tile-to-nvvm --split-input-file --verify-diagnostics

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
// expected-error @+1 {{expected a role, but got none}}
tile.kernel @nobody(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1, work = dynamic>
tile.kernel @dynamic(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.role @load warps(1) at(0) regs(24) {
    // expected-error @+1 {{expected a role's tile loop to hold one tile.next_tile, as the work is dynamic, but got 0; tile-draw-tiles puts it there}}
    tile.for_each_tile (%i) in @work {
    }
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1, ctas = 2>
tile.kernel @pair(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  // expected-error @+1 {{expected a role of a pair, as ctas = 2 in the schedule, but got ctas(single)}}
  tile.role @load warps(1) at(0) regs(24) {
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
tile.kernel @single(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  // expected-error @+1 {{expected a role of single CTAs, as ctas = 1 in the schedule, but got ctas(both)}}
  tile.role @load warps(1) at(0) ctas(both) regs(24) {
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1, ctas = 2>
// expected-error @+1 {{expected set-up to fence [init] and then to meet, so that all warps see the barriers, but got no cluster_sync}}
tile.kernel @alone(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.barrier @full depth(1) count(1) at 0
  tile.setup {
    tile.fence [init]
    tile.role_sync
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
tile.kernel @t1(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  // expected-error @+1 {{expected a kernel at T2, which tile-verify-t2 accepts, but got an op of another phase}}
  tile.role @load warps(1) {
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
// expected-error @+1 {{expected set-up to fence [init] and then to meet, so that all warps see the barriers, but got no fence}}
tile.kernel @unseen(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.barrier @full depth(1) count(1) at 0
  tile.setup {
    tile.role_sync
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
tile.kernel @budgets(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  // expected-note @+1 {{the other role is here}}
  tile.role @a warps(1) at(0) regs(56) {
  }
  // expected-error @+1 {{expected roles that share a warpgroup to have equal registers, but got 64 and 56}}
  tile.role @b warps(1) at(1) regs(64) {
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
// expected-error @+1 {{expected roles and idle warps of their warpgroups to take at most 65536 registers, but got 67584}}
tile.kernel @registers(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.role @a warps(4) at(0) regs(240) {
  }
  tile.role @b warps(1) at(4) regs(240) {
  }
  tile.role @c warps(1) at(8) regs(48) {
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
// expected-error @+1 {{expected named barriers and meetings of roles to need at most 16 barriers, but got 17}}
tile.kernel @meetings(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.named_barrier @n[14] ids(1 to 14) threads(64)
  tile.role @a warps(4) replicas(2) index(%r) at(0) regs(128) {
    tile.role_sync
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
!g = !tile.global<1x128x1x120xbf16>
tile.kernel @ragged(%A: !g, %nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.placed_alloc @m smem at 0 stride 32768
  tile.view @A of @m : 128x120xbf16, #tile.smem<k_major, 128>
  tile.role @store warps(1) at(0) one_lane regs(56) uses(%A : !g) {
    // expected-error @+1 {{expected rows of a tensor copy to be a multiple of 128 bytes, but got 240}}
    tile.issue_store @A to %A[] : !g
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
!g = !tile.global<1x512xf32>
tile.kernel @wide(%A: !g, %nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.placed_alloc @m smem at 0 stride 2048
  tile.view @A of @m : 512xf32, #tile.smem<linear>
  tile.role @store warps(1) at(0) one_lane regs(56) uses(%A : !g) {
    // expected-error @+1 {{expected a box of a tensor copy to have at most 256 elements per dimension, but got 512}}
    tile.issue_store @A to %A[] : !g
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
!g = !tile.global<128x1xf32>
tile.kernel @strided(%A: !g, %nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.placed_alloc @m smem at 0 stride 2048
  tile.view @A of @m : 128xf32, #tile.smem<linear>
  tile.role @store warps(1) at(0) one_lane regs(56) uses(%A : !g) {
    // expected-error @+1 {{expected the tensor's innermost dimension to be the tile's in a tensor copy, but got '!tile.global<128x1xf32>'; transpose the tensor}}
    tile.issue_store @A to %A[] : !g
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
!f = !tile.frag<128x128xf32, #tile.spread<rows2>>
tile.kernel @shared(%x: f32, %nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.role @a warps(4) at(0) regs(128) uses(%x : f32) {
    // expected-error @+1 {{expected tiles to be spread by rows, by columns if they are one row, or as fragments in groups of eight columns, but got '!tile.frag<128x128xf32, #tile.spread<rows2>>'}}
    %f = tile.splat %x : f32 -> !f
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
!f = !tile.frag<64x128xf32, #tile.spread<rows>>
tile.kernel @threads(%x: f32, %nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.role @a warps(4) at(0) regs(128) uses(%x : f32) {
    // expected-error @+1 {{expected a tile to have the 128 rows that its role's threads hold, but got '!tile.frag<64x128xf32, #tile.spread<rows>>'}}
    %f = tile.splat %x : f32 -> !f
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
tile.kernel @columns(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.placed_alloc @m smem at 0 stride 65536
  tile.placed_alloc @d tmem at 0 stride 512
  tile.view @A of @m : 128x64xbf16, #tile.smem<k_major, 128>
  tile.view @B of @m : 512x64xbf16, #tile.smem<k_major, 128>
  tile.view @D of @d : 128x512xf32, #tile.tmem<lanes>
  tile.role @mma warps(1) at(0) one_lane regs(56) {
    // expected-error @+1 {{expected the accumulator to have a multiple of 16 columns and at most 256, but got 512}}
    tile.issue_mma a(@A) b(@B) into(@D)
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
tile.kernel @types(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.placed_alloc @m smem at 0 stride 65536
  tile.placed_alloc @d tmem at 0 stride 128
  tile.view @A of @m : 128x64xf32, #tile.smem<k_major, 128>
  tile.view @D of @d : 128x128xf32, #tile.tmem<lanes>
  tile.role @mma warps(1) at(0) one_lane regs(56) {
    // expected-error @+1 {{expected 'a' to be f16, bf16, f8E4M3FN or f8E5M2, but got 'f32'}}
    tile.issue_mma a(@A) b(@A) into(@D)
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
tile.kernel @groups(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.role @a warps(4) at(0) regs(128) {
    // expected-error @+1 {{expected bulk groups, but got wgmma}}
    tile.group.commit wgmma
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 64 x 128, stages = 1>
!f = !tile.frag<64x128xf32, #tile.spread<acc>>
tile.kernel @halves(%x: f32, %nt: i32) target(#fa4.target<"sm_90a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.role @a warps(8) at(0) regs(128) uses(%x : f32) {
    // expected-error @+1 {{expected fragments in a role of a whole warpgroup, but got 8 warps}}
    %f = tile.splat %x : f32 -> !f
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 64 x 128, stages = 1>
!f = !tile.frag<32x128xf32, #tile.spread<acc>>
tile.kernel @short(%x: f32, %nt: i32) target(#fa4.target<"sm_90a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.role @a warps(4) at(0) regs(128) uses(%x : f32) {
    // expected-error @+1 {{expected a tile to have the 64 rows that its role's threads hold, but got '!tile.frag<32x128xf32, #tile.spread<acc>>'}}
    %f = tile.splat %x : f32 -> !f
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 64 x 128, stages = 1>
!a = !tile.frag<64x64xbf16, #tile.spread<a16>>
!f = !tile.frag<64x64xf32, #tile.spread<acc>>
tile.kernel @crossing(%x: bf16, %nt: i32) target(#fa4.target<"sm_90a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.placed_alloc @m smem at 0 stride 8192
  tile.view @V of @m : 64x64xbf16, #tile.smem<mn_major, 128>
  tile.role @a warps(4) at(2) regs(128) uses(%x : bf16) {
    %a = tile.splat %x : bf16 -> !a
    // expected-error @+1 {{expected a product on fragments in a role of one whole warpgroup, but got 4 warps at 2}}
    %f = tile.issue_mma a(%a) b(@V) : (!a) -> !f
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 64 x 128, stages = 1>
!a = !tile.frag<64x64xbf16, #tile.spread<acc>>
!f = !tile.frag<64x64xf32, #tile.spread<acc>>
tile.kernel @unpacked(%x: bf16, %nt: i32) target(#fa4.target<"sm_90a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.placed_alloc @m smem at 0 stride 8192
  tile.view @V of @m : 64x64xbf16, #tile.smem<mn_major, 128>
  tile.role @a warps(4) at(0) regs(128) uses(%x : bf16) {
    %a = tile.splat %x : bf16 -> !a
    // expected-error @+1 {{expected 'a' in registers to be f16 or bf16, spread by a16, but got '!tile.frag<64x64xbf16, #tile.spread<acc>>'}}
    %f = tile.issue_mma a(%a) b(@V) : (!a) -> !f
  }
}

// -----

// A view that does not exist, in a kernel that nobody verified.
#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
tile.kernel @no_view(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%b) { tile.yield %t : i32 }
  tile.role @a warps(4) at(0) regs(128) {
    // expected-error @+1 {{expected a view of the kernel, but got '@X'}}
    %x = tile.read @X : !tile.frag<128x64xf32, #tile.spread<rows>>
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
tile.kernel @no_barrier(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%b) { tile.yield %t : i32 }
  tile.role @a warps(1) at(0) regs(128) {
    // expected-error @+1 {{expected a barrier of the kernel, but got '@work'}}
    tile.named.sync @work
  }
}
