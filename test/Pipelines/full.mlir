// RUN: fa4-opt %s --fa4-tile-to-nvvm --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefixes=LIST,PROVE
// RUN: fa4-opt %s --fa4-tile-to-nvvm=prove=false --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefixes=LIST,TRUST --implicit-check-not=tile-verify-protocol
// RUN: fa4-opt %s --fa4-full --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: fa4-opt %s --fa4-full | FileCheck %s --implicit-check-not="attn." --implicit-check-not="tile.{{[^l]}}"
// RUN: fa4c --target=sm_100a --emit=tile-t1 %s | fa4-opt --tile-verify-t1 | FileCheck %s --check-prefix=T1
// RUN: fa4c --target=sm_100a --emit=tile-t2 %s | fa4-opt --tile-verify-t2 | FileCheck %s --check-prefix=T2
// RUN: fa4c --target=sm_100a --emit=tile-t2 %s -o %t.t2.mlir
// RUN: fa4c --target=sm_100a --emit=ptx %t.t2.mlir | FileCheck %s --check-prefix=PTX
// RUN: fa4c --target=sm_100a --run --check %s | FileCheck %s --check-prefix=RAN

// LIST: builtin.module(
// LIST-NEXT: tile.kernel(
// LIST-NEXT: tile-assign-memory,
// LIST-NEXT: tile-insert-channels,
// LIST-NEXT: tile-partition-roles,
// LIST-NEXT: tile-split-range,
// LIST-NEXT: tile-stream-rows,
// LIST-NEXT: tile-draw-tiles
// LIST-NEXT: ),
// LIST-NEXT: tile-verify-t1,
// PROVE-NEXT: tile-verify-protocol{{.*}},
// LIST-NEXT: tile.kernel(
// LIST-NEXT: tile-place-tmem,
// LIST-NEXT: tile-place-smem,
// LIST-NEXT: tile-assign-registers,
// LIST-NEXT: tile-lower-channels,
// LIST-NEXT: tile-lower-async
// LIST-NEXT: ),
// LIST-NEXT: tile.kernel(
// LIST-NEXT: tile-simplify-barriers{{.*}},
// LIST-NEXT: tile-insert-fences
// LIST-NEXT: ),
// LIST-NEXT: tile-verify-t2,
// PROVE-NEXT: tile-verify-protocol{{.*}},
// LIST-NEXT: tile.kernel(
// LIST-NEXT: tile-verify-target,
// LIST-NEXT: tile-skip-hidden
// LIST-NEXT: ),
// LIST-NEXT: convert-tile-to-nvvm,
// TRUST-NEXT: cse
// PROVE-NEXT: cse

// FULL: attn-legalize,
// FULL: tile-verify-t0,
// FULL-NEXT: tile.kernel(
// FULL-NEXT: tile-assign-memory,
// FULL: convert-tile-to-nvvm,
// FULL-NEXT: cse

// CHECK: llvm.func @main_attn0({{.*}}fa4.param = #fa4.param<tensor_map of 0 box [1, 128, 1, 64] swizzle 128>
// CHECK-SAME: fa4.launch = #fa4.launch<
// CHECK: func.func @main(
// CHECK: tile.launch @main_attn0(

// T1: tile.role @load
// T1: tile.role @mma
// T1: tile.role @softmax
// T2: tile.barrier @
// T2: tile.role @load warps(1) at(14) one_lane
// PTX: .visible .entry main_attn0(
// RAN: check passed

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @main(%q: memref<1x256x2x128xbf16>, %k: memref<1x256x2x128xbf16>, %v: memref<1x256x2x128xbf16>,
                  %o: memref<1x256x2x128xbf16>, %lse: memref<1x2x256xf32>) {
    attn.forward ins(%q, %k, %v : memref<1x256x2x128xbf16>, memref<1x256x2x128xbf16>, memref<1x256x2x128xbf16>)
        outs(%o, %lse : memref<1x256x2x128xbf16>, memref<1x2x256xf32>) mask [#attn.causal]
    return
  }
}
