// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-draw-tiles),tile-verify-t1)' --split-input-file --verify-diagnostics

// expected-error @+1 {{expected a role with loads to draw the tiles of dynamic work, but got none}}
tile.kernel @no_loads(%nt: i32) target(#fa4.target<"sm_100a">)
    schedule(#fa4.schedule<forward, tile = 128 x 64, work = dynamic>) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.role @idle warps(1) {
    tile.for_each_tile (%i) in @work {
    }
  }
}

// -----

!g = !tile.global<1x128x1x64xbf16>
// expected-error @+1 {{expected dynamic work to be that of single CTAs, but got ctas = 2; static_persistent and one_per_cluster serve pairs}}
tile.kernel @pair(%X: !g, %nt: i32) target(#fa4.target<"sm_100a">)
    schedule(#fa4.schedule<forward, tile = 128 x 64, ctas = 2, work = dynamic>) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.alloc @x_mem : smem 16384 bytes
  tile.view @X of @x_mem : 128x64xbf16, #tile.smem<k_major, 128>
  tile.channel @x depth(1) from(@load) to(@load) carries(@X)
  tile.role @load warps(1) uses(%X : !g) {
    %c0 = arith.constant 0 : i32
    tile.for_each_tile (%i) in @work {
      %t = tile.acquire @x
      %e = tile.async_load %X[%c0, %i] to %t as @X : !g
      tile.commit %t after(%e)
    }
  }
}

// -----

tile.kernel @not_read(%nt: i32) target(#fa4.target<"sm_100a">)
    schedule(#fa4.schedule<forward, tile = 128 x 64>) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.role @all warps(1) {
    tile.for_each_tile (%i) in @work {
      // expected-error @+1 {{expected the number to be what a tile.read found, but got another value}}
      tile.next_tile %i
    }
  }
}

// -----

tile.kernel @static(%nt: i32) target(#fa4.target<"sm_100a">)
    schedule(#fa4.schedule<forward, tile = 128 x 64>) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.alloc @next_mem : smem 16 bytes
  tile.view @Next of @next_mem : 4xi32, #tile.smem<linear>
  tile.role @all warps(1) {
    // expected-error @+1 {{expected a role's tile loop to hold no tile.next_tile, as the work is not dynamic, but got 1}}
    tile.for_each_tile (%i) in @work {
      %n = tile.read @Next : i32
      tile.next_tile %n
    }
  }
}

// -----

tile.kernel @wide(%nt: i32) target(#fa4.target<"sm_100a">)
    schedule(#fa4.schedule<forward, tile = 128 x 64>) {
  tile.work @work(%t) tiles(%nt : i32) -> (%i) { tile.yield %t : i32 }
  tile.alloc @next_mem : smem 32 bytes
  tile.view @Next of @next_mem : 8xi32, #tile.smem<linear>
  tile.role @all warps(1) {
    // expected-error @+1 {{expected the number of a tile to be read from a view of 16 bytes of shared memory, but got '!tile.frag<8xi32>'}}
    %n = tile.read @Next : i32
  }
}
