// RUN: fa4-opt %s --tile-split-mma --verify-diagnostics


#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 128, split_p = [64, 64]>
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

