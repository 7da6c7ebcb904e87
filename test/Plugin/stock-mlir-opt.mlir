// Debian's own mlir-opt with our module loaded: dialects, passes and pipelines, beside its own.
// An instrumented module cannot be loaded into an uninstrumented host.
// UNSUPPORTED: sanitizer
// RUN: %stock_mlir_opt --load-dialect-plugin=%fa4_plugin --load-pass-plugin=%fa4_plugin %s \
// RUN:   --pass-pipeline='builtin.module(func.func(attn-legalize,attn-select-schedule),convert-attn-to-tile)' \
// RUN:   | FileCheck %s --implicit-check-not=attn.forward
// RUN: %stock_mlir_opt --load-dialect-plugin=%fa4_plugin --load-pass-plugin=%fa4_plugin %s \
// RUN:   --pass-pipeline='builtin.module(func.func(attn-legalize,attn-select-schedule),convert-attn-to-tile,convert-tile-to-cpu,canonicalize)' \
// RUN:   | FileCheck %s --check-prefix=CPU --implicit-check-not=tile.
// RUN: %stock_mlir_opt --load-dialect-plugin=%fa4_plugin --load-pass-plugin=%fa4_plugin %s \
// RUN:   --pass-pipeline='builtin.module(fa4-attn-to-cpu)' \
// RUN:   | FileCheck %s --check-prefix=CPU --implicit-check-not=tile.

// CHECK: tile.kernel @forward_attn0(
// CHECK: func.func @forward(
// CHECK: tile.launch @forward_attn0(
// CPU: func.func
// CPU: scf.parallel
module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @forward(%q: memref<1x256x2x64xbf16>, %k: memref<1x256x2x64xbf16>, %v: memref<1x256x2x64xbf16>,
                     %o: memref<1x256x2x64xbf16>, %lse: memref<1x2x256xf32>) {
    attn.forward ins(%q, %k, %v : memref<1x256x2x64xbf16>, memref<1x256x2x64xbf16>, memref<1x256x2x64xbf16>)
        outs(%o, %lse : memref<1x256x2x64xbf16>, memref<1x2x256xf32>) mask [#attn.causal]
    return
  }
}
