// RUN: fa4-opt %s --tile-verify-t0 --verify-roundtrip

// The forward of forward-sm100-t0.mlir as one logical thread for a CTA pair: a stage has
// 256 queries. tile-pair-ctas makes each CTA's program of it.
// The carried statistic is the negated scaled reference (tile.online_max).

!Q   = !tile.frag<256x128xbf16>
!T   = !tile.frag<128x128xbf16>
!S   = !tile.frag<256x128xf32>
!row = !tile.frag<256xf32>
!Sa  = !tile.frag<256x96xf32>
!Sb  = !tile.frag<256x32xf32>
!Pa  = !tile.frag<256x96xbf16>
!Pb  = !tile.frag<256x32xbf16>
!Va  = !tile.frag<96x128xbf16>
!Vb  = !tile.frag<32x128xbf16>
!gq  = !tile.global<1x256x1x128xbf16>
!g   = !tile.global<1x128x1x128xbf16>
!gl  = !tile.global<1x1x256xf32>

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

tile.kernel @fwd(%Q: !gq, %K: !g, %V: !g, %O: !gq, %L: !gl, %c: f32, %sq: i32, %sk: i32,
                 %hq: i32, %group: i32, %nb: i32, %nt: i32) target(#b200) schedule(#fwd) {
  tile.def @load_q(%G: !gq, %b: i32, %i: i32, %h: i32) -> !Q {
    %x = tile.load %G[%b, %i, %h] : !gq -> !Q
    tile.yield %x : !Q
  }
  tile.def @load_k(%G: !g, %b: i32, %i: i32, %h: i32) -> !T {
    %x = tile.load %G[%b, %i, %h] : !g -> !T
    tile.yield %x : !T
  }
  tile.def @load_v(%G: !g, %b: i32, %i: i32, %h: i32) -> !T {
    %x = tile.load %G[%b, %i, %h] : !g -> !T
    tile.yield %x : !T
  }
  tile.def @store(%t: !Q, %G: !gq, %b: i32, %i: i32, %h: i32) {
    tile.store %t to %G[%b, %i, %h] : !Q, !gq
  }
  tile.def @qk(%q: !Q, %k: !T) -> !S {
    %kt = tile.transpose %k : !T -> !T
    %s = tile.mma a(%q) b(%kt) : (!Q, !T) -> !S
    tile.yield %s : !S
  }
  tile.def @softmax(%s: !S, %d: !row, %l: !row, %c: f32, %qi: i32, %j: i32, %sq: i32, %sk: i32, %edge: i1)
      -> (!Pa, !Pb, !row, !row, !row) {
    %ninf = arith.constant 0xFF800000 : f32
    %none = tile.splat %ninf : f32 -> !row
    %x = scf.if %edge -> (!S) {
      %y = tile.mask %s block(%qi, %j) [#attn.causal] extents(%sq, %sk) : !S
      scf.yield %y : !S
    } else {
      scf.yield %s : !S
    }
    %top = tile.row_max %x init(%none) : !S -> !row
    %d1, %use, %a = tile.online_max %top from(%d) scale(%c) lag(8.0) : !row
    %z = tile.map (%v = %x, %off = %use) : (!S, !row) -> !S {
      %f = math.fma %v, %c, %off : f32
      tile.yield %f : f32
    }
    %za = tile.slice %z columns 0 to 96 : !S -> !Sa
    %zb = tile.slice %z columns 96 to 128 : !S -> !Sb
    %ea = tile.exp2 %za share(#emu) : !Sa
    %pa = tile.cast %ea : !Sa -> !Pa
    %eb = tile.exp2 %zb share(#emu) from(96) : !Sb
    %pb = tile.cast %eb : !Sb -> !Pb
    %la = tile.map (%sum = %l, %f = %a) : (!row, !row) -> !row {
      %p = arith.mulf %sum, %f : f32
      tile.yield %p : f32
    }
    %lb = tile.row_sum %ea init(%la) : !Sa -> !row
    %l1 = tile.row_sum %eb init(%lb) : !Sb -> !row
    tile.yield %pa, %pb, %a, %d1, %l1 : !Pa, !Pb, !row, !row, !row
  }
  tile.def @rescale(%o: !S, %a: !row) -> !S {
    %r = tile.scale_rows %o by %a likely_one : !S, !row
    tile.yield %r : !S
  }
  tile.def @pv(%pa: !Pa, %pb: !Pb, %v: !T, %o: !S, %first: i1) -> !S {
    %va = tile.slice %v rows 0 to 96 : !T -> !Va
    %vb = tile.slice %v rows 96 to 128 : !T -> !Vb
    %x = tile.mma a(%pa) b(%va) onto(%o) unless(%first) : (!Pa, !Va, !S) -> !S
    %y = tile.mma a(%pb) b(%vb) onto(%x) : (!Pb, !Vb, !S) -> !S
    tile.yield %y : !S
  }
  // A row without a key: sum 0 gives o = 0 and lse = -inf (R1). A NaN sum stays NaN (M7).
  tile.def @finish(%o: !S, %d: !row, %l: !row, %L: !gl, %b: i32, %h: i32, %qi: i32) -> !Q {
    %inv, %lse = tile.map (%ref = %d, %sum = %l) : (!row, !row) -> (!row, !row) {
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      %inf = arith.constant 0x7F800000 : f32
      %ninf = arith.constant 0xFF800000 : f32
      %ln2 = arith.constant 0.693147182 : f32
      %empty = arith.cmpf oeq, %sum, %zero : f32
      %r = arith.divf %one, %sum : f32
      %i = arith.select %empty, %zero, %r : f32
      %unseen = arith.cmpf oeq, %ref, %inf : f32
      %use = arith.select %unseen, %zero, %ref : f32
      %log = math.log2 %sum : f32
      %diff = arith.subf %log, %use : f32
      %nat = arith.mulf %diff, %ln2 : f32
      %e = arith.select %empty, %ninf, %nat : f32
      tile.yield %i, %e : f32, f32
    }
    tile.store %lse to %L[%b, %h, %qi] : !row, !gl
    %y = tile.scale_rows %o by %inv : !S, !row
    %t = tile.cast %y : !S -> !Q
    tile.yield %t : !Q
  }

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

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0x7F800000 : f32
  tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work {
    %zo = tile.splat %zero : f32 -> !S
    %zl = tile.splat %zero : f32 -> !row
    %di = tile.splat %inf : f32 -> !row
    %qa = tile.step @load_q[0](%Q, %b, %q0, %h) : (!gq, i32, i32, i32) -> !Q
    %qb = tile.step @load_q[1](%Q, %b, %q1, %h) : (!gq, i32, i32, i32) -> !Q
    %o0, %o1, %d0, %d1, %l0, %l1 = scf.for %i = %c0 to %n step %c1
        iter_args(%oa = %zo, %ob = %zo, %da = %di, %db = %di, %la = %zl, %lb = %zl)
        -> (!S, !S, !row, !row, !row, !row) : i32 {
      %first = arith.cmpi eq, %i, %c0 : i32
      %edge = arith.cmpi slt, %i, %ne : i32
      %j = arith.subi %j0, %i : i32
      %k = tile.step @load_k(%K, %b, %j, %kvh) : (!g, i32, i32, i32) -> !T
      %v = tile.step @load_v(%V, %b, %j, %kvh) : (!g, i32, i32, i32) -> !T
      %s0 = tile.step @qk[0](%qa, %k) : (!Q, !T) -> !S
      %pa0, %pb0, %a0, %nd0, %nl0 = tile.step @softmax[0](%s0, %da, %la, %c, %q0, %j, %sq, %sk, %edge)
          : (!S, !row, !row, f32, i32, i32, i32, i32, i1) -> (!Pa, !Pb, !row, !row, !row)
      %r0 = tile.step @rescale[0](%oa, %a0) unless(%first) : (!S, !row) -> !S
      %w0 = tile.step @pv[0](%pa0, %pb0, %v, %r0, %first) : (!Pa, !Pb, !T, !S, i1) -> !S
      %s1 = tile.step @qk[1](%qb, %k) : (!Q, !T) -> !S
      %pa1, %pb1, %a1, %nd1, %nl1 = tile.step @softmax[1](%s1, %db, %lb, %c, %q1, %j, %sq, %sk, %edge)
          : (!S, !row, !row, f32, i32, i32, i32, i32, i1) -> (!Pa, !Pb, !row, !row, !row)
      %r1 = tile.step @rescale[1](%ob, %a1) unless(%first) : (!S, !row) -> !S
      %w1 = tile.step @pv[1](%pa1, %pb1, %v, %r1, %first) : (!Pa, !Pb, !T, !S, i1) -> !S
      scf.yield %w0, %w1, %nd0, %nd1, %nl0, %nl1 : !S, !S, !row, !row, !row, !row
    }
    %t0 = tile.step @finish[0](%o0, %d0, %l0, %L, %b, %h, %q0) : (!S, !row, !row, !gl, i32, i32, i32) -> !Q
    tile.step @store[0](%t0, %O, %b, %q0, %h) : (!Q, !gq, i32, i32, i32) -> ()
    %t1 = tile.step @finish[1](%o1, %d1, %l1, %L, %b, %h, %q1) : (!S, !row, !row, !gl, i32, i32, i32) -> !Q
    tile.step @store[1](%t1, %O, %b, %q1, %h) : (!Q, !gq, i32, i32, i32) -> ()
  }
}
