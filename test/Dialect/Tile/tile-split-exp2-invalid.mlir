// RUN: fa4-opt %s --tile-split-exp2 --split-input-file --verify-diagnostics

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 128, exp2 = <degree 3, of 16 columns the last 4, chunks 1 to 2>>
tile.kernel @other_share(%n: i32) target(#t) schedule(#s) {
  tile.def @f(%x: !tile.frag<16x128xf32>) -> !tile.frag<16x128xf32> {
    // expected-error @+1 {{expected the share of an exp2 to be the schedule's #tile.exp2_share<degree = 3, period = 16, last = 4, first_chunk = 1, last_chunk = 2>, but got #tile.exp2_share<degree = 5, period = 16, last = 4, first_chunk = 1, last_chunk = 2>}}
    %a = tile.exp2 %x share(<degree = 5, period = 16, last = 4, first_chunk = 1, last_chunk = 2>) : !tile.frag<16x128xf32>
    tile.yield %a : !tile.frag<16x128xf32>
  }
  tile.work @work(%t) tiles(%n : i32) -> (%i) {
    tile.yield %t : i32
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 128, exp2 = <degree 3, of 16 columns the last 4, chunks 1 to 2>>
// expected-note @+1 {{the def is here}}
tile.def @f(%G: !tile.global<16x128xf32>, %i: i32) {
  %x = tile.load %G[%i] : !tile.global<16x128xf32> -> !tile.frag<16x128xf32>
  %a = tile.exp2 %x : !tile.frag<16x128xf32>
  tile.store %a to %G[%i] : !tile.frag<16x128xf32>, !tile.global<16x128xf32>
}
tile.kernel @outer_def(%n: i32, %G: !tile.global<16x128xf32>) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> (%i) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%i) in @work {
    // expected-error @+1 {{expected the def of step 'f' to be one of the kernel's own, but got one of the module}}
    tile.step @f(%G, %i) : (!tile.global<16x128xf32>, i32) -> ()
  }
}
