// Sequences of 130, 7 and 263 queries in one tensor: their last tiles end inside it, and
// lengths in use are shorter still. Right on both kinds of chip, and with tiles that are
// drawn.
//
// DEFINE: %{lengths} = --input query_prefix_sums=0,130,137,400 --input key_prefix_sums=0,200,264,564 --input query_used_lengths=130,5,263 --input key_used_lengths=200,50,300
// RUN: fa4c --target=sm_100a --run --check %{lengths} %s | FileCheck %s
// RUN: sed 's/sm_100a/sm_90a/' %s > %t.sm90.mlir
// RUN: fa4c --target=sm_90a --run --check %{lengths} %t.sm90.mlir | FileCheck %s
// RUN: sed 's/: memref<3xi32>, memref<3xi32>)$/: memref<3xi32>, memref<3xi32>) schedule(#fa4.schedule<forward, tile = 128 x 64, stages = 1, work = dynamic<longest_first>>)/' %s > %t.drawn.mlir
// RUN: fa4c --target=sm_100a --run --check %{lengths} %t.drawn.mlir | FileCheck %s

// The example, which has tensors:
// RUN: fa4c --target=cpu --run --check %{lengths} %fa4_src_root/examples/packed_sequences.mlir | FileCheck %s
// RUN: fa4c --target=sm_100a --run --check %{lengths} %fa4_src_root/examples/packed_sequences.mlir | FileCheck %s
// RUN: sed 's/sm_100a/sm_90a/' %fa4_src_root/examples/packed_sequences.mlir | fa4c --target=sm_90a --run --check %{lengths} - | FileCheck %s

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
