// RUN: fa4c --emit=attn %s | FileCheck %s --check-prefix=ATTN
// RUN: fa4c --emit=tile %s | fa4-opt --tile-verify-t0 | FileCheck %s --check-prefix=TILE
// RUN: fa4c --emit=mlir-cpu %s | FileCheck %s --check-prefix=CPU --implicit-check-not="tile." --implicit-check-not="attn."
// RUN: fa4c --emit=llvm %s | FileCheck %s --check-prefix=LLVM

// ATTN: attn.forward {{.*}} scale(1.250000e-01) scale_placement(in_exp2) schedule(
// TILE: tile.kernel @main_attn0(
// TILE: tile.launch @main_attn0(
// CPU: func.func private @main_attn0(
// CPU: scf.parallel
// CPU: func.func @main(
// CPU: call @main_attn0(
// LLVM: define void @main(

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @main(%q: memref<1x128x1x64xf16>, %k: memref<1x128x1x64xf16>, %v: memref<1x128x1x64xf16>, %o: memref<1x128x1x64xf16>) {
    attn.forward ins(%q, %k, %v : memref<1x128x1x64xf16>, memref<1x128x1x64xf16>, memref<1x128x1x64xf16>)
        outs(%o : memref<1x128x1x64xf16>)
    return
  }
}
