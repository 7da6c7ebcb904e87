// A causal forward pass of head dimension 96, every other extent open.
module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @causal(%q: memref<?x?x?x96xbf16>, %k: memref<?x?x?x96xbf16>, %v: memref<?x?x?x96xbf16>,
                    %o: memref<?x?x?x96xbf16>, %lse: memref<?x?x?xf32>) {
    attn.forward ins(%q, %k, %v : memref<?x?x?x96xbf16>, memref<?x?x?x96xbf16>, memref<?x?x?x96xbf16>)
        outs(%o, %lse : memref<?x?x?x96xbf16>, memref<?x?x?xf32>) layout(bshd) mask [#attn.causal]
    return
  }
}
