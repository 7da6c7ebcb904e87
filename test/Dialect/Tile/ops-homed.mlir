// RUN: fa4-opt %s --verify-roundtrip | FileCheck %s

#t = #fa4.target<"sm_100a">
#s = #fa4.schedule<forward, tile = 16 x 16,
  roles = [make = {one} warps 4 x 2 at 0, take = {two} warps 4 at 8]>
!x = !tile.frag<16x16xf32>
!h = !tile.frag<64x128xbf16>

// CHECK-DAG: #[[PART:.+]] = #tile.smem<mn_major, 128, panel = 16384>
// CHECK-LABEL: tile.kernel @homed
tile.kernel @homed(%nt: i32, %c: i1) target(#t) schedule(#s) {
  tile.work @work(%t) tiles(%nt : i32) -> () facts() {
  }
  tile.alloc @m[2] : tmem 16 columns
  tile.alloc @v : smem 32768 bytes
  tile.view @X of @m : 16x16xf32, #tile.tmem<lanes>
  // CHECK: tile.view @Part of @v at byte 8192 : 64x128xbf16, #[[PART]]
  tile.view @Part of @v at byte 8192 : 64x128xbf16, #tile.smem<mn_major, 128, panel = 16384>
  // Ends are roles of the schedule while the kernel has none.
  // CHECK: tile.channel @x[2] depth(1) from(@make each) to(@take) carries(@X)
  tile.channel @x[2] depth(1) from(@make each) to(@take) carries(@X)
  tile.for_each_tile () in @work {
    %zero = arith.constant 0.0 : f32
    // CHECK: %[[R:.+]] = tile.inlined_step @one[1] -> (!tile.frag<16x16xf32>) {
    %r = tile.inlined_step @one[1] -> (!x) {
      %y = tile.splat %zero : f32 -> !x
      // CHECK: %[[K:.+]] = tile.keep %{{.+}} in @X[1] : !tile.frag<16x16xf32>
      %k = tile.keep %y in @X[1] : !x
      // CHECK: %[[T:.+]] = tile.acquire @x[1]
      // CHECK-NEXT: tile.keep %[[K]] in %[[T]] as @X
      %t = tile.acquire @x[1]
      %k2 = tile.keep %k in %t as @X : !x
      tile.commit %t
      tile.yield %k2 : !x
    }
    // CHECK: %[[NONE:.+]] = tile.no_token
    // CHECK-NEXT: tile.release %[[NONE]]
    %none = tile.no_token
    tile.release %none
    // CHECK: tile.inlined_step @two unless(%{{.+}}) passing(%[[R]] : !tile.frag<16x16xf32>) -> (!tile.frag<16x16xf32>) {
    %q = tile.inlined_step @two unless(%c) passing(%r : !x) -> (!x) {
      // CHECK: %[[U:.+]] = tile.wait @x[1]
      // CHECK-NEXT: %[[Y:.+]] = tile.use %[[R]] from %[[U]] as @X
      // CHECK-NEXT: tile.keep %[[Y]] in over %[[U]] as @X
      %u = tile.wait @x[1]
      %y = tile.use %r from %u as @X : !x
      %o = tile.keep %y in over %u as @X : !x
      tile.release %u
      tile.yield %o : !x
    }
    // CHECK: tile.inlined_step @three {
    tile.inlined_step @three {
    }
  }
}
