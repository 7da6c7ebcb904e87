// RUN: fa4-opt %s --transform-preload-library=transform-library-paths=%S/Inputs/tile-batch-and-heads.mlir --transform-interpreter --canonicalize -o %t.tiled.mlir
// RUN: FileCheck %s < %t.tiled.mlir
// RUN: fa4c --target=cpu --run --random seed=3 --output q=%t.q.npy --output k=%t.k.npy --output v=%t.v.npy --output o=%t.whole.npy --output lse=%t.whole-lse.npy %s
// RUN: fa4c --target=cpu --run --input arg0=%t.q.npy --input arg1=%t.k.npy --input arg2=%t.v.npy --output arg3=%t.tiled.npy --output arg4=%t.tiled-lse.npy %t.tiled.mlir
// RUN: cmp %t.whole.npy %t.tiled.npy
// RUN: cmp %t.whole-lse.npy %t.tiled-lse.npy

// A tile computes what the whole would, to the bit, although its regions name b
// and h and its sink and documents are slices.

// CHECK: scf.for
// CHECK: scf.for
// CHECK: attn.forward {{.*}} origin(
module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @f(%q: tensor<2x70x6x64xbf16>, %k: tensor<2x90x2x64xbf16>, %v: tensor<2x90x2x64xbf16>,
               %oi: tensor<2x70x6x64xbf16>, %li: tensor<2x6x70xf32>)
      -> (tensor<2x70x6x64xbf16>, tensor<2x6x70xf32>) {
    %o, %lse = attn.forward ins(%q, %k, %v : tensor<2x70x6x64xbf16>, tensor<2x90x2x64xbf16>, tensor<2x90x2x64xbf16>)
        outs(%oi, %li : tensor<2x70x6x64xbf16>, tensor<2x6x70xf32>) mask [#attn.causal]
        score {
        ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32):
          %bh = arith.addi %b, %h : i32
          %x = arith.sitofp %bh : i32 to f32
          %d = arith.subi %j, %i : i32
          %y = arith.sitofp %d : i32 to f32
          %c = arith.constant 0.0625 : f32
          %m = arith.mulf %x, %c : f32
          %n = arith.mulf %m, %y : f32
          %z = arith.addf %s, %n : f32
          attn.yield %z : f32
        } predicate {
        ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
          %p = arith.cmpi ne, %j, %h : i32
          attn.yield %p : i1
        }
    return %o, %lse : tensor<2x70x6x64xbf16>, tensor<2x6x70xf32>
  }
}
