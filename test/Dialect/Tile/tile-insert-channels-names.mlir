// A channel does not take the name of a symbol that stands in the kernel: memory that is
// not called NAME_mem would lend its own.
// RUN: fa4-opt %s --tile-insert-channels | FileCheck %s

// CHECK: tile.alloc @rows : smem 512 bytes
// CHECK: tile.channel @rows_1
// CHECK: tile.acquire @rows_1

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, roles = [a = {one} warps 4 at 0, b = {two} warps 4 at 4]>
#linear = #tile.smem<linear>
!row = !tile.frag<128xf32>
!g = !tile.global<128xf32>
tile.kernel @crosses(%nt: i32, %g: !g) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.alloc @rows : smem 512 bytes
  tile.view @Rows of @rows : 128xf32, #linear
  tile.for_each_tile (%n) in @work {
    %r = tile.inlined_step @one -> (!row) {
      %tile = tile.load %g[%n] : !g -> !row
      %kept = tile.keep %tile in @Rows : !row
      tile.yield %kept : !row
    }
    tile.inlined_step @two {
      tile.store %r to %g[%n] : !row, !g
    }
  }
}
