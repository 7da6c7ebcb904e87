// The causal kernel with open lengths, two heads on one head of keys. Its plan is stated, since
// CTAs that do several tiles have more to get wrong than those of the default: rings go on from
// tile to tile.

#schedule = #fa4.schedule<
  forward, tile = 128 x 128, stages = 2, ctas = 1, work = static_persistent<longest_first>,
  order = [
    load_v at 1, softmax[0] at 1, rescale[0] at 1, pv[0] at 1, load_k at 0, qk[0] at 0,
    softmax[1] at 1, rescale[1] at 1, pv[1] at 1, qk[1] at 0],
  homes = [
    load_q = smem @q_mem as q, load_k = smem @kv_mem x 3 as k, load_v = smem @kv_mem as v,
    qk = tmem @sp_mem as s, softmax.0 = tmem @sp_mem column 64 as pa,
    softmax.1 = tmem @sp_mem column 112 as pb, softmax.2 = smem @stat_mem as alpha,
    pv = tmem @o_mem as o, finish.0 = smem @out_mem as out],
  roles = [
    softmax = {softmax} warps 4 x 2 at 0 regs 192,
    correction = {rescale, finish} warps 4 at 8 regs 80, mma = {qk, pv} warps 1 at 12 regs 48,
    store = {store} warps 1 at 13 regs 48, load = {load_q, load_k, load_v} warps 1 at 14 regs 48],
  split_p = [96, 32], rescale_log2_threshold = 8.000000e+00,
  exp2 = <degree 3, of 16 columns the last 4, chunks 1 to 2>, grain = [pb.full = warp],
  via = [alpha.full = named per_warp], early_acquire = [alpha], stagger = [alpha]>

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @main(%q: memref<1x?x2x128xbf16>, %k: memref<1x?x1x128xbf16>, %v: memref<1x?x1x128xbf16>,
                  %o: memref<1x?x2x128xbf16>, %l: memref<1x2x?xf32>) {
    attn.forward
        ins(%q, %k, %v : memref<1x?x2x128xbf16>, memref<1x?x1x128xbf16>, memref<1x?x1x128xbf16>)
        outs(%o, %l : memref<1x?x2x128xbf16>, memref<1x2x?xf32>)
        mask [#attn.causal]
        schedule(#schedule)
    return
  }
}
