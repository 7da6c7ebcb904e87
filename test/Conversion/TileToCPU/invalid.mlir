// RUN: fa4-opt %s --convert-tile-to-cpu --split-input-file --verify-diagnostics

#plan = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @ptx(%X: !tile.global<8x8xf32>, %nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%w) tiles(%nt : i32) -> (%t) facts() {
    tile.yield %w : i32
  }
  tile.for_each_tile (%t) in @work {
    %x = tile.load %X[%t] : !tile.global<8x8xf32> -> !tile.frag<8x8xf32>
    // expected-error @+1 {{expected a kernel that runs on the host to be free of inline PTX, but got "tanh.approx.f32 $0, $1;"}}
    %y = tile.inline_ptx "tanh.approx.f32 $0, $1;" constraints "=f,f" (%x) : (!tile.frag<8x8xf32>) -> !tile.frag<8x8xf32>
    tile.store %y to %X[%t] : !tile.frag<8x8xf32>, !tile.global<8x8xf32>
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @fp8(%X: !tile.global<8x8xf8E4M3FN>, %nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%w) tiles(%nt : i32) -> (%t) facts() {
    tile.yield %w : i32
  }
  tile.for_each_tile (%t) in @work {
    // expected-error @+1 {{expected the element type of a tile on the host to be f16, bf16, f32, f64 or an integer of 1 to 64 bits, but got 'f8E4M3FN'}}
    %x = tile.load %X[%t] : !tile.global<8x8xf8E4M3FN> -> !tile.frag<8x8xf8E4M3FN>
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @carried(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%w) tiles(%nt : i32) -> (%t) facts() {
    tile.yield %w : i32
  }
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{expected a tile loop on the host to carry no values, but got 1}}
  %r = tile.for_each_tile (%t) in @work iter_args(%x = %c0) -> (i32) {
    tile.yield %x : i32
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @early(%nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%w) tiles(%nt : i32) -> (%t) facts() {
    tile.yield %w : i32
  }
  %f = arith.constant 0.0 : f32
  // expected-error @+1 {{expected tiles to be made inside the tile loop, but got one before it}}
  %x = tile.splat %f : f32 -> !tile.frag<8x8xf32>
  tile.for_each_tile (%t) in @work {
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @loop(%X: !tile.global<8x8xf32>, %nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%w) tiles(%nt : i32) -> (%t) facts() {
    tile.yield %w : i32
  }
  tile.for_each_tile (%t) in @work {
    %true = arith.constant true
    %x = tile.load %X[%t] : !tile.global<8x8xf32> -> !tile.frag<8x8xf32>
    // expected-error @+1 {{expected every op of the kernel to be one that runs on the host as an op of T0, but got 'scf.while'}}
    %y = scf.while (%v = %x) : (!tile.frag<8x8xf32>) -> !tile.frag<8x8xf32> {
      scf.condition(%true) %v : !tile.frag<8x8xf32>
    } do {
    ^bb0(%v: !tile.frag<8x8xf32>):
      scf.yield %v : !tile.frag<8x8xf32>
    }
  }
}

// -----

#plan = #fa4.schedule<forward, tile = 128 x 128>
tile.kernel @chosen(%X: !tile.global<8x8xf32>, %Y: !tile.global<8x8xf32>, %p: i1, %nt: i32) target(#fa4.target<"sm_100a">) schedule(#plan) {
  tile.work @work(%w) tiles(%nt : i32) -> (%t) facts() {
    tile.yield %w : i32
  }
  tile.for_each_tile (%t) in @work {
    // expected-error @+1 {{expected a global tensor on the host to be a kernel argument or a subrange of one, but got a result of 'scf.if'}}
    %g = scf.if %p -> !tile.global<8x8xf32> {
      scf.yield %X : !tile.global<8x8xf32>
    } else {
      scf.yield %Y : !tile.global<8x8xf32>
    }
    %x = tile.load %g[%t] : !tile.global<8x8xf32> -> !tile.frag<8x8xf32>
    tile.store %x to %X[%t] : !tile.frag<8x8xf32>, !tile.global<8x8xf32>
  }
}

// -----

llvm.func @for_a_device(%x: !llvm.ptr<1> {fa4.param = #fa4.param<pointer of 0>}, %n: i32 {fa4.param = #fa4.param<scalar of 1>})
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>, nvvm.minctasm = 1 : i32,
                fa4.launch = #fa4.launch<threads = 128, smem_bytes = 0, cluster = 1, tiles = 1, persistent = true>} {
  llvm.return
}
func.func @main(%x: memref<8x8xf32>, %n: i32) {
  // expected-error @+1 {{expected a launch on the host to be of a tile.kernel of the module that the pass runs on, but got llvm.func '@for_a_device'; start from the module before it was lowered for a device}}
  tile.launch @for_a_device(%x, %n) : memref<8x8xf32>, i32
  return
}
