// RUN: fa4-opt %s --split-input-file --transform-interpreter --canonicalize --cse --verify-each | FileCheck %s

// Tiles are whole attentions: the two query heads of a key head go along (S3),
// lse and sink are cut with them, documents with the batch.

// CHECK-LABEL: func.func @tensors
// CHECK-SAME: (%[[Q:[a-z0-9_]+]]: tensor<3x64x8x64xbf16>, %[[K:[a-z0-9_]+]]: tensor<3x96x4x64xbf16>, %[[O:[a-z0-9_]+]]: tensor<3x64x8x64xbf16>, %[[L:[a-z0-9_]+]]: tensor<3x8x64xf32>, %[[DQ:[a-z0-9_]+]]: tensor<3x64xi32>, %[[DK:[a-z0-9_]+]]: tensor<3x96xi32>, %[[SINK:[a-z0-9_]+]]: tensor<8xf32>, %[[T:[a-z0-9_]+]]: tensor<8xf32>)
// CHECK-DAG: %[[C1:[a-z0-9_]+]] = arith.constant 1 : index
// CHECK-DAG: %[[C2:[a-z0-9_]+]] = arith.constant 2 : index
// CHECK: scf.for %[[B:[a-z0-9_]+]] = %{{.*}} to %{{.*}} step %[[C1]] iter_args(%[[OB:[a-z0-9_]+]] = %[[O]], %[[LB:[a-z0-9_]+]] = %[[L]])
// CHECK:   scf.for %[[H:[a-z0-9_]+]] = %{{.*}} to %{{.*}} step %[[C2]] iter_args(%[[OH:[a-z0-9_]+]] = %[[OB]], %[[LH:[a-z0-9_]+]] = %[[LB]])
// CHECK:     %[[HQ:[a-z0-9_]+]] = arith.muli %[[H]], %[[C2]]
// CHECK:     %[[QT:[a-z0-9_]+]] = tensor.extract_slice %[[Q]][%[[B]], 0, %[[HQ]], 0] [1, 64, 4, 64] [1, 1, 1, 1]
// CHECK:     %[[KT:[a-z0-9_]+]] = tensor.extract_slice %[[K]][%[[B]], 0, %[[H]], 0] [1, 96, 2, 64] [1, 1, 1, 1]
// CHECK:     %[[OT:[a-z0-9_]+]] = tensor.extract_slice %[[OH]][%[[B]], 0, %[[HQ]], 0] [1, 64, 4, 64] [1, 1, 1, 1]
// CHECK:     %[[LT:[a-z0-9_]+]] = tensor.extract_slice %[[LH]][%[[B]], %[[HQ]], 0] [1, 4, 64] [1, 1, 1]
// CHECK:     %[[DQT:[a-z0-9_]+]] = tensor.extract_slice %[[DQ]][%[[B]], 0] [1, 64] [1, 1]
// CHECK:     %[[DKT:[a-z0-9_]+]] = tensor.extract_slice %[[DK]][%[[B]], 0] [1, 96] [1, 1]
// CHECK:     %[[ST:[a-z0-9_]+]] = tensor.extract_slice %[[SINK]][%[[HQ]]] [4] [1]
// CHECK:     %[[OR:[a-z0-9_]+]], %[[LR:[a-z0-9_]+]] = attn.forward ins(%[[QT]], %[[KT]], %[[KT]] : tensor<1x64x4x64xbf16>, tensor<1x96x2x64xbf16>, tensor<1x96x2x64xbf16>)
// CHECK-SAME:  outs(%[[OT]], %[[LT]] : tensor<1x64x4x64xbf16>, tensor<1x4x64xf32>) mask [#attn.causal]
// CHECK-SAME:  document_ids(%[[DQT]], %[[DKT]] : tensor<1x64xi32>, tensor<1x96xi32>) sink(%[[ST]] : tensor<4xf32>)
// CHECK-SAME:  origin(%[[B]], %[[HQ]]) score captures(%[[T]] : tensor<8xf32>)
// CHECK:     tensor.insert_slice %[[OR]] into %[[OH]][%[[B]], 0, %[[HQ]], 0] [1, 64, 4, 64] [1, 1, 1, 1]
// CHECK:     tensor.insert_slice %[[LR]] into %[[LH]][%[[B]], %[[HQ]], 0] [1, 4, 64] [1, 1, 1]
func.func @tensors(%q: tensor<3x64x8x64xbf16>, %k: tensor<3x96x4x64xbf16>, %o: tensor<3x64x8x64xbf16>, %l: tensor<3x8x64xf32>,
                   %dq: tensor<3x64xi32>, %dk: tensor<3x96xi32>, %sink: tensor<8xf32>, %t: tensor<8xf32>)
    -> (tensor<3x64x8x64xbf16>, tensor<3x8x64xf32>) {
  %0, %1 = attn.forward ins(%q, %k, %k : tensor<3x64x8x64xbf16>, tensor<3x96x4x64xbf16>, tensor<3x96x4x64xbf16>)
      outs(%o, %l : tensor<3x64x8x64xbf16>, tensor<3x8x64xf32>) mask [#attn.causal]
      document_ids(%dq, %dk : tensor<3x64xi32>, tensor<3x96xi32>) sink(%sink : tensor<8xf32>)
      score captures(%t : tensor<8xf32>) {
      ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %c: tensor<8xf32>):
        %x = attn.fetch %c[%h] : tensor<8xf32>
        %y = arith.mulf %s, %x : f32
        attn.yield %y : f32
      }
  return %0, %1 : tensor<3x64x8x64xbf16>, tensor<3x8x64xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.forward"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.tile_using_for %op tile_sizes [1, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Packed sequences tile over key heads alone; with no region there is no origin.
// Unknown head counts divide at run time.

// CHECK-LABEL: func.func @packed
// CHECK-SAME: (%[[Q:[a-z0-9_]+]]: tensor<?x?x64xbf16>, %[[K:[a-z0-9_]+]]: tensor<?x?x64xbf16>, %[[O:[a-z0-9_]+]]: tensor<?x?x64xbf16>, %[[C:[a-z0-9_]+]]: tensor<5xi32>)
// CHECK: scf.for %[[H:[a-z0-9_]+]] =
// CHECK:   %[[HQ:[a-z0-9_]+]] = tensor.dim %[[Q]], %{{.*}}
// CHECK:   %[[R:[a-z0-9_]+]] = arith.divui %[[HQ]], %{{.*}} : index
// CHECK:   %[[OFF:[a-z0-9_]+]] = arith.muli %[[H]], %[[R]]
// CHECK:   %[[QT:[a-z0-9_]+]] = tensor.extract_slice %[[Q]][0, %[[OFF]], 0] [%{{.*}}, %[[R]], 64] [1, 1, 1]
// CHECK:   %[[KT:[a-z0-9_]+]] = tensor.extract_slice %[[K]][0, %[[H]], 0] [%{{.*}}, 1, 64] [1, 1, 1]
// CHECK:   attn.forward ins(%[[QT]], %[[KT]], %[[KT]] : {{.*}}) outs(%{{.*}} : tensor<?x?x64xbf16>) layout(thd) prefix_sums(%[[C]], %[[C]] : tensor<5xi32>, tensor<5xi32>){{$}}
func.func @packed(%q: tensor<?x?x64xbf16>, %k: tensor<?x?x64xbf16>, %o: tensor<?x?x64xbf16>, %c: tensor<5xi32>) -> tensor<?x?x64xbf16> {
  %0 = attn.forward ins(%q, %k, %k : tensor<?x?x64xbf16>, tensor<?x?x64xbf16>, tensor<?x?x64xbf16>)
      outs(%o : tensor<?x?x64xbf16>) layout(thd) prefix_sums(%c, %c : tensor<5xi32>, tensor<5xi32>)
  return %0 : tensor<?x?x64xbf16>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.forward"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// An op that is a tile already moves its origin.

// CHECK-LABEL: func.func @twice
// CHECK-SAME: index, %[[H0:[a-z0-9_]+]]: index)
// CHECK: scf.for %[[H:[a-z0-9_]+]] =
// CHECK:   %[[SUM:[a-z0-9_]+]] = arith.addi %[[H0]], %[[H]] : index
// CHECK:   attn.forward {{.*}} layout(bhsd) origin(%{{.*}}, %[[SUM]]) predicate
func.func @twice(%q: tensor<1x4x64x64xbf16>, %o: tensor<1x4x64x64xbf16>, %b0: index, %h0: index) -> tensor<1x4x64x64xbf16> {
  %0 = attn.forward ins(%q, %q, %q : tensor<1x4x64x64xbf16>, tensor<1x4x64x64xbf16>, tensor<1x4x64x64xbf16>)
      outs(%o : tensor<1x4x64x64xbf16>) layout(bhsd) origin(%b0, %h0)
      predicate {
      ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
        %p = arith.cmpi sle, %h, %j : i32
        attn.yield %p : i1
      }
  return %0 : tensor<1x4x64x64xbf16>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.forward"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A consumer that takes whole rows of a head pulls the attention of that head
// into its loop.

// CHECK-LABEL: func.func @fuse
// CHECK-SAME: (%[[Q:[a-z0-9_]+]]: tensor<2x64x4x64xbf16>,
// CHECK: scf.forall (%[[B:[a-z0-9_]+]], %[[H:[a-z0-9_]+]]) in (2, 4)
// CHECK:   %[[QT:[a-z0-9_]+]] = tensor.extract_slice %[[Q]][%[[B]], 0, %[[H]], 0] [1, 64, 1, 64] [1, 1, 1, 1]
// CHECK:   %[[O:[a-z0-9_]+]] = attn.forward ins(%[[QT]], %{{.*}}, %{{.*}} : tensor<1x64x1x64xbf16>,
// CHECK:   linalg.negf ins(%[[O]] : tensor<1x64x1x64xbf16>)
func.func @fuse(%q: tensor<2x64x4x64xbf16>, %o: tensor<2x64x4x64xbf16>, %x: tensor<2x64x4x64xbf16>) -> tensor<2x64x4x64xbf16> {
  %0 = attn.forward ins(%q, %q, %q : tensor<2x64x4x64xbf16>, tensor<2x64x4x64xbf16>, tensor<2x64x4x64xbf16>)
      outs(%o : tensor<2x64x4x64xbf16>)
  %1 = linalg.negf ins(%0 : tensor<2x64x4x64xbf16>) outs(%x : tensor<2x64x4x64xbf16>) -> tensor<2x64x4x64xbf16>
  return %1 : tensor<2x64x4x64xbf16>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %consumer = transform.structured.match ops{["linalg.negf"]} in %root : (!transform.any_op) -> !transform.any_op
    %producer = transform.structured.match ops{["attn.forward"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %consumer tile_sizes [1, 0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %fused, %new = transform.structured.fuse_into_containing_op %producer into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Half of the rows is no whole attention: the op declines, and upstream's
// fusion takes it in whole instead of cutting it wrongly.

// CHECK-LABEL: func.func @rows
// CHECK: scf.forall (%[[B:[a-z0-9_]+]], %[[I:[a-z0-9_]+]], %[[H:[a-z0-9_]+]]) in (2, 2, 4)
// CHECK:   %[[OFF:[a-z0-9_]+]] = affine.apply #{{.*}}(%[[I]])
// CHECK:   %[[O:[a-z0-9_]+]] = attn.forward ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x64x4x64xbf16>,
// CHECK:   tensor.extract_slice %[[O]][%[[B]], %[[OFF]], %[[H]], 0] [1, 32, 1, 64] [1, 1, 1, 1]
func.func @rows(%q: tensor<2x64x4x64xbf16>, %o: tensor<2x64x4x64xbf16>, %x: tensor<2x64x4x64xbf16>) -> tensor<2x64x4x64xbf16> {
  %0 = attn.forward ins(%q, %q, %q : tensor<2x64x4x64xbf16>, tensor<2x64x4x64xbf16>, tensor<2x64x4x64xbf16>)
      outs(%o : tensor<2x64x4x64xbf16>)
  %1 = linalg.negf ins(%0 : tensor<2x64x4x64xbf16>) outs(%x : tensor<2x64x4x64xbf16>) -> tensor<2x64x4x64xbf16>
  return %1 : tensor<2x64x4x64xbf16>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %consumer = transform.structured.match ops{["linalg.negf"]} in %root : (!transform.any_op) -> !transform.any_op
    %producer = transform.structured.match ops{["attn.forward"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %consumer tile_sizes [1, 32, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %fused, %new = transform.structured.fuse_into_containing_op %producer into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
