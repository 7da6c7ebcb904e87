// With wide heads o leaves through Q's memory: the load role takes the next tile's Q
// only when the store role has seen its stores complete, and no engine says so.
//
// RUN: fa4c --target=sm_100a --emit=tile-t1 %s | FileCheck %s --check-prefix=T1
// RUN: fa4c --target=sm_100a --run --check %s --random=seed=3,dist=gaussian \
// RUN:   --shape q=1x300x3x192 --shape k=1x200x1x192 --shape v=1x200x1x128 --shape o=1x300x3x128 \
// RUN:   --shape lse=1x3x300 --processors=2 | FileCheck %s --check-prefix=SIM

// T1-DAG: tile.view @Out of @q_mem
// T1-DAG: tile.channel @out_q[2] depth(1) from(@store) to(@load) starts(1, 1)
// T1: tile.role @store
// T1: %[[FIRST:.*]] = tile.async_store {{.*}} as @Out
// T1: %[[SECOND:.*]] = tile.async_store {{.*}} as @Out
// T1: %[[A:.*]] = tile.acquire @out_q[0]
// T1-NEXT: tile.commit %[[A]] after(%[[FIRST]], %[[SECOND]])
// T1: %[[B:.*]] = tile.acquire @out_q[1]
// T1-NEXT: tile.commit %[[B]] after(%[[FIRST]], %[[SECOND]])
// SIM: check passed

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @main(%q: memref<?x?x?x192xbf16>, %k: memref<?x?x?x192xbf16>,
                  %v: memref<?x?x?x128xbf16>, %o: memref<?x?x?x128xbf16>,
                  %lse: memref<?x?x?xf32>) {
    attn.forward ins(%q, %k, %v : memref<?x?x?x192xbf16>, memref<?x?x?x192xbf16>,
                                  memref<?x?x?x128xbf16>)
                 outs(%o, %lse : memref<?x?x?x128xbf16>, memref<?x?x?xf32>) layout(bshd)
    return
  }
}
