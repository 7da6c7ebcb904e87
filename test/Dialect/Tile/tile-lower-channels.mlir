// RUN: fa4-opt %s --tile-lower-channels --tile-lower-async --split-input-file | FileCheck %s

// Rings, products, threads: who arrives follows from what a token's end names.

#rows  = #tile.spread<rows>
#kmaj  = #tile.smem<k_major, 128>
#lanes = #tile.tmem<lanes>
!S = !tile.frag<128x64xf32, #rows>
!g = !tile.global<1x64x1x64xbf16>
!gq = !tile.global<1x128x1x64xbf16>

#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 64, stages = 1>

// CHECK-LABEL: tile.kernel @products
// CHECK: tile.barrier @q.full depth(1) count(1) at 81920
// CHECK: tile.barrier @q.empty depth(1) count(1) at 81928
// CHECK: tile.barrier @k.full depth(2) count(1) at 81936
// CHECK: tile.barrier @k.empty depth(2) count(1) at 81952
// CHECK: tile.barrier @s.full depth(1) count(1) at 81968
// CHECK: tile.barrier @s.empty depth(1) count(4) at 81976
// CHECK: tile.named_barrier @tmem_users ids(2 to 2) threads(160)
// CHECK: tile.setup {
// CHECK-NEXT: tile.tmem.alloc 64 columns by @mma word at 81984
// CHECK-NEXT: tile.role_sync
// CHECK: tile.role @load warps(1) at(5) one_lane
// CHECK: %[[K:.*]] = tile.cursor credit : !tile.cursor<2>
// CHECK: tile.for_each_tile {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[IN:.*]] = %[[K]])
// CHECK: tile.barrier.wait @q.empty
// One announcement for both loads of the slot.
// CHECK: tile.barrier.expect @q.full bytes(32768)
// CHECK-NEXT: tile.issue_load {{.*}} to(@Qa) signals(@q.full)
// CHECK-NEXT: tile.issue_load {{.*}} to(@Qb) signals(@q.full)
// CHECK: scf.for {{.*}} iter_args(%[[SLOT:.*]] = %[[IN]])
// CHECK: tile.barrier.wait @k.empty at %[[SLOT]] mod 2
// CHECK: tile.issue_load {{.*}} to(@K at %[[SLOT]] mod 2) signals(@k.full at %[[SLOT]] mod 2)
// Everything released: one wait per slot.
// CHECK-COUNT-2: tile.barrier.wait @k.empty
// CHECK: tile.barrier.wait @q.empty
// CHECK: tile.role @mma warps(1) at(4) one_lane
// CHECK: %[[A:.*]] = tile.cursor : !tile.cursor<1>
// CHECK: scf.for
// CHECK: tile.issue_mma a(@Qa) b(@K at %[[B:.*]] mod 2) into(@S)
// Right behind its product, though the next wait stands between.
// CHECK-NEXT: tile.barrier.commit @s.full
// CHECK-NEXT: tile.barrier.commit @k.empty at %[[B]] mod 2
// CHECK: tile.barrier.commit @q.empty
// CHECK: tile.role @softmax
// CHECK: tile.barrier.wait @s.full
// CHECK: tile.read @S
// CHECK: tile.barrier.arrive @s.empty by(warp)
// CHECK: tile.named.sync @tmem_users
// CHECK: tile.teardown
// CHECK-NEXT: tile.tmem.free 64 columns by @mma after(@tmem_users)
// CHECK-NOT: tile.channel
tile.kernel @products(%Q: !gq, %K: !g, %nt: i32) target(#b200) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%q0, %n) facts(1 <= %n) {
    %c4 = arith.constant 4 : i32
    tile.yield %t, %c4 : i32, i32
  }
  tile.placed_alloc @q_mem smem at 0 stride 32768
  tile.placed_alloc @k_mem[2] smem at 32768 stride 24576
  tile.placed_alloc @s_mem tmem at 0 stride 64
  tile.view @Qa of @q_mem : 128x64xbf16, #kmaj
  tile.view @Qb of @q_mem at byte 16384 : 128x64xbf16, #kmaj
  tile.view @K of @k_mem : 64x64xbf16, #kmaj
  tile.view @S of @s_mem : 128x64xf32, #lanes
  tile.channel @q depth(1) from(@load) to(@mma) carries(@Qa, @Qb)
  tile.channel @k depth(2) from(@load) to(@mma) carries(@K)
  tile.channel @s depth(1) from(@mma) to(@softmax) carries(@S) empty(warp)
  tile.role @load warps(1) at(5) regs(56) uses(%Q, %K : !gq, !g) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    tile.for_each_tile (%q0, %n) in @work {
      %t = tile.acquire @q
      %a = tile.async_load %Q[%c0, %q0] to %t as @Qa : !gq
      %b = tile.async_load %Q[%c0, %q0] to %t as @Qb : !gq
      tile.commit %t after(%a, %b)
      scf.for %i = %c0 to %n step %c1 : i32 {
        %u = tile.acquire @k
        %e = tile.async_load %K[%c0, %i] to %u as @K : !g
        tile.commit %u after(%e)
      }
    }
    tile.settle @k
    tile.settle @q
  }
  tile.role @mma warps(1) at(4) regs(56) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    tile.for_each_tile (%q0, %n) in @work {
      %q = tile.wait @q
      scf.for %i = %c0 to %n step %c1 : i32 {
        %k = tile.wait @k
        %s = tile.acquire @s
        %e = tile.async_mma a(%q as @Qa) b(%k as @K) into(%s as @S)
        tile.commit %s after(%e)
        tile.release %k after(%e)
      }
      tile.release %q after(all)
    }
  }
  tile.role @softmax warps(4) at(0) regs(192) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    tile.for_each_tile (%q0, %n) in @work {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %t = tile.wait @s
        %s = tile.read %t as @S : !S
        tile.release %t
      }
    }
  }
}

