// One head of causal attention with open lengths.
module attributes {fa4.target = #fa4.target<"sm_90a">} {
  func.func @main(%q: memref<1x?x1x128xbf16>, %k: memref<1x?x1x128xbf16>, %v: memref<1x?x1x128xbf16>,
                  %o: memref<1x?x1x128xbf16>, %lse: memref<1x1x?xf32>) {
    attn.forward
        ins(%q, %k, %v : memref<1x?x1x128xbf16>, memref<1x?x1x128xbf16>, memref<1x?x1x128xbf16>)
        outs(%o, %lse : memref<1x?x1x128xbf16>, memref<1x1x?xf32>)
        mask [#attn.causal]
    return
  }
}
