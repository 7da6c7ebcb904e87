// Scales near f32's smallest: their inverse, or a lag over them, is not a number of f32,
// yet every row finds its first key: of the first the lag over it overflows, of the second
// its inverse, too.
// RUN: sed 's/SCALE/1.0e-38/' %s > %t.normal.mlir
// RUN: fa4c --target=sm_90a --run --check %t.normal.mlir | FileCheck %s
// RUN: fa4c --target=sm_100a --run --check %t.normal.mlir | FileCheck %s
// RUN: sed 's/SCALE/1.0e-39/' %s > %t.subnormal.mlir
// RUN: fa4c --target=sm_90a --run --check %t.subnormal.mlir | FileCheck %s
// CHECK: check passed

!q = tensor<1x70x1x64xbf16>
!kv = tensor<1x150x1x64xbf16>
!lse = tensor<1x1x70xf32>

func.func @f(%q: !q, %k: !kv, %v: !kv, %oi: !q, %li: !lse) -> (!q, !lse) {
  %o, %l = attn.forward ins(%q, %k, %v : !q, !kv, !kv) outs(%oi, %li : !q, !lse)
      scale(SCALE) mask [#attn.causal]
  return %o, %l : !q, !lse
}
