// RUN: fa4-opt %s --tile-verify-t1 --verify-roundtrip

// The forward kernel of forward-sm90-t0.mlir in roles. S, P and O are register
// fragments, so correction and the hand-over of P vanish; the consumers take turns
// at the matrix unit, and O is staged over Q.

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

  tile.alloc @q_mem[2] : smem 16384 bytes
  tile.alloc @k_mem[2] : smem 32768 bytes
  tile.alloc @v_mem[2] : smem 32768 bytes

  tile.view @Q of @q_mem : 64x128xbf16, #kmaj
  tile.view @K of @k_mem : 128x128xbf16, #kmaj
  tile.view @V of @v_mem : 128x128xbf16, #mnmaj
  // O is staged over Q.
  tile.view @Out of @q_mem : 64x128xbf16, #kmaj

  tile.channel @q[2] depth(1) from(@load) to(@consumer each) carries(@Q, @Out) empty(lane)
  tile.channel @k depth(2) from(@load) to(@consumer) carries(@K) empty(warp)
  tile.channel @v depth(2) from(@load) to(@consumer) carries(@V) empty(warp)
  tile.channel @turn[2] depth(1) from(@consumer previous) to(@consumer each) full(named) starts(1, 0)

  tile.role @load warps(1) uses(%Q, %K, %V : !gq, !g, !g) {
    %c1 = arith.constant 1 : i32
    tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work {
      %tk = tile.acquire @k
      %ek = tile.async_load %K[%b, %j0, %kvh] to %tk as @K : !g
      tile.commit %tk after(%ek)
      %ta = tile.acquire @q[0]
      %ea = tile.async_load %Q[%b, %q0, %h] to %ta as @Q : !gq
      tile.commit %ta after(%ea)
      %tb = tile.acquire @q[1]
      %eb = tile.async_load %Q[%b, %q1, %h] to %tb as @Q : !gq
      tile.commit %tb after(%eb)
      scf.for %i = %c1 to %n step %c1 : i32 {
        %jk = arith.subi %j0, %i : i32
        %jv = arith.addi %jk, %c1 : i32
        %tkk = tile.acquire @k
        %ekk = tile.async_load %K[%b, %jk, %kvh] to %tkk as @K : !g
        tile.commit %tkk after(%ekk)
        %tvv = tile.acquire @v
        %evv = tile.async_load %V[%b, %jv, %kvh] to %tvv as @V : !g
        tile.commit %tvv after(%evv)
      }
      %jn = arith.subi %j0, %n : i32
      %jl = arith.addi %jn, %c1 : i32
      %tl = tile.acquire @v
      %el = tile.async_load %V[%b, %jl, %kvh] to %tl as @V : !g
      tile.commit %tl after(%el)
    }
  }

  tile.role @consumer warps(4) replicas(2) index(%r)
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
    tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work {
      %qi = arith.addi %q0, %r : i32
      %di = tile.splat %inf : f32 -> !row
      %zl = tile.splat %zero : f32 -> !row
      %zo = tile.splat %zero : f32 -> !S
      %qt = tile.wait @q[%r]
      %k0 = tile.wait @k
      %w0 = tile.wait @turn[%r]
      %f0 = tile.async_mma a(%qt as @Q) b(%k0 as @K) : !tile.async<!S>
      tile.release %w0
      %g0 = tile.acquire @turn[%other]
      tile.commit %g0
      %s0 = tile.await %f0 : !S
      tile.release %k0
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
      %d_e, %l_e, %p_e, %o_e = scf.for %i = %c1 to %n step %c1
          iter_args(%dc = %d0, %lc = %l0, %p = %p0, %oa = %zo) -> (!row, !row, !P, !S) : i32 {
        %edge = arith.cmpi slt, %i, %ne : i32
        %j1 = arith.subi %j0, %i : i32
        %k = tile.wait @k
        %w = tile.wait @turn[%r]
        %f = tile.async_mma a(%qt as @Q) b(%k as @K) : !tile.async<!S>
        %v = tile.wait @v
        %g = tile.async_mma a(%p) b(%v as @V) onto(%oa) : (!P, !S) -> !tile.async<!S>
        tile.release %w
        %t = tile.acquire @turn[%other]
        tile.commit %t
        %s = tile.await %f : !S
        tile.release %k
        // While P V runs.
        %x1 = scf.if %edge -> (!S) {
          %masked = tile.mask %s block(%qi, %j1) [#attn.causal] extents(%sq, %sk) : !S
          scf.yield %masked : !S
        } else {
          scf.yield %s : !S
        }
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
        %y = tile.await %g : !S
        tile.release %v
        // acc to a16: renaming and packs.
        %p1 = tile.cast %x1e : !S -> !P
        %o1 = tile.scale_rows %y by %a1 likely_one : !S, !row
        scf.yield %d1, %l1, %p1, %o1 : !row, !row, !P, !S
      }
      %v = tile.wait @v
      %g = tile.async_mma a(%p_e) b(%v as @V) onto(%o_e) : (!P, !S) -> !tile.async<!S>
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
      %y_e = tile.await %g : !S
      tile.release %v
      %scaled = tile.scale_rows %y_e by %inv : !S, !row
      %t = tile.cast %scaled : !S -> !To
      // The read token owns the slot: it has one consumer.
      tile.write %t over %qt as @Out : !To
      %e = tile.async_store %qt as @Out to %O[%b, %qi, %h] : !gq
      tile.release %qt after(%e)
    }
  }
}
