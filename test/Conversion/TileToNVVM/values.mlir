// RUN: fa4-opt %s --tile-verify-t2 --convert-tile-to-nvvm | FileCheck %s

// The forms on which the count of instructions rests: packed arithmetic on whole
// vectors, one mask word per 32 columns, the polynomial's lanes taken out, tensor
// memory in pieces, a vote around the rescale. Numbers: DeviceValuesTest.

#rows  = #tile.spread<rows>
#lanes = #tile.tmem<lanes>
#kmaj  = #tile.smem<k_major, 128>
!S   = !tile.frag<128x64xf32, #rows>
!P   = !tile.frag<128x64xbf16, #rows>
!row = !tile.frag<128xf32, #rows>
!gl  = !tile.global<128xf32>

// CHECK-LABEL: llvm.func @softmax
tile.kernel @softmax(%L: !gl, %c: f32, %sq: i32, %sk: i32, %nt: i32) target(#fa4.target<"sm_100a">)
    schedule(#fa4.schedule<forward, tile = 128 x 64>) {
  tile.work @work(%t) tiles(%nt : i32) uses(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.placed_alloc @s_mem tmem at 0 stride 64
  tile.placed_alloc @o_mem tmem at 64 stride 64
  tile.placed_alloc @out_mem smem at 0 stride 16384
  tile.view @S of @s_mem : 128x64xf32, #lanes
  tile.view @P of @s_mem at column 32 : 128x64xbf16, #lanes
  tile.view @O of @o_mem : 128x64xf32, #lanes
  tile.view @Out of @out_mem : 128x64xbf16, #kmaj
  tile.named_barrier @users ids(1 to 1) threads(160)
  tile.setup {
    tile.tmem.alloc 128 columns by @owner word at 16384
    tile.fence [init]
    tile.role_sync
  }
  tile.role @owner warps(1) at(4) regs(24) { }
  tile.role @r warps(4) at(0) regs(192) uses(%L, %c, %sq, %sk : !gl, f32, i32, i32) {
    %ninf = arith.constant 0xFF800000 : f32
    %none = tile.splat %ninf : f32 -> !row
    tile.for_each_tile (%i) in @work {
      %d = tile.load %L[%i] : !gl -> !row
      // A read: two pieces, the wait, the values behind it.
      // CHECK: nvvm.tcgen05.ld %{{.*}} : vector<32xi32>
      // CHECK: nvvm.tcgen05.ld %{{.*}} : vector<32xi32>
      // CHECK: nvvm.tcgen05.wait <load>
      // CHECK: llvm.inline_asm has_side_effects ""
      // CHECK: llvm.inline_asm has_side_effects ""
      %s = tile.read @S : !S
      // CHECK: llvm.inline_asm "bmsk.clamp.b32 $0, 0, $1;", "=r,r"
      // CHECK: %[[TEST:.*]] = llvm.and
      // CHECK: %[[KEPT:.*]] = llvm.icmp "ne" %[[TEST]]
      // CHECK: llvm.select %[[KEPT]], %{{.*}} : i1, f32
      // CHECK: llvm.inline_asm "bmsk.clamp.b32 $0, 0, $1;", "=r,r"
      // CHECK-NOT: bmsk.clamp
      %x = tile.mask %s block(%i, %i) [#attn.causal] extents(%sq, %sk) : !S
      // CHECK-COUNT-31: llvm.intr.maxnum({{.*}}vector<2xf32>
      // CHECK-COUNT-2: llvm.intr.maxnum({{.*}}(f32, f32) -> f32
      %top = tile.row_max %x init(%none) : !S -> !row
      // CHECK: llvm.fmul
      // CHECK: llvm.fneg
      // CHECK: llvm.fsub
      // CHECK: llvm.fcmp "uge"
      %d1, %use, %a = tile.online_max %top from(%d) scale(%c) lag(8.0) : !row
      // CHECK: llvm.intr.fma({{.*}}vector<64xf32>
      %z = tile.map (%e = %x, %off = %use) : (!S, !row) -> !S {
        %f = math.fma %e, %c, %off : f32
        tile.yield %f : f32
      }
      // The first 32 columns by the machine, 8 of the others by the polynomial.
      // CHECK: llvm.intr.exp2({{.*}}vector<32xf32>
      // CHECK: llvm.intr.maxnum({{.*}}vector<8xf32>
      // CHECK-COUNT-4: llvm.inline_asm "add.rm.ftz.f32x2 $0, $1, $2;", "=l,l,l"
      // CHECK: llvm.intr.exp2({{.*}}vector<24xf32>
      %p = tile.exp2 %z share(<degree = 3, period = 16, last = 4, first_chunk = 1, last_chunk = 2>) : !S
      // CHECK: llvm.fptrunc %{{.*}} : vector<64xf32> to vector<64xbf16>
      %q = tile.cast %p : !S -> !P
      // CHECK: nvvm.tcgen05.st %{{.*}} : vector<16xi32>
      // CHECK: nvvm.tcgen05.st %{{.*}} : vector<16xi32>
      tile.write %q to @P : !P
      tile.fence [tmem_stores]
      // CHECK-COUNT-31: llvm.fadd %{{.*}} : vector<2xf32>
      // CHECK-COUNT-2: llvm.fadd %{{.*}} : f32
      %l = tile.row_sum %p init(%d) : !S -> !row
      // CHECK: llvm.fcmp "une"
      // CHECK: nvvm.vote.sync any
      // Its fences are in the branch.
      // CHECK-NOT: nvvm.tcgen05
      // CHECK: llvm.cond_br
      // CHECK-NOT: nvvm.tcgen05.ld
      // CHECK: nvvm.tcgen05.fence <after>
      // CHECK: nvvm.tcgen05.ld {{.*}} : vector<32xi32>
      // CHECK: nvvm.tcgen05.wait <load>
      // CHECK: llvm.fmul %{{.*}} : vector<32xf32>
      // CHECK: nvvm.tcgen05.st {{.*}} : vector<32xi32>
      // CHECK: nvvm.tcgen05.ld {{.*}} : vector<32xi32>
      // CHECK: nvvm.tcgen05.wait <store>
      // CHECK-NEXT: nvvm.tcgen05.fence <before>
      // CHECK-NEXT: llvm.br
      tile.rescale @O by %a likely_one : !row
      // A row that passes through registers does so in pieces.
      // CHECK: nvvm.tcgen05.ld %{{.*}} : vector<16xi32>
      // CHECK: llvm.fmul %{{.*}} : vector<16xf32>
      // CHECK: llvm.fptrunc %{{.*}} : vector<16xf32> to vector<16xbf16>
      // CHECK-COUNT-2: llvm.store %{{.*}} : vector<4xi32>, !llvm.ptr<3>
      // CHECK: nvvm.tcgen05.ld %{{.*}} : vector<16xi32>
      // CHECK-COUNT-2: llvm.store %{{.*}} : vector<4xi32>, !llvm.ptr<3>
      %o = tile.read @O : !S
      %v = tile.scale_rows %o by %l : !S, !row
      %w = tile.cast %v : !S -> !P
      tile.write %w to @Out : !P
      tile.fence [tmem_loads, proxy]
      // CHECK: st.global.b32
      tile.store %l to %L[%i] : !row, !gl
      tile.yield
    }
    tile.named.sync @users
  }
  tile.teardown {
    tile.tmem.free 128 columns by @owner after(@users)
  }
}
