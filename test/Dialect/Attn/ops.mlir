// RUN: fa4-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @plain
// CHECK-SAME: (%[[Q:.*]]: tensor<2x300x4x64xbf16>, %[[K:.*]]: tensor<2x500x4x64xbf16>, %[[V:.*]]: tensor<2x500x4x64xbf16>, %[[OI:.*]]: tensor<2x300x4x64xbf16>)
// CHECK-NEXT: %[[O:o]] = attn.forward ins(%[[Q]], %[[K]], %[[V]] : tensor<2x300x4x64xbf16>, tensor<2x500x4x64xbf16>, tensor<2x500x4x64xbf16>) outs(%[[OI]] : tensor<2x300x4x64xbf16>){{$}}
// CHECK-NEXT: return %[[O]]
func.func @plain(%q: tensor<2x300x4x64xbf16>, %k: tensor<2x500x4x64xbf16>, %v: tensor<2x500x4x64xbf16>,
                 %oi: tensor<2x300x4x64xbf16>) -> tensor<2x300x4x64xbf16> {
  %0 = attn.forward ins(%q, %k, %v : tensor<2x300x4x64xbf16>, tensor<2x500x4x64xbf16>, tensor<2x500x4x64xbf16>)
      outs(%oi : tensor<2x300x4x64xbf16>)
  return %0 : tensor<2x300x4x64xbf16>
}

// Every clause at once, on tensors, with a region each.
// CHECK-LABEL: func.func @everything
// CHECK: %o, %lse = attn.forward ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x6x?x192xf16>, tensor<?x2x?x192xf16>, tensor<?x2x?x128xf16>)
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<?x6x?x128xf16>, tensor<?x6x?xf32>) layout(bhsd) scale(1.250000e-01)
// CHECK-SAME: mask [#attn.causal, #attn.window<left = 128, right = none, align = top_left>]
// CHECK-SAME: document_ids(%[[DQ:.*]], %[[DK:.*]] : tensor<?x?xi32>, tensor<?x?xi32>)
// CHECK-SAME: position_offset(%{{.*}} : tensor<?xi32>) sink(%{{.*}} : tensor<6xf32>) origin(%[[C1:.*]], %[[C0:.*]]) schedule(#schedule) fast
// CHECK-SAME: score captures(%[[CAP:.*]], %[[BIAS:.*]] : f32, tensor<6x?xf32>) {
// CHECK-NEXT: ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %[[C:.*]]: f32, %[[T:.*]]: tensor<6x?xf32>):
// CHECK-NEXT:   %[[X:.*]] = attn.fetch %[[T]][%h, %j] : tensor<6x?xf32>
// CHECK-NEXT:   %[[Y:.*]] = arith.mulf %s, %[[C]] : f32
// CHECK-NEXT:   %[[Z:.*]] = arith.addf %[[Y]], %[[X]] : f32
// CHECK-NEXT:   attn.yield %[[Z]] : f32
// CHECK-NEXT: } predicate {
// CHECK-NEXT: ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
// CHECK-NEXT:   %[[P:.*]] = arith.cmpi ne, %i, %j : i32
// CHECK-NEXT:   attn.yield %[[P]] : i1
func.func @everything(%q: tensor<?x6x?x192xf16>, %k: tensor<?x2x?x192xf16>, %v: tensor<?x2x?x128xf16>,
                      %oi: tensor<?x6x?x128xf16>, %li: tensor<?x6x?xf32>, %dq: tensor<?x?xi32>, %dk: tensor<?x?xi32>,
                      %off: tensor<?xi32>, %sink: tensor<6xf32>, %cap: f32, %bias: tensor<6x?xf32>)
    -> (tensor<?x6x?x128xf16>, tensor<?x6x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %o, %lse = attn.forward ins(%q, %k, %v : tensor<?x6x?x192xf16>, tensor<?x2x?x192xf16>, tensor<?x2x?x128xf16>)
      outs(%oi, %li : tensor<?x6x?x128xf16>, tensor<?x6x?xf32>) layout(bhsd) scale(0.125)
      mask [#attn.causal, #attn.window<left = 128, right = none, align = top_left>]
      document_ids(%dq, %dk : tensor<?x?xi32>, tensor<?x?xi32>) position_offset(%off : tensor<?xi32>)
      sink(%sink : tensor<6xf32>) origin(%c1, %c0) schedule(#fa4.schedule<forward, tile = 128 x 128>) fast
      score captures(%cap, %bias : f32, tensor<6x?xf32>) {
      ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %c: f32, %t: tensor<6x?xf32>):
        %x = attn.fetch %t[%h, %j] : tensor<6x?xf32>
        %y = arith.mulf %s, %c : f32
        %z = arith.addf %y, %x : f32
        attn.yield %z : f32
      } predicate {
      ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
        %p = arith.cmpi ne, %i, %j : i32
        attn.yield %p : i1
      }
  return %o, %lse : tensor<?x6x?x128xf16>, tensor<?x6x?xf32>
}

// Memrefs: no results; strides of a fused QKV slice, broadcast K (S2); packed
// sequences (S1); a placement that attn-legalize would set.
// CHECK-LABEL: func.func @packed
// CHECK: attn.forward ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<?x8x64xbf16, strided<[1536, 64, 1], offset: ?>>, memref<?x8x64xbf16, strided<[0, 64, 1]>>, memref<?x8x64xbf16>)
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : memref<?x8x64xbf16>, memref<8x?xf32>) layout(thd) scale_placement(in_exp2)
// CHECK-SAME: prefix_sums(%[[CQ:.*]], %[[CK:.*]] : memref<5xi32>, memref<5xi32>) used_lengths(%[[UQ:.*]], %[[UK:.*]] : memref<4xi32>, memref<4xi32>){{$}}
func.func @packed(%q: memref<?x8x64xbf16, strided<[1536, 64, 1], offset: ?>>, %k: memref<?x8x64xbf16, strided<[0, 64, 1]>>,
                  %v: memref<?x8x64xbf16>, %o: memref<?x8x64xbf16>, %l: memref<8x?xf32>,
                  %cq: memref<5xi32>, %ck: memref<5xi32>, %uq: memref<4xi32>, %uk: memref<4xi32>) {
  attn.forward ins(%q, %k, %v : memref<?x8x64xbf16, strided<[1536, 64, 1], offset: ?>>, memref<?x8x64xbf16, strided<[0, 64, 1]>>, memref<?x8x64xbf16>)
      outs(%o, %l : memref<?x8x64xbf16>, memref<8x?xf32>) layout(thd) scale_placement(in_exp2)
      prefix_sums(%cq, %ck : memref<5xi32>, memref<5xi32>)
      used_lengths(%uq, %uk : memref<4xi32>, memref<4xi32>)
  return
}

