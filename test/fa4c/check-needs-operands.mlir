// RUN: fa4c --run --repeat=1 --output o=%t.npy --entry=main %s | FileCheck %s --check-prefix=RAN
// RUN: not fa4c --run --repeat=1 --check --entry=other %s 2>&1 | FileCheck %s

// A check that has nothing to compare with is refused, not passed.
// RAN: compiled in
// CHECK: error: expected the operands of attn.forward to be arguments of the entry or constants, to be checked

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @main(%q: memref<1x16x1x16xf16>, %o: memref<1x16x1x16xf16>) {
    attn.forward ins(%q, %q, %q : memref<1x16x1x16xf16>, memref<1x16x1x16xf16>, memref<1x16x1x16xf16>)
        outs(%o : memref<1x16x1x16xf16>)
    return
  }
  func.func @other(%q: memref<1x32x1x16xf16>, %o: memref<1x16x1x16xf16>) {
    %s = memref.subview %q[0, 16, 0, 0] [1, 16, 1, 16] [1, 1, 1, 1]
        : memref<1x32x1x16xf16> to memref<1x16x1x16xf16, strided<[512, 16, 16, 1], offset: 256>>
    attn.forward ins(%s, %s, %s : memref<1x16x1x16xf16, strided<[512, 16, 16, 1], offset: 256>>, memref<1x16x1x16xf16, strided<[512, 16, 16, 1], offset: 256>>, memref<1x16x1x16xf16, strided<[512, 16, 16, 1], offset: 256>>)
        outs(%o : memref<1x16x1x16xf16>)
    return
  }
}
