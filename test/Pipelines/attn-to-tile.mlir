// RUN: fa4-opt %s --fa4-attn-to-tile --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=LIST
// RUN: fa4-opt %s --fa4-attn-to-tile=rotate-loops=false --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: fa4-opt %s --fa4-attn-to-cpu --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: fa4-opt %s --fa4-attn-to-tile | FileCheck %s
// RUN: fa4-opt %s --fa4-attn-to-cpu | FileCheck %s --check-prefix=HOST --implicit-check-not="tile." --implicit-check-not="attn."

// LIST: builtin.module(
// LIST-NEXT: func.func(
// LIST-NEXT: attn-legalize,
// LIST-NEXT: attn-select-schedule
// LIST-NEXT: ),
// LIST-NEXT: one-shot-bufferize{{.*}}bufferize-function-boundaries=true{{.*}}function-boundary-type-conversion=identity-layout-map
// LIST-NEXT: convert-attn-to-tile,
// LIST-NEXT: cse,
// LIST-NEXT: tile.kernel(
// LIST-NEXT: tile-split-exp2,
// LIST-NEXT: tile-lazy-rescale,
// LIST-NEXT: tile-split-mma,
// LIST-NEXT: tile-pair-ctas,
// LIST-NEXT: tile-pipeline-loop
// LIST-NEXT: ),
// LIST-NEXT: tile-verify-t0
// LIST-NEXT: )

// PLAIN: tile.kernel(
// PLAIN-NEXT: tile-split-exp2,
// PLAIN-NEXT: tile-lazy-rescale,
// PLAIN-NEXT: tile-split-mma,
// PLAIN-NEXT: tile-pair-ctas
// PLAIN-NEXT: ),

// CPU: convert-attn-to-tile,
// CPU: tile-verify-t0,
// CPU-NEXT: convert-tile-to-cpu{
// CPU-NEXT: )

// Every clause of the chosen schedule is carried out, on tensors too.
// CHECK-LABEL: tile.kernel @causal_attn0(
// CHECK: tile.online_max {{.*}} lag(8.000000e+00)
// CHECK: tile.exp2 {{.*}} share(<
// CHECK: tile.scale_rows {{.*}} likely_one
// CHECK: tile.mma {{.*}} onto({{.*}}) unless
// CHECK: tile.mma {{.*}} onto
// CHECK: tile.for_each_tile
// CHECK: tile.step @qk[0]
// CHECK: scf.for
// CHECK: tile.step @softmax[0]
// CHECK: tile.step @qk[0]
// CHECK: }
// CHECK: tile.step @softmax[0]
// CHECK: tile.step @finish[0]
// HOST-LABEL: func.func @causal(
// HOST-SAME: memref<1x1024x4x128xbf16>
module attributes {fa4.target = #fa4.target<"sm_100a">} {
func.func @causal(%q: tensor<1x1024x4x128xbf16>, %k: tensor<1x1024x4x128xbf16>, %v: tensor<1x1024x4x128xbf16>,
                  %o: tensor<1x1024x4x128xbf16>, %lse: tensor<1x4x1024xf32>) -> (tensor<1x1024x4x128xbf16>, tensor<1x4x1024xf32>) {
  %r:2 = attn.forward ins(%q, %k, %v : tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>)
      outs(%o, %lse : tensor<1x1024x4x128xbf16>, tensor<1x4x1024xf32>) mask [#attn.causal]
  return %r#0, %r#1 : tensor<1x1024x4x128xbf16>, tensor<1x4x1024xf32>
}
}
