// ALiBi with captured slopes, an attention sink per head, heads before positions.
// Both the slopes and the sinks are arguments; --random draws them.
//
//   fa4c --target=cpu --run --check examples/alibi_sink.mlir

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @alibi_sink(%q: tensor<1x6x300x128xbf16>, %k: tensor<1x6x300x128xbf16>, %v: tensor<1x6x300x128xbf16>,
                        %slopes: tensor<6xf32>, %sinks: tensor<6xf32>,
                        %oi: tensor<1x6x300x128xbf16>, %li: tensor<1x6x300xf32>)
      -> (tensor<1x6x300x128xbf16>, tensor<1x6x300xf32>) {
    %o, %lse = attn.forward
        ins(%q, %k, %v : tensor<1x6x300x128xbf16>, tensor<1x6x300x128xbf16>, tensor<1x6x300x128xbf16>)
        outs(%oi, %li : tensor<1x6x300x128xbf16>, tensor<1x6x300xf32>)
        layout(bhsd) mask [#attn.causal] sink(%sinks : tensor<6xf32>)
        score captures(%slopes : tensor<6xf32>) {
        ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<6xf32>):
          %slope = attn.fetch %t[%h] : tensor<6xf32>
          %step = arith.constant 0.0625 : f32
          %d = arith.subi %j, %i : i32
          %x = arith.sitofp %d : i32 to f32
          %y = arith.mulf %x, %slope : f32
          %w = arith.mulf %y, %step : f32
          %z = arith.addf %s, %w : f32
          attn.yield %z : f32
        }
    return %o, %lse : tensor<1x6x300x128xbf16>, tensor<1x6x300xf32>
  }
}
