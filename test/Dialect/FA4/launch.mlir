// RUN: fa4-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func private @kernel(
// CHECK-SAME: {fa4.param = #fa4.param<tensor_map of 0 box [1, 128, 1, 64] swizzle 128>}
// CHECK-SAME: {fa4.param = #fa4.param<pointer of 4>}
// CHECK-SAME: {fa4.param = #fa4.param<stride of 4 dim 1>}
// CHECK-SAME: {fa4.param = #fa4.param<extent of 4 dim 0>}
// CHECK-SAME: {fa4.param = #fa4.param<scalar of 5>}
// CHECK-SAME: fa4.launch = #fa4.launch<threads = 480, smem_bytes = 231612, cluster = 1, tiles = 11, persistent = true>
func.func private @kernel(i64 {fa4.param = #fa4.param<tensor_map of 0 box [1, 128, 1, 64] swizzle 128>},
                          i64 {fa4.param = #fa4.param<pointer of 4>},
                          i64 {fa4.param = #fa4.param<stride of 4 dim 1>},
                          i32 {fa4.param = #fa4.param<extent of 4 dim 0>},
                          i32 {fa4.param = #fa4.param<scalar of 5>})
    attributes {fa4.launch = #fa4.launch<threads = 480, smem_bytes = 231612, cluster = 1, tiles = 11, persistent = true>}
