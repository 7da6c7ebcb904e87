// RUN: fa4-opt %s --verify-roundtrip | FileCheck %s

// CHECK: test.a = #attn.causal, test.b = #attn.causal, test.c = #attn.causal<top_left>
// CHECK-SAME: test.d = #attn.window<left = 128, right = none>
// CHECK-SAME: test.e = #attn.window<left = none, right = -1, align = top_left>
// CHECK-SAME: test.f = #attn<layout bhsd>
module attributes {
  test.a = #attn.causal, test.b = #attn.causal<bottom_right>, test.c = #attn.causal<top_left>,
  test.d = #attn.window<left = 128, right = none, align = bottom_right>,
  test.e = #attn.window<left = none, right = -1, align = top_left>,
  test.f = #attn<layout bhsd>
} {}
