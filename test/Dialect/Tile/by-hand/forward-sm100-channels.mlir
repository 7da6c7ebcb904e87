// RUN: fa4-opt %s --verify-roundtrip

// forward-sm100-homes.mlir after tile-insert-channels: still one thread of values,
// with the tokens that order its roles.

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

  tile.channel @q[2] depth(1) from(@load) to(@mma) carries(@Q)
  tile.channel @kv depth(3) from(@load) to(@mma) carries(@K, @V, @Va, @Vb)
  tile.channel @s[2] depth(1) from(@mma) to(@softmax each) carries(@S) empty(thread)
  tile.channel @pa[2] depth(1) from(@softmax each) to(@mma) carries(@Pa) full(thread)
  tile.channel @pb[2] depth(1) from(@softmax each) to(@mma) carries(@Pb) full(warp)
  tile.channel @alpha[2] depth(1) from(@softmax each) to(@correction) carries(@Alpha, @Alpha_1)
      full(named_per_warp) empty(thread)
  tile.channel @o[2] depth(1) from(@mma) to(@correction) carries(@O) empty(thread)
  tile.channel @out[2] depth(1) from(@correction) to(@store) carries(@Out) full(thread)

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %nil = arith.constant 0.0 : f32
  %pinf = arith.constant 0x7F800000 : f32
  tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work {
    %zo = tile.splat %nil : f32 -> !S
    %zl = tile.splat %nil : f32 -> !row
    %di = tile.splat %pinf : f32 -> !row
    %k0 = tile.inlined_step @load_k -> (!T) {
      %t = tile.acquire @kv
      %x = tile.load %K[%b, %j0, %kvh] : !g -> !T
      %k = tile.keep %x in %t as @K : !T
      tile.commit %t
      tile.yield %k : !T
    }
    %qa = tile.inlined_step @load_q[0] -> (!T) {
      %t = tile.acquire @q[0]
      %x = tile.load %Q[%b, %q0, %h] : !g -> !T
      %k = tile.keep %x in %t as @Q : !T
      tile.commit %t
      tile.yield %k : !T
    }
    %uk0 = tile.wait @kv
    %uq0 = tile.wait @q[0]
    %p0 = tile.inlined_step @qk[0] -> (!S) {
      %kt = tile.transpose %k0 : !T -> !T
      %t = tile.acquire @s[0]
      %qu = tile.use %qa from %uq0 as @Q : !T
      %ku = tile.use %kt from %uk0 as @K : !T
      %x = tile.mma a(%qu) b(%ku) : (!T, !T) -> !S
      %k = tile.keep %x in %t as @S : !S
      tile.commit %t
      tile.yield %k : !S
    }
    %qb = tile.inlined_step @load_q[1] -> (!T) {
      %t = tile.acquire @q[1]
      %x = tile.load %Q[%b, %q1, %h] : !g -> !T
      %k = tile.keep %x in %t as @Q : !T
      tile.commit %t
      tile.yield %k : !T
    }
    %uq1 = tile.wait @q[1]
    %p1 = tile.inlined_step @qk[1] -> (!S) {
      %kt = tile.transpose %k0 : !T -> !T
      %t = tile.acquire @s[1]
      %qu = tile.use %qb from %uq1 as @Q : !T
      %ku = tile.use %kt from %uk0 as @K : !T
      %x = tile.mma a(%qu) b(%ku) : (!T, !T) -> !S
      %k = tile.keep %x in %t as @S : !S
      tile.commit %t
      tile.yield %k : !S
    }
    tile.release %uk0
    %at0 = tile.acquire @alpha[0]
    %at1 = tile.acquire @alpha[1]
    %none = tile.no_token
    %on0, %on1, %dn0, %dn1, %ln0, %ln1, %s0e, %s1e, %at0e, %at1e, %held = scf.for %i = %c1 to %n step %c1
        iter_args(%oa = %zo, %ob = %zo, %da = %di, %db = %di, %la0 = %zl, %la1 = %zl, %s0 = %p0, %s1 = %p1, %aa = %at0, %ab = %at1, %prev = %none)
        -> (!S, !S, !row, !row, !row, !row, !S, !S, !tile.token<write>, !tile.token<write>, !tile.token<read>) : i32 {
      %im1 = arith.subi %i, %c1 : i32
      %jv = arith.subi %j0, %im1 : i32
      %v = tile.inlined_step @load_v -> (!T) {
        %t = tile.acquire @kv
        %x = tile.load %V[%b, %jv, %kvh] : !g -> !T
        %k = tile.keep %x in %t as @V : !T
        tile.commit %t
        tile.yield %k : !T
      }
      %edge = arith.cmpi slt, %im1, %ne : i32
      %pa0, %pb0, %a0, %nd0, %nl0, %nt0 = tile.inlined_step @softmax[0] -> (!Pa, !Pb, !row, !row, !row, !tile.token<write>) {
        %ninf = arith.constant 0xFF800000 : f32
        %fill = tile.splat %ninf : f32 -> !row
        %u = tile.wait @s[0]
        %sv = tile.use %s0 from %u as @S : !S
        tile.release %u
        %x = scf.if %edge -> (!S) {
          %y = tile.mask %sv block(%q0, %jv) [#attn.causal] extents(%sq, %sk) : !S
          scf.yield %y : !S
        } else {
          scf.yield %sv : !S
        }
        %top = tile.row_max %x init(%fill) : !S -> !row
        %d1, %use, %a = tile.online_max %top from(%da) scale(%c) lag(8.0) : !row
        %ka = tile.keep %a in %aa as @Alpha : !row
        tile.commit %aa
        %z = tile.map (%score = %x, %off = %use) : (!S, !row) -> !S {
          %f = math.fma %score, %c, %off : f32
          tile.yield %f : f32
        }
        %za = tile.slice %z columns 0 to 96 : !S -> !Sa
        %zb = tile.slice %z columns 96 to 128 : !S -> !Sb
        %ea = tile.exp2 %za share(#emu) : !Sa
        %pa = tile.cast %ea : !Sa -> !Pa
        %ta = tile.acquire @pa[0]
        %ka2 = tile.keep %pa in %ta as @Pa : !Pa
        tile.commit %ta
        %eb = tile.exp2 %zb share(#emu) from(96) : !Sb
        %pb = tile.cast %eb : !Sb -> !Pb
        %tb = tile.acquire @pb[0]
        %kb = tile.keep %pb in %tb as @Pb : !Pb
        tile.commit %tb
        // Early: the slot of the next hand-over.
        %next = tile.acquire @alpha[0]
        %la = tile.map (%sum = %la0, %f = %a) : (!row, !row) -> !row {
          %p = arith.mulf %sum, %f : f32
          tile.yield %p : f32
        }
        %lb = tile.row_sum %ea init(%la) : !Sa -> !row
        %l1 = tile.row_sum %eb init(%lb) : !Sb -> !row
        tile.yield %ka2, %kb, %ka, %d1, %l1, %next : !Pa, !Pb, !row, !row, !row, !tile.token<write>
      }
      %first = arith.cmpi eq, %i, %c1 : i32
      %ua0 = tile.wait @alpha[0]
      %r0 = tile.inlined_step @rescale[0] unless(%first) passing(%oa : !S) -> (!S) {
        %av = tile.use %a0 from %ua0 as @Alpha : !row
        %u = tile.wait @o[0]
        %ov = tile.use %oa from %u as @O : !S
        %x = tile.scale_rows %ov by %av likely_one : !S, !row
        %k = tile.keep %x in over %u as @O : !S
        tile.release %u
        tile.yield %k : !S
      }
      // Staggered: stage 1 of the block before.
      tile.release %prev
      %uv = tile.wait @kv
      %w0 = tile.inlined_step @pv[0] -> (!S) {
        %va = tile.slice %v rows 0 to 96 : !T -> !Va
        %vb = tile.slice %v rows 96 to 128 : !T -> !Vb
        %t = tile.acquire @o[0]
        %ua = tile.wait @pa[0]
        %pau = tile.use %pa0 from %ua as @Pa : !Pa
        %vau = tile.use %va from %uv as @Va : !Va
        %x = tile.mma a(%pau) b(%vau) onto(%r0) unless(%first) : (!Pa, !Va, !S) -> !S
        %kx = tile.keep %x in %t as @O : !S
        tile.release %ua
        %ub = tile.wait @pb[0]
        %pbu = tile.use %pb0 from %ub as @Pb : !Pb
        %vbu = tile.use %vb from %uv as @Vb : !Vb
        %y = tile.mma a(%pbu) b(%vbu) onto(%kx) : (!Pb, !Vb, !S) -> !S
        %ky = tile.keep %y in %t as @O : !S
        tile.release %ub
        tile.commit %t
        tile.yield %ky : !S
      }
      %jk = arith.subi %j0, %i : i32
      %kj = tile.inlined_step @load_k -> (!T) {
        %t = tile.acquire @kv
        %x = tile.load %K[%b, %jk, %kvh] : !g -> !T
        %k = tile.keep %x in %t as @K : !T
        tile.commit %t
        tile.yield %k : !T
      }
      %uk = tile.wait @kv
      %x0 = tile.inlined_step @qk[0] -> (!S) {
        %kt = tile.transpose %kj : !T -> !T
        %t = tile.acquire @s[0]
        %qu = tile.use %qa from %uq0 as @Q : !T
        %ku = tile.use %kt from %uk as @K : !T
        %x = tile.mma a(%qu) b(%ku) : (!T, !T) -> !S
        %k = tile.keep %x in %t as @S : !S
        tile.commit %t
        tile.yield %k : !S
      }
      %pa1, %pb1, %a1, %nd1, %nl1, %nt1 = tile.inlined_step @softmax[1] -> (!Pa, !Pb, !row, !row, !row, !tile.token<write>) {
        %ninf = arith.constant 0xFF800000 : f32
        %fill = tile.splat %ninf : f32 -> !row
        %u = tile.wait @s[1]
        %sv = tile.use %s1 from %u as @S : !S
        tile.release %u
        %x = scf.if %edge -> (!S) {
          %y = tile.mask %sv block(%q1, %jv) [#attn.causal] extents(%sq, %sk) : !S
          scf.yield %y : !S
        } else {
          scf.yield %sv : !S
        }
        %top = tile.row_max %x init(%fill) : !S -> !row
        %d1, %use, %a = tile.online_max %top from(%db) scale(%c) lag(8.0) : !row
        %ka = tile.keep %a in %ab as @Alpha : !row
        tile.commit %ab
        %z = tile.map (%score = %x, %off = %use) : (!S, !row) -> !S {
          %f = math.fma %score, %c, %off : f32
          tile.yield %f : f32
        }
        %za = tile.slice %z columns 0 to 96 : !S -> !Sa
        %zb = tile.slice %z columns 96 to 128 : !S -> !Sb
        %ea = tile.exp2 %za share(#emu) : !Sa
        %pa = tile.cast %ea : !Sa -> !Pa
        %ta = tile.acquire @pa[1]
        %ka2 = tile.keep %pa in %ta as @Pa : !Pa
        tile.commit %ta
        %eb = tile.exp2 %zb share(#emu) from(96) : !Sb
        %pb = tile.cast %eb : !Sb -> !Pb
        %tb = tile.acquire @pb[1]
        %kb = tile.keep %pb in %tb as @Pb : !Pb
        tile.commit %tb
        // Early: the slot of the next hand-over.
        %next = tile.acquire @alpha[1]
        %la = tile.map (%sum = %la1, %f = %a) : (!row, !row) -> !row {
          %p = arith.mulf %sum, %f : f32
          tile.yield %p : f32
        }
        %lb = tile.row_sum %ea init(%la) : !Sa -> !row
        %l1 = tile.row_sum %eb init(%lb) : !Sb -> !row
        tile.yield %ka2, %kb, %ka, %d1, %l1, %next : !Pa, !Pb, !row, !row, !row, !tile.token<write>
      }
      %ua1 = tile.wait @alpha[1]
      %r1 = tile.inlined_step @rescale[1] unless(%first) passing(%ob : !S) -> (!S) {
        %av = tile.use %a1 from %ua1 as @Alpha : !row
        %u = tile.wait @o[1]
        %ov = tile.use %ob from %u as @O : !S
        %x = tile.scale_rows %ov by %av likely_one : !S, !row
        %k = tile.keep %x in over %u as @O : !S
        tile.release %u
        tile.yield %k : !S
      }
      tile.release %ua0
      %w1 = tile.inlined_step @pv[1] -> (!S) {
        %va = tile.slice %v rows 0 to 96 : !T -> !Va
        %vb = tile.slice %v rows 96 to 128 : !T -> !Vb
        %t = tile.acquire @o[1]
        %ua = tile.wait @pa[1]
        %pau = tile.use %pa1 from %ua as @Pa : !Pa
        %vau = tile.use %va from %uv as @Va : !Va
        %x = tile.mma a(%pau) b(%vau) onto(%r1) unless(%first) : (!Pa, !Va, !S) -> !S
        %kx = tile.keep %x in %t as @O : !S
        tile.release %ua
        %ub = tile.wait @pb[1]
        %pbu = tile.use %pb1 from %ub as @Pb : !Pb
        %vbu = tile.use %vb from %uv as @Vb : !Vb
        %y = tile.mma a(%pbu) b(%vbu) onto(%kx) : (!Pb, !Vb, !S) -> !S
        %ky = tile.keep %y in %t as @O : !S
        tile.release %ub
        tile.commit %t
        tile.yield %ky : !S
      }
      tile.release %uv
      %x1 = tile.inlined_step @qk[1] -> (!S) {
        %kt = tile.transpose %kj : !T -> !T
        %t = tile.acquire @s[1]
        %qu = tile.use %qb from %uq1 as @Q : !T
        %ku = tile.use %kt from %uk as @K : !T
        %x = tile.mma a(%qu) b(%ku) : (!T, !T) -> !S
        %k = tile.keep %x in %t as @S : !S
        tile.commit %t
        tile.yield %k : !S
      }
      tile.release %uk
      scf.yield %w0, %w1, %nd0, %nd1, %nl0, %nl1, %x0, %x1, %nt0, %nt1, %ua1 : !S, !S, !row, !row, !row, !row, !S, !S, !tile.token<write>, !tile.token<write>, !tile.token<read>
    }
    tile.release %uq0
    tile.release %uq1
    %nm1 = arith.subi %n, %c1 : i32
    %jl = arith.subi %j0, %nm1 : i32
    %vl = tile.inlined_step @load_v -> (!T) {
      %t = tile.acquire @kv
      %x = tile.load %V[%b, %jl, %kvh] : !g -> !T
      %k = tile.keep %x in %t as @V : !T
      tile.commit %t
      tile.yield %k : !T
    }
    %edge = arith.cmpi slt, %nm1, %ne : i32
    %pa0, %pb0, %a0, %md0, %ml0, %ft0 = tile.inlined_step @softmax[0] -> (!Pa, !Pb, !row, !row, !row, !tile.token<write>) {
      %ninf = arith.constant 0xFF800000 : f32
      %fill = tile.splat %ninf : f32 -> !row
      %u = tile.wait @s[0]
      %sv = tile.use %s0e from %u as @S : !S
      tile.release %u
      %x = scf.if %edge -> (!S) {
        %y = tile.mask %sv block(%q0, %jl) [#attn.causal] extents(%sq, %sk) : !S
        scf.yield %y : !S
      } else {
        scf.yield %sv : !S
      }
      %top = tile.row_max %x init(%fill) : !S -> !row
      %d1, %use, %a = tile.online_max %top from(%dn0) scale(%c) lag(8.0) : !row
      %ka = tile.keep %a in %at0e as @Alpha : !row
      tile.commit %at0e
      %z = tile.map (%score = %x, %off = %use) : (!S, !row) -> !S {
        %f = math.fma %score, %c, %off : f32
        tile.yield %f : f32
      }
      %za = tile.slice %z columns 0 to 96 : !S -> !Sa
      %zb = tile.slice %z columns 96 to 128 : !S -> !Sb
      %ea = tile.exp2 %za share(#emu) : !Sa
      %pa = tile.cast %ea : !Sa -> !Pa
      %ta = tile.acquire @pa[0]
      %ka2 = tile.keep %pa in %ta as @Pa : !Pa
      tile.commit %ta
      %eb = tile.exp2 %zb share(#emu) from(96) : !Sb
      %pb = tile.cast %eb : !Sb -> !Pb
      %tb = tile.acquire @pb[0]
      %kb = tile.keep %pb in %tb as @Pb : !Pb
      tile.commit %tb
      // Early: the slot of the next hand-over.
      %next = tile.acquire @alpha[0]
      %la = tile.map (%sum = %ln0, %f = %a) : (!row, !row) -> !row {
        %p = arith.mulf %sum, %f : f32
        tile.yield %p : f32
      }
      %lb = tile.row_sum %ea init(%la) : !Sa -> !row
      %l1 = tile.row_sum %eb init(%lb) : !Sb -> !row
      tile.yield %ka2, %kb, %ka, %d1, %l1, %next : !Pa, !Pb, !row, !row, !row, !tile.token<write>
    }
    %last = arith.cmpi eq, %n, %c1 : i32
    %ua0 = tile.wait @alpha[0]
    %r0 = tile.inlined_step @rescale[0] unless(%last) passing(%on0 : !S) -> (!S) {
      %av = tile.use %a0 from %ua0 as @Alpha : !row
      %u = tile.wait @o[0]
      %ov = tile.use %on0 from %u as @O : !S
      %x = tile.scale_rows %ov by %av likely_one : !S, !row
      %k = tile.keep %x in over %u as @O : !S
      tile.release %u
      tile.yield %k : !S
    }
    tile.release %held
    %uv = tile.wait @kv
    %f0 = tile.inlined_step @pv[0] -> (!S) {
      %va = tile.slice %vl rows 0 to 96 : !T -> !Va
      %vb = tile.slice %vl rows 96 to 128 : !T -> !Vb
      %t = tile.acquire @o[0]
      %ua = tile.wait @pa[0]
      %pau = tile.use %pa0 from %ua as @Pa : !Pa
      %vau = tile.use %va from %uv as @Va : !Va
      %x = tile.mma a(%pau) b(%vau) onto(%r0) unless(%last) : (!Pa, !Va, !S) -> !S
      %kx = tile.keep %x in %t as @O : !S
      tile.release %ua
      %ub = tile.wait @pb[0]
      %pbu = tile.use %pb0 from %ub as @Pb : !Pb
      %vbu = tile.use %vb from %uv as @Vb : !Vb
      %y = tile.mma a(%pbu) b(%vbu) onto(%kx) : (!Pb, !Vb, !S) -> !S
      %ky = tile.keep %y in %t as @O : !S
      tile.release %ub
      tile.commit %t
      tile.yield %ky : !S
    }
    %pa1, %pb1, %a1, %md1, %ml1, %ft1 = tile.inlined_step @softmax[1] -> (!Pa, !Pb, !row, !row, !row, !tile.token<write>) {
      %ninf = arith.constant 0xFF800000 : f32
      %fill = tile.splat %ninf : f32 -> !row
      %u = tile.wait @s[1]
      %sv = tile.use %s1e from %u as @S : !S
      tile.release %u
      %x = scf.if %edge -> (!S) {
        %y = tile.mask %sv block(%q1, %jl) [#attn.causal] extents(%sq, %sk) : !S
        scf.yield %y : !S
      } else {
        scf.yield %sv : !S
      }
      %top = tile.row_max %x init(%fill) : !S -> !row
      %d1, %use, %a = tile.online_max %top from(%dn1) scale(%c) lag(8.0) : !row
      %ka = tile.keep %a in %at1e as @Alpha : !row
      tile.commit %at1e
      %z = tile.map (%score = %x, %off = %use) : (!S, !row) -> !S {
        %f = math.fma %score, %c, %off : f32
        tile.yield %f : f32
      }
      %za = tile.slice %z columns 0 to 96 : !S -> !Sa
      %zb = tile.slice %z columns 96 to 128 : !S -> !Sb
      %ea = tile.exp2 %za share(#emu) : !Sa
      %pa = tile.cast %ea : !Sa -> !Pa
      %ta = tile.acquire @pa[1]
      %ka2 = tile.keep %pa in %ta as @Pa : !Pa
      tile.commit %ta
      %eb = tile.exp2 %zb share(#emu) from(96) : !Sb
      %pb = tile.cast %eb : !Sb -> !Pb
      %tb = tile.acquire @pb[1]
      %kb = tile.keep %pb in %tb as @Pb : !Pb
      tile.commit %tb
      // Early: the slot of the next hand-over.
      %next = tile.acquire @alpha[1]
      %la = tile.map (%sum = %ln1, %f = %a) : (!row, !row) -> !row {
        %p = arith.mulf %sum, %f : f32
        tile.yield %p : f32
      }
      %lb = tile.row_sum %ea init(%la) : !Sa -> !row
      %l1 = tile.row_sum %eb init(%lb) : !Sb -> !row
      tile.yield %ka2, %kb, %ka, %d1, %l1, %next : !Pa, !Pb, !row, !row, !row, !tile.token<write>
    }
    %ua1 = tile.wait @alpha[1]
    %r1 = tile.inlined_step @rescale[1] unless(%last) passing(%on1 : !S) -> (!S) {
      %av = tile.use %a1 from %ua1 as @Alpha : !row
      %u = tile.wait @o[1]
      %ov = tile.use %on1 from %u as @O : !S
      %x = tile.scale_rows %ov by %av likely_one : !S, !row
      %k = tile.keep %x in over %u as @O : !S
      tile.release %u
      tile.yield %k : !S
    }
    tile.release %ua0
    tile.release %ua1
    %f1 = tile.inlined_step @pv[1] -> (!S) {
      %va = tile.slice %vl rows 0 to 96 : !T -> !Va
      %vb = tile.slice %vl rows 96 to 128 : !T -> !Vb
      %t = tile.acquire @o[1]
      %ua = tile.wait @pa[1]
      %pau = tile.use %pa1 from %ua as @Pa : !Pa
      %vau = tile.use %va from %uv as @Va : !Va
      %x = tile.mma a(%pau) b(%vau) onto(%r1) unless(%last) : (!Pa, !Va, !S) -> !S
      %kx = tile.keep %x in %t as @O : !S
      tile.release %ua
      %ub = tile.wait @pb[1]
      %pbu = tile.use %pb1 from %ub as @Pb : !Pb
      %vbu = tile.use %vb from %uv as @Vb : !Vb
      %y = tile.mma a(%pbu) b(%vbu) onto(%kx) : (!Pb, !Vb, !S) -> !S
      %ky = tile.keep %y in %t as @O : !S
      tile.release %ub
      tile.commit %t
      tile.yield %ky : !S
    }
    tile.release %uv
    %fd0 = tile.keep %md0 in %ft0 as @Alpha : !row
    %fl0 = tile.keep %ml0 in %ft0 as @Alpha_1 : !row
    tile.commit %ft0
    %t0 = tile.inlined_step @finish[0] -> (!T) {
      %ua = tile.wait @alpha[0]
      %dv = tile.use %fd0 from %ua as @Alpha : !row
      %lv = tile.use %fl0 from %ua as @Alpha_1 : !row
      tile.release %ua
      %inv, %lse = tile.map (%ref = %dv, %sum = %lv) : (!row, !row) -> (!row, !row) {
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
      %uo = tile.wait @o[0]
      %ov = tile.use %f0 from %uo as @O : !S
      tile.release %uo
      %y = tile.scale_rows %ov by %inv : !S, !row
      %t = tile.cast %y : !S -> !T
      %to = tile.acquire @out[0]
      %k = tile.keep %t in %to as @Out : !T
      tile.commit %to
      tile.yield %k : !T
    }
    %ut0 = tile.wait @out[0]
    tile.inlined_step @store[0] {
      %y = tile.use %t0 from %ut0 as @Out : !T
      tile.store %y to %O[%b, %q0, %h] : !T, !g
    }
    %fd1 = tile.keep %md1 in %ft1 as @Alpha : !row
    %fl1 = tile.keep %ml1 in %ft1 as @Alpha_1 : !row
    tile.commit %ft1
    %t1 = tile.inlined_step @finish[1] -> (!T) {
      %ua = tile.wait @alpha[1]
      %dv = tile.use %fd1 from %ua as @Alpha : !row
      %lv = tile.use %fl1 from %ua as @Alpha_1 : !row
      tile.release %ua
      %inv, %lse = tile.map (%ref = %dv, %sum = %lv) : (!row, !row) -> (!row, !row) {
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
      %uo = tile.wait @o[1]
      %ov = tile.use %f1 from %uo as @O : !S
      tile.release %uo
      %y = tile.scale_rows %ov by %inv : !S, !row
      %t = tile.cast %y : !S -> !T
      %to = tile.acquire @out[1]
      %k = tile.keep %t in %to as @Out : !T
      tile.commit %to
      tile.yield %k : !T
    }
    %ut1 = tile.wait @out[1]
    tile.inlined_step @store[1] {
      %y = tile.use %t1 from %ut1 as @Out : !T
      tile.store %y to %O[%b, %q1, %h] : !T, !g
    }
    tile.release %ut0
    tile.release %ut1
  }
  tile.settle @kv
  tile.settle @q[0]
  tile.settle @q[1]
}