// -----

// Stores are counted in groups. All warps wrote what one lane's engine reads, and
// that lane has waited before any of them writes it again.

#rows  = #tile.spread<rows>
#kmaj  = #tile.smem<k_major, 128>
!T = !tile.frag<128x64xbf16, #rows>
!gq = !tile.global<1x128x1x64xbf16>
#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 64, stages = 1>

// CHECK-LABEL: tile.kernel @stores
// CHECK: tile.role @work_and_store warps(4)
// CHECK: tile.for_each_tile
// CHECK-NEXT: tile.role_sync
// CHECK-NEXT: tile.write {{.*}} to @Out[0]
// CHECK-NEXT: tile.role_sync
// CHECK-NEXT: tile.issue_store @Out[0]
// CHECK-NEXT: tile.group.commit bulk
// CHECK-NEXT: tile.write {{.*}} to @Out[1]
// CHECK-NEXT: tile.role_sync
// CHECK-NEXT: tile.issue_store @Out[1]
// CHECK-NEXT: tile.group.commit bulk
// CHECK-NEXT: tile.group.wait bulk 1 read
// CHECK-NEXT: tile.group.wait bulk 0 read
// CHECK-NEXT: }
tile.kernel @stores(%O: !gq, %c: bf16, %nt: i32) target(#b200) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%q0) {
    tile.yield %t : i32
  }
  tile.placed_alloc @o_mem[2] smem at 0 stride 16384
  tile.view @Out of @o_mem : 128x64xbf16, #kmaj
  tile.role @work_and_store warps(4) at(0) regs(192) uses(%O, %c : !gq, bf16) {
    %c0 = arith.constant 0 : i32
    %x = tile.splat %c : bf16 -> !T
    tile.for_each_tile (%q0) in @work {
      tile.write %x to @Out[0] : !T
      %a = tile.async_store @Out[0] to %O[%c0, %q0] : !gq
      tile.write %x to @Out[1] : !T
      %b = tile.async_store @Out[1] to %O[%c0, %q0] : !gq
      tile.await %a
      tile.await %b
    }
  }
}

// -----

// Only what every path closes is left open: a loop may have no trip. What nothing
// awaits is waited for once, at the end of its loop. Equal accesses of equal warps
// need no meeting.

#rows  = #tile.spread<rows>
#kmaj  = #tile.smem<k_major, 128>
!T = !tile.frag<128x64xbf16, #rows>
!gq = !tile.global<1x128x1x64xbf16>
#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 64, stages = 1>

