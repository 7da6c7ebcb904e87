// RUN: fa4-opt %s --tile-verify-t2 --verify-roundtrip

// The forward kernel of forward-sm100-pair-t1.mlir placed, lowered to barriers,
// simplified and fenced. A half lives with its waiter: at the leader when the products
// wait, where both CTAs arrive, else in each CTA, where the leader's commits arrive on
// both. The pair meets before it allocates, before it frees, and so before it ends.

#rows  = #tile.spread<rows>
#kmaj  = #tile.smem<k_major, 128>
#mnmaj = #tile.smem<mn_major, 128>
#lin   = #tile.smem<linear>
#lanes = #tile.tmem<lanes>

!T   = !tile.frag<128x128xbf16, #rows>
!S   = !tile.frag<128x128xf32, #rows>
!row = !tile.frag<128xf32, #rows>
!Sa  = !tile.frag<128x96xf32, #rows>
!Sb  = !tile.frag<128x32xf32, #rows>
!Pa  = !tile.frag<128x96xbf16, #rows>
!Pb  = !tile.frag<128x32xbf16, #rows>
!gk  = !tile.global<1x64x1x128xbf16>
!gv  = !tile.global<1x128x1x64xbf16>
!g   = !tile.global<1x128x1x128xbf16>
!gl  = !tile.global<1x1x128xf32>

#b200 = #fa4.target<"sm_100a">
#fwd = #fa4.schedule<forward, tile = 128 x 128, stages = 2, ctas = 2,
  work = static_persistent<longest_first>,
  order = [load_v at 1, softmax[0] at 1, rescale[0] at 1, pv[0] at 1, load_k at 0, qk[0] at 0,
           softmax[1] at 1, rescale[1] at 1, pv[1] at 1, qk[1] at 0],
  homes = [load_q = smem @q_mem as q, load_k = smem @kv_mem x 6 as k, load_v = smem @kv_mem x 6 as v, qk = tmem @sp_mem as s,
           softmax.0 = tmem @sp_mem column 64 as pa, softmax.1 = tmem @sp_mem column 112 as pb,
           softmax.2 = smem @stat_mem as alpha, pv = tmem @o_mem as o, finish.0 = smem @out_mem as out],
  roles = [softmax = {softmax} warps 4 x 2 at 0 regs 192 ctas both, correction = {rescale, finish} warps 4 at 8 regs 72 ctas both,
           mma = {qk, pv} warps 1 at 12 regs 56 ctas leader, store = {store} warps 1 at 13 regs 56 ctas both,
           load = {load_q, load_k, load_v} warps 1 at 14 regs 56 ctas both],
  split_p = [96, 32], rescale_log2_threshold = 8.0,
  exp2 = <degree 3, of 16 columns the last 4, chunks 1 to 2>,
  grain = [pb.full = warp], via = [alpha.full = named per_warp],
  early_acquire = [alpha], stagger = [alpha]>
#emu = #tile.exp2_share<degree = 3, period = 16, last = 4, first_chunk = 1, last_chunk = 2>

