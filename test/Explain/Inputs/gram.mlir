// S = sum over i of A(i) B(i)^T for tiles of 128 rows, in four roles: the smallest
// kernel in which each fault of docs/Explain.md can be planted by one edit. Two to four
// blocks to a tile: short proofs, and counterexamples in which something goes well first.

#rows  = #tile.spread<rows>
#kmaj  = #tile.smem<k_major, 128>
#lanes = #tile.tmem<lanes>

!S = !tile.frag<128x64xf32, #rows>
!T = !tile.frag<128x64xbf16, #rows>
!g = !tile.global<1x128x1x64xbf16>
!h = !tile.global<1x64x1x64xbf16>

#b200 = #fa4.target<"sm_100a">
#sch = #fa4.schedule<forward, tile = 128 x 64, stages = 1, ctas = 1,
  work = static_persistent<longest_first>,
  roles = [drain = {drain} warps 4 at 0 regs 64, mma = {mma} warps 1 at 4 regs 56,
           store = {store} warps 1 at 5 regs 56, load = {load} warps 1 at 6 regs 56]>

tile.kernel @gram(%A: !g, %B: !h, %O: !g, %nt: i32) target(#b200) schedule(#sch) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) facts(2 <= %n, %n <= 4) {
    %c2 = arith.constant 2 : i32
    %n = arith.addi %t, %c2 : i32
    tile.yield %n : i32
  }

  tile.placed_alloc @a_mem[2] smem at 0 stride 16384
  tile.placed_alloc @out_mem smem at 32768 stride 16384
  tile.placed_alloc @s_mem tmem at 0 stride 64

  tile.view @A of @a_mem : 128x64xbf16, #kmaj
  tile.view @B of @a_mem : 64x64xbf16, #kmaj
  tile.view @S of @s_mem : 128x64xf32, #lanes
  tile.view @Out of @out_mem : 128x64xbf16, #kmaj

  tile.barrier @ring.full depth(2) count(1) at 49152
  tile.barrier @ring.empty depth(2) count(1) at 49168
  tile.barrier @sum.full depth(1) count(1) at 49184
  tile.barrier @sum.empty depth(1) count(128) at 49192
  tile.barrier @out.full depth(1) count(128) at 49200
  tile.barrier @out.empty depth(1) count(1) at 49208
  tile.named_barrier @tmem_users ids(1 to 1) threads(160)

  tile.setup {
    tile.tmem.alloc 64 columns by @mma word at 49216
    tile.fence [init]
    tile.role_sync
  }

  tile.role @load warps(1) at(6) one_lane regs(56) uses(%A, %B : !g, !h) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r0 = tile.cursor credit : !tile.cursor<2>
    %re = tile.for_each_tile (%n) in @work iter_args(%r = %r0) -> (!tile.cursor<2>) {
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%a = %r) -> (!tile.cursor<2>) : i32 {
        tile.barrier.wait @ring.empty at %a mod 2
        tile.barrier.expect @ring.full at %a mod 2 bytes(16384)
        tile.issue_load %A[%c0, %i, %c0] to(@A at %a mod 2) signals(@ring.full at %a mod 2) : !g
        %b = tile.advance %a : !tile.cursor<2>
        tile.barrier.wait @ring.empty at %b mod 2
        tile.barrier.expect @ring.full at %b mod 2 bytes(8192)
        tile.issue_load %B[%c0, %i, %c0] to(@B at %b mod 2) signals(@ring.full at %b mod 2) : !h
        %next = tile.advance %b : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
      tile.yield %last : !tile.cursor<2>
    }
    // The tensor core's last arrivals land before the CTA may exit.
    tile.barrier.wait @ring.empty at %re mod 2
    %rf = tile.advance %re : !tile.cursor<2>
    tile.barrier.wait @ring.empty at %rf mod 2
  }

  tile.role @mma warps(1) at(4) one_lane regs(56) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r0 = tile.cursor : !tile.cursor<2>
    %s0 = tile.cursor : !tile.cursor<1>
    %re, %se = tile.for_each_tile (%n) in @work
        iter_args(%r = %r0, %s = %s0) -> (!tile.cursor<2>, !tile.cursor<1>) {
      tile.barrier.wait @sum.empty at %s mod 1
      tile.fence [after]
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%a = %r) -> (!tile.cursor<2>) : i32 {
        %first = arith.cmpi eq, %i, %c0 : i32
        tile.barrier.wait @ring.full at %a mod 2
        %b = tile.advance %a : !tile.cursor<2>
        tile.barrier.wait @ring.full at %b mod 2
        tile.issue_mma a(@A at %a mod 2) b(@B at %b mod 2) onto(@S) unless(%first)
        tile.barrier.commit @ring.empty at %a mod 2
        tile.barrier.commit @ring.empty at %b mod 2
        %next = tile.advance %b : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
      tile.barrier.commit @sum.full
      %s1 = tile.advance %s : !tile.cursor<1>
      tile.yield %last, %s1 : !tile.cursor<2>, !tile.cursor<1>
    }
  }

  tile.role @drain warps(4) at(0) regs(64) {
    // The sum may be written before anything was read.
    tile.barrier.arrive @sum.empty by(thread)
    %s0 = tile.cursor : !tile.cursor<1>
    %o0 = tile.cursor credit : !tile.cursor<1>
    %se, %oe = tile.for_each_tile (%n) in @work
        iter_args(%s = %s0, %o = %o0) -> (!tile.cursor<1>, !tile.cursor<1>) {
      tile.barrier.wait @sum.full at %s mod 1
      tile.fence [after]
      %x = tile.read @S : !S
      tile.fence [tmem_loads, before]
      tile.barrier.arrive @sum.empty by(thread)
      tile.barrier.wait @out.empty at %o mod 1
      %y = tile.cast %x : !S -> !T
      tile.write %y to @Out : !T
      tile.fence [proxy]
      tile.barrier.arrive @out.full by(thread)
      %s1 = tile.advance %s : !tile.cursor<1>
      %o1 = tile.advance %o : !tile.cursor<1>
      tile.yield %s1, %o1 : !tile.cursor<1>, !tile.cursor<1>
    }
    tile.fence [before]
    tile.named.sync @tmem_users
  }

  tile.role @store warps(1) at(5) one_lane regs(56) uses(%O : !g) {
    %c0 = arith.constant 0 : i32
    %o0 = tile.cursor : !tile.cursor<1>
    %oe = tile.for_each_tile (%n) in @work iter_args(%o = %o0) -> (!tile.cursor<1>) {
      tile.barrier.wait @out.full at %o mod 1
      tile.issue_store @Out to %O[%c0, %n, %c0] : !g
      tile.group.commit bulk
      tile.group.wait bulk 0 read
      tile.barrier.arrive @out.empty by(lane)
      %o1 = tile.advance %o : !tile.cursor<1>
      tile.yield %o1 : !tile.cursor<1>
    }
  }

  // The warp that allocated joins @tmem_users, then frees.
  tile.teardown {
    tile.tmem.free 64 columns by @mma after(@tmem_users)
  }
}
