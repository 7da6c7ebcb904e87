// RUN: fa4-opt %s --tile-verify-t2 --convert-tile-to-nvvm | FileCheck %s

#kmaj  = #tile.smem<k_major, 128>
#mnmaj = #tile.smem<mn_major, 128>
#lanes = #tile.tmem<lanes>
!g = !tile.global<1x128x1x128xbf16>
#b200 = #fa4.target<"sm_100a">
#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>

tile.kernel @copy(%A: !g, %B: !g, %O: !g, %sq: i32, %nt: i32) target(#b200) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) uses(%sq : i32) -> (%i, %n) facts(1 <= %n) {
    %c128 = arith.constant 128 : i32
    %n = arith.ceildivsi %sq, %c128 : i32
    tile.yield %t, %n : i32, i32
  }
  tile.placed_alloc @a_mem smem at 0 stride 32768
  tile.placed_alloc @b_mem[2] smem at 32768 stride 32768
  tile.placed_alloc @acc_mem tmem at 0 stride 128
  tile.view @A of @a_mem : 128x128xbf16, #kmaj
  tile.view @B of @b_mem : 128x128xbf16, #mnmaj
  tile.view @Acc of @acc_mem : 128x128xf32, #lanes
  tile.barrier @full depth(2) count(1) at 98304
  tile.barrier @empty depth(2) count(1) at 98320
  tile.barrier @a.full depth(1) count(1) at 98336
  tile.barrier @done depth(1) count(1) at 98344
  tile.barrier @free depth(1) count(4) at 98352
  tile.named_barrier @users ids(2 to 2) threads(160)

  tile.setup {
    tile.tmem.alloc 128 columns by @mma word at 98360
    tile.fence [init]
    tile.role_sync
  }

  tile.role @watch warps(4) at(0) regs(104) {
    %d_0 = tile.cursor : !tile.cursor<1>
    %d_e = tile.for_each_tile (%i, %n) in @work iter_args(%d = %d_0) -> (!tile.cursor<1>) {
      tile.barrier.wait @done at %d mod 1
      tile.fence [after]
      tile.role_sync
      tile.fence [tmem_loads, before, proxy]
      tile.barrier.arrive @free by(warp)
      %d1 = tile.advance %d : !tile.cursor<1>
      tile.yield %d1 : !tile.cursor<1>
    }
    tile.named.sync @users
  }

  tile.role @mma warps(1) at(4) one_lane regs(56) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %p_0 = tile.cursor : !tile.cursor<2>
    %a_0 = tile.cursor : !tile.cursor<1>
    %f_0 = tile.cursor credit : !tile.cursor<1>
    %p_e, %a_e, %f_e = tile.for_each_tile (%i, %n) in @work
        iter_args(%p = %p_0, %a = %a_0, %f = %f_0) -> (!tile.cursor<2>, !tile.cursor<1>, !tile.cursor<1>) {
      tile.barrier.wait @a.full at %a mod 1
      tile.barrier.wait @free at %f mod 1
      %p1 = scf.for %j = %c0 to %n step %c1 iter_args(%q = %p) -> (!tile.cursor<2>) : i32 {
        %first = arith.cmpi eq, %j, %c0 : i32
        tile.barrier.wait @full at %q mod 2
        tile.fence [after]
        tile.issue_mma a(@A) b(@B at %q mod 2) onto(@Acc) unless(%first)
        tile.barrier.commit @empty at %q mod 2
        %q1 = tile.advance %q : !tile.cursor<2>
        scf.yield %q1 : !tile.cursor<2>
      }
      tile.barrier.commit @done
      %a1 = tile.advance %a : !tile.cursor<1>
      %f1 = tile.advance %f : !tile.cursor<1>
      tile.yield %p1, %a1, %f1 : !tile.cursor<2>, !tile.cursor<1>, !tile.cursor<1>
    }
  }

  tile.role @load warps(1) at(5) one_lane regs(56) uses(%A, %B : !g, !g) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %p_0 = tile.cursor credit : !tile.cursor<2>
    %p_e = tile.for_each_tile (%i, %n) in @work iter_args(%p = %p_0) -> (!tile.cursor<2>) {
      tile.barrier.expect @a.full bytes(32768)
      tile.issue_load %A[%c0, %i] to(@A) signals(@a.full) : !g
      %p1 = scf.for %j = %c0 to %n step %c1 iter_args(%q = %p) -> (!tile.cursor<2>) : i32 {
        tile.barrier.wait @empty at %q mod 2
        tile.barrier.expect @full at %q mod 2 bytes(32768)
        tile.issue_load %B[%c0, %j] to(@B at %q mod 2) signals(@full at %q mod 2) : !g
        %q1 = tile.advance %q : !tile.cursor<2>
        scf.yield %q1 : !tile.cursor<2>
      }
      tile.yield %p1 : !tile.cursor<2>
    }
  }

  tile.role @store warps(1) at(6) one_lane regs(56) uses(%O : !g) {
    %c0 = arith.constant 0 : i32
    tile.for_each_tile (%i, %n) in @work {
      tile.issue_store @A to %O[%c0, %i] : !g
      tile.group.commit bulk
      tile.group.wait bulk 0 read
    }
  }

  tile.teardown {
    tile.tmem.free 128 columns by @mma after(@users)
  }
}

