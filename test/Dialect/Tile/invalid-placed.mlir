// RUN: fa4-opt %s --split-input-file --verify-diagnostics

// cursor C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    // expected-error @+1 {{expected depth of a cursor to be positive, but got 0}}
    %c = tile.cursor : !tile.cursor<0>
  }
}

// -----

// placed_alloc C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-error @+1 {{expected stride to be positive, but got 0}}
  tile.placed_alloc @m smem at 0 stride 0
}

// -----

// placed_alloc C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-error @+1 {{expected start to be at least 0, but got -16}}
  tile.placed_alloc @m smem at -16 stride 16
}

// -----

// placed_alloc C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-error @+1 {{expected start and stride to be multiples of 16 columns, but got 8 and 16}}
  tile.placed_alloc @m tmem at 8 stride 16
}

// -----

// barrier C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-error @+1 {{expected family, depth and count to be positive, but got 1, 1 and 0}}
  tile.barrier @b depth(1) count(0) at 0
}

// -----

// barrier C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-error @+1 {{expected place to be a multiple of 8 bytes and not negative, but got 4}}
  tile.barrier @b depth(1) count(1) at 4
}

// -----

// named_barrier C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-error @+1 {{expected ids to be an ascending range that divides among 2 elements, but got 3 to 5}}
  tile.named_barrier @b[2] ids(3 to 5) threads(64) per_warp
}

// -----

// named_barrier C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  // expected-error @+1 {{expected one id for each of 2 elements, but got 4}}
  tile.named_barrier @b[2] ids(3 to 6) threads(64)
}

// -----

// barrier.wait C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    // expected-error @+1 {{expected a cursor, whose phase is waited for, but got none}}
    tile.barrier.wait @b
  }
}

// -----

// barrier.arrive C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    // expected-error @+1 {{expected arrival by thread, warp or lane, but got named}}
    tile.barrier.arrive @b by(named)
  }
}

// -----

// fence spelling.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    // expected-error @+1 {{expected a kind of fence, but got 'everything'}}
    tile.fence [before, everything]
  }
}

// -----

// arrival spelling.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    // expected-error @+1 {{expected arrival to be thread, warp, lane, named, named_per_warp or peer, but got 'block'}}
    tile.barrier.arrive @b by(block)
  }
}

// -----

// barrier.expect C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    // expected-error @+1 {{expected bytes to be positive, but got 0}}
    tile.barrier.expect @b bytes(0)
  }
}

// -----

// barrier.expect C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    // expected-error @+1 {{expected one home of the barrier, but got the leader and the peer}}
    "tile.barrier.expect"() <{barrier = @b, bytes = 8 : i64, on_leader, on_peer, operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
  }
}

// -----

// issue_mma C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %c = tile.cursor : !tile.cursor<1>
    %z = arith.constant 0.0 : f32
    %p = tile.splat %z : f32 -> !tile.frag<8x8xf32>
    // expected-error @+1 {{expected 'a' to be a view or a fragment, but got neither}}
    "tile.issue_mma"() <{b_view = @v, acc_view = @v, operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0>}> : () -> ()
  }
}

// -----

// issue_mma C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %c = tile.cursor : !tile.cursor<1>
    %z = arith.constant 0.0 : f32
    %p = tile.splat %z : f32 -> !tile.frag<8x8xf32>
    // expected-error @+1 {{expected a result exactly if no accumulator is in memory, but got neither}}
    tile.issue_mma a(@v) b(@v)
  }
}

// -----

// issue_mma C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %c = tile.cursor : !tile.cursor<1>
    %z = arith.constant 0.0 : f32
    %p = tile.splat %z : f32 -> !tile.frag<8x8xf32>
    // expected-error @+1 {{expected the result to have the accumulator's type '!tile.frag<8x8xf32>', but got '!tile.frag<8x4xf32>'}}
    %f = tile.issue_mma a(@v) b(@v) onto(%p) : (!tile.frag<8x8xf32>) -> !tile.frag<8x4xf32>
  }
}

// -----

// issue_mma C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %c = tile.cursor : !tile.cursor<1>
    %z = arith.constant 0.0 : f32
    %p = tile.splat %z : f32 -> !tile.frag<8x8xf32>
    // expected-error @+1 {{expected the accumulator to be a view or a fragment, but got both}}
    "tile.issue_mma"(%p) <{a_view = @v, b_view = @v, acc_view = @v, operandSegmentSizes = array<i32: 0, 0, 0, 0, 1, 0, 0>}> : (!tile.frag<8x8xf32>) -> ()
  }
}

// -----

// barrier.wait operand.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %i = arith.constant 0 : i32
    // expected-error @+1 {{operand #0 must be a cursor}}
    "tile.barrier.wait"(%i) <{barrier = @b, operandSegmentSizes = array<i32: 1, 0>}> : (i32) -> ()
  }
}

// -----

// issue_mma C3.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %c = tile.cursor : !tile.cursor<1>
    %z = arith.constant 0.0 : f32
    %p = tile.splat %z : f32 -> !tile.frag<8x8xf32>
    %i = arith.constant true
    // expected-error @+1 {{expected 'unless' to be used with 'onto', but got no 'onto'}}
    tile.issue_mma a(@v) b(@v) into(@v) unless(%i)
  }
}

// -----

// group.wait C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    // expected-error @+1 {{expected pending groups to be at least 0, but got -1}}
    tile.group.wait bulk -1 read
  }
}

// -----

// group.wait C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    %c = tile.cursor : !tile.cursor<1>
    %z = arith.constant 0.0 : f32
    %p = tile.splat %z : f32 -> !tile.frag<8x8xf32>
    // expected-error @+1 {{expected values only on a wgmma group, but got a bulk group}}
    %x = tile.group.wait bulk 0 (%p) : !tile.frag<8x8xf32>
  }
}

// -----

// group.wait C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.role @r warps(1) {
    // expected-error @+1 {{expected 'read' only on a bulk group, but got a wgmma group}}
    tile.group.wait wgmma 0 read
  }
}

// -----

// tmem.alloc C1.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.setup {
    // expected-error @+1 {{expected columns to be a power of two from 32, but got 96}}
    tile.tmem.alloc 96 columns by @r word at 0
  }
}

// -----

// tmem.alloc C2.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @k(%n: i32) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%n : i32) -> () {
  }
  tile.setup {
    // expected-error @+1 {{expected word to be 4-byte aligned, but got 2}}
    tile.tmem.alloc 128 columns by @r word at 2
  }
}
