// RUN: fa4-opt %s --convert-attn-to-tile | FileCheck %s --implicit-check-not="attn.forward" --implicit-check-not="attn.fetch" --implicit-check-not="attn.merge"

// R3: weights relative to the larger lse; two empty states stay empty.

// CHECK-LABEL: func.func @merge(
// CHECK-SAME: %[[O1:.+]]: memref<?x?x?x64xf32>, %[[L1:.+]]: memref<?x?x?xf32>, %[[O2:.+]]: memref<?x?x?x64xf32>, %[[L2:.+]]: memref<?x?x?xf32>, %[[O:.+]]: memref<?x?x?x64xbf16>, %[[L:.+]]: memref<?x?x?xf32>
// CHECK: scf.parallel (%[[B:.+]], %[[H:.+]], %[[I:.+]]) =
// CHECK: %[[A:.+]] = memref.load %[[L1]][%[[B]], %[[H]], %[[I]]]
// CHECK: %[[C:.+]] = memref.load %[[L2]][%[[B]], %[[H]], %[[I]]]
// CHECK: %[[LARGER:.+]] = arith.maximumf %[[A]], %[[C]]
// CHECK: %[[EMPTY:.+]] = arith.cmpf oeq, %[[LARGER]],
// CHECK: %[[TOP:.+]] = arith.select %[[EMPTY]], %{{.+}}, %[[LARGER]]
// CHECK: %[[D1:.+]] = arith.subf %[[A]], %[[TOP]]
// CHECK: %[[E1:.+]] = math.exp %[[D1]]
// CHECK: %[[D2:.+]] = arith.subf %[[C]], %[[TOP]]
// CHECK: %[[E2:.+]] = math.exp %[[D2]]
// CHECK: %[[SUM:.+]] = arith.addf %[[E1]], %[[E2]]
// CHECK: %[[Q1:.+]] = arith.divf %[[E1]], %[[SUM]]
// CHECK: %[[W1:.+]] = arith.select %[[EMPTY]], %{{.+}}, %[[Q1]]
// CHECK: %[[Q2:.+]] = arith.divf %[[E2]], %[[SUM]]
// CHECK: %[[W2:.+]] = arith.select %[[EMPTY]], %{{.+}}, %[[Q2]]
// CHECK: scf.for %[[E:.+]] =
// CHECK: %[[X1:.+]] = memref.load %[[O1]][%[[B]], %[[I]], %[[H]], %[[E]]]
// CHECK: %[[P1:.+]] = arith.mulf %[[W1]], %[[X1]]
// CHECK: %[[X2:.+]] = memref.load %[[O2]][%[[B]], %[[I]], %[[H]], %[[E]]]
// CHECK: %[[P2:.+]] = arith.mulf %[[W2]], %[[X2]]
// CHECK: %[[Y:.+]] = arith.addf %[[P1]], %[[P2]]
// CHECK: %[[YB:.+]] = arith.truncf %[[Y]]
// CHECK: memref.store %[[YB]], %[[O]][%[[B]], %[[I]], %[[H]], %[[E]]]
// CHECK: %[[LOG:.+]] = math.log %[[SUM]]
// CHECK: %[[LSE:.+]] = arith.addf %[[TOP]], %[[LOG]]
// CHECK: %[[RESULT:.+]] = arith.select %[[EMPTY]], %{{.+}}, %[[LSE]]
// CHECK: memref.store %[[RESULT]], %[[L]][%[[B]], %[[H]], %[[I]]]
func.func @merge(%o1: memref<?x?x?x64xf32>, %l1: memref<?x?x?xf32>, %o2: memref<?x?x?x64xf32>, %l2: memref<?x?x?xf32>,
                 %o: memref<?x?x?x64xbf16>, %l: memref<?x?x?xf32>) {
  attn.merge ins(%o1, %l1, %o2, %l2 : memref<?x?x?x64xf32>, memref<?x?x?xf32>, memref<?x?x?x64xf32>, memref<?x?x?xf32>)
      outs(%o, %l : memref<?x?x?x64xbf16>, memref<?x?x?xf32>)
  return
}
