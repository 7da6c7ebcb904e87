// RUN: fa4-opt %s --tile-verify-t2 --verify-roundtrip

// The forward kernel of forward-sm100-t1.mlir after tile-split-range, placement,
// tile-lower-channels and tile-lower-async: every half of every channel is a
// barrier, no wait is dropped, no fence is there. tile-lower-channels.test makes
// this text; tile-simplify-barriers and tile-insert-fences make
// forward-sm100-t2.mlir of it.

#k_major = #tile.smem<k_major, 128>
#lanes = #tile.tmem<lanes>
#linear = #tile.smem<linear>
#mn_major = #tile.smem<mn_major, 128>
#mn_major1 = #tile.smem<mn_major, 128, panel = 16384>
#rows = #tile.spread<rows>
#schedule = #fa4.schedule<forward, tile = 128 x 128, stages = 2, ctas = 1, work = static_persistent<longest_first>, order = [load_v at 1, softmax[0] at 1, rescale[0] at 1, pv[0] at 1, load_k at 0, qk[0] at 0, softmax[1] at 1, rescale[1] at 1, pv[1] at 1, qk[1] at 0], homes = [load_q = smem @q_mem as q, load_k = smem @kv_mem x 3 as k, load_v = smem @kv_mem x 3 as v, qk = tmem @sp_mem as s, softmax.0 = tmem @sp_mem column 64 as pa, softmax.1 = tmem @sp_mem column 112 as pb, softmax.2 = smem @stat_mem as alpha, pv = tmem @o_mem as o, finish.0 = smem @out_mem as out], roles = [softmax = {softmax} warps 4 x 2 at 0 regs 192, correction = {rescale, finish} warps 4 at 8 regs 72, mma = {qk, pv} warps 1 at 12 regs 56, store = {store} warps 1 at 13 regs 56, load = {load_q, load_k, load_v} warps 1 at 14 regs 56], split_p = [96, 32], rescale_log2_threshold = 8.000000e+00, exp2 = <degree 3, of 16 columns the last 4, chunks 1 to 2>, grain = [pb.full = warp], via = [alpha.full = named per_warp], early_acquire = [alpha], stagger = [alpha]>
#target = #fa4.target<"sm_100a", ptx = 88, threads_per_warp = 32, threads_per_cta = 1024, ctas_per_cluster = 8, named_barriers = 16, registers_per_sm = 65536, registers_per_thread = 255, register_granule = 8, min_role_registers = 24, max_role_registers = 256, smem_bytes_per_cta = 232448, smem_swizzle_bytes = 1024, tmem_lanes = 128, tmem_columns = 512, tmem_alloc_granule = 32, mma_rows = [64, 128], pair_mma_rows = [128, 256], mma_column_step = 16, mma_max_columns = 256, mma_k_bytes = 32, mma_flops_per_clock = 8192, exp2_per_clock = 16, fma_per_clock = 128, smem_bytes_per_clock = 128, l2_section_bytes = 52428800, async_warpgroup_mma = false, cta_pairs = true, cluster_launch_control = true, packed_f32x2 = true, three_input_max_f32 = true, tmem_load_reduce = false, mma_issue_order = true>
module {
  tile.kernel @fwd(%arg0: !tile.global<1x128x1x128xbf16>, %arg1: !tile.global<1x128x1x128xbf16>, %arg2: !tile.global<1x128x1x128xbf16>, %arg3: !tile.global<1x128x1x128xbf16>, %arg4: !tile.global<1x1x128xf32>, %arg5: f32, %arg6: i32, %arg7: i32, %arg8: i32, %arg9: i32, %arg10: i32, %arg11: i32) target(#target) schedule(#schedule) {
    tile.work @work(%t) tiles(%arg11 : i32) uses(%arg6, %arg7, %arg8, %arg9, %arg10 : i32, i32, i32, i32, i32) -> (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) facts(1 <= %n, 1 <= %ne, %ne <= %n) {
      %c-1_i32 = arith.constant -1 : i32
      %c0_i32 = arith.constant 0 : i32
      %c1_i32 = arith.constant 1 : i32
      %c2_i32 = arith.constant 2 : i32
      %c128_i32 = arith.constant 128 : i32
      %c256_i32 = arith.constant 256 : i32
      %0 = arith.ceildivsi %arg6, %c256_i32 : i32
      %1 = arith.muli %arg8, %arg10 : i32
      %2 = arith.divsi %t, %1 : i32
      %3 = arith.remsi %t, %1 : i32
      %4 = arith.subi %0, %c1_i32 : i32
      %5 = arith.subi %4, %2 : i32
      %6 = arith.divsi %3, %arg8 : i32
      %7 = arith.remsi %3, %arg8 : i32
      %8 = arith.divsi %7, %arg9 : i32
      %9 = arith.muli %5, %c2_i32 : i32
      %10 = arith.addi %9, %c1_i32 : i32
      %11 = arith.subi %arg7, %arg6 : i32
      %12 = arith.muli %5, %c256_i32 : i32
      %13 = arith.addi %12, %c256_i32 : i32
      %14 = arith.minsi %13, %arg6 : i32
      %15 = arith.subi %14, %c1_i32 : i32
      %16 = arith.addi %15, %11 : i32
      %17 = arith.subi %arg7, %c1_i32 : i32
      %18 = arith.minsi %16, %17 : i32
      %19 = arith.maxsi %18, %c-1_i32 : i32
      %20 = arith.floordivsi %19, %c128_i32 : i32
      %21 = arith.addi %20, %c1_i32 : i32
      %22 = arith.addi %12, %11 : i32
      %23 = arith.addi %22, %c1_i32 : i32
      %24 = arith.minsi %23, %arg7 : i32
      %25 = arith.floordivsi %24, %c128_i32 : i32
      %26 = arith.maxsi %25, %c0_i32 : i32
      %27 = arith.subi %21, %26 : i32
      tile.yield %9, %10, %7, %8, %6, %20, %21, %27 : i32, i32, i32, i32, i32, i32, i32, i32
    }
    tile.placed_alloc @q_mem[2] smem at 0 stride 32768
    tile.placed_alloc @kv_mem[3] smem at 65536 stride 32768
    tile.placed_alloc @out_mem[2] smem at 163840 stride 32768
    tile.placed_alloc @stat_mem[2] smem at 229376 stride 1024
    tile.placed_alloc @sp_mem[2] tmem at 0 stride 128
    tile.placed_alloc @o_mem[2] tmem at 256 stride 128
    tile.view @Q of @q_mem : 128x128xbf16, #k_major
    tile.view @K of @kv_mem : 128x128xbf16, #k_major
    tile.view @V of @kv_mem : 128x128xbf16, #mn_major
    tile.view @Va of @kv_mem : 96x128xbf16, #mn_major1
    tile.view @Vb of @kv_mem at byte 12288 : 32x128xbf16, #mn_major1
    tile.view @S of @sp_mem : 128x128xf32, #lanes
    tile.view @Pa of @sp_mem at column 64 : 128x96xbf16, #lanes
    tile.view @Pb of @sp_mem at column 112 : 128x32xbf16, #lanes
    tile.view @O of @o_mem : 128x128xf32, #lanes
    tile.view @Alpha of @stat_mem : 128xf32, #linear
    tile.view @Ref of @stat_mem at byte 512 : 128xf32, #linear
    tile.view @Out of @out_mem : 128x128xbf16, #k_major
    tile.barrier @q.full[2] depth(1) count(1) at 231424
    tile.barrier @q.empty[2] depth(1) count(1) at 231440
    tile.barrier @kv.full depth(3) count(1) at 231456
    tile.barrier @kv.empty depth(3) count(1) at 231480
    tile.barrier @s.full[2] depth(1) count(1) at 231504
    tile.barrier @s.empty[2] depth(1) count(128) at 231520
    tile.barrier @pa.full[2] depth(1) count(128) at 231536
    tile.barrier @pa.empty[2] depth(1) count(1) at 231552
    tile.barrier @pb.full[2] depth(1) count(4) at 231568
    tile.barrier @pb.empty[2] depth(1) count(1) at 231584
    tile.barrier @o.full[2] depth(1) count(1) at 231600
    tile.barrier @o.empty[2] depth(1) count(128) at 231616
    tile.named_barrier @alpha.full[2] ids(3 to 10) threads(64) per_warp
    tile.barrier @alpha.empty[2] depth(1) count(128) at 231632
    tile.barrier @out.full[2] depth(1) count(128) at 231648
    tile.barrier @out.empty[2] depth(1) count(1) at 231664
    tile.named_barrier @tmem_users ids(2 to 2) threads(416)
    tile.setup {
      tile.tmem.alloc 512 columns by @mma word at 231680
      tile.role_sync
    }
    tile.role @load warps(1) at(14) one_lane regs(56) uses(%arg0, %arg1, %arg2 : !tile.global<1x128x1x128xbf16>, !tile.global<1x128x1x128xbf16>, !tile.global<1x128x1x128xbf16>) {
      %cur = tile.cursor credit : !tile.cursor<3>
      %cur_0 = tile.cursor credit : !tile.cursor<1>
      %c1_i32 = arith.constant 1 : i32
      %0:2 = tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work iter_args(%arg15 = %cur, %arg16 = %cur_0) -> (!tile.cursor<3>, !tile.cursor<1>) {
        tile.barrier.wait @kv.empty at %arg15 mod 3
        %cur_3 = tile.advance %arg15 : !tile.cursor<3>
        tile.barrier.expect @kv.full at %arg15 mod 3 bytes(32768)
        tile.issue_load %arg1[%b, %j0, %kvh] to(@K at %arg15 mod 3) signals(@kv.full at %arg15 mod 3) : !tile.global<1x128x1x128xbf16>
        tile.barrier.wait @q.empty[0] at %arg16 mod 1
        %cur_4 = tile.advance %arg16 : !tile.cursor<1>
        tile.barrier.expect @q.full[0] bytes(32768)
        tile.issue_load %arg0[%b, %q0, %h] to(@Q[0]) signals(@q.full[0]) : !tile.global<1x128x1x128xbf16>
        tile.barrier.wait @q.empty[1] at %arg16 mod 1
        tile.barrier.expect @q.full[1] bytes(32768)
        tile.issue_load %arg0[%b, %q1, %h] to(@Q[1]) signals(@q.full[1]) : !tile.global<1x128x1x128xbf16>
        %1 = scf.for %arg17 = %c1_i32 to %n step %c1_i32 iter_args(%arg18 = %cur_3) -> (!tile.cursor<3>)  : i32 {
          %4 = arith.subi %j0, %arg17 : i32
          %5 = arith.addi %4, %c1_i32 : i32
          tile.barrier.wait @kv.empty at %arg18 mod 3
          %cur_6 = tile.advance %arg18 : !tile.cursor<3>
          tile.barrier.expect @kv.full at %arg18 mod 3 bytes(32768)
          tile.issue_load %arg2[%b, %5, %kvh] to(@V at %arg18 mod 3) signals(@kv.full at %arg18 mod 3) : !tile.global<1x128x1x128xbf16>
          tile.barrier.wait @kv.empty at %cur_6 mod 3
          %cur_7 = tile.advance %cur_6 : !tile.cursor<3>
          tile.barrier.expect @kv.full at %cur_6 mod 3 bytes(32768)
          tile.issue_load %arg1[%b, %4, %kvh] to(@K at %cur_6 mod 3) signals(@kv.full at %cur_6 mod 3) : !tile.global<1x128x1x128xbf16>
          scf.yield %cur_7 : !tile.cursor<3>
        }
        %2 = arith.subi %j0, %n : i32
        %3 = arith.addi %2, %c1_i32 : i32
        tile.barrier.wait @kv.empty at %1 mod 3
        %cur_5 = tile.advance %1 : !tile.cursor<3>
        tile.barrier.expect @kv.full at %1 mod 3 bytes(32768)
        tile.issue_load %arg2[%b, %3, %kvh] to(@V at %1 mod 3) signals(@kv.full at %1 mod 3) : !tile.global<1x128x1x128xbf16>
        tile.yield %cur_5, %cur_4 : !tile.cursor<3>, !tile.cursor<1>
      }
      tile.barrier.wait @kv.empty at %0#0 mod 3
      %cur_1 = tile.advance %0#0 : !tile.cursor<3>
      tile.barrier.wait @kv.empty at %cur_1 mod 3
      %cur_2 = tile.advance %cur_1 : !tile.cursor<3>
      tile.barrier.wait @kv.empty at %cur_2 mod 3
      tile.barrier.wait @q.empty[0] at %0#1 mod 1
      tile.barrier.wait @q.empty[1] at %0#1 mod 1
    }
    tile.role @mma warps(1) at(12) one_lane regs(56) {
      %cur = tile.cursor : !tile.cursor<3>
      %cur_0 = tile.cursor : !tile.cursor<1>
      %cur_1 = tile.cursor credit : !tile.cursor<1>
      %cur_2 = tile.cursor credit : !tile.cursor<1>
      %cur_3 = tile.cursor : !tile.cursor<1>
      %c1_i32 = arith.constant 1 : i32
      %0:5 = tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work iter_args(%arg12 = %cur, %arg13 = %cur_0, %arg14 = %cur_1, %arg15 = %cur_2, %arg16 = %cur_3) -> (!tile.cursor<3>, !tile.cursor<1>, !tile.cursor<1>, !tile.cursor<1>, !tile.cursor<1>) {
        tile.barrier.wait @kv.full at %arg12 mod 3
        %cur_4 = tile.advance %arg12 : !tile.cursor<3>
        tile.barrier.wait @q.full[0] at %arg13 mod 1
        %cur_5 = tile.advance %arg13 : !tile.cursor<1>
        tile.barrier.wait @s.empty[0] at %arg14 mod 1
        %cur_6 = tile.advance %arg14 : !tile.cursor<1>
        tile.issue_mma a(@Q[0]) b(@K at %arg12 mod 3) into(@S[0])
        tile.barrier.commit @s.full[0]
        tile.barrier.wait @q.full[1] at %arg13 mod 1
        tile.barrier.wait @s.empty[1] at %arg14 mod 1
        tile.issue_mma a(@Q[1]) b(@K at %arg12 mod 3) into(@S[1])
        tile.barrier.commit @s.full[1]
        tile.barrier.commit @kv.empty at %arg12 mod 3
        %1:4 = scf.for %arg17 = %c1_i32 to %n step %c1_i32 iter_args(%arg18 = %cur_4, %arg19 = %cur_6, %arg20 = %arg15, %arg21 = %arg16) -> (!tile.cursor<3>, !tile.cursor<1>, !tile.cursor<1>, !tile.cursor<1>)  : i32 {
          %3 = arith.cmpi eq, %arg17, %c1_i32 : i32
          tile.barrier.wait @kv.full at %arg18 mod 3
          %cur_10 = tile.advance %arg18 : !tile.cursor<3>
          tile.barrier.wait @o.empty[0] at %arg20 mod 1
          %cur_11 = tile.advance %arg20 : !tile.cursor<1>
          tile.barrier.wait @pa.full[0] at %arg21 mod 1
          %cur_12 = tile.advance %arg21 : !tile.cursor<1>
          tile.issue_mma a(@Pa[0]) b(@Va at %arg18 mod 3) onto(@O[0]) unless(%3)
          tile.barrier.commit @pa.empty[0]
          tile.barrier.wait @pb.full[0] at %arg21 mod 1
          tile.issue_mma a(@Pb[0]) b(@Vb at %arg18 mod 3) onto(@O[0])
          tile.barrier.commit @pb.empty[0]
          tile.barrier.commit @o.full[0]
          tile.barrier.wait @kv.full at %cur_10 mod 3
          %cur_13 = tile.advance %cur_10 : !tile.cursor<3>
          tile.barrier.wait @s.empty[0] at %arg19 mod 1
          %cur_14 = tile.advance %arg19 : !tile.cursor<1>
          tile.issue_mma a(@Q[0]) b(@K at %cur_10 mod 3) into(@S[0])
          tile.barrier.commit @s.full[0]
          tile.barrier.wait @o.empty[1] at %arg20 mod 1
          tile.barrier.wait @pa.full[1] at %arg21 mod 1
          tile.issue_mma a(@Pa[1]) b(@Va at %arg18 mod 3) onto(@O[1]) unless(%3)
          tile.barrier.commit @pa.empty[1]
          tile.barrier.wait @pb.full[1] at %arg21 mod 1
          tile.issue_mma a(@Pb[1]) b(@Vb at %arg18 mod 3) onto(@O[1])
          tile.barrier.commit @pb.empty[1]
          tile.barrier.commit @o.full[1]
          tile.barrier.commit @kv.empty at %arg18 mod 3
          tile.barrier.wait @s.empty[1] at %arg19 mod 1
          tile.issue_mma a(@Q[1]) b(@K at %cur_10 mod 3) into(@S[1])
          tile.barrier.commit @s.full[1]
          tile.barrier.commit @kv.empty at %cur_10 mod 3
          scf.yield %cur_13, %cur_14, %cur_11, %cur_12 : !tile.cursor<3>, !tile.cursor<1>, !tile.cursor<1>, !tile.cursor<1>
        }
        tile.barrier.commit @q.empty[0]
        tile.barrier.commit @q.empty[1]
        %2 = arith.cmpi eq, %n, %c1_i32 : i32
        tile.barrier.wait @kv.full at %1#0 mod 3
        %cur_7 = tile.advance %1#0 : !tile.cursor<3>
        tile.barrier.wait @o.empty[0] at %1#2 mod 1
        %cur_8 = tile.advance %1#2 : !tile.cursor<1>
        tile.barrier.wait @pa.full[0] at %1#3 mod 1
        %cur_9 = tile.advance %1#3 : !tile.cursor<1>
        tile.issue_mma a(@Pa[0]) b(@Va at %1#0 mod 3) onto(@O[0]) unless(%2)
        tile.barrier.commit @pa.empty[0]
        tile.barrier.wait @pb.full[0] at %1#3 mod 1
        tile.issue_mma a(@Pb[0]) b(@Vb at %1#0 mod 3) onto(@O[0])
        tile.barrier.commit @pb.empty[0]
        tile.barrier.commit @o.full[0]
        tile.barrier.wait @o.empty[1] at %1#2 mod 1
        tile.barrier.wait @pa.full[1] at %1#3 mod 1
        tile.issue_mma a(@Pa[1]) b(@Va at %1#0 mod 3) onto(@O[1]) unless(%2)
        tile.barrier.commit @pa.empty[1]
        tile.barrier.wait @pb.full[1] at %1#3 mod 1
        tile.issue_mma a(@Pb[1]) b(@Vb at %1#0 mod 3) onto(@O[1])
        tile.barrier.commit @pb.empty[1]
        tile.barrier.commit @o.full[1]
        tile.barrier.commit @kv.empty at %1#0 mod 3
        tile.yield %cur_7, %cur_5, %1#1, %cur_8, %cur_9 : !tile.cursor<3>, !tile.cursor<1>, !tile.cursor<1>, !tile.cursor<1>, !tile.cursor<1>
      }
    }
    tile.role @softmax warps(4) replicas(2) index(%replica) at(0) regs(192) uses(%arg5, %arg6, %arg7 : f32, i32, i32) {
      %cur = tile.cursor credit : !tile.cursor<1>
      %cur_0 = tile.cursor : !tile.cursor<1>
      %cur_1 = tile.cursor credit : !tile.cursor<1>
      %c0_i32 = arith.constant 0 : i32
      %c1_i32 = arith.constant 1 : i32
      %cst = arith.constant 0.000000e+00 : f32
      %cst_2 = arith.constant 0x7F800000 : f32
      %cst_3 = arith.constant 0xFF800000 : f32
      %fill = tile.splat %cst_3 : f32 -> !tile.frag<128xf32, #rows>
      %0:3 = tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work iter_args(%arg15 = %cur, %arg16 = %cur_0, %arg17 = %cur_1) -> (!tile.cursor<1>, !tile.cursor<1>, !tile.cursor<1>) {
        %1 = arith.addi %q0, %replica : i32
        %fill_4 = tile.splat %cst_2 : f32 -> !tile.frag<128xf32, #rows>
        %fill_5 = tile.splat %cst : f32 -> !tile.frag<128xf32, #rows>
        tile.barrier.wait @alpha.empty[%replica] at %arg15 mod 1
        %cur_6 = tile.advance %arg15 : !tile.cursor<1>
        %2:5 = scf.for %arg18 = %c0_i32 to %ne step %c1_i32 iter_args(%arg19 = %fill_4, %arg20 = %fill_5, %arg21 = %cur_6, %arg22 = %arg16, %arg23 = %arg17) -> (!tile.frag<128xf32, #rows>, !tile.frag<128xf32, #rows>, !tile.cursor<1>, !tile.cursor<1>, !tile.cursor<1>)  : i32 {
          %4 = arith.subi %j0, %arg18 : i32
          tile.barrier.wait @s.full[%replica] at %arg22 mod 1
          %cur_7 = tile.advance %arg22 : !tile.cursor<1>
          %x = tile.read @S[%replica] : !tile.frag<128x128xf32, #rows>
          tile.barrier.arrive @s.empty[%replica] by(thread)
          %s = tile.mask %x block(%1, %4) [#attn.causal] extents(%arg6, %arg7) : !tile.frag<128x128xf32, #rows>
          %top = tile.row_max %s init(%fill) : !tile.frag<128x128xf32, #rows> -> !tile.frag<128xf32, #rows>
          %d, %use, %factor = tile.online_max %top from(%arg19) scale(%arg5) lag(8.000000e+00) : !tile.frag<128xf32, #rows>
          tile.write %factor to @Alpha[%replica] : !tile.frag<128xf32, #rows>
          tile.named.arrive @alpha.full[%replica]
          %x_8 = tile.map (%arg24 = %s, %arg25 = %use) : (!tile.frag<128x128xf32, #rows>, !tile.frag<128xf32, #rows>) -> !tile.frag<128x128xf32, #rows> {
            %5 = math.fma %arg24, %arg5, %arg25 : f32
            tile.yield %5 : f32
          }
          %part = tile.slice %x_8 columns 0 to 96 : !tile.frag<128x128xf32, #rows> -> !tile.frag<128x96xf32, #rows>
          %p = tile.exp2 %part share(<degree = 3, period = 16, last = 4, first_chunk = 1, last_chunk = 2>) : !tile.frag<128x96xf32, #rows>
          %cast = tile.cast %p : !tile.frag<128x96xf32, #rows> -> !tile.frag<128x96xbf16, #rows>
          tile.barrier.wait @pa.empty[%replica] at %arg23 mod 1
          %cur_9 = tile.advance %arg23 : !tile.cursor<1>
          tile.write %cast to @Pa[%replica] : !tile.frag<128x96xbf16, #rows>
          tile.barrier.arrive @pa.full[%replica] by(thread)
          %part_10 = tile.slice %x_8 columns 96 to 128 : !tile.frag<128x128xf32, #rows> -> !tile.frag<128x32xf32, #rows>
          %p_11 = tile.exp2 %part_10 share(<degree = 3, period = 16, last = 4, first_chunk = 1, last_chunk = 2>) from(96) : !tile.frag<128x32xf32, #rows>
          %cast_12 = tile.cast %p_11 : !tile.frag<128x32xf32, #rows> -> !tile.frag<128x32xbf16, #rows>
          tile.barrier.wait @pb.empty[%replica] at %arg23 mod 1
          tile.write %cast_12 to @Pb[%replica] : !tile.frag<128x32xbf16, #rows>
          tile.barrier.arrive @pb.full[%replica] by(warp)
          tile.barrier.wait @alpha.empty[%replica] at %arg21 mod 1
          %cur_13 = tile.advance %arg21 : !tile.cursor<1>
          %x_14 = tile.map (%arg24 = %arg20, %arg25 = %factor) : (!tile.frag<128xf32, #rows>, !tile.frag<128xf32, #rows>) -> !tile.frag<128xf32, #rows> {
            %5 = arith.mulf %arg24, %arg25 : f32
            tile.yield %5 : f32
          }
          %sum = tile.row_sum %p init(%x_14) : !tile.frag<128x96xf32, #rows> -> !tile.frag<128xf32, #rows>
          %sum_15 = tile.row_sum %p_11 init(%sum) : !tile.frag<128x32xf32, #rows> -> !tile.frag<128xf32, #rows>
          scf.yield %d, %sum_15, %cur_13, %cur_7, %cur_9 : !tile.frag<128xf32, #rows>, !tile.frag<128xf32, #rows>, !tile.cursor<1>, !tile.cursor<1>, !tile.cursor<1>
        }
        %3:5 = scf.for %arg18 = %ne to %n step %c1_i32 iter_args(%arg19 = %2#0, %arg20 = %2#1, %arg21 = %2#2, %arg22 = %2#3, %arg23 = %2#4) -> (!tile.frag<128xf32, #rows>, !tile.frag<128xf32, #rows>, !tile.cursor<1>, !tile.cursor<1>, !tile.cursor<1>)  : i32 {
          tile.barrier.wait @s.full[%replica] at %arg22 mod 1
          %cur_7 = tile.advance %arg22 : !tile.cursor<1>
          %x = tile.read @S[%replica] : !tile.frag<128x128xf32, #rows>
          tile.barrier.arrive @s.empty[%replica] by(thread)
          %top = tile.row_max %x init(%fill) : !tile.frag<128x128xf32, #rows> -> !tile.frag<128xf32, #rows>
          %d, %use, %factor = tile.online_max %top from(%arg19) scale(%arg5) lag(8.000000e+00) : !tile.frag<128xf32, #rows>
          tile.write %factor to @Alpha[%replica] : !tile.frag<128xf32, #rows>
          tile.named.arrive @alpha.full[%replica]
          %x_8 = tile.map (%arg24 = %x, %arg25 = %use) : (!tile.frag<128x128xf32, #rows>, !tile.frag<128xf32, #rows>) -> !tile.frag<128x128xf32, #rows> {
            %4 = math.fma %arg24, %arg5, %arg25 : f32
            tile.yield %4 : f32
          }
          %part = tile.slice %x_8 columns 0 to 96 : !tile.frag<128x128xf32, #rows> -> !tile.frag<128x96xf32, #rows>
          %p = tile.exp2 %part share(<degree = 3, period = 16, last = 4, first_chunk = 1, last_chunk = 2>) : !tile.frag<128x96xf32, #rows>
          %cast = tile.cast %p : !tile.frag<128x96xf32, #rows> -> !tile.frag<128x96xbf16, #rows>
          tile.barrier.wait @pa.empty[%replica] at %arg23 mod 1
          %cur_9 = tile.advance %arg23 : !tile.cursor<1>
          tile.write %cast to @Pa[%replica] : !tile.frag<128x96xbf16, #rows>
          tile.barrier.arrive @pa.full[%replica] by(thread)
          %part_10 = tile.slice %x_8 columns 96 to 128 : !tile.frag<128x128xf32, #rows> -> !tile.frag<128x32xf32, #rows>
          %p_11 = tile.exp2 %part_10 share(<degree = 3, period = 16, last = 4, first_chunk = 1, last_chunk = 2>) from(96) : !tile.frag<128x32xf32, #rows>
          %cast_12 = tile.cast %p_11 : !tile.frag<128x32xf32, #rows> -> !tile.frag<128x32xbf16, #rows>
          tile.barrier.wait @pb.empty[%replica] at %arg23 mod 1
          tile.write %cast_12 to @Pb[%replica] : !tile.frag<128x32xbf16, #rows>
          tile.barrier.arrive @pb.full[%replica] by(warp)
          tile.barrier.wait @alpha.empty[%replica] at %arg21 mod 1
          %cur_13 = tile.advance %arg21 : !tile.cursor<1>
          %x_14 = tile.map (%arg24 = %arg20, %arg25 = %factor) : (!tile.frag<128xf32, #rows>, !tile.frag<128xf32, #rows>) -> !tile.frag<128xf32, #rows> {
            %4 = arith.mulf %arg24, %arg25 : f32
            tile.yield %4 : f32
          }
          %sum = tile.row_sum %p init(%x_14) : !tile.frag<128x96xf32, #rows> -> !tile.frag<128xf32, #rows>
          %sum_15 = tile.row_sum %p_11 init(%sum) : !tile.frag<128x32xf32, #rows> -> !tile.frag<128xf32, #rows>
          scf.yield %d, %sum_15, %cur_13, %cur_7, %cur_9 : !tile.frag<128xf32, #rows>, !tile.frag<128xf32, #rows>, !tile.cursor<1>, !tile.cursor<1>, !tile.cursor<1>
        }
        tile.write %3#1 to @Alpha[%replica] : !tile.frag<128xf32, #rows>
        tile.write %3#0 to @Ref[%replica] : !tile.frag<128xf32, #rows>
        tile.named.arrive @alpha.full[%replica]
        tile.yield %3#2, %3#3, %3#4 : !tile.cursor<1>, !tile.cursor<1>, !tile.cursor<1>
      }
      tile.named.sync @tmem_users
    }
    tile.role @correction warps(4) at(8) regs(72) uses(%arg4 : !tile.global<1x1x128xf32>) {
      %cur = tile.cursor : !tile.cursor<1>
      %cur_0 = tile.cursor credit : !tile.cursor<1>
      %c1_i32 = arith.constant 1 : i32
      %0:2 = tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work iter_args(%arg13 = %cur, %arg14 = %cur_0) -> (!tile.cursor<1>, !tile.cursor<1>) {
        tile.named.sync @alpha.full[0]
        tile.barrier.arrive @alpha.empty[0] by(thread)
        tile.named.sync @alpha.full[1]
        %1 = scf.for %arg15 = %c1_i32 to %n step %c1_i32 iter_args(%arg16 = %arg13) -> (!tile.cursor<1>)  : i32 {
          tile.named.sync @alpha.full[0]
          %x_14 = tile.read @Alpha[0] : !tile.frag<128xf32, #rows>
          tile.barrier.wait @o.full[0] at %arg16 mod 1
          %cur_15 = tile.advance %arg16 : !tile.cursor<1>
          tile.rescale @O[0] by %x_14 likely_one : !tile.frag<128xf32, #rows>
          tile.barrier.arrive @o.empty[0] by(thread)
          tile.barrier.arrive @alpha.empty[1] by(thread)
          tile.named.sync @alpha.full[1]
          %x_16 = tile.read @Alpha[1] : !tile.frag<128xf32, #rows>
          tile.barrier.wait @o.full[1] at %arg16 mod 1
          tile.rescale @O[1] by %x_16 likely_one : !tile.frag<128xf32, #rows>
          tile.barrier.arrive @o.empty[1] by(thread)
          tile.barrier.arrive @alpha.empty[0] by(thread)
          scf.yield %cur_15 : !tile.cursor<1>
        }
        tile.barrier.arrive @alpha.empty[1] by(thread)
        tile.named.sync @alpha.full[0]
        %x = tile.read @Alpha[0] : !tile.frag<128xf32, #rows>
        %x_1 = tile.read @Ref[0] : !tile.frag<128xf32, #rows>
        tile.barrier.arrive @alpha.empty[0] by(thread)
        tile.barrier.wait @o.full[0] at %1 mod 1
        %cur_2 = tile.advance %1 : !tile.cursor<1>
        tile.barrier.wait @out.empty[0] at %arg14 mod 1
        %cur_3 = tile.advance %arg14 : !tile.cursor<1>
        %x_4 = tile.read @O[0] : !tile.frag<128x128xf32, #rows>
        tile.barrier.arrive @o.empty[0] by(thread)
        %x_5, %x_6 = tile.map (%arg15 = %x_1, %arg16 = %x) : (!tile.frag<128xf32, #rows>, !tile.frag<128xf32, #rows>) -> (!tile.frag<128xf32, #rows>, !tile.frag<128xf32, #rows>) {
          %cst = arith.constant 0.000000e+00 : f32
          %cst_14 = arith.constant 1.000000e+00 : f32
          %cst_15 = arith.constant 0x7F800000 : f32
          %cst_16 = arith.constant 0xFF800000 : f32
          %cst_17 = arith.constant 0.693147182 : f32
          %2 = arith.cmpf oeq, %arg16, %cst : f32
          %3 = arith.divf %cst_14, %arg16 : f32
          %4 = arith.select %2, %cst, %3 : f32
          %5 = arith.cmpf oeq, %arg15, %cst_15 : f32
          %6 = arith.select %5, %cst, %arg15 : f32
          %7 = math.log2 %arg16 : f32
          %8 = arith.subf %7, %6 : f32
          %9 = arith.mulf %8, %cst_17 : f32
          %10 = arith.select %2, %cst_16, %9 : f32
          tile.yield %4, %10 : f32, f32
        }
        %scaled = tile.scale_rows %x_4 by %x_5 : !tile.frag<128x128xf32, #rows>, !tile.frag<128xf32, #rows>
        %cast = tile.cast %scaled : !tile.frag<128x128xf32, #rows> -> !tile.frag<128x128xbf16, #rows>
        tile.write %cast to @Out[0] : !tile.frag<128x128xbf16, #rows>
        tile.barrier.arrive @out.full[0] by(thread)
        tile.store %x_6 to %arg4[%b, %h, %q0] : !tile.frag<128xf32, #rows>, !tile.global<1x1x128xf32>
        tile.named.sync @alpha.full[1]
        %x_7 = tile.read @Alpha[1] : !tile.frag<128xf32, #rows>
        %x_8 = tile.read @Ref[1] : !tile.frag<128xf32, #rows>
        tile.barrier.arrive @alpha.empty[1] by(thread)
        tile.barrier.wait @o.full[1] at %1 mod 1
        tile.barrier.wait @out.empty[1] at %arg14 mod 1
        %x_9 = tile.read @O[1] : !tile.frag<128x128xf32, #rows>
        tile.barrier.arrive @o.empty[1] by(thread)
        %x_10, %x_11 = tile.map (%arg15 = %x_8, %arg16 = %x_7) : (!tile.frag<128xf32, #rows>, !tile.frag<128xf32, #rows>) -> (!tile.frag<128xf32, #rows>, !tile.frag<128xf32, #rows>) {
          %cst = arith.constant 0.000000e+00 : f32
          %cst_14 = arith.constant 1.000000e+00 : f32
          %cst_15 = arith.constant 0x7F800000 : f32
          %cst_16 = arith.constant 0xFF800000 : f32
          %cst_17 = arith.constant 0.693147182 : f32
          %2 = arith.cmpf oeq, %arg16, %cst : f32
          %3 = arith.divf %cst_14, %arg16 : f32
          %4 = arith.select %2, %cst, %3 : f32
          %5 = arith.cmpf oeq, %arg15, %cst_15 : f32
          %6 = arith.select %5, %cst, %arg15 : f32
          %7 = math.log2 %arg16 : f32
          %8 = arith.subf %7, %6 : f32
          %9 = arith.mulf %8, %cst_17 : f32
          %10 = arith.select %2, %cst_16, %9 : f32
          tile.yield %4, %10 : f32, f32
        }
        %scaled_12 = tile.scale_rows %x_9 by %x_10 : !tile.frag<128x128xf32, #rows>, !tile.frag<128xf32, #rows>
        %cast_13 = tile.cast %scaled_12 : !tile.frag<128x128xf32, #rows> -> !tile.frag<128x128xbf16, #rows>
        tile.write %cast_13 to @Out[1] : !tile.frag<128x128xbf16, #rows>
        tile.barrier.arrive @out.full[1] by(thread)
        tile.store %x_11 to %arg4[%b, %h, %q1] : !tile.frag<128xf32, #rows>, !tile.global<1x1x128xf32>
        tile.yield %cur_2, %cur_3 : !tile.cursor<1>, !tile.cursor<1>
      }
      tile.named.sync @tmem_users
    }
    tile.role @store warps(1) at(13) one_lane regs(56) uses(%arg3 : !tile.global<1x128x1x128xbf16>) {
      %cur = tile.cursor : !tile.cursor<1>
      %0 = tile.for_each_tile (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) in @work iter_args(%arg13 = %cur) -> (!tile.cursor<1>) {
        tile.barrier.wait @out.full[0] at %arg13 mod 1
        %cur_0 = tile.advance %arg13 : !tile.cursor<1>
        tile.issue_store @Out[0] to %arg3[%b, %q0, %h] : !tile.global<1x128x1x128xbf16>
        tile.group.commit bulk
        tile.barrier.wait @out.full[1] at %arg13 mod 1
        tile.issue_store @Out[1] to %arg3[%b, %q1, %h] : !tile.global<1x128x1x128xbf16>
        tile.group.commit bulk
        tile.group.wait bulk 1 read
        tile.barrier.arrive @out.empty[0] by(lane)
        tile.group.wait bulk 0 read
        tile.barrier.arrive @out.empty[1] by(lane)
        tile.yield %cur_0 : !tile.cursor<1>
      }
    }
    tile.teardown {
      tile.tmem.free 512 columns by @mma after(@tmem_users)
    }
  }
}

