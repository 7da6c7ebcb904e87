// RUN: fa4-opt %s --convert-tile-to-nvvm --split-input-file | FileCheck %s

// Products of a warpgroup: all steps in one text that owns the registers, with a
// fence before those that were written; the wait takes them through itself.

#plan = #fa4.schedule<forward, tile = 64 x 64, stages = 1>
#acc = #tile.spread<acc>
!S = !tile.frag<64x64xf32, #acc>
!P = !tile.frag<64x64xbf16, #tile.spread<a16>>
!row = !tile.frag<64xf32, #tile.spread<quad>>
!gl = !tile.global<64xf32>

// CHECK-LABEL: llvm.func @products(
tile.kernel @products(%c: f32, %L: !gl, %nt: i32) target(#fa4.target<"sm_90a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%b) { tile.yield %t : i32 }
  tile.placed_alloc @m smem at 0 stride 8192
  tile.placed_alloc @n smem at 8192 stride 8192
  tile.view @K of @m : 64x64xbf16, #tile.smem<k_major, 128>
  tile.view @Out of @m : 64x64xbf16, #tile.smem<k_major, 128>
  tile.view @V of @n : 64x64xbf16, #tile.smem<mn_major, 128>
  tile.role @a warps(4) at(0) regs(128) uses(%c, %L : f32, !gl) {
    // Row 16 w + lane / 4 and the one eight below, lane 0 of four speaks.
    %none = tile.splat %c : f32 -> !row

    // The descriptor of a 128-byte swizzle; K steps are 32 bytes, 2 units, apart.
    // CHECK: nvvm.wgmma.fence.aligned
    // CHECK: llvm.mlir.constant(4611686293305360384 : i64)
    // CHECK: llvm.inline_asm has_side_effects "{\0A .reg .pred first, more;\0A .reg .b64 a, b;\0A setp.ne.b32 first, 0, 0;
    // CHECK-SAME: add.s64 a, $64, 2;\0A add.s64 b, $65, 2;\0A wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {$0, $1,
    // CHECK-SAME: a, b, more, 1, 1, 0, 0;
    // CHECK-NOT: wgmma.fence
    tile.fence [wgmma]
    %f = tile.issue_mma a(@K) b(@K) : !S
    // CHECK: nvvm.wgmma.commit.group.sync.aligned
    tile.group.commit wgmma
    // CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,
    %s = tile.group.wait wgmma 0 (%f) : !S

    // A quad exchanges what its threads have of a row: for each of two rows.
    // CHECK-COUNT-4: nvvm.shfl.sync bfly
    // CHECK-NOT: nvvm.shfl
    %top = tile.row_max %s init(%none) : !S -> !row
    // CHECK: llvm.fptrunc %{{.*}} : vector<32xf32> to vector<32xbf16>
    %p = tile.cast %s : !S -> !P

    // A's words and the accumulator were written: the text fences, the fence before
    // it is not repeated. Steps of V are 16 rows of 128 bytes apart.
    // CHECK-NOT: nvvm.wgmma.fence
    // CHECK: llvm.inline_asm has_side_effects "{{.*}}setp.ne.b32 first, 1, 0;{{.*}} wgmma.fence.sync.aligned;\0A add.s64 b, $80, 512;
    // CHECK-SAME: {$64, $65, $66, $67}, b, first, 1, 1, 1;\0A add.s64 b, $80, 640;
    tile.fence [wgmma]
    %g = tile.issue_mma a(%p) b(@V) onto(%s) : (!P, !S) -> !S
    tile.group.commit wgmma
    // A's words stay where they are until the product is done.
    // CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,{{.*}},31,r,r,r,r,r,r,r,r,r,r,r,r,r,r,r,r,~{memory}"
    %o = tile.group.wait wgmma 0 (%g) : !S

    // Skipped by a warp whose factors are 1.
    // CHECK: %[[ANY:.*]] = nvvm.vote.sync any
    // CHECK: llvm.cond_br %[[ANY]]
    %scaled = tile.scale_rows %o by %top likely_one : !S, !row
    %t = tile.cast %scaled : !S -> !tile.frag<64x64xbf16, #acc>
    // CHECK-COUNT-4: nvvm.stmatrix
    tile.write %t to @Out : !tile.frag<64x64xbf16, #acc>
    // CHECK-COUNT-2: @$2 st.global.b32
    tile.store %top to %L[] : !row, !gl
  }
}

// -----

// A statistic with a lag: each thread compares what it has with a bound, as integers,
// and only where a thread of the warp is above it rows exchange their maxima. The sum
// that the loop carries stays apart in the threads of a row until the loop is done;
// factors that the warp knows to be 1 are not voted on again.

#plan = #fa4.schedule<forward, tile = 64 x 64, stages = 1>
#acc = #tile.spread<acc>
!S = !tile.frag<64x16xf32, #acc>
!row = !tile.frag<64xf32, #tile.spread<quad>>
!gl = !tile.global<64xf32>

// CHECK-LABEL: llvm.func @lazy(
tile.kernel @lazy(%c: f32, %n: i32, %L: !gl, %nt: i32) target(#fa4.target<"sm_90a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%b) { tile.yield %t : i32 }
  tile.placed_alloc @m smem at 0 stride 4096
  tile.view @X of @m : 64x16xf32, #tile.smem<linear>
  tile.role @a warps(4) at(0) regs(128) uses(%c, %n, %L : f32, i32, !gl) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %inf = arith.constant 0x7F800000 : f32
    %ninf = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %none = tile.splat %ninf : f32 -> !row
    %d0 = tile.splat %inf : f32 -> !row
    %l0 = tile.splat %zero : f32 -> !row
    %o0 = tile.splat %zero : f32 -> !S
    // CHECK-COUNT-8: llvm.intr.smax
    // CHECK: %[[ANY:.*]] = nvvm.vote.sync any
    // CHECK: llvm.cond_br %[[ANY]]
    // CHECK-COUNT-4: nvvm.shfl.sync bfly
    // CHECK-NOT: nvvm.shfl
    // CHECK: llvm.cond_br %[[ANY]]
    // CHECK-NOT: nvvm.vote
    %o, %d, %l = scf.for %i = %c0 to %n step %c1
        iter_args(%oa = %o0, %dc = %d0, %lc = %l0) -> (!S, !row, !row) : i32 {
      %x = tile.read @X : !S
      %top = tile.row_max %x init(%none) : !S -> !row
      %d1, %use, %a = tile.online_max %top from(%dc) scale(%c) lag(8.0) : !row
      %l1 = tile.map (%sum = %lc, %fac = %a) : (!row, !row) -> !row {
        %prod = arith.mulf %sum, %fac : f32
        tile.yield %prod : f32
      }
      %l2 = tile.row_sum %x init(%l1) : !S -> !row
      %o1 = tile.scale_rows %oa by %a likely_one : !S, !row
      scf.yield %o1, %d1, %l2 : !S, !row, !row
    }
    // CHECK-COUNT-4: nvvm.shfl.sync bfly
    // CHECK-NOT: nvvm.shfl
    // CHECK-COUNT-2: @$2 st.global.b32
    tile.store %l to %L[] : !row, !gl
    tile.write %o to @X : !S
  }
}
