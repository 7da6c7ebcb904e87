// Packed sequences compile for the host alone so far; the refusal says where and what
// to do instead.
//
// RUN: not fa4c --target=sm_100a --emit=ptx %s 2>&1 | FileCheck %s

// CHECK: packed-on-device.mlir:[[#@LINE+6]]:{{[0-9]+}}: error: {{.*}}expected tensors that end where their sequences do, as those of layouts bshd and bhsd, since a tensor map bounds whole tensors, but got packed sequences (thd); --target=cpu runs them

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @main(%q: memref<?x?x64xbf16>, %k: memref<?x?x64xbf16>, %v: memref<?x?x64xbf16>,
                  %o: memref<?x?x64xbf16>, %lse: memref<?x?xf32>, %queries: memref<?xi32>,
                  %keys: memref<?xi32>) {
    attn.forward ins(%q, %k, %v : memref<?x?x64xbf16>, memref<?x?x64xbf16>, memref<?x?x64xbf16>)
                 outs(%o, %lse : memref<?x?x64xbf16>, memref<?x?xf32>) layout(thd)
                 prefix_sums(%queries, %keys : memref<?xi32>, memref<?xi32>)
    return
  }
}
