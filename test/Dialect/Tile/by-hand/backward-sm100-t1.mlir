// RUN: fa4-opt %s --tile-verify-t1 --verify-roundtrip

// The backward kernel of backward-sm100-t0.mlir on a CTA pair, in roles. The same
// tensors are seen through several grids, one per operand half. dQ is added to a
// workspace of [batch and head, block of 64 rows, eighth, lane, 8]: the order in
// which a folded accumulator lies on lanes; a later kernel puts it in order.

#rows2 = #tile.spread<rows2>
#cols2 = #tile.spread<columns2>
#rows  = #tile.spread<rows>
#kmaj  = #tile.smem<k_major, 128>
#mnmaj = #tile.smem<mn_major, 128>
#lin   = #tile.smem<linear>
#lanes = #tile.tmem<lanes>
#fold  = #tile.tmem<fold>

!S   = !tile.frag<128x128xf32, #rows2>
!T   = !tile.frag<128x128xbf16, #rows2>
!Ph  = !tile.frag<128x64xbf16, #rows2>
!col = !tile.frag<1x128xf32, #cols2>
!R   = !tile.frag<128x64xf32, #rows>
!Rp  = !tile.frag<128x8xf32, #rows>
!g   = !tile.global<1x128x1x128xbf16>
!gh  = !tile.global<1x64x1x128xbf16>
!gd  = !tile.global<1x128x1x64xbf16>
!gt  = !tile.global<1x256x1x64xbf16>
!gl  = !tile.global<1x1x128xf32>
!ga  = !tile.global<1x1x1x128x8xf32>

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

