// RUN: fa4-opt %s --tile-verify-t0 --verify-roundtrip

// Backward, causal, D = 128, bf16, one KV head per Q head: the program of a CTA pair
// as one logical thread. Scores are transposed: 256 keys by 128 queries. dQ goes to
// an f32 workspace by adding stores.

!K   = !tile.frag<256x128xbf16>
!T   = !tile.frag<128x128xbf16>
!Tk  = !tile.frag<128x256xbf16>
!S   = !tile.frag<256x128xf32>
!dQ  = !tile.frag<128x128xf32>
!col = !tile.frag<1x128xf32>
!gk  = !tile.global<1x256x1x128xbf16>
!g   = !tile.global<1x128x1x128xbf16>
!gl  = !tile.global<1x1x128xf32>
!ga  = !tile.global<1x128x1x128xf32>

#b200 = #fa4.target<"sm_100a">
#bwd = #fa4.schedule<backward, tile = 128 x 128, stages = 1, ctas = 2, work = one_per_cluster,
  order = [load_q at 0, load_lse at 0, s at 0, dk at 1, load_do at 0, dp at 0, p at 0, dq at 1, dv at 0,
           load_delta at 0, ds at 0, reduce at 1],
  homes = [s = tmem @sp_mem, p.0 = tmem @sp_mem column 0, dq = tmem @sp_mem column 64, dv = tmem @dv_mem,
           dp = tmem @dp_mem, ds.0 = tmem @dp_mem column 0, ds.1 = smem @ds_mem, ds.2 = smem @x_mem,
           dk = tmem @dk_mem],
  roles = [reduce = {reduce} warps 4 at 0 regs 136 ctas both,
           compute = {p, ds, finish} warps 8 at 4 regs 136 ctas both,
           mma = {s, dk, dp, dq, dv} warps 1 at 12 regs 104 ctas leader,
           load = {load_*} warps 1 at 13 regs 104 ctas both],
  reduce_columns = 8, reduce_depth = 4>

