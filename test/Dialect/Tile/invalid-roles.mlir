// RUN: fa4-opt %s --split-input-file --verify-diagnostics

// commit C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %t = tile.acquire @c
    %e = tile.async_next to %t as @v
    // expected-error @+1 {{expected 'after(all)' to name no op besides, but got 1}}
    "tile.commit"(%t, %e) <{after_all}> : (!tile.token<write>, !tile.async) -> ()
  }
}

// -----

// commit spelling.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    // expected-note @+1 {{prior use here}}
    %t = tile.acquire @c
    // expected-error @+1 {{expects different type}}
    tile.release %t
  }
}

// -----

// role C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-error @+1 {{expected warps to be positive, but got 0}}
  tile.role @r warps(0) {
  }
}

// -----

// role C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-error @+1 {{expected first warp to be at least 0, but got -1}}
  tile.role @r warps(1) at(-1) {
  }
}

// -----

// role C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  %f = tile.splat %n : i32 -> !tile.frag<8xi32>
  // expected-error @+1 {{expected a role to use scalars or globals, but got '!tile.frag<8xi32>'}}
  tile.role @r warps(1) uses(%f : !tile.frag<8xi32>) {
  }
}

// -----

// role C3.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-error @+1 {{expected 'rank' only with ctas(both), but got ctas(single)}}
  tile.role @r warps(1) rank(%c) {
  }
}

// -----

// role C4.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-error @+1 {{expected region arguments to be 'i32', but got 'f32'}}
  "tile.role"(%n) <{sym_name = "r", warps = 1 : i64}> ({
  ^bb0(%x: f32):
  }) : (i32) -> ()
}

// -----

// part C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %z = arith.constant 0 : i32
    %f = tile.splat %z : i32 -> !tile.frag<8x7xi32>
    // expected-error @+1 {{expected operand to have rank 2 and even columns, but got '!tile.frag<8x7xi32>'}}
    %h = tile.part %f columns own(%z) : !tile.frag<8x7xi32> -> !tile.frag<8x3xi32>
  }
}

// -----

// part C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %z = arith.constant 0 : i32
    %f = tile.splat %z : i32 -> !tile.frag<8x8xi32>
    // expected-error @+1 {{expected result to be '!tile.frag<4x8xi32>', but got '!tile.frag<8x4xi32>'}}
    %h = tile.part %f rows other(%z) : !tile.frag<8x8xi32> -> !tile.frag<8x4xi32>
  }
}

// -----

// run_ptx C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    // expected-error @+1 {{expected one constraint for each of 0 operands, but got 'r'}}
    tile.run_ptx "nanosleep.u32 5;" constraints "r" () reads() writes()
  }
}

// -----

// async_load C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%G: !tile.global<1x8xf32>, %n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) uses(%G : !tile.global<1x8xf32>) {
    %z = arith.constant 0 : i32
    %t = tile.acquire @c
    // expected-error @+1 {{expected at most 2 coordinates, one per dimension, but got 3}}
    %e = tile.async_load %G[%z, %z, %z] to %t as @v : !tile.global<1x8xf32>
  }
}

// -----

// await C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %t = tile.acquire @c
    %e = tile.async_next to %t as @v
    // expected-error @+1 {{expected the result to be the async's value, none, but got 'i32'}}
    %x = "tile.await"(%e) : (!tile.async) -> i32
  }
}

// -----

// async_mma C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %t = tile.wait @c
    %w = tile.acquire @c
    %z = arith.constant 0.0 : f32
    %p = tile.splat %z : f32 -> !tile.frag<8x8xf32>
    // expected-error @+1 {{expected 'a' to be a read token with a view or a fragment, but got '!tile.token<write>'}}
    %e = "tile.async_mma"(%w, %t, %w) <{a_view = @v, b_view = @v, acc_view = @v, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (!tile.token<write>, !tile.token<read>, !tile.token<write>) -> !tile.async
  }
}

// -----

// async_mma C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %t = tile.wait @c
    %w = tile.acquire @c
    %z = arith.constant 0.0 : f32
    %p = tile.splat %z : f32 -> !tile.frag<8x8xf32>
    // expected-error @+1 {{expected the accumulator to be a write token with a view or a fragment, but got '!tile.token<read>'}}
    %e = "tile.async_mma"(%t, %t, %t) <{a_view = @v, b_view = @v, acc_view = @v, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (!tile.token<read>, !tile.token<read>, !tile.token<read>) -> !tile.async
  }
}

// -----

// async_mma C3.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %t = tile.wait @c
    %w = tile.acquire @c
    %z = arith.constant 0.0 : f32
    %p = tile.splat %z : f32 -> !tile.frag<8x8xf32>
    // expected-error @+1 {{expected the async to have a value exactly if no accumulator is in memory, but got '!tile.async'}}
    %e = tile.async_mma a(%t as @v) b(%t as @v)
  }
}

// -----

// async_mma C3.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %t = tile.wait @c
    %w = tile.acquire @c
    %z = arith.constant 0.0 : f32
    %p = tile.splat %z : f32 -> !tile.frag<8x8xf32>
    // expected-error @+1 {{expected the async's value to have the accumulator's type '!tile.frag<8x8xf32>', but got '!tile.frag<8x4xf32>'}}
    %e = tile.async_mma a(%t as @v) b(%t as @v) onto(%p) : (!tile.frag<8x8xf32>) -> !tile.async<!tile.frag<8x4xf32>>
  }
}

// -----

// async_mma C4.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %t = tile.wait @c
    %w = tile.acquire @c
    %z = arith.constant 0.0 : f32
    %p = tile.splat %z : f32 -> !tile.frag<8x8xf32>
    // expected-error @+1 {{expected 'into' to name an accumulator in memory, but got a fragment}}
    %e = tile.async_mma a(%t as @v) b(%t as @v) into(%p) : (!tile.frag<8x8xf32>) -> !tile.async<!tile.frag<8x8xf32>>
  }
}

// -----

// async_mma C4.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %t = tile.wait @c
    %w = tile.acquire @c
    %z = arith.constant 0.0 : f32
    %p = tile.splat %z : f32 -> !tile.frag<8x8xf32>
    %i = arith.constant true
    // expected-error @+1 {{expected 'unless' to be used with 'onto', but got no 'onto'}}
    %e = tile.async_mma a(%t as @v) b(%t as @v) into(%w as @v) unless(%i)
  }
}

// -----

// async_mma spelling.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %t = tile.wait @c
    %w = tile.acquire @c
    %z = arith.constant 0.0 : f32
    %p = tile.splat %z : f32 -> !tile.frag<8x8xf32>
    // expected-error @+1 {{expected a type for each of 1 fragment operands, but got 0}}
    %e = tile.async_mma a(%t as @v) b(%t as @v) onto(%p)
  }
}
