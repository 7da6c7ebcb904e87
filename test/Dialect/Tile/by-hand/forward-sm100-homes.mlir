// RUN: fa4-opt %s --verify-roundtrip

// forward-sm100-t0.mlir after tile-pipeline-loop and tile-assign-memory: steps are
// inlined, and what another role or a product takes is kept in a view.

#kmaj  = #tile.smem<k_major, 128>
#mnmaj = #tile.smem<mn_major, 128>
#mnpart = #tile.smem<mn_major, 128, panel = 16384>
#lin   = #tile.smem<linear>
#lanes = #tile.tmem<lanes>

!T   = !tile.frag<128x128xbf16>
!S   = !tile.frag<128x128xf32>
!row = !tile.frag<128xf32>
!Sa  = !tile.frag<128x96xf32>
!Sb  = !tile.frag<128x32xf32>
!Pa  = !tile.frag<128x96xbf16>
!Pb  = !tile.frag<128x32xbf16>
!Va  = !tile.frag<96x128xbf16>
!Vb  = !tile.frag<32x128xbf16>
!g   = !tile.global<1x128x1x128xbf16>
!gl  = !tile.global<1x1x128xf32>

#b200 = #fa4.target<"sm_100a">
#fwd = #fa4.schedule<forward, tile = 128 x 128, stages = 2, ctas = 1,
  work = static_persistent<longest_first>,
  order = [load_v at 1, softmax[0] at 1, rescale[0] at 1, pv[0] at 1, load_k at 0, qk[0] at 0,
           softmax[1] at 1, rescale[1] at 1, pv[1] at 1, qk[1] at 0],
  homes = [load_q = smem @q_mem as q, load_k = smem @kv_mem x 3 as k, load_v = smem @kv_mem x 3 as v, qk = tmem @sp_mem as s,
           softmax.0 = tmem @sp_mem column 64 as pa, softmax.1 = tmem @sp_mem column 112 as pb,
           softmax.2 = smem @stat_mem as alpha, pv = tmem @o_mem as o, finish.0 = smem @out_mem as out],
  roles = [softmax = {softmax} warps 4 x 2 at 0 regs 192, correction = {rescale, finish} warps 4 at 8 regs 72,
           mma = {qk, pv} warps 1 at 12 regs 56, store = {store} warps 1 at 13 regs 56,
           load = {load_q, load_k, load_v} warps 1 at 14 regs 56],
  split_p = [96, 32], rescale_log2_threshold = 8.0,
  exp2 = <degree 3, of 16 columns the last 4, chunks 1 to 2>,
  grain = [pb.full = warp], via = [alpha.full = named per_warp],
  early_acquire = [alpha], stagger = [alpha]>
#emu = #tile.exp2_share<degree = 3, period = 16, last = 4, first_chunk = 1, last_chunk = 2>

