// RUN: split-file %s %t
// RUN: fa4c --target=sm_90a --emit=tile-t2 %t/causal.mlir -o - | FileCheck %s --check-prefix=CAUSAL
// RUN: fa4c --target=sm_90a --emit=tile-t2 %t/window.mlir -o - | FileCheck %s --check-prefix=WINDOW
// RUN: fa4c --target=sm_90a --emit=tile-t2 %t/wide.mlir -o - | FileCheck %s --check-prefix=WIDE
// RUN: fa4c --target=sm_90a --emit=tile-t2 %t/packed.mlir -o - | FileCheck %s --check-prefix=PACKED
// RUN: fa4c --target=sm_90a --emit=tile-t2 %t/requested.mlir -o - | FileCheck %s --check-prefix=FOUR
// RUN: fa4c --target=sm_90a --emit=tile-t2 %t/unequal.mlir -o - | FileCheck %s --check-prefix=UNEQUAL

// From the op to the placed kernel of Hopper: planned, and proved on both levels. The
// plan for head dim 128 is the fastest that was measured: three
// warpgroups of 64 rows with small blocks of keys.

//--- causal.mlir
// CAUSAL: tile = 64 x 80, stages = 3, ctas = 1, work = one_per_cluster<longest_first>
// CAUSAL-SAME: turn = [qk, pv]
// CAUSAL: tile.placed_alloc @q_mem[3] smem at 0 stride 16384
// CAUSAL: tile.barrier @q.full[3] depth(1) count(1)
// One tile: nobody fills a slot of Q again.
// CAUSAL-NEXT: tile.barrier @k.full depth(4)
// CAUSAL-NEXT: tile.barrier @k.empty depth(4) count(12)
// Tiles of more trips than the ring has slots have masked blocks, too.
// CAUSAL: tile.barrier @v.empty depth(4) count(12)
// CAUSAL-NEXT: tile.named_barrier @turn.full[3] ids(2 to 4) threads(256)
// CAUSAL: tile.role @load warps(1) at(0) one_lane regs(32)
// CAUSAL: tile.role @consumer warps(4) replicas(3) index(%[[R:.*]]) at(4) regs(160)
// CAUSAL: tile.named.arrive @turn.full[%[[NEXT:.*]]] when
// CAUSAL: scf.for
// CAUSAL: tile.named.sync @turn.full[%[[R]]]
// CAUSAL-NEXT: tile.fence [wgmma]
// CAUSAL-NEXT: tile.issue_mma a(@Q[%[[R]]])
// CAUSAL: tile.named.arrive @turn.full[%[[NEXT]]]
// CAUSAL: tile.group.wait wgmma 1
// CAUSAL: tile.mask
// CAUSAL: tile.group.wait wgmma 0
// CAUSAL-NEXT: tile.barrier.arrive @v.empty
// CAUSAL: scf.for
// CAUSAL-NOT: tile.mask
// CAUSAL: tile.group.wait wgmma 0
// CAUSAL: tile.barrier.arrive @v.empty
// CAUSAL: tile.write %{{.*}} to @Out[%[[R]]]
// CAUSAL: tile.fence [proxy]
// CAUSAL-NEXT: tile.role_sync
// CAUSAL-NEXT: tile.issue_store @Out[%[[R]]]
func.func @causal(%q: tensor<1x1024x4x128xbf16>, %k: tensor<1x1024x4x128xbf16>,
                  %v: tensor<1x1024x4x128xbf16>, %oi: tensor<1x1024x4x128xbf16>,
                  %li: tensor<1x4x1024xf32>) -> (tensor<1x1024x4x128xbf16>, tensor<1x4x1024xf32>) {
  %o, %lse = attn.forward
      ins(%q, %k, %v : tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>)
      outs(%oi, %li : tensor<1x1024x4x128xbf16>, tensor<1x4x1024xf32>) mask [#attn.causal]
  return %o, %lse : tensor<1x1024x4x128xbf16>, tensor<1x4x1024xf32>
}

//--- window.mlir
// A window with grouped heads and f16: a loop each for the two edges and between them.
// WINDOW: tile = 64 x 64, stages = 4
// WINDOW: tile.role @consumer
// WINDOW-COUNT-3: scf.for
func.func @window(%q: tensor<?x?x4x64xf16>, %k: tensor<?x?x2x64xf16>, %v: tensor<?x?x2x64xf16>,
                  %oi: tensor<?x?x4x64xf16>, %li: tensor<?x4x?xf32>)
    -> (tensor<?x?x4x64xf16>, tensor<?x4x?xf32>) {
  %o, %lse = attn.forward
      ins(%q, %k, %v : tensor<?x?x4x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>)
      outs(%oi, %li : tensor<?x?x4x64xf16>, tensor<?x4x?xf32>)
      mask [#attn.window<left = 200, right = 30>]
  return %o, %lse : tensor<?x?x4x64xf16>, tensor<?x4x?xf32>
}

//--- wide.mlir
// WIDE: tile = 64 x 64, stages = 2, ctas = 1, work = one_per_cluster,
// WIDE: tile.view @Out of @q_mem : 64x256xbf16
// WIDE: tile.role @consumer warps(4) replicas(2) index(%{{.*}}) at(4) regs(240)
func.func @wide(%q: tensor<1x1024x4x256xbf16>, %k: tensor<1x1024x4x256xbf16>,
                %v: tensor<1x1024x4x256xbf16>, %oi: tensor<1x1024x4x256xbf16>,
                %li: tensor<1x4x1024xf32>) -> (tensor<1x1024x4x256xbf16>, tensor<1x4x1024xf32>) {
  %o, %lse = attn.forward
      ins(%q, %k, %v : tensor<1x1024x4x256xbf16>, tensor<1x1024x4x256xbf16>, tensor<1x1024x4x256xbf16>)
      outs(%oi, %li : tensor<1x1024x4x256xbf16>, tensor<1x4x1024xf32>)
  return %o, %lse : tensor<1x1024x4x256xbf16>, tensor<1x4x1024xf32>
}

//--- packed.mlir
// Packed sequences, head dims 192 and 128: O fills a part of Q's slot.
// PACKED: tile.placed_alloc @q_mem[3] smem at 0 stride 24576
// PACKED: tile.view @Q of @q_mem : 64x192xbf16
// PACKED: tile.view @Out of @q_mem : 64x128xbf16
func.func @packed(%q: tensor<512x4x192xbf16>, %k: tensor<512x2x192xbf16>, %v: tensor<512x2x128xbf16>,
                  %cuq: tensor<4xi32>, %cuk: tensor<4xi32>, %oi: tensor<512x4x128xbf16>,
                  %li: tensor<4x512xf32>) -> (tensor<512x4x128xbf16>, tensor<4x512xf32>) {
  %o, %lse = attn.forward
      ins(%q, %k, %v : tensor<512x4x192xbf16>, tensor<512x2x192xbf16>, tensor<512x2x128xbf16>)
      outs(%oi, %li : tensor<512x4x128xbf16>, tensor<4x512xf32>)
      layout(thd) mask [#attn.causal] prefix_sums(%cuq, %cuk : tensor<4xi32>, tensor<4xi32>)
  return %o, %lse : tensor<512x4x128xbf16>, tensor<4x512xf32>
}

//--- requested.mlir
// Four warpgroups, on request.
// FOUR: tile.role @consumer warps(4) replicas(4) index(%{{.*}}) at(4) regs(112)
func.func @requested(%q: tensor<1x1024x4x64xbf16>, %k: tensor<1x1024x4x64xbf16>,
                     %v: tensor<1x1024x4x64xbf16>, %oi: tensor<1x1024x4x64xbf16>,
                     %li: tensor<1x4x1024xf32>) -> (tensor<1x1024x4x64xbf16>, tensor<1x4x1024xf32>) {
  %o, %lse = attn.forward
      ins(%q, %k, %v : tensor<1x1024x4x64xbf16>, tensor<1x1024x4x64xbf16>, tensor<1x1024x4x64xbf16>)
      outs(%oi, %li : tensor<1x1024x4x64xbf16>, tensor<1x4x1024xf32>)
      schedule(#fa4.schedule<forward, tile = 64 x 64, stages = 4>)
  return %o, %lse : tensor<1x1024x4x64xbf16>, tensor<1x4x1024xf32>
}

//--- unequal.mlir
// Rings of unequal depth, no turn: that K's slot is free says more often than not that
// V's is, but not always, and a ring's generations are all seen or none.
// UNEQUAL: tile.barrier @v.empty depth(3) count(12)
// UNEQUAL: tile.role @load
// UNEQUAL: scf.for
// UNEQUAL: tile.barrier.wait @v.empty
// UNEQUAL: }
// UNEQUAL: tile.barrier.wait @v.empty
// UNEQUAL: tile.role @consumer
// UNEQUAL-NOT: named
func.func @unequal(%q: tensor<1x1024x4x64xbf16>, %k: tensor<1x1024x4x64xbf16>,
                   %v: tensor<1x1024x4x64xbf16>, %oi: tensor<1x1024x4x64xbf16>,
                   %li: tensor<1x4x1024xf32>) -> (tensor<1x1024x4x64xbf16>, tensor<1x4x1024xf32>) {
  %o, %lse = attn.forward
      ins(%q, %k, %v : tensor<1x1024x4x64xbf16>, tensor<1x1024x4x64xbf16>, tensor<1x1024x4x64xbf16>)
      outs(%oi, %li : tensor<1x1024x4x64xbf16>, tensor<1x4x1024xf32>)
      schedule(#fa4.schedule<forward, tile = 64 x 32, stages = 3, work = one_per_cluster,
        homes = [load_q = smem @q_mem as q, load_k = smem @k_mem x 2 as k, load_v = smem @v_mem x 3 as v,
                 qk = registers, softmax.0 = registers, pv = registers, finish.0 = smem @q_mem as out],
        grain = [v.empty = warp], turn = []>)
  return %o, %lse : tensor<1x1024x4x64xbf16>, tensor<1x4x1024xf32>
}
