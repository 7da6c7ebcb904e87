// REQUIRES: ptxas
// RUN: fa4c --target=sm_100a --emit=ptx %s > %t.ptx
// RUN: ptxas -v -arch=sm_100a %t.ptx -o %t.cubin 2>&1 | FileCheck %s

// Kernels whose rows once did not fit their role's registers, by what filled them.

// CHECK-NOT: warning
// CHECK-NOT: (C7
// CHECK-COUNT-4: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// CHECK-NOT: warning
// CHECK-NOT: (C7
// CHECK-NOT: stack frame

!qkv = memref<?x?x?x128xf16, strided<[?, ?, ?, 1], offset: ?>>
!half = memref<?x?x?x64xbf16>

// Two reads per score: the positions of one once lived on to the other.
func.func @bias_and_documents(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %lse: memref<?x?x?xf32>,
                              %dq: memref<?x?xi32>, %dk: memref<?x?xi32>, %bias: memref<?x?xf32>) {
  attn.forward ins(%q, %k, %v : !qkv, !qkv, !qkv) outs(%o, %lse : !qkv, memref<?x?x?xf32>)
    scale(0.0883883461) scale_placement(before_max) mask [#attn.window<left = 70, right = 0>]
    document_ids(%dq, %dk : memref<?x?xi32>, memref<?x?xi32>) score captures(%bias : memref<?x?xf32>) {
  ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %table: memref<?x?xf32>):
    %x = attn.fetch %table[%i, %j] : memref<?x?xf32>
    %y = arith.addf %s, %x : f32
    attn.yield %y : f32
  }
  return
}

// A quotient of integers per score.
func.func @integer_predicate(%q: !half, %k: !half, %v: !half, %o: !half, %lse: memref<?x?x?xf32>) {
  attn.forward ins(%q, %k, %v : !half, !half, !half) outs(%o, %lse : !half, memref<?x?x?xf32>)
    mask [#attn.window<left = 70, right = 20>] predicate {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %c3 = arith.constant 3 : i32
    %c5 = arith.constant 5 : i32
    %zero = arith.constant 0 : i32
    %x = arith.muli %i, %c3 : i32
    %y = arith.addi %x, %j : i32
    %r = arith.remsi %y, %c5 : i32
    %p = arith.cmpi ne, %r, %zero : i32
    attn.yield %p : i1
  }
  return
}

// A formula of one number, under two bounds of a row.
func.func @softcap_in_window(%q: !half, %k: !half, %v: !half, %o: !half, %lse: memref<?x?x?xf32>) {
  attn.forward ins(%q, %k, %v : !half, !half, !half) outs(%o, %lse : !half, memref<?x?x?xf32>)
    mask [#attn.window<left = 0, right = 0>] score {
  ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32):
    %cap = arith.constant 15.0 : f32
    %x = arith.divf %s, %cap : f32
    %y = math.tanh %x : f32
    %z = arith.mulf %y, %cap : f32
    attn.yield %z : f32
  }
  return
}

// The polynomial on all columns.
func.func @polynomial(%q: !half, %k: !half, %v: !half, %o: !half, %lse: memref<?x?x?xf32>) {
  attn.forward ins(%q, %k, %v : !half, !half, !half) outs(%o, %lse : !half, memref<?x?x?xf32>)
    mask [#attn.window<left = 33, right = none>] schedule(#fa4.schedule<forward, tile = 128 x 128, stages = 2,
      exp2 = <degree 3, of 2 columns the last 2, chunks 0 to 3>>)
  return
}
