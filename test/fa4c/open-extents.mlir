// RUN: fa4c --run --check --repeat=1 --shape q=2x33x3x8 --shape k=2x40x3x8 --shape v=2x40x3x8 --shape o=2x33x3x8 %s | FileCheck %s
// RUN: not fa4c --run %s 2>&1 | FileCheck %s --check-prefix=OPEN
// RUN: not fa4c --run --shape q=2x33x3x8 --shape k=2x40x3x8 --shape v=2x40x3x8 --shape o=2x33x3x16 %s 2>&1 | FileCheck %s --check-prefix=EXTENT

// Memrefs: o is written in place; there is no lse.
// CHECK: o    error
// CHECK-NOT: lse
// CHECK: check passed

// OPEN: error: expected argument 'q' to be given with --input or --shape, but got open extents
// EXTENT: error: expected argument 3 to be of extent 8 in dimension 3, but got 16

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @main(%q: memref<?x?x?x8xf16>, %k: memref<?x?x?x8xf16>, %v: memref<?x?x?x8xf16>, %o: memref<?x?x?x8xf16>) {
    attn.forward ins(%q, %k, %v : memref<?x?x?x8xf16>, memref<?x?x?x8xf16>, memref<?x?x?x8xf16>)
        outs(%o : memref<?x?x?x8xf16>)
    return
  }
}
