// RUN: fa4-opt %s --fa4-attn-to-tile | FileCheck %s

// Hopper's plan has the next block's scores in front of this block's product: P
// crosses the back edge, and the scores do not.

// CHECK-LABEL: tile.kernel @causal_attn0(
// CHECK: tile.for_each_tile (
// CHECK: %[[ZERO:.+]] = tile.splat %{{.+}} : f32 -> !tile.frag<64x128xf32>
// CHECK: %[[S:.+]] = tile.step @qk[0](
// CHECK: %[[P0:[^,]+]], %[[A0:[^,]+]], %[[D0:[^,]+]], %[[L0:[^ ]+]] = tile.step @softmax[0](%[[S]],
// CHECK-NOT: tile.step @rescale
// CHECK: scf.for {{.*}} iter_args(%[[D:[^ ]+]] = %[[D0]], {{.*}}, %[[L:[^ ]+]] = %[[L0]], {{.*}}, %[[P:[^ ]+]] = %[[P0]], %[[O:[^ ]+]] = %[[ZERO]],
// CHECK: %[[SN:.+]] = tile.step @qk[0](
// CHECK: %[[W:.+]] = tile.step @pv[0](%[[P]], %{{.+}}, %[[O]], %{{.+}})
// CHECK: %[[PN:[^,]+]], %[[AN:[^,]+]], %[[DN:[^,]+]], %[[LN:[^ ]+]] = tile.step @softmax[0](%[[SN]], %[[D]], %[[L]],
// The factor is never that of a zero start: no test is left.
// CHECK: %[[R:.+]] = tile.step @rescale[0](%[[W]], %[[AN]]) : (
// CHECK: scf.yield %[[DN]], {{.*}}, %[[LN]], {{.*}}, %[[PN]], %[[R]],
module attributes {fa4.target = #fa4.target<"sm_90a">} {
func.func @causal(%q: tensor<1x1024x4x128xbf16>, %k: tensor<1x1024x4x128xbf16>, %v: tensor<1x1024x4x128xbf16>,
                  %o: tensor<1x1024x4x128xbf16>) -> tensor<1x1024x4x128xbf16> {
  %r = attn.forward ins(%q, %k, %v : tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>)
      outs(%o : tensor<1x1024x4x128xbf16>) mask [#attn.causal]
  return %r : tensor<1x1024x4x128xbf16>
}
}
