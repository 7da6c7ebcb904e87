// RUN: fa4-opt %s --tile-split-exp2 | FileCheck %s
// RUN: fa4-opt %s --tile-split-exp2 --tile-split-exp2 | FileCheck %s


#t = #fa4.target<"sm_100a">
#shared = #fa4.schedule<forward, tile = 16 x 128, exp2 = <degree 4, of 16 columns the last 4, chunks 1 to 2>>
#plain = #fa4.schedule<forward, tile = 16 x 128>

// The columns that a part starts from are kept; nothing else changes.
// CHECK-LABEL: tile.kernel @shared
// CHECK: tile.def @f(%[[X:.+]]: !tile.frag<16x96xf32>, %[[Y:.+]]: !tile.frag<16x32xf32>)
// CHECK: tile.exp2 %[[X]] share(<degree = 4, period = 16, last = 4, first_chunk = 1, last_chunk = 2>) : !tile.frag<16x96xf32>
// CHECK: tile.exp2 %[[Y]] share(<degree = 4, period = 16, last = 4, first_chunk = 1, last_chunk = 2>) from(96) : !tile.frag<16x32xf32>
// CHECK: tile.map
// CHECK: math.exp2 %{{.+}} : f32
tile.kernel @shared(%n: i32, %G: !tile.global<16x128xf32>, %H: !tile.global<16xf32>) target(#t) schedule(#shared) {
  tile.def @f(%x: !tile.frag<16x96xf32>, %y: !tile.frag<16x32xf32>) -> (!tile.frag<16x96xf32>, !tile.frag<16x32xf32>) {
    %a = tile.exp2 %x : !tile.frag<16x96xf32>
    %b = tile.exp2 %y from(96) : !tile.frag<16x32xf32>
    %c = tile.map (%e = %b) : (!tile.frag<16x32xf32>) -> !tile.frag<16x32xf32> {
      %z = math.exp2 %e : f32
      tile.yield %z : f32
    }
    tile.yield %a, %c : !tile.frag<16x96xf32>, !tile.frag<16x32xf32>
  }
  tile.work @work(%t) tiles(%n : i32) -> (%i) {
    tile.yield %t : i32
  }
}

// CHECK-LABEL: tile.kernel @plain
// CHECK: tile.exp2 %{{[^ ]+}} : !tile.frag<16x128xf32>
tile.kernel @plain(%n: i32) target(#t) schedule(#plain) {
  tile.def @f(%x: !tile.frag<16x128xf32>) -> !tile.frag<16x128xf32> {
    %a = tile.exp2 %x : !tile.frag<16x128xf32>
    tile.yield %a : !tile.frag<16x128xf32>
  }
  tile.work @work(%t) tiles(%n : i32) -> (%i) {
    tile.yield %t : i32
  }
}
