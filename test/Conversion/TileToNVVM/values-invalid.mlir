// RUN: fa4-opt %s --convert-tile-to-nvvm --split-input-file --verify-diagnostics

// What the value half of the conversion refuses, at the op.

#rows = #tile.spread<rows>
!S = !tile.frag<128x64xf32, #rows>
!g = !tile.global<128x64xf32>
tile.kernel @function(%X: !g, %nt: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 128 x 64>) {
  tile.work @work(%t) tiles(%nt : i32) uses(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.role @r warps(4) at(0) regs(192) uses(%X : !g) {
    tile.for_each_tile (%i) in @work {
      %x = tile.load %X[%i] : !g -> !S
      %y = tile.map (%e = %x) : (!S) -> !S {
        // expected-error@+1 {{expected a function that the device has to 4 ulp, as fma, exp, exp2, log, log2, tanh, sqrt or rsqrt, but got math.erf; tile.inline_ptx gives any instruction}}
        %f = math.erf %e : f32
        tile.yield %f : f32
      }
      tile.store %y to %X[%i] : !S, !g
      tile.yield
    }
  }
}

// -----

#rows = #tile.spread<rows>
!S = !tile.frag<128x64xf32, #rows>
!g = !tile.global<128x64xf32>
tile.kernel @sine(%X: !g, %nt: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 128 x 64>) {
  tile.work @work(%t) tiles(%nt : i32) uses(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.role @r warps(4) at(0) regs(192) uses(%X : !g) {
    tile.for_each_tile (%i) in @work {
      %x = tile.load %X[%i] : !g -> !S
      %y = tile.map (%e = %x) : (!S) -> !S {
        %fast = math.sin %e fastmath<afn> : f32
        // expected-error@+1 {{expected a function that the device has to 4 ulp}}
        %f = math.sin %fast : f32
        tile.yield %f : f32
      }
      tile.store %y to %X[%i] : !S, !g
      tile.yield
    }
  }
}

// -----

#rows = #tile.spread<rows>
!S = !tile.frag<128x64xf32, #rows>
!g = !tile.global<128x64xf32>
tile.kernel @degree(%X: !g, %nt: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 128 x 64>) {
  tile.work @work(%t) tiles(%nt : i32) uses(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.role @r warps(4) at(0) regs(192) uses(%X : !g) {
    tile.for_each_tile (%i) in @work {
      %x = tile.load %X[%i] : !g -> !S
      // expected-error@+1 {{expected the degree of the exp2 polynomial to be from 3 to 5, but got 7}}
      %y = tile.exp2 %x share(<degree = 7, period = 1, last = 1, first_chunk = 0, last_chunk = 9>) : !S
      tile.store %y to %X[%i] : !S, !g
      tile.yield
    }
  }
}

// -----

#rows = #tile.spread<rows>
!S = !tile.frag<128x64xf32, #rows>
!P = !tile.frag<128x64xf8E4M3FN, #rows>
!g = !tile.global<128x64xf32>
tile.kernel @cast(%X: !g, %nt: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 128 x 64>) {
  tile.work @work(%t) tiles(%nt : i32) uses(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.role @r warps(4) at(0) regs(192) uses(%X : !g) {
    tile.for_each_tile (%i) in @work {
      %x = tile.load %X[%i] : !g -> !S
      // expected-error@+1 {{expected a cast to be between f32, f16 and bf16, but got 'f8E4M3FN'}}
      %y = tile.cast %x : !S -> !P
      tile.yield
    }
  }
}

// -----

#rows = #tile.spread<rows>
!S = !tile.frag<128x64xf32, #rows>
!g = !tile.global<128x64xf32>
tile.kernel @range(%X: !g, %nt: i32) target(#fa4.target<"sm_100a">) schedule(#fa4.schedule<forward, tile = 128 x 64>) {
  tile.work @work(%t) tiles(%nt : i32) uses(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.placed_alloc @m smem at 0 stride 65536
  tile.view @V of @m : 128x64xf32, #tile.smem<mn_major, 128>
  tile.role @r warps(4) at(0) regs(192) uses(%X : !g) {
    tile.for_each_tile (%i) in @work {
      // expected-error@+1 {{expected threads to access shared memory row by row, but got a view of layout}}
      %x = tile.read @V : !S
      tile.store %x to %X[%i] : !S, !g
      tile.yield
    }
  }
}