// CHECK-LABEL: tile.kernel @paths
// CHECK: tile.issue_store @Out[0]
// CHECK-NEXT: tile.group.commit bulk
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile.issue_store @Out[1]
// CHECK-NEXT: tile.group.commit bulk
// CHECK-NEXT: tile.issue_store add @Out[1]
// CHECK-NEXT: tile.group.commit bulk
// CHECK-NEXT: tile.group.wait bulk 0 read
// CHECK-NEXT: }
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.issue_store @Out[1]
// CHECK-NEXT: tile.group.commit bulk
// CHECK-NEXT: tile.group.wait bulk 0 read
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.issue_store @Out[1]
// CHECK-NEXT: tile.group.commit bulk
// CHECK-NEXT: }
// CHECK-NEXT: tile.group.wait bulk 1 read
// CHECK-NEXT: tile.group.wait bulk 0 read
// CHECK-NEXT: }
// CHECK-LABEL: tile.role @alike
// CHECK-NOT: tile.role_sync
// CHECK-LABEL: tile.role @columns
// CHECK: tile.write {{.*}} to @Out[0]
// CHECK-NEXT: tile.role_sync
// CHECK-NEXT: tile.read @Turned[0]
tile.kernel @paths(%O: !gq, %c: bf16, %some: i1, %nt: i32) target(#b200) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%q0, %n) {
    tile.yield %t, %t : i32, i32
  }
  tile.placed_alloc @o_mem[2] smem at 0 stride 16384
  tile.view @Out of @o_mem : 128x64xbf16, #kmaj
  tile.view @Turned of @o_mem : 128x64xbf16, #tile.smem<mn_major, 128>
  tile.role @store warps(1) at(4) regs(24) uses(%O, %some : !gq, i1) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    tile.for_each_tile (%q0, %n) in @work {
      %a = tile.async_store @Out[0] to %O[%c0, %q0] : !gq
      scf.for %i = %c0 to %n step %c1 : i32 {
        %b = tile.async_store @Out[1] to %O[%c0, %i] : !gq
        %d = tile.async_store add @Out[1] to %O[%c0, %i] : !gq
      }
      scf.if %some {
        %b = tile.async_store @Out[1] to %O[%c0, %q0] : !gq
        tile.await %b
      } else {
        %b = tile.async_store @Out[1] to %O[%c0, %q0] : !gq
      }
      tile.await %a
    }
  }
  tile.role @alike warps(4) at(0) regs(192) uses(%c : bf16) {
    %x = tile.splat %c : bf16 -> !T
    tile.for_each_tile (%q0, %n) in @work {
      tile.write %x to @Out[0] : !T
      %y = tile.read @Out[0] : !T
      tile.write %y to @Out[0] : !T
    }
  }
  tile.role @columns warps(4) at(8) regs(24) uses(%c : bf16) {
    %x = tile.splat %c : bf16 -> !T
    tile.for_each_tile (%q0, %n) in @work {
      tile.write %x to @Out[0] : !T
      %y = tile.read @Turned[0] : !T
    }
  }
}

// -----

// Slots that are full at the start: their arrivals stand at the head, by the replica
// that owns them, and its cursor is as many slots further.

#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 64, stages = 1>

// CHECK-LABEL: tile.kernel @turns
// CHECK: tile.barrier @ring.full depth(3) count(1)
// CHECK: tile.named_barrier @turn.full[2] ids(2 to 3) threads(256)
// CHECK: tile.barrier @turn.empty[2] depth(1) count(128)
// CHECK: tile.role @player warps(4) replicas(2) index(%[[R:.*]]) at(0)
// CHECK: %[[CREDIT:.*]] = tile.cursor credit : !tile.cursor<1>
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: %[[OWNS:.*]] = arith.cmpi eq, %[[R]], %[[ONE]]
// CHECK: %[[LATER:.*]] = tile.advance %[[CREDIT]]
// CHECK: %[[START:.*]] = arith.select %[[OWNS]], %[[LATER]], %[[CREDIT]] : !tile.cursor<1>
// CHECK: %[[NEXT:.*]] = arith.subi
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[R]]
// CHECK: tile.named.arrive @turn.full[%[[NEXT]]] when(%[[FIRST]])
// CHECK: tile.for_each_tile {{.*}} iter_args(%[[AT:.*]] = %[[START]])
// CHECK: tile.named.sync @turn.full[%[[R]]]
// CHECK-NEXT: tile.barrier.arrive @turn.empty[%[[R]]] by(thread)
// CHECK-NEXT: tile.barrier.wait @turn.empty[%[[NEXT]]] at %[[AT]] mod 1
// CHECK: tile.named.arrive @turn.full[%[[NEXT]]]
// CHECK: tile.role @filler
// CHECK: %[[C:.*]] = tile.cursor credit : !tile.cursor<3>
// CHECK: %[[C1:.*]] = tile.advance %[[C]]
// CHECK: %[[C2:.*]] = tile.advance %[[C1]]
// CHECK: %[[S0:.*]] = tile.cursor : !tile.cursor<3>
// CHECK: tile.barrier.arrive @ring.full at %[[S0]] mod 3 by(lane)
// CHECK: %[[S1:.*]] = tile.advance %[[S0]]
// CHECK: tile.barrier.arrive @ring.full at %[[S1]] mod 3 by(lane)
// CHECK: tile.for_each_tile {{.*}} iter_args(%{{.*}} = %[[C2]])
tile.kernel @turns(%nt: i32) target(#b200) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%q0) {
    tile.yield %t : i32
  }
  tile.channel @ring depth(3) from(@filler) to(@reader) full(lane) empty(lane) starts(2)
  tile.channel @turn[2] depth(1) from(@player previous) to(@player each) full(named) starts(1, 0)
  tile.role @player warps(4) replicas(2) index(%r) at(0) regs(64) {
    %c1 = arith.constant 1 : i32
    %next = arith.subi %c1, %r : i32
    tile.for_each_tile (%q0) in @work {
      %w = tile.wait @turn[%r]
      tile.release %w
      %t = tile.acquire @turn[%next]
      tile.commit %t
    }
  }
  tile.role @filler warps(1) at(8) regs(24) {
    tile.for_each_tile (%q0) in @work {
      %t = tile.acquire @ring
      tile.commit %t
    }
  }
  tile.role @reader warps(1) at(9) regs(24) {
    tile.for_each_tile (%q0) in @work {
      %t = tile.wait @ring
      tile.release %t
    }
  }
}

