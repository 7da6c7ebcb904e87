// REQUIRES: ptxas
// RUN: fa4c --target=sm_100a --emit=ptx %s > %t.ptx
// RUN: ptxas -v -arch=sm_100a %t.ptx -o %t.cubin 2>&1 | FileCheck %s

// Kernels whose rows once did not fit their role's registers, by what filled them.

// CHECK-NOT: warning
// CHECK-NOT: (C7
// CHECK-COUNT-7: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// CHECK-NOT: warning
// CHECK-NOT: (C7
// CHECK-NOT: stack frame

!qkv = memref<?x?x?x128xf16, strided<[?, ?, ?, 1], offset: ?>>
!half = memref<?x?x?x64xbf16>
!packed = memref<?x?x96xbf16, strided<[?, ?, 1], offset: ?>>

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

// Two reads per score of which one is of a part of its tensor, with bounds of its own.
func.func @bias_and_documents_packed(%q: !packed, %k: !packed, %v: !packed, %o: !packed, %lse: memref<?x?xf32>,
    %dq: memref<?xi32>, %dk: memref<?xi32>, %off: memref<?xi32>, %sums: memref<?xi32>, %used: memref<?xi32>,
    %bias: memref<?x?xf32>) {
  attn.forward ins(%q, %k, %v : !packed, !packed, !packed) outs(%o, %lse : !packed, memref<?x?xf32>) layout(thd)
    scale(0.102062076) scale_placement(before_max) mask [#attn.window<left = 70, right = 0>]
    document_ids(%dq, %dk : memref<?xi32>, memref<?xi32>) position_offset(%off : memref<?xi32>)
    prefix_sums(%sums, %sums : memref<?xi32>, memref<?xi32>) used_lengths(%used, %used : memref<?xi32>, memref<?xi32>)
    schedule(#fa4.schedule<forward, tile = 128 x 128, stages = 2, rescale_log2_threshold = none,
      exp2 = <degree 3, of 16 columns the last 4, chunks 0 to 3>>)
    score captures(%bias : memref<?x?xf32>) {
  ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %table: memref<?x?xf32>):
    %x = attn.fetch %table[%i, %j] : memref<?x?xf32>
    %y = arith.addf %s, %x : f32
    attn.yield %y : f32
  }
  return
}

// The role that rescales stores, too: rows of outputs once were held whole.
func.func @stores(%q: !half, %k: !half, %v: !half, %o: !half, %lse: memref<?x?x?xf32>) {
  attn.forward ins(%q, %k, %v : !half, !half, !half) outs(%o, %lse : !half, memref<?x?x?xf32>)
    mask [#attn.causal] schedule(
      #fa4.schedule<forward, tile = 128 x 128, stages = 2, ctas = 1, work = static_persistent, order =
      [load_v at 1, softmax[0] at 1, rescale[0] at 1, pv[0] at 1, load_k at 0, qk[0] at 0, softmax[1] at 1,
      rescale[1] at 1, pv[1] at 1, qk[1] at 0], homes = [load_q = smem @q_mem as q, load_k = smem @kv_mem x
      2 as k, load_v = smem @kv_mem as v, qk = tmem @sp_mem as s, softmax.0 = tmem @sp_mem column 64 as pa,
      softmax.1 = tmem @sp_mem column 96 as pb, softmax.2 = smem @stat_mem x 2 as alpha, pv = tmem @o_mem
      as o, finish.0 = smem @out_mem as out], roles = [softmax = {softmax} warps 4 x 2 at 0 regs 192,
      correction = {rescale, finish, store} warps 4 at 8 regs 80, mma = {qk, pv} warps 1 at 12 regs 48,
      load = {load_q, load_k, load_v} warps 1 at 14 regs 48], split_p = [64, 64], rescale_log2_threshold =
      8.000000e+00, exp2 = <degree 3, of 8 columns the last 4, chunks 0 to 0>, grain = [pb.full = warp]>)
  return
}

// The same of one stage: the thread's number once lived from before the roles into two of them.
func.func @stores_of_one_stage(%q: !half, %k: !half, %v: !half, %o: !half, %lse: memref<?x?x?xf32>) {
  attn.forward ins(%q, %k, %v : !half, !half, !half) outs(%o, %lse : !half, memref<?x?x?xf32>)
    mask [#attn.causal] schedule(
      #fa4.schedule<forward, tile = 128 x 128, stages = 1, ctas = 1, work =
      static_persistent<longest_first>, order = [load_v at 1, softmax[0] at 1, rescale[0] at 1, pv[0] at 1,
      load_k at 0, qk[0] at 0], homes = [load_q = smem @q_mem as q, load_k = smem @kv_mem x 3 as k, load_v
      = smem @kv_mem as v, qk = tmem @sp_mem as s, softmax.0 = tmem @sp_mem column 64 as pa, softmax.1 =
      tmem @sp_mem column 80 as pb, softmax.2 = smem @stat_mem as alpha, pv = tmem @o_mem as o, finish.0 =
      smem @out_mem as out], roles = [softmax = {softmax} warps 4 at 0 regs 240, correction = {rescale,
      finish, store} warps 4 at 4 regs 144, mma = {qk, pv} warps 1 at 8 regs 48, load = {load_q, load_k,
      load_v} warps 1 at 10 regs 48], split_p = [32, 96], rescale_log2_threshold = 8.000000e+00, exp2 =
      <degree 3, of 8 columns the last 4, chunks 0 to 0>>)
  return
}
