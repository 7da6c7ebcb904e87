// RUN: fa4-opt %s --tile-verify-t0 --split-input-file --verify-diagnostics

// A legal program: no error is expected.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.def @pass(%x: i32) -> i32 {
  tile.yield %x : i32
}
tile.kernel @legal(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> (%a) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%a) in @work {
    %x = tile.step @pass(%a) : (i32) -> i32
  }
}

// -----

func.func private @other(i32) -> i32
tile.def @v1(%x: i32) -> i32 {
  // expected-error @+1 {{expected ops of a kernel to be T0, arith, math or scf ops}}
  %y = func.call @other(%x) : (i32) -> i32
  tile.yield %y : i32
}

// -----

// expected-error @+1 {{expected tiles to have no layout at T0, but got '!tile.frag<8xf32, #tile.spread<rows>>'}}
tile.def @v2(%x: !tile.frag<8xf32, #tile.spread<rows>>) {
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// expected-error @+1 {{expected one tile loop in the kernel, but got 0}}
tile.kernel @v3(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> (%a) {
    tile.yield %t : i32
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @v3_nested(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> (%a) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%a) in @work {
    // expected-error @+1 {{expected the tile loop to stand directly in the kernel}}
    tile.for_each_tile (%b) in @work {
    }
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.def @pass(%x: i32) -> i32 {
  tile.yield %x : i32
}
tile.kernel @v4(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> (%a) {
    tile.yield %t : i32
  }
  // expected-error @+1 {{expected steps, loads and stores of a kernel to be in its tile loop}}
  %x = tile.step @pass(%n) : (i32) -> i32
  tile.for_each_tile (%a) in @work {
  }
}