// -----

// A pair: barriers are where those run who wait. Loads of both CTAs signal the
// leader, which announces all bytes; its commits go to both; warps of both arrive.

#rows  = #tile.spread<rows>
#kmaj  = #tile.smem<k_major, 128>
#lanes = #tile.tmem<lanes>
!S = !tile.frag<128x128xf32, #rows>
!gq = !tile.global<1x128x1x64xbf16>
!gk = !tile.global<1x64x1x64xbf16>
#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1, ctas = 2>

// CHECK-LABEL: tile.kernel @pair
// CHECK: tile.barrier @q.full depth(1) count(1)
// CHECK: tile.barrier @q.empty depth(1) count(1)
// CHECK: tile.barrier @s.full depth(1) count(1)
// CHECK: tile.barrier @s.empty depth(1) count(8)
// CHECK: tile.setup
// CHECK: tile.cluster_sync
// CHECK: tile.role @load
// CHECK: tile.barrier.expect @q.full bytes(49152) on leader
// CHECK-NEXT: tile.issue_load {{.*}} to(@Q) signals(@q.full) on leader
// CHECK-NEXT: tile.issue_load {{.*}} to(@K) signals(@q.full) on leader
// CHECK: tile.role @mma
// CHECK: tile.issue_mma
// CHECK-NEXT: tile.barrier.commit @s.full on both
// CHECK-NEXT: tile.barrier.commit @q.empty on both
// CHECK: tile.role @softmax
// CHECK: tile.barrier.arrive @s.empty by(warp) on leader
tile.kernel @pair(%Q: !gq, %K: !gk, %nt: i32) target(#b200) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%q0) {
    tile.yield %t : i32
  }
  tile.placed_alloc @q_mem smem at 0 stride 24576
  tile.placed_alloc @s_mem tmem at 0 stride 128
  tile.view @Q of @q_mem : 128x64xbf16, #kmaj
  tile.view @K of @q_mem at byte 16384 : 64x64xbf16, #kmaj
  tile.view @S of @s_mem : 128x128xf32, #lanes
  tile.channel @q depth(1) from(@load) to(@mma) carries(@Q, @K)
  tile.channel @s depth(1) from(@mma) to(@softmax) carries(@S) empty(warp)
  tile.role @load warps(1) at(4) ctas(both) regs(24) uses(%Q, %K : !gq, !gk) {
    %c0 = arith.constant 0 : i32
    tile.for_each_tile (%q0) in @work {
      %t = tile.acquire @q
      %a = tile.async_load %Q[%c0, %q0] to %t as @Q : !gq
      %b = tile.async_load %K[%c0, %q0] to %t as @K : !gk
      tile.commit %t after(%a, %b)
    }
  }
  tile.role @mma warps(1) at(5) ctas(leader) regs(24) {
    tile.for_each_tile (%q0) in @work {
      %q = tile.wait @q
      %s = tile.acquire @s
      %e = tile.async_mma a(%q as @Q) b(%q as @K) into(%s as @S)
      tile.commit %s after(%e)
      tile.release %q after(%e)
    }
  }
  tile.role @softmax warps(4) at(0) ctas(both) regs(64) {
    tile.for_each_tile (%q0) in @work {
      %t = tile.wait @s
      %s = tile.read %t as @S : !S
      tile.release %t
    }
  }
}
