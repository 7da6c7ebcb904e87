// RUN: fa4-opt %s --pass-pipeline="builtin.module(tile.kernel(tile-split-range))" --split-input-file --verify-diagnostics

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

// -----

// The first trip has no token to release, and nothing says that there is a first trip.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @no_first_trip(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.channel @c depth(2) from(@b) to(@a)
  tile.role @a warps(4) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    tile.for_each_tile (%n) in @work {
      // expected-error @+1 {{expected a loop that carries a token of no slot into its first trip to have a first trip by the facts of the work, but got one that may have none}}
      %none = tile.no_token
      %held = scf.for %i = %c0 to %n step %c1 iter_args(%prev = %none) -> (!tile.token<read>) : i32 {
        tile.release %prev
        %t = tile.wait @c
        scf.yield %t : !tile.token<read>
      }
      tile.release %held
    }
  }
  tile.role @b warps(4) {
  }
}
