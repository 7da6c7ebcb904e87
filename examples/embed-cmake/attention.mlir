// What an embedding compiler would have made of its own attention op.
module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @forward(%q: memref<1x256x2x64xbf16>, %k: memref<1x256x2x64xbf16>, %v: memref<1x256x2x64xbf16>,
                     %o: memref<1x256x2x64xbf16>, %lse: memref<1x2x256xf32>) {
    attn.forward ins(%q, %k, %v : memref<1x256x2x64xbf16>, memref<1x256x2x64xbf16>, memref<1x256x2x64xbf16>)
        outs(%o, %lse : memref<1x256x2x64xbf16>, memref<1x2x256xf32>) mask [#attn.causal]
    return
  }
}
