// RUN: fa4-opt %s --pass-pipeline="builtin.module(tile.kernel(tile-split-range))" --verify-diagnostics

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @other_trip(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n, %p) facts(1 <= %n) {
    tile.yield %t, %t : i32, i32
  }
  tile.channel @c depth(1) from(@a) to(@b)
  tile.role @a warps(4) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    tile.for_each_tile (%n, %p) in @work {
      // expected-note @+1 {{the trip is counted here}}
      scf.for %i = %c0 to %n step %c1 : i32 {
        %other = arith.cmpi eq, %i, %p : i32
        // expected-error @+1 {{expected a condition on channel ops to compare the trip with a number of the tile, or to ask for the first or last trip, but got '%}}
        scf.if %other {
          %t = tile.acquire @c
          tile.commit %t
        }
      }
    }
  }
  tile.role @b warps(4) {
  }
}
