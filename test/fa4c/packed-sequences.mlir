// Sequences of 130, 7 and 263 queries in one tensor: their last tiles end inside it, and
// lengths in use are shorter still. Right on both kinds of chip, and with tiles that are
// drawn.
//
// RUN: %python %S/Inputs/write_integers.py %t.cuq.npy=0,130,137,400 %t.cuk.npy=0,200,264,564 %t.uq.npy=130,5,263 %t.uk.npy=200,50,300
// RUN: fa4c --target=sm_100a --run --check --input query_prefix_sums=%t.cuq.npy --input key_prefix_sums=%t.cuk.npy --input query_used_lengths=%t.uq.npy --input key_used_lengths=%t.uk.npy %s | FileCheck %s
// RUN: sed 's/sm_100a/sm_90a/' %s > %t.sm90.mlir
// RUN: fa4c --target=sm_90a --run --check --input query_prefix_sums=%t.cuq.npy --input key_prefix_sums=%t.cuk.npy --input query_used_lengths=%t.uq.npy --input key_used_lengths=%t.uk.npy %t.sm90.mlir | FileCheck %s
// RUN: sed 's/: memref<3xi32>, memref<3xi32>)$/: memref<3xi32>, memref<3xi32>) schedule(#fa4.schedule<forward, tile = 128 x 64, stages = 1, work = dynamic<longest_first>>)/' %s > %t.drawn.mlir
// RUN: fa4c --target=sm_100a --run --check --input query_prefix_sums=%t.cuq.npy --input key_prefix_sums=%t.cuk.npy --input query_used_lengths=%t.uq.npy --input key_used_lengths=%t.uk.npy %t.drawn.mlir | FileCheck %s

// CHECK: check passed

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @main(%q: memref<400x4x192xbf16>, %k: memref<564x4x192xbf16>, %v: memref<564x4x128xbf16>,
                  %o: memref<400x4x128xbf16>, %lse: memref<4x400xf32>, %queries: memref<4xi32>,
                  %keys: memref<4xi32>, %usedQueries: memref<3xi32>, %usedKeys: memref<3xi32>) {
    attn.forward
        ins(%q, %k, %v : memref<400x4x192xbf16>, memref<564x4x192xbf16>, memref<564x4x128xbf16>)
        outs(%o, %lse : memref<400x4x128xbf16>, memref<4x400xf32>)
        layout(thd) mask [#attn.causal]
        prefix_sums(%queries, %keys : memref<4xi32>, memref<4xi32>)
        used_lengths(%usedQueries, %usedKeys : memref<3xi32>, memref<3xi32>)
    return
  }
}