tile.kernel @bwd(%Q: !gh, %Qt: !gd, %K: !g, %Kt: !gt, %V: !g, %dO: !gd, %dOt: !gh, %Lse: !gl, %Delta: !gl,
                 %dQ: !ga, %dK: !g, %dV: !g, %c: f32, %scale: f32, %sq: i32, %sk: i32, %hq: i32, %nt: i32)
    target(#b200) schedule(#bwd) {
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

  tile.alloc @k_mem : smem 32768 bytes
  tile.alloc @kt_mem : smem 32768 bytes
  tile.alloc @v_mem : smem 32768 bytes
  tile.alloc @q_mem : smem 16384 bytes
  tile.alloc @qt_mem : smem 16384 bytes
  tile.alloc @do_mem : smem 32768 bytes
  tile.alloc @ds_mem : smem 32768 bytes
  tile.alloc @x_mem : smem 16384 bytes
  tile.alloc @acc_mem[4] : smem 4096 bytes
  tile.alloc @lse_mem : smem 512 bytes
  tile.alloc @del_mem : smem 512 bytes
  tile.alloc @sp_mem : tmem 128 columns
  tile.alloc @dv_mem : tmem 128 columns
  tile.alloc @dp_mem : tmem 128 columns
  tile.alloc @dk_mem : tmem 128 columns

  tile.view @K of @k_mem : 128x128xbf16, #kmaj
  // All keys of the pair, half of D.
  tile.view @Kt of @kt_mem : 256x64xbf16, #mnmaj
  tile.view @V of @v_mem : 128x128xbf16, #kmaj
  // Half of the queries; half of D.
  tile.view @Q of @q_mem : 64x128xbf16, #kmaj
  tile.view @Qt of @qt_mem : 128x64xbf16, #mnmaj
  tile.view @dO of @do_mem : 128x64xbf16, #mnmaj
  tile.view @dOt of @do_mem at byte 16384 : 64x128xbf16, #kmaj
  tile.view @dS of @ds_mem : 64x256xbf16, #mnmaj
  // Own keys; the peer fills the other half.
  tile.view @dSk of @ds_mem plus rank * 16384 : 64x128xbf16, #mnmaj
  tile.view @X of @x_mem : 64x128xbf16, #mnmaj
  tile.view @Lse of @lse_mem : 1x128xf32, #lin
  tile.view @Del of @del_mem : 1x128xf32, #lin
  tile.view @Acc of @acc_mem : 128x8xf32, #lin
  tile.view @S of @sp_mem : 128x128xf32, #lanes
  tile.view @P of @sp_mem : 128x128xbf16, #lanes
  // Over the upper half of S: 64 queries, and the same cells lane by lane.
  tile.view @dQc of @sp_mem at column 64 : 64x128xf32, #fold
  tile.view @dQl of @sp_mem at column 64 : 128x64xf32, #lanes
  tile.view @dP of @dp_mem : 128x128xf32, #lanes
  tile.view @dSt of @dp_mem : 128x128xbf16, #lanes
  tile.view @dVc of @dv_mem : 128x128xf32, #lanes
  tile.view @dKc of @dk_mem : 128x128xf32, #lanes
  // The results are staged over V and K.
  tile.view @dVo of @v_mem : 128x128xbf16, #kmaj
  tile.view @dKo of @k_mem : 128x128xbf16, #kmaj

  tile.channel @k depth(1) from(@load) to(@mma) carries(@K)
  tile.channel @v depth(1) from(@load) to(@mma) carries(@V)
  tile.channel @kt depth(1) from(@load) to(@mma) carries(@Kt)
  tile.channel @q depth(1) from(@load) to(@mma) carries(@Q)
  tile.channel @qt depth(1) from(@load) to(@mma) carries(@Qt)
  tile.channel @do depth(1) from(@load) to(@mma) carries(@dO, @dOt)
  tile.channel @lse depth(1) from(@load) to(@compute) carries(@Lse) empty(warp)
  tile.channel @del depth(1) from(@load) to(@compute) carries(@Del) empty(warp)
  tile.channel @s depth(1) from(@mma) to(@compute) carries(@S) empty(warp)
  tile.channel @p depth(1) from(@compute) to(@mma) carries(@P) full(warp)
  tile.channel @dp depth(1) from(@mma) to(@compute) carries(@dP) empty(warp)
  tile.channel @dst depth(1) from(@compute) to(@mma) carries(@dSt) full(warp)
  tile.channel @ds depth(1) from(@compute) to(@mma) carries(@dS, @dSk) full(warp)
  tile.channel @dsx depth(1) from(@compute) to(@mma) carries(@X) full(peer)
  tile.channel @dq depth(1) from(@mma) to(@reduce) carries(@dQc, @dQl) empty(warp)
  tile.channel @dv depth(1) from(@mma) to(@compute) carries(@dVc) empty(warp)
  tile.channel @dk depth(1) from(@mma) to(@compute) carries(@dKc) empty(warp)

  tile.role @load warps(1) ctas(both) rank(%rank)
      uses(%Q, %Qt, %K, %Kt, %V, %dO, %dOt, %Lse, %Delta : !gh, !gd, !g, !gt, !g, !gd, !gh, !gl, !gl) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    tile.for_each_tile (%j, %h, %b, %i0, %n, %ne, %some) in @work {
      %go = arith.cmpi ne, %some, %c0 : i32
      scf.if %go {
        %j2 = arith.muli %j, %c2 : i32
        %jr = arith.addi %j2, %rank : i32
        %i2 = arith.muli %i0, %c2 : i32
        %h0 = arith.addi %i2, %rank : i32
        %t_k0 = tile.acquire @k
        %e_k0 = tile.async_load %K[%b, %jr, %h] to %t_k0 as @K : !g
        tile.commit %t_k0 after(%e_k0)
        %t_q0 = tile.acquire @q
        %e_q0 = tile.async_load %Q[%b, %h0, %h] to %t_q0 as @Q : !gh
        tile.commit %t_q0 after(%e_q0)
        %t_lse0 = tile.acquire @lse
        %e_lse0 = tile.async_load %Lse[%b, %h, %i0] to %t_lse0 as @Lse : !gl
        tile.commit %t_lse0 after(%e_lse0)
        %t_v0 = tile.acquire @v
        %e_v0 = tile.async_load %V[%b, %jr, %h] to %t_v0 as @V : !g
        tile.commit %t_v0 after(%e_v0)
        %t_do0 = tile.acquire @do
        %e_do0 = tile.async_load %dO[%b, %i0, %h, %rank] to %t_do0 as @dO : !gd
        %e_do01 = tile.async_load %dOt[%b, %h0, %h] to %t_do0 as @dOt : !gh
        tile.commit %t_do0 after(%e_do0, %e_do01)
        %t_del0 = tile.acquire @del
        %e_del0 = tile.async_load %Delta[%b, %h, %i0] to %t_del0 as @Del : !gl
        tile.commit %t_del0 after(%e_del0)
        %t_kt0 = tile.acquire @kt
        %e_kt0 = tile.async_load %Kt[%b, %j, %h, %rank] to %t_kt0 as @Kt : !gt
        tile.commit %t_kt0 after(%e_kt0)
        scf.for %t = %c1 to %n step %c1 : i32 {
          %i = arith.addi %i0, %t : i32
          %ip = arith.subi %i, %c1 : i32
          %id = arith.muli %i, %c2 : i32
          %hi = arith.addi %id, %rank : i32
          %t_qtp = tile.acquire @qt
          %e_qtp = tile.async_load %Qt[%b, %ip, %h, %rank] to %t_qtp as @Qt : !gd
          tile.commit %t_qtp after(%e_qtp)
          %t_qi = tile.acquire @q
          %e_qi = tile.async_load %Q[%b, %hi, %h] to %t_qi as @Q : !gh
          tile.commit %t_qi after(%e_qi)
          %t_lsei = tile.acquire @lse
          %e_lsei = tile.async_load %Lse[%b, %h, %i] to %t_lsei as @Lse : !gl
          tile.commit %t_lsei after(%e_lsei)
          %t_doi = tile.acquire @do
          %e_doi = tile.async_load %dO[%b, %i, %h, %rank] to %t_doi as @dO : !gd
          %e_doi1 = tile.async_load %dOt[%b, %hi, %h] to %t_doi as @dOt : !gh
          tile.commit %t_doi after(%e_doi, %e_doi1)
          %t_deli = tile.acquire @del
          %e_deli = tile.async_load %Delta[%b, %h, %i] to %t_deli as @Del : !gl
          tile.commit %t_deli after(%e_deli)
        }
        %end = arith.addi %i0, %n : i32
        %il = arith.subi %end, %c1 : i32
        %t_qtl = tile.acquire @qt
        %e_qtl = tile.async_load %Qt[%b, %il, %h, %rank] to %t_qtl as @Qt : !gd
        tile.commit %t_qtl after(%e_qtl)
      }
    }
    // The matrix unit's last arrivals land before the CTA may exit.
    tile.settle @q
    tile.settle @qt
    tile.settle @do
    tile.settle @k
    tile.settle @v
    tile.settle @kt
  }

  tile.role @mma warps(1) ctas(leader) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    tile.for_each_tile (%j, %h, %b, %i0, %n, %ne, %some) in @work {
      // A result of @work, the same test in every role.
      %go = arith.cmpi ne, %some, %c0 : i32
      scf.if %go {
        // The last dQ of the tile before; only credit here.
        tile.settle @dq
        %kk = tile.wait @k
        %q0 = tile.wait @q
        %s0 = tile.acquire @s
        %e0 = tile.async_mma a(%kk as @K) b(%q0 as @Q) into(%s0 as @S)
        tile.commit %s0 after(%e0)
        tile.release %q0 after(%e0)
        %vv = tile.wait @v
        %d0 = tile.wait @do
        %x0 = tile.acquire @dp
        %e1 = tile.async_mma a(%vv as @V) b(%d0 as @dOt) into(%x0 as @dP)
        tile.commit %x0 after(%e1)
        %av = tile.acquire @dv
        %ak = tile.acquire @dk
        %p0 = tile.wait @p
        %e2 = tile.async_mma a(%p0 as @P) b(%d0 as @dO) into(%av as @dVc)
        tile.release %p0 after(%e2)
        tile.release %d0 after(%e1, %e2)
        %kt = tile.wait @kt
        scf.for %t = %c1 to %n step %c1 : i32 {
          %first = arith.cmpi eq, %t, %c1 : i32
          %q = tile.wait @q
          // S of this block goes over dQ of the block before the last.
          tile.settle @dq
          %s = tile.acquire @s
          %f0 = tile.async_mma a(%kk as @K) b(%q as @Q) into(%s as @S)
          tile.commit %s after(%f0)
          tile.release %q after(%f0)
          %qt = tile.wait @qt
          %tt = tile.wait @dst
          %f1 = tile.async_mma a(%tt as @dSt) b(%qt as @Qt) onto(%ak as @dKc) unless(%first)
          tile.release %tt after(%f1)
          tile.release %qt after(%f1)
          %d = tile.wait @do
          %x = tile.acquire @dp
          %f2 = tile.async_mma a(%vv as @V) b(%d as @dOt) into(%x as @dP)
          tile.commit %x after(%f2)
          // dQ of the last block goes over S of this one: both warpgroups have read it.
          tile.settle @s
          %w = tile.wait @ds
          %y = tile.wait @dsx
          %z = tile.acquire @dq
          %f3 = tile.async_mma a(%w as @dS) b(%kt as @Kt) into(%z as @dQc)
          tile.commit %z after(%f3)
          tile.release %w after(%f3)
          tile.release %y after(%f3)
          %p = tile.wait @p
          %f4 = tile.async_mma a(%p as @P) b(%d as @dO) onto(%av as @dVc)
          tile.release %p after(%f4)
          tile.release %d after(%f2, %f4)
        }
        tile.commit %av after(all)
        %qt = tile.wait @qt
        %tt = tile.wait @dst
        %only = arith.cmpi eq, %n, %c1 : i32
        %g1 = tile.async_mma a(%tt as @dSt) b(%qt as @Qt) onto(%ak as @dKc) unless(%only)
        tile.release %tt after(%g1)
        tile.release %qt after(%g1)
        tile.commit %ak after(%g1)
        tile.settle @s
        %w = tile.wait @ds
        %y = tile.wait @dsx
        %z = tile.acquire @dq
        %g2 = tile.async_mma a(%w as @dS) b(%kt as @Kt) into(%z as @dQc)
        tile.commit %z after(%g2)
        tile.release %w after(%g2)
        tile.release %y after(%g2)
        tile.release %kk after(all)
        tile.release %vv after(all)
        tile.release %kt after(all)
      }
    }
  }

  tile.role @compute warps(8) ctas(both) rank(%rank)
      uses(%dK, %dV, %c, %scale, %sq, %sk : !g, !g, f32, f32, i32, i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c128 = arith.constant 128 : i32
    %zero = arith.constant 0.0 : f32
    %shift = arith.subi %sk, %sq : i32
    tile.for_each_tile (%j, %h, %b, %i0, %n, %ne, %some) in @work {
      %j2 = arith.muli %j, %c2 : i32
      %jr = arith.addi %j2, %rank : i32
      %key0 = arith.muli %jr, %c128 : i32
      scf.for %t = %c0 to %n step %c1 : i32 {
        %edge = arith.cmpi slt, %t, %ne : i32
        %i = arith.addi %i0, %t : i32
        %qry0 = arith.muli %i, %c128 : i32
        %lt = tile.wait @lse
        %st = tile.wait @s
        %s = tile.read %st as @S : !S
        tile.release %st
        %lse = tile.read %lt as @Lse : !col
        tile.release %lt
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
        %pb = tile.cast %pf : !S -> !T
        %pt = tile.acquire @p
        tile.write %pb to %pt as @P : !T
        tile.commit %pt
        %dt = tile.wait @del
        %xt = tile.wait @dp
        %dp = tile.read %xt as @dP : !S
        tile.release %xt
        %del = tile.read %dt as @Del : !col
        tile.release %dt
        %dsf = tile.map (%pe = %pf, %de = %dp, %le = %del) : (!S, !S, !col) -> !S {
          %diff_ = arith.subf %de, %le : f32
          %prod = arith.mulf %pe, %diff_ : f32
          tile.yield %prod : f32
        }
        %ds = tile.cast %dsf : !S -> !T
        %tt = tile.acquire @dst
        tile.write %ds to %tt as @dSt : !T
        tile.commit %tt
        %own = tile.part %ds columns own(%rank) : !T -> !Ph
        %far = tile.part %ds columns other(%rank) : !T -> !Ph
        %ot = tile.acquire @ds
        tile.write %own to %ot as @dSk : !Ph
        tile.commit %ot
        %yt = tile.acquire @dsx
        tile.write %far to %yt as @X : !Ph
        %e = tile.async_send %yt as @X to peer @dSk
        tile.commit %yt after(%e)
      }
      %go = arith.cmpi ne, %some, %c0 : i32
      // No query sees a key of the pair: the gradients are zero (R1).
      %dvv = scf.if %go -> (!S) {
        %vt = tile.wait @dv
        %dv = tile.read %vt as @dVc : !S
        tile.release %vt
        scf.yield %dv : !S
      } else {
        %none = tile.splat %zero : f32 -> !S
        scf.yield %none : !S
      }
      %vb = tile.cast %dvv : !S -> !T
      // Over V: no channel carries @dVo, the proof judges.
      tile.write %vb to @dVo : !T
      %ev = tile.async_store @dVo to %dV[%b, %jr, %h] : !g
      %dkv = scf.if %go -> (!S) {
        %kt = tile.wait @dk
        %dk = tile.read %kt as @dKc : !S
        tile.release %kt
        scf.yield %dk : !S
      } else {
        %none = tile.splat %zero : f32 -> !S
        scf.yield %none : !S
      }
      %dks = tile.map (%e = %dkv) : (!S) -> !S {
        %f = arith.mulf %e, %scale : f32
        tile.yield %f : f32
      }
      %kb = tile.cast %dks : !S -> !T
      tile.write %kb to @dKo : !T
      %ek = tile.async_store @dKo to %dK[%b, %jr, %h] : !g
      tile.await %ev
      tile.await %ek
    }
    tile.settle @ds
  }

  tile.role @reduce warps(4) ctas(both) rank(%rank) uses(%dQ, %scale, %hq : !ga, f32, i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    tile.for_each_tile (%j, %h, %b, %i0, %n, %ne, %some) in @work {
      %hb = arith.muli %b, %hq : i32
      %bh = arith.addi %hb, %h : i32
      scf.for %t = %c0 to %n step %c1 : i32 {
        %i = arith.addi %i0, %t : i32
        %i2 = arith.muli %i, %c2 : i32
        %ih = arith.addi %i2, %rank : i32
        %dt = tile.wait @dq
        %x = tile.read %dt as @dQl : !R
        tile.release %dt
        %y = tile.map (%e = %x) : (!R) -> !R {
          %f = arith.mulf %e, %scale : f32
          tile.yield %f : f32
        }
        // Eight columns at a time, four stores open.
        %x0 = tile.slice %y columns 0 to 8 : !R -> !Rp
        tile.write %x0 to @Acc[0] : !Rp
        %k0 = arith.constant 0 : i32
        %e0 = tile.async_store add @Acc[0] to %dQ[%bh, %ih, %k0] : !ga
        %x1 = tile.slice %y columns 8 to 16 : !R -> !Rp
        tile.write %x1 to @Acc[1] : !Rp
        %k1 = arith.constant 1 : i32
        %e1 = tile.async_store add @Acc[1] to %dQ[%bh, %ih, %k1] : !ga
        %x2 = tile.slice %y columns 16 to 24 : !R -> !Rp
        tile.write %x2 to @Acc[2] : !Rp
        %k2 = arith.constant 2 : i32
        %e2 = tile.async_store add @Acc[2] to %dQ[%bh, %ih, %k2] : !ga
        %x3 = tile.slice %y columns 24 to 32 : !R -> !Rp
        tile.write %x3 to @Acc[3] : !Rp
        %k3 = arith.constant 3 : i32
        %e3 = tile.async_store add @Acc[3] to %dQ[%bh, %ih, %k3] : !ga
        %x4 = tile.slice %y columns 32 to 40 : !R -> !Rp
        tile.await %e0
        tile.write %x4 to @Acc[0] : !Rp
        %k4 = arith.constant 4 : i32
        %e4 = tile.async_store add @Acc[0] to %dQ[%bh, %ih, %k4] : !ga
        %x5 = tile.slice %y columns 40 to 48 : !R -> !Rp
        tile.await %e1
        tile.write %x5 to @Acc[1] : !Rp
        %k5 = arith.constant 5 : i32
        %e5 = tile.async_store add @Acc[1] to %dQ[%bh, %ih, %k5] : !ga
        %x6 = tile.slice %y columns 48 to 56 : !R -> !Rp
        tile.await %e2
        tile.write %x6 to @Acc[2] : !Rp
        %k6 = arith.constant 6 : i32
        %e6 = tile.async_store add @Acc[2] to %dQ[%bh, %ih, %k6] : !ga
        %x7 = tile.slice %y columns 56 to 64 : !R -> !Rp
        tile.await %e3
        tile.write %x7 to @Acc[3] : !Rp
        %k7 = arith.constant 7 : i32
        %e7 = tile.async_store add @Acc[3] to %dQ[%bh, %ih, %k7] : !ga
        tile.await %e4
        tile.await %e5
        tile.await %e6
        tile.await %e7
      }
    }
  }
}
