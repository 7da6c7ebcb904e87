// A kernel divides by nothing: what a launch fixes is computed by the host, reciprocals
// too. Five heads in sections of two, the last of one.

// RUN: fa4c --target=sm_90a --run --check --shape q=1x300x5x8 --shape k=1x40x5x8 --shape v=1x40x5x8 --shape o=1x300x5x8 %s | FileCheck %s
// RUN: fa4c --target=sm_90a --run --check --shape q=3x1x1x8 --shape k=3x1x1x8 --shape v=3x1x1x8 --shape o=3x1x1x8 %s | FileCheck %s
// RUN: fa4c --target=sm_90a --emit=nvvm %s | FileCheck %s --check-prefix=HOST
// RUN: fa4c --target=sm_90a --emit=ptx %s | FileCheck %s --check-prefix=PTX --implicit-check-not=div. --implicit-check-not=rem.

// CHECK: check passed

// HOST-LABEL: func.func @main
// HOST-DAG: %[[MOST:.+]] = arith.constant 9223372036854775807 : i64
// HOST-DAG: %[[FITTING:.+]] = arith.divui %c2600_i64, %{{.+}} : i64
// HOST: %[[D:.+]] = arith.extsi %{{.+}} : i32 to i64
// HOST: %[[R:.+]] = arith.divui %[[MOST]], %[[D]] : i64
// HOST: tile.launch @main_attn0

// PTX-LABEL: .entry main_attn0
// PTX-COUNT-4: mul.hi.u64
// PTX: cp.async.bulk.tensor

module attributes {fa4.target = #fa4.target<"sm_90a", l2_section_bytes = 2600>} {
  func.func @main(%q: memref<?x?x?x8xf16>, %k: memref<?x?x?x8xf16>, %v: memref<?x?x?x8xf16>, %o: memref<?x?x?x8xf16>) {
    attn.forward ins(%q, %k, %v : memref<?x?x?x8xf16>, memref<?x?x?x8xf16>, memref<?x?x?x8xf16>)
        outs(%o : memref<?x?x?x8xf16>) mask [#attn.causal]
    return
  }
}
