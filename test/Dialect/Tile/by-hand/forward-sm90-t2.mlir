// RUN: fa4-opt %s --tile-verify-t2 --verify-roundtrip

// The forward kernel of forward-sm90-t1.mlir placed and lowered. When S of a trip is
// waited for, one younger group (P V) is open: the wait leaves 1. The empty half of
// @turn was implied and is gone; the mask's trips are a loop of their own.

#acc   = #tile.spread<acc>
#a16   = #tile.spread<a16>
#quad  = #tile.spread<quad>
#kmaj  = #tile.smem<k_major, 128>
#mnmaj = #tile.smem<mn_major, 128>

!S   = !tile.frag<64x128xf32, #acc>
!P   = !tile.frag<64x128xbf16, #a16>
!To  = !tile.frag<64x128xbf16, #acc>
!row = !tile.frag<64xf32, #quad>
!gq  = !tile.global<1x64x1x128xbf16>
!g   = !tile.global<1x128x1x128xbf16>
!gl  = !tile.global<1x1x64xf32>

#h200 = #fa4.target<"sm_90a">
#fwd90 = #fa4.schedule<forward, tile = 64 x 128, stages = 2, ctas = 1,
  work = static_persistent<longest_first>,
  order = [load_k at 0, qk[0] at 0, load_v at 1, pv[0] at 1, softmax[0] at 0, rescale[0] at 0,
           qk[1] at 0, pv[1] at 1, softmax[1] at 0, rescale[1] at 0],
  homes = [load_q = smem @q_mem as q, load_k = smem @k_mem x 2 as k, load_v = smem @v_mem x 2 as v,
           qk = registers, softmax.0 = registers, pv = registers, finish.0 = smem @q_mem as out],
  roles = [consumer = {qk, softmax, rescale, pv, finish, store} warps 4 x 2 at 4 regs 240,
           load = {load_q, load_k, load_v} warps 1 at 0 regs 24],
  rescale_log2_threshold = 8.0,
  grain = [k.empty = warp, v.empty = warp, q.empty = lane], turn = [qk, pv]>

