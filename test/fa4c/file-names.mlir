// PTX is ASCII, names of files need not be.
// RUN: mkdir -p %t && cp %s "%t/größe.mlir"
// RUN: fa4c --target=sm_90a --emit=ptx "%t/größe.mlir" | FileCheck %s
// CHECK: .loc{{.*}} // gr????e.mlir:
// CHECK: .file{{.*}}gr\303\266\303\237e.mlir"

func.func @f(%q: memref<1x64x1x64xf16>, %k: memref<1x64x1x64xf16>, %v: memref<1x64x1x64xf16>, %o: memref<1x64x1x64xf16>) {
  attn.forward ins(%q, %k, %v : memref<1x64x1x64xf16>, memref<1x64x1x64xf16>, memref<1x64x1x64xf16>)
      outs(%o : memref<1x64x1x64xf16>)
  return
}
