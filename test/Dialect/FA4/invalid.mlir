// RUN: fa4-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected tile rows to be a positive multiple of 16, but got 100}}
#s = #fa4.schedule<forward, tile = 100 x 128> // F1

// -----

// expected-error @+1 {{expected tile columns to be a positive multiple of 16, but got 0}}
#s = #fa4.schedule<forward, tile = 128 x 0> // F1

// -----

// expected-error @+1 {{expected stages to be positive, but got 0}}
#s = #fa4.schedule<forward, tile = 128 x 128, stages = 0> // F2

// -----

// expected-error @+1 {{expected ctas to be 1 or 2, but got 3}}
#s = #fa4.schedule<forward, tile = 128 x 128, ctas = 3> // F2

// -----

// expected-error @+1 {{expected role 'mma' to name its CTAs exactly if ctas is 2, but got ctas = 2}}
#s = #fa4.schedule<forward, tile = 128 x 128, ctas = 2, roles = [mma = {qk} warps 1 at 0]> // F2

// -----

// expected-error @+1 {{expected the index of 'qk' to be below stages = 2, but got 2}}
#s = #fa4.schedule<forward, tile = 128 x 128, stages = 2, order = [qk[2] at 0]> // F3

// -----

// expected-error @+1 {{expected each step to stand once in order, but got 'qk' twice}}
#s = #fa4.schedule<forward, tile = 128 x 128, order = [qk[0] at 0, pv[0] at 1, qk[0] at 1]> // F3

// -----

// expected-error @+1 {{expected the pipeline stage of 'qk' to be 0 or more, but got -1}}
#s = #fa4.schedule<forward, tile = 128 x 128, order = [qk[0] at -1]>

// -----

// expected-error @+1 {{expected each result to have one home, but got two for 'qk'}}
#s = #fa4.schedule<forward, tile = 128 x 128, homes = [qk = registers, qk = tmem @s]> // F4

// -----

// expected-error @+1 {{expected the column of 'qk' to be 0 or more and in tmem, but got 64 in smem}}
#s = #fa4.schedule<forward, tile = 128 x 128, homes = [qk = smem @s column 64]>

// -----

// expected-error @+1 {{expected the homes' results to have different names, but got 'a' twice}}
#s = #fa4.schedule<forward, tile = 128 x 128, homes = [qk = tmem @s as a, pv = tmem @o as a]> // F4

// -----

// expected-error @+1 {{expected the slots of 'load_k' to be positive, but got 0}}
#s = #fa4.schedule<forward, tile = 128 x 128, homes = [load_k = smem @s x 0]>

// -----

// expected-error @+1 {{expected the result of a step to be a number, but got 'softmax.first'}}
#s = #fa4.schedule<forward, tile = 128 x 128, homes = [softmax.first = registers]>

// -----

// expected-error @+1 {{expected step 'pv' to run in one role, but got 'a' and 'b'}}
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {pv} warps 1 at 0, b = {pv} warps 1 at 1]> // F4

// -----

// expected-error @+1 {{expected roles to have different names, but got 'a' twice}}
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {pv} warps 1 at 0, a = {qk} warps 1 at 1]> // F5

// -----

// expected-error @+1 {{expected roles to have disjoint warps, but got 'a' in [0, 8) and 'b' in [7, 8)}}
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {pv} warps 4 x 2 at 0, b = {qk} warps 1 at 7]> // F5

// -----

// expected-error @+1 {{expected role 'a' to have a positive number of warps, but got 0 x 1 at 0}}
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {pv} warps 0 at 0]>

// -----

// expected-error @+1 {{expected regs of role 'a' to be positive, but got 0}}
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {pv} warps 1 at 0 regs 0]>

// -----

// expected-error @+1 {{expected roles to start with a name, but got 'warps'}}
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [warps 1 at 0]>

// -----

// expected-error @+1 {{expected split_p to add up to the tile's 128 columns, but got 112}}
#s = #fa4.schedule<forward, tile = 128 x 128, split_p = [96, 16]> // F6

// -----

// expected-error @+1 {{expected parts of split_p to be positive multiples of 16, but got 88}}
#s = #fa4.schedule<forward, tile = 128 x 128, split_p = [88, 40]> // F6

// -----

// expected-error @+1 {{expected rescale_log2_threshold to be finite and 0 or more, but got -1.000000e+00}}
#s = #fa4.schedule<forward, tile = 128 x 128, rescale_log2_threshold = -1.0> // F7

// -----

// expected-error @+1 {{expected the degree of exp2 to be 3 to 5, but got 2}}
#s = #fa4.schedule<forward, tile = 128 x 128, exp2 = <degree 2, of 16 columns the last 4, chunks 1 to 2>> // F8

// -----

// expected-error @+1 {{expected exp2 to take 1 to 16 of 16 columns, but got 17}}
#s = #fa4.schedule<forward, tile = 128 x 128, exp2 = <degree 3, of 16 columns the last 17, chunks 1 to 2>> // F8

// -----

// expected-error @+1 {{expected the chunks of exp2 to ascend from 0, but got 2 to 1}}
#s = #fa4.schedule<forward, tile = 128 x 128, exp2 = <degree 3, of 16 columns the last 4, chunks 2 to 1>> // F8

