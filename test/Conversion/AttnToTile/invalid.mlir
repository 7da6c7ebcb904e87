// RUN: fa4-opt %s --convert-attn-to-tile --split-input-file --verify-diagnostics

#one = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
module attributes {fa4.target = #fa4.target<"sm_100a">} {
func.func @tensors(%q: tensor<1x64x2x64xbf16>, %k: tensor<1x64x2x64xbf16>, %v: tensor<1x64x2x64xbf16>, %o: tensor<1x64x2x64xbf16>) -> tensor<1x64x2x64xbf16> {
  // expected-error @+1 {{expected buffer semantics, but got tensors: run one-shot-bufferize first}}
  %r = attn.forward ins(%q, %k, %v : tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>)
      outs(%o : tensor<1x64x2x64xbf16>) schedule(#one)
  return %r : tensor<1x64x2x64xbf16>
}
}

// -----

module attributes {fa4.target = #fa4.target<"sm_100a">} {
func.func @no_schedule(%q: memref<1x64x2x64xbf16>, %o: memref<1x64x2x64xbf16>) {
  // expected-error @+1 {{expected a schedule, but got none: run attn-select-schedule first}}
  attn.forward ins(%q, %q, %q : memref<1x64x2x64xbf16>, memref<1x64x2x64xbf16>, memref<1x64x2x64xbf16>)
      outs(%o : memref<1x64x2x64xbf16>)
  return
}
}

// -----

#one = #fa4.schedule<forward, tile = 128 x 128, stages = 1>
func.func @no_target(%q: memref<1x64x2x64xbf16>, %o: memref<1x64x2x64xbf16>) {
  // expected-error @+1 {{expected the module to have a target in 'fa4.target', but got none}}
  attn.forward ins(%q, %q, %q : memref<1x64x2x64xbf16>, memref<1x64x2x64xbf16>, memref<1x64x2x64xbf16>)
      outs(%o : memref<1x64x2x64xbf16>) schedule(#one)
  return
}

// -----

#back = #fa4.schedule<backward, tile = 128 x 128, stages = 1>
module attributes {fa4.target = #fa4.target<"sm_100a">} {
func.func @backward(%q: memref<1x64x2x64xbf16>, %o: memref<1x64x2x64xbf16>) {
  // expected-error @+1 {{expected a schedule for forward, but got one for backward}}
  attn.forward ins(%q, %q, %q : memref<1x64x2x64xbf16>, memref<1x64x2x64xbf16>, memref<1x64x2x64xbf16>)
      outs(%o : memref<1x64x2x64xbf16>) schedule(#back)
  return
}
}

// -----

func.func @merge(%o1: tensor<1x64x2x64xf32>, %l1: tensor<1x2x64xf32>) -> tensor<1x64x2x64xf32> {
  // expected-error @+1 {{expected buffer semantics, but got tensors: run one-shot-bufferize first}}
  %r = attn.merge ins(%o1, %l1, %o1, %l1 : tensor<1x64x2x64xf32>, tensor<1x2x64xf32>, tensor<1x64x2x64xf32>, tensor<1x2x64xf32>)
      outs(%o1 : tensor<1x64x2x64xf32>)
  return %r : tensor<1x64x2x64xf32>
}