// CHECK: #[[UNROLL:.*]] = #llvm.loop_unroll<disable = true>
// CHECK: #loop_annotation = #llvm.loop_annotation<unroll = #[[UNROLL]]>

// Parameters: one map per box and swizzle, scalars; 7 warps make two warpgroups.
// CHECK: llvm.mlir.global external @fa4_shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK: llvm.func @copy(
// CHECK-SAME: %[[A:.*]]: !llvm.ptr {fa4.param = #fa4.param<tensor_map of 0 box [1, 128, 1, 64] swizzle 128>, llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-SAME: %[[B:.*]]: !llvm.ptr {fa4.param = #fa4.param<tensor_map of 1
// CHECK-SAME: %[[O:.*]]: !llvm.ptr {fa4.param = #fa4.param<tensor_map of 2
// CHECK-SAME: %[[SQ:.*]]: i32 {fa4.param = #fa4.param<scalar of 3>}
// CHECK-SAME: %[[NT:.*]]: i32 {fa4.param = #fa4.param<scalar of 4>}
// CHECK-SAME: denormal_fp_math_f32 = "preserve-sign"
// CHECK-SAME: fa4.launch = #fa4.launch<threads = 256, smem_bytes = 98364, cluster = 1, tiles = 4, persistent = true>
// CHECK-SAME: nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 256>

// Set-up: the allocating warp, the initialising lane, then all meet.
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx
// CHECK: nvvm.tcgen05.alloc %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32
// CHECK-NEXT: nvvm.tcgen05.relinquish_alloc_permit
// CHECK: nvvm.elect.sync
// CHECK-COUNT-7: nvvm.mbarrier.init
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.prefetch tensormap in_param_space, %[[A]]
// CHECK: nvvm.tcgen05.fence <before>
// CHECK-NEXT: nvvm.barrier
// CHECK-NEXT: nvvm.tcgen05.fence <after>
// CHECK: %[[SYMBOL:.*]] = llvm.mlir.addressof @fa4_shared_memory
// CHECK: llvm.inline_asm "mov.b32 $0, $1;", "=r,r"
// CHECK: %[[TMEM:.*]] = llvm.load
// CHECK: llvm.mlir.constant(4 : i32)
// CHECK-NEXT: llvm.icmp "ult" %[[WARP]]
// CHECK-NEXT: llvm.cond_br %{{.*}}, ^[[WATCH:bb[0-9]+]], ^
// CHECK: llvm.mlir.constant(5 : i32)
// CHECK-NEXT: llvm.icmp "ult" %[[WARP]]
// CHECK-NEXT: llvm.cond_br %{{.*}}, ^[[MMA:bb[0-9]+]], ^
// CHECK: llvm.cond_br %{{.*}}, ^[[LOAD:bb[0-9]+]], ^
// CHECK: llvm.mlir.constant(7 : i32)
// CHECK: llvm.cond_br %{{.*}}, ^[[STORE:bb[0-9]+]], ^
// CHECK: llvm.br ^[[IDLE:bb[0-9]+]]

