// The same attention as one op.
module attributes {fa4.target = #fa4.target<"sm_100a">} {
func.func @attention(%q: memref<?x?x?x128xbf16>, %k: memref<?x?x?x128xbf16>, %v: memref<?x?x?x128xbf16>,
                     %o: memref<?x?x?x128xbf16>, %l: memref<?x?x?xf32>) {
  attn.forward ins(%q, %k, %v : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>)
      outs(%o, %l : memref<?x?x?x128xbf16>, memref<?x?x?xf32>) layout(bshd) mask [#attn.causal]
  return
}
}
