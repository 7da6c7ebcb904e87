// RUN: fa4-opt %s --convert-attn-to-tile --cse | FileCheck %s --implicit-check-not="attn.forward" --implicit-check-not="attn.fetch" --implicit-check-not="attn.merge"
// RUN: fa4-opt %s --convert-attn-to-tile | fa4-opt --verify-roundtrip --tile-verify-t0 | FileCheck %s --check-prefix=ROUND

// Packed sequences: the work finds the sequence of a tile in the prefix sums,
// and every tensor is cut to that sequence. Head dims are padded to 16.

#one = #fa4.schedule<forward, tile = 64 x 128, stages = 1, work = static_persistent>
module attributes {fa4.target = #fa4.target<"sm_90a">} {

// CHECK-LABEL: tile.kernel @packed_attn0(
// CHECK-SAME: %[[Q:[^:]+]]: !tile.global<64x1x80xf16>, %[[K:[^:]+]]: !tile.global<128x1x80xf16>, %[[V:[^:]+]]: !tile.global<128x1x64xf16>, %[[O:[^:]+]]: !tile.global<64x1x64xf16>, %[[L:[^:]+]]: !tile.global<1x64xf32>, %[[CUQ:[^:]+]]: !tile.global<1xi32>, %[[CUK:[^:]+]]: !tile.global<1xi32>, %[[UQ:[^:]+]]: !tile.global<1xi32>, %[[UK:[^:]+]]: !tile.global<1xi32>, %[[NB:[^:]+]]: i32, %[[HQ:[^:]+]]: i32, %[[GROUP:[^:]+]]: i32, %[[TILES:[^:]+]]: i32)

// A row past the used length gets 0 and minus infinity, also in this kernel.
// CHECK: tile.def @finish({{.*}}, %[[ROWS:.+]]: i32) -> !tile.frag<64x64xf16>
// CHECK: tile.map {{.*}} at(%[[I:.+]] = %{{.+}}, %{{.+}} = %{{.+}})
// CHECK: %[[ISROW:.+]] = arith.cmpi slt, %[[I]], %[[ROWS]]
// CHECK: %[[INV:.+]] = arith.select %[[ISROW]]
// CHECK: %[[LSE:.+]] = arith.select %[[ISROW]]
// CHECK: tile.yield %[[INV]], %[[LSE]]

// CHECK: tile.work @work(%[[T:.+]]) tiles(%[[TILES]] : i32)
// CHECK-SAME: -> (%q0, %h, %kvh, %b, %sq, %sk, %qs, %qe, %ks, %j0, %n, %ne)
// CHECK-DAG: %[[H:.+]] = arith.remui %[[T]], %[[HQ]]
// CHECK-DAG: %[[SLOT:.+]] = arith.divui %[[T]], %[[HQ]]
// CHECK: %[[SCAN:.+]]:3 = scf.for %[[S:.+]] = %{{.+}} to %[[NB]] step %{{.+}} iter_args(%[[BEFORE:.+]] = %c0_i32, %[[FOUND:.+]] = %[[NB]], %[[INDEX:.+]] = %c0_i32)
// CHECK: %[[BEGIN:.+]] = tile.fetch %[[CUQ]][%[[S]]]
// CHECK: %[[S1:.+]] = arith.addi %[[S]], %c1_i32
// CHECK: %[[END:.+]] = tile.fetch %[[CUQ]][%[[S1]]]
// CHECK: %[[LENGTH:.+]] = arith.subi %[[END]], %[[BEGIN]]
// CHECK: arith.ceildivsi %[[LENGTH]], %c64_i32
// CHECK: %[[QS:.+]] = tile.fetch %[[CUQ]][%[[SCAN]]#1]
// CHECK: %[[KS:.+]] = tile.fetch %[[CUK]][%[[SCAN]]#1]
// CHECK: %[[USED:.+]] = tile.fetch %[[UQ]][%[[SCAN]]#1]
// CHECK: %[[USED0:.+]] = arith.maxsi %[[USED]], %c0_i32
// CHECK: %[[SQ:.+]] = arith.minsi %[[USED0]],
// CHECK: tile.yield %[[SCAN]]#2, %[[H]], %{{.+}}, %[[SCAN]]#1, %[[SQ]], %{{.+}}, %[[QS]], %{{.+}}, %[[KS]],

// CHECK: tile.for_each_tile (%[[Q0:.+]], %[[H:.+]], %[[KVH:.+]], %[[B:.+]], %[[SQ:.+]], %[[SK:.+]], %[[QS:.+]], %[[QE:.+]], %[[KS:.+]], %{{.+}}, %{{.+}}, %{{.+}}) in @work
// CHECK: %[[QEND:.+]] = arith.addi %[[QS]], %[[SQ]]
// CHECK: %[[QPART:.+]] = tile.subrange %[[Q]] dim(0) from %[[QS]] to %[[QEND]]
// CHECK: %[[KEND:.+]] = arith.addi %[[KS]], %[[SK]]
// CHECK: %[[KPART:.+]] = tile.subrange %[[K]] dim(0) from %[[KS]] to %[[KEND]]
// CHECK: %[[VPART:.+]] = tile.subrange %[[V]] dim(0) from %[[KS]] to %[[KEND]]
// CHECK: %[[OPART:.+]] = tile.subrange %[[O]] dim(0) from %[[QS]] to %[[QE]]
// CHECK: %[[LPART:.+]] = tile.subrange %[[L]] dim(1) from %[[QS]] to %[[QE]]
// CHECK: tile.step @load_q[0](%[[QPART]], %[[B]], %[[Q0]], %[[H]])
// CHECK: tile.step @load_k(%[[KPART]],
// CHECK: tile.step @load_v(%[[VPART]],
// CHECK: tile.step @finish[0]({{.*}}, %[[LPART]], %[[H]], %[[Q0]], %[[SQ]])
// CHECK: tile.step @store[0](%{{.+}}, %[[OPART]], %[[B]], %[[Q0]], %[[H]])

// The host knows the packed rows, not the sequences: enough tiles for any.
// CHECK-LABEL: func.func @packed(
// CHECK: %[[SUMS:.+]] = memref.dim %[[CUQ:.+]], %c0 : memref<?xi32>
// CHECK: %[[NB:.+]] = arith.subi %[[SUMS]], %c1
// CHECK: %[[ROWS:.+]] = memref.dim %{{.+}}, %c0 : memref<?x?x72xf16>
// CHECK: %[[SLACK:.+]] = arith.muli %[[NB]], %c63
// CHECK: %[[BOTH:.+]] = arith.addi %[[ROWS]], %[[SLACK]]
// CHECK: arith.floordivsi %[[BOTH]], %c64
// ROUND-LABEL: tile.kernel @packed_attn0(
func.func @packed(%q: memref<?x?x72xf16>, %k: memref<?x?x72xf16>, %v: memref<?x?x64xf16>,
                  %o: memref<?x?x64xf16>, %lse: memref<?x?xf32>, %cuq: memref<?xi32>, %cuk: memref<?xi32>,
                  %uq: memref<?xi32>, %uk: memref<?xi32>) {
  attn.forward ins(%q, %k, %v : memref<?x?x72xf16>, memref<?x?x72xf16>, memref<?x?x64xf16>)
      outs(%o, %lse : memref<?x?x64xf16>, memref<?x?xf32>) layout(thd)
      mask [#attn.causal] prefix_sums(%cuq, %cuk : memref<?xi32>, memref<?xi32>)
      used_lengths(%uq, %uk : memref<?xi32>, memref<?xi32>) schedule(#one)
  return
}
}