// A role of whole warps: a loop over tries, a barrier of its own to meet at.
// CHECK: ^[[WATCH]]:
// CHECK-NEXT: nvvm.setmaxregister decrease 104
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK: nvvm.read.ptx.sreg.nctaid.x
// CHECK: llvm.br ^[[TRY:bb[0-9]+]]{{$}}
// CHECK-NEXT: ^[[TRY]]:
// CHECK-NEXT: nvvm.mbarrier.try_wait %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32 -> i1
// CHECK: llvm.cond_br %{{.*}}, ^[[TRY]], ^
// CHECK: nvvm.tcgen05.fence <after>
// CHECK: nvvm.barrier id = %{{.*}} number_of_threads
// CHECK-NEXT: nvvm.tcgen05.wait <load>
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvvm.tcgen05.fence <before>
// CHECK: nvvm.elect.sync
// CHECK: nvvm.mbarrier.arrive %{{[0-9]+}} : !llvm.ptr<3>
// CHECK: llvm.br {{.*}} {loop_annotation = #loop_annotation}
// CHECK: nvvm.barrier id
// CHECK-NEXT: llvm.br ^[[EXIT:bb[0-9]+]]

// A role of one lane: elected once, the whole warp keeps loops, cursors and
// operands, and all lanes have seen a phase before one issues. B's descriptor: panels
// 16384 bytes apart, 8 rows 1024 bytes apart; 16 rows per instruction.
// CHECK: ^[[MMA]]:
// CHECK: %[[ELECTED:.*]] = nvvm.elect.sync
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK: nvvm.mbarrier.try_wait
// CHECK: llvm.cond_br
// CHECK: nvvm.bar.warp.sync
// CHECK: llvm.inline_asm has_side_effects "mov.b32 $0, $1;", "=r,r" %[[TMEM]]
// CHECK: %[[IDESC:.*]] = llvm.mlir.constant(136381584 : i32)
// CHECK: llvm.mlir.constant(4611756662049538048 : i64)
// CHECK: %[[DESC:.*]] = llvm.inline_asm has_side_effects "mov.b64 $0, $1;", "=l,l"
// CHECK: llvm.mlir.constant(4611756662116581376 : i64)
// CHECK: %[[ACC:.*]] = llvm.inttoptr %{{.*}} : i32 to !llvm.ptr<6>
// CHECK: llvm.mlir.constant(2 : i64)
// CHECK: llvm.mlir.constant(2176 : i64)
// CHECK: llvm.cond_br %[[ELECTED]]
// CHECK: nvvm.tcgen05.mma %[[ACC]], %{{.*}}, %{{.*}}, %[[IDESC]], %[[EN:[0-9]+]] {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>}
// CHECK-COUNT-7: nvvm.tcgen05.mma
// CHECK-NOT: nvvm.tcgen05.mma
// CHECK: llvm.cond_br %[[ELECTED]]
// CHECK: nvvm.tcgen05.commit %{{.*}} : !llvm.ptr<3>

// Two panels per copy, one barrier. What a tile reads once leaves the second-level cache
// first, what the loads of every tile walk along leaves it last.
// CHECK: ^[[LOAD]]:
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK: %[[ONCE:.*]] = llvm.inline_asm "createpolicy.fractional.L2::evict_first.b64 $0, 0f3F800000;", "=l"
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[A]], %[[BAR:.*]], box[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] l2_cache_hint = %[[ONCE]] {isCTAOnly = true}
// CHECK: llvm.getelementptr %{{.*}}[16384]
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[A]], %[[BAR]], box{{.*}} l2_cache_hint = %[[ONCE]]
// CHECK: %[[AGAIN:.*]] = llvm.inline_asm "createpolicy.fractional.L2::evict_last.b64 $0, 0f3F800000;", "=l"
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[B]]{{.*}} l2_cache_hint = %[[AGAIN]]

// CHECK: ^[[STORE]]:
// CHECK: %[[ONCE:.*]] = llvm.inline_asm "createpolicy.fractional.L2::evict_first
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.global.shared.cta %[[O]]{{.*}} l2_cache_hint = %[[ONCE]]
// CHECK: nvvm.cp.async.bulk.commit.group
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}

// CHECK: ^[[IDLE]]:
// CHECK-NEXT: nvvm.setmaxregister decrease 56
// CHECK-NEXT: llvm.br ^[[EXIT]]

// CHECK: ^[[EXIT]]:
// CHECK: nvvm.barrier id
// CHECK-NEXT: nvvm.tcgen05.fence <after>
// CHECK: %[[FREE:.*]] = llvm.inttoptr %[[TMEM]]
// CHECK: nvvm.tcgen05.dealloc %[[FREE]]
// CHECK: llvm.return
