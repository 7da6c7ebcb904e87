// RUN: fa4-opt %s --tile-simplify-barriers=without=6 --verify-diagnostics

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// expected-error @+1 {{expected rules to leave out to be from 1 to 5, but got 6}}
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
}