tile.kernel @bwd(%Q: !g, %K: !gk, %V: !gk, %dO: !g, %Lse: !gl, %Delta: !gl, %dQ: !ga, %dK: !gk, %dV: !gk,
                 %c: f32, %scale: f32, %sq: i32, %sk: i32, %hq: i32, %nt: i32) target(#b200) schedule(#bwd) {
  tile.def @load_k(%G: !gk, %b: i32, %j: i32, %h: i32) -> !K {
    %x = tile.load %G[%b, %j, %h] : !gk -> !K
    tile.yield %x : !K
  }
  tile.def @load_v(%G: !gk, %b: i32, %j: i32, %h: i32) -> !K {
    %x = tile.load %G[%b, %j, %h] : !gk -> !K
    tile.yield %x : !K
  }
  tile.def @load_q(%G: !g, %b: i32, %i: i32, %h: i32) -> !T {
    %x = tile.load %G[%b, %i, %h] : !g -> !T
    tile.yield %x : !T
  }
  tile.def @load_do(%G: !g, %b: i32, %i: i32, %h: i32) -> !T {
    %x = tile.load %G[%b, %i, %h] : !g -> !T
    tile.yield %x : !T
  }
  tile.def @load_lse(%G: !gl, %b: i32, %h: i32, %i: i32) -> !col {
    %c0 = arith.constant 0 : i32
    %c128 = arith.constant 128 : i32
    %qry0 = arith.muli %i, %c128 : i32
    // One number per column: a query is a column of the transposed scores.
    %x = tile.map () at(%one = %c0, %qry = %qry0) : () -> !col {
      %e = tile.fetch %G[%b, %h, %qry] : !gl -> f32
      tile.yield %e : f32
    }
    tile.yield %x : !col
  }
  tile.def @load_delta(%G: !gl, %b: i32, %h: i32, %i: i32) -> !col {
    %c0 = arith.constant 0 : i32
    %c128 = arith.constant 128 : i32
    %qry0 = arith.muli %i, %c128 : i32
    // One number per column: a query is a column of the transposed scores.
    %x = tile.map () at(%one = %c0, %qry = %qry0) : () -> !col {
      %e = tile.fetch %G[%b, %h, %qry] : !gl -> f32
      tile.yield %e : f32
    }
    tile.yield %x : !col
  }
  tile.def @s(%k: !K, %q: !T) -> !S {
    %qt = tile.transpose %q : !T -> !T
    %s = tile.mma a(%k) b(%qt) : (!K, !T) -> !S
    tile.yield %s : !S
  }
  tile.def @p(%s: !S, %lse: !col, %c: f32, %j: i32, %i: i32, %sq: i32, %sk: i32, %edge: i1) -> (!K, !S) {
    %c128 = arith.constant 128 : i32
    %c256 = arith.constant 256 : i32
    %shift = arith.subi %sk, %sq : i32
    %key0 = arith.muli %j, %c256 : i32
    %qry0 = arith.muli %i, %c128 : i32
    %x = scf.if %edge -> (!S) {
      %masked = tile.map (%e = %s) at(%key = %key0, %qry = %qry0) : (!S) -> !S {
        // Bottom-right alignment (M3), and the ends of both sequences.
        %minf = arith.constant 0xFF800000 : f32
        %aligned = arith.addi %qry, %shift : i32
        %seen = arith.cmpi sle, %key, %aligned : i32
        %inside = arith.cmpi slt, %key, %sk : i32
        %real = arith.cmpi slt, %qry, %sq : i32
        %both = arith.andi %seen, %inside : i1
        %keep = arith.andi %both, %real : i1
        %m = arith.select %keep, %e, %minf : f32
        tile.yield %m : f32
      }
      scf.yield %masked : !S
    } else {
      scf.yield %s : !S
    }
    %off = tile.map (%v = %lse) : (!col) -> !col {
      // A row without a key has lse = -inf and only masked scores.
      %log2e = arith.constant 1.44269502 : f32
      %zero_ = arith.constant 0.0 : f32
      %minf_ = arith.constant 0xFF800000 : f32
      %dead = arith.cmpf oeq, %v, %minf_ : f32
      %scaled = arith.mulf %v, %log2e : f32
      %neg = arith.negf %scaled : f32
      %o = arith.select %dead, %zero_, %neg : f32
      tile.yield %o : f32
    }
    %z = tile.map (%v = %x, %o = %off) : (!S, !col) -> !S {
      %f = math.fma %v, %c, %o : f32
      tile.yield %f : f32
    }
    %pf = tile.exp2 %z : !S
    %p = tile.cast %pf : !S -> !K
    tile.yield %p, %pf : !K, !S
  }
  tile.def @dp(%v: !K, %do: !T) -> !S {
    %dot = tile.transpose %do : !T -> !T
    %s = tile.mma a(%v) b(%dot) : (!K, !T) -> !S
    tile.yield %s : !S
  }
  tile.def @dv(%p: !K, %do: !T, %acc: !S, %first: i1) -> !S {
    %y = tile.mma a(%p) b(%do) onto(%acc) unless(%first) : (!K, !T, !S) -> !S
    tile.yield %y : !S
  }
  tile.def @ds(%pf: !S, %dp: !S, %del: !col) -> !K {
    %dsf = tile.map (%pe = %pf, %de = %dp, %le = %del) : (!S, !S, !col) -> !S {
      %diff_ = arith.subf %de, %le : f32
      %prod = arith.mulf %pe, %diff_ : f32
      tile.yield %prod : f32
    }
    %ds = tile.cast %dsf : !S -> !K
    tile.yield %ds : !K
  }
  tile.def @dk(%ds: !K, %q: !T, %acc: !S, %first: i1) -> !S {
    %y = tile.mma a(%ds) b(%q) onto(%acc) unless(%first) : (!K, !T, !S) -> !S
    tile.yield %y : !S
  }
  // Each CTA of the pair has half of the keys and needs half of the queries.
  tile.def @dq(%ds: !K, %k: !K) -> !dQ {
    %x = tile.redistribute %ds columns to peers : !K
    %t = tile.transpose %x : !K -> !Tk
    %y = tile.mma a(%t) b(%k) : (!Tk, !K) -> !dQ
    tile.yield %y : !dQ
  }
  tile.def @reduce(%x: !dQ, %G: !ga, %b: i32, %i: i32, %h: i32, %scale: f32) {
    %y = tile.map (%e = %x) : (!dQ) -> !dQ {
      %f = arith.mulf %e, %scale : f32
      tile.yield %f : f32
    }
    tile.store add %y to %G[%b, %i, %h] : !dQ, !ga
  }
  tile.def @finish(%dk: !S, %dv: !S, %scale: f32, %GK: !gk, %GV: !gk, %b: i32, %j: i32, %h: i32) {
    %vb = tile.cast %dv : !S -> !K
    tile.store %vb to %GV[%b, %j, %h] : !K, !gk
    %ks = tile.map (%e = %dk) : (!S) -> !S {
      %f = arith.mulf %e, %scale : f32
      tile.yield %f : f32
    }
    %kb = tile.cast %ks : !S -> !K
    tile.store %kb to %GK[%b, %j, %h] : !K, !gk
  }

  // Pairs of KV blocks (256 keys) of a head. i0: the first Q block of 128 rows that
  // sees a key of the pair; n blocks up from it, of which the first ne need the mask.
  tile.work @work(%t) tiles(%nt : i32) uses(%sq, %sk, %hq : i32, i32, i32)
      -> (%j, %h, %b, %i0, %n, %ne, %some) facts(0 <= %n, 0 <= %ne, %ne <= %n) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c128 = arith.constant 128 : i32
    %c255 = arith.constant 255 : i32
    %c256 = arith.constant 256 : i32
    %pairs = arith.ceildivsi %sk, %c256 : i32
    %j = arith.remsi %t, %pairs : i32
    %hb = arith.divsi %t, %pairs : i32
    %h = arith.remsi %hb, %hq : i32
    %b = arith.divsi %hb, %hq : i32
    %shift = arith.subi %sk, %sq : i32
    %key0 = arith.muli %j, %c256 : i32
    %row = arith.subi %key0, %shift : i32
    %row0 = arith.maxsi %row, %c0 : i32
    %i0 = arith.divsi %row0, %c128 : i32
    %blocks = arith.ceildivsi %sq, %c128 : i32
    %left = arith.subi %blocks, %i0 : i32
    %n = arith.maxsi %left, %c0 : i32
    // Blocks from ifull on see all keys of the pair, unless the pair passes the end.
    %keyl = arith.addi %key0, %c255 : i32
    %rowl = arith.subi %keyl, %shift : i32
    %ifull = arith.ceildivsi %rowl, %c128 : i32
    %diff = arith.subi %ifull, %i0 : i32
    %past = arith.cmpi sge, %keyl, %sk : i32
    %edges = arith.select %past, %n, %diff : i32
    %ne0 = arith.maxsi %edges, %c0 : i32
    %ne = arith.minsi %ne0, %n : i32
    %some = arith.minsi %n, %c1 : i32
    tile.yield %j, %h, %b, %i0, %n, %ne, %some : i32, i32, i32, i32, i32, i32, i32
  }

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  tile.for_each_tile (%j, %h, %b, %i0, %n, %ne, %some) in @work {
    %z = tile.splat %zero : f32 -> !S
    %k = tile.step @load_k(%K, %b, %j, %h) : (!gk, i32, i32, i32) -> !K
    %v = tile.step @load_v(%V, %b, %j, %h) : (!gk, i32, i32, i32) -> !K
    %dk, %dv = scf.for %t = %c0 to %n step %c1 iter_args(%ak = %z, %av = %z) -> (!S, !S) : i32 {
      %first = arith.cmpi eq, %t, %c0 : i32
      %edge = arith.cmpi slt, %t, %ne : i32
      %i = arith.addi %i0, %t : i32
      %q = tile.step @load_q(%Q, %b, %i, %h) : (!g, i32, i32, i32) -> !T
      %lse = tile.step @load_lse(%Lse, %b, %h, %i) : (!gl, i32, i32, i32) -> !col
      %do = tile.step @load_do(%dO, %b, %i, %h) : (!g, i32, i32, i32) -> !T
      %del = tile.step @load_delta(%Delta, %b, %h, %i) : (!gl, i32, i32, i32) -> !col
      %s = tile.step @s(%k, %q) : (!K, !T) -> !S
      %p, %pf = tile.step @p(%s, %lse, %c, %j, %i, %sq, %sk, %edge)
          : (!S, !col, f32, i32, i32, i32, i32, i1) -> (!K, !S)
      %dp = tile.step @dp(%v, %do) : (!K, !T) -> !S
      %nv = tile.step @dv(%p, %do, %av, %first) : (!K, !T, !S, i1) -> !S
      %ds = tile.step @ds(%pf, %dp, %del) : (!S, !S, !col) -> !K
      %nk = tile.step @dk(%ds, %q, %ak, %first) : (!K, !T, !S, i1) -> !S
      %dq = tile.step @dq(%ds, %k) : (!K, !K) -> !dQ
      tile.step @reduce(%dq, %dQ, %b, %i, %h, %scale) : (!dQ, !ga, i32, i32, i32, f32) -> ()
      scf.yield %nk, %nv : !S, !S
    }
    tile.step @finish(%dk, %dv, %scale, %dK, %dV, %b, %j, %h) : (!S, !S, f32, !gk, !gk, i32, i32, i32) -> ()
  }
}