tile.kernel @fwd(%Q: !gq, %K: !g, %V: !g, %O: !gq, %L: !gl, %c: f32, %sq: i32, %sk: i32,
                 %hq: i32, %group: i32, %nb: i32, %nt: i32) target(#h200) schedule(#fwd90) {
  // Pairs of Q tiles (128 rows), longest first. j0: the highest KV block that a row of the
  // pair sees, -1 if none; n blocks down from it, of which the first ne need the mask.
  tile.work @work(%t) tiles(%nt : i32) uses(%sq, %sk, %hq, %group, %nb : i32, i32, i32, i32, i32)
      -> (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) facts(1 <= %n, 1 <= %ne, %ne <= %n) {
    %m1 = arith.constant -1 : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c128 = arith.constant 128 : i32
    %pairs = arith.ceildivsi %sq, %c128 : i32
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
    %row0 = arith.muli %m, %c128 : i32
    %end = arith.addi %row0, %c128 : i32
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

  tile.placed_alloc @q_mem[2] smem at 0 stride 16384
  tile.placed_alloc @k_mem[2] smem at 32768 stride 32768
  tile.placed_alloc @v_mem[2] smem at 98304 stride 32768

  tile.view @Q of @q_mem : 64x128xbf16, #kmaj
  tile.view @K of @k_mem : 128x128xbf16, #kmaj
  tile.view @V of @v_mem : 128x128xbf16, #mnmaj
  // O is staged over Q.
  tile.view @Out of @q_mem : 64x128xbf16, #kmaj

  tile.barrier @q.full[2] depth(1) count(1) at 163840
  tile.barrier @q.empty[2] depth(1) count(1) at 163856
  tile.barrier @k.full depth(2) count(1) at 163872
  // Two consumers of four warps.
  tile.barrier @k.empty depth(2) count(8) at 163888
  tile.barrier @v.full depth(2) count(1) at 163904
  tile.barrier @v.empty depth(2) count(8) at 163920
  tile.named_barrier @turn[2] ids(1 to 2) threads(256)

  tile.setup {
    tile.fence [init]
    // All warps: the barriers are visible.
    tile.role_sync
  }

  tile.role @load warps(1) at(0) one_lane regs(24) uses(%Q, %K, %V : !gq, !g, !g) {
    %c1 = arith.constant 1 : i32
    %q_0 = tile.cursor credit : !tile.cursor<1>
    %k_0 = tile.cursor credit : !tile.cursor<2>
    %v_0 = tile.cursor credit : !tile.cursor<2>
    %q_e, %k_e, %v_e = tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work
        iter_args(%q = %q_0, %k = %k_0, %v = %v_0) -> (!tile.cursor<1>, !tile.cursor<2>, !tile.cursor<2>) {
      tile.barrier.wait @k.empty at %k mod 2
      tile.barrier.expect @k.full at %k mod 2 bytes(32768)
      tile.issue_load %K[%b, %j0, %kvh] to(@K at %k mod 2) signals(@k.full at %k mod 2) : !g
      %k1 = tile.advance %k : !tile.cursor<2>
      tile.barrier.wait @q.empty[0] at %q mod 1
      tile.barrier.expect @q.full[0] bytes(16384)
      tile.issue_load %Q[%b, %q0, %h] to(@Q[0]) signals(@q.full[0]) : !gq
      tile.barrier.wait @q.empty[1] at %q mod 1
      tile.barrier.expect @q.full[1] bytes(16384)
      tile.issue_load %Q[%b, %q1, %h] to(@Q[1]) signals(@q.full[1]) : !gq
      %q1_ = tile.advance %q : !tile.cursor<1>
      %k2, %v2 = scf.for %i = %c1 to %n step %c1
          iter_args(%kk = %k1, %vv = %v) -> (!tile.cursor<2>, !tile.cursor<2>) : i32 {
        %jk = arith.subi %j0, %i : i32
        %jv = arith.addi %jk, %c1 : i32
        tile.barrier.wait @k.empty at %kk mod 2
        tile.barrier.expect @k.full at %kk mod 2 bytes(32768)
        tile.issue_load %K[%b, %jk, %kvh] to(@K at %kk mod 2) signals(@k.full at %kk mod 2) : !g
        %kk1 = tile.advance %kk : !tile.cursor<2>
        tile.barrier.wait @v.empty at %vv mod 2
        tile.barrier.expect @v.full at %vv mod 2 bytes(32768)
        tile.issue_load %V[%b, %jv, %kvh] to(@V at %vv mod 2) signals(@v.full at %vv mod 2) : !g
        %vv1 = tile.advance %vv : !tile.cursor<2>
        scf.yield %kk1, %vv1 : !tile.cursor<2>, !tile.cursor<2>
      }
      %jn = arith.subi %j0, %n : i32
      %jl = arith.addi %jn, %c1 : i32
      tile.barrier.wait @v.empty at %v2 mod 2
      tile.barrier.expect @v.full at %v2 mod 2 bytes(32768)
      tile.issue_load %V[%b, %jl, %kvh] to(@V at %v2 mod 2) signals(@v.full at %v2 mod 2) : !g
      %v3 = tile.advance %v2 : !tile.cursor<2>
      tile.yield %q1_, %k2, %v3 : !tile.cursor<1>, !tile.cursor<2>, !tile.cursor<2>
    }
  }

  tile.role @consumer warps(4) replicas(2) index(%r) at(4) regs(240)
      uses(%O, %L, %c, %sq, %sk : !gq, !gl, f32, i32, i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ninf = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %inf = arith.constant 0x7F800000 : f32
    %none = tile.splat %ninf : f32 -> !row
    // The other one: of several, the next.
    %c2 = arith.constant 2 : i32
    %next = arith.addi %r, %c1 : i32
    %other = arith.remsi %next, %c2 : i32
    // starts(1, 0): consumer 1 passes the first turn to 0.
    %second = arith.cmpi eq, %r, %c1 : i32
    tile.named.arrive @turn[%other] when(%second)
    %q_0 = tile.cursor : !tile.cursor<1>
    %k_0 = tile.cursor : !tile.cursor<2>
    %v_0 = tile.cursor : !tile.cursor<2>
    %qc_e, %kc_e, %vc_e = tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work
        iter_args(%qc = %q_0, %kc = %k_0, %vc = %v_0) -> (!tile.cursor<1>, !tile.cursor<2>, !tile.cursor<2>) {
      %qi = arith.addi %q0, %r : i32
      %di = tile.splat %inf : f32 -> !row
      %zl = tile.splat %zero : f32 -> !row
      %zo = tile.splat %zero : f32 -> !S
      tile.barrier.wait @q.full[%r] at %qc mod 1
      tile.barrier.wait @k.full at %kc mod 2
      tile.named.sync @turn[%r]
      tile.fence [wgmma]
      %f0 = tile.issue_mma a(@Q[%r]) b(@K at %kc mod 2) : !S
      tile.group.commit wgmma
      tile.named.arrive @turn[%other]
      %s0 = tile.group.wait wgmma 0 (%f0) : !S
      tile.barrier.arrive @k.empty at %kc mod 2 by(warp)
      %kc1 = tile.advance %kc : !tile.cursor<2>
      // Block 0 always needs the mask: 1 <= ne.
      %x0 = tile.mask %s0 block(%qi, %j0) [#attn.causal] extents(%sq, %sk) : !S
      %top0 = tile.row_max %x0 init(%none) : !S -> !row
      %d0, %use0, %a0 = tile.online_max %top0 from(%di) scale(%c) lag(8.0) : !row
      %z0 = tile.map (%e = %x0, %off = %use0) : (!S, !row) -> !S {
        %fma = math.fma %e, %c, %off : f32
        tile.yield %fma : f32
      }
      %x0e = tile.exp2 %z0 : !S
      %p0 = tile.cast %x0e : !S -> !P
      %l0a = tile.map (%sum = %zl, %fac = %a0) : (!row, !row) -> !row {
        %prod = arith.mulf %sum, %fac : f32
        tile.yield %prod : f32
      }
      %l0 = tile.row_sum %x0e init(%l0a) : !S -> !row
      %kc2, %vc2, %pm, %om, %dm, %lm = scf.for %i = %c1 to %ne step %c1
          iter_args(%kk = %kc1, %vv = %vc, %p = %p0, %oa = %zo, %dc = %d0, %lc = %l0)
          -> (!tile.cursor<2>, !tile.cursor<2>, !P, !S, !row, !row) : i32 {
        %j1 = arith.subi %j0, %i : i32
        tile.barrier.wait @k.full at %kk mod 2
        tile.named.sync @turn[%r]
        tile.fence [wgmma]
        %f = tile.issue_mma a(@Q[%r]) b(@K at %kk mod 2) : !S
        tile.group.commit wgmma
        tile.barrier.wait @v.full at %vv mod 2
        %g = tile.issue_mma a(%p) b(@V at %vv mod 2) onto(%oa) : (!P, !S) -> !S
        tile.group.commit wgmma
        tile.named.arrive @turn[%other]
        %s = tile.group.wait wgmma 1 (%f) : !S
        tile.barrier.arrive @k.empty at %kk mod 2 by(warp)
        // While P V runs.
        %x1 = tile.mask %s block(%qi, %j1) [#attn.causal] extents(%sq, %sk) : !S
        %top1 = tile.row_max %x1 init(%none) : !S -> !row
        %d1, %use1, %a1 = tile.online_max %top1 from(%dc) scale(%c) lag(8.0) : !row
        %z1 = tile.map (%e = %x1, %off = %use1) : (!S, !row) -> !S {
          %fma = math.fma %e, %c, %off : f32
          tile.yield %fma : f32
        }
        %x1e = tile.exp2 %z1 : !S
        %l1a = tile.map (%sum = %lc, %fac = %a1) : (!row, !row) -> !row {
          %prod = arith.mulf %sum, %fac : f32
          tile.yield %prod : f32
        }
        %l1 = tile.row_sum %x1e init(%l1a) : !S -> !row
        %y = tile.group.wait wgmma 0 (%g) : !S
        tile.barrier.arrive @v.empty at %vv mod 2 by(warp)
        // acc to a16: renaming and packs.
        %p1 = tile.cast %x1e : !S -> !P
        %o1 = tile.scale_rows %y by %a1 likely_one : !S, !row
        %kk1 = tile.advance %kk : !tile.cursor<2>
        %vv1 = tile.advance %vv : !tile.cursor<2>
        scf.yield %kk1, %vv1, %p1, %o1, %d1, %l1 : !tile.cursor<2>, !tile.cursor<2>, !P, !S, !row, !row
      }
      %kc3, %vc3, %p_e, %o_e, %d_e, %l_e = scf.for %i = %ne to %n step %c1
          iter_args(%kk = %kc2, %vv = %vc2, %p = %pm, %oa = %om, %dc = %dm, %lc = %lm)
          -> (!tile.cursor<2>, !tile.cursor<2>, !P, !S, !row, !row) : i32 {
        tile.barrier.wait @k.full at %kk mod 2
        tile.named.sync @turn[%r]
        tile.fence [wgmma]
        %f = tile.issue_mma a(@Q[%r]) b(@K at %kk mod 2) : !S
        tile.group.commit wgmma
        tile.barrier.wait @v.full at %vv mod 2
        %g = tile.issue_mma a(%p) b(@V at %vv mod 2) onto(%oa) : (!P, !S) -> !S
        tile.group.commit wgmma
        tile.named.arrive @turn[%other]
        %s = tile.group.wait wgmma 1 (%f) : !S
        tile.barrier.arrive @k.empty at %kk mod 2 by(warp)
        // While P V runs.
        %top1 = tile.row_max %s init(%none) : !S -> !row
        %d1, %use1, %a1 = tile.online_max %top1 from(%dc) scale(%c) lag(8.0) : !row
        %z1 = tile.map (%e = %s, %off = %use1) : (!S, !row) -> !S {
          %fma = math.fma %e, %c, %off : f32
          tile.yield %fma : f32
        }
        %x1e = tile.exp2 %z1 : !S
        %l1a = tile.map (%sum = %lc, %fac = %a1) : (!row, !row) -> !row {
          %prod = arith.mulf %sum, %fac : f32
          tile.yield %prod : f32
        }
        %l1 = tile.row_sum %x1e init(%l1a) : !S -> !row
        %y = tile.group.wait wgmma 0 (%g) : !S
        tile.barrier.arrive @v.empty at %vv mod 2 by(warp)
        // acc to a16: renaming and packs.
        %p1 = tile.cast %x1e : !S -> !P
        %o1 = tile.scale_rows %y by %a1 likely_one : !S, !row
        %kk1 = tile.advance %kk : !tile.cursor<2>
        %vv1 = tile.advance %vv : !tile.cursor<2>
        scf.yield %kk1, %vv1, %p1, %o1, %d1, %l1 : !tile.cursor<2>, !tile.cursor<2>, !P, !S, !row, !row
      }
      tile.barrier.wait @v.full at %vc3 mod 2
      tile.fence [wgmma]
      %g = tile.issue_mma a(%p_e) b(@V at %vc3 mod 2) onto(%o_e) : (!P, !S) -> !S
      tile.group.commit wgmma
      %inv, %lse = tile.map (%ref = %d_e, %sum = %l_e) : (!row, !row) -> (!row, !row) {
        %zero_ = arith.constant 0.0 : f32
        %one = arith.constant 1.0 : f32
        %inf_ = arith.constant 0x7F800000 : f32
        %ninf_ = arith.constant 0xFF800000 : f32
        %ln2 = arith.constant 0.693147182 : f32
        %empty = arith.cmpf oeq, %sum, %zero_ : f32
        %rec = arith.divf %one, %sum : f32
        %inverse = arith.select %empty, %zero_, %rec : f32
        %unseen = arith.cmpf oeq, %ref, %inf_ : f32
        %use = arith.select %unseen, %zero_, %ref : f32
        %log = math.log2 %sum : f32
        %diff = arith.subf %log, %use : f32
        %nat = arith.mulf %diff, %ln2 : f32
        %stat = arith.select %empty, %ninf_, %nat : f32
        tile.yield %inverse, %stat : f32, f32
      }
      tile.store %lse to %L[%b, %h, %qi] : !row, !gl
      %y_e = tile.group.wait wgmma 0 (%g) : !S
      tile.barrier.arrive @v.empty at %vc3 mod 2 by(warp)
      %vc4 = tile.advance %vc3 : !tile.cursor<2>
      %scaled = tile.scale_rows %y_e by %inv : !S, !row
      %t = tile.cast %scaled : !S -> !To
      tile.write %t to @Out[%r] : !To
      tile.fence [proxy]
      // Four warps wrote, one lane stores.
      tile.role_sync
      tile.issue_store @Out[%r] to %O[%b, %qi, %h] : !gq
      tile.group.commit bulk
      tile.group.wait bulk 0 read
      tile.barrier.arrive @q.empty[%r] by(lane)
      %qc1 = tile.advance %qc : !tile.cursor<1>
      tile.yield %qc1, %kc3, %vc4 : !tile.cursor<1>, !tile.cursor<2>, !tile.cursor<2>
    }
  }
}
