// RUN: fa4-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --cse | FileCheck %s --implicit-check-not=memref.copy

// Destinations are written in place: nothing is allocated, nothing copied.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: (%[[Q:.*]]: memref<2x64x4x64xbf16>, %[[K:.*]]: memref<2x64x4x64xbf16>, %[[O:.*]]: memref<2x64x4x64xbf16>, %[[L:.*]]: memref<2x4x64xf32>, %[[B:.*]]: memref<4x64xf32>)
// CHECK-NEXT: attn.forward ins(%[[Q]], %[[K]], %[[K]] : memref<2x64x4x64xbf16>, memref<2x64x4x64xbf16>, memref<2x64x4x64xbf16>) outs(%[[O]], %[[L]] : memref<2x64x4x64xbf16>, memref<2x4x64xf32>) mask [#attn.causal] score captures(%[[B]] : memref<4x64xf32>) {
// CHECK-NEXT: ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %[[T:.*]]: memref<4x64xf32>):
// CHECK-NEXT:   %[[X:.*]] = attn.fetch %[[T]][%h, %j] : memref<4x64xf32>
// CHECK-NEXT:   %[[Y:.*]] = arith.addf %s, %[[X]] : f32
// CHECK-NEXT:   attn.yield %[[Y]] : f32
// CHECK-NEXT: }
// CHECK-NEXT: return %[[O]], %[[L]]
func.func @in_place(%q: tensor<2x64x4x64xbf16>, %k: tensor<2x64x4x64xbf16>, %o: tensor<2x64x4x64xbf16>,
                    %l: tensor<2x4x64xf32>, %bias: tensor<4x64xf32>) -> (tensor<2x64x4x64xbf16>, tensor<2x4x64xf32>) {
  %0, %1 = attn.forward ins(%q, %k, %k : tensor<2x64x4x64xbf16>, tensor<2x64x4x64xbf16>, tensor<2x64x4x64xbf16>)
      outs(%o, %l : tensor<2x64x4x64xbf16>, tensor<2x4x64xf32>) mask [#attn.causal]
      score captures(%bias : tensor<4x64xf32>) {
      ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<4x64xf32>):
        %x = attn.fetch %t[%h, %j] : tensor<4x64xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %0, %1 : tensor<2x64x4x64xbf16>, tensor<2x4x64xf32>
}

// An empty destination becomes an allocation, since its contents are not read.
// CHECK-LABEL: func.func @empty
// CHECK-SAME: (%[[Q:.*]]: memref<1x8x1x8xf16>)
// CHECK: %[[O:.*]] = memref.alloc() {{.*}} : memref<1x8x1x8xf16>
// CHECK: attn.forward ins(%[[Q]], %[[Q]], %[[Q]] : {{.*}}) outs(%[[O]] : memref<1x8x1x8xf16>)
// CHECK: return %[[O]]
func.func @empty(%q: tensor<1x8x1x8xf16>) -> tensor<1x8x1x8xf16> {
  %e = tensor.empty() : tensor<1x8x1x8xf16>
  %0 = attn.forward ins(%q, %q, %q : tensor<1x8x1x8xf16>, tensor<1x8x1x8xf16>, tensor<1x8x1x8xf16>)
      outs(%e : tensor<1x8x1x8xf16>)
  return %0 : tensor<1x8x1x8xf16>
}

// The destination is also read as q: it must not be overwritten in place.
// CHECK-LABEL: func.func @overlap
// CHECK-SAME: (%[[Q:.*]]: memref<1x8x1x8xf16>)
// CHECK: %[[O:.*]] = memref.alloc() {{.*}} : memref<1x8x1x8xf16>
// CHECK: attn.forward ins(%[[Q]], %[[Q]], %[[Q]] : {{.*}}) outs(%[[O]] : memref<1x8x1x8xf16>)
// CHECK: return %[[O]]
func.func @overlap(%q: tensor<1x8x1x8xf16>) -> tensor<1x8x1x8xf16> {
  %0 = attn.forward ins(%q, %q, %q : tensor<1x8x1x8xf16>, tensor<1x8x1x8xf16>, tensor<1x8x1x8xf16>)
      outs(%q : tensor<1x8x1x8xf16>)
  return %0 : tensor<1x8x1x8xf16>
}

// CHECK-LABEL: func.func @merge
// CHECK-SAME: (%[[O1:.*]]: memref<1x8x1x8xf32>, %[[L1:.*]]: memref<1x1x8xf32>, %[[O2:.*]]: memref<1x8x1x8xf32>, %[[L2:.*]]: memref<1x1x8xf32>, %[[O:.*]]: memref<1x8x1x8xf16>)
// CHECK-NEXT: attn.merge ins(%[[O1]], %[[L1]], %[[O2]], %[[L2]] : {{.*}}) outs(%[[O]] : memref<1x8x1x8xf16>)
// CHECK-NEXT: return %[[O]]
func.func @merge(%o1: tensor<1x8x1x8xf32>, %l1: tensor<1x1x8xf32>, %o2: tensor<1x8x1x8xf32>, %l2: tensor<1x1x8xf32>,
                 %o: tensor<1x8x1x8xf16>) -> tensor<1x8x1x8xf16> {
  %0 = attn.merge ins(%o1, %l1, %o2, %l2 : tensor<1x8x1x8xf32>, tensor<1x1x8xf32>, tensor<1x8x1x8xf32>, tensor<1x1x8xf32>)
      outs(%o : tensor<1x8x1x8xf16>)
  return %0 : tensor<1x8x1x8xf16>
}