tile.kernel @fwd(%Q: !g, %K: !g, %V: !g, %O: !g, %L: !gl, %c: f32, %sq: i32, %sk: i32,
                 %hq: i32, %group: i32, %nb: i32, %nt: i32) target(#b200) schedule(#fwd) {
  // Pairs of Q tiles, longest first. j0: the highest KV block that a row of the
  // pair sees, -1 if none; n blocks down from it, of which the first ne need the mask.
  tile.work @work(%t) tiles(%nt : i32) uses(%sq, %sk, %hq, %group, %nb : i32, i32, i32, i32, i32)
      -> (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) facts(1 <= %n, 1 <= %ne, %ne <= %n) {
    %m1 = arith.constant -1 : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c128 = arith.constant 128 : i32
    %c256 = arith.constant 256 : i32
    %pairs = arith.ceildivsi %sq, %c256 : i32
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
    %row0 = arith.muli %m, %c256 : i32
    %end = arith.addi %row0, %c256 : i32
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
  tile.alloc @kv_mem[3] : smem 32768 bytes
  tile.alloc @sp_mem[2] : tmem 128 columns
  tile.alloc @stat_mem[2] : smem 1024 bytes
  tile.alloc @o_mem[2] : tmem 128 columns
  tile.alloc @out_mem[2] : smem 32768 bytes

  tile.view @Q of @q_mem : 128x128xbf16, #kmaj
  tile.view @K of @kv_mem : 128x128xbf16, #kmaj
  tile.view @V of @kv_mem : 128x128xbf16, #mnmaj
  tile.view @Va of @kv_mem : 96x128xbf16, #mnpart
  tile.view @Vb of @kv_mem at byte 12288 : 32x128xbf16, #mnpart
  tile.view @S of @sp_mem : 128x128xf32, #lanes
  tile.view @Pa of @sp_mem at column 64 : 128x96xbf16, #lanes
  tile.view @Pb of @sp_mem at column 112 : 128x32xbf16, #lanes
  tile.view @Alpha of @stat_mem : 128xf32, #lin
  tile.view @Alpha_1 of @stat_mem at byte 512 : 128xf32, #lin
  tile.view @O of @o_mem : 128x128xf32, #lanes
  tile.view @Out of @out_mem : 128x128xbf16, #kmaj

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %nil = arith.constant 0.0 : f32
  %pinf = arith.constant 0x7F800000 : f32
  tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work {
    %zo = tile.splat %nil : f32 -> !S
    %zl = tile.splat %nil : f32 -> !row
    %di = tile.splat %pinf : f32 -> !row
    %k0 = tile.inlined_step @load_k -> (!T) {
      %x = tile.load %K[%b, %j0, %kvh] : !g -> !T
      %k = tile.keep %x in @K : !T
      tile.yield %k : !T
    }
    %qa = tile.inlined_step @load_q[0] -> (!T) {
      %x = tile.load %Q[%b, %q0, %h] : !g -> !T
      %k = tile.keep %x in @Q[0] : !T
      tile.yield %k : !T
    }
    %p0 = tile.inlined_step @qk[0] -> (!S) {
      %kt = tile.transpose %k0 : !T -> !T
      %x = tile.mma a(%qa) b(%kt) : (!T, !T) -> !S
      %k = tile.keep %x in @S[0] : !S
      tile.yield %k : !S
    }
    %qb = tile.inlined_step @load_q[1] -> (!T) {
      %x = tile.load %Q[%b, %q1, %h] : !g -> !T
      %k = tile.keep %x in @Q[1] : !T
      tile.yield %k : !T
    }
    %p1 = tile.inlined_step @qk[1] -> (!S) {
      %kt = tile.transpose %k0 : !T -> !T
      %x = tile.mma a(%qb) b(%kt) : (!T, !T) -> !S
      %k = tile.keep %x in @S[1] : !S
      tile.yield %k : !S
    }
    %on0, %on1, %dn0, %dn1, %ln0, %ln1, %s0e, %s1e = scf.for %i = %c1 to %n step %c1
        iter_args(%oa = %zo, %ob = %zo, %da = %di, %db = %di, %la0 = %zl, %la1 = %zl, %s0 = %p0, %s1 = %p1)
        -> (!S, !S, !row, !row, !row, !row, !S, !S) : i32 {
      %im1 = arith.subi %i, %c1 : i32
      %jv = arith.subi %j0, %im1 : i32
      %v = tile.inlined_step @load_v -> (!T) {
        %x = tile.load %V[%b, %jv, %kvh] : !g -> !T
        %k = tile.keep %x in @V : !T
        tile.yield %k : !T
      }
      %edge = arith.cmpi slt, %im1, %ne : i32
      %pa0, %pb0, %a0, %nd0, %nl0 = tile.inlined_step @softmax[0] -> (!Pa, !Pb, !row, !row, !row) {
        %ninf = arith.constant 0xFF800000 : f32
        %fill = tile.splat %ninf : f32 -> !row
        %x = scf.if %edge -> (!S) {
          %y = tile.mask %s0 block(%q0, %jv) [#attn.causal] extents(%sq, %sk) : !S
          scf.yield %y : !S
        } else {
          scf.yield %s0 : !S
        }
        %top = tile.row_max %x init(%fill) : !S -> !row
        %d1, %use, %a = tile.online_max %top from(%da) scale(%c) lag(8.0) : !row
        %ka = tile.keep %a in @Alpha[0] : !row
        %z = tile.map (%score = %x, %off = %use) : (!S, !row) -> !S {
          %f = math.fma %score, %c, %off : f32
          tile.yield %f : f32
        }
        %za = tile.slice %z columns 0 to 96 : !S -> !Sa
        %zb = tile.slice %z columns 96 to 128 : !S -> !Sb
        %ea = tile.exp2 %za share(#emu) : !Sa
        %pa = tile.cast %ea : !Sa -> !Pa
        %ka2 = tile.keep %pa in @Pa[0] : !Pa
        %eb = tile.exp2 %zb share(#emu) from(96) : !Sb
        %pb = tile.cast %eb : !Sb -> !Pb
        %kb = tile.keep %pb in @Pb[0] : !Pb
        %la = tile.map (%sum = %la0, %f = %a) : (!row, !row) -> !row {
          %p = arith.mulf %sum, %f : f32
          tile.yield %p : f32
        }
        %lb = tile.row_sum %ea init(%la) : !Sa -> !row
        %l1 = tile.row_sum %eb init(%lb) : !Sb -> !row
        tile.yield %ka2, %kb, %ka, %d1, %l1 : !Pa, !Pb, !row, !row, !row
      }
      %first = arith.cmpi eq, %i, %c1 : i32
      %r0 = tile.inlined_step @rescale[0] unless(%first) passing(%oa : !S) -> (!S) {
        %x = tile.scale_rows %oa by %a0 likely_one : !S, !row
        %k = tile.keep %x in @O[0] : !S
        tile.yield %k : !S
      }
      %w0 = tile.inlined_step @pv[0] -> (!S) {
        %va = tile.slice %v rows 0 to 96 : !T -> !Va
        %vb = tile.slice %v rows 96 to 128 : !T -> !Vb
        %x = tile.mma a(%pa0) b(%va) onto(%r0) unless(%first) : (!Pa, !Va, !S) -> !S
        %kx = tile.keep %x in @O[0] : !S
        %y = tile.mma a(%pb0) b(%vb) onto(%kx) : (!Pb, !Vb, !S) -> !S
        %ky = tile.keep %y in @O[0] : !S
        tile.yield %ky : !S
      }
      %jk = arith.subi %j0, %i : i32
      %kj = tile.inlined_step @load_k -> (!T) {
        %x = tile.load %K[%b, %jk, %kvh] : !g -> !T
        %k = tile.keep %x in @K : !T
        tile.yield %k : !T
      }
      %x0 = tile.inlined_step @qk[0] -> (!S) {
        %kt = tile.transpose %kj : !T -> !T
        %x = tile.mma a(%qa) b(%kt) : (!T, !T) -> !S
        %k = tile.keep %x in @S[0] : !S
        tile.yield %k : !S
      }
      %pa1, %pb1, %a1, %nd1, %nl1 = tile.inlined_step @softmax[1] -> (!Pa, !Pb, !row, !row, !row) {
        %ninf = arith.constant 0xFF800000 : f32
        %fill = tile.splat %ninf : f32 -> !row
        %x = scf.if %edge -> (!S) {
          %y = tile.mask %s1 block(%q1, %jv) [#attn.causal] extents(%sq, %sk) : !S
          scf.yield %y : !S
        } else {
          scf.yield %s1 : !S
        }
        %top = tile.row_max %x init(%fill) : !S -> !row
        %d1, %use, %a = tile.online_max %top from(%db) scale(%c) lag(8.0) : !row
        %ka = tile.keep %a in @Alpha[1] : !row
        %z = tile.map (%score = %x, %off = %use) : (!S, !row) -> !S {
          %f = math.fma %score, %c, %off : f32
          tile.yield %f : f32
        }
        %za = tile.slice %z columns 0 to 96 : !S -> !Sa
        %zb = tile.slice %z columns 96 to 128 : !S -> !Sb
        %ea = tile.exp2 %za share(#emu) : !Sa
        %pa = tile.cast %ea : !Sa -> !Pa
        %ka2 = tile.keep %pa in @Pa[1] : !Pa
        %eb = tile.exp2 %zb share(#emu) from(96) : !Sb
        %pb = tile.cast %eb : !Sb -> !Pb
        %kb = tile.keep %pb in @Pb[1] : !Pb
        %la = tile.map (%sum = %la1, %f = %a) : (!row, !row) -> !row {
          %p = arith.mulf %sum, %f : f32
          tile.yield %p : f32
        }
        %lb = tile.row_sum %ea init(%la) : !Sa -> !row
        %l1 = tile.row_sum %eb init(%lb) : !Sb -> !row
        tile.yield %ka2, %kb, %ka, %d1, %l1 : !Pa, !Pb, !row, !row, !row
      }
      %r1 = tile.inlined_step @rescale[1] unless(%first) passing(%ob : !S) -> (!S) {
        %x = tile.scale_rows %ob by %a1 likely_one : !S, !row
        %k = tile.keep %x in @O[1] : !S
        tile.yield %k : !S
      }
      %w1 = tile.inlined_step @pv[1] -> (!S) {
        %va = tile.slice %v rows 0 to 96 : !T -> !Va
        %vb = tile.slice %v rows 96 to 128 : !T -> !Vb
        %x = tile.mma a(%pa1) b(%va) onto(%r1) unless(%first) : (!Pa, !Va, !S) -> !S
        %kx = tile.keep %x in @O[1] : !S
        %y = tile.mma a(%pb1) b(%vb) onto(%kx) : (!Pb, !Vb, !S) -> !S
        %ky = tile.keep %y in @O[1] : !S
        tile.yield %ky : !S
      }
      %x1 = tile.inlined_step @qk[1] -> (!S) {
        %kt = tile.transpose %kj : !T -> !T
        %x = tile.mma a(%qb) b(%kt) : (!T, !T) -> !S
        %k = tile.keep %x in @S[1] : !S
        tile.yield %k : !S
      }
      scf.yield %w0, %w1, %nd0, %nd1, %nl0, %nl1, %x0, %x1 : !S, !S, !row, !row, !row, !row, !S, !S
    }
    %nm1 = arith.subi %n, %c1 : i32
    %jl = arith.subi %j0, %nm1 : i32
    %vl = tile.inlined_step @load_v -> (!T) {
      %x = tile.load %V[%b, %jl, %kvh] : !g -> !T
      %k = tile.keep %x in @V : !T
      tile.yield %k : !T
    }
    %edge = arith.cmpi slt, %nm1, %ne : i32
    %pa0, %pb0, %a0, %md0, %ml0 = tile.inlined_step @softmax[0] -> (!Pa, !Pb, !row, !row, !row) {
      %ninf = arith.constant 0xFF800000 : f32
      %fill = tile.splat %ninf : f32 -> !row
      %x = scf.if %edge -> (!S) {
        %y = tile.mask %s0e block(%q0, %jl) [#attn.causal] extents(%sq, %sk) : !S
        scf.yield %y : !S
      } else {
        scf.yield %s0e : !S
      }
      %top = tile.row_max %x init(%fill) : !S -> !row
      %d1, %use, %a = tile.online_max %top from(%dn0) scale(%c) lag(8.0) : !row
      %ka = tile.keep %a in @Alpha[0] : !row
      %z = tile.map (%score = %x, %off = %use) : (!S, !row) -> !S {
        %f = math.fma %score, %c, %off : f32
        tile.yield %f : f32
      }
      %za = tile.slice %z columns 0 to 96 : !S -> !Sa
      %zb = tile.slice %z columns 96 to 128 : !S -> !Sb
      %ea = tile.exp2 %za share(#emu) : !Sa
      %pa = tile.cast %ea : !Sa -> !Pa
      %ka2 = tile.keep %pa in @Pa[0] : !Pa
      %eb = tile.exp2 %zb share(#emu) from(96) : !Sb
      %pb = tile.cast %eb : !Sb -> !Pb
      %kb = tile.keep %pb in @Pb[0] : !Pb
      %la = tile.map (%sum = %ln0, %f = %a) : (!row, !row) -> !row {
        %p = arith.mulf %sum, %f : f32
        tile.yield %p : f32
      }
      %lb = tile.row_sum %ea init(%la) : !Sa -> !row
      %l1 = tile.row_sum %eb init(%lb) : !Sb -> !row
      tile.yield %ka2, %kb, %ka, %d1, %l1 : !Pa, !Pb, !row, !row, !row
    }
    %last = arith.cmpi eq, %n, %c1 : i32
    %r0 = tile.inlined_step @rescale[0] unless(%last) passing(%on0 : !S) -> (!S) {
      %x = tile.scale_rows %on0 by %a0 likely_one : !S, !row
      %k = tile.keep %x in @O[0] : !S
      tile.yield %k : !S
    }
    %f0 = tile.inlined_step @pv[0] -> (!S) {
      %va = tile.slice %vl rows 0 to 96 : !T -> !Va
      %vb = tile.slice %vl rows 96 to 128 : !T -> !Vb
      %x = tile.mma a(%pa0) b(%va) onto(%r0) unless(%last) : (!Pa, !Va, !S) -> !S
      %kx = tile.keep %x in @O[0] : !S
      %y = tile.mma a(%pb0) b(%vb) onto(%kx) : (!Pb, !Vb, !S) -> !S
      %ky = tile.keep %y in @O[0] : !S
      tile.yield %ky : !S
    }
    %pa1, %pb1, %a1, %md1, %ml1 = tile.inlined_step @softmax[1] -> (!Pa, !Pb, !row, !row, !row) {
      %ninf = arith.constant 0xFF800000 : f32
      %fill = tile.splat %ninf : f32 -> !row
      %x = scf.if %edge -> (!S) {
        %y = tile.mask %s1e block(%q1, %jl) [#attn.causal] extents(%sq, %sk) : !S
        scf.yield %y : !S
      } else {
        scf.yield %s1e : !S
      }
      %top = tile.row_max %x init(%fill) : !S -> !row
      %d1, %use, %a = tile.online_max %top from(%dn1) scale(%c) lag(8.0) : !row
      %ka = tile.keep %a in @Alpha[1] : !row
      %z = tile.map (%score = %x, %off = %use) : (!S, !row) -> !S {
        %f = math.fma %score, %c, %off : f32
        tile.yield %f : f32
      }
      %za = tile.slice %z columns 0 to 96 : !S -> !Sa
      %zb = tile.slice %z columns 96 to 128 : !S -> !Sb
      %ea = tile.exp2 %za share(#emu) : !Sa
      %pa = tile.cast %ea : !Sa -> !Pa
      %ka2 = tile.keep %pa in @Pa[1] : !Pa
      %eb = tile.exp2 %zb share(#emu) from(96) : !Sb
      %pb = tile.cast %eb : !Sb -> !Pb
      %kb = tile.keep %pb in @Pb[1] : !Pb
      %la = tile.map (%sum = %ln1, %f = %a) : (!row, !row) -> !row {
        %p = arith.mulf %sum, %f : f32
        tile.yield %p : f32
      }
      %lb = tile.row_sum %ea init(%la) : !Sa -> !row
      %l1 = tile.row_sum %eb init(%lb) : !Sb -> !row
      tile.yield %ka2, %kb, %ka, %d1, %l1 : !Pa, !Pb, !row, !row, !row
    }
    %r1 = tile.inlined_step @rescale[1] unless(%last) passing(%on1 : !S) -> (!S) {
      %x = tile.scale_rows %on1 by %a1 likely_one : !S, !row
      %k = tile.keep %x in @O[1] : !S
      tile.yield %k : !S
    }
    %f1 = tile.inlined_step @pv[1] -> (!S) {
      %va = tile.slice %vl rows 0 to 96 : !T -> !Va
      %vb = tile.slice %vl rows 96 to 128 : !T -> !Vb
      %x = tile.mma a(%pa1) b(%va) onto(%r1) unless(%last) : (!Pa, !Va, !S) -> !S
      %kx = tile.keep %x in @O[1] : !S
      %y = tile.mma a(%pb1) b(%vb) onto(%kx) : (!Pb, !Vb, !S) -> !S
      %ky = tile.keep %y in @O[1] : !S
      tile.yield %ky : !S
    }
    %fd0 = tile.keep %md0 in @Alpha[0] : !row
    %fl0 = tile.keep %ml0 in @Alpha_1[0] : !row
    %t0 = tile.inlined_step @finish[0] -> (!T) {
      %inv, %lse = tile.map (%ref = %fd0, %sum = %fl0) : (!row, !row) -> (!row, !row) {
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
      tile.store %lse to %L[%b, %h, %q0] : !row, !gl
      %y = tile.scale_rows %f0 by %inv : !S, !row
      %t = tile.cast %y : !S -> !T
      %k = tile.keep %t in @Out[0] : !T
      tile.yield %k : !T
    }
    tile.inlined_step @store[0] {
      tile.store %t0 to %O[%b, %q0, %h] : !T, !g
    }
    %fd1 = tile.keep %md1 in @Alpha[1] : !row
    %fl1 = tile.keep %ml1 in @Alpha_1[1] : !row
    %t1 = tile.inlined_step @finish[1] -> (!T) {
      %inv, %lse = tile.map (%ref = %fd1, %sum = %fl1) : (!row, !row) -> (!row, !row) {
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
      tile.store %lse to %L[%b, %h, %q1] : !row, !gl
      %y = tile.scale_rows %f1 by %inv : !S, !row
      %t = tile.cast %y : !S -> !T
      %k = tile.keep %t in @Out[1] : !T
      tile.yield %k : !T
    }
    tile.inlined_step @store[1] {
      tile.store %t1 to %O[%b, %q1, %h] : !T, !g
    }
  }
}
