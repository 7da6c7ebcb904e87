// RUN: fa4-opt %s --tile-insert-fences --verify-diagnostics

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// expected-error @+1 {{expected a kernel with barriers to have a set-up, but got none}}
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.barrier @full depth(1) count(128) at 0
}
