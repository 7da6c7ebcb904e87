// Two query tiles of two heads: one CTA's work is a tile.
module {
  func.func @forward(%q: tensor<1x256x2x64xbf16>, %k: tensor<1x256x2x64xbf16>, %v: tensor<1x256x2x64xbf16>,
                     %oi: tensor<1x256x2x64xbf16>, %li: tensor<1x2x256xf32>)
      -> (tensor<1x256x2x64xbf16>, tensor<1x2x256xf32>) {
    %o, %lse = attn.forward
        ins(%q, %k, %v : tensor<1x256x2x64xbf16>, tensor<1x256x2x64xbf16>, tensor<1x256x2x64xbf16>)
        outs(%oi, %li : tensor<1x256x2x64xbf16>, tensor<1x2x256xf32>)
        mask [#attn.causal]
    return %o, %lse : tensor<1x256x2x64xbf16>, tensor<1x2x256xf32>
  }
}
