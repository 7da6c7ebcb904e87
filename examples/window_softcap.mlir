// A sliding window of 200 keys behind each query, soft-capped scores, eight query
// heads on two key heads, f16, head dim 64.
//
//   fa4c --target=cpu --run --check examples/window_softcap.mlir

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @window_softcap(%q: tensor<2x500x8x64xf16>, %k: tensor<2x500x2x64xf16>, %v: tensor<2x500x2x64xf16>,
                            %oi: tensor<2x500x8x64xf16>, %li: tensor<2x8x500xf32>)
      -> (tensor<2x500x8x64xf16>, tensor<2x8x500xf32>) {
    %o, %lse = attn.forward
        ins(%q, %k, %v : tensor<2x500x8x64xf16>, tensor<2x500x2x64xf16>, tensor<2x500x2x64xf16>)
        outs(%oi, %li : tensor<2x500x8x64xf16>, tensor<2x8x500xf32>)
        mask [#attn.window<left = 200, right = 0>]
        score {
        ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32):
          %cap = arith.constant 30.0 : f32
          %x = arith.divf %s, %cap : f32
          %t = math.tanh %x : f32
          %y = arith.mulf %t, %cap : f32
          attn.yield %y : f32
        }
    return %o, %lse : tensor<2x500x8x64xf16>, tensor<2x8x500xf32>
  }
}
