// RUN: fa4-opt %s --convert-tile-to-nvvm --split-input-file | FileCheck %s

// One tile per CTA: no loop, the tile is the CTA's number. A role of several warps
// issues on one thread; warps beyond the roles are idle.

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1, work = one_per_cluster>
!g = !tile.global<1x128x96xf16>
!gs = !tile.global<1x128xf32>

// CHECK-LABEL: llvm.func @one_tile(
// CHECK-SAME: tensor_map of 0 box [1, 128, 32] swizzle 64
// CHECK-SAME: tensor_map of 1 box [1, 128]>
// CHECK-SAME: persistent = false
tile.kernel @one_tile(%A: !g, %S: !gs, %nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%b, %n) facts(%b <= 7, %n <= %b) {
    tile.yield %t, %t : i32, i32
  }
  tile.placed_alloc @m smem at 0 stride 24576
  tile.placed_alloc @s smem at 24576 stride 512
  tile.view @A of @m : 128x96xf16, #tile.smem<k_major, 64>
  tile.view @S of @s : 128xf32, #tile.smem<linear>
  tile.barrier @full[2] depth(1) count(1) at 25088
  tile.setup {
    tile.fence [init]
    tile.role_sync
  }
  // CHECK: llvm.icmp "ult"
  // CHECK-NEXT: llvm.cond_br %{{.*}}, ^[[IDLE:bb[0-9]+]], ^
  // CHECK: nvvm.setmaxregister decrease 128
  // CHECK: %[[R:.*]] = llvm.udiv
  // CHECK: %[[LANE:.*]] = nvvm.elect.sync
  // CHECK: %[[ISSUES:.*]] = llvm.and %{{.*}}, %[[LANE]]
  // CHECK: %[[TILE:.*]] = nvvm.read.ptx.sreg.ctaid.x
  // CHECK-NOT: nctaid
  // CHECK: %[[B:.*]] = llvm.intr.smin(%[[TILE]], %{{.*}})
  // CHECK: %[[N:.*]] = llvm.intr.smin(%[[TILE]], %[[B]])
  // CHECK: llvm.cond_br %[[ISSUES]]
  // CHECK: nvvm.mbarrier.arrive.expect_tx
  // CHECK: llvm.cond_br %[[ISSUES]]
  // CHECK: llvm.mul %[[R]], %{{.*}}
  // CHECK-COUNT-3: nvvm.cp.async.bulk.tensor.shared.cluster.global
  // CHECK: llvm.cond_br %[[ISSUES]]
  // CHECK: nvvm.cp.async.bulk.tensor.reduce %{{.*}}, %{{.*}}, box[%{{.*}}, %[[B]]] l2_cache_hint = %{{.*}} {redKind = #nvvm.tma_redux_kind<add>}
  // CHECK: nvvm.barrier id = %{{.*}} number_of_threads
  // CHECK: ^[[IDLE]]:
  // CHECK-NEXT: nvvm.setmaxregister decrease 24
  tile.role @copy warps(4) replicas(2) index(%r) at(4) regs(128) uses(%A, %S : !g, !gs) {
    tile.for_each_tile (%b, %n) in @work {
      tile.barrier.expect @full[%r] bytes(24576)
      tile.issue_load %A[%b] to(@A) signals(@full[%r]) : !g
      tile.issue_store add @S to %S[%b, %n] : !gs
      tile.role_sync
    }
  }
}

// -----

// A role of one lane is run by its whole warp: only what it issues is on the lane.
// Arrivals of its threads are each lane's own.

#plan = #fa4.schedule<forward, tile = 128 x 128, stages = 1>

// CHECK-LABEL: llvm.func @lanes(
tile.kernel @lanes(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%b) { tile.yield %t : i32 }
  tile.barrier @full depth(1) count(32) at 0
  tile.barrier @empty depth(1) count(1) at 8
  tile.named_barrier @meet ids(4 to 4) threads(32)
  tile.setup {
    tile.fence [init]
    tile.role_sync
  }
  // CHECK: nvvm.setmaxregister decrease 56
  // CHECK: %[[ISSUES:.*]] = nvvm.elect.sync
  // CHECK-NEXT: %{{.*}} = llvm.getelementptr
  // CHECK-NEXT: nvvm.mbarrier.arrive %{{[0-9]+}} : !llvm.ptr<3>
  // CHECK: llvm.cond_br %[[ISSUES]]
  // CHECK: nvvm.tcgen05.commit
  // CHECK: %[[ID:.*]] = llvm.mlir.constant(4 : i32)
  // CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%[[ID]], %{{.*}})
  tile.role @warp warps(1) at(0) one_lane regs(56) {
    tile.barrier.arrive @full by(thread)
    tile.barrier.commit @empty
    tile.named.arrive @meet
  }
  // CHECK: nvvm.setmaxregister decrease 56
  // CHECK-NOT: nvvm.elect.sync
  // CHECK: nvvm.mbarrier.arrive %{{[0-9]+}} : !llvm.ptr<3>
  tile.role @lane warps(1) at(1) one_lane regs(56) {
    tile.barrier.arrive @full by(thread)
  }
}

// -----

// Older PTX names one's own shared memory by the cluster's window; without tensor
// memory there is nothing of it to fence.

#plan = #fa4.schedule<forward, tile = 64 x 128, stages = 1>
!g = !tile.global<1x64x64xbf16>

// CHECK-LABEL: llvm.func @window(
tile.kernel @window(%A: !g, %nt: i32) target(#fa4.target<"sm_90a">) schedule(#plan) {
  tile.work @work(%t) tiles(%nt : i32) -> (%b) { tile.yield %t : i32 }
  tile.placed_alloc @m smem at 0 stride 8192
  tile.view @A of @m : 64x64xbf16, #tile.smem<k_major, 128>
  tile.barrier @full depth(1) count(1) at 8192
  tile.setup {
    tile.fence [init]
    tile.role_sync
  }
  // CHECK-NOT: tcgen05
  // CHECK: %[[TARGET:.*]] = llvm.addrspacecast %{{.*}} : !llvm.ptr<3> to !llvm.ptr<7>
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %[[TARGET]], %{{.*}}, %{{.*}}, box[%{{.*}}, %{{.*}}, %{{.*}}] l2_cache_hint = %{{.*}} : !llvm.ptr<7>, !llvm.ptr
  // CHECK-NOT: tcgen05
  tile.role @load warps(1) at(0) one_lane regs(24) uses(%A : !g) {
    tile.barrier.expect @full bytes(8192)
    tile.issue_load %A[] to(@A) signals(@full) : !g
  }
}
