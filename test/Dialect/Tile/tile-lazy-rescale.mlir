// RUN: fa4-opt %s --tile-lazy-rescale | FileCheck %s
// RUN: fa4-opt %s --tile-lazy-rescale --tile-lazy-rescale | FileCheck %s


#t = #fa4.target<"sm_100a">
#lazy = #fa4.schedule<forward, tile = 16 x 16, rescale_log2_threshold = 8.0>
#eager = #fa4.schedule<forward, tile = 16 x 16, rescale_log2_threshold = 0.0>
!row = !tile.frag<16xf32>
!s = !tile.frag<16x16xf32>
!g = !tile.global<16x16xf32>
!gl = !tile.global<16xf32>

// The factor is followed from the statistic through its step into @rescale; the
// scaling of @finish, by another number, is left alone.
// CHECK-LABEL: tile.kernel @lazy
// CHECK: tile.online_max %{{.+}} from(%{{.+}}) scale(%{{.+}}) lag(8.000000e+00) :
// CHECK: tile.def @rescale
// CHECK: tile.scale_rows %{{.+}} by %{{.+}} likely_one :
// CHECK: tile.def @finish
// CHECK: tile.scale_rows %{{[^ ]+}} by %{{[^ ]+}} :
tile.kernel @lazy(%n: i32, %G: !g, %L: !gl) target(#t) schedule(#lazy) {
  tile.def @softmax(%s: !s, %d: !row) -> (!row, !row) {
    %c = arith.constant 1.0 : f32
    %top = tile.row_max %s init(%d) : !s -> !row
    %d1, %use, %a = tile.online_max %top from(%d) scale(%c) : !row
    tile.yield %d1, %a : !row, !row
  }
  tile.def @rescale(%o: !s, %a: !row) -> !s {
    %r = tile.scale_rows %o by %a : !s, !row
    tile.yield %r : !s
  }
  tile.def @finish(%o: !s, %G: !g, %L: !gl, %i: i32) {
    %a = tile.load %L[%i] : !gl -> !row
    %r = tile.scale_rows %o by %a : !s, !row
    tile.store %r to %G[%i] : !s, !g
  }
  tile.def @load(%G: !g, %i: i32) -> !s {
    %x = tile.load %G[%i] : !g -> !s
    tile.yield %x : !s
  }
  tile.work @work(%t) tiles(%n : i32) -> (%i) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%i) in @work {
    %inf = arith.constant 0x7F800000 : f32
    %d = tile.splat %inf : f32 -> !row
    %s = tile.step @load(%G, %i) : (!g, i32) -> !s
    %d1, %a = tile.step @softmax(%s, %d) : (!s, !row) -> (!row, !row)
    %o = tile.step @rescale(%s, %a) : (!s, !row) -> !s
    tile.step @finish(%o, %G, %L, %i) : (!s, !g, !gl, i32) -> ()
  }
}

// A threshold of 0 is no threshold.
// CHECK-LABEL: tile.kernel @eager
// CHECK: tile.online_max %{{.+}} from(%{{.+}}) scale(%{{[^)]+}}) :
tile.kernel @eager(%n: i32) target(#t) schedule(#eager) {
  tile.def @softmax(%s: !s, %d: !row) -> !row {
    %c = arith.constant 1.0 : f32
    %top = tile.row_max %s init(%d) : !s -> !row
    %d1, %use, %a = tile.online_max %top from(%d) scale(%c) : !row
    tile.yield %a : !row
  }
  tile.work @work(%t) tiles(%n : i32) -> (%i) {
    tile.yield %t : i32
  }
}
