// RUN: fa4-opt %s --split-input-file --verify-diagnostics

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// expected-error @+1 {{expected arguments to be globals or scalars, but got '!tile.frag<8xf32>'}}
tile.kernel @kernel_c1(%x: !tile.frag<8xf32>, %n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// expected-error @+1 {{expected exactly one tile.work, but got 0}}
tile.kernel @kernel_c2(%n: i32) target(#t) schedule(#s) {
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// expected-error @+1 {{expected exactly one tile.work, but got 2}}
tile.kernel @kernel_c2_two(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-note @+1 {{the second is here}}
  tile.work @more(%t) tiles(%n : i32) -> () {
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @work_c1(%n: i32) target(#t) schedule(#s) {
  // expected-error @+1 {{expected region arguments to be 'i32', but got 'i32', 'i32'}}
  "tile.work"(%n) <{sym_name = "work", result_names = [], facts = []}> ({
  ^bb0(%t: i32, %x: i32):
    tile.yield
  }) : (i32) -> ()
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @work_c2(%n: i32) target(#t) schedule(#s) {
  // expected-error @+1 {{expected the region to yield 2 values, but got 1}}
  tile.work @work(%t) tiles(%n : i32) -> (%a, %b) {
    tile.yield %t : i32
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @work_c2_names(%n: i32) target(#t) schedule(#s) {
  // expected-error @+1 {{expected result names to differ, but got 'a' twice}}
  tile.work @work(%t) tiles(%n : i32) -> (%a, %a) {
    tile.yield %t, %t : i32, i32
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @work_c2_type(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> (%a) {
    %f = arith.sitofp %t : i32 to f32
    // expected-error @+1 {{expected results of a work to be i32, but got 'f32'}}
    tile.yield %f : f32
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @work_c3(%n: i32) target(#t) schedule(#s) {
  // expected-error @+1 {{expected a fact to speak of a result of the work, but got '%b'}}
  tile.work @work(%t) tiles(%n : i32) -> (%a) facts(1 <= %b) {
    tile.yield %t : i32
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @fact_c1(%n: i32) target(#t) schedule(#s) {
  // expected-error @+1 {{expected a fact to compare at least one result, but got two constants}}
  tile.work @work(%t) tiles(%n : i32) -> (%a) facts(1 <= 2) {
    tile.yield %t : i32
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @work_c5(%n: i32) target(#t) schedule(#s) {
  // The region may yield -1 for %b, to which %a is lowered.
  // expected-error @+1 {{expected facts in an order in which each leaves the ones before true, but got %a <= %b after 1 <= %a; bound the outer number first}}
  tile.work @work(%t) tiles(%n : i32) -> (%a, %b) facts(1 <= %a, %a <= %b, 1 <= %b) {
    tile.yield %t, %t : i32, i32
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @work_c5_raise(%n: i32) target(#t) schedule(#s) {
  // expected-error @+1 {{but got 3 <= %a after %a <= %b}}
  tile.work @work(%t) tiles(%n : i32) -> (%a, %b) facts(2 <= %b, %a <= %b, 3 <= %a) {
    tile.yield %t, %t : i32, i32
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @work_c5_in_order(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> (%a, %b, %c)
      facts(1 <= %c, 1 <= %b, %b <= %c, 0 <= %a, %a <= %b, %a <= 2) {
    tile.yield %t, %t, %t : i32, i32, i32
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
func.func private @effect(i32) -> i32
tile.kernel @work_c4(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> (%a) {
    // expected-error @+1 {{expected ops inside a work to be free of memory effects}}
    %x = func.call @effect(%t) : (i32) -> i32
    tile.yield %x : i32
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @for_each_tile_c2(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> (%a) {
    tile.yield %t : i32
  }
  // expected-error @+1 {{region branch point has 2 operands, but region successor needs 1 inputs}}
  %r = tile.for_each_tile (%a) in @work iter_args(%c = %n) -> (i32) {
    // expected-note @+1 {{region branch point}}
    tile.yield %c, %c : i32, i32
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @for_each_tile_c3(%n: i32) target(#t) schedule(#s) {
  // expected-note @+1 {{the work is here}}
  tile.work @work(%t) tiles(%n : i32) -> (%a) {
    tile.yield %t : i32
  }
  // expected-error @+1 {{expected one argument for each of 1 results of the work, but got 2}}
  tile.for_each_tile (%a, %b) in @work {
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @for_each_tile_c3_source(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> (%a) {
    tile.yield %t : i32
  }
  // expected-error @+1 {{expected the source of tiles to be the kernel's work, but got '@other'}}
  tile.for_each_tile (%a) in @other {
  }
}

// -----

// expected-error @+1 {{expected region arguments to be 'i32', but got 'f32'}}
"tile.def"() <{sym_name = "def_c1", function_type = (i32) -> ()}> ({
^bb0(%x: f32):
  tile.yield
}) : () -> ()

// -----

tile.def @def_c2(%x: i32) -> f32 {
  // expected-error @+1 {{expected yielded types to be 'f32', but got 'i32'}}
  tile.yield %x : i32
}

// -----

tile.def @callee() {
}
tile.def @def_c3() {
  // expected-error @+1 {{expected a def to contain no step, but got 'callee[1]'}}
  tile.step @callee[1]() : () -> ()
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @step_c1(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.for_each_tile () in @work {
    // expected-error @+1 {{expected callee to be a tile.def, but got no such def '@work'}}
    tile.step @work() : () -> ()
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// expected-note @+1 {{the def is here}}
tile.def @callee(%x: f32) {
}
tile.kernel @step_c1_types(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.for_each_tile () in @work {
    // expected-error @+1 {{expected types of a step to be its def's '(f32) -> ()', but got '(i32) -> ()'}}
    tile.step @callee(%n) : (i32) -> ()
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.def @callee() {
}
tile.kernel @step_c2(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.for_each_tile () in @work {
    // expected-error @+1 {{expected index to be at least 0, but got -1}}
    tile.step @callee[-1]() : () -> ()
  }
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.def @callee(%x: i32) -> f32 {
  %y = arith.sitofp %x : i32 to f32
  tile.yield %y : f32
}
tile.kernel @step_c3(%n: i32, %skip: i1) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.for_each_tile () in @work {
    // expected-error @+1 {{expected results under 'unless' to have the types of the first operands, but got 'f32' from 'i32'}}
    %r = tile.step @callee(%n) unless(%skip) : (i32) -> f32
  }
}

// -----

func.func @launch_c1(%n: i32) {
  // expected-error @+1 {{expected '@launch_c1' to be a tile.kernel, but got none}}
  tile.launch @launch_c1(%n) : i32
  return
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// expected-note @+1 {{the kernel is here}}
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
}
func.func @launch_c2(%n: i32) {
  // expected-error @+1 {{expected one operand for each of 1 kernel arguments, but got 2}}
  tile.launch @k(%n, %n) : i32, i32
  return
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
// expected-note @+1 {{the kernel is here}}
tile.kernel @k(%G: !tile.global<1x8xf32>, %n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
}
func.func @launch_c2_type(%m: memref<8xf32>, %n: i32) {
  // expected-error @+1 {{expected operand #0 to launch a kernel argument '!tile.global<1x8xf32>', but got 'memref<8xf32>'}}
  tile.launch @k(%m, %n) : memref<8xf32>, i32
  return
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%G: !tile.global<1x8xf32>, %n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
}
func.func @launch_c3(%m: memref<?x8xf32>, %n: i32) {
  // expected-error @+1 {{to name dimensions of operands that are memrefs, but got operand #1 dimension 0 with 'memref<?x8xf32>', 'i32'}}
  tile.launch @k(%m, %n) : memref<?x8xf32>, i32 extents [#fa4.extent_rule<operand = 0, dim = 0, other_operand = 1, other_dim = 0>]
  return
}

// -----

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%G: !tile.global<1x8xf32>, %n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
}
func.func @launch_c3_dim(%m: memref<?x8xf32>, %n: i32) {
  // expected-error @+1 {{to name dimensions of operands that are memrefs, but got operand #0 dimension 2 with}}
  tile.launch @k(%m, %n) : memref<?x8xf32>, i32 extents [#fa4.extent_rule<operand = 0, dim = 2, other_operand = 0, other_dim = 0>]
  return
}