// -----

// expected-error @+1 {{expected reduce_depth to be positive, but got 0}}
#s = #fa4.schedule<backward, tile = 128 x 128, reduce_depth = 0>

// -----

// expected-error @+1 {{expected the direction to be one of forward, backward, but got 'sideways'}}
#s = #fa4.schedule<sideways, tile = 128 x 128>

// -----

// expected-error @+1 {{expected a clause of #fa4.schedule, but got 'stage'}}
#s = #fa4.schedule<forward, tile = 128 x 128, stage = 2>

// -----

// expected-error @+1 {{expected each clause to be given once, but got 'tile' twice}}
#s = #fa4.schedule<forward, tile = 128 x 128, tile = 64 x 128>

// -----

// expected-error @+1 {{expected the half of a channel to be one of full, empty, but got 'half'}}
#s = #fa4.schedule<forward, tile = 128 x 128, grain = [pb.half = warp]>

// -----

// expected-error @+1 {{expected "fa4.target" to be #fa4.target, but got "sm_100a"}}
module attributes {fa4.target = "sm_100a"} {}

// -----

// expected-error @+1 {{expected an attribute of the fa4 dialect to be 'fa4.target' or 'fa4.launch', but got "fa4.taget"}}
module attributes {fa4.taget = #fa4.target<"sm_100a">} {}

// -----

// expected-error @+1 {{expected "fa4.target" to be on a module, but got it on 'func.func'}}
func.func private @f() attributes {fa4.target = #fa4.target<"sm_100a">}

// -----

// expected-error @+1 {{expected numbers of a schedule to be at most 4096, but got 9223372036854775792}}
#s = #fa4.schedule<forward, tile = 9223372036854775792 x 128> // F9

// -----

// expected-error @+1 {{expected numbers of a schedule to be at most 4096, but got 5000}}
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {pv} warps 1 at 5000]> // F9

// -----

// expected-error @+1 {{expected parts of split_p to be at most the tile's 128 columns, but got 144}}
#s = #fa4.schedule<forward, tile = 128 x 128, split_p = [144]> // F6

// -----

// expected-error @+1 {{expected work to be one of static_persistent, one_per_cluster, dynamic, but got 'eager'}}
#s = #fa4.schedule<forward, tile = 128 x 128, work = eager>

// -----

// expected-error @+1 {{expected "fa4.launch" to be on a function, but got it on 'builtin.module'}}
module attributes {fa4.launch = #fa4.launch<threads = 32, smem_bytes = 0, cluster = 1, tiles = 0, persistent = true>} {}

// -----

// expected-error @+1 {{expected "fa4.launch" to be #fa4.launch, but got 1 : i64}}
func.func private @f() attributes {fa4.launch = 1}

// -----

// expected-error @+1 {{expected "fa4.param" to be #fa4.param, but got 1 : i64}}
func.func private @f(i32 {fa4.param = 1})

// -----

// expected-error @+1 {{expected an argument's attribute of the fa4 dialect to be 'fa4.param', but got "fa4.parm"}}
func.func private @f(i32 {fa4.parm = #fa4.param<scalar of 0>})

// -----

// expected-error @+1 {{expected threads and cluster to be positive, but got 0 and 1}}
#l = #fa4.launch<threads = 0, smem_bytes = 0, cluster = 1, tiles = 0, persistent = true> // L1

// -----

// expected-error @+1 {{expected smem_bytes and tiles to be at least 0, but got -1 and 0}}
#l = #fa4.launch<threads = 32, smem_bytes = -1, cluster = 1, tiles = 0, persistent = true> // L1

// -----

// expected-error @+1 {{expected a dimension of at least 0 exactly with stride and extent, but got -1 with stride}}
#p = #fa4.param<stride of 0> // P1

// -----

// expected-error @+1 {{expected a dimension of at least 0 exactly with stride and extent, but got 2 with scalar}}
#p = #fa4.param<scalar of 0 dim 2> // P1

// -----

// expected-error @+1 {{expected a tensor map to be cut along one of 2 dimensions, but got 2}}
#p = #fa4.param<tensor_map of 0 dim 2 box [1, 8]> // P1

// -----

// expected-error @+1 {{expected a box of positive numbers exactly with tensor_map, but got [] with tensor_map}}
#p = #fa4.param<tensor_map of 0> // P2

// -----

// expected-error @+1 {{expected a box of positive numbers exactly with tensor_map, but got [1, 0] with tensor_map}}
#p = #fa4.param<tensor_map of 0 box [1, 0]> // P2

// -----

// expected-error @+1 {{expected the swizzle to be 0, 32, 64 or 128 bytes with tensor_map and left out otherwise, but got 16 with tensor_map}}
#p = #fa4.param<tensor_map of 0 box [1, 8] swizzle 16> // P3

// -----

// expected-error @+1 {{expected operands and dimensions to be at least 0, but got -1}}
#e = #fa4.extent_rule<operand = 0, dim = -1, other_operand = 1, other_dim = 2> // E1
