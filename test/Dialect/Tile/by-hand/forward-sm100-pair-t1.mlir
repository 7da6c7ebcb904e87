// RUN: fa4-opt %s --tile-verify-t1 --verify-roundtrip

// The forward kernel of forward-sm100-t1.mlir on a CTA pair. A stage has 256 queries, of
// which each CTA holds 128 with their scores, weights and outputs; of keys and values
// each holds half of the columns of the products' second operands: 64 keys, and half
// of D. The leader issues the products of both. K and V are seen through grids of such
// halves.

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

  tile.alloc @q_mem[2] : smem 32768 bytes
  tile.alloc @kv_mem[6] : smem 16384 bytes
  tile.alloc @sp_mem[2] : tmem 128 columns
  tile.alloc @stat_mem[2] : smem 1024 bytes
  tile.alloc @o_mem[2] : tmem 128 columns
  tile.alloc @out_mem[2] : smem 32768 bytes

  tile.view @Q of @q_mem : 128x128xbf16, #kmaj
  tile.view @K of @kv_mem : 64x128xbf16, #kmaj
  tile.view @V of @kv_mem : 128x64xbf16, #mnmaj
  tile.view @Va of @kv_mem : 96x64xbf16, #mnmaj
  tile.view @Vb of @kv_mem at byte 12288 : 32x64xbf16, #mnmaj
  tile.view @S of @sp_mem : 128x128xf32, #lanes
  tile.view @Pa of @sp_mem at column 64 : 128x96xbf16, #lanes
  tile.view @Pb of @sp_mem at column 112 : 128x32xbf16, #lanes
  tile.view @Alpha of @stat_mem : 128xf32, #lin
  tile.view @Alpha_1 of @stat_mem at byte 512 : 128xf32, #lin
  tile.view @O of @o_mem : 128x128xf32, #lanes
  tile.view @Out of @out_mem : 128x128xbf16, #kmaj

  tile.channel @q[2] depth(1) from(@load) to(@mma) carries(@Q)
  tile.channel @kv depth(6) from(@load) to(@mma) carries(@K, @V, @Va, @Vb)
  tile.channel @s[2] depth(1) from(@mma) to(@softmax each) carries(@S) empty(thread)
  tile.channel @pa[2] depth(1) from(@softmax each) to(@mma) carries(@Pa) full(thread)
  tile.channel @pb[2] depth(1) from(@softmax each) to(@mma) carries(@Pb) full(warp)
  tile.channel @alpha[2] depth(1) from(@softmax each) to(@correction) carries(@Alpha, @Alpha_1)
      full(named_per_warp) empty(thread)
  tile.channel @o[2] depth(1) from(@mma) to(@correction) carries(@O) empty(thread)
  tile.channel @out[2] depth(1) from(@correction) to(@store) carries(@Out) full(thread)

  tile.role @load warps(1) ctas(both) rank(%rank) uses(%Q, %K, %V : !g, !gk, !gv) {
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work {
      %jd = arith.muli %j0, %c2 : i32
      %jr = arith.addi %jd, %rank : i32
      %qa2 = arith.muli %q0, %c2 : i32
      %qa = arith.addi %qa2, %rank : i32
      %qb2 = arith.muli %q1, %c2 : i32
      %qb = arith.addi %qb2, %rank : i32
      %k0 = tile.acquire @kv
      %ek0 = tile.async_load %K[%b, %jr, %kvh] to %k0 as @K : !gk
      tile.commit %k0 after(%ek0)
      %ta = tile.acquire @q[0]
      %ea = tile.async_load %Q[%b, %qa, %h] to %ta as @Q : !g
      tile.commit %ta after(%ea)
      %tb = tile.acquire @q[1]
      %eb = tile.async_load %Q[%b, %qb, %h] to %tb as @Q : !g
      tile.commit %tb after(%eb)
      scf.for %i = %c1 to %n step %c1 : i32 {
        %jk = arith.subi %j0, %i : i32
        %jv = arith.addi %jk, %c1 : i32
        %tv = tile.acquire @kv
        %ev = tile.async_load %V[%b, %jv, %kvh, %rank] to %tv as @V : !gv
        tile.commit %tv after(%ev)
        %jk2 = arith.muli %jk, %c2 : i32
        %jkr = arith.addi %jk2, %rank : i32
        %tk = tile.acquire @kv
        %ek = tile.async_load %K[%b, %jkr, %kvh] to %tk as @K : !gk
        tile.commit %tk after(%ek)
      }
      %jn = arith.subi %j0, %n : i32
      %jl = arith.addi %jn, %c1 : i32
      %tl = tile.acquire @kv
      %el = tile.async_load %V[%b, %jl, %kvh, %rank] to %tl as @V : !gv
      tile.commit %tl after(%el)
    }
    // The matrix unit's last arrivals land before the CTA may exit.
    tile.settle @kv
    tile.settle @q[0]
    tile.settle @q[1]
  }

  tile.role @mma warps(1) ctas(leader) {
    %c1 = arith.constant 1 : i32
    tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work {
      %k0 = tile.wait @kv
      %qa = tile.wait @q[0]
      %sa = tile.acquire @s[0]
      %g0 = tile.async_mma a(%qa as @Q) b(%k0 as @K) into(%sa as @S)
      tile.commit %sa after(%g0)
      %qb = tile.wait @q[1]
      %sb = tile.acquire @s[1]
      %g1 = tile.async_mma a(%qb as @Q) b(%k0 as @K) into(%sb as @S)
      tile.commit %sb after(%g1)
      tile.release %k0 after(%g0, %g1)
      scf.for %i = %c1 to %n step %c1 : i32 {
        %first = arith.cmpi eq, %i, %c1 : i32
        %v = tile.wait @kv
        %o0 = tile.acquire @o[0]
        %x0 = tile.wait @pa[0]
        %f0 = tile.async_mma a(%x0 as @Pa) b(%v as @Va) onto(%o0 as @O) unless(%first)
        tile.release %x0 after(%f0)
        %y0 = tile.wait @pb[0]
        %h0 = tile.async_mma a(%y0 as @Pb) b(%v as @Vb) onto(%o0 as @O)
        tile.release %y0 after(%h0)
        tile.commit %o0 after(%h0)
        %k = tile.wait @kv
        %s0 = tile.acquire @s[0]
        %u0 = tile.async_mma a(%qa as @Q) b(%k as @K) into(%s0 as @S)
        tile.commit %s0 after(%u0)
        %o1 = tile.acquire @o[1]
        %x1 = tile.wait @pa[1]
        %f1 = tile.async_mma a(%x1 as @Pa) b(%v as @Va) onto(%o1 as @O) unless(%first)
        tile.release %x1 after(%f1)
        %y1 = tile.wait @pb[1]
        %h1 = tile.async_mma a(%y1 as @Pb) b(%v as @Vb) onto(%o1 as @O)
        tile.release %y1 after(%h1)
        tile.commit %o1 after(%h1)
        tile.release %v after(%h0, %h1)
        %s1 = tile.acquire @s[1]
        %u1 = tile.async_mma a(%qb as @Q) b(%k as @K) into(%s1 as @S)
        tile.commit %s1 after(%u1)
        tile.release %k after(%u0, %u1)
      }
      tile.release %qa after(all)
      tile.release %qb after(all)
      %last = arith.cmpi eq, %n, %c1 : i32
      %v = tile.wait @kv
      %o0 = tile.acquire @o[0]
      %x0 = tile.wait @pa[0]
      %f0 = tile.async_mma a(%x0 as @Pa) b(%v as @Va) onto(%o0 as @O) unless(%last)
      tile.release %x0 after(%f0)
      %y0 = tile.wait @pb[0]
      %h0 = tile.async_mma a(%y0 as @Pb) b(%v as @Vb) onto(%o0 as @O)
      tile.release %y0 after(%h0)
      tile.commit %o0 after(%h0)
      %o1 = tile.acquire @o[1]
      %x1 = tile.wait @pa[1]
      %f1 = tile.async_mma a(%x1 as @Pa) b(%v as @Va) onto(%o1 as @O) unless(%last)
      tile.release %x1 after(%f1)
      %y1 = tile.wait @pb[1]
      %h1 = tile.async_mma a(%y1 as @Pb) b(%v as @Vb) onto(%o1 as @O)
      tile.release %y1 after(%h1)
      tile.commit %o1 after(%h1)
      tile.release %v after(%h0, %h1)
    }
  }

  tile.role @softmax warps(4) replicas(2) index(%r) ctas(both) rank(%rank) uses(%c, %sq, %sk : f32, i32, i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %zero = arith.constant 0.0 : f32
    %inf = arith.constant 0x7F800000 : f32
    %ninf = arith.constant 0xFF800000 : f32
    %none = tile.splat %ninf : f32 -> !row
    tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work {
      %qs = arith.addi %q0, %r : i32
      %q2 = arith.muli %qs, %c2 : i32
      %qi = arith.addi %q2, %rank : i32
      %di = tile.splat %inf : f32 -> !row
      %zl = tile.splat %zero : f32 -> !row
      %a_0 = tile.acquire @alpha[%r]
      %d, %l, %a_n = scf.for %i = %c0 to %n step %c1
          iter_args(%d0 = %di, %l0 = %zl, %at = %a_0) -> (!row, !row, !tile.token<write>) : i32 {
        %edge = arith.cmpi slt, %i, %ne : i32
        %j = arith.subi %j0, %i : i32
        %st = tile.wait @s[%r]
        %s = tile.read %st as @S : !S
        tile.release %st
        %x = scf.if %edge -> (!S) {
          %y = tile.mask %s block(%qi, %j) [#attn.causal] extents(%sq, %sk) : !S
          scf.yield %y : !S
        } else {
          scf.yield %s : !S
        }
        %top = tile.row_max %x init(%none) : !S -> !row
        %d1, %use, %a = tile.online_max %top from(%d0) scale(%c) lag(8.0) : !row
        tile.write %a to %at as @Alpha : !row
        tile.commit %at
        %z = tile.map (%e = %x, %off = %use) : (!S, !row) -> !S {
          %f = math.fma %e, %c, %off : f32
          tile.yield %f : f32
        }
        %za = tile.slice %z columns 0 to 96 : !S -> !Sa
        %zb = tile.slice %z columns 96 to 128 : !S -> !Sb
        %ea = tile.exp2 %za share(#emu) : !Sa
        %pa = tile.cast %ea : !Sa -> !Pa
        %pt = tile.acquire @pa[%r]
        tile.write %pa to %pt as @Pa : !Pa
        tile.commit %pt
        %eb = tile.exp2 %zb share(#emu) from(96) : !Sb
        %pb = tile.cast %eb : !Sb -> !Pb
        %bt = tile.acquire @pb[%r]
        tile.write %pb to %bt as @Pb : !Pb
        tile.commit %bt
        // Early: the slot of the next block.
        %a_1 = tile.acquire @alpha[%r]
        %la = tile.map (%sum = %l0, %f = %a) : (!row, !row) -> !row {
          %p = arith.mulf %sum, %f : f32
          tile.yield %p : f32
        }
        %lb = tile.row_sum %ea init(%la) : !Sa -> !row
        %l1 = tile.row_sum %eb init(%lb) : !Sb -> !row
        scf.yield %d1, %l1, %a_1 : !row, !row, !tile.token<write>
      }
      tile.write %d to %a_n as @Alpha : !row
      tile.write %l to %a_n as @Alpha_1 : !row
      tile.commit %a_n
    }
  }

  tile.role @correction warps(4) ctas(both) rank(%rank) uses(%L : !gl) {
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work {
      %qa2 = arith.muli %q0, %c2 : i32
      %qa = arith.addi %qa2, %rank : i32
      %qb2 = arith.muli %q1, %c2 : i32
      %qb = arith.addi %qb2, %rank : i32
      // Block 0: nothing to rescale.
      %t0 = tile.wait @alpha[0]
      %t1 = tile.wait @alpha[1]
      tile.release %t0
      %held = scf.for %i = %c1 to %n step %c1 iter_args(%prev = %t1) -> (!tile.token<read>) : i32 {
        %u0 = tile.wait @alpha[0]
        %a0 = tile.read %u0 as @Alpha : !row
        %o0 = tile.wait @o[0]
        tile.rescale %o0 as @O by %a0 likely_one : !row
        tile.release %o0
        // Crossed: stage 1 of the block before.
        tile.release %prev
        %u1 = tile.wait @alpha[1]
        %a1 = tile.read %u1 as @Alpha : !row
        %o1 = tile.wait @o[1]
        tile.rescale %o1 as @O by %a1 likely_one : !row
        tile.release %o1
        tile.release %u0
        scf.yield %u1 : !tile.token<read>
      }
      tile.release %held
      %w0 = tile.wait @alpha[0]
      %d0 = tile.read %w0 as @Alpha : !row
      %l0 = tile.read %w0 as @Alpha_1 : !row
      tile.release %w0
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
      tile.store %lse0 to %L[%b, %h, %qa] : !row, !gl
      %f0 = tile.wait @o[0]
      %x0 = tile.read %f0 as @O : !S
      tile.release %f0
      %y0 = tile.scale_rows %x0 by %inv0 : !S, !row
      %z0 = tile.cast %y0 : !S -> !T
      %g0 = tile.acquire @out[0]
      tile.write %z0 to %g0 as @Out : !T
      tile.commit %g0
      %w1 = tile.wait @alpha[1]
      %d1 = tile.read %w1 as @Alpha : !row
      %l1 = tile.read %w1 as @Alpha_1 : !row
      tile.release %w1
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
      tile.store %lse1 to %L[%b, %h, %qb] : !row, !gl
      %f1 = tile.wait @o[1]
      %x1 = tile.read %f1 as @O : !S
      tile.release %f1
      %y1 = tile.scale_rows %x1 by %inv1 : !S, !row
      %z1 = tile.cast %y1 : !S -> !T
      %g1 = tile.acquire @out[1]
      tile.write %z1 to %g1 as @Out : !T
      tile.commit %g1
    }
  }

  tile.role @store warps(1) ctas(both) rank(%rank) uses(%O : !g) {
    %c2 = arith.constant 2 : i32
    tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work {
      %qa2 = arith.muli %q0, %c2 : i32
      %qa = arith.addi %qa2, %rank : i32
      %qb2 = arith.muli %q1, %c2 : i32
      %qb = arith.addi %qb2, %rank : i32
      %t0 = tile.wait @out[0]
      %e0 = tile.async_store %t0 as @Out to %O[%b, %qa, %h] : !g
      %t1 = tile.wait @out[1]
      %e1 = tile.async_store %t1 as @Out to %O[%b, %qb, %h] : !g
      tile.release %t0 after(%e0)
      tile.release %t1 after(%e1)
    }
  }
}