// CHECK-LABEL: func.func @merge
// CHECK: %o, %lse = attn.merge ins(%[[A:.*]], %[[LA:.*]], %[[B:.*]], %[[LB:.*]] : tensor<1x64x8x128xf32>, tensor<1x8x64xf32>, tensor<1x64x8x128xf32>, tensor<1x8x64xf32>)
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<1x64x8x128xbf16>, tensor<1x8x64xf32>)
func.func @merge(%o1: tensor<1x64x8x128xf32>, %l1: tensor<1x8x64xf32>, %o2: tensor<1x64x8x128xf32>, %l2: tensor<1x8x64xf32>,
                 %oi: tensor<1x64x8x128xbf16>, %li: tensor<1x8x64xf32>) -> (tensor<1x64x8x128xbf16>, tensor<1x8x64xf32>) {
  %o, %lse = attn.merge ins(%o1, %l1, %o2, %l2 : tensor<1x64x8x128xf32>, tensor<1x8x64xf32>, tensor<1x64x8x128xf32>, tensor<1x8x64xf32>)
      outs(%oi, %li : tensor<1x64x8x128xbf16>, tensor<1x8x64xf32>)
  return %o, %lse : tensor<1x64x8x128xbf16>, tensor<1x8x64xf32>
}

// The example of the description, ALiBi in a causal window.
// CHECK-LABEL: func.func @example
// CHECK: attn.forward {{.*}} mask [#attn.causal, #attn.window<left = 256, right = none>] score captures(%{{.*}} : tensor<8xf32>)
func.func @example(%q: tensor<1x1024x8x128xbf16>, %k: tensor<1x1024x2x128xbf16>, %v: tensor<1x1024x2x128xbf16>,
                   %oi: tensor<1x1024x8x128xbf16>, %li: tensor<1x8x1024xf32>, %slopes: tensor<8xf32>) {
  %o, %lse = attn.forward ins(%q, %k, %v : tensor<1x1024x8x128xbf16>, tensor<1x1024x2x128xbf16>, tensor<1x1024x2x128xbf16>)
      outs(%oi, %li : tensor<1x1024x8x128xbf16>, tensor<1x8x1024xf32>)
      mask [#attn.causal, #attn.window<left = 256, right = none>]
      score captures(%slopes : tensor<8xf32>) {
      ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<8xf32>):
        %slope = attn.fetch %t[%h] : tensor<8xf32>
        %behind = arith.subi %j, %i : i32
        %distance = arith.sitofp %behind : i32 to f32
        %bias = arith.mulf %slope, %distance : f32
        %x = arith.addf %s, %bias : f32
        attn.yield %x : f32
      }
  return
}
