// RUN: fa4-opt %s --tile-lazy-rescale --verify-diagnostics

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 16, rescale_log2_threshold = 8.0>
!row = !tile.frag<16xf32>
tile.kernel @other_lag(%n: i32) target(#t) schedule(#s) {
  tile.def @softmax(%top: !row, %d: !row) -> !row {
    %c = arith.constant 1.0 : f32
    // expected-error @+1 {{expected the lag to be the schedule's 8.000000e+00 : f32, but got 4.000000e+00 : f32}}
    %d1, %use, %a = tile.online_max %top from(%d) scale(%c) lag(4.0) : !row
    tile.yield %a : !row
  }
  tile.work @work(%t) tiles(%n : i32) -> (%i) {
    tile.yield %t : i32
  }
}
