// Pairs of CTAs by the schedule: whole kernels are proved, compiled and run right in
// the simulator, with races and random orders; as one thread for both on the CPU, too.
// Tiles whose second CTA has no row, rows past the keys, grouped heads.

// RUN: fa4c --target=sm_100a --run --races --schedule-seed=5 --check --entry=causal %s --shape q=2x129x3x128 --shape k=2x129x1x128 --shape v=2x129x1x128 --shape o=2x129x3x128 --shape lse=2x3x129 --processors=4 --random seed=2 2>&1 | FileCheck %s --implicit-check-not=warning
// RUN: fa4c --target=sm_100a --run --races --check --entry=causal %s --shape q=1x1000x1x128 --shape k=1x600x1x128 --shape v=1x600x1x128 --shape o=1x1000x1x128 --shape lse=1x1x1000 --processors=3 --random seed=2 2>&1 | FileCheck %s --implicit-check-not=warning
// RUN: fa4c --target=sm_100a --run --races --check --entry=full %s --shape q=1x300x2x64 --shape k=1x500x2x64 --shape v=1x500x2x64 --shape o=1x300x2x64 --shape lse=1x2x300 --random seed=2 2>&1 | FileCheck %s --implicit-check-not=warning
// RUN: fa4c --target=sm_100a --run --check --entry=full %s --shape q=1x1x1x64 --shape k=1x1x1x64 --shape v=1x1x1x64 --shape o=1x1x1x64 --shape lse=1x1x1 --random seed=2 2>&1 | FileCheck %s --implicit-check-not=warning
// RUN: fa4c --target=cpu --run --check --entry=causal %s --shape q=1x300x2x128 --shape k=1x300x1x128 --shape v=1x300x1x128 --shape o=1x300x2x128 --shape lse=1x2x300 --random seed=2 2>&1 | FileCheck %s

// CHECK: check passed

// The launch is of clusters, and has one even on a device too small for it.
// RUN: fa4c --target=sm_100a --emit=ptx --entry=causal %s | FileCheck %s --check-prefix=PTX
// PTX: .reqnctapercluster 2, 1, 1
// PTX: tcgen05.alloc.cta_group::2
// PTX-DAG: tcgen05.mma.cta_group::2
// PTX-DAG: tcgen05.commit.cta_group::2{{.*}}.multicast::cluster
// PTX-DAG: cp.async.bulk.tensor{{.*}}.cta_group::2
// PTX: tcgen05.dealloc.cta_group::2

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @causal(%q: memref<?x?x?x128xbf16>, %k: memref<?x?x?x128xbf16>, %v: memref<?x?x?x128xbf16>,
                    %o: memref<?x?x?x128xbf16>, %lse: memref<?x?x?xf32>) {
    attn.forward ins(%q, %k, %v : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>)
        outs(%o, %lse : memref<?x?x?x128xbf16>, memref<?x?x?xf32>) layout(bshd) mask [#attn.causal]
        schedule(#fa4.schedule<forward, tile = 128 x 128, stages = 2, ctas = 2, work = static_persistent<longest_first>,
                               split_p = [96, 32], rescale_log2_threshold = 8.0, via = [alpha.full = named per_warp]>)
    return
  }
  func.func @full(%q: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>,
                  %o: memref<?x?x?x64xbf16>, %lse: memref<?x?x?xf32>) {
    attn.forward ins(%q, %k, %v : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>)
        outs(%o, %lse : memref<?x?x?x64xbf16>, memref<?x?x?xf32>) layout(bshd)
        schedule(#fa4.schedule<forward, tile = 128 x 64, stages = 1, ctas = 2, work = one_per_cluster>)
    return
  }
}
