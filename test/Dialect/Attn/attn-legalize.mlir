// RUN: fa4-opt %s --attn-legalize | FileCheck %s
// RUN: fa4-opt %s --attn-legalize > %t.once
// RUN: fa4-opt %t.once --attn-legalize | diff %t.once -

!q = tensor<1x64x4x64xbf16>
!d = tensor<?x?x4x64xbf16>

// CHECK-LABEL: func.func @defaults
// CHECK: attn.forward {{.*}} scale(1.250000e-01) scale_placement(in_exp2){{$}}
func.func @defaults(%q: !q) -> !q {
  %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
  return %o : !q
}

// What is stated stays; a scale that is not positive multiplies before the max.
// CHECK-LABEL: func.func @stated
// CHECK: attn.forward {{.*}} scale(2.500000e-01) scale_placement(before_max){{$}}
// CHECK: attn.forward {{.*}} scale(-1.000000e+00) scale_placement(before_max){{$}}
func.func @stated(%q: !q) -> (!q, !q) {
  %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q) scale(0.25) scale_placement(before_max)
  %p = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q) scale(-1.0)
  return %o, %p : !q, !q
}

// M5: causal and a window of its alignment are one window; the left end that no
// number stated stays open.
// CHECK-LABEL: func.func @compose
// CHECK: attn.forward {{.*}} mask [#attn.window<left = 16, right = 0>]{{$}}
// CHECK: attn.forward {{.*}} mask [#attn.window<left = 4, right = -1>]{{$}}
func.func @compose(%q: !d) -> (!d, !d) {
  %o = attn.forward ins(%q, %q, %q : !d, !d, !d) outs(%q : !d)
      mask [#attn.causal, #attn.window<left = 16, right = 32>]
  %p = attn.forward ins(%q, %q, %q : !d, !d, !d) outs(%q : !d)
      mask [#attn.window<left = 4, right = none>, #attn.window<left = 9, right = -1>, #attn.causal]
  return %o, %p : !d, !d
}

// Lengths are not known to be equal: alignments stay apart, in one order.
// CHECK-LABEL: func.func @alignments
// CHECK: attn.forward {{.*}} mask [#attn.causal, #attn.window<left = 8, right = none, align = top_left>]{{$}}
func.func @alignments(%q: !d) -> !d {
  %o = attn.forward ins(%q, %q, %q : !d, !d, !d) outs(%q : !d)
      mask [#attn.window<left = 8, right = none, align = top_left>, #attn.causal]
  return %o : !d
}

// Equal lengths make both alignments one (M3).
// CHECK-LABEL: func.func @equal_lengths
// CHECK: attn.forward {{.*}} mask [#attn.window<left = 8, right = 0>]{{$}}
func.func @equal_lengths(%q: !q) -> !q {
  %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      mask [#attn.window<left = 8, right = none, align = top_left>, #attn.causal]
  return %o : !q
}

// No end, an end no row reaches, and causal for the last row alone: no mask. One
// key less, and the end stays.
// CHECK-LABEL: func.func @unreached
// CHECK: attn.forward {{.*}} scale_placement(in_exp2){{$}}
// CHECK: attn.forward {{.*}} mask [#attn.window<left = 62, right = none>]{{$}}
// CHECK: attn.forward {{.*}} scale_placement(in_exp2){{$}}
func.func @unreached(%q: !q, %r: tensor<1x1x4x64xbf16>) -> (!q, !q, tensor<1x1x4x64xbf16>) {
  %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      mask [#attn.window<left = none, right = none>, #attn.window<left = 63, right = 63, align = top_left>]
  %p = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q) mask [#attn.window<left = 62, right = 63>]
  %s = attn.forward ins(%r, %q, %q : tensor<1x1x4x64xbf16>, !q, !q) outs(%r : tensor<1x1x4x64xbf16>) mask [#attn.causal]
  return %o, %p, %s : !q, !q, tensor<1x1x4x64xbf16>
}

// A position offset moves the rows: nothing is known of them (M3).
// CHECK-LABEL: func.func @offset
// CHECK: attn.forward {{.*}} mask [#attn.window<left = 63, right = 63>] position_offset
func.func @offset(%q: !q, %off: tensor<1xi32>) -> !q {
  %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      mask [#attn.window<left = 63, right = 63>] position_offset(%off : tensor<1xi32>)
  return %o : !q
}

// CHECK-LABEL: func.func @regions
// CHECK: attn.forward {{.*}} outs(%{{.*}} : tensor<1x64x4x64xbf16>) scale(1.250000e-01) scale_placement(in_exp2){{$}}
func.func @regions(%q: !q, %t: tensor<4xf32>) -> !q {
  %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      score captures(%t : tensor<4xf32>) {
      ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %c: tensor<4xf32>):
        %x = attn.fetch %c[%h] : tensor<4xf32>
        attn.yield %s : f32
      } predicate {
      ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
        %p = arith.constant true
        attn.yield %p : i1
      }
  return %o : !q
}
