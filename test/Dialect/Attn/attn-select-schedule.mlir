// RUN: fa4-opt %s --split-input-file --attn-select-schedule --remarks-filter-analyse=attn-select-schedule --mlir-print-local-scope 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: fa4-opt %s --split-input-file --attn-select-schedule > %t.once
// RUN: fa4-opt %t.once --split-input-file --attn-select-schedule | diff %t.once -

!q = tensor<1x1024x8x128xbf16>

// CHECK-LABEL: func.func @blackwell
// CHECK: schedule(#fa4.schedule<forward, tile = 128 x 128, stages = 2, ctas = 1, work = one_per_cluster<longest_first>,
// CHECK-SAME: order = [load_v at 1, softmax[0] at 1, rescale[0] at 1, pv[0] at 1, load_k at 0, qk[0] at 0, softmax[1] at 1, rescale[1] at 1, pv[1] at 1, qk[1] at 0],
// CHECK-SAME: homes = [load_q = smem @q_mem as q, load_k = smem @kv_mem x 3 as k, load_v = smem @kv_mem as v, qk = tmem @sp_mem as s, softmax.0 = tmem @sp_mem column 64 as pa, softmax.1 = tmem @sp_mem column 112 as pb, softmax.2 = smem @stat_mem as alpha, pv = tmem @o_mem as o, finish.0 = smem @out_mem as out],
// CHECK-SAME: roles = [softmax = {softmax} warps 4 x 2 at 0 regs 192, correction = {rescale, finish} warps 4 at 8 regs 80, mma = {qk, pv} warps 1 at 12 regs 48, store = {store} warps 1 at 13 regs 48, load = {load_q, load_k, load_v} warps 1 at 14 regs 48],
// CHECK-SAME: split_p = [96, 32], rescale_log2_threshold = 8.000000e+00, exp2 = <degree 3, of 16 columns the last 4, chunks 1 to 2>,
// CHECK-SAME: grain = [pb.full = warp], via = [alpha.full = named per_warp], early_acquire = [alpha], stagger = [alpha]>)
// REMARK: selected tile = 128 x 128, stages = 2 for head dims 128 and 128: matrix unit sets 62500 clocks per million scores
// REMARK: takes 231696 of 232448 bytes of shared memory, 65536 of 65536 registers, 512 of 1024 threads, 512 of 512 columns of tensor memory
module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @blackwell(%q: !q) -> !q {
    %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q) mask [#attn.causal]
    return %o : !q
  }
}

// -----

!q = tensor<1x1024x8x128xbf16>

// CHECK-LABEL: func.func @hopper
// CHECK: schedule(#fa4.schedule<forward, tile = 64 x 80, stages = 3, ctas = 1, work = one_per_cluster,
// CHECK-SAME: load_k = smem @k_mem x 4 as k, load_v = smem @v_mem x 4 as v, qk = registers, softmax.0 = registers, pv = registers, finish.0 = smem @q_mem as out],
// CHECK-SAME: roles = [consumer = {qk, softmax, rescale, pv, finish, store} warps 4 x 3 at 4 regs 160, load = {load_q, load_k, load_v} warps 1 at 0 regs 32]
// CHECK-SAME: turn = [qk, pv]>)
module attributes {fa4.target = #fa4.target<"sm_90a">} {
  func.func @hopper(%q: !q) -> !q {
    %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
    return %o : !q
  }
}

// -----

!q = tensor<1x1024x8x128xbf16>

// A chip with 256 columns of tensor memory and 100 KB of shared memory: one
// stage, two slots, o staged over q.
// CHECK-LABEL: func.func @invented
// CHECK: schedule(#fa4.schedule<forward, tile = 128 x 128, stages = 1,
// CHECK-SAME: homes = [load_q = smem @q_mem as q, load_k = smem @kv_mem x 2 as k, load_v = smem @kv_mem as v, qk = tmem @sp_mem as s, {{.*}} pv = tmem @o_mem as o, finish.0 = smem @q_mem as out]
// REMARK: takes {{(9[0-9]|10[0-2])[0-9]+}} of 102400 bytes of shared memory, {{.*}} 256 of 256 columns of tensor memory
module attributes {fa4.target = #fa4.target<"sm_100a", tmem_columns = 256, smem_bytes_per_cta = 102400>} {
  func.func @invented(%q: !q) -> !q {
    %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
    return %o : !q
  }
}

// -----

!q = tensor<1x1024x8x64xf16>

