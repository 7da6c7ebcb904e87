// RUN: fa4-opt %s --tile-pipeline-loop --split-input-file --verify-diagnostics

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 16, order = [two at 0, load at 0]>
!x = !tile.frag<16x16xf32>
!g = !tile.global<16x16xf32>
tile.def @load(%G: !g, %i: i32) -> !x {
  %x = tile.load %G[%i] : !g -> !x
  tile.yield %x : !x
}
tile.def @two(%x: !x, %y: !x) -> !x {
  tile.yield %x : !x
}
tile.kernel @same_stage(%nt: i32, %G: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> !x
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (!x) : i32 {
      // expected-note @+1 {{it takes result 0 of this step}}
      %a = tile.step @load(%G, %i) : (!g, i32) -> !x
      // expected-error @+1 {{expected step 'two' to come after step 'load', but got stage 0, place 0 against stage 0, place 1}}
      %s = tile.step @two(%acc, %a) : (!x, !x) -> !x
      scf.yield %s : !x
    }
  }
}

// -----

// Carried by the loop: the step may not overtake itself of a block before.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 16, stages = 2, order = [two[0] at 0, two[1] at 1]>
!x = !tile.frag<16x16xf32>
tile.def @two(%x: !x, %y: !x) -> !x {
  tile.yield %x : !x
}
tile.kernel @carried(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> !x
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (!x) : i32 {
      // expected-error @+1 {{expected step 'two[0]' of 1 iteration later to come after step 'two[1]', but got stage 0, place 0 against stage 1, place 1}}
      %a = tile.step @two[0](%acc, %acc) : (!x, !x) -> !x
      // expected-note @+1 {{it takes result 0 of this step}}
      %s = tile.step @two[1](%a, %a) : (!x, !x) -> !x
      scf.yield %s : !x
    }
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 16, order = [two at 0, load_v at 0]>
!x = !tile.frag<16x16xf32>
tile.def @two(%x: !x, %y: !x) -> !x {
  tile.yield %x : !x
}
tile.kernel @unknown(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> !x
    // expected-error @+1 {{expected the order of the schedule to name steps of this loop, but got 'load_v'}}
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (!x) : i32 {
      %a = tile.step @two(%acc, %acc) : (!x, !x) -> !x
      scf.yield %a : !x
    }
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 16, stages = 2, order = [two[0] at 0]>
!x = !tile.frag<16x16xf32>
tile.def @two(%x: !x, %y: !x) -> !x {
  tile.yield %x : !x
}
tile.kernel @missing(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> !x
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (!x) : i32 {
      %a = tile.step @two[0](%acc, %acc) : (!x, !x) -> !x
      // expected-error @+1 {{expected the order of the schedule to name every step of the loop, but got no 'two[1]'}}
      %b = tile.step @two[1](%a, %acc) : (!x, !x) -> !x
      scf.yield %b : !x
    }
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 16, order = [two at 0]>
!x = !tile.frag<16x16xf32>
tile.def @two(%x: !x, %y: !x) -> !x {
  tile.yield %x : !x
}
tile.kernel @twice(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> !x
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (!x) : i32 {
      // expected-note @+1 {{the other one is here}}
      %a = tile.step @two(%acc, %acc) : (!x, !x) -> !x
      // expected-error @+1 {{expected step 'two' to stand once in the loop, but got it twice}}
      %b = tile.step @two(%a, %acc) : (!x, !x) -> !x
      scf.yield %b : !x
    }
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 16, order = [two at 0]>
!x = !tile.frag<16x16xf32>
tile.def @two(%x: !x, %y: !x) -> !x {
  tile.yield %x : !x
}
tile.kernel @stride(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    %c0 = arith.constant 0 : i32
    %c2 = arith.constant 2 : i32
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> !x
    // expected-error @+1 {{expected the step of a pipelined loop to be the constant 1, but got}}
    %r = scf.for %i = %c0 to %n step %c2 iter_args(%acc = %z) -> (!x) : i32 {
      %a = tile.step @two(%acc, %acc) : (!x, !x) -> !x
      scf.yield %a : !x
    }
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 16, order = [two at 0]>
!x = !tile.frag<16x16xf32>
tile.def @two(%x: !x, %y: !x) -> !x {
  tile.yield %x : !x
}
tile.kernel @unsigned(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> !x
    // expected-error @+1 {{expected a pipelined loop to compare its bounds as signed numbers, but got an unsigned one}}
    %r = scf.for unsigned %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (!x) : i32 {
      %a = tile.step @two(%acc, %acc) : (!x, !x) -> !x
      scf.yield %a : !x
    }
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 16, order = [two at 0]>
!x = !tile.frag<16x16xf32>
!g = !tile.global<16x16xf32>
tile.def @two(%x: !x, %y: !x) -> !x {
  tile.yield %x : !x
}
tile.kernel @beside(%nt: i32, %G: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> !x
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (!x) : i32 {
      %a = tile.step @two(%acc, %acc) : (!x, !x) -> !x
      // expected-error @+1 {{expected an op that stands beside the steps of a pipelined loop to have no effect, but got 'tile.store'}}
      tile.store %a to %G[%i] : !x, !g
      scf.yield %a : !x
    }
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 16, stages = 2, order = [two[0] at 0, two[1] at 0]>
!x = !tile.frag<16x16xf32>
tile.def @two(%x: !x, %y: !x) -> !x {
  tile.yield %x : !x
}
tile.kernel @nested(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> !x
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (!x) : i32 {
      %first = arith.cmpi eq, %i, %c0 : i32
      %a = tile.step @two[0](%acc, %acc) : (!x, !x) -> !x
      %b = scf.if %first -> !x {
        // expected-error @+1 {{expected step 'two[1]' to stand directly in the loop, but got it in a nested region}}
        %c = tile.step @two[1](%a, %acc) : (!x, !x) -> !x
        scf.yield %c : !x
      } else {
        scf.yield %a : !x
      }
      scf.yield %b : !x
    }
  }
}

// -----

// No value ties the two steps, but a tensor does.
#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 16, order = [load at 0, store at 1]>
!x = !tile.frag<16x16xf32>
!g = !tile.global<16x16xf32>
tile.def @load(%G: !g, %i: i32) -> !x {
  %x = tile.load %G[%i] : !g -> !x
  tile.yield %x : !x
}
tile.def @store(%x: !x, %G: !g, %i: i32) {
  tile.store %x to %G[%i] : !x, !g
}
tile.kernel @memory(%nt: i32, %G: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%n) in @work {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %part = tile.subrange %G dim(0) from %c0 to %n : !g
    scf.for %i = %c0 to %n step %c1 : i32 {
      // expected-error @+1 {{expected step 'load' of 1 iteration later to come after step 'store', but got stage 0, place 0 against stage 1, place 1}}
      %a = tile.step @load(%part, %i) : (!g, i32) -> !x
      // expected-note @+1 {{both access one tensor, and one of them writes it}}
      tile.step @store(%a, %G, %i) : (!x, !g, i32) -> ()
    }
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 16, order = [two at 0]>
// expected-error @+1 {{expected a kernel with an order of steps to have one loop of steps, but got 0}}
tile.kernel @no_loop(%nt: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
}
