// RUN: fa4-opt %s --tile-place-tmem --tile-place-smem --tile-assign-registers --split-input-file | FileCheck %s

// Largest alignment first, then the order of the text: a ring of 24-byte elements
// does not push a swizzled tile off its 1024 bytes.

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 128 x 128, stages = 1, ctas = 1, work = static_persistent<longest_first>,
  roles = [a = {x} warps 4 at 0, b = {y} warps 1 at 4 regs 64, c = {z} warps 1 at 5]>
// CHECK-LABEL: tile.kernel @mixed
// CHECK: tile.placed_alloc @words smem at 18816 stride 24
// CHECK: tile.placed_alloc @small[3] smem at 18432 stride 128
// CHECK: tile.placed_alloc @narrow smem at 16384 stride 2048
// CHECK: tile.placed_alloc @tile[2] smem at 0 stride 8192
// CHECK: tile.placed_alloc @first tmem at 0 stride 48
// CHECK: tile.placed_alloc @second[2] tmem at 48 stride 32
// Roles without registers share what the others leave, up to what a thread may have,
// and within a warpgroup what it has.
// CHECK: tile.role @a warps(4) at(0) regs(256)
// CHECK: tile.role @b warps(1) at(4) regs(64)
// CHECK: tile.role @c warps(1) at(5) regs(64)
tile.kernel @mixed(%nt: i32) target(#t) schedule(#s) {
  tile.work @w(%t) tiles(%nt : i32) -> (%n) {
    tile.yield %t : i32
  }
  tile.alloc @words : smem 24 bytes
  tile.alloc @small[3] : smem 64 bytes
  tile.alloc @narrow : smem 2048 bytes
  tile.alloc @tile[2] : smem 8192 bytes
  tile.alloc @first : tmem 48 columns
  tile.alloc @second[2] : tmem 32 columns
  tile.view @Small of @small : 16xf32, #tile.smem<linear>
  tile.view @Narrow of @narrow : 64x16xbf16, #tile.smem<k_major, 32>
  tile.view @Tile of @tile : 64x64xbf16, #tile.smem<k_major, 128>
  tile.role @a warps(4) {
  }
  tile.role @b warps(1) {
  }
  tile.role @c warps(1) {
  }
}
