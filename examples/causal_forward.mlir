// Causal attention in bf16: batch 1, 4 heads, 1024 queries and keys, head dim 128.
//
//   fa4c --target=cpu --run --check examples/causal_forward.mlir

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @causal_forward(%q: tensor<1x1024x4x128xbf16>, %k: tensor<1x1024x4x128xbf16>,
                            %v: tensor<1x1024x4x128xbf16>, %oi: tensor<1x1024x4x128xbf16>,
                            %li: tensor<1x4x1024xf32>)
      -> (tensor<1x1024x4x128xbf16>, tensor<1x4x1024xf32>) {
    %o, %lse = attn.forward
        ins(%q, %k, %v : tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>)
        outs(%oi, %li : tensor<1x1024x4x128xbf16>, tensor<1x4x1024xf32>)
        mask [#attn.causal]
    return %o, %lse : tensor<1x1024x4x128xbf16>, tensor<1x4x1024xf32>
  }
}