tile.kernel @fwd(%Q: !g, %K: !gk, %V: !gv, %O: !g, %L: !gl, %c: f32, %sq: i32, %sk: i32,
                 %hq: i32, %group: i32, %nb: i32, %nt: i32) target(#b200) schedule(#fwd) {
  // Q tiles of two stages, longest first. j0: the highest KV block that a row of the
  // tile sees, -1 if none; n blocks down from it, of which the first ne need the mask.
  tile.work @work(%t) tiles(%nt : i32) uses(%sq, %sk, %hq, %group, %nb : i32, i32, i32, i32, i32)
      -> (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) facts(1 <= %n, 1 <= %ne, %ne <= %n) {
    %m1 = arith.constant -1 : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c128 = arith.constant 128 : i32
    %c512 = arith.constant 512 : i32
    %pairs = arith.ceildivsi %sq, %c512 : i32
    %hb = arith.muli %hq, %nb : i32
    %rank = arith.divsi %t, %hb : i32
    %rest = arith.remsi %t, %hb : i32
    %last = arith.subi %pairs, %c1 : i32
    %m = arith.subi %last, %rank : i32
    %b = arith.divsi %rest, %hq : i32
    %h = arith.remsi %rest, %hq : i32
    %kvh = arith.divsi %h, %group : i32
    %q0 = arith.muli %m, %c2 : i32
    %q1 = arith.addi %q0, %c1 : i32
    %shift = arith.subi %sk, %sq : i32
    %row0 = arith.muli %m, %c512 : i32
    %end = arith.addi %row0, %c512 : i32
    %stop = arith.minsi %end, %sq : i32
    %low = arith.subi %stop, %c1 : i32
    %seen = arith.addi %low, %shift : i32
    %bound = arith.subi %sk, %c1 : i32
    %top = arith.minsi %seen, %bound : i32
    %hi = arith.maxsi %top, %m1 : i32
    %j0 = arith.floordivsi %hi, %c128 : i32
    %n = arith.addi %j0, %c1 : i32
    %first = arith.addi %row0, %shift : i32
    %past = arith.addi %first, %c1 : i32
    %clear = arith.minsi %past, %sk : i32
    %whole = arith.floordivsi %clear, %c128 : i32
    %full = arith.maxsi %whole, %c0 : i32
    %ne = arith.subi %n, %full : i32
    tile.yield %q0, %q1, %h, %kvh, %b, %j0, %n, %ne : i32, i32, i32, i32, i32, i32, i32, i32
  }

  tile.placed_alloc @q_mem[2] smem at 0 stride 32768
  tile.placed_alloc @kv_mem[6] smem at 65536 stride 16384
  tile.placed_alloc @out_mem[2] smem at 163840 stride 32768
  tile.placed_alloc @stat_mem[2] smem at 229376 stride 1024
  tile.placed_alloc @sp_mem[2] tmem at 0 stride 128
  tile.placed_alloc @o_mem[2] tmem at 256 stride 128

  tile.view @Q of @q_mem : 128x128xbf16, #kmaj
  tile.view @K of @kv_mem : 64x128xbf16, #kmaj
  tile.view @V of @kv_mem : 128x64xbf16, #mnmaj
  tile.view @Va of @kv_mem : 96x64xbf16, #mnmaj
  tile.view @Vb of @kv_mem at byte 12288 : 32x64xbf16, #mnmaj
  tile.view @S of @sp_mem : 128x128xf32, #lanes
  tile.view @Pa of @sp_mem at column 64 : 128x96xbf16, #lanes
  tile.view @Pb of @sp_mem at column 112 : 128x32xbf16, #lanes
  tile.view @O of @o_mem : 128x128xf32, #lanes
  tile.view @Alpha of @stat_mem : 128xf32, #lin
  tile.view @Ref of @stat_mem at byte 512 : 128xf32, #lin
  tile.view @Out of @out_mem : 128x128xbf16, #kmaj

  // Leader: armed by its load with the bytes of both.
  tile.barrier @q.full[2] depth(1) count(1) at 231424
  // Stage 1 is covered by stage 0's commit.
  tile.barrier @q.empty depth(1) count(1) at 231440
  tile.barrier @kv.full depth(6) count(1) at 231448
  tile.barrier @kv.empty depth(6) count(1) at 231496
  tile.barrier @s.full[2] depth(1) count(1) at 231544
  // Leader: of each CTA 128 threads with P of three quarters, and 128 with O usable.
  tile.barrier @pa.full[2] depth(1) count(512) at 231560
  tile.barrier @pb.full[2] depth(1) count(8) at 231576
  // Last block of a tile only.
  tile.barrier @o.full[2] depth(1) count(1) at 231592
  tile.barrier @alpha.empty[2] depth(1) count(128) at 231608
  tile.barrier @out.full[2] depth(1) count(128) at 231624
  // The lane whose bulk group was waited for.
  tile.barrier @out.empty[2] depth(1) count(1) at 231640
  tile.named_barrier @alpha.full[2] ids(3 to 10) threads(64) per_warp
  tile.named_barrier @tmem_users ids(2 to 2) threads(416)

  tile.setup {
    tile.fence [init]
    // Both are there, and their barriers before anyone arrives.
    tile.cluster_sync
    tile.tmem.alloc 512 columns by @mma word at 231656
    tile.cluster_sync
  }

  tile.role @load warps(1) at(14) one_lane ctas(both) rank(%rank) regs(56) uses(%Q, %K, %V : !g, !gk, !gv) {
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %kv_0 = tile.cursor credit : !tile.cursor<6>
    %q_0 = tile.cursor credit : !tile.cursor<1>
    %kv_e, %q_e = tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work
        iter_args(%kv = %kv_0, %q = %q_0) -> (!tile.cursor<6>, !tile.cursor<1>) {
      %jd = arith.muli %j0, %c2 : i32
      %jr = arith.addi %jd, %rank : i32
      %qa2 = arith.muli %q0, %c2 : i32
      %qa = arith.addi %qa2, %rank : i32
      %qb2 = arith.muli %q1, %c2 : i32
      %qb = arith.addi %qb2, %rank : i32
      tile.barrier.wait @kv.empty at %kv mod 6
      tile.barrier.expect @kv.full at %kv mod 6 bytes(32768) on leader
      tile.issue_load %K[%b, %jr, %kvh] to(@K at %kv mod 6) signals(@kv.full at %kv mod 6) on leader : !gk
      %kv1 = tile.advance %kv : !tile.cursor<6>
      tile.barrier.wait @q.empty at %q mod 1
      tile.barrier.expect @q.full[0] bytes(65536) on leader
      tile.issue_load %Q[%b, %qa, %h] to(@Q[0]) signals(@q.full[0]) on leader : !g
      tile.barrier.expect @q.full[1] bytes(65536) on leader
      tile.issue_load %Q[%b, %qb, %h] to(@Q[1]) signals(@q.full[1]) on leader : !g
      %q2 = tile.advance %q : !tile.cursor<1>
      %kv2 = scf.for %i = %c1 to %n step %c1 iter_args(%v = %kv1) -> (!tile.cursor<6>) : i32 {
        %jk = arith.subi %j0, %i : i32
        %jv = arith.addi %jk, %c1 : i32
        tile.barrier.wait @kv.empty at %v mod 6
        tile.barrier.expect @kv.full at %v mod 6 bytes(32768) on leader
        tile.issue_load %V[%b, %jv, %kvh, %rank] to(@V at %v mod 6) signals(@kv.full at %v mod 6) on leader : !gv
        %k = tile.advance %v : !tile.cursor<6>
        %jk2 = arith.muli %jk, %c2 : i32
        %jkr = arith.addi %jk2, %rank : i32
        tile.barrier.wait @kv.empty at %k mod 6
        tile.barrier.expect @kv.full at %k mod 6 bytes(32768) on leader
        tile.issue_load %K[%b, %jkr, %kvh] to(@K at %k mod 6) signals(@kv.full at %k mod 6) on leader : !gk
        %v2 = tile.advance %k : !tile.cursor<6>
        scf.yield %v2 : !tile.cursor<6>
      }
      %jn = arith.subi %j0, %n : i32
      %jl = arith.addi %jn, %c1 : i32
      tile.barrier.wait @kv.empty at %kv2 mod 6
      tile.barrier.expect @kv.full at %kv2 mod 6 bytes(32768) on leader
      tile.issue_load %V[%b, %jl, %kvh, %rank] to(@V at %kv2 mod 6) signals(@kv.full at %kv2 mod 6) on leader : !gv
      %kv3 = tile.advance %kv2 : !tile.cursor<6>
      tile.yield %kv3, %q2 : !tile.cursor<6>, !tile.cursor<1>
    }
    // The matrix unit's last arrivals land before the CTA may exit.
    tile.barrier.wait @q.empty at %q_e mod 1
    tile.barrier.wait @kv.empty at %kv_e mod 6
    %kv_f = tile.advance %kv_e : !tile.cursor<6>
    tile.barrier.wait @kv.empty at %kv_f mod 6
    %kv_g = tile.advance %kv_f : !tile.cursor<6>
    tile.barrier.wait @kv.empty at %kv_g mod 6
    %kv_h = tile.advance %kv_g : !tile.cursor<6>
    tile.barrier.wait @kv.empty at %kv_h mod 6
    %kv_i = tile.advance %kv_h : !tile.cursor<6>
    tile.barrier.wait @kv.empty at %kv_i mod 6
    %kv_j = tile.advance %kv_i : !tile.cursor<6>
    tile.barrier.wait @kv.empty at %kv_j mod 6
  }

  tile.role @mma warps(1) at(12) one_lane ctas(leader) regs(56) {
    %c1 = arith.constant 1 : i32
    %kv_0 = tile.cursor : !tile.cursor<6>
    // @pa.full and @pb.full of both stages step together.
    %x_0 = tile.cursor : !tile.cursor<1>
    %q_0 = tile.cursor : !tile.cursor<1>
    %kv_e, %x_e, %q_e = tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work
        iter_args(%kv = %kv_0, %x = %x_0, %q = %q_0) -> (!tile.cursor<6>, !tile.cursor<1>, !tile.cursor<1>) {
      tile.barrier.wait @kv.full at %kv mod 6
      tile.barrier.wait @q.full[0] at %q mod 1
      tile.fence [after]
      tile.issue_mma a(@Q[0]) b(@K at %kv mod 6) into(@S[0])
      tile.barrier.commit @s.full[0] on both
      tile.barrier.wait @q.full[1] at %q mod 1
      tile.issue_mma a(@Q[1]) b(@K at %kv mod 6) into(@S[1])
      tile.barrier.commit @s.full[1] on both
      tile.barrier.commit @kv.empty at %kv mod 6 on both
      %kv1 = tile.advance %kv : !tile.cursor<6>
      %kv2, %x2 = scf.for %i = %c1 to %n step %c1
          iter_args(%v = %kv1, %y = %x) -> (!tile.cursor<6>, !tile.cursor<1>) : i32 {
        %first = arith.cmpi eq, %i, %c1 : i32
        tile.barrier.wait @kv.full at %v mod 6
        %k = tile.advance %v : !tile.cursor<6>
        // Three quarters of P are stored, and O is rescaled.
        tile.barrier.wait @pa.full[0] at %y mod 1
        tile.fence [after]
        tile.issue_mma a(@Pa[0]) b(@Va at %v mod 6) onto(@O[0]) unless(%first)
        tile.barrier.wait @pb.full[0] at %y mod 1
        tile.fence [after]
        tile.issue_mma a(@Pb[0]) b(@Vb at %v mod 6) onto(@O[0])
        tile.barrier.wait @kv.full at %k mod 6
        // Over P of the block before: needs mma_issue_order.
        tile.issue_mma a(@Q[0]) b(@K at %k mod 6) into(@S[0])
        // Also says that P V of the block before is done.
        tile.barrier.commit @s.full[0] on both
        tile.barrier.wait @pa.full[1] at %y mod 1
        tile.fence [after]
        tile.issue_mma a(@Pa[1]) b(@Va at %v mod 6) onto(@O[1]) unless(%first)
        tile.barrier.wait @pb.full[1] at %y mod 1
        tile.fence [after]
        tile.issue_mma a(@Pb[1]) b(@Vb at %v mod 6) onto(@O[1])
        tile.barrier.commit @kv.empty at %v mod 6 on both
        tile.issue_mma a(@Q[1]) b(@K at %k mod 6) into(@S[1])
        tile.barrier.commit @s.full[1] on both
        tile.barrier.commit @kv.empty at %k mod 6 on both
        %v1 = tile.advance %k : !tile.cursor<6>
        %y1 = tile.advance %y : !tile.cursor<1>
        scf.yield %v1, %y1 : !tile.cursor<6>, !tile.cursor<1>
      }
      tile.barrier.commit @q.empty on both
      %last = arith.cmpi eq, %n, %c1 : i32
      tile.barrier.wait @kv.full at %kv2 mod 6
      tile.barrier.wait @pa.full[0] at %x2 mod 1
      tile.fence [after]
      tile.issue_mma a(@Pa[0]) b(@Va at %kv2 mod 6) onto(@O[0]) unless(%last)
      tile.barrier.wait @pb.full[0] at %x2 mod 1
      tile.fence [after]
      tile.issue_mma a(@Pb[0]) b(@Vb at %kv2 mod 6) onto(@O[0])
      tile.barrier.commit @o.full[0] on both
      tile.barrier.wait @pa.full[1] at %x2 mod 1
      tile.fence [after]
      tile.issue_mma a(@Pa[1]) b(@Va at %kv2 mod 6) onto(@O[1]) unless(%last)
      tile.barrier.wait @pb.full[1] at %x2 mod 1
      tile.fence [after]
      tile.issue_mma a(@Pb[1]) b(@Vb at %kv2 mod 6) onto(@O[1])
      tile.barrier.commit @o.full[1] on both
      tile.barrier.commit @kv.empty at %kv2 mod 6 on both
      %kv3 = tile.advance %kv2 : !tile.cursor<6>
      %x3 = tile.advance %x2 : !tile.cursor<1>
      %q2 = tile.advance %q : !tile.cursor<1>
      tile.yield %kv3, %x3, %q2 : !tile.cursor<6>, !tile.cursor<1>, !tile.cursor<1>
    }
  }

  tile.role @softmax warps(4) replicas(2) index(%r) at(0) ctas(both) rank(%rank) regs(192) uses(%c, %sq, %sk : f32, i32, i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %zero = arith.constant 0.0 : f32
    %inf = arith.constant 0x7F800000 : f32
    %ninf = arith.constant 0xFF800000 : f32
    %none = tile.splat %ninf : f32 -> !row
    %s_0 = tile.cursor : !tile.cursor<1>
    %a_0 = tile.cursor credit : !tile.cursor<1>
    %s_e, %a_e = tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work
        iter_args(%sc = %s_0, %ac = %a_0) -> (!tile.cursor<1>, !tile.cursor<1>) {
      %qs = arith.addi %q0, %r : i32
      %q2 = arith.muli %qs, %c2 : i32
      %qi = arith.addi %q2, %rank : i32
      %di = tile.splat %inf : f32 -> !row
      %zl = tile.splat %zero : f32 -> !row
      tile.barrier.wait @alpha.empty[%r] at %ac mod 1
      %ac1 = tile.advance %ac : !tile.cursor<1>
      // The blocks that need the mask, then those that do not.
      %sc2, %ac2, %dm, %lm = scf.for %i = %c0 to %ne step %c1
          iter_args(%s1 = %sc, %a1 = %ac1, %d0 = %di, %l0 = %zl)
          -> (!tile.cursor<1>, !tile.cursor<1>, !row, !row) : i32 {
        %j = arith.subi %j0, %i : i32
        tile.barrier.wait @s.full[%r] at %s1 mod 1
        tile.fence [after]
        %s = tile.read @S[%r] : !S
        %x = tile.mask %s block(%qi, %j) [#attn.causal] extents(%sq, %sk) : !S
        %top = tile.row_max %x init(%none) : !S -> !row
        %d1, %use, %a = tile.online_max %top from(%d0) scale(%c) lag(8.0) : !row
        tile.write %a to @Alpha[%r] : !row
        // S is read, and P V of the block before, seen through @s.full, is passed on.
        tile.fence [tmem_loads, before]
        tile.named.arrive @alpha.full[%r]
        %z = tile.map (%e = %x, %off = %use) : (!S, !row) -> !S {
          %f = math.fma %e, %c, %off : f32
          tile.yield %f : f32
        }
        %za = tile.slice %z columns 0 to 96 : !S -> !Sa
        %ea = tile.exp2 %za share(#emu) : !Sa
        %pa = tile.cast %ea : !Sa -> !Pa
        tile.write %pa to @Pa[%r] : !Pa
        tile.fence [tmem_stores, before]
        tile.barrier.arrive @pa.full[%r] by(thread) on leader
        %zb = tile.slice %z columns 96 to 128 : !S -> !Sb
        %eb = tile.exp2 %zb share(#emu) from(96) : !Sb
        %pb = tile.cast %eb : !Sb -> !Pb
        tile.write %pb to @Pb[%r] : !Pb
        tile.fence [tmem_stores, before]
        tile.barrier.arrive @pb.full[%r] by(warp) on leader
        tile.barrier.wait @alpha.empty[%r] at %a1 mod 1
        %la = tile.map (%sum = %l0, %f = %a) : (!row, !row) -> !row {
          %p = arith.mulf %sum, %f : f32
          tile.yield %p : f32
        }
        %lb = tile.row_sum %ea init(%la) : !Sa -> !row
        %l1 = tile.row_sum %eb init(%lb) : !Sb -> !row
        %s2 = tile.advance %s1 : !tile.cursor<1>
        %a2 = tile.advance %a1 : !tile.cursor<1>
        scf.yield %s2, %a2, %d1, %l1 : !tile.cursor<1>, !tile.cursor<1>, !row, !row
      }
      %sc3, %ac3, %d, %l = scf.for %i = %ne to %n step %c1
          iter_args(%s1 = %sc2, %a1 = %ac2, %d0 = %dm, %l0 = %lm)
          -> (!tile.cursor<1>, !tile.cursor<1>, !row, !row) : i32 {
        tile.barrier.wait @s.full[%r] at %s1 mod 1
        tile.fence [after]
        %s = tile.read @S[%r] : !S
        %top = tile.row_max %s init(%none) : !S -> !row
        %d1, %use, %a = tile.online_max %top from(%d0) scale(%c) lag(8.0) : !row
        tile.write %a to @Alpha[%r] : !row
        // S is read, and P V of the block before, seen through @s.full, is passed on.
        tile.fence [tmem_loads, before]
        tile.named.arrive @alpha.full[%r]
        %z = tile.map (%e = %s, %off = %use) : (!S, !row) -> !S {
          %f = math.fma %e, %c, %off : f32
          tile.yield %f : f32
        }
        %za = tile.slice %z columns 0 to 96 : !S -> !Sa
        %ea = tile.exp2 %za share(#emu) : !Sa
        %pa = tile.cast %ea : !Sa -> !Pa
        tile.write %pa to @Pa[%r] : !Pa
        tile.fence [tmem_stores, before]
        tile.barrier.arrive @pa.full[%r] by(thread) on leader
        %zb = tile.slice %z columns 96 to 128 : !S -> !Sb
        %eb = tile.exp2 %zb share(#emu) from(96) : !Sb
        %pb = tile.cast %eb : !Sb -> !Pb
        tile.write %pb to @Pb[%r] : !Pb
        tile.fence [tmem_stores, before]
        tile.barrier.arrive @pb.full[%r] by(warp) on leader
        tile.barrier.wait @alpha.empty[%r] at %a1 mod 1
        %la = tile.map (%sum = %l0, %f = %a) : (!row, !row) -> !row {
          %p = arith.mulf %sum, %f : f32
          tile.yield %p : f32
        }
        %lb = tile.row_sum %ea init(%la) : !Sa -> !row
        %l1 = tile.row_sum %eb init(%lb) : !Sb -> !row
        %s2 = tile.advance %s1 : !tile.cursor<1>
        %a2 = tile.advance %a1 : !tile.cursor<1>
        scf.yield %s2, %a2, %d1, %l1 : !tile.cursor<1>, !tile.cursor<1>, !row, !row
      }
      tile.write %l to @Alpha[%r] : !row
      tile.write %d to @Ref[%r] : !row
      tile.named.arrive @alpha.full[%r]
      tile.yield %sc3, %ac3 : !tile.cursor<1>, !tile.cursor<1>
    }
    tile.fence [before]
    tile.named.arrive @tmem_users
  }

  tile.role @correction warps(4) at(8) ctas(both) rank(%rank) regs(72) uses(%L : !gl) {
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    // O is usable before anything was done.
    tile.barrier.arrive @pa.full[0] by(thread) on leader
    tile.barrier.arrive @pa.full[1] by(thread) on leader
    %o_0 = tile.cursor : !tile.cursor<1>
    %d_0 = tile.cursor credit : !tile.cursor<1>
    %o_e, %d_e = tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work
        iter_args(%oc = %o_0, %dc = %d_0) -> (!tile.cursor<1>, !tile.cursor<1>) {
      %qa2 = arith.muli %q0, %c2 : i32
      %qa = arith.addi %qa2, %rank : i32
      %qb2 = arith.muli %q1, %c2 : i32
      %qb = arith.addi %qb2, %rank : i32
      tile.named.sync @alpha.full[0]
      tile.barrier.arrive @alpha.empty[0] by(thread)
      tile.named.sync @alpha.full[1]
      scf.for %i = %c1 to %n step %c1 : i32 {
        tile.named.sync @alpha.full[0]
        %a0 = tile.read @Alpha[0] : !row
        tile.rescale @O[0] by %a0 likely_one : !row
        tile.barrier.arrive @pa.full[0] by(thread) on leader
        // Crossed: stage 1 of the block before.
        tile.barrier.arrive @alpha.empty[1] by(thread)
        tile.named.sync @alpha.full[1]
        %a1 = tile.read @Alpha[1] : !row
        tile.rescale @O[1] by %a1 likely_one : !row
        tile.barrier.arrive @pa.full[1] by(thread) on leader
        tile.barrier.arrive @alpha.empty[0] by(thread)
      }
      tile.barrier.arrive @alpha.empty[1] by(thread)
      tile.named.sync @alpha.full[0]
      %l0 = tile.read @Alpha[0] : !row
      %d0 = tile.read @Ref[0] : !row
      tile.barrier.arrive @alpha.empty[0] by(thread)
      tile.barrier.wait @o.full[0] at %oc mod 1
      tile.fence [after]
      tile.barrier.wait @out.empty[0] at %dc mod 1
      %x0 = tile.read @O[0] : !S
      %inv0, %lse0 = tile.map (%ref = %d0, %sum = %l0) : (!row, !row) -> (!row, !row) {
        %zero = arith.constant 0.0 : f32
        %one = arith.constant 1.0 : f32
        %inf = arith.constant 0x7F800000 : f32
        %ninf = arith.constant 0xFF800000 : f32
        %ln2 = arith.constant 0.693147182 : f32
        %empty = arith.cmpf oeq, %sum, %zero : f32
        %rec = arith.divf %one, %sum : f32
        %i = arith.select %empty, %zero, %rec : f32
        %unseen = arith.cmpf oeq, %ref, %inf : f32
        %use = arith.select %unseen, %zero, %ref : f32
        %log = math.log2 %sum : f32
        %diff = arith.subf %log, %use : f32
        %nat = arith.mulf %diff, %ln2 : f32
        %e = arith.select %empty, %ninf, %nat : f32
        tile.yield %i, %e : f32, f32
      }
      %y0 = tile.scale_rows %x0 by %inv0 : !S, !row
      %z0 = tile.cast %y0 : !S -> !T
      tile.write %z0 to @Out[0] : !T
      tile.fence [tmem_loads, before, proxy]
      // O is free for the next tile.
      tile.barrier.arrive @pa.full[0] by(thread) on leader
      tile.barrier.arrive @out.full[0] by(thread)
      tile.store %lse0 to %L[%b, %h, %qa] : !row, !gl
      tile.named.sync @alpha.full[1]
      %l1 = tile.read @Alpha[1] : !row
      %d1 = tile.read @Ref[1] : !row
      tile.barrier.arrive @alpha.empty[1] by(thread)
      tile.barrier.wait @o.full[1] at %oc mod 1
      tile.fence [after]
      tile.barrier.wait @out.empty[1] at %dc mod 1
      %x1 = tile.read @O[1] : !S
      %inv1, %lse1 = tile.map (%ref = %d1, %sum = %l1) : (!row, !row) -> (!row, !row) {
        %zero = arith.constant 0.0 : f32
        %one = arith.constant 1.0 : f32
        %inf = arith.constant 0x7F800000 : f32
        %ninf = arith.constant 0xFF800000 : f32
        %ln2 = arith.constant 0.693147182 : f32
        %empty = arith.cmpf oeq, %sum, %zero : f32
        %rec = arith.divf %one, %sum : f32
        %i = arith.select %empty, %zero, %rec : f32
        %unseen = arith.cmpf oeq, %ref, %inf : f32
        %use = arith.select %unseen, %zero, %ref : f32
        %log = math.log2 %sum : f32
        %diff = arith.subf %log, %use : f32
        %nat = arith.mulf %diff, %ln2 : f32
        %e = arith.select %empty, %ninf, %nat : f32
        tile.yield %i, %e : f32, f32
      }
      %y1 = tile.scale_rows %x1 by %inv1 : !S, !row
      %z1 = tile.cast %y1 : !S -> !T
      tile.write %z1 to @Out[1] : !T
      tile.fence [tmem_loads, before, proxy]
      // O is free for the next tile.
      tile.barrier.arrive @pa.full[1] by(thread) on leader
      tile.barrier.arrive @out.full[1] by(thread)
      tile.store %lse1 to %L[%b, %h, %qb] : !row, !gl
      %oc1 = tile.advance %oc : !tile.cursor<1>
      %dc1 = tile.advance %dc : !tile.cursor<1>
      tile.yield %oc1, %dc1 : !tile.cursor<1>, !tile.cursor<1>
    }
    tile.fence [before]
    tile.named.arrive @tmem_users
  }

  tile.role @store warps(1) at(13) one_lane ctas(both) rank(%rank) regs(56) uses(%O : !g) {
    %c2 = arith.constant 2 : i32
    %d_0 = tile.cursor : !tile.cursor<1>
    %d_e = tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work
        iter_args(%dc = %d_0) -> (!tile.cursor<1>) {
      %qa2 = arith.muli %q0, %c2 : i32
      %qa = arith.addi %qa2, %rank : i32
      %qb2 = arith.muli %q1, %c2 : i32
      %qb = arith.addi %qb2, %rank : i32
      tile.barrier.wait @out.full[0] at %dc mod 1
      tile.issue_store @Out[0] to %O[%b, %qa, %h] : !g
      tile.group.commit bulk
      tile.barrier.wait @out.full[1] at %dc mod 1
      tile.issue_store @Out[1] to %O[%b, %qb, %h] : !g
      tile.group.commit bulk
      tile.group.wait bulk 1 read
      tile.barrier.arrive @out.empty[0] by(lane)
      tile.group.wait bulk 0 read
      tile.barrier.arrive @out.empty[1] by(lane)
      %dc1 = tile.advance %dc : !tile.cursor<1>
      tile.yield %dc1 : !tile.cursor<1>
    }
  }

  // The allocating warp joins @tmem_users (13 warps), then frees.
  tile.teardown {
    // No CTA frees tensor memory or ends while its peer may still use it or arrive here.
    tile.cluster_sync
    tile.tmem.free 512 columns by @mma after(@tmem_users)
  }
}
