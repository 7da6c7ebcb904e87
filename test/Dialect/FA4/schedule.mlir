// RUN: fa4-opt %s --verify-roundtrip | FileCheck %s

// The three plans of docs/Dialects/Tile/Rationale.md, in the spelling of their
// authors: clauses in any order, roles as a table.

// CHECK: #schedule = #fa4.schedule<forward, tile = 128 x 128, stages = 2, ctas = 1, work = static_persistent<longest_first>
// CHECK-SAME: order = [load_v at 1, softmax[0] at 1, rescale[0] at 1, pv[0] at 1, load_k at 0, qk[0] at 0, softmax[1] at 1, rescale[1] at 1, pv[1] at 1, qk[1] at 0]
// CHECK-SAME: homes = [load_q = smem @q_mem, load_k = smem @kv_mem x 3 as k, load_v = smem @kv_mem, qk = tmem @sp_mem as s, softmax.0 = tmem @sp_mem column 64 as pa, softmax.1 = tmem @sp_mem column 112, softmax.2 = smem @stat_mem, pv = tmem @o_mem, finish.0 = smem @out_mem]
// CHECK-SAME: roles = [softmax = {softmax} warps 4 x 2 at 0 regs 192, correction = {rescale, finish} warps 4 at 8 regs 72, mma = {qk, pv} warps 1 at 12 regs 56, store = {store} warps 1 at 13 regs 56, load = {load_q, load_k, load_v} warps 1 at 14 regs 56]
// CHECK-SAME: split_p = [96, 32], rescale_log2_threshold = 8.000000e+00, exp2 = <degree 3, of 16 columns the last 4, chunks 1 to 2>
// CHECK-SAME: grain = [pb.full = warp], via = [alpha.full = named per_warp], early_acquire = [alpha], stagger = [alpha]>
#fwd = #fa4.schedule<forward,
  tile = 128 x 128, stages = 2, ctas = 1, work = static_persistent<longest_first>,
  order = [load_v at 1, softmax[0] at 1, rescale[0] at 1, pv[0] at 1, load_k at 0, qk[0] at 0,
                        softmax[1] at 1, rescale[1] at 1, pv[1] at 1,              qk[1] at 0],
  homes = [load_q = smem @q_mem, load_k = smem @kv_mem x 3 as k, load_v = smem @kv_mem, qk = tmem @sp_mem as s,
           softmax.0 = tmem @sp_mem column 64 as pa, softmax.1 = tmem @sp_mem column 112, softmax.2 = smem @stat_mem,
           pv = tmem @o_mem, finish.0 = smem @out_mem],
  roles = [softmax    = {softmax},          warps 4 x 2 at 0, regs 192
           correction = {rescale, finish},  warps 4 at 8,     regs 72
           mma        = {qk, pv},           warps 1 at 12,    regs 56
           store      = {store},            warps 1 at 13,    regs 56
           load       = {load_q, load_k, load_v}, warps 1 at 14, regs 56],
  split_p = [96, 32], rescale_log2_threshold = 8.0,
  exp2 = <degree 3, of 16 columns the last 4, chunks 1 to 2>,
  grain = [pb.full = warp], via = [alpha.full = named per_warp], early_acquire = [alpha], stagger = [alpha]>

// CHECK: #schedule1 = #fa4.schedule<forward, tile = 64 x 128, stages = 2
// CHECK-SAME: load_k = smem @k_mem x 2, load_v = smem @v_mem x 2, qk = registers, softmax.0 = registers, pv = registers
// CHECK-SAME: consumer = {qk, softmax, rescale, pv, finish, store} warps 4 x 2 at 4 regs 240
// CHECK-SAME: grain = [k.empty = warp, v.empty = warp, q.empty = lane], turn = [qk, pv]>
#fwd90 = #fa4.schedule<forward,
  tile = 64 x 128, stages = 2, ctas = 1, work = static_persistent<longest_first>,
  order = [load_k at 0, qk[0] at 0, load_v at 1, pv[0] at 1, softmax[0] at 0, rescale[0] at 0,
                        qk[1] at 0,              pv[1] at 1, softmax[1] at 0, rescale[1] at 0],
  homes = [load_q = smem @q_mem, load_k = smem @k_mem x 2, load_v = smem @v_mem x 2, qk = registers,
           softmax.0 = registers, pv = registers, finish.0 = smem @q_mem],
  roles = [consumer = {qk, softmax, rescale, pv, finish, store}, warps 4 x 2 at 4, regs 240
           load     = {load_q, load_k, load_v},                  warps 1 at 0,     regs 24],
  rescale_log2_threshold = 8.0, grain = [k.empty = warp, v.empty = warp, q.empty = lane], turn = [qk, pv]>

// CHECK: #schedule2 = #fa4.schedule<backward, tile = 128 x 128, stages = 1, ctas = 2, work = one_per_cluster,
// CHECK-SAME: ds.0 = tmem @dp_mem column 0, ds.1 = smem @ds_mem, ds.2 = smem @x_mem
// CHECK-SAME: mma = {s, dk, dp, dq, dv} warps 1 at 12 regs 104 ctas leader, load = {load_*} warps 1 at 13 regs 104 ctas both]
// CHECK-SAME: reduce_columns = 8, reduce_depth = 4>
#bwd = #fa4.schedule<backward,
  tile = 128 x 128, stages = 1, ctas = 2, work = one_per_cluster,
  order = [s at 0, dk at 1, dp at 0, p at 0, dq at 1, dv at 0, ds at 0, reduce at 1],
  homes = [s = tmem @sp_mem, p = tmem @sp_mem column 0, dq = tmem @sp_mem column 64, dv = tmem @dv_mem,
           dp = tmem @dp_mem, ds.0 = tmem @dp_mem column 0, ds.1 = smem @ds_mem, ds.2 = smem @x_mem, dk = tmem @dk_mem],
  roles = [reduce  = {reduce},  warps 4 at 0,  regs 136, ctas both
           compute = {p, ds, finish}, warps 8 at 4, regs 136, ctas both
           mma     = {s, dk, dp, dq, dv}, warps 1 at 12, regs 104, ctas leader
           load    = {load_*},  warps 1 at 13, regs 104, ctas both],
  reduce_columns = 8, reduce_depth = 4>

// Without order, homes and roles a schedule is a wish: what it states is kept, also where
// that is nothing, the rest is open. Equal text is one attribute.
// CHECK: #schedule3 = #fa4.schedule<forward, tile = 16 x 32>
#small = #fa4.schedule<forward, tile = 16 x 32>
// CHECK: #schedule4 = #fa4.schedule<forward, tile = 16 x 32, stages = 1, ctas = 1, work = static_persistent, split_p = [], rescale_log2_threshold = none, exp2 = none, grain = [], via = [], early_acquire = [], stagger = [], turn = []>
#bare = #fa4.schedule<forward, turn = [], stagger = [], early_acquire = [], via = [], grain = [], exp2 = none, rescale_log2_threshold = none, split_p = [], work = static_persistent<in_order>, stages = 1, ctas = 1, tile = 16 x 32>

// CHECK: test.a = #schedule, test.b = #schedule1, test.c = #schedule2
// CHECK: test.d = #schedule3
// CHECK: test.d = #schedule3
// CHECK: test.d = #schedule4
module attributes {test.a = #fwd, test.b = #fwd90, test.c = #bwd} {
  module attributes {test.d = #small} {}
  module attributes {test.d = #fa4.schedule<forward, tile = 16 x 32>} {}
  module attributes {test.d = #bare} {}
}