// Without a promise about the order of issue, P and S have columns of their own.
// CHECK-LABEL: func.func @no_issue_order
// CHECK: schedule(#fa4.schedule<forward, tile = 128 x 128, stages = 2,
// CHECK-SAME: qk = tmem @s_mem as s, softmax.0 = tmem @p_mem column 0 as pa, softmax.1 = tmem @p_mem column 48 as pb,
module attributes {fa4.target = #fa4.target<"sm_100a", mma_issue_order = false>} {
  func.func @no_issue_order(%q: !q) -> !q {
    %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
    return %o : !q
  }
}

// -----

!q = tensor<1x1024x8x128xbf16>

// What is asked for is kept, also where that is nothing; the rest is planned to agree.
// CHECK-LABEL: func.func @asked
// CHECK: schedule(#fa4.schedule<forward, tile = 128 x 64, stages = 1, ctas = 1, work = dynamic,
// CHECK-SAME: order = [load_v at 1, softmax[0] at 1, rescale[0] at 1, pv[0] at 1, load_k at 0, qk[0] at 0]
// CHECK-SAME: softmax.0 = tmem @sp_mem column 32 as p, softmax.1 = smem @stat_mem as alpha
// CHECK-SAME: roles = [softmax = {softmax} warps 4 at 0 regs 176
// CHECK-SAME: rescale_log2_threshold = 8.000000e+00, exp2 = <degree 5, of 1 columns the last 1, chunks 0 to 9>, early_acquire = [alpha]>)
// REMARK: kept the schedule that was asked for, tile = 128 x 64, stages = 1
module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @asked(%q: !q) -> !q {
    %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
        schedule(#fa4.schedule<forward, tile = 128 x 64, stages = 1, work = dynamic, split_p = [], via = [],
                 exp2 = <degree 5, of 1 columns the last 1, chunks 0 to 9>>)
    return %o : !q
  }
}

// -----

!q = tensor<1x1024x8x128xbf16>

// Who asks for a tile gets all else as if he had not asked.
// CHECK-LABEL: func.func @only_a_tile
// CHECK: schedule(#fa4.schedule<forward, tile = 128 x 128, stages = 2, ctas = 1, work = [[WORK:[a-z_<>]+]],
// CHECK-SAME: split_p = [96, 32], rescale_log2_threshold = 8.000000e+00, exp2 = <degree 3, of 16 columns the last 4, chunks 1 to 2>,
// CHECK-SAME: grain = [pb.full = warp], via = [alpha.full = named per_warp], early_acquire = [alpha], stagger = [alpha]>)
// CHECK-LABEL: func.func @nothing
// CHECK: schedule(#fa4.schedule<forward, tile = 128 x 128, stages = 2, ctas = 1, work = [[WORK]],
// CHECK-SAME: split_p = [96, 32], rescale_log2_threshold = 8.000000e+00, exp2 = <degree 3, of 16 columns the last 4, chunks 1 to 2>,
// CHECK-SAME: grain = [pb.full = warp], via = [alpha.full = named per_warp], early_acquire = [alpha], stagger = [alpha]>)
module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @only_a_tile(%q: !q) -> !q {
    %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q) mask [#attn.causal]
        schedule(#fa4.schedule<forward, tile = 128 x 128>)
    return %o : !q
  }
  func.func @nothing(%q: !q) -> !q {
    %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q) mask [#attn.causal]
    return %o : !q
  }
}

// -----

!q = tensor<1x1024x8x64xbf16>

// The planner's order of tiles, lag, grain and turns, but tiles that were asked for.
// CHECK-LABEL: func.func @tile_of_hopper
// CHECK: schedule(#fa4.schedule<forward, tile = 64 x 128, stages = {{[23]}}, ctas = 1, work = one_per_cluster<longest_first>,
// CHECK-SAME: rescale_log2_threshold = 8.000000e+00, grain = [k.empty = warp, v.empty = warp, q.empty = lane], turn = [qk, pv]>)
// CHECK-LABEL: func.func @resident
// CHECK: schedule(#fa4.schedule<forward, tile = 64 x 128, stages = 2, ctas = 1, work = static_persistent,
// CHECK-SAME: grain = [k.empty = warp, v.empty = warp, q.empty = lane], turn = [qk, pv]>)
module attributes {fa4.target = #fa4.target<"sm_90a">} {
  func.func @tile_of_hopper(%q: !q) -> !q {
    %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q) mask [#attn.causal]
        schedule(#fa4.schedule<forward, tile = 64 x 128>)
    return %o : !q
  }
  func.func @resident(%q: !q) -> !q {
    %o = attn.forward ins(%q, %q, %q : !q, !q, !q) outs(%q : !q) mask [#attn.causal]
        schedule(#fa4.schedule<forward, tile = 64 x 128, stages = 2, work = static_persistent, rescale_log2_threshold = none>)
    return %o : !q
  }
}
