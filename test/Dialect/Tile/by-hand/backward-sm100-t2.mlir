// RUN: fa4-opt %s --tile-verify-t2 --verify-roundtrip

// The backward kernel of backward-sm100-t1.mlir placed, lowered to barriers,
// simplified and fenced; docs/Dialects/Tile/Rationale.md derives the table. Full halves
// live with the waiter: at the leader when the products wait, else in each CTA. One
// tile per cluster, so that cursors need not outlive it.

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

  tile.placed_alloc @k_mem smem at 0 stride 32768
  tile.placed_alloc @kt_mem smem at 32768 stride 32768
  tile.placed_alloc @v_mem smem at 65536 stride 32768
  tile.placed_alloc @q_mem smem at 98304 stride 16384
  tile.placed_alloc @qt_mem smem at 114688 stride 16384
  tile.placed_alloc @do_mem smem at 131072 stride 32768
  tile.placed_alloc @ds_mem smem at 163840 stride 32768
  tile.placed_alloc @x_mem smem at 196608 stride 16384
  tile.placed_alloc @acc_mem[4] smem at 212992 stride 4096
  tile.placed_alloc @lse_mem smem at 229376 stride 512
  tile.placed_alloc @del_mem smem at 229888 stride 512
  tile.placed_alloc @sp_mem tmem at 0 stride 128
  tile.placed_alloc @dv_mem tmem at 128 stride 128
  tile.placed_alloc @dp_mem tmem at 256 stride 128
  tile.placed_alloc @dk_mem tmem at 384 stride 128

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

  // Leader: armed by its load with both halves.
  tile.barrier @q.full depth(1) count(1) at 230400
  // Per CTA: the leader commits on both.
  tile.barrier @q.empty depth(1) count(1) at 230408
  tile.barrier @qt.full depth(1) count(1) at 230416
  tile.barrier @qt.empty depth(1) count(1) at 230424
  // dO and its transpose.
  tile.barrier @do.full depth(1) count(1) at 230432
  tile.barrier @do.empty depth(1) count(1) at 230440
  // One tile per cluster: no empty half of @k, @v and @kt is left.
  tile.barrier @k.full depth(1) count(1) at 230448
  tile.barrier @v.full depth(1) count(1) at 230456
  tile.barrier @kt.full depth(1) count(1) at 230464
  tile.barrier @lse.full depth(1) count(1) at 230472
  tile.barrier @lse.empty depth(1) count(8) at 230480
  tile.barrier @del.full depth(1) count(1) at 230488
  tile.barrier @del.empty depth(1) count(8) at 230496
  tile.barrier @s.full depth(1) count(1) at 230504
  // Leader: 8 warps of 2 CTAs.
  tile.barrier @p.full depth(1) count(16) at 230512
  tile.barrier @dp.full depth(1) count(1) at 230520
  tile.barrier @dst.full depth(1) count(16) at 230528
  // Leader: 16 compute warps (dS in smem, and the next S read) and 2 relays.
  tile.barrier @ds.full depth(1) count(18) at 230536
  // Per CTA.
  tile.barrier @ds.empty depth(1) count(1) at 230544
  // Per CTA: the peer's copy.
  tile.barrier @dsx.full depth(1) count(1) at 230552
  tile.barrier @dq.full depth(1) count(1) at 230560
  // Leader: 4 warps of 2 CTAs.
  tile.barrier @dq.empty depth(1) count(8) at 230568
  tile.barrier @dv.full depth(1) count(1) at 230576
  tile.barrier @dk.full depth(1) count(1) at 230584
  tile.named_barrier @tmem_users ids(2 to 2) threads(416)

  tile.setup {
    // Both CTAs are there before they allocate together.
    tile.cluster_sync
    tile.tmem.alloc 512 columns by @mma word at 230592
    tile.fence [init]
    // Both CTAs: the peer's barriers exist before anyone arrives there.
    tile.cluster_sync
  }

  tile.role @load warps(1) at(13) one_lane ctas(both) rank(%rank) regs(104)
      uses(%Q, %Qt, %K, %Kt, %V, %dO, %dOt, %Lse, %Delta : !gh, !gd, !g, !gt, !g, !gd, !gh, !gl, !gl) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    tile.for_each_tile (%j, %h, %b, %i0, %n, %ne, %some) in @work {
      %go = arith.cmpi ne, %some, %c0 : i32
      scf.if %go {
        // All rings step together, but @qt is one block behind.
        %e0 = tile.cursor credit : !tile.cursor<1>
        %t0 = tile.cursor credit : !tile.cursor<1>
        %j2 = arith.muli %j, %c2 : i32
        %jr = arith.addi %j2, %rank : i32
        %i2 = arith.muli %i0, %c2 : i32
        %h0 = arith.addi %i2, %rank : i32
        tile.barrier.expect @k.full bytes(65536) on leader
        tile.issue_load %K[%b, %jr, %h] to(@K) signals(@k.full) on leader : !g
        tile.barrier.wait @q.empty at %e0 mod 1
        tile.barrier.expect @q.full bytes(32768) on leader
        tile.issue_load %Q[%b, %h0, %h] to(@Q) signals(@q.full) on leader : !gh
        tile.barrier.wait @lse.empty at %e0 mod 1
        tile.barrier.expect @lse.full bytes(512)
        tile.issue_load %Lse[%b, %h, %i0] to(@Lse) signals(@lse.full) : !gl
        tile.barrier.expect @v.full bytes(65536) on leader
        tile.issue_load %V[%b, %jr, %h] to(@V) signals(@v.full) on leader : !g
        tile.barrier.wait @do.empty at %e0 mod 1
        tile.barrier.expect @do.full bytes(65536) on leader
        tile.issue_load %dO[%b, %i0, %h, %rank] to(@dO) signals(@do.full) on leader : !gd
        tile.issue_load %dOt[%b, %h0, %h] to(@dOt) signals(@do.full) on leader : !gh
        tile.barrier.wait @del.empty at %e0 mod 1
        tile.barrier.expect @del.full bytes(512)
        tile.issue_load %Delta[%b, %h, %i0] to(@Del) signals(@del.full) : !gl
        tile.barrier.expect @kt.full bytes(65536) on leader
        tile.issue_load %Kt[%b, %j, %h, %rank] to(@Kt) signals(@kt.full) on leader : !gt
        %e1 = tile.advance %e0 : !tile.cursor<1>
        %e_l, %t_l = scf.for %t = %c1 to %n step %c1 iter_args(%e = %e1, %u = %t0) -> (!tile.cursor<1>, !tile.cursor<1>) : i32 {
          %i = arith.addi %i0, %t : i32
          %ip = arith.subi %i, %c1 : i32
          %id = arith.muli %i, %c2 : i32
          %hi = arith.addi %id, %rank : i32
          tile.barrier.wait @qt.empty at %u mod 1
          tile.barrier.expect @qt.full bytes(32768) on leader
          tile.issue_load %Qt[%b, %ip, %h, %rank] to(@Qt) signals(@qt.full) on leader : !gd
          tile.barrier.wait @q.empty at %e mod 1
          tile.barrier.expect @q.full bytes(32768) on leader
          tile.issue_load %Q[%b, %hi, %h] to(@Q) signals(@q.full) on leader : !gh
          tile.barrier.wait @lse.empty at %e mod 1
          tile.barrier.expect @lse.full bytes(512)
          tile.issue_load %Lse[%b, %h, %i] to(@Lse) signals(@lse.full) : !gl
          tile.barrier.wait @do.empty at %e mod 1
          tile.barrier.expect @do.full bytes(65536) on leader
          tile.issue_load %dO[%b, %i, %h, %rank] to(@dO) signals(@do.full) on leader : !gd
          tile.issue_load %dOt[%b, %hi, %h] to(@dOt) signals(@do.full) on leader : !gh
          tile.barrier.wait @del.empty at %e mod 1
          tile.barrier.expect @del.full bytes(512)
          tile.issue_load %Delta[%b, %h, %i] to(@Del) signals(@del.full) : !gl
          %en = tile.advance %e : !tile.cursor<1>
          %un = tile.advance %u : !tile.cursor<1>
          scf.yield %en, %un : !tile.cursor<1>, !tile.cursor<1>
        }
        %end = arith.addi %i0, %n : i32
        %il = arith.subi %end, %c1 : i32
        tile.barrier.wait @qt.empty at %t_l mod 1
        tile.barrier.expect @qt.full bytes(32768) on leader
        tile.issue_load %Qt[%b, %il, %h, %rank] to(@Qt) signals(@qt.full) on leader : !gd
        %t_n = tile.advance %t_l : !tile.cursor<1>
        // The matrix unit's last arrivals land before the CTA may exit.
        tile.barrier.wait @q.empty at %e_l mod 1
        tile.barrier.wait @do.empty at %e_l mod 1
        tile.barrier.wait @qt.empty at %t_n mod 1
      }
    }
  }

  tile.role @mma warps(1) at(12) one_lane ctas(leader) regs(104) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    tile.for_each_tile (%j, %h, %b, %i0, %n, %ne, %some) in @work {
      %go = arith.cmpi ne, %some, %c0 : i32
      scf.if %go {
        %one = tile.cursor : !tile.cursor<1>
        // @q.full, @do.full and @p.full are one block ahead of @qt, @dst and @ds.
        %a0 = tile.cursor : !tile.cursor<1>
        %b0 = tile.cursor : !tile.cursor<1>
        %r0 = tile.cursor credit : !tile.cursor<1>
        tile.barrier.wait @k.full at %one mod 1
        tile.barrier.wait @q.full at %a0 mod 1
        tile.fence [after]
        tile.issue_mma a(@K) b(@Q) into(@S)
        tile.barrier.commit @s.full on both
        tile.barrier.commit @q.empty on both
        tile.barrier.wait @v.full at %one mod 1
        tile.barrier.wait @do.full at %a0 mod 1
        tile.fence [after]
        tile.issue_mma a(@V) b(@dOt) into(@dP)
        tile.barrier.commit @dp.full on both
        tile.barrier.wait @p.full at %a0 mod 1
        tile.fence [after]
        tile.issue_mma a(@P) b(@dO) into(@dVc)
        tile.barrier.commit @do.empty on both
        tile.barrier.wait @kt.full at %one mod 1
        %a1 = tile.advance %a0 : !tile.cursor<1>
        %a_e, %b_e, %r_e = scf.for %t = %c1 to %n step %c1
            iter_args(%a = %a1, %b_ = %b0, %r = %r0) -> (!tile.cursor<1>, !tile.cursor<1>, !tile.cursor<1>) : i32 {
          %first = arith.cmpi eq, %t, %c1 : i32
          tile.barrier.wait @q.full at %a mod 1
          // S goes over dQ of the block before the last.
          tile.barrier.wait @dq.empty at %r mod 1
          tile.fence [after]
          tile.issue_mma a(@K) b(@Q) into(@S)
          tile.barrier.commit @s.full on both
          tile.barrier.commit @q.empty on both
          tile.barrier.wait @qt.full at %b_ mod 1
          tile.barrier.wait @dst.full at %b_ mod 1
          tile.fence [after]
          tile.issue_mma a(@dSt) b(@Qt) onto(@dKc) unless(%first)
          tile.barrier.commit @qt.empty on both
          tile.barrier.wait @do.full at %a mod 1
          tile.fence [after]
          tile.issue_mma a(@V) b(@dOt) into(@dP)
          tile.barrier.commit @dp.full on both
          // dS is there, and S of this block, over which dQ goes, was read.
          tile.barrier.wait @ds.full at %b_ mod 1
          tile.fence [after]
          tile.issue_mma a(@dS) b(@Kt) into(@dQc)
          tile.barrier.commit @dq.full on both
          tile.barrier.commit @ds.empty on both
          tile.barrier.wait @p.full at %a mod 1
          tile.fence [after]
          tile.issue_mma a(@P) b(@dO) onto(@dVc)
          tile.barrier.commit @do.empty on both
          %an = tile.advance %a : !tile.cursor<1>
          %bn = tile.advance %b_ : !tile.cursor<1>
          %rn = tile.advance %r : !tile.cursor<1>
          scf.yield %an, %bn, %rn : !tile.cursor<1>, !tile.cursor<1>, !tile.cursor<1>
        }
        tile.barrier.commit @dv.full on both
        %only = arith.cmpi eq, %n, %c1 : i32
        tile.barrier.wait @qt.full at %b_e mod 1
        tile.barrier.wait @dst.full at %b_e mod 1
        tile.fence [after]
        tile.issue_mma a(@dSt) b(@Qt) onto(@dKc) unless(%only)
        tile.barrier.commit @dk.full on both
        tile.barrier.commit @qt.empty on both
        tile.barrier.wait @ds.full at %b_e mod 1
        tile.barrier.wait @dq.empty at %r_e mod 1
        tile.fence [after]
        tile.issue_mma a(@dS) b(@Kt) into(@dQc)
        tile.barrier.commit @dq.full on both
        tile.barrier.commit @ds.empty on both
      }
    }
  }

  tile.role @compute warps(8) at(4) ctas(both) rank(%rank) regs(136)
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
      %go = arith.cmpi ne, %some, %c0 : i32
      %ds_e = scf.if %go -> (!tile.cursor<1>) {
        // All full halves step together; @ds.empty has credit.
        %f0 = tile.cursor : !tile.cursor<1>
        %d0 = tile.cursor credit : !tile.cursor<1>
        %f_e, %d_e = scf.for %t = %c0 to %n step %c1 iter_args(%f_ = %f0, %d_ = %d0) -> (!tile.cursor<1>, !tile.cursor<1>) : i32 {
          %edge = arith.cmpi slt, %t, %ne : i32
          %i = arith.addi %i0, %t : i32
          %qry0 = arith.muli %i, %c128 : i32
          tile.barrier.wait @lse.full at %f_ mod 1
          tile.barrier.wait @s.full at %f_ mod 1
          tile.fence [after]
          %s = tile.read @S : !S
          %lse = tile.read @Lse : !col
          tile.fence [tmem_loads, before]
          // dS of the block before was fenced below, and S of this one is read.
          %again = arith.cmpi ne, %t, %c0 : i32
          tile.barrier.arrive @ds.full by(warp) on leader when(%again)
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
          // P goes over columns of S that the other warpgroup reads.
          tile.role_sync
          tile.fence [after]
          tile.write %pb to @P : !T
          tile.fence [tmem_stores, before]
          tile.barrier.arrive @p.full by(warp) on leader
          tile.barrier.arrive @lse.empty by(warp)
          tile.barrier.wait @del.full at %f_ mod 1
          tile.barrier.wait @dp.full at %f_ mod 1
          tile.fence [after]
          %dp = tile.read @dP : !S
          %del = tile.read @Del : !col
          %dsf = tile.map (%pe = %pf, %de = %dp, %le = %del) : (!S, !S, !col) -> !S {
            %diff_ = arith.subf %de, %le : f32
            %prod = arith.mulf %pe, %diff_ : f32
            tile.yield %prod : f32
          }
          %ds = tile.cast %dsf : !S -> !T
          tile.fence [tmem_loads, before]
          // Likewise dS over dP.
          tile.role_sync
          tile.fence [after]
          tile.write %ds to @dSt : !T
          tile.fence [tmem_stores, before]
          tile.barrier.arrive @dst.full by(warp) on leader
          %own = tile.part %ds columns own(%rank) : !T -> !Ph
          %far = tile.part %ds columns other(%rank) : !T -> !Ph
          tile.barrier.wait @ds.empty at %d_ mod 1
          tile.write %own to @dSk : !Ph
          tile.write %far to @X : !Ph
          tile.barrier.arrive @del.empty by(warp)
          tile.fence [proxy]
          // Eight warps wrote, one lane sends.
          tile.role_sync
          tile.barrier.expect @dsx.full bytes(16384) on peer
          tile.issue_send @X to peer(@dSk) signals(@dsx.full)
          %fn = tile.advance %f_ : !tile.cursor<1>
          %dn = tile.advance %d_ : !tile.cursor<1>
          scf.yield %fn, %dn : !tile.cursor<1>, !tile.cursor<1>
        }
        // No next S.
        tile.barrier.arrive @ds.full by(warp) on leader
        scf.yield %d_e : !tile.cursor<1>
      } else {
        %credit = tile.cursor credit : !tile.cursor<1>
        scf.yield %credit : !tile.cursor<1>
      }
      %one = tile.cursor : !tile.cursor<1>
      // No query sees a key of the pair: the gradients are zero (R1).
      %dvv = scf.if %go -> (!S) {
        tile.barrier.wait @dv.full at %one mod 1
        tile.fence [after]
        %dv = tile.read @dVc : !S
        scf.yield %dv : !S
      } else {
        %none = tile.splat %zero : f32 -> !S
        scf.yield %none : !S
      }
      %vb = tile.cast %dvv : !S -> !T
      tile.write %vb to @dVo : !T
      tile.fence [proxy]
      tile.role_sync
      tile.issue_store @dVo to %dV[%b, %jr, %h] : !g
      tile.group.commit bulk
      %dkv = scf.if %go -> (!S) {
        tile.barrier.wait @dk.full at %one mod 1
        tile.fence [after]
        %dk = tile.read @dKc : !S
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
      tile.fence [proxy]
      tile.role_sync
      tile.issue_store @dKo to %dK[%b, %jr, %h] : !g
      tile.group.commit bulk
      // The matrix unit's last arrival lands before the CTA may exit.
      tile.barrier.wait @ds.empty at %ds_e mod 1
      tile.group.wait bulk 0 read
    }
    tile.fence [tmem_loads, before]
    tile.named.arrive @tmem_users
  }

  // A copy can signal only beside its destination; the waiter lives in the leader.
  tile.role @relay warps(1) at(14) one_lane ctas(both) regs(104) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    tile.for_each_tile (%j, %h, %b, %i0, %n, %ne, %some) in @work {
      %x0 = tile.cursor : !tile.cursor<1>
      %x_e = scf.for %t = %c0 to %n step %c1 iter_args(%x = %x0) -> (!tile.cursor<1>) : i32 {
        tile.barrier.wait @dsx.full at %x mod 1
        tile.barrier.arrive @ds.full by(lane) on leader
        %xn = tile.advance %x : !tile.cursor<1>
        scf.yield %xn : !tile.cursor<1>
      }
    }
  }

  tile.role @reduce warps(4) at(0) ctas(both) rank(%rank) regs(136) uses(%dQ, %scale, %hq : !ga, f32, i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    tile.for_each_tile (%j, %h, %b, %i0, %n, %ne, %some) in @work {
      %hb = arith.muli %b, %hq : i32
      %bh = arith.addi %hb, %h : i32
      %q0 = tile.cursor : !tile.cursor<1>
      %q_e = scf.for %t = %c0 to %n step %c1 iter_args(%q = %q0) -> (!tile.cursor<1>) : i32 {
        %i = arith.addi %i0, %t : i32
        %i2 = arith.muli %i, %c2 : i32
        %ih = arith.addi %i2, %rank : i32
        tile.barrier.wait @dq.full at %q mod 1
        tile.fence [after]
        %x = tile.read @dQl : !R
        tile.fence [tmem_loads, before]
        tile.barrier.arrive @dq.empty by(warp) on leader
        %y = tile.map (%e = %x) : (!R) -> !R {
          %f = arith.mulf %e, %scale : f32
          tile.yield %f : f32
        }
        // Eight columns at a time, four stores open: one lane stores what four warps wrote.
        %x0 = tile.slice %y columns 0 to 8 : !R -> !Rp
        %k0 = arith.constant 0 : i32
        tile.write %x0 to @Acc[0] : !Rp
        tile.fence [proxy]
        tile.role_sync
        tile.issue_store add @Acc[0] to %dQ[%bh, %ih, %k0] : !ga
        tile.group.commit bulk
        %x1 = tile.slice %y columns 8 to 16 : !R -> !Rp
        %k1 = arith.constant 1 : i32
        tile.write %x1 to @Acc[1] : !Rp
        tile.fence [proxy]
        tile.role_sync
        tile.issue_store add @Acc[1] to %dQ[%bh, %ih, %k1] : !ga
        tile.group.commit bulk
        %x2 = tile.slice %y columns 16 to 24 : !R -> !Rp
        %k2 = arith.constant 2 : i32
        tile.write %x2 to @Acc[2] : !Rp
        tile.fence [proxy]
        tile.role_sync
        tile.issue_store add @Acc[2] to %dQ[%bh, %ih, %k2] : !ga
        tile.group.commit bulk
        %x3 = tile.slice %y columns 24 to 32 : !R -> !Rp
        %k3 = arith.constant 3 : i32
        tile.write %x3 to @Acc[3] : !Rp
        tile.fence [proxy]
        tile.role_sync
        tile.issue_store add @Acc[3] to %dQ[%bh, %ih, %k3] : !ga
        tile.group.commit bulk
        %x4 = tile.slice %y columns 32 to 40 : !R -> !Rp
        %k4 = arith.constant 4 : i32
        tile.group.wait bulk 3 read
        tile.role_sync
        tile.write %x4 to @Acc[0] : !Rp
        tile.fence [proxy]
        tile.role_sync
        tile.issue_store add @Acc[0] to %dQ[%bh, %ih, %k4] : !ga
        tile.group.commit bulk
        %x5 = tile.slice %y columns 40 to 48 : !R -> !Rp
        %k5 = arith.constant 5 : i32
        tile.group.wait bulk 3 read
        tile.role_sync
        tile.write %x5 to @Acc[1] : !Rp
        tile.fence [proxy]
        tile.role_sync
        tile.issue_store add @Acc[1] to %dQ[%bh, %ih, %k5] : !ga
        tile.group.commit bulk
        %x6 = tile.slice %y columns 48 to 56 : !R -> !Rp
        %k6 = arith.constant 6 : i32
        tile.group.wait bulk 3 read
        tile.role_sync
        tile.write %x6 to @Acc[2] : !Rp
        tile.fence [proxy]
        tile.role_sync
        tile.issue_store add @Acc[2] to %dQ[%bh, %ih, %k6] : !ga
        tile.group.commit bulk
        %x7 = tile.slice %y columns 56 to 64 : !R -> !Rp
        %k7 = arith.constant 7 : i32
        tile.group.wait bulk 3 read
        tile.role_sync
        tile.write %x7 to @Acc[3] : !Rp
        tile.fence [proxy]
        tile.role_sync
        tile.issue_store add @Acc[3] to %dQ[%bh, %ih, %k7] : !ga
        tile.group.commit bulk
        tile.group.wait bulk 0 read
        tile.role_sync
        %qn = tile.advance %q : !tile.cursor<1>
        scf.yield %qn : !tile.cursor<1>
      }
    }
    tile.fence [before]
    tile.named.arrive @tmem_users
  }

  // No CTA frees tensor memory or ends while its peer may still use it or arrive here;
  // the allocating warp joins @tmem_users (13 warps) then.
  tile.teardown {
    tile.cluster_sync
    tile.tmem.free 512 columns by @mma after(@tmem_users)
  }
}
